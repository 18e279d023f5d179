"""Table descriptions: how they are stored, and how a response shows them.

The stored description is DynamoDB's own ``TableDescription`` without the figures that change by themselves. Those are
computed on request. A count that took long is cached in proportion to its cost, so that describing a table of millions
of items in a loop does not hold up other operations; and the bytes of large tables are estimated from a sample, where
the service's own figures are hours old.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from time import thread_time
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tablewright.dynamo import item_size
from tablewright.engine.database import Database, checked_row
from tablewright.engine.slices import Sliced, in_one_go, slice_end
from tablewright.engine.storage.checksums import DamagedRecord
from tablewright.engine.tables.table_checks import ON_DEMAND, PROVISIONED, least_warm_throughput
from tablewright.engine.tables.table_schema import Index, Table

# A count that took this many seconds of processor time is cached, for so many times as long.
_COSTLY = 0.02
_KEPT_FOR = 20.0
# Tables and indexes up to these sizes are measured exactly.
_MEASURED_ROWS = 50_000
_MEASURED_ENTRIES = 1_000
_MEASURED_AT_ONCE = 1_000
_SAMPLES = 10
_SAMPLE_ROWS = 200
_COUNTED_AT_ONCE = 5_000


class _Figures(NamedTuple):
    """Items and bytes of a table, and of its indexes."""

    items: int
    size: int
    indexes: Mapping[str, tuple[int, int]]
    good_until: float


class RowsDeletedError(Exception):
    """A table or an index that was deleted while it was counted."""


_figures: WeakKeyDictionary[Database, dict[int, _Figures]] = WeakKeyDictionary()


# -- writing -------------------------------------------------------------------------------------------------


def new_description(db: Database, request: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a table that is ready for use, from a checked request."""
    name = request["TableName"]
    now = moment(db)
    billing = request.get("BillingMode", PROVISIONED)
    arn = f"arn:aws:dynamodb:{db.region}:{db.account}:table/{name}"
    description: dict[str, Any] = {
        "AttributeDefinitions": sorted_definitions(request["AttributeDefinitions"]),
        "TableName": name,
        "KeySchema": request["KeySchema"],
        "TableStatus": "ACTIVE",
        "CreationDateTime": now,
        "ProvisionedThroughput": throughput_description(request.get("ProvisionedThroughput")),
        "TableArn": arn,
        "TableId": new_id(db),
        "DeletionProtectionEnabled": request.get("DeletionProtectionEnabled", False),
        "WarmThroughput": _warm_throughput(request, billing),
    }
    if billing == ON_DEMAND:
        set_billing_mode(description, ON_DEMAND, now)
    if "LocalSecondaryIndexes" in request:
        description["LocalSecondaryIndexes"] = [_index_base(arn, index) for index in request["LocalSecondaryIndexes"]]
    if "GlobalSecondaryIndexes" in request:
        description["GlobalSecondaryIndexes"] = [
            new_global_index(arn, index, billing) for index in request["GlobalSecondaryIndexes"]
        ]
    if request.get("OnDemandThroughput"):
        description["OnDemandThroughput"] = request["OnDemandThroughput"]
    if asks_for_encryption(request.get("SSESpecification")):
        description["SSEDescription"] = encryption_description(db, request["SSESpecification"])
    if "TableClass" in request:
        description["TableClassSummary"] = {"TableClass": request["TableClass"]}
    return description


def _index_base(table_arn: str, index: Mapping[str, Any]) -> dict[str, Any]:
    projection = dict(index["Projection"])
    if "NonKeyAttributes" in projection:
        projection["NonKeyAttributes"] = sorted(projection["NonKeyAttributes"])
    return {
        "IndexName": index["IndexName"],
        "KeySchema": index["KeySchema"],
        "Projection": projection,
        "IndexArn": f"{table_arn}/index/{index['IndexName']}",
    }


def new_global_index(table_arn: str, index: Mapping[str, Any], billing: str) -> dict[str, Any]:
    description = {
        **_index_base(table_arn, index),
        "IndexStatus": "ACTIVE",
        "ProvisionedThroughput": throughput_description(index.get("ProvisionedThroughput")),
        "WarmThroughput": _warm_throughput(index, billing),
    }
    if index.get("OnDemandThroughput"):
        description["OnDemandThroughput"] = index["OnDemandThroughput"]
    return description


def declared_index(index: Mapping[str, Any]) -> dict[str, Any]:
    """What a request declares of an index, beside its capacity."""
    return {member: index[member] for member in ("IndexName", "KeySchema", "Projection")}


