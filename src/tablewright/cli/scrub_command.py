"""``scrub``: read all of a data folder, at a bounded rate, also while it is in use, and report damage."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.database_commands import counted, existing_folder, locate, report_counts, storage_errors

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress
    from tablewright.engine import VerifyReport
    from tablewright.engine.copies.scrub import Pace

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_LEAST_RATE = 1000


def register(commands: Commands) -> None:
    scrub = commands.add_parser(
        "scrub",
        help="read a data folder in full, also while it is in use, and report damage",
        epilog="Exit codes: 0 intact, 1 damaged, 2 there is no data folder, or no copy.",
    )
    scrub.add_argument("data", metavar="DIR", help="data folder; a server may use it")
    scrub.add_argument(
        "--rate", type=_rate, default="20MB", metavar="RATE", help="bytes to read per second (default: 20MB)"
    )
    scrub.add_argument("--copies", metavar="FOLDER", help="read the copies in this folder of copies, too")
    scrub.set_defaults(command=_scrub, parser=scrub)


def _rate(text: str) -> int:
    found = re.fullmatch(r"(\d{1,9})(|KB|MB|GB)", text)
    rate = 0 if found is None else int(found[1]) * _UNITS[found[2]]
    if rate < _LEAST_RATE:
        raise argparse.ArgumentTypeError(f"a rate looks like 20MB or 500KB, and is at least 1KB, not {text!r}")
    return rate


def _scrub(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.engine.copies.copy_folder import CopyFolder
    from tablewright.engine.copies.scrub import Pace, copy_problems

    folder = existing_folder(options.data)
    copies = None if options.copies is None else CopyFolder(locate(options.copies))
    if copies is not None and not copies.names():
        raise UsageError(
            f"there is no copy in {copies.folder}; give the folder that `tablewright backup --to` writes to"
        )
    pace = Pace(options.rate, sleep=time.sleep)
    with StepProgress() as steps, storage_errors():
        report, blobs = _scrub_folder(folder, pace, steps)
        problems, found = report.problems, report_counts(report)
        if blobs:
            found.append(counted(blobs, "blob"))
        if copies is not None:
            of_copies = copy_problems(copies, pace, lambda done, total: steps.report("reading copies", done, total))
            problems = problems + list(of_copies)
            found.append(counted(len(copies.names()), "copy", "copies"))
    for problem in problems:
        print(f"problem: {problem}")
    state = "damaged" if problems else "intact"
    print(f"{folder} is {state}: {', '.join(found)}; {pace.read / 1e6:,.1f} MB were read")
    return 1 if problems else 0


def _scrub_folder(folder: Path, pace: Pace, steps: StepProgress) -> tuple[VerifyReport, int]:
    from tablewright.engine import Engine, verify_closed
    from tablewright.engine.copies.scrub import snapshot_of
    from tablewright.engine.storage.folder_lock import BLOBS

    def reading(done: int, total: int) -> None:
        steps.report("reading the database", done, total)

    with snapshot_of(folder, pace, reading) as snapshot:
        report = verify_closed(snapshot, steps.report)
        if not (folder / BLOBS).is_dir() or not report.ok:
            return report, 0
        from tablewright.store import blob_store_at, check_blobs

        steps.report("reading blobs", 0, 0)
        blobs = blob_store_at(folder / BLOBS)
        with Engine.open(snapshot) as engine:
            checked = check_blobs(engine, blobs, on_read=pace)
    report.problems += checked.problems
    if checked.missing:
        # They may have been replaced since.
        with snapshot_of(folder, pace, reading) as snapshot, Engine.open(snapshot) as engine:
            report.problems += check_blobs(engine, blobs, only=checked.missing, on_read=pace).missing.values()
    return report, checked.blobs
