"""Backups of a data folder's tables, in that folder, and copies of the whole folder elsewhere: create, list and
restore one.

                          a table's backup, as in DynamoDB          a copy of the whole data folder
    backup                TABLE                                     --to FOLDER
    backups                                                         --from FOLDER
    restore               SOURCE --to NAME                          --from FOLDER

For backups of tables the commands open the folder themselves; while a server uses it, an AWS client does the same over
HTTP. A copy can be made while the folder is in use.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.database_commands import counted, existing_folder, locate, open_engine, storage_errors

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress
    from tablewright.engine import Engine

# A backup's name may be this long, and the time is a part of it.
_MAX_NAME = 255
_IN_USE = "the data folder must not be in use; while a server uses it, make the same request with an AWS client."


def register(commands: Commands) -> None:
    backup = commands.add_parser(
        "backup",
        help="back up a data folder to a folder of copies, or one table in it",
        epilog=f"--to works while a server uses the data folder. For TABLE, {_IN_USE}",
    )
    what = backup.add_mutually_exclusive_group(required=True)
    what.add_argument("table", metavar="TABLE", nargs="?", help="back up this table, in the data folder itself")
    what.add_argument("--to", metavar="FOLDER", help="add a copy of the whole data folder to this folder of copies")
    _add_data(backup)
    backup.add_argument("--name", help="name of a table's backup (default: the table's, and the time)")
    backup.add_argument(
        "--keep", type=_count, metavar="N", help="with --to: delete copies older than the N newest intact ones"
    )
    backup.set_defaults(command=_backup, parser=backup)

    listing = commands.add_parser(
        "backups", help="list the backups in a data folder, or the copies of one", epilog=f"Without --from, {_IN_USE}"
    )
    listing.add_argument("table", metavar="TABLE", nargs="?", help="only those of this table")
    listing.add_argument("--from", dest="copies", metavar="FOLDER", help="list the copies in this folder of copies")
    _add_data(listing)
    listing.set_defaults(command=_list, parser=listing)

    restore = commands.add_parser(
        "restore",
        help="restore a backup, or a table as it was, as a new table; or a copy as a new data folder",
        epilog=f"Without --from, {_IN_USE}",
    )
    source = restore.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="ARN of a backup, or the name of a table with point-in-time recovery",
    )
    source.add_argument(
        "--from", dest="copies", metavar="FOLDER", help="restore a copy from this folder of copies to a new --data"
    )
    _add_data(restore)
    restore.add_argument("--to", metavar="NAME", help="name of the new table")
    restore.add_argument(
        "--at",
        type=_time,
        metavar="TIME",
        help="time to restore to, such as 2026-11-15T18:30:00Z; local time without an offset (default: the latest);"
        " with --from, the newest copy that was taken by then, or a copy's name",
    )
    restore.set_defaults(command=_restore, parser=restore)


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", default="data", metavar="DIR", help="data folder (default: ./data)")


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"a time looks like 2026-11-15T18:30:00Z, not {text!r}") from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 10_000):
        raise argparse.ArgumentTypeError(f"the number of copies is at least 1, not {text!r}")
    return int(text)


def _open(options: argparse.Namespace, table: str | None) -> Engine:
    """The engine of the data folder, unless the name of the table is a folder, given in the wrong place."""
    if table is not None and (os.sep in table or (os.path.isdir(table) and not os.path.exists(options.data))):
        raise UsageError(f"{table} is not the name of a table; give a data folder with --data {table}")
    return open_engine(existing_folder(options.data, "; give its path with --data"))


def _backup(options: argparse.Namespace) -> int:
    if options.to is not None:
        if options.name is not None:
            raise UsageError("--name is for the backup of a table; copies are named by their time")
        return _copy(options)
    if options.keep is not None:
        raise UsageError("--keep is for copies of the whole data folder, with --to FOLDER")
    with _open(options, options.table) as engine:
        name = options.name
        if name is None:
            stamp = f"-{datetime.now(UTC):%Y-%m-%dT%H.%M.%SZ}"
            name = options.table[: _MAX_NAME - len(stamp)] + stamp
        made = _call(engine, "CreateBackup", TableName=options.table, BackupName=name)["BackupDetails"]
        restored = _call(engine, "DescribeBackup", BackupArn=made["BackupArn"])["BackupDescription"]
    items = counted(restored["SourceTableDetails"]["ItemCount"], "item")
    print(f"Backed up {options.table} ({items}) as {made['BackupName']}")
    print(made["BackupArn"])
    return 0


def _list(options: argparse.Namespace) -> int:
    if options.copies is not None:
        if options.table is not None:
            raise UsageError("a copy is of the whole data folder; omit TABLE, or --from")
        return _list_copies(options)
    request: dict[str, Any] = {"BackupType": "ALL"}
    if options.table is not None:
        request["TableName"] = options.table
    found = 0
    with _open(options, options.table) as engine:
        while True:
            page = _call(engine, "ListBackups", **request)
            found += len(page["BackupSummaries"])
            for backup in page["BackupSummaries"]:
                made = _shown(backup["BackupCreationDateTime"])
                until = f", until {_shown(backup['BackupExpiryDateTime'])}" if "BackupExpiryDateTime" in backup else ""
                print(f"{made}  {backup['TableName']}  {backup['BackupName']}{until}  {backup['BackupArn']}")
            if "LastEvaluatedBackupArn" not in page:
                break
            request["ExclusiveStartBackupArn"] = page["LastEvaluatedBackupArn"]
    if not found:
        print("There are no backups" + ("" if options.table is None else f" of {options.table}"))
    return 0


def _restore(options: argparse.Namespace) -> int:
    if options.copies is not None:
        if options.to is not None:
            raise UsageError("--to names a new table; give the folder to restore a copy to with --data")
        return _restore_copy(options)
    if options.to is None:
        raise UsageError("give the name of the new table with --to")
    is_backup = options.source.startswith("arn:")
    if is_backup and options.at is not None:
        raise UsageError(
            "--at does not apply to a backup, which has one time; omit it, or name the table instead of the backup"
        )
    with _open(options, None if is_backup else options.source) as engine:
        if is_backup:
            restored = _call(engine, "RestoreTableFromBackup", BackupArn=options.source, TargetTableName=options.to)
        else:
            when = {"UseLatestRestorableTime": True} if options.at is None else {"RestoreDateTime": options.at}
            restored = _restore_to(engine, options.source, TargetTableName=options.to, **when)
        print(f"Restoring {options.source} as {options.to} ...", flush=True)
        engine.sweep()
        table = _call(engine, "DescribeTable", TableName=options.to)["Table"]
    then = _shown(restored["TableDescription"]["RestoreSummary"]["RestoreDateTime"])
    print(f"{options.to} has {counted(table['ItemCount'], 'item')}, as of {then}")
    return 0


def _restore_to(engine: Engine, source: str, **request: Any) -> dict[str, Any]:
    from tablewright.dynamo import DynamoError, InvalidRestoreTimeException, PointInTimeRecoveryUnavailableException

    try:
        return engine.call("RestoreTableToPointInTime", {"SourceTableName": source, **request})
    except PointInTimeRecoveryUnavailableException:
        raise UsageError(
            f"point-in-time recovery is not enabled for {source}; "
            "give the ARN of a backup instead; `tablewright backups` lists them"
        ) from None
    except InvalidRestoreTimeException:
        described = _call(engine, "DescribeContinuousBackups", TableName=source)["ContinuousBackupsDescription"]
        window = described["PointInTimeRecoveryDescription"]
        earliest, latest = window["EarliestRestorableDateTime"], window["LatestRestorableDateTime"]
        raise UsageError(f"{source} can be restored to a time from {_shown(earliest)} to {_shown(latest)}") from None
    except DynamoError as error:
        raise UsageError(_plain(error)) from None


# -- copies of the whole folder -----------------------------------------------------------------------------


def _copy(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.engine.copies.folder_backup import back_up

    data = existing_folder(options.data, "; give its path with --data")
    to = locate(options.to)
    with StepProgress() as steps, storage_errors():
        copy = back_up(data, to, keep=options.keep, progress=_in_megabytes(steps))
    print(f"Copied {data} to {to} as {copy.name}: {_bytes(copy.size)}, of which {_bytes(copy.written)} were new")
    return _reported(copy.problems, "the data folder is damaged, and so is this copy; earlier copies are kept")


def _list_copies(options: argparse.Namespace) -> int:
    from tablewright.engine import DamagedError
    from tablewright.engine.copies.copy_folder import CopyFolder

    copies = CopyFolder(locate(options.copies))
    names = copies.names()
    if not names:
        print(f"There are no copies in {copies.folder}")
    status = 0
    for name in names:
        try:
            copy = copies.read(name)
        except DamagedError as error:
            print(f"{name}  {error}")
            status = 1
            continue
        state = f", damaged: {counted(len(copy.problems), 'problem')}" if copy.problems else ""
        print(f"{name}  {_bytes(copy.size)}, {_bytes(copy.written)} new{state}")
    return status


def _restore_copy(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.engine.copies.copy_folder import CopyFolder
    from tablewright.engine.copies.folder_backup import restore

    copies, data = CopyFolder(locate(options.copies)), locate(options.data)
    with StepProgress() as steps, storage_errors():
        copy = copies.choose(options.at)
        restore(copies, copy, data, _in_megabytes(steps))
    print(f"Restored {data} as of {_shown(copy.taken_at)}: {_bytes(copy.size)}")
    return _reported(
        copy.problems, "the data folder was damaged when this copy was taken; --at restores an earlier one"
    )


def _in_megabytes(steps: StepProgress) -> Callable[[str, int, int], None]:
    """Bytes done, and their total; without a total it is a number of files."""

    def report(what: str, done: int, total: int) -> None:
        if total:
            steps.report(f"{what} (MB)", done // 10**6, total // 10**6)
        else:
            steps.report(what, done, 0)

    return report


def _reported(problems: list[str], meaning: str) -> int:
    for problem in problems:
        print(f"problem: {problem}")
    if problems:
        print(meaning)
    return 1 if problems else 0


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


# -- calls --------------------------------------------------------------------------------------------------


def _call(engine: Engine, operation: str, **request: Any) -> dict[str, Any]:
    from tablewright.engine import DynamoError

    try:
        return engine.call(operation, request)
    except DynamoError as error:
        raise UsageError(_plain(error)) from None


def _plain(error: Any) -> str:
    """The message of an error, with what to do about the most frequent ones."""
    advice = {
        "TableAlreadyExistsException": "; choose another name with --to, or delete that table first",
        "BackupNotFoundException": "; `tablewright backups` lists the backups that exist",
    }
    return f"{error.message}{advice.get(error.code, '')}"


def _shown(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"
