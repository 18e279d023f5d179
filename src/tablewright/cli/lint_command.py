"""``lint``: finds mistakes in a design and prints them, as text or with ``--json``."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError

if TYPE_CHECKING:
    from tablewright.design.lint import LintFinding

_STYLES = {"error": "bold red", "warning": "bold yellow", "advice": "bold cyan"}


def register(commands: Commands) -> None:
    lint = commands.add_parser(
        "lint",
        help="find the mistakes in a design",
        epilog="Exit codes: 0 no findings that count, 1 errors or warnings were found, 2 the design cannot be loaded.",
    )
    lint.add_argument(
        "designs", nargs="+", metavar="PATH", help="module or file of a design, such as shop.model or ./model.py"
    )
    lint.add_argument("--strict", action="store_true", help="treat advice as a failure too")
    lint.add_argument("--json", action="store_true", help="print JSON")
    lint.set_defaults(command=_lint, parser=lint)


def _lint(options: argparse.Namespace) -> int:
    checked = [each for path in options.designs for each in _checked(path)]
    findings = [finding for _, found in checked for finding in found]
    wanted = ("error", "warning", "advice") if options.strict else ("error", "warning")
    failing = [finding for finding in findings if finding.accepted is None and finding.severity in wanted]
    if options.json:
        members = [asdict(finding) for finding in findings]
        names = [name for name, _ in checked]
        print(json.dumps({"ok": not failing, "designs": names, "findings": members}, indent=2))
    else:
        _show(checked)
    return 1 if failing else 0


def _checked(path: str) -> list[tuple[str, list[LintFinding]]]:
    """The designs of a module by name, each with its findings."""
    from tablewright.design import DesignError, RefusedError, load
    from tablewright.design.lint import lint, refused

    try:
        designs = load(path)
    except RefusedError as error:
        return [(path, [refused(path, error.error, error.where)])]
    except DesignError as error:
        raise UsageError(str(error)) from None
    return [(design.name, lint(design)) for design in designs]


def _show(checked: list[tuple[str, list[LintFinding]]]) -> None:
    from tablewright.cli.terminal import console

    screen = console()  # says what to install, where rich is missing
    from rich.padding import Padding
    from rich.text import Text

    for name, mine in checked:
        open_ = [finding for finding in mine if finding.accepted is None]
        for finding in open_:
            head = Text.assemble(
                (finding.severity, _STYLES[finding.severity]), "  ", (finding.place, "bold"), f"  {finding.rule}"
            )
            if finding.where is not None:
                head.append(f"  {finding.where}", style="dim")
            screen.print(head, soft_wrap=True)
            screen.print(Padding(Text(finding.message), (0, 0, 0, 2), expand=False))
            screen.print(Padding(Text(finding.repair, style="green"), (0, 0, 0, 2), expand=False))
            screen.print()
        for finding in mine:
            if finding.accepted is not None:
                line = f"accepted  {finding.place}  {finding.rule}: {finding.accepted}"
                screen.print(Text(line, style="dim"), soft_wrap=True)
        screen.print(Text(f"{name}: {_summary(open_, len(mine) - len(open_))}", style="bold"))


def _summary(open_: list[LintFinding], accepted: int) -> str:
    counts = []
    for severity, many in (("error", "errors"), ("warning", "warnings"), ("advice", "advice")):
        count = sum(finding.severity == severity for finding in open_)
        if count:
            counts.append(f"{count} {severity if count == 1 else many}")
    text = ", ".join(counts) or "no findings"
    return text + (f" ({accepted} accepted)" if accepted else "")
