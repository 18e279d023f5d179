"""ExecuteTransaction: statements that take effect together, or not at all.

A problem within a statement refuses the request; a mismatch between it and its table cancels the transaction, with a
reason for each statement. A missing table is reported before most of either.
"""

from __future__ import annotations

from hashlib import sha256
from time import perf_counter, thread_time
from typing import Any

import orjson

from tablewright.dynamo import (
    ITEM_REPEATED,
    KEY_MISMATCH,
    DynamoError,
    ResourceNotFoundException,
    TransactionCanceledException,
    ValidationException,
    read_units,
)
from tablewright.engine.database import Database
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.transactions import Member, cancel_if_any, projected, record_token, replayed, write_all
from tablewright.engine.items.write import item_on_failure
from tablewright.engine.partiql.execute_statement import has_many_parameters, is_long_text, prepared_write
from tablewright.engine.partiql.refusals import StatementRefused
from tablewright.engine.partiql.select import check_source
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
from tablewright.engine.partiql.where_keys import single_read_key
from tablewright.engine.partiql.write_statements import KeyMismatch
from tablewright.engine.slices import Sliced, Steps, beside, cheap_slice_end, first_results, freed, slice_end
from tablewright.engine.tables.table_schema import EmptyKeyException, Table

_FACTOR = 2


def execute_transaction(db: Database, request: dict[str, Any]) -> Steps:
    given = request["TransactStatements"]
    parameters, rest = first_results(given, parameter_values, has_many_parameters)
    if rest is not None:
        parameters += yield from beside(rest)
    pairs = zip(given, parameters, strict=True)
    outcomes, others = first_results(pairs, _outcome, lambda pair: is_long_text(pair[0]))
    bound: list[tuple[Statement, Values]] = []
    if others is None:
        return (yield from _run(db, request, bound, outcomes, parameters))
    outcomes += yield from beside(others)
    refusal = None
    try:
        response = yield from _run(db, request, bound, outcomes, parameters)
    except TransactionCanceledException as error:
        # Before any write: one that fails must not be followed by a slice. Without the frames that have the statements.
        refusal = error.with_traceback(None)
    outcomes.clear()
    yield from freed(bound)
    if refusal is not None:
        raise refusal
    return response


def _run(
    db: Database,
    request: dict[str, Any],
    bound: list[tuple[Statement, Values]],
    outcomes: list[Statement | ValidationException],
    parameters: list[Values],
) -> Steps:
    """Run the statements, which are also put into ``bound``."""
    for number, (statement, values) in enumerate(zip(outcomes, parameters, strict=True)):
        with _Located(number):
            if isinstance(statement, ValidationException):
                # The error's traceback leads here; the others are freed at once all the same.
                outcomes.clear()
                bound.clear()
                raise statement
            if isinstance(statement, Select | Exists):
                check_source(db, statement if isinstance(statement, Select) else statement.select)
            bound.append((statement, values))
    reads = sum(isinstance(statement, Select) for statement, _ in bound)
    if 0 < reads < len(bound):
        raise ValidationException(
            "ExecuteTransaction API does not support both read and write operations in the same request."
        )
    return (yield from (_read_transaction if reads else _write_transaction)(db, request, bound))


def _outcome(given: tuple[dict[str, Any], Values]) -> Statement | ValidationException:
    """The statement, or its error: an earlier one may yet be refused because of its table."""
    member, values = given
    try:
        statement = read_statement(member["Statement"])
        check_values(statement, values)
    except ValidationException as error:
        return error.with_traceback(None)
    return statement


def _write_transaction(db: Database, request: dict[str, Any], bound: list[tuple[Statement, Values]]) -> Steps:
    response: dict[str, Any] = {"Responses": []}
    token, fingerprint = request.get("ClientRequestToken"), b""
    if token is not None:
        # Tokens belong to the operation: TransactWriteItems may use the same one for another request.
        token = f"ExecuteTransaction {token}"
        fingerprint = sha256(orjson.dumps(request["TransactStatements"], option=orjson.OPT_SORT_KEYS)).digest()
    sizes = None
    while sizes is None:
        if token is not None and (replay := replayed(db, token, fingerprint)) is not None:
            meter = Meter.for_request(request, "ReadCapacityUnits")
            if meter is not None:
                for name, size in replay:
                    meter.table(db.table(name), _FACTOR * read_units(size, True))
                response["ConsumedCapacity"] = meter.all()
            return response
        members = yield from _members(db, request, bound)
        if any(db.table_again(member.table) is not member.table for member in members):
            continue
        meter = Meter.for_request(request, "WriteCapacityUnits")
        sizes = yield from write_all(db, members, meter, token, fingerprint)
    if token is not None:
        record_token(db, token, fingerprint, sizes)
    if meter is not None:
        response["ConsumedCapacity"] = meter.all()
    return response