def sorted_definitions(definitions: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(definitions, key=lambda definition: definition["AttributeName"])


def throughput_description(throughput: Mapping[str, int] | None) -> dict[str, Any]:
    given = throughput or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    return {
        "NumberOfDecreasesToday": 0,
        "ReadCapacityUnits": given["ReadCapacityUnits"],
        "WriteCapacityUnits": given["WriteCapacityUnits"],
    }


def _warm_throughput(holder: Mapping[str, Any], billing: str) -> dict[str, Any]:
    return {
        **least_warm_throughput(holder, billing),
        **(holder.get("WarmThroughput") or {}),
        "Status": "ACTIVE",
    }


def set_billing_mode(description: dict[str, Any], billing: str, now: float) -> None:
    """Set the billing mode. The service shows it only once a table is or has been on demand."""
    summary = description.setdefault("BillingModeSummary", {})
    summary["BillingMode"] = billing
    if billing == ON_DEMAND:
        summary["LastUpdateToPayPerRequestDateTime"] = now
    description["TableThroughputModeSummary"] = {
        "TableThroughputMode": billing,
        "LastUpdateToPayPerRequestDateTime": summary["LastUpdateToPayPerRequestDateTime"],
    }


def billing_mode(description: Mapping[str, Any]) -> str:
    summary: Mapping[str, str] = description.get("BillingModeSummary", {})
    return summary.get("BillingMode", PROVISIONED)


def asks_for_encryption(specification: Mapping[str, Any] | None) -> bool:
    """Whether a key of the account is requested; the service's own key is the default."""
    return bool(specification) and bool((specification or {}).get("Enabled", True))


def encryption_description(db: Database, specification: Mapping[str, Any]) -> dict[str, str]:
    key = specification.get("KMSMasterKeyId", "alias/aws/dynamodb")
    if key == "alias/aws/dynamodb":
        # The account's one key for DynamoDB: the same for every table.
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"kms:{db.region}:{db.account}:{key}"))
    if not key.startswith("arn:"):
        kind = "" if key.startswith("alias/") else "key/"
        key = f"arn:aws:kms:{db.region}:{db.account}:{kind}{key}"
    return {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}


def moment(db: Database) -> float:
    """Now, as descriptions have it: to the millisecond."""
    return round(db.clock(), 3)


def new_id(db: Database) -> str:
    return str(uuid.UUID(int=db.random.getrandbits(128), version=4))


# -- showing -------------------------------------------------------------------------------------------------


def current_description(db: Database, table: Table) -> dict[str, Any]:
    """The description as DescribeTable returns it; the figures of a large table are those of its last count."""
    return with_figures(db, table, deepcopy(table.description))


def with_figures(db: Database, table: Table, description: dict[str, Any]) -> dict[str, Any]:
    """A description of the table, with its figures."""
    figures = _figures.get(db, {}).get(table.number)
    # The figures of a large table may lack a new index.
    if figures is None or figures.items <= _COUNTED_AT_ONCE:
        in_one_go(figures_counted(db, table))
        figures = _figures[db][table.number]
    description["TableSizeBytes"] = figures.size
    description["ItemCount"] = figures.items
    now = db.clock()
    _show_decreases(description["ProvisionedThroughput"], now)
    for index in description.get("LocalSecondaryIndexes", ()):
        _show_size(index, figures)
    for index in description.get("GlobalSecondaryIndexes", ()):
        _show_size(index, figures)
        _show_decreases(index["ProvisionedThroughput"], now)
    return description


def _show_size(index: dict[str, Any], figures: _Figures) -> None:
    index["ItemCount"], index["IndexSizeBytes"] = figures.indexes.get(index["IndexName"], (0, 0))


def _show_decreases(throughput: dict[str, Any], now: float) -> None:
    throughput["NumberOfDecreasesToday"] = decreases_today(throughput, now)


def decreases_today(throughput: Mapping[str, Any], now: float) -> int:
    """The decreases since midnight, UTC."""
    last = throughput.get("LastDecreaseDateTime")
    if last is None or utc_day(last) != utc_day(now):
        return 0
    return int(throughput["NumberOfDecreasesToday"])


def utc_day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def forget_figures(db: Database, number: int) -> None:
    _figures.get(db, {}).pop(number, None)


def _are_figures_known(db: Database, table: Table) -> bool:
    """Whether a table was counted with its present indexes."""
    figures = _figures.get(db, {}).get(table.number)
    return figures is not None and figures.indexes.keys() == table.indexes.keys()


