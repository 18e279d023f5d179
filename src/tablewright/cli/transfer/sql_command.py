"""``sql``: a query over the tables of a data folder or an endpoint, and over the entities of their design."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.database_commands import counted, existing_folder, open_engine
from tablewright.cli.progress import StepProgress

if TYPE_CHECKING:
    from tablewright.sql import LoadProgress, ScanEstimate, SqlResult, SqlSession
    from tablewright.store import Backend

_WIDEST = 60
_MOST_SHOWN = 10_000


def register(commands: Commands) -> None:
    sql = commands.add_parser(
        "sql",
        help="query tables and entities with SQL, and export the result",
        epilog="A place is a data folder, an endpoint (http://host:port) or Amazon DynamoDB (aws, aws:eu-west-1). Each "
        "table that the query names is scanned once, into a temporary DuckDB database; what that costs is "
        "printed first. Without a query, what can be queried is listed. Rows are printed as a table on a "
        "terminal, otherwise as CSV.",
    )
    sql.add_argument("place", metavar="PLACE", help="where the tables are")
    sql.add_argument("query", nargs="?", metavar="QUERY", help="a SELECT; - reads it from standard input")
    sql.add_argument("--design", metavar="PATH", help="module or file of the design, whose entities are views")
    sql.add_argument(
        "--at",
        type=_time,
        metavar="TIME",
        help="tables as they were, in a data folder with point-in-time recovery: 2026-11-15T18:30:00Z; local time "
        "without an offset",
    )
    sql.add_argument("--output", metavar="FILE", help="write all rows to FILE: .csv, .parquet or .xlsx")
    sql.add_argument(
        "--limit", type=_rows, default=1000, metavar="N", help="print at most N rows (default: 1000, at most 10000)"
    )
    sql.add_argument(
        "--segments", type=int, default=4, metavar="N", help="scan an endpoint in N parallel segments (default: 4)"
    )
    sql.add_argument("--memory", default="1GB", metavar="SIZE", help="memory that DuckDB may take (default: 1GB)")
    sql.add_argument("--threads", type=int, default=2, metavar="N", help="threads of DuckDB (default: 2)")
    sql.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="how long the query may take (default: 60)"
    )
    sql.add_argument("--yes", action="store_true", help="scan Amazon DynamoDB without asking")
    sql.set_defaults(command=_sql, parser=sql)


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-11-15T18:30:00Z") from None


def _rows(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_SHOWN):
        raise argparse.ArgumentTypeError(f"rows are a number from 1 to {_MOST_SHOWN}, not {text!r}")
    return int(text)


def _sql(options: argparse.Namespace) -> int:
    from tablewright.design import DesignError, load
    from tablewright.sql import SqlError, SqlLimits, SqlSession

    query = sys.stdin.read() if options.query == "-" else options.query
    try:
        designs = [] if options.design is None else load(options.design)
        limits = SqlLimits(memory=options.memory, threads=options.threads, seconds=options.timeout)
        with (
            _backend(options) as backend,
            SqlSession(backend, designs, segments=options.segments, limits=limits, clock=_clock(options)) as session,
        ):
            if query is None:
                _list(session)
                return 0
            _confirm(session.estimate(query), options)
            return _run(session, query, options)
    except (DesignError, SqlError) as error:
        raise UsageError(str(error)) from None


def _clock(options: argparse.Namespace) -> Callable[[], float]:
    """Items that had expired by the time looked at are left out."""
    return time.time if options.at is None else lambda: float(options.at)


@contextmanager
def _backend(options: argparse.Namespace) -> Iterator[Backend]:
    from tablewright.store import EmbeddedBackend
    from tablewright.transfer import TransferError, endpoint_backend

    if options.place == "aws" or options.place.startswith("aws:") or "://" in options.place:
        if options.at is not None:
            raise UsageError("--at reads the history of a data folder; restore a table of an endpoint to that time")
        try:
            backend = endpoint_backend(options.place)
        except TransferError as error:
            raise UsageError(str(error)) from None
        try:
            yield backend
        finally:
            backend.close()
        return
    with open_engine(existing_folder(options.place, "; give a data folder, an endpoint or aws:region")) as engine:
        yield EmbeddedBackend(engine if options.at is None else engine.at(options.at), owned=False)


def _list(session: SqlSession) -> None:
    relations = list(session.relations())
    if not relations:
        print("tablewright: there are no tables", file=sys.stderr)
    for relation in relations:
        kind = f"entity of {relation.table}" if relation.is_entity else "table"
        columns = ", ".join(f"{name} {type_}" for name, type_ in relation.columns)
        print(f"{relation.name} ({kind}): {columns}{'' if relation.is_entity else ', ...'}")


def _confirm(estimate: ScanEstimate, options: argparse.Namespace) -> None:
    """Print the cost of reading; on Amazon DynamoDB, where it is billed, ask."""
    if not estimate.tables or ("://" not in options.place and not options.place.startswith("aws")):
        return
    names = ", ".join(scan.table for scan in estimate.tables)
    print(
        f"tablewright: scanning {names}: about {counted(estimate.items, 'item')}, {estimate.read_units:,.0f} read "
        f"units, ${estimate.dollars:.2f} on demand on Amazon DynamoDB",
        file=sys.stderr,
    )
    if not options.place.startswith("aws") or options.yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("the scan is billed; repeat the command with --yes")
    if input("Scan? [y/N] ").strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was scanned")


def _run(session: SqlSession, query: str, options: argparse.Namespace) -> int:
    with StepProgress() as steps:

        def progress(now: LoadProgress) -> None:
            steps.report(f"Reading {now.table}", now.items, now.expected)

        if options.output is not None:
            rows = session.export(query, options.output, on_progress=progress)
            result = None
        else:
            result = session.query(query, limit=options.limit, on_progress=progress)
    for name, count in session.unreadable().items():
        print(f"tablewright: {counted(count, 'item')} cannot be read as {name}; left out", file=sys.stderr)
    if result is None:
        print(f"{options.output}: {counted(rows, 'row')}")
    else:
        _show(result)
    return 0


def _show(result: SqlResult) -> None:
    if not sys.stdout.isatty():
        writer = csv.writer(sys.stdout)
        writer.writerow(result.columns)
        writer.writerows([["" if value is None else value for value in row] for row in result.rows])
    else:
        _print_table(result)
    if result.is_cut:
        print(f"tablewright: there are more rows than these {len(result.rows)}; see --limit", file=sys.stderr)


def _print_table(result: SqlResult) -> None:
    rows = [[_shown(value) for value in row] for row in result.rows]
    widths = [max(map(len, column)) for column in zip(result.columns, *rows, strict=True)]
    right = [kind not in ("VARCHAR", "JSON") for kind in result.types]
    for row in [list(result.columns), ["-" * width for width in widths], *rows]:
        cells = zip(row, widths, right, strict=True)
        print("  ".join(cell.rjust(width) if to else cell.ljust(width) for cell, width, to in cells).rstrip())


def _shown(value: Any) -> str:
    """A value on one line of a terminal: control characters cannot move the cursor."""
    text = "" if value is None else value.hex() if isinstance(value, bytes) else str(value)
    text = "".join(each if each.isprintable() else "·" for each in text[: _WIDEST + 1])
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
