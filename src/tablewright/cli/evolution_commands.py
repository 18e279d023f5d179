"""``diff``: changes between two versions of a design. ``migrate``: bring stored items to the present version.
``workbench``: export to NoSQL Workbench and import from it."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.infrastructure_commands import add_design, chosen

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress
    from tablewright.design.diff import DesignChange, Snapshot
    from tablewright.model import Design, Table
    from tablewright.store import Finding, Store

_STYLES = {"free": "green", "new index": "cyan", "backfill": "yellow", "re-key": "bold yellow", "unsafe": "bold red"}


def register(commands: Commands) -> None:
    diff = commands.add_parser(
        "diff",
        help="show the changes between two versions of a design, and the migration steps",
        epilog="Exit codes: 0 all changes are free or accepted; 1 a change needs migration steps, or is unsafe; "
        "2 a design cannot be loaded.",
    )
    diff.add_argument("old", metavar="OLD", help="module or file of a design, or a snapshot (.json)")
    diff.add_argument("new", nargs="?", metavar="NEW", help="the same, for the new version")
    diff.add_argument("--snapshot", action="store_true", help="print the snapshot of a design, to commit or keep")
    diff.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="PLACE",
        help="accept the change at this place as already handled; may be repeated",
    )
    diff.add_argument("--json", action="store_true", help="print JSON")
    diff.set_defaults(command=_diff, parser=diff)

    migrate = commands.add_parser(
        "migrate",
        help="migrate stored items to the current version of a design, and verify them",
        epilog="It can be stopped at any time and run again; finished work is not repeated. Exit codes: 0 everything "
        "matches the design; 1 something is left to do or to decide; 2 a design or its data cannot be opened.",
    )
    add_design(migrate)
    migrate.add_argument("--data", default="data", metavar="DIR", help="data folder (default: ./data)")
    migrate.add_argument("--endpoint", metavar="URL", help="a DynamoDB endpoint instead of a data folder")
    migrate.add_argument("--region", help="Amazon DynamoDB in this region, or the region of the endpoint")
    migrate.add_argument("--environment", metavar="NAME", help="prefix of the table names, such as dev")
    migrate.add_argument(
        "--blobs", metavar="PLACE", help="where large values are, if not in the data folder: a folder, or s3://bucket"
    )
    migrate.add_argument("--dry-run", action="store_true", help="only show what would be done")
    migrate.set_defaults(command=_migrate, parser=migrate)

    workbench = commands.add_parser("workbench", help="export a design to NoSQL Workbench, or import one from it")
    actions = Commands(workbench)
    export = actions.add_parser("export", help="print a design as a NoSQL Workbench data model, with sample items")
    add_design(export)
    export.add_argument("--json", action="store_true", help="print the data model together with what it cannot express")
    export.set_defaults(command=_export, parser=export)
    import_ = actions.add_parser("import", help="print a NoSQL Workbench data model as a Python model to start from")
    import_.add_argument("file", type=Path, metavar="FILE", help="data model, exported in NoSQL Workbench's own format")
    import_.set_defaults(command=_import, parser=import_)


# -- diff -----------------------------------------------------------------------------------------------------------


def _diff(options: argparse.Namespace) -> int:
    if options.snapshot:
        if options.new is not None:
            raise UsageError("--snapshot takes one path: tablewright diff --snapshot PATH")
        print(_snapshot_text(options.old), end="")
        return 0
    if options.new is None:
        raise UsageError("the new version is missing: tablewright diff OLD NEW")
    found = _compared(_snapshots(options.old), _snapshots(options.new), options.old)
    accepted = set(options.accept)
    unknown = accepted - {change.place for changes in found.values() for change in changes}
    if unknown:
        raise UsageError(f"--accept {', '.join(sorted(unknown))}: no change at this place")
    waiting = [
        change
        for changes in found.values()
        for change in changes
        if change.impact != "free" and change.place not in accepted
    ]
    if options.json:
        print(_as_json(found, accepted, ok=not waiting))
    else:
        _show(found, accepted)
    return 1 if waiting else 0


def _snapshot_text(path: str) -> str:
    from tablewright.design import DesignError, load
    from tablewright.design.diff import snapshot_text

    try:
        return snapshot_text(load(path))
    except DesignError as error:
        raise UsageError(str(error)) from None


def _snapshots(path: str) -> dict[str, Snapshot]:
    """The designs of a version, by name."""
    from tablewright.design import DesignError, load
    from tablewright.design.diff import read_snapshots, snapshot

    try:
        found = read_snapshots(Path(path)) if path.endswith(".json") else [snapshot(design) for design in load(path)]
    except DesignError as error:
        raise UsageError(str(error)) from None
    return {each["name"]: each for each in found}


def _compared(old: dict[str, Snapshot], new: dict[str, Snapshot], place: str) -> dict[str, list[DesignChange]]:
    from tablewright.design.diff import EMPTY_SNAPSHOT, changes

    if len(old) == len(new) == 1:
        # A design that has another name is still the same.
        pairs = [(next(iter(new)), next(iter(old.values())), next(iter(new.values())))]
    else:
        pairs = [(name, old.get(name, EMPTY_SNAPSHOT), new.get(name, EMPTY_SNAPSHOT)) for name in {**old, **new}]
    try:
        return {name: changes(before, after) for name, before, after in pairs}
    except (KeyError, TypeError, AttributeError):
        raise UsageError(f"{place} is damaged: write the snapshot again, from the old version of the model") from None


def _as_json(found: dict[str, list[DesignChange]], accepted: set[str], *, ok: bool) -> str:
    designs = {
        name: [
            {
                "impact": change.impact,
                "place": change.place,
                "what": change.what,
                "steps": list(change.steps),
                "declaration": change.declaration,
                "accepted": change.place in accepted,
            }
            for change in changes
        ]
        for name, changes in found.items()
    }
    return json.dumps({"ok": ok, "changes": designs}, indent=2)


def _show(found: dict[str, list[DesignChange]], accepted: set[str]) -> None:
    from tablewright.cli.terminal import console

    screen = console()
    from rich.padding import Padding
    from rich.text import Text

    declared: set[str] = set()
    for name, changes in found.items():
        for change in changes:
            head = Text.assemble(
                (change.impact, _STYLES[change.impact]), "  ", (change.place, "bold"), f"  {change.what}"
            )
            if change.place in accepted and change.impact != "free":
                head.append("  (accepted)", style="dim")
            screen.print(head, soft_wrap=True)
            for number, step in enumerate(change.steps, 1):
                screen.print(Padding(Text(f"{number}. {step}"), (0, 0, 0, 4), expand=False))
            if change.declaration and change.declaration not in declared:
                # All changes of an entity have the same.
                declared.add(change.declaration)
                screen.print(Text(f"\n{indent(change.declaration, ' ' * 8)}\n"), soft_wrap=True)
        screen.print(Text(f"{name}: {_summary(changes)}", style="bold"))


def _summary(changes: list[DesignChange]) -> str:
    counts: dict[str, int] = {}
    for change in changes:
        counts[change.impact] = counts.get(change.impact, 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no changes"


# -- migrate --------------------------------------------------------------------------------------------------------

_SHOWN_FINDINGS = 20


def _migrate(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.store import StoreError

    design = chosen(options)
    with _opened(options, design) as store, StepProgress() as steps:
        try:
            left = _migrated(store, design, steps, dry_run=options.dry_run)
        except StoreError as error:
            raise UsageError(str(error)) from None
        steps.end()
        for finding in left[:_SHOWN_FINDINGS]:
            print(finding)
    if len(left) > _SHOWN_FINDINGS:
        print(f"and {len(left) - _SHOWN_FINDINGS} more")
    if options.dry_run:
        print(f"{design.name}: {len(left) or 'nothing'} to do")
    else:
        print(f"{design.name}: {'everything is as the design says' if not left else f'{len(left)} findings are left'}")
    return 1 if left else 0


def _opened(options: argparse.Namespace, design: Design) -> Store:
    from tablewright.cli.database_commands import existing_folder, storage_errors
    from tablewright.design import DesignError, table_name
    from tablewright.store import Store, StoreError

    try:
        names = {table.name: table_name(table, options.environment) for table in design.tables}
    except DesignError as error:
        raise UsageError(str(error)) from None
    blobs = {} if options.blobs is None else {"blobs": options.blobs}
    if options.endpoint is not None or options.region is not None:
        try:
            return Store.connect(region=options.region, endpoint=options.endpoint, table_names=names, **blobs)
        except StoreError as error:
            raise UsageError(f"{error} (--region)") from None
    folder = existing_folder(options.data, "; say where the data is with --data or --endpoint")
    with storage_errors():
        return Store.open(folder, table_names=names, **blobs)


def _migrated(store: Store, design: Design, steps: StepProgress, *, dry_run: bool) -> list[Finding]:
    """Repair all tables, and verify them: what is left, or what would be done."""
    if not dry_run:
        steps.begin("tables and indexes")
        store.ensure_tables(*design.tables)
        for table in design.tables:
            _pass(store, table, steps, f"migrating {table.name}", repairs=True)
    return [
        finding
        for table in design.tables
        for finding in _pass(store, table, steps, f"verifying {table.name}", repairs=False)
    ]


def _pass(store: Store, table: Table, steps: StepProgress, what: str, *, repairs: bool) -> list[Finding]:
    steps.begin(what)
    report = store.repair(
        table,
        dry_run=not repairs,
        on_progress=lambda progress: steps.update(what, progress.done, max(progress.total, progress.done) or None),
    )
    return report.findings


# -- workbench ------------------------------------------------------------------------------------------------------


def _export(options: argparse.Namespace) -> int:
    from tablewright.design import DesignError, workbench
    from tablewright.model import ModelError

    design = chosen(options)
    try:
        content = workbench.model(design, datetime.now(UTC))
    except (DesignError, ModelError) as error:
        raise UsageError(str(error)) from None
    lost = workbench.losses(design)
    if options.json:
        print(json.dumps({"model": content, "lost": lost}, indent=2))
        return 0
    print(json.dumps(content, indent=2))
    for each in lost:
        print(f"tablewright: warning: NoSQL Workbench cannot express this: {each}", file=sys.stderr)
    return 0


def _import(options: argparse.Namespace) -> int:
    from tablewright.design import DesignError, workbench

    try:
        model = workbench.read(options.file)
        print(workbench.source(model), end="")
    except DesignError as error:
        raise UsageError(str(error)) from None
    for note in model.notes:
        print(f"tablewright: warning: {note}", file=sys.stderr)
    return 0
