"""Committing plans: one action is one request, several are a transaction, all or nothing.

Whatever was refused comes back with its plan, the action or guard that it was, and the item that the service returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablewright.dynamo import Item
from tablewright.dynamo.limits import (
    MAX_ITEM_SIZE,
    MAX_PARTITION_KEY_BYTES,
    MAX_SORT_KEY_BYTES,
    MAX_TRANSACTION_ACTIONS,
)
from tablewright.store.context import Context
from tablewright.store.errors import Conflict, LimitExceeded, ServiceError, StoreError
from tablewright.store.flow.driver import Flow, Request, Response
from tablewright.store.flow.retry import retrying
from tablewright.store.write.planning.operation import Action, WritePlan
from tablewright.store.write.upkeep import CounterChange, Upkeep

CONDITION_FAILED = "ConditionalCheckFailedException"
_CANCELLED = "TransactionCanceledException"
_CONDITION_REASON = "ConditionalCheckFailed"
_CONFLICT_REASON = "TransactionConflict"

_SINGLE = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
_RETURNED = {"Put": "NONE", "Update": "ALL_NEW", "Delete": "ALL_OLD"}


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an action of a plan was not done: its condition failed (and this is stored), or another error."""

    plan: int
    by: Action | Upkeep
    found: Item | None
    error: StoreError | None = None

    @property
    def is_own(self) -> bool:
        """Whether the action is on the item of the operation."""
        return isinstance(self.by, Action) and not self.by.internal


# The response, or why there is none.
Committed = tuple[Response | None, list[Refused]]


def commit(
    context: Context, plans: Sequence[WritePlan], pattern: str, beside: Sequence[Action] = ()
) -> Flow[Committed]:
    """Send what was planned, and the actions beside it: the response, or what was refused."""
    actions = [(number, action) for number, plan in enumerate(plans) for action in plan.actions]
    actions += [(0, action) for action in beside]
    guards = [(number, change) for number, plan in enumerate(plans) for change in plan.guards]
    if len(actions) == 1 and not guards and actions[0][1].kind in _SINGLE:
        return _commit_one(context, *actions[0], pattern)
    return _commit_all(context, actions, guards, pattern)


def _merged(guards: list[tuple[int, Upkeep]]) -> tuple[list[tuple[int, Upkeep]], list[Refused]]:
    """One change for each guard or counter, as a transaction may touch an item only once.

    Refused if two plans take the same guard.
    """
    if len(guards) < 2:
        return guards, []
    merged: dict[tuple[str, str], tuple[int, Upkeep]] = {}
    refused = []
    for number, change in guards:
        owner, known = merged.get(change.identity, (number, None))
        if known is None:
            merged[change.identity] = number, change
        elif isinstance(known, CounterChange) or isinstance(change, CounterChange):
            assert isinstance(known, CounterChange)
            assert isinstance(change, CounterChange)
            merged[change.identity] = owner, known.merged(change)
        elif known.after is not None and change.after is not None:
            refused.append(Refused(number, change, None))
        else:
            taker = owner if known.after is not None else number
            merged[change.identity] = taker, known.merged(change)
    return [each for each in merged.values() if not _changes_nothing(each[1])], refused


def _changes_nothing(change: Upkeep) -> bool:
    return isinstance(change, CounterChange) and change.changes_nothing


def _commit_one(context: Context, number: int, action: Action, pattern: str) -> Flow[Committed]:
    body = {**action.body, "ReturnValues": action.returns or _RETURNED[action.kind]}
    if "ConditionExpression" in body:
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    try:
        request = Request(_SINGLE[action.kind], body, pattern)
        response = yield from retrying(context, request, repeatable=action.repeatable)
    except ServiceError as error:
        if error.code == CONDITION_FAILED:
            return None, [Refused(number, action, error.details.get("Item"))]
        raise in_words(error) from None
    return response, []


def _commit_all(
    context: Context,
    actions: Sequence[tuple[int, Action]],
    guards: list[tuple[int, Upkeep]],
    pattern: str,
) -> Flow[Committed]:
    guards, refused = _merged(guards)
    if refused:
        return None, refused
    if not actions and not guards:
        return {}, []
    if len(actions) + len(guards) > MAX_TRANSACTION_ACTIONS:
        guarded = f" and {len(guards)} guards of unique values and counters" if guards else ""
        raise LimitExceeded(
            f"a transaction has at most {MAX_TRANSACTION_ACTIONS} actions; this has {len(actions)}{guarded}"
        )
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
        origins: list[tuple[int, Action | Upkeep]] = [*actions, *guards]
        for (number, by), reason in zip(origins, error.details.get("CancellationReasons", ()), strict=False):
            code = reason.get("Code", "None")
            if code != "None":
                other = None if code == _CONDITION_REASON else _other_reason(code, reason.get("Message", ""))
                refused.append(Refused(number, by, reason.get("Item"), other))
        if not refused:
            raise
        return None, refused
    return {}, []


def _other_reason(code: str, message: str) -> StoreError:
    if code == _CONFLICT_REASON:
        return Conflict("the item was not written: other transactions kept writing it at the same time; try again")
    return in_words(ServiceError("ValidationException" if code == "ValidationError" else code, message))


def in_words(error: ServiceError) -> StoreError:
    """The service's error, as the store's own where it has one."""
    if error.code == "ValidationException":
        if "exceeded the maximum allowed size" in error.message:
            return LimitExceeded(
                f"the item would be larger than {MAX_ITEM_SIZE // 1024} KB, the largest that DynamoDB stores"
            )
        if "has exceeded the maximum size limit" in error.message or "has exceeded the size limit" in error.message:
            return LimitExceeded(
                f"a key is too long: a partition key has at most {MAX_PARTITION_KEY_BYTES} bytes, "
                f"and a sort key {MAX_SORT_KEY_BYTES}"
            )
    return error
