"""How writes are carried out: each plans what it does to the table, and one flow commits what was planned.

    Operation ──plan──▶ WritePlan: actions on items, changes of guards ──commit──▶ PutItem, … or TransactWriteItems
        ▲                                                                               │
        └────────── plan again, on what was found, when an assumption did not hold ─────┘

A plan may rest on assumptions (what an item's fields were when it was read); they are conditions of its actions. When
one fails, the service tells what is stored, so that planning again needs no further read. An action knows what its
failure means: an error in the words of the design, or that its assumptions are out of date.

A single action is a single request, several are a transaction, all or nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import Item
from tablewright.model import Entity, Lookup, schema_of
from tablewright.model.items.item_decoding import partial_entity_error
from tablewright.model.schema import Schema
from tablewright.store.argument_checks import A_TARGET, AN_ENTITY, not_taken
from tablewright.store.blobs.offload import Outside, Placed
from tablewright.store.context import Context
from tablewright.store.errors import (
    Cancelled,
    ConditionFailed,
    Conflict,
    LimitExceeded,
    NotFound,
    ServiceError,
    StoreError,
)
from tablewright.store.flow.driver import Flow, Request, Response
from tablewright.store.flow.retry import backoff, retrying
from tablewright.store.write.sequence import Counters, Draw, Identity
from tablewright.store.write.unique_values import GuardChange

# How often a write is planned anew before it is given up.
ATTEMPTS = 12
# From so many on, waits do not grow: each time somebody else has got through, so there is nothing to wait out.
_LONGEST_WAIT = 4
MOST_ACTIONS = 100

# What a plan may find out by itself to stand in the way.
_REFUSALS = (NotFound, ConditionFailed, Conflict)

CONDITION_FAILED = "ConditionalCheckFailedException"
_CANCELLED = "TransactionCanceledException"
_CONDITION_REASON = "ConditionalCheckFailed"
_CONFLICT_REASON = "TransactionConflict"


@dataclass(frozen=True, slots=True)
class Found:
    """What is stored under a key, as the service told it; None: nothing."""

    item: Item | None


@dataclass(slots=True)
class Action:
    """One action on one item: ``Put``, ``Update``, ``Delete`` or ``ConditionCheck``."""

    kind: str
    body: dict[str, Any]
    # What it means that the condition did not hold; None: what was assumed is out of date, so plan again.
    refused: Callable[[Item | None], StoreError | None]
    # The action is on an item that the store keeps for itself, which says nothing of the operation's own.
    internal: bool = False


@dataclass(slots=True)
class WritePlan:
    """What one operation does to its table."""

    actions: list[Action]
    guards: list[GuardChange] = field(default_factory=list)
    # Called with the response of a single request, or with an empty one, when all is done; gives the result.
    done: Callable[[Response], Any] = lambda _: None
    # Large values that go outside of the item; then ``settle``, if there is one, is what gives the result. It is told
    # whether anybody wants it.
    placed: Placed | None = None
    settle: Callable[[Response, bool], Flow[Any]] | None = None


class Operation(ABC):
    """A write of one entity."""

    name: str
    schema: Schema
    # Where the large values of its item are, while it is being carried out; only if it has such fields.
    outside: Outside

    @abstractmethod
    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        """Plan the write; ``found`` is what is stored, if that has become known."""

    def draws(self, context: Context, found: Found | None) -> Flow[list[Draw]]:
        """The numbers that it needs before it can be planned; asked of entities with numbered fields only."""
        yield from ()
        return []

    def number(self, numbers: dict[str, int]) -> None:
        """Take the numbers that were drawn, by field."""
        raise NotImplementedError

    def makes(self, fields: Mapping[str, Any]) -> bool:
        """Whether it makes a new item, which is the one that these fields identify."""
        return False

    @property
    def pattern(self) -> str:
        return f"{self.schema.entity.__name__}.{self.name}"


def schema_for(target: Entity | Lookup[Any], call: str, takes: str = A_TARGET) -> Schema:
    """The schema of what a call is to write."""
    if isinstance(target, Entity):
        schema = schema_of(type(target))
        if schema.version is not None and schema.version.name not in target.__dict__:
            raise partial_entity_error(schema, schema.version.name)
        return schema
    if takes is AN_ENTITY or not isinstance(target, Lookup):
        raise not_taken(call, takes, target)
    return schema_of(target.entity)


def execute(context: Context, operation: Operation) -> Flow[Any]:
    """Carry out one operation; its error is raised as it is."""
    try:
        results = yield from execute_all(context, [operation], operation.pattern)
    except Cancelled as cancelled:
        raise next(reason for reason in cancelled.reasons if reason is not None) from None
    return results[0]


def execute_all(context: Context, operations: Sequence[Operation], pattern: str) -> Flow[list[Any]]:
    """Carry out operations, all or none; gives the result of each."""
    outside = None
    for operation in operations:
        if operation.schema.large:
            operation.outside = outside = outside or Outside(context)
    if outside is None:
        return (yield from _execute(context, operations, pattern, None))
    try:
        return (yield from _execute(context, operations, pattern, outside))
    except Exception:
        yield from outside.refused()
        raise


def _execute(
    context: Context, operations: Sequence[Operation], pattern: str, outside: Outside | None
) -> Flow[list[Any]]:
    found: list[Found | None] = [None] * len(operations)
    counters = Counters()
    for attempt in range(ATTEMPTS):
        if attempt > 1:
            yield backoff(context, min(attempt - 1, _LONGEST_WAIT))
        draws: list[list[Draw]] = []
        plans: list[WritePlan] = []
        operation = operations[0]
        try:
            for operation, known in zip(operations, found, strict=True):
                draws.append((yield from operation.draws(context, known)) if operation.schema.numbered else [])
            raises = (yield from _numbered(context, operations, draws, counters, pattern)) if any(draws) else []
            for operation, known in zip(operations, found, strict=True):
                plans.append((yield from operation.plan(context, known)))
        except _REFUSALS as error:
            raise Cancelled([error if other is operation else None for other in operations]) from None
        if raises:
            plans[0].actions.extend(raises)
        if len(plans) > 1:
            _check_once(operations, plans)
        placed = [plan.placed for plan in plans if plan.placed is not None]
        if outside is None or not outside.is_concerned(placed):
            response, refusals = yield from _commit(context, plans, pattern)
        else:
            yield from outside.upload(placed)
            response, refusals = yield from outside.watched(_commit(context, plans, pattern))
            if response is not None:
                yield from outside.committed(placed)
        if response is not None:
            return (yield from _settled(plans, response)) if outside else [plan.done(response) for plan in plans]
        reasons = _reasons(draws, refusals, found)
        if any(reason is not None and not isinstance(reason, _OutOfDate) for reason in reasons):
            # What was only out of date might have been done at the next attempt.
            raise Cancelled([None if isinstance(reason, _OutOfDate) else reason for reason in reasons])
    raise Cancelled([_as_conflict(operation, reason) for operation, reason in zip(operations, reasons, strict=True)])


def _check_once(operations: Sequence[Operation], plans: Sequence[WritePlan]) -> None:
    """A transaction touches an item once; the service would not tell which one, and by whom."""
    known: dict[tuple[str, ...], int] = {}
    for number, (operation, plan) in enumerate(zip(operations, plans, strict=True), 1):
        for action in plan.actions:
            if action.internal:
                continue
            body = action.body
            item = body["Key"] if "Key" in body else body["Item"]
            values = [value for name in operation.schema.table.key for value in item[name].values()]
            other = known.setdefault((body["TableName"], *values), number)
            if other != number:
                raise LimitExceeded(
                    f"a transaction touches an item once, but actions {other} and {number} are of the same "
                    f"{operation.schema.entity.__name__}; make one of them"
                )


def _settled(plans: Sequence[WritePlan], response: Response) -> Flow[list[Any]]:
    results = []
    for plan in plans:
        settle = plan.settle
        results.append(plan.done(response) if settle is None else (yield from settle(response, len(plans) == 1)))
    return results


def _numbered(
    context: Context,
    operations: Sequence[Operation],
    draws: Sequence[list[Draw]],
    counters: Counters,
    pattern: str,
) -> Flow[list[Action]]:
    """Give numbers to the operations that need them; the actions that raise the counters."""

    def is_new(draw: Draw) -> bool:
        return any(operation.makes(draw.group) for operation in operations)

    known = yield from counters.prepare(context, [draw for some in draws for draw in some], pattern, is_new)
    for operation, some in zip(operations, draws, strict=True):
        if some:
            operation.number({draw.spec.name: known[draw.identity].next() for draw in some if draw.given is None})
    actions = []
    for identity, counter in known.items():
        if counter.highest == counter.last:
            continue

        def refused(found: Item | None, identity: Identity = identity) -> None:
            counters.found(identity, found)

        actions.append(Action("Update", counter.body(context), refused, internal=True))
    return actions


class _OutOfDate(StoreError):
    """What an operation assumed is not so; it can be planned again."""


def _as_conflict(operation: Operation, reason: StoreError | None) -> StoreError | None:
    if not isinstance(reason, _OutOfDate):
        return reason
    return Conflict(f"{operation.schema.entity.__name__}: others keep changing the item; it was not written")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why an action of a plan was not done: its condition (and what is stored), or anything else."""

    plan: int
    action: Action | None
    guard: GuardChange | None
    found: Item | None
    error: StoreError | None = None


