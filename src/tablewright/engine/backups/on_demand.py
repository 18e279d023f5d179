"""On-demand backups: CreateBackup, DescribeBackup, ListBackups and DeleteBackup.

A backup is a row of the SQL table ``backups``, which holds the description of its table, and an SQL table with a copy
of the items. The copy is made in slices (``row_copies``), is of one instant, and is complete when CreateBackup returns;
the response says CREATING, like the service's. A backup no longer needs its table.

A table that is deleted while point-in-time recovery is enabled leaves a backup of type SYSTEM, which costs nothing: the
SQL table of its items is renamed. It is deleted after 35 days, in the background.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time
from typing import Any

import orjson

from tablewright.dynamo import BackupNotFoundException, ValidationException
from tablewright.engine.backups.point_in_time import check_backups_available
from tablewright.engine.backups.row_copies import copy_rows, finish, new_copy
from tablewright.engine.database import Database
from tablewright.engine.discarded_tables import discard
from tablewright.engine.slices import Sliced, Steps, slice_end
from tablewright.engine.storage import sql_schema
from tablewright.engine.storage.checksums import check_record, record_checksum
from tablewright.engine.tables.table_description import (
    RowsDeletedError,
    billing_mode,
    count_rows,
    current_description,
    declared_index,
    moment,
    once_counted,
)
from tablewright.engine.tables.table_lookup import find_backup_source, find_same_source, table_name
from tablewright.engine.tables.table_schema import Table

SYSTEM_BACKUP_SECONDS = 35 * 24 * 3600.0

_PAGE = 100
_EXPIRY_INTERVAL = 3600.0
_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[\w-]*:\d*:table/[\w.-]{3,255}/backup/(\d{14}-[0-9a-f]{8})", re.ASCII)
_SELECT = "SELECT number, arn, expires, definition, checksum FROM backups"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup, as it is stored; ``rows`` is the SQL table of its items."""

    number: int
    # The service's BackupDetails, and the table's own description at the moment of the backup.
    details: dict[str, Any]
    description: dict[str, Any]
    # None until they are counted.
    items: int | None
    time_to_live: str | None
    # Where the checksums of its items start.
    seed: int

    @property
    def arn(self) -> str:
        return str(self.details["BackupArn"])

    @property
    def created(self) -> float:
        return float(self.details["BackupCreationDateTime"])

    @property
    def place(self) -> str:
        """Its position in lists: an ARN ends with the time at which the backup was made."""
        return self.arn.rpartition("/")[2]

    @property
    def rows(self) -> str:
        return f"backup_{self.number}"


# -- operations ----------------------------------------------------------------------------------------------


def create_backup(db: Database, request: dict[str, Any]) -> Steps:
    table = find_backup_source(db, request["TableName"])
    check_backups_available(table)
    find_again = partial(find_same_source, db, table)
    with new_copy(db, table.rows, sql_schema.backup_table) as copy:
        # First, since no other operation may run between the last row and the end.
        yield from once_counted(db, find_again)
        yield from copy_rows(db, copy, find_again)
        number = _next_number(db)
        finish(db, copy, f"backup_{number}")
    table = find_again()
    backup = _save(db, number, table, current_description(db, table), copy.count, request["BackupName"], None)
    return {"BackupDetails": {**backup.details, "BackupStatus": "CREATING"}}


