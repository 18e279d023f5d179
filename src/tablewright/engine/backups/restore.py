"""RestoreTableFromBackup and RestoreTableToPointInTime.

A restored table is created as by CreateTable: the description that it comes from, with the overrides of the request, is
turned into a CreateTable request and passes the same checks. Its items are copied first, in slices (``row_copies``);
the copy becomes the table's own. Its indexes are filled by the backfill, like an added index. The table is CREATING
until that is done, which for a small table is at once. A process that is killed meanwhile leaves no table, or one that
is finished after the next start.

    description ─ overrides ─▶ CreateTable request ─▶ checks ─▶ items ─▶ table ─▶ indexes ─▶ ACTIVE

Keys, indexes, capacity and encryption are restored: those of the backup, or those that the source has now. Tags, time
to live, the stream, recovery, deletion protection and the table class are not; no stream has records of restored items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tablewright.dynamo import (
    TableAlreadyExistsException,
    TableInUseException,
)
from tablewright.engine.backups import point_in_time
from tablewright.engine.backups.on_demand import find_backup
from tablewright.engine.backups.row_copies import copy_rows, finish, new_copy
from tablewright.engine.database import Database, RowCopy
from tablewright.engine.slices import Steps
from tablewright.engine.storage import sql_schema
from tablewright.engine.tables import index_backfill
from tablewright.engine.tables.table_checks import (
    ON_DEMAND,
    PROVISIONED,
    check_definition,
    invalid,
    key_names,
)
from tablewright.engine.tables.table_description import billing_mode, declared_index
from tablewright.engine.tables.table_lookup import find_backup_source, find_same_source
from tablewright.engine.tables.table_operations import check_table_quota, creating_description, make_table
from tablewright.engine.tables.table_schema import Table

_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")


def restore_table_from_backup(db: Database, request: dict[str, Any]) -> Steps:
    backup = find_backup(db, request["BackupArn"])
    definition = _definition(db, request, backup.description)
    summary = {
        "SourceBackupArn": backup.arn,
        "SourceTableArn": backup.description["TableArn"],
        "RestoreDateTime": backup.created,
    }
    with new_copy(db, backup.rows, sql_schema.items_table) as copy:
        yield from copy_rows(db, copy, lambda: find_backup(db, backup.arn))
        return _finished(db, definition, summary, backup.seed, copy)


def restore_table_to_point_in_time(db: Database, request: dict[str, Any]) -> Steps:
    source = _source(db, request)
    definition = _definition(db, request, source.description)
    time = _time(db, source, request)
    with new_copy(db, source.rows if time is None else "", sql_schema.items_table) as copy:
        if time is None:
            yield from copy_rows(db, copy, lambda: find_same_source(db, source))
            then = point_in_time.window(db, source).latest
        else:
            still_there = partial(_check_history, db, source, request)
            yield from point_in_time.copy_state(db, source, time, copy.rows, still_there)
            then = time
        summary = {"SourceTableArn": source.arn, "RestoreDateTime": round(then, 3)}
        return _finished(db, definition, summary, source.seed, copy)


def _check_history(db: Database, source: Table, request: Mapping[str, Any]) -> None:
    """Refuse to continue if the table, its history or the needed part of it was deleted meanwhile."""
    found = find_same_source(db, source)
    point_in_time.check_recovery(found)
    _time(db, found, request)


def _finished(
    db: Database, definition: dict[str, Any], summary: dict[str, Any], seed: int, copy: RowCopy
) -> dict[str, Any]:
    """Create the table, with the copied rows, and begin to fill its indexes."""
    check_target(db, definition["TableName"])
    check_table_quota(db, definition)
    table, response = _make(db, definition, summary, seed)
    db.storage.write()(f"DROP TABLE {table.rows}")
    finish(db, copy, table.rows)
    index_backfill.begin_restore(db, table)
    return {"TableDescription": response}


def _make(db: Database, definition: dict[str, Any], summary: dict[str, Any], seed: int) -> tuple[Table, dict[str, Any]]:
    """Create the table to restore, still without items; returns it and the description for the response."""
    table = make_table(db, definition, seed)
    description = {
        **table.description,
        "TableStatus": "CREATING",
        "RestoreSummary": {**summary, "RestoreInProgress": True},
    }
    for index in description.get("GlobalSecondaryIndexes", ()):
        index["IndexStatus"] = "CREATING"
    table = replace(table, description=description)
    db.save_table(table)
    return table, creating_description(db, table, definition)


# -- what is restored ----------------------------------------------------------------------------------------


def _source(db: Database, request: Mapping[str, Any]) -> Table:
    named = [request[member] for member in ("SourceTableName", "SourceTableArn") if member in request]
    if len(named) != 1:
        raise invalid("Exactly one of SourceTableName and SourceTableArn must be specified")
    for index in request.get("GlobalSecondaryIndexOverride", ()):
        if "WarmThroughput" in index:
            raise invalid(
                f"WarmThroughput is not supported in GlobalSecondaryIndexOverride for index: {index['IndexName']}"
            )
    if request.get("UseLatestRestorableTime", False) == ("RestoreDateTime" in request):
        raise invalid("Exactly one of RestoreDateTime and UseLatestRestorableTime must be specified")
    source = find_backup_source(db, named[0])
    point_in_time.check_recovery(source)
    return source


def _time(db: Database, source: Table, request: Mapping[str, Any]) -> float | None:
    """The time to restore; None for the latest: the present state of the table, whatever the clock says."""
    if "RestoreDateTime" not in request:
        return None
    time = request["RestoreDateTime"]
    point_in_time.check_time(db, source, time)
    return float(time)


# -- the table to create -------------------------------------------------------------------------------------


def _definition(db: Database, request: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """A checked CreateTable request for the restored table."""
    name = request["TargetTableName"]
    check_target(db, name)
    if request.get("VectorIndexOverride"):
        raise invalid("Tablewright does not support VectorIndexOverride")
    billing = request.get("BillingModeOverride", billing_mode(source))
    definition: dict[str, Any] = {
        "TableName": name,
        "KeySchema": source["KeySchema"],
        "BillingMode": billing,
        **_capacity(billing, source, request.get("ProvisionedThroughputOverride")),
        **_ceilings(billing, source, request.get("OnDemandThroughputOverride")),
    }
    local = [declared_index(index) for index, _ in _paired("LocalSecondaryIndex", request, source)]
    global_ = [
        {
            **declared_index(index),
            **_capacity(billing, source_index, index.get("ProvisionedThroughput")),
            **_ceilings(billing, source_index, index.get("OnDemandThroughput")),
            **({"WarmThroughput": index["WarmThroughput"]} if "WarmThroughput" in index else {}),
        }
        for index, source_index in _paired("GlobalSecondaryIndex", request, source)
    ]
    if local:
        definition["LocalSecondaryIndexes"] = local
    if global_:
        definition["GlobalSecondaryIndexes"] = global_
    used = {attribute for holder in (definition, *local, *global_) for attribute in key_names(holder["KeySchema"])}
    definition["AttributeDefinitions"] = [
        attribute for attribute in source["AttributeDefinitions"] if attribute["AttributeName"] in used
    ]
    encryption = request.get("SSESpecificationOverride", _encryption(source))
    if encryption is not None:
        definition["SSESpecification"] = encryption
    check_definition(definition)
    check_table_quota(db, definition)
    return definition


def check_target(db: Database, name: str) -> None:
    """The name of a table to restore must be free."""
    if name in db.tables:
        if db.tables[name].is_being_restored:
            raise TableInUseException(f"Table is being created: {name}")
        raise TableAlreadyExistsException(f"Table already exists: {name}")


def _capacity(billing: str, source: Mapping[str, Any], wanted: Mapping[str, int] | None) -> dict[str, Any]:
    """The requested units, or those of the source, if it has any and the table is provisioned."""
    if wanted is None and billing == PROVISIONED:
        units = {unit: source["ProvisionedThroughput"][unit] for unit in _UNITS}
        wanted = units if all(units.values()) else None
    return {} if wanted is None else {"ProvisionedThroughput": wanted}


def _ceilings(billing: str, source: Mapping[str, Any], wanted: Mapping[str, int] | None) -> dict[str, Any]:
    if wanted is None and billing == ON_DEMAND:
        wanted = source.get("OnDemandThroughput")
    return {} if wanted is None else {"OnDemandThroughput": wanted}


def _encryption(source: Mapping[str, Any]) -> dict[str, Any] | None:
    described = source.get("SSEDescription")
    if described is None:
        return None
    return {"Enabled": True, "SSEType": described["SSEType"], "KMSMasterKeyId": described["KMSMasterKeyArn"]}


def _paired(
    kind: str, request: Mapping[str, Any], source: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The indexes to restore, each with its matching index of the source: all, unless some are named."""
    existing = {index["IndexName"]: index for index in source.get(f"{kind.removesuffix('Index')}Indexes", ())}
    if f"{kind}Override" not in request:
        return [(declared_index(index), index) for index in existing.values()]
    pairs = []
    for index in request[f"{kind}Override"]:
        match = existing.get(index["IndexName"])
        if match is None or _shape(match) != _shape(index):
            raise invalid(f"{kind}Override does not match an index of the source: {index['IndexName']}")
        pairs.append((index, match))
    return pairs


def _shape(index: Mapping[str, Any]) -> tuple[Any, ...]:
    projection = index["Projection"]
    return index["KeySchema"], projection.get("ProjectionType"), sorted(projection.get("NonKeyAttributes", ()))
