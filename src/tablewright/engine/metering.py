"""What every request consumed: recorded in a file for ``tablewright meter``, counted for a server's metrics.

Off unless ``TABLEWRIGHT_METER`` names a file when an engine is opened, or ``Engine.meter`` is called. Then every
request is metered, whether or not its caller asked for consumed capacity, and responses stay the same. Each gives one
record; in the file, that is a line of JSON:

    {"at": 1788134400.1, "pattern": "Call.create", "operation": "TransactWriteItems", "refused": null,
     "charges": [["Calls", null, "write", "u-1", 2.0], ["Calls", "byCallId", "write", "c-9", 1.0], ...]}

``pattern`` is the access pattern that the store named. A charge is a table, an index, read or write units, their
partition key, and their number; they add up to the ConsumedCapacity of the response. Each line is one write to a file
that is opened for appending, so that any number of processes and threads can share it.

A write whose condition fails also consumes capacity, which no response reports: the larger of the stored item and the
one that would have been put. A transaction that is cancelled by a condition is recorded at its full price, the most
that it can cost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

import orjson

from tablewright.dynamo import DynamoError, Item, ResourceNotFoundException, checked_item, write_units
from tablewright.engine.database import Database
from tablewright.engine.items.consumed_capacity import CHARGES, Charge
from tablewright.engine.meter_variable import METER_VARIABLE
from tablewright.engine.slices import Response, Sliced, Steps, finished, slice_end
from tablewright.engine.tables.table_schema import Table

Handler = Callable[[Database, dict[str, Any]], Response]

_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"})
_WRITES = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
_STATEMENTS = frozenset({"BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction"})
_METERED = _READS | _WRITES | _STATEMENTS
# Reading a stream is priced by request.
_COUNTED = frozenset({"GetRecords"})


Record = dict[str, Any]
Sink = Callable[[Record], None]


def open_meter_log() -> MeterLog | None:
    """The meter log that the environment variable names; None without one."""
    path = os.environ.get(METER_VARIABLE)
    return MeterLog(path) if path else None


class MeterLog:
    """The file that records are appended to."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, record: Record) -> None:
        os.write(self._file, orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> None:
        os.close(self._file)


class Meter:
    """Passes a record of every request to each of the ``sinks``."""

    def __init__(self, *sinks: Sink) -> None:
        self.sinks = sinks

    def metering(self, operation: str, handler: Handler, pattern: str) -> Handler:
        """A handler that does the same, and records what it consumed."""
        if operation in _COUNTED:
            return lambda db, request: self._counted(db, request, operation, handler, pattern)
        if operation in _METERED:
            return lambda db, request: self._metered(db, request, operation, handler, pattern)
        return handler

    def _counted(self, db: Database, request: dict[str, Any], operation: str, handler: Handler, pattern: str) -> Steps:
        response = yield from finished(handler(db, request))
        self._record(pattern, operation, None, [])
        return response

    def _metered(self, db: Database, request: dict[str, Any], operation: str, handler: Handler, pattern: str) -> Steps:
        charges: list[Charge] = []
        try:
            response = yield from finished(
                handler(db, {**request, "ReturnConsumedCapacity": "INDEXES", CHARGES: charges})
            )
        except DynamoError as error:
            if _by_condition(error):
                charges = yield from _attempted(db, operation, request)
                self._record(pattern, operation, error.code, [_row(charge, "write") for charge in charges])
            raise
        consumed = response.pop("ConsumedCapacity", [])
        figures: list[dict[str, Any]] = [consumed] if isinstance(consumed, dict) else consumed
        kind = _kind(operation, request, figures)
        charges.extend(_uncharged(figures, charges))
        self._record(pattern, operation, None, [_row(charge, kind) for charge in charges])
        asked = request.get("ReturnConsumedCapacity", "NONE")
        if asked != "NONE" and figures:
            shown = figures if asked == "INDEXES" else [_total(each) for each in figures]
            response["ConsumedCapacity"] = shown[0] if isinstance(consumed, dict) else shown
        return response

    def _record(self, pattern: str, operation: str, refused: str | None, charges: list[list[Any]]) -> None:
        record = {
            "at": round(time.time(), 3),
            "pattern": pattern,
            "operation": operation,
            "refused": refused,
            "charges": charges,
        }
        for sink in self.sinks:
            sink(record)


def _row(charge: Charge, kind: str) -> list[Any]:
    return [charge.table, charge.index, kind, charge.key, charge.units]


def _kind(operation: str, request: dict[str, Any], figures: list[dict[str, Any]]) -> str:
    """Read or write units; a transaction that is repeated with its token consumes read units."""
    if operation in _STATEMENTS:
        statements = [request, *request.get("Statements", ()), *request.get("TransactStatements", ())]
        text = next(each["Statement"] for each in statements if "Statement" in each)
        reads = text.lstrip().upper().startswith("SELECT")
    else:
        reads = operation in _READS
    return "read" if reads or any("ReadCapacityUnits" in each for each in figures) else "write"


def _total(figures: dict[str, Any]) -> dict[str, Any]:
    """The response for a caller who asked for TOTAL."""
    return {name: value for name, value in figures.items() if name == "TableName" or name.endswith("CapacityUnits")}


def _uncharged(figures: list[dict[str, Any]], charges: list[Charge]) -> Iterator[Charge]:
    """Units that a response has only in its total: those of failed statements of a batch."""
    for each in figures:
        charged = sum(charge.units for charge in charges if charge.table == each["TableName"])
        if each["CapacityUnits"] > charged:
            yield Charge(each["TableName"], None, None, each["CapacityUnits"] - charged)


# -- what failed ---------------------------------------------------------------------------------------------------


def _by_condition(error: DynamoError) -> bool:
    reasons = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())}
    failed = {"ConditionalCheckFailed", "DuplicateItem", "ConditionalCheckFailedException", "DuplicateItemException"}
    return error.code in failed or bool(reasons & failed)


def _attempted(db: Database, operation: str, request: dict[str, Any]) -> Sliced[list[Charge]]:
    """What a write whose condition failed is charged; nothing for a table that was deleted meanwhile."""
    charges = []
    until = slice_end()
    factor = 2 if operation in ("ExecuteTransaction", "TransactWriteItems") else 1
    if operation in _STATEMENTS:
        # Here, because it takes long to import, and few programs use it.
        from tablewright.engine.partiql.batch_execute import attempted_units, batch_members

        members = yield from batch_members(request.get("TransactStatements", [request]))
        while members:
            if thread_time() > until:
                yield
                until = slice_end()
            # Each is freed in its own slice, since that takes long for all of them.
            member = members.pop(0)
            target = member.target(db)
            if target is not None:
                charges.append(_failed(*target, factor * attempted_units(db, member)))
        return charges
    actions = [action for member in request.get("TransactItems", ()) for action in member.values()] or [request]
    for action in actions:
        if thread_time() > until:
            yield
            until = slice_end()
        try:
            table = db.table(action["TableName"])
        except ResourceNotFoundException:
            continue
        item, size = checked_item(action["Item"] if "Item" in action else action["Key"])
        row = db.fetch(table, table.row_key(item))
        size = max(0 if row is None else row.size, size if "Item" in action else 0)
        charges.append(_failed(table, item, float(factor * write_units(size))))
    return charges


def _failed(table: Table, item: Item, units: float) -> Charge:
    return Charge(table.name, None, str(*item[table.key.partition[0]].values()), units)