def _members(db: Database, request: dict[str, Any], bound: list[tuple[Statement, Values]]) -> Sliced[list[Member]]:
    members: list[Member] = []
    reasons: list[DynamoError | None] = []
    until = slice_end()
    for number, (statement, values) in enumerate(bound):
        if thread_time() > until:
            yield
            until = slice_end()
        with _Located(number):
            member, reason = _member(db, statement, values, request["TransactStatements"][number])
        reasons.append(None if reason is None else reason.with_traceback(None))
        if member is not None:
            members.append(member)
    cancel_if_any(reasons)
    return members


def _member(
    db: Database, statement: Statement, values: Values, request: dict[str, Any]
) -> tuple[Member | None, DynamoError | None]:
    """A member of a write transaction, or the error for which the transaction is cancelled."""
    try:
        db.table(statement.table)
        if isinstance(statement, UpdateStatement | Delete) and statement.returning is not None:
            raise StatementRefused("RETURNING clause is not supported in ExecuteTransaction.")
        write, key = prepared_write(db, statement, values, item_on_failure(request), in_transaction=True)
    except (StatementRefused, EmptyKeyException):
        raise
    except ResourceNotFoundException as error:
        return None, error
    except KeyMismatch:
        return None, ValidationException(KEY_MISMATCH)
    except ValidationException as error:
        return None, error
    # An inserted item does not depend on another.
    size = write.new(None)[1] if isinstance(statement, Insert) else len(request["Statement"])
    return Member(write.table, key, write, is_check=isinstance(statement, Exists), size=size), None


def _read_transaction(db: Database, request: dict[str, Any], bound: list[tuple[Statement, Values]]) -> Steps:
    found = None
    while found is None:
        found = yield from _located(db, bound)
    if len({(table.number, row_key) for _, table, row_key in found}) != len(found):
        raise ValidationException(ITEM_REPEATED)
    meter = Meter.for_request(request, "ReadCapacityUnits")
    rows = [db.fetch(table, row_key) for _, table, row_key in found]
    if meter is not None:
        for (_, table, _), row in zip(found, rows, strict=True):
            meter.table(table, _FACTOR * read_units(0 if row is None else row.size, True))
    return (yield from projected(rows, [statement.columns for statement, _, _ in found], meter, empty=True))


def _located(db: Database, bound: list[tuple[Statement, Values]]) -> Sliced[list[tuple[Select, Table, bytes]] | None]:
    """The item that each statement reads; None if a table was changed meanwhile."""
    reasons: list[DynamoError | None] = []
    found: list[tuple[Select, Table, bytes]] = []
    until = cheap_slice_end()
    for number, (statement, values) in enumerate(bound):
        if perf_counter() > until:
            yield
            until = cheap_slice_end()
        assert isinstance(statement, Select)
        with _Located(number):
            try:
                table = db.table(statement.table)
            except ResourceNotFoundException as error:
                reasons.append(error.with_traceback(None))
                continue
            if statement.index is not None:
                raise ValidationException("Reads on indices are not supported within transactions.")
            key = single_read_key(table, statement.where, values)
            if key is None:
                raise ValidationException(
                    "Select statements within ExecuteTransaction must specify the primary key in the where clause."
                )
        try:
            table.check_key(key)
        except ValidationException as error:
            reasons.append(error.with_traceback(None))
        else:
            reasons.append(None)
            found.append((statement, table, table.row_key(key)))
    cancel_if_any(reasons)
    return None if any(db.table_again(table) is not table for _, table, _ in found) else found


class _Located:
    """Adds to a ValidationException which statement of the transaction it is about."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValidationException) and not isinstance(error, EmptyKeyException):
            raise ValidationException(
                f"Validation failed in TransactStatements[{self._number}]: {error.message}"
            ) from None