# The response, or why there is none.
Committed = tuple[Response | None, list[_Refusal]]


def _reasons(
    draws: Sequence[list[Draw]], refusals: Sequence[_Refusal], found: list[Found | None]
) -> list[StoreError | None]:
    """The error of each operation; notes what was found of those that can be planned again."""
    reasons: list[StoreError | None] = [None] * len(draws)
    outrun = any(refusal.action is not None and refusal.action.internal for refusal in refusals)
    for refusal in refusals:
        reason = refusal.error
        own = refusal.action is not None and not refusal.action.internal
        if outrun and own and any(draw.given is None for draw in draws[refusal.plan]):
            # It was about a number that somebody else has by now.
            continue
        if reason is None and refusal.guard is not None:
            reason = refusal.guard.refusal()
        elif reason is None and refusal.action is not None:
            reason = refusal.action.refused(refusal.found)
            if reason is None:
                reason = _OutOfDate()
                if not refusal.action.internal:
                    found[refusal.plan] = Found(refusal.found)
        known = reasons[refusal.plan]
        # What is certain comes before what may be different at the next attempt; else the first one counts.
        if known is None or isinstance(known, _OutOfDate):
            reasons[refusal.plan] = reason
    return reasons


def _commit(context: Context, plans: Sequence[WritePlan], pattern: str) -> Flow[Committed]:
    """Send what was planned: the response, or the refusals."""
    actions = [(number, action) for number, plan in enumerate(plans) for action in plan.actions]
    if len(actions) == 1 and actions[0][1].kind != "ConditionCheck" and not any(plan.guards for plan in plans):
        return (yield from _commit_one(context, *actions[0], pattern))
    guards, refusals = _merged_guards(plans)
    if refusals:
        return None, refusals
    if not actions and not guards:
        return {}, []
    return (yield from _commit_all(context, actions, guards, pattern))


