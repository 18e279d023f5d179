"""TransactWriteItems and TransactGetItems: all or nothing.

A transaction checks every item and every condition before it changes anything, and no other operation changes what it
has read meanwhile (or it is read again: ``planned_writes``), so there is nothing to roll back and no conflict:
transactions are serial, and DynamoDB's conflict errors, which report that it gave up on serializing two of them, do not
occur.

An idempotency token is recorded in the same SQLite transaction as the writes of its request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any

import orjson

from tablewright.dynamo import (
    ITEM_REPEATED,
    ITEM_TOO_LARGE,
    NESTED_TOO_DEEPLY,
    ConditionalCheckFailedException,
    DuplicateItemException,
    DynamoError,
    IdempotentParameterMismatchException,
    Item,
    RequestValidationException,
    TransactionCanceledException,
    ValidationException,
    checked_item,
    levels,
    read_units,
    text_size,
    value_size,
    write_units,
)
from tablewright.dynamo.expressions import ProjectionProgram
from tablewright.dynamo.limits import MAX_ITEM_SIZE, MAX_TRANSACTION_BYTES
from tablewright.engine.database import Database, Row, parsed_item
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.item_operations import (
    batch_collection_metrics,
    check_changes,
    check_key_paths,
    checked_key,
    replace_with,
    takes_long,
    updated_item,
)
from tablewright.engine.items.planned_writes import Plan, plan, plan_large, planned_in_slices
from tablewright.engine.items.request_expressions import Parameters
from tablewright.engine.items.write import Write, unchanged
from tablewright.engine.requests import MAX_LEVELS_READ
from tablewright.engine.slices import (
    LARGE_ITEM,
    SLICE_BYTES,
    Response,
    Sliced,
    Steps,
    beside,
    cheap_slice_end,
    finished,
    first_results,
)
from tablewright.engine.storage.checksums import check_record, record_checksum
from tablewright.engine.tables.table_schema import EmptyKeyException, Table

_Get = tuple[dict[str, Any], Item, ProjectionProgram | None]
Sizes = list[tuple[str, int]]
"""The table of each write, and the size that it is charged for."""
TOKEN_SECONDS = 600
_TOO_LARGE = (
    "Collection size of items exceeded, which can also be caused by the aggregate size of the items "
    "in the transaction exceeding the 4MB limit"
)
# What an item that is shown counts for beside its own size.
_REASON_BYTES = 7
_FACTOR = 2
_PUT_ALONE = frozenset({"TableName", "Item"})
_NO_PARAMETERS = Parameters({})
_REASON_CODES = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "ResourceNotFoundException": "ResourceNotFound",
}


@dataclass(slots=True)
class Member:
    """One action: its write, or why it cannot be run. A ConditionCheck writes nothing."""

    table: Table
    key: Item
    write: Write | None = None
    refusal: ValidationException | None = None
    is_check: bool = False
    # Of its item, or of its expressions and values: how long it takes grows with them.
    size: int = 0


def transact_write_items(db: Database, request: dict[str, Any]) -> Steps:
    token = request.get("ClientRequestToken")
    content = None if token is None else _Content()
    work = _checked_action if content is None else content.checked_action
    actions, rest = first_results(request["TransactItems"], work, _takes_long)
    if rest is not None:
        actions += yield from beside(rest)
    payload = sum(action.payload for action in actions)
    if payload > MAX_TRANSACTION_BYTES:
        raise ValidationException(f"Transaction payload size cannot exceed 4MB. Payload Size: {payload}")
    fingerprint = b"" if content is None else content.fingerprint()
    # From here on all of it is one slice, or equivalent: rows that others change meanwhile are read again.
    sizes = None
    while sizes is None:
        tables = [db.table(action.request["TableName"]) for action in actions]
        if token is not None and (replay := replayed(db, token, fingerprint)) is not None:
            return _replay_response(db, request, replay)
        members = [_member(action, table) for action, table in zip(actions, tables, strict=True)]
        meter = Meter.for_request(request, "WriteCapacityUnits")
        sizes = yield from write_all(db, members, meter, token, fingerprint)
    if token is not None:
        record_token(db, token, fingerprint, sizes)
    response: dict[str, Any] = {}
    if meter is not None:
        response["ConsumedCapacity"] = meter.all()
    if request.get("ReturnItemCollectionMetrics") == "SIZE":
        metrics = batch_collection_metrics(db, ((m.table, m.key) for m in members if not m.is_check))
        if metrics:
            response["ItemCollectionMetrics"] = metrics
    return response


def transact_get_items(db: Database, request: dict[str, Any]) -> Response:
    gets, rest = first_results(request["TransactItems"], _checked_get)
    return _got(db, request, gets) if rest is None else _got_in_slices(db, request, gets, rest)


def _got_in_slices(db: Database, request: dict[str, Any], gets: list[_Get], rest: Callable[[], list[_Get]]) -> Steps:
    gets += yield from beside(rest)
    return (yield from finished(_got(db, request, gets)))


def _got(db: Database, request: dict[str, Any], gets: list[_Get]) -> Response:
    tables = [db.table(get["TableName"]) for get, _, _ in gets]
    reasons: list[DynamoError | None] = []
    positions = []
    for (_, key, projection), table in zip(gets, tables, strict=True):
        try:
            table.check_key(key)
            if projection is not None:
                check_key_paths(table, projection)
        except ValidationException as error:
            reasons.append(error.with_traceback(None))
        else:
            reasons.append(None)
            positions.append((table.number, table.row_key(key)))
    if len(set(positions)) != len(positions):
        raise ValidationException(ITEM_REPEATED)
    cancel_if_any(reasons)
    meter = Meter.for_request(request, "ReadCapacityUnits")
    # All of them are read in one slice.
    rows: list[Row | None] = []
    total = 0
    for (_, key, _), table, (_, row_key) in zip(gets, tables, positions, strict=True):
        row = db.fetch(table, row_key)
        rows.append(row)
        size = 0 if row is None else row.size
        total += size
        if total > MAX_TRANSACTION_BYTES:
            raise ValidationException(_TOO_LARGE)
        if meter is not None:
            meter.table(table, _FACTOR * read_units(size, True), key)
    projections = [projection for _, _, projection in gets]
    if any(projections):
        return projected(rows, projections, meter)
    responses = [{} if row is None else {"Item": orjson.Fragment(row.data)} for row in rows]
    return {"Responses": responses} if meter is None else {"Responses": responses, "ConsumedCapacity": meter.all()}


def _checked_get(member: dict[str, Any]) -> _Get:
    get = member["Get"]
    key = checked_key(get["Key"])
    parameters = Parameters(get)
    projection = parameters.projection()
    parameters.finish()
    return get, key, projection


def projected(
    rows: Iterable[Row | None],
    projections: Iterable[ProjectionProgram | None],
    meter: Meter | None,
    *,
    empty: bool = False,
) -> Steps:
    """The response of a transaction that has read these rows, with what each asked for; without the empty ones, unless
    ``empty`` ones are wanted.
    """
    responses: list[dict[str, Any]] = []
    until = cheap_slice_end()
    for row, projection in zip(rows, projections, strict=True):
        if row is None or projection is None:
            responses.append({} if row is None else {"Item": orjson.Fragment(row.data)})
            continue
        if perf_counter() > until:
            yield
            until = cheap_slice_end()
        work = partial(_of_row, row.data, projection, empty)
        found = (yield from beside(work)) if len(row.data) > LARGE_ITEM else work()
        responses.append({} if found is None else {"Item": orjson.Fragment(found)})
    response: dict[str, Any] = {"Responses": responses}
    if meter is not None:
        response["ConsumedCapacity"] = meter.all()
    return response


def _of_row(data: bytes, projection: ProjectionProgram, empty: bool) -> bytes | None:
    found = projection.apply(parsed_item(data))
    return orjson.dumps(found) if found or empty else None


# -- the one way to run a transaction ------------------------------------------------------------------------


def write_all(
    db: Database, members: Sequence[Member], meter: Meter | None, token: str | None, fingerprint: bytes
) -> Sliced[Sizes | None]:
    """Apply every write, or cancel; returns the size that each is charged for. None if a table was changed meanwhile,
    and the members have to be made again, or if the token was used.

    Nothing is evaluated beyond the first invalid write; a write that does not match its table is found before any
    condition is evaluated.
    """
    targets = [(m.write.table.number, m.write.key) for m in members if m.write is not None]
    if len(set(targets)) != len(targets):
        raise ValidationException(ITEM_REPEATED)
    refused = next((member for member in members if member.refusal is not None), None)
    if refused is not None:
        cancel_if_any([member.refusal if member is refused else None for member in members])
    writes = [member.write for member in members if member.write is not None]
    plans: list[Plan] = []
    length = sum([member.size for member in members])
    for write in writes:
        row = db.fetch(write.table, write.key)
        length += 0 if row is None else len(row.data)
        if length > SLICE_BYTES:
            plan_one = partial(_planned, members, meter, _ShownItems())
            planned_again = yield from planned_in_slices(db, writes, [member.size for member in members], plan_one)
            if planned_again is None or (token is not None and replayed(db, token, fingerprint) is not None):
                return None
            plans = planned_again
            db.storage.expect(sum(len(planned.images.stored) for planned in plans if planned.images is not None))
            break
        plans.append(plan(write, row))
    if any(planned.refusal for planned in plans):
        cancel_if_any(_reasons(plans))
    if db.storage.lacks_room:
        # Before the first write: refusing the second would also roll back what others have written.
        for member, write, planned in zip(members, writes, plans, strict=True):
            if planned.new is not None and not member.is_check:
                db.check_room(write.table, planned.old, planned.size)
    sizes = []
    now = db.clock()
    for member, write, planned in zip(members, writes, plans, strict=True):
        old, new, size = planned.old, planned.new, planned.size
        charged = max(size, 0 if old is None else old.size)
        sizes.append((write.table.name, charged))
        if not member.is_check:
            db.change(write.table, write.key, old, new, size, at=now, images=planned.images)
        if meter is None:
            continue
        if member.is_check:
            meter.table(write.table, float(_FACTOR * write_units(charged)), member.key)
        elif planned.metered is not None:
            meter.add(planned.metered)
        else:
            meter.change(write.table, old, new, size, _FACTOR)
    return sizes


class _ShownItems:
    """The items that the cancellation reasons show: as many as fit into a response."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def add(self, number: int, planned: Plan) -> None:
        self._sizes.pop(number, None)
        if planned.old is not None and planned.refusal is not None and "Item" in planned.refusal.extra:
            self._sizes[number] = planned.old.size + _REASON_BYTES
            if (size := sum(self._sizes.values())) > MAX_TRANSACTION_BYTES:
                raise ValidationException(f"Payload in response is too large.{size}")


