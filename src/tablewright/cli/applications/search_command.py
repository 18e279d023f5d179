"""``search rebuild``: rebuild the search index from the tables."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.service_commands import add_place_options, check_database, opened_runtime, place_settings

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress


def register(commands: Commands) -> None:
    search = commands.add_parser("search", help="rebuild the search index of the applications")
    inner = Commands(search)
    rebuild = inner.add_parser(
        "rebuild",
        help="rebuild the search index from the tables",
        epilog="While `tablewright up` runs, POST /runtime/search/{system}/rebuild does the same.",
    )
    rebuild.add_argument("systems", nargs="*", metavar="SYSTEM", help="systems (default: all that can be searched)")
    add_place_options(rebuild, alone=True)
    rebuild.set_defaults(command=_rebuild, parser=rebuild)


def _report(steps: StepProgress, system: str, number: int) -> None:
    steps.update(f"indexing {system}", number, None)


def _rebuild(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.systems import load

    settings = place_settings(options)
    check_database(settings)
    systems = load()
    known = [system.name for system in systems if system.search]
    for name in options.systems:
        if name not in known:
            raise UsageError(f"{name} has nothing to search; choose from {', '.join(known)}")
    done: list[str] = []
    with StepProgress() as steps, opened_runtime(settings, systems, steps) as runtime:
        if runtime.search.is_beside_another:
            raise UsageError(
                f"the search index in {settings.data} is in use; rebuild it in that process, with POST "
                f"/runtime/search/SYSTEM/rebuild"
            )
        for name in options.systems or known:
            steps.begin(f"indexing {name}")
            number = runtime.search.rebuild(name, partial(_report, steps, name))
            done.append(f"{name}: {number} {'document' if number == 1 else 'documents'}")
    print("\n".join(done))
    return 0