def figures_counted(db: Database, table: Table) -> Sliced[None]:
    """Count and measure a table, unless that took long and was done recently."""
    kept = _figures.setdefault(db, {})
    figures = kept.get(table.number)
    now, began = time.monotonic(), time.thread_time()
    if figures is None or figures.good_until <= now or figures.indexes.keys() != table.indexes.keys():
        indexes = {}
        try:
            items, size = yield from _table_figures(db, table)
            for index in table.indexes.values():
                indexes[index.name] = yield from _index_figures(db, table, index)
        except RowsDeletedError:
            return
        cost = time.thread_time() - began
        good_until = now + cost * _KEPT_FOR if cost > _COSTLY else now
        kept[table.number] = _Figures(items, size, indexes, good_until)


def once_counted(db: Database, find: Callable[[], Table]) -> Sliced[Table]:
    """The table returned by ``find``, once it has been counted."""
    while True:
        yield from figures_counted(db, find())
        # Its present state, unless it was deleted while its items were counted; it may have other indexes by now.
        table = find()
        if _are_figures_known(db, table):
            return table


def count_rows(db: Database, rows: str, key: str) -> Sliced[int]:
    """The rows of an SQL table, counted a few thousand at a time; RowsDeletedError if it is deleted meanwhile."""
    total, position = 0, None
    until = slice_end()
    _check_there(db, rows)
    while True:
        condition, values = ("", ()) if position is None else (f"WHERE {key} > ?", (position,))
        some, position = db.storage.execute(
            f"SELECT count(*), max({key}) FROM "
            f"(SELECT {key} FROM {rows} {condition} ORDER BY {key} LIMIT {_COUNTED_AT_ONCE})",
            values,
        ).fetchone()
        total += int(some)
        if some < _COUNTED_AT_ONCE:
            return total
        if thread_time() > until:
            yield
            until = slice_end()
            _check_there(db, rows)


def _check_there(db: Database, rows: str) -> None:
    """An SQL table may have been deleted in an earlier slice."""
    if not db.storage.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (rows,)).fetchone():
        raise RowsDeletedError


def _table_figures(db: Database, table: Table) -> Sliced[tuple[int, int]]:
    execute = db.storage.execute
    count = yield from count_rows(db, table.rows, "id")
    until = slice_end()
    rows = size = 0
    if count <= _MEASURED_ROWS:
        position: int | None = None
        some = _MEASURED_AT_ONCE
        while some == _MEASURED_AT_ONCE:
            until = yield from _paused(db, until, table.rows)
            condition, values = ("", ()) if position is None else ("WHERE id > ?", (position,))
            some, position, bytes_in_some = execute(
                "SELECT count(*), max(id), coalesce(sum(size), 0) "
                f"FROM (SELECT id, size FROM {table.rows} {condition} ORDER BY id LIMIT {_MEASURED_AT_ONCE})",
                values,
            ).fetchone()
            size += bytes_in_some
        return count, size
    last: int = execute(f"SELECT max(id) FROM {table.rows}").fetchone()[0]
    for sample in range(_SAMPLES):
        until = yield from _paused(db, until, table.rows)
        in_sample, bytes_in_sample = execute(
            f"SELECT count(*), coalesce(sum(size), 0) "
            f"FROM (SELECT size FROM {table.rows} WHERE id > ? ORDER BY id LIMIT {_SAMPLE_ROWS})",
            (last * sample // _SAMPLES,),
        ).fetchone()
        rows += in_sample
        size += bytes_in_sample
    # Unless all of them were deleted meanwhile.
    return count, size * count // max(rows, 1)


def _index_figures(db: Database, table: Table, index: Index) -> Sliced[tuple[int, int]]:
    execute = db.storage.execute
    count = yield from count_rows(db, index.rows, "key")
    until = slice_end()
    entries = execute(f"SELECT id FROM {index.rows} LIMIT {min(count, _MEASURED_ENTRIES)}").fetchall()
    # A damaged size counts as 0.
    columns = "CAST(size AS INTEGER)" if index.projected is None else "key, id, size, item"
    size = 0
    for entry in entries:
        row = execute(f"SELECT {columns} FROM {table.rows} WHERE id = ?", entry).fetchone()
        if row is None:
            continue
        if index.projected is None:
            size += row[0]
        else:
            # A damaged one has been logged, and does not count.
            with suppress(DamagedRecord):
                size += item_size(index.entry(checked_row(table, *row).item))
        until = yield from _paused(db, until, table.rows, index.rows)
    measured = len(entries)
    return count, size if measured == count else size * count // measured


def _paused(db: Database, until: float, *rows: str) -> Sliced[float]:
    """Let others have a turn at the end of a slice, unless they delete what is measured; returns the next end."""
    if thread_time() <= until:
        return until
    yield
    for each in rows:
        _check_there(db, each)
    return slice_end()