def _planned(members: Sequence[Member], meter: Meter | None, shown: _ShownItems, number: int, row: Row | None) -> Plan:
    planned = _plan(members[number], row, meter)
    shown.add(number, planned)
    return planned


def _plan(member: Member, row: Row | None, meter: Meter | None) -> Plan:
    """The plan of one of many members."""
    assert member.write is not None
    if not member.is_check:
        return plan_large(member.write, row, meter, _FACTOR)
    # Without the item, which it does not change.
    planned = plan(member.write, None if row is None else Row(row.id, row.size, row.data))
    planned.old, planned.new = row, None
    return planned


def _reasons(plans: Sequence[Plan]) -> list[DynamoError | None]:
    """Why the members are refused, up to the first invalid one."""
    reasons: list[DynamoError | None] = []
    for planned in plans:
        refusal = planned.refusal
        if refusal is not None and (
            isinstance(refusal, EmptyKeyException)
            or not isinstance(refusal, ConditionalCheckFailedException | DuplicateItemException | ValidationException)
        ):
            raise refusal
        reasons.append(refusal)
        if isinstance(refusal, ValidationException):
            return reasons + [None] * (len(plans) - len(reasons))
    return reasons


def cancel_if_any(reasons: Sequence[DynamoError | None]) -> None:
    """Raise the cancellation if any member has a reason for one."""
    if all(reason is None for reason in reasons):
        return
    rendered = [_reason(reason) for reason in reasons]
    codes = ", ".join(reason["Code"] for reason in rendered)
    raise TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=rendered,
    )


