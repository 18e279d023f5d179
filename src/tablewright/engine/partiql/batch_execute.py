"""BatchExecuteStatement: many statements, each with its own response.

A batch either reads or writes, and names an item only once; apart from that, a statement that fails does not affect the
others.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from time import perf_counter, thread_time
from typing import Any

from tablewright.dynamo import (
    KEYS_REPEATED,
    DynamoError,
    Item,
    ResourceNotFoundException,
    ValidationException,
    checked_item,
    write_units,
)
from tablewright.engine.database import Database
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.partiql import select
from tablewright.engine.partiql.execute_statement import is_long, prepared_write, run_write
from tablewright.engine.partiql.refusals import StatementRefused
from tablewright.engine.partiql.statements import Insert, Select, Statement, Values, check_values, parameter_values
from tablewright.engine.partiql.translate import statement as read_statement
from tablewright.engine.partiql.where_keys import key_and_conditions, single_read_key
from tablewright.engine.slices import Sliced, Steps, cheap_slice_end, each_result, slice_end
from tablewright.engine.tables.table_schema import Table

_CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "ResourceNotFoundException": "ResourceNotFound",
    "ValidationException": "ValidationError",
}


class BatchMember:
    """A statement of a batch that is valid by itself, or the error in its response."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.statement: Statement | None = None
        self.values: Values = {}
        self.error: DynamoError | None = None
        self.ran = False
        try:
            self.values = parameter_values(request)
            self.statement = read_statement(request["Statement"])
            check_values(self.statement, self.values)
        except ValidationException as error:
            self.error = error.with_traceback(None)

    @property
    def runs_a_write(self) -> bool:
        return self.error is None and not isinstance(self.statement, Select)

    def target(self, db: Database) -> tuple[Table, Item] | None:
        """The one item that the statement names; None if it names none."""
        statement = self.statement
        if statement is None or self.error is not None:
            return None
        try:
            table = db.table(statement.table)
            if isinstance(statement, Insert):
                key: Item | None = table.key_of(checked_item(statement.item(self.values))[0])
            elif isinstance(statement, Select):
                key = single_read_key(table, statement.where, self.values)
            else:
                key, _ = key_and_conditions(table, statement.where, self.values)
            if key is None:
                return None
            table.check_key(key)
        except (ValidationException, ResourceNotFoundException, KeyError):
            return None
        return table, key


def batch_members(statements: Iterable[dict[str, Any]]) -> Sliced[list[BatchMember]]:
    """The statements, each as it is by itself."""
    return (yield from each_result(statements, BatchMember, is_long))


def batch_execute_statement(db: Database, request: dict[str, Any]) -> Steps:
    members = yield from batch_members(request["Statements"])
    kinds = {isinstance(member.statement, Select) for member in members if member.statement is not None}
    if len(kinds) > 1:
        raise ValidationException("Read and write requests together in the same batch is not supported.")
    places = []
    until = cheap_slice_end()
    for member in members:
        if perf_counter() > until:
            yield
            until = cheap_slice_end()
        if (target := member.target(db)) is not None:
            table, key = target
            places.append((table.number, table.row_key(key)))
    if len(set(places)) != len(places):
        raise ValidationException(KEYS_REPEATED)
    until = slice_end()
    meter = Meter.for_request(request)
    failed: dict[str, float] = {}
    responses = []
    while members:
        if thread_time() > until:
            # What has been written may stay: a batch is not a transaction.
            yield
            until = slice_end()
        # Each is freed in its own slice, since that takes long for all of them.
        member = members.pop(0)
        try:
            responses.append((yield from _run_member(db, member, meter)))
        except DynamoError as error:
            responses.append(_failure(db, member, error))
            if meter is not None and member.statement is not None and member.runs_a_write:
                name = member.statement.table
                failed[name] = failed.get(name, 0.0) + attempted_units(db, member)
    response: dict[str, Any] = {"Responses": responses}
    if meter is not None:
        consumed = meter.all()
        # Failed statements are charged too, but show in the total alone.
        for figures in consumed:
            figures["CapacityUnits"] += failed.get(figures["TableName"], 0.0)
        if consumed:
            response["ConsumedCapacity"] = consumed
    return response


def _run_member(db: Database, member: BatchMember, meter: Meter | None) -> Steps:
    if member.error is not None:
        raise member.error
    statement = member.statement
    assert statement is not None
    if isinstance(statement, Select):
        select.check_source(db, statement)
        table = db.table(statement.table)
        if statement.index is not None or single_read_key(table, statement.where, member.values) is None:
            raise ValidationException(
                "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
            )
        consistent = member.request.get("ConsistentRead", False)
        items = (yield from select.run(db, statement, member.values, meter, consistent=consistent)).items
    else:
        write, _ = prepared_write(db, statement, member.values, whole=False)
        member.ran = True
        again = partial(prepared_write, db, statement, member.values, whole=False)
        items = yield from run_write(db, statement, write, meter, again)
    response: dict[str, Any] = {"TableName": statement.table}
    if items:
        response["Item"] = items[0]
    return response


def _failure(db: Database, member: BatchMember, error: DynamoError) -> dict[str, Any]:
    code = _CODES.get(error.code, "InternalServerError")
    response: dict[str, Any] = {"Error": {"Code": code, "Message": error.message}}
    # What got as far as its item names its table; so does an INSERT of a wrong key of an index.
    inserted = isinstance(member.statement, Insert) and not isinstance(error, StatementRefused)
    if member.statement is not None and (member.ran or (inserted and member.target(db) is not None)):
        response["TableName"] = member.statement.table
    return response


def attempted_units(db: Database, member: BatchMember) -> float:
    """What a failed write is charged: the larger of the stored item and the one it would have put."""
    size = 0
    target = member.target(db)
    if target is not None:
        table, key = target
        row = db.fetch(table, table.row_key(key))
        size = 0 if row is None else row.size
        if isinstance(member.statement, Insert):
            size = max(size, checked_item(member.statement.item(member.values))[1])
    return float(write_units(size))