def _merged_guards(plans: Sequence[WritePlan]) -> tuple[list[tuple[int, GuardChange]], list[_Refusal]]:
    """One change for each guard, as a transaction may touch an item only once; refused if two plans take the same."""
    guards = [(number, change) for number, plan in enumerate(plans) for change in plan.guards]
    if len(guards) < 2:
        return guards, []
    merged: dict[tuple[str, str], tuple[int, GuardChange]] = {}
    refusals = []
    for number, change in guards:
        owner, known = merged.get(change.identity, (number, None))
        if known is None:
            merged[change.identity] = number, change
        elif known.after is not None and change.after is not None:
            refusals.append(_Refusal(number, None, change, None))
        else:
            taker = owner if known.after is not None else number
            merged[change.identity] = taker, known.merged(change)
    return list(merged.values()), refusals


_SINGLE = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
_RETURNED = {"Put": "NONE", "Update": "ALL_NEW", "Delete": "ALL_OLD"}


def _commit_one(context: Context, number: int, action: Action, pattern: str) -> Flow[Committed]:
    body = {**action.body, "ReturnValues": _RETURNED[action.kind]}
    if "ConditionExpression" in body:
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    try:
        response = yield from retrying(context, Request(_SINGLE[action.kind], body, pattern))
    except ServiceError as error:
        if error.code == CONDITION_FAILED:
            return None, [_Refusal(number, action, None, error.details.get("Item"))]
        raise in_words(error) from None
    return response, []


def _commit_all(
    context: Context,
    actions: Sequence[tuple[int, Action]],
    guards: Sequence[tuple[int, GuardChange]],
    pattern: str,
) -> Flow[Committed]:
    if len(actions) + len(guards) > MOST_ACTIONS:
        guarded = f" and {len(guards)} guards of unique fields" if guards else ""
        raise LimitExceeded(f"a transaction has at most {MOST_ACTIONS} actions; this has {len(actions)}{guarded}")
    members = []
    for _, action in actions:
        body = action.body
        if "ConditionExpression" in body:
            body = {**body, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        members.append({action.kind: body})
    for _, guard in guards:
        kind, body = guard.action(context)
        members.append({kind: body})
    try:
        yield from retrying(context, Request("TransactWriteItems", {"TransactItems": members}, pattern))
    except ServiceError as error:
        if error.code != _CANCELLED:
            raise in_words(error) from None
        origins: list[tuple[int, Action | None, GuardChange | None]] = []
        origins += [(number, action, None) for number, action in actions]
        origins += [(number, None, guard) for number, guard in guards]
        refusals = []
        for origin, reason in zip(origins, error.details.get("CancellationReasons", ()), strict=False):
            code = reason.get("Code", "None")
            if code != "None":
                other = None if code == _CONDITION_REASON else _other_reason(code, reason.get("Message", ""))
                refusals.append(_Refusal(*origin, reason.get("Item"), other))
        if not refusals:
            raise
        return None, refusals
    return {}, []


def _other_reason(code: str, message: str) -> StoreError:
    if code == _CONFLICT_REASON:
        return Conflict("other transactions keep writing the item; it was not written")
    return in_words(ServiceError("ValidationException" if code == "ValidationError" else code, message))


def in_words(error: ServiceError) -> StoreError:
    """The service's error, by its name here if it has one."""
    if error.code == "ValidationException":
        if "exceeded the maximum allowed size" in error.message:
            return LimitExceeded("the item would be larger than 400 KB, which is the most that an item can have")
        if "has exceeded the maximum size limit" in error.message or "has exceeded the size limit" in error.message:
            return LimitExceeded("a key is too long: a partition key has at most 2048 bytes, and a sort key 1024")
    return error