def _reason(error: DynamoError | None) -> dict[str, Any]:
    if error is None:
        return {"Code": "None"}
    code = _REASON_CODES.get(error.code, "ValidationError")
    return {"Code": code, "Message": error.message, **error.extra}


# -- idempotency ---------------------------------------------------------------------------------------------


def replayed(db: Database, token: str, fingerprint: bytes) -> Sizes | None:
    """The sizes that the first request with this token was charged for; None if this is the first."""
    text_size(token)  # raises if the token is not text that can be stored
    found = db.storage.execute(
        "SELECT fingerprint, at, response, checksum FROM tokens WHERE token = ?", (token,)
    ).fetchone()
    if found is None:
        # There must be space for the token, even if the transaction frees some.
        db.storage.check_room_for(0)
        return None
    fingerprint_then, at, sizes, checksum = found
    check_record(f"the idempotency token {token!r}", checksum, token, fingerprint_then, at, sizes)
    if at <= db.clock() - TOKEN_SECONDS:
        return None
    if fingerprint_then != fingerprint:
        raise IdempotentParameterMismatchException(
            "The request uses the same client token as a previous, but non-identical request. Do not reuse "
            "a client token with different requests, unless the requests are identical"
        )
    return [(name, size) for name, size in orjson.loads(sizes)]


