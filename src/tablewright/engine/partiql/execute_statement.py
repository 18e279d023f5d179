"""ExecuteStatement: one statement by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tablewright.dynamo import Item, ValidationException
from tablewright.engine.database import Database, Row
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.planned_writes import run_in_slices
from tablewright.engine.items.write import Write, item_on_failure
from tablewright.engine.partiql import next_token, select, write_statements
from tablewright.engine.partiql.statements import (
    Delete,
    Exists,
    Insert,
    Select,
    Statement,
    UpdateStatement,
    Values,
    check_values,
    parameter_values,
)
from tablewright.engine.partiql.translate import statement as read_statement
from tablewright.engine.slices import LARGE_ITEM, Sliced, Steps, beside

# Reading so many characters, or parameters, takes some milliseconds.
_LONG_STATEMENT = 1024
_MANY_PARAMETERS = 1000


def execute_statement(db: Database, request: dict[str, Any]) -> Steps:
    text, parameters = request["Statement"], request.get("Parameters", [])
    statement, values = (yield from beside(partial(_bound, request))) if is_long(request) else _bound(request)
    meter = Meter.for_request(request)
    response: dict[str, Any] = {"Items": []}
    if isinstance(statement, Select):
        token = request.get("NextToken")
        start = None if token is None else next_token.decode(token, next_token.fingerprint(text, parameters))
        consistent = request.get("ConsistentRead", False)
        result = yield from select.run(
            db, statement, values, meter, consistent=consistent, limit=request.get("Limit"), start=start
        )
        response["Items"] = result.items
        if result.next is not None:
            response["NextToken"] = next_token.encode(result.next, next_token.fingerprint(text, parameters))
        if result.last is not None:
            response["LastEvaluatedKey"] = result.last
    else:
        if "NextToken" in request:
            raise ValidationException("NextToken does not match request")
        write, _ = prepared_write(db, statement, values, item_on_failure(request))
        again = partial(prepared_write, db, statement, values, item_on_failure(request))
        response["Items"] = yield from run_write(db, statement, write, meter, again)
    if meter is not None:
        response["ConsumedCapacity"] = meter.one()
    return response


def _bound(request: dict[str, Any]) -> tuple[Statement, Values]:
    values = parameter_values(request)
    statement = read_statement(request["Statement"])
    check_values(statement, values)
    return statement, values


def is_long(request: dict[str, Any]) -> bool:
    """Whether a statement is to be read outside of the storage's turn; some take tens of milliseconds."""
    return is_long_text(request) or has_many_parameters(request)


def is_long_text(request: dict[str, Any]) -> bool:
    return len(request["Statement"]) > _LONG_STATEMENT


def has_many_parameters(request: dict[str, Any]) -> bool:
    return len(request.get("Parameters", ())) > _MANY_PARAMETERS


def run_write(
    db: Database,
    statement: Statement,
    write: Write,
    meter: Meter | None,
    again: Callable[[], tuple[Write, Item]],
) -> Sliced[list[Any]]:
    """Run the write of a statement, which ``again`` makes anew; returns what its RETURNING asks for."""

    def returned(old: Row | None, new: Item | None) -> Any:
        if not isinstance(statement, UpdateStatement | Delete):
            return None
        return next(iter(write_statements.returned(statement, old, new)), None)

    old = db.fetch(write.table, write.key)
    if old is None or len(old.data) <= LARGE_ITEM:
        answer = returned(old, write.run(db, old, meter))
    else:
        while (plan := (yield from run_in_slices(db, write, 0, meter, returned))) is None:
            write, _ = again()
        answer = plan.answer
    return [] if answer is None else [answer]


def prepared_write(
    db: Database, statement: Statement, values: Values, whole: bool, in_transaction: bool = False
) -> tuple[Write, Item]:
    """A statement as a write, and the key of its item; ``whole``: a failed condition shows the item."""
    match statement:
        case Insert():
            return write_statements.insertion(db, statement, values)
        case UpdateStatement():
            return write_statements.modification(db, statement, values, whole)
        case Delete():
            return write_statements.removal(db, statement, values, whole)
        case Exists() if in_transaction:
            return write_statements.existence(db, statement, values, whole)
    raise ValidationException("EXISTS can only be used in ExecuteTransaction write requests.")
