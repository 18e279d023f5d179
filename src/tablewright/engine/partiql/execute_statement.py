"""ExecuteStatement: one statement by itself."""

from __future__ import annotations

from typing import Any

from tablewright.dynamo import Item, ValidationException
from tablewright.engine.database import Database
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.item_operations import Write
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
from tablewright.engine.slices import Steps


def execute_statement(db: Database, request: dict[str, Any]) -> Steps:
    text, parameters = request["Statement"], request.get("Parameters", [])
    values = parameter_values(request)
    statement = read_statement(text)
    check_values(statement, values)
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
        response["Items"] = run_write(db, statement, write, meter)
    if meter is not None:
        response["ConsumedCapacity"] = meter.one()
    return response


def run_write(db: Database, statement: Statement, write: Write, meter: Meter | None) -> list[Any]:
    """Run the write of a statement; gives what its RETURNING asks for."""
    old, new = write.run(db, meter)
    return write_statements.returned(statement, old, new) if isinstance(statement, UpdateStatement | Delete) else []


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


def item_on_failure(request: dict[str, Any]) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
