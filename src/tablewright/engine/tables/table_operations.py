"""CreateTable, DescribeTable, ListTables and DeleteTable.

A table is ready as soon as it is created, and gone as soon as it is deleted; the responses nevertheless say
CREATING and DELETING, like the service's, because clients wait for the status that follows.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import partial
from typing import Any

from tablewright.dynamo import LimitExceededException, ResourceInUseException, ValidationException
from tablewright.dynamo.limits import MAX_TABLE_NAMES
from tablewright.engine.backups import on_demand, point_in_time
from tablewright.engine.database import Database
from tablewright.engine.discarded_tables import discard
from tablewright.engine.slices import Steps
from tablewright.engine.storage import sql_schema
from tablewright.engine.streams import shards
from tablewright.engine.tables.table_checks import check_account_limits, check_definition, merged_tags
from tablewright.engine.tables.table_description import (
    current_description,
    forget_figures,
    new_description,
    once_counted,
)
from tablewright.engine.tables.table_lookup import find_table, table_name
from tablewright.engine.tables.table_schema import Table

_MAX_TABLES = 2500
_TABLES_CREATED = "tables created"
# Members that the response to DeleteTable omits.
_GONE_FIRST = (
    "AttributeDefinitions",
    "KeySchema",
    "CreationDateTime",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "WarmThroughput",
)


def create_table(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    request = {**request, "TableName": table_name(db, request["TableName"])}
    check_definition(request)
    name = request["TableName"]
    if name in db.tables:
        raise ResourceInUseException(f"Table already exists: {name}")
    check_table_quota(db, request)
    table = make_table(db, request)
    return {"TableDescription": creating_description(db, table, request)}


def check_table_quota(db: Database, request: dict[str, Any]) -> None:
    """The limits of the account, for a table that has passed all other checks."""
    if len(db.tables) >= _MAX_TABLES:
        raise LimitExceededException(
            f"Subscriber limit exceeded: There is a limit of {_MAX_TABLES} tables per subscriber"
        )
    check_account_limits(request, db.region)
    for index in request.get("GlobalSecondaryIndexes", ()):
        check_account_limits(index, db.region, index["IndexName"])


def make_table(db: Database, request: dict[str, Any], seed: int | None = None) -> Table:
    """Create a table without items, from a checked request; a restored one has a seed."""
    db.storage.check_room()
    description = new_description(db, request)
    indexes = [
        index["IndexName"]
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for index in description.get(member, ())
    ]
    number = _next_number(db)
    table = Table(
        number=number,
        description=description,
        seed=number if seed is None else seed,
        tags=merged_tags({}, request.get("Tags", ())),
        next_index=len(indexes) + 1,
        index_numbers={index: number for number, index in enumerate(indexes, start=1)},
    )
    db.save_table(table)
    execute = db.storage.write()
    execute(sql_schema.items_table(table.rows))
    for index in table.indexes.values():
        execute(sql_schema.index_table(index.rows))
    stream = request.get("StreamSpecification")
    if stream and stream["StreamEnabled"]:
        shards.enable_stream(db, table, stream["StreamViewType"])
        table = replace(table)
        db.save_table(table)
    return table


def creating_description(db: Database, table: Table, request: dict[str, Any]) -> dict[str, Any]:
    """The description of a table that the service returns while it creates the table."""
    response = current_description(db, table)
    response["TableStatus"] = "CREATING"
    _show_warm_throughput(response, request)
    for index, definition in zip(
        response.get("GlobalSecondaryIndexes", ()), request.get("GlobalSecondaryIndexes", ()), strict=True
    ):
        index["IndexStatus"] = "CREATING"
        _show_warm_throughput(index, definition)
    for summary in ("BillingModeSummary", "TableThroughputModeSummary"):
        response.get(summary, {}).pop("LastUpdateToPayPerRequestDateTime", None)
    return response


def _show_warm_throughput(response: dict[str, Any], request: dict[str, Any]) -> None:
    if request.get("WarmThroughput"):
        response["WarmThroughput"]["Status"] = "UPDATING"
    else:
        del response["WarmThroughput"]


def describe_table(db: Database, request: dict[str, Any]) -> Steps:
    table = yield from once_counted(db, partial(find_table, db, request["TableName"]))
    return {"Table": current_description(db, table)}


def list_tables(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    # Names are ASCII, so that the order of characters is the order of bytes.
    names = sorted(db.tables)
    begin = 0
    if "ExclusiveStartTableName" in request:
        begin = bisect_right(names, request["ExclusiveStartTableName"])
    end = begin + request.get("Limit", MAX_TABLE_NAMES)
    answer: dict[str, Any] = {"TableNames": names[begin:end]}
    if end < len(names):
        answer["LastEvaluatedTableName"] = names[end - 1]
    return answer


def delete_table(db: Database, request: dict[str, Any]) -> Steps:
    table = yield from once_counted(db, partial(_find_deletable_table, db, request["TableName"]))
    return {"TableDescription": _delete(db, table)}


def _find_deletable_table(db: Database, name: str) -> Table:
    table = find_changeable_table(db, name)
    if table.description["DeletionProtectionEnabled"]:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    if any(index["IndexStatus"] != "ACTIVE" for index in table.description.get("GlobalSecondaryIndexes", ())):
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: "
            "Cannot delete table while indexes are being created, updated, or deleted."
        )
    return table


def _delete(db: Database, table: Table) -> dict[str, Any]:
    response = current_description(db, table)
    response["TableStatus"] = "DELETING"
    for member in _GONE_FIRST:
        response.pop(member, None)
    execute = db.storage.write()
    execute("DELETE FROM tables WHERE number = ?", (table.number,))
    if table.stream is not None:
        # On a copy: the table in use must stay as it is if this fails.
        shards.disable_stream(db, replace(table, description=dict(table.description)))
    if table.recovery_days is None:
        discard(db, table.rows)
    else:
        on_demand.back_up_deleted_table(db, table)
        point_in_time.forget_history(db, table)
    discard(db, *(index.rows for index in table.indexes.values()))
    if table.time_to_live is not None:
        discard(db, table.expiries)
    del db.tables[table.name]
    forget_figures(db, table.number)
    return response


# -- what the other operations on tables share ---------------------------------------------------------------


def find_changeable_table(db: Database, name_or_arn: str) -> Table:
    """A table to change or delete; one that is being restored is refused."""
    table = find_table(db, name_or_arn)
    if table.is_being_restored:
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being created: {table.name}"
        )
    return table


def _next_number(db: Database) -> int:
    """A number that no table has had: streams of deleted tables can still be read."""
    number = (db.setting(_TABLES_CREATED) or 0) + 1
    db.save_setting(_TABLES_CREATED, number)
    return number