def record_token(db: Database, token: str, fingerprint: bytes, sizes: Sequence[tuple[str, int]]) -> None:
    columns = (token, fingerprint, float(db.clock()), orjson.dumps(sizes))
    # No read returns a token, so it is charged to a table that does not exist.
    db.storage.write(0, token.encode())(
        "INSERT OR REPLACE INTO tokens (token, fingerprint, at, response, checksum) VALUES (?, ?, ?, ?, ?)",
        (*columns, record_checksum(*columns)),
    )
    db.on_schedule(TOKEN_SECONDS)


def _replay_response(db: Database, request: dict[str, Any], sizes: Sequence[tuple[str, int]]) -> dict[str, Any]:
    meter = Meter.for_request(request, "ReadCapacityUnits")
    if meter is None:
        return {}
    for name, size in sizes:
        meter.table(db.table(name), _FACTOR * read_units(size, True))
    return {"ConsumedCapacity": meter.all()}


# -- actions -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Action:
    """An action that is valid by itself; whether it matches its table is checked later."""

    kind: str
    request: dict[str, Any]
    parameters: Parameters
    condition: Any
    update: Any
    item: Item
    size: int
    # What it counts against the limit of a transaction.
    payload: int


class _Content:
    """The content of a transaction with a token: of the list of its members, one by one."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._before = b"["

    def checked_action(self, member: dict[str, Any]) -> _Action:
        action = _checked_action(member)
        self._hash.update(self._before + orjson.dumps(member, option=orjson.OPT_SORT_KEYS))
        self._before = b","
        return action

    def fingerprint(self) -> bytes:
        self._hash.update(b"]")
        return self._hash.digest()


def _takes_long(member: dict[str, Any]) -> bool:
    return any(
        takes_long(request[name])
        for request in member.values()
        for name in ("Item", "ExpressionAttributeValues")
        if name in request
    )


def _checked_action(member: dict[str, Any]) -> _Action:
    if len(member) != 1:
        raise ValidationException("TransactItems can only contain one of Check, Put, Update or Delete")
    ((kind, request),) = member.items()
    subject = request["Item" if kind == "Put" else "Key"]
    try:
        item, size = checked_item(subject)
    except RequestValidationException as error:
        if error.message != NESTED_TOO_DEEPLY or max(map(levels, subject.values())) <= MAX_LEVELS_READ:
            raise
        # Deeper nesting is found after the expressions.
        _checked_expressions(request)
        raise
    if size > MAX_ITEM_SIZE:
        raise ValidationException(ITEM_TOO_LARGE)
    if request.keys() <= _PUT_ALONE:
        # Most puts have nothing else to check.
        return _Action(kind, request, _NO_PARAMETERS, None, None, item, size, size)
    parameters, update, condition = _checked_expressions(request)
    texts = [request[name] for name in ("UpdateExpression", "ConditionExpression") if name in request]
    payload = size + text_size("".join([*texts, *parameters.names.values()]))
    for value in parameters.values.values():
        payload += value_size(value)
    return _Action(kind, request, parameters, condition, update, item, size, payload)


def _checked_expressions(request: dict[str, Any]) -> tuple[Parameters, Any, Any]:
    """The values of a transaction may be nested as deeply as an item; what is written is checked again."""
    parameters = Parameters(request, beside_item=True)
    update = parameters.update()
    condition = parameters.condition(report_size=True)
    parameters.finish()
    return parameters, update, condition


def _member(action: _Action, table: Table) -> Member:
    member = Member(table, action.item, is_check=action.kind == "ConditionCheck", size=action.payload)
    try:
        if action.kind == "Put":
            table.check_item(action.item)
        else:
            table.check_key(action.item)
        if action.update is not None:
            check_changes(table, action.update, action.parameters.values)
    except EmptyKeyException:
        raise
    except ValidationException as error:
        member.refusal = error.with_traceback(None)
        return member
    item = action.item
    new: Callable[[Row | None], tuple[Item | None, int]]
    match action.kind:
        case "Put":
            new = replace_with(item, action.size)
        case "Update":
            new = updated_item(table, item, action.update, action.parameters.values)
        case "Delete":
            new = replace_with(None)
        case _:
            new = unchanged
    member.write = Write(
        table,
        table.row_key(item),
        new,
        action.condition,
        action.parameters.values,
        action.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD",
    )
    return member
