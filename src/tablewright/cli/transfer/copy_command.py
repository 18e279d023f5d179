"""``copy``: tables from one place to another, in parallel, resumable and verified."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.database_commands import counted
from tablewright.cli.progress import StepProgress

if TYPE_CHECKING:
    from tablewright.model import Design
    from tablewright.transfer import CopyProgress, Pseudonyms, TableCopy

_LINE_SECONDS = 10.0
_EXTRA = (
    "items that are in the target only stay there: delete them there, or exclude them from the comparison with "
    "--into-existing, and "
)


def register(commands: Commands) -> None:
    copy = commands.add_parser(
        "copy",
        help="copy tables from one place to another, and verify them",
        epilog="A place is a data folder, an endpoint (http://host:port), Amazon DynamoDB (aws, aws:eu-west-1), or a "
        "file (.json, .jsonl, .csv, also with .gz, or .parquet); export/{table}.json is a file for each table. "
        "If a copy is interrupted, the same command resumes it. Exit codes: 0 everything is copied; 1 the target "
        "differs; 2 a problem must be fixed first.",
    )
    copy.add_argument("source", metavar="SOURCE", help="where the tables are")
    copy.add_argument("target", metavar="TARGET", help="where they are copied to")
    copy.add_argument(
        "--table", action="append", default=[], metavar="NAME", help="this table only; may be repeated (default: all)"
    )
    copy.add_argument(
        "--rename",
        action="append",
        default=[],
        type=_pair,
        metavar="OLD=NEW",
        help="another name for a table in the target; may be repeated",
    )
    copy.add_argument(
        "--segments",
        type=segment_count,
        default=4,
        metavar="N",
        help="read each table in N parallel segments (default: 4)",
    )
    copy.add_argument("--read-rate", type=unit_rate, metavar="UNITS", help="read units per second (default: no limit)")
    copy.add_argument(
        "--write-rate", type=unit_rate, metavar="UNITS", help="write units per second (default: no limit)"
    )
    copy.add_argument(
        "--where", metavar="CONDITION", help="only the items that match a condition, such as \"status = 'open'\""
    )
    copy.add_argument(
        "--transform",
        metavar="MODULE:FUNCTION",
        help="a function that is called with each item, or entity with --design, and returns what to write; "
        "None skips it",
    )
    copy.add_argument("--design", metavar="PATH", help="module or file of the design that the tables belong to")
    copy.add_argument(
        "--pseudonymize",
        action="store_true",
        help="replace what the model marks as personal with pseudonyms; needs --design",
    )
    copy.add_argument(
        "--pseudonym-key",
        type=Path,
        default=Path("pseudonyms.key"),
        metavar="FILE",
        help="file with the key of the pseudonyms, created if it does not exist (default: ./pseudonyms.key)",
    )
    copy.add_argument(
        "--drop-unknown",
        action="store_true",
        help="with --pseudonymize, leave out items and attributes that the model does not know",
    )
    copy.add_argument(
        "--source-blobs",
        metavar="PLACE",
        help="blob store of the source, a folder or s3://bucket/prefix (default: that of a data folder)",
    )
    copy.add_argument(
        "--target-blobs",
        metavar="PLACE",
        help="blob store of the target, a folder or s3://bucket/prefix (default: that of a data folder)",
    )
    copy.add_argument(
        "--into-existing",
        action="store_true",
        help="write into tables that already have items; those that are only in the target are not compared",
    )
    copy.add_argument(
        "--with-stream",
        action="store_true",
        help="write into existing tables that have a stream, although its consumers act on every item that is copied",
    )
    copy.add_argument("--no-verify", action="store_false", dest="verify", help="do not compare the target afterwards")
    copy.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="the state file (default: one in the current folder, deleted when the copy is done)",
    )
    copy.set_defaults(command=_copy, parser=copy)


def _pair(text: str) -> tuple[str, str]:
    old, _, new = text.partition("=")
    if not old or not new:
        raise argparse.ArgumentTypeError(f"{text!r} is not OLD=NEW")
    return old, new


def segment_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1000):
        raise argparse.ArgumentTypeError(f"segments are a number from 1 to 1000, not {text!r}")
    return int(text)


def unit_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1e9:
        raise argparse.ArgumentTypeError(f"a rate is a number of units per second above 0, not {text!r}")
    return rate


def _copy(options: argparse.Namespace) -> int:
    import asyncio

    from tablewright.store import StoreError
    from tablewright.transfer import BlobCopies, CopyOptions, ItemChanges, TransferError, copy_tables, open_places

    if options.drop_unknown and not options.pseudonymize:
        raise UsageError("--drop-unknown is about --pseudonymize: add that, or leave it out")
    try:
        asked = CopyOptions(
            tables=options.table,
            renamed=dict(options.rename),
            segments=options.segments,
            into_existing=options.into_existing,
            with_stream=options.with_stream,
            verify=options.verify,
            state=options.state,
        )
        designs = _designs(options)
        places = open_places(
            options.source,
            options.target,
            read_rate=options.read_rate,
            write_rate=options.write_rate,
            tables=[table for design in designs for table in design.all_tables],
        )
        with StepProgress() as steps, places as (source, target), _interruptible():
            changes = ItemChanges(
                where=options.where,
                transform=options.transform,
                designs=designs,
                pseudonyms=_pseudonyms(options),
                drop_unknown=options.drop_unknown,
            )
            blobs = BlobCopies.between(options.source, options.target, options.source_blobs, options.target_blobs)
            shown = _ShownProgress(steps)
            done = asyncio.run(copy_tables(source, target, asked, changes, shown.update, blobs))
    except (TransferError, StoreError) as error:
        raise UsageError(str(error)) from None
    return _report(done, verified=options.verify)


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("tablewright: interrupted; run the same command again to resume it", file=sys.stderr)
        raise


def _designs(options: argparse.Namespace) -> list[Design]:
    from tablewright.design import DesignError, load

    try:
        return [] if options.design is None else load(options.design)
    except DesignError as error:
        raise UsageError(str(error)) from None


def _pseudonyms(options: argparse.Namespace) -> Pseudonyms | None:
    from tablewright.transfer import Pseudonyms, TransferError

    if not options.pseudonymize:
        return None
    if options.design is None:
        raise TransferError("--pseudonymize needs the model, which declares personal fields; give it with --design")
    is_new = not options.pseudonym_key.exists()
    found = Pseudonyms.from_file(options.pseudonym_key)
    if is_new:
        print(
            f"tablewright: the key of the pseudonyms is in {options.pseudonym_key}, for this copy and later ones",
            file=sys.stderr,
        )
    return found


def _report(done: list[TableCopy], *, verified: bool) -> int:
    for table in done:
        name = table.source if table.source == table.target else f"{table.source} as {table.target}"
        left_out = table.read - table.written
        parts = [f"{name}: {counted(table.written, 'item')}"]
        parts += [f"{left_out} left out"] if left_out else []
        parts += ["verified"] if verified and table.ok else []
        print(", ".join(parts))
        for each in table.lacking:
            print(f"  not enabled, because the target refuses it: {each}")
        if table.with_blobs:
            items = counted(table.with_blobs, "item")
            if table.has_blobs:
                print(f"  with the large values of {items}")
            else:
                print(
                    f"  large values of {items} are in a blob store, which is not copied: name both blob stores with "
                    "--source-blobs and --target-blobs"
                )
        for difference in table.differences:
            print(f"  {difference}")
        if not table.ok:
            print(
                f"  {table.target} differs from what was copied"
                + (f" in {table.differing_parts} of 256 parts of its keys" if table.differing_parts else "")
                + "; "
                + ("" if all(each.kind != "extra" for each in table.differences) else _EXTRA)
                + "run the same command again to copy the table once more"
            )
    return 0 if all(table.ok for table in done) else 1


class _ShownProgress:
    """Progress with a rate and the remaining time: a bar on a terminal, otherwise a line from time to time."""

    def __init__(self, steps: StepProgress) -> None:
        self._steps = steps
        self._what = ""
        self._since = self._line_at = 0.0
        self._first = 0

    def update(self, progress: CopyProgress) -> None:
        now = time.monotonic()
        what = f"{'Copying' if progress.phase == 'copy' else 'Verifying'} {progress.table}"
        if what != self._what:
            self._what, self._since, self._line_at, self._first = what, now, now, progress.items
            self._steps.begin(what)
        text = what + _speed(progress.items - self._first, now - self._since, progress.expected - progress.items)
        self._steps.update(text, progress.items, progress.expected)
        if not sys.stderr.isatty() and now - self._line_at > _LINE_SECONDS:
            self._line_at = now
            print(f"tablewright: {text} ({progress.items:,} of about {progress.expected:,})", file=sys.stderr)


def _speed(items: int, seconds: float, left: int) -> str:
    if items <= 0 or seconds < 1:
        return ""
    rate = items / seconds
    remaining = f", {_duration(left / rate)} left" if left > 0 else ""
    return f", {rate:,.0f} items/s{remaining}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