def describe_backup(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    return {"BackupDescription": _shown(find_backup(db, request["BackupArn"]))}


def list_backups(db: Database, request: dict[str, Any]) -> Steps:
    kind = request.get("BackupType", "USER")
    name = table_name(db, request["TableName"]) if "TableName" in request else None
    start = request.get("ExclusiveStartBackupArn")
    after = "" if start is None else _place(db, start)
    lower, upper = request.get("TimeRangeLowerBound"), request.get("TimeRangeUpperBound")
    found: list[Backup] = []
    last, more = 0, True
    until = slice_end()
    while more:
        if thread_time() > until:
            yield
            until = slice_end()
        rows = db.storage.execute(
            f"{_SELECT} WHERE number > ? AND (expires IS NULL OR expires > ?) ORDER BY number LIMIT {_PAGE}",
            (last, db.clock()),
        ).fetchall()
        more = len(rows) == _PAGE
        for row in rows:
            backup = _backup(*row)
            last = backup.number
            if (
                backup.place > after
                and kind in ("ALL", backup.details["BackupType"])
                and name in (None, backup.description["TableName"])
                and (lower is None or lower <= backup.created)
                and (upper is None or backup.created < upper)
            ):
                found.append(backup)
    found.sort(key=lambda backup: backup.place)
    limit = request.get("Limit", _PAGE)
    answer: dict[str, Any] = {"BackupSummaries": [_summary(backup) for backup in found[:limit]]}
    if len(found) > limit:
        answer["LastEvaluatedBackupArn"] = found[limit - 1].arn
    return answer


def delete_backup(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    backup = find_backup(db, request["BackupArn"])
    description = _shown(backup)
    description["BackupDetails"] = {**description["BackupDetails"], "BackupStatus": "DELETED"}
    _forget(db, backup)
    return {"BackupDescription": description}


# -- for the operations on tables ----------------------------------------------------------------------------


def back_up_deleted_table(db: Database, table: Table) -> None:
    """Make a backup of a table that is being deleted, from the table's own rows; they are counted later."""
    description = current_description(db, table)
    number = _next_number(db)
    db.storage.write()(f"ALTER TABLE {table.rows} RENAME TO backup_{number}")
    _save(db, number, table, description, None, f"{table.name}$DeletedTableBackup", SYSTEM_BACKUP_SECONDS)
    db.on_schedule()


def find_backup(db: Database, arn: str) -> Backup:
    _place(db, arn)
    found = db.storage.execute(
        f"{_SELECT} WHERE arn = ? AND (expires IS NULL OR expires > ?)", (arn, db.clock())
    ).fetchone()
    if found is None:
        raise BackupNotFoundException(f"Backup not found: {arn}")
    return _backup(*found)


def all_backups(db: Database) -> list[Backup]:
    """All backups, unordered; also those that are due to be deleted."""
    return [_backup(*row) for row in db.storage.execute(_SELECT)]


def forget_expired(db: Database) -> float | None:
    """A step of the background work: delete a backup of a deleted table after its 35 days."""
    found = db.storage.execute(f"{_SELECT} WHERE expires IS NOT NULL ORDER BY expires LIMIT 1").fetchone()
    if found is None:
        return None
    if found[2] > db.clock():
        return _EXPIRY_INTERVAL
    _forget(db, _backup(*found))
    return 0.0


def count_items(db: Database) -> float | None:
    """A step of the background work: count the items of backups that were made from a table's own rows.

    A deletion does not wait for that, and nothing changes a backup. ``verify`` compares with this count.
    """
    if db.counting_backups is None:
        if not db.has_uncounted_backups:
            return None
        db.has_uncounted_backups = False
        db.counting_backups = _count_items(db)
    try:
        next(db.counting_backups)
    except StopIteration:
        db.counting_backups = None
    return 0.0


def _count_items(db: Database) -> Sliced[None]:
    for backup in all_backups(db):
        if backup.items is not None:
            continue
        try:
            items = yield from count_rows(db, backup.rows, "id")
        except RowsDeletedError:
            continue
        counted = replace(backup, items=items)
        expires = backup.details.get("BackupExpiryDateTime")
        columns = (backup.number, backup.arn, None if expires is None else float(expires), _definition(counted))
        db.storage.write()(
            "UPDATE backups SET definition = ?, checksum = ? WHERE number = ?",
            (columns[-1], record_checksum(*columns), backup.number),
        )


# -- ARNs ----------------------------------------------------------------------------------------------------


def _place(db: Database, arn: str) -> str:
    """The position of a backup in lists, from its ARN; the backup may be deleted."""
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise ValidationException(f"1 validation error detected: Invalid backup ARN: '{arn}'")
    db.check_arn(arn)
    return parts[1]


def _new_arn(db: Database, table: Table, created: float) -> str:
    while True:
        arn = f"{table.arn}/backup/{round(created * 1000):014d}-{db.random.getrandbits(32):08x}"
        if db.storage.execute("SELECT 1 FROM backups WHERE arn = ?", (arn,)).fetchone() is None:
            return arn


# -- rows ----------------------------------------------------------------------------------------------------


def _next_number(db: Database) -> int:
    return int(db.storage.execute("SELECT coalesce(max(number), 0) + 1 FROM backups").fetchone()[0])


def _save(
    db: Database,
    number: int,
    table: Table,
    description: dict[str, Any],
    items: int | None,
    name: str,
    kept: float | None,
) -> Backup:
    """``kept``: for how many seconds; None for a backup that stays until it is deleted."""
    created = moment(db)
    expires = None if kept is None else float(created + kept)
    details = {
        "BackupArn": _new_arn(db, table, created),
        "BackupName": name,
        "BackupSizeBytes": description["TableSizeBytes"],
        "BackupStatus": "AVAILABLE",
        "BackupType": "USER" if expires is None else "SYSTEM",
        "BackupCreationDateTime": created,
    }
    if expires is not None:
        details["BackupExpiryDateTime"] = expires
    backup = Backup(number, details, description, items, table.time_to_live, table.seed)
    columns = (number, backup.arn, expires, _definition(backup))
    db.storage.write()(
        "INSERT INTO backups (number, arn, expires, definition, checksum) VALUES (?, ?, ?, ?, ?)",
        (*columns, record_checksum(*columns)),
    )
    if items is None:
        db.has_uncounted_backups = True
        db.on_schedule()
    return backup


def _definition(backup: Backup) -> bytes:
    return orjson.dumps(
        {
            "details": backup.details,
            "description": backup.description,
            "items": backup.items,
            "time_to_live": backup.time_to_live,
            "seed": backup.seed,
        }
    )


def _backup(number: int, arn: str, expires: float | None, definition: bytes, checksum: int) -> Backup:
    check_record(f"the definition of backup {arn}", checksum, number, arn, expires, definition)
    return Backup(number=number, **orjson.loads(definition))


def _forget(db: Database, backup: Backup) -> None:
    execute = db.storage.write()
    execute("DELETE FROM backups WHERE number = ?", (backup.number,))
    discard(db, backup.rows)


# -- showing -------------------------------------------------------------------------------------------------


def _summary(backup: Backup) -> dict[str, Any]:
    table = {member: backup.description[member] for member in ("TableName", "TableId", "TableArn")}
    return {**table, **backup.details}


def _shown(backup: Backup) -> dict[str, Any]:
    """The service's BackupDescription."""
    table = backup.description
    source = {
        "TableName": table["TableName"],
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
        "TableSizeBytes": table["TableSizeBytes"],
        "KeySchema": table["KeySchema"],
        "TableCreationDateTime": table["CreationDateTime"],
        "ProvisionedThroughput": _units(table),
        "ItemCount": table["ItemCount"] if backup.items is None else backup.items,
        "BillingMode": billing_mode(table),
    }
    if "OnDemandThroughput" in table:
        source["OnDemandThroughput"] = table["OnDemandThroughput"]
    features: dict[str, Any] = {}
    if "LocalSecondaryIndexes" in table:
        features["LocalSecondaryIndexes"] = [declared_index(index) for index in table["LocalSecondaryIndexes"]]
    if "GlobalSecondaryIndexes" in table:
        features["GlobalSecondaryIndexes"] = [
            {**declared_index(index), "ProvisionedThroughput": _units(index), **_ceilings(index)}
            for index in table["GlobalSecondaryIndexes"]
        ]
    if "StreamSpecification" in table:
        features["StreamDescription"] = table["StreamSpecification"]
    if backup.time_to_live is not None:
        features["TimeToLiveDescription"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": backup.time_to_live}
    if "SSEDescription" in table:
        features["SSEDescription"] = table["SSEDescription"]
    return {"BackupDetails": backup.details, "SourceTableDetails": source, "SourceTableFeatureDetails": features}


def _units(holder: dict[str, Any]) -> dict[str, int]:
    return {unit: holder["ProvisionedThroughput"][unit] for unit in ("ReadCapacityUnits", "WriteCapacityUnits")}


def _ceilings(index: dict[str, Any]) -> dict[str, Any]:
    return {"OnDemandThroughput": index["OnDemandThroughput"]} if "OnDemandThroughput" in index else {}
