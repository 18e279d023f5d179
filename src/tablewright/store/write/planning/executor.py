"""Carrying out operations: plan them, commit the plans, and plan again while an assumption is out of date.

    attempts ─▶ plan each operation ─▶ numbers from sequences ─▶ upload large values ─▶ commit ─▶ results
       ▲                                                                        │
       └──────────── what was found, how far sequences are ◀──── refused ◀──────┘

An error that is certain ends it at once, as ``Cancelled`` with a reason for each operation; what is merely out of date
is tried ``ATTEMPTS`` times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tablewright.store.blobs.offload import Offload
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
from tablewright.store.flow.driver import Flow, Response
from tablewright.store.flow.retry import backoff
from tablewright.store.write.planning.commit import Refused, commit
from tablewright.store.write.planning.operation import (
    Action,
    Attempt,
    Draws,
    Found,
    Operation,
    Planning,
    WritePlan,
)
from tablewright.store.write.planning.preconditions import refusal_of
from tablewright.store.write.sequence import Draw, Identity, Sequences
from tablewright.store.write.unique_values import GuardChange

# How often a write is planned before it is given up.
ATTEMPTS = 12
# From so many on, waits do not grow: each time somebody else has got through, so there is nothing to wait out.
_MAX_BACKOFF_STEP = 4

# What a plan may find out by itself to stand in the way.
_REFUSALS = (NotFound, ConditionFailed, Conflict)


class _OutOfDate(StoreError):
    """What an operation assumed is not so; it can be planned again."""


def execute(context: Context, operation: Operation) -> Flow[Any]:
    """Carry out one operation; its error is raised as it is."""
    try:
        results = yield from execute_all(context, [operation], operation.pattern)
    except Cancelled as cancelled:
        raise next(reason for reason in cancelled.reasons if reason is not None) from None
    return results[0]


def execute_all(context: Context, operations: Sequence[Operation], pattern: str) -> Flow[list[Any]]:
    """Carry out operations, all or none; gives the result of each."""
    offload = Offload(context)
    if not any(operation.schema.large for operation in operations):
        return (yield from _execute(context, operations, pattern, offload))
    try:
        return (yield from _execute(context, operations, pattern, offload))
    except Exception:
        yield from offload.refused()
        raise


def _execute(context: Context, operations: Sequence[Operation], pattern: str, offload: Offload) -> Flow[list[Any]]:
    attempts = [Attempt(context, offload) for _ in operations]
    sequences = Sequences()
    for number in range(ATTEMPTS):
        if number > 1:
            yield backoff(context, min(number - 1, _MAX_BACKOFF_STEP))
        numbering = _Numbering(operations, sequences)
        plans = yield from numbering.plan_all(context, attempts, pattern)
        if len(plans) > 1:
            _check_once(operations, plans)
        placements = [plan.placement for plan in plans if plan.placement is not None]
        beside = numbering.actions
        if offload.has_work(placements):
            yield from offload.upload(placements)
            response, refused = yield from offload.track_outcome(commit(context, plans, pattern, beside))
            if response is not None:
                yield from offload.committed(placements)
        else:
            response, refused = yield from commit(context, plans, pattern, beside)
        if response is not None:
            return (yield from _results(plans, response))
        reasons = _reasons(numbering, refused, attempts)
        if any(reason is not None and not isinstance(reason, _OutOfDate) for reason in reasons):
            # What was only out of date might have been done at the next attempt.
            raise Cancelled([None if isinstance(reason, _OutOfDate) else reason for reason in reasons])
    raise Cancelled([_as_conflict(operation, reason) for operation, reason in zip(operations, reasons, strict=True)])


def _results(plans: Sequence[WritePlan], response: Response) -> Flow[list[Any]]:
    results = []
    for plan in plans:
        load = plan.load_result
        results.append(plan.result(response) if load is None else (yield from load(response, len(plans) == 1)))
    return results


def _check_once(operations: Sequence[Operation], plans: Sequence[WritePlan]) -> None:
    """A transaction touches an item once; the service would not say which item, and by which actions."""
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


class _Numbering:
    """The plans of one attempt, and the numbers that they draw from sequences."""

    def __init__(self, operations: Sequence[Operation], sequences: Sequences) -> None:
        self._operations = operations
        self._sequences = sequences
        # By operation, what it draws.
        self.draws: list[Sequence[Draw]] = [()] * len(operations)
        # The actions that raise sequences, with the sequence that each is of.
        self._raises: list[tuple[Identity, Action]] = []

    @property
    def actions(self) -> list[Action]:
        return [action for _, action in self._raises]

    def plan_all(self, context: Context, attempts: Sequence[Attempt], pattern: str) -> Flow[list[WritePlan]]:
        """Plan all operations; those that need numbers wait until it is known what all of them draw."""
        if len(attempts) == 1 and not self._operations[0].schema.numbered:
            try:
                return [(yield from cast("Flow[WritePlan]", self._operations[0].plan(attempts[0])))]
            except _REFUSALS as error:
                raise Cancelled([error]) from None
        current = 0
        plannings = [each.plan(attempt) for each, attempt in zip(self._operations, attempts, strict=True)]
        plans: list[WritePlan | None] = []
        try:
            for current, (operation, planning) in enumerate(zip(self._operations, plannings, strict=True)):
                if not operation.schema.numbered:
                    plans.append((yield from cast("Flow[WritePlan]", planning)))
                    continue
                step = yield from _advance(planning, None)
                plans.append(None if isinstance(step, Draws) else step)
                self.draws[current] = step.draws if isinstance(step, Draws) else ()
            if None in plans:
                numbers = yield from self._draw_numbers(context, pattern)
                for current, planning in enumerate(plannings):
                    if plans[current] is None:
                        step = yield from _advance(planning, numbers[current])
                        assert isinstance(step, WritePlan)
                        plans[current] = step
        except _REFUSALS as error:
            raise Cancelled([error if number == current else None for number in range(len(plannings))]) from None
        return [plan for plan in plans if plan is not None]

    def _draw_numbers(self, context: Context, pattern: str) -> Flow[list[dict[str, int]]]:
        """The numbers of each operation, by field; and the actions that raise the sequences."""

        def is_new(draw: Draw) -> bool:
            return any(operation.creates(draw.group) for operation in self._operations)

        draws = [draw for some in self.draws for draw in some]
        known = yield from self._sequences.prepare(context, draws, pattern, is_new)
        numbers = [
            {draw.spec.name: known[draw.identity].next() for draw in some if draw.given is None} for some in self.draws
        ]
        self._raises = [
            (identity, Action("Update", sequence.body(context), internal=True))
            for identity, sequence in known.items()
            if sequence.highest != sequence.last
        ]
        return numbers

    def note_raised(self, refused: Sequence[Refused]) -> bool:
        """Whether others have drawn from a sequence meanwhile; notes how far it is."""
        found = False
        for each in refused:
            for identity, action in self._raises:
                if each.by is action and each.error is None:
                    self._sequences.found(identity, each.found)
                    found = True
        return found


def _advance(planning: Planning, value: Any) -> Flow[Draws | WritePlan]:
    """Run a planning up to the numbers that it asks for, or to its end."""
    try:
        step = planning.send(value)
        while not isinstance(step, Draws):
            try:
                response = yield step
            except ServiceError as error:
                step = planning.throw(error)
            else:
                step = planning.send(response)
        return step
    except StopIteration as end:
        plan: WritePlan = end.value
        return plan


def _reasons(numbering: _Numbering, refused: Sequence[Refused], attempts: Sequence[Attempt]) -> list[StoreError | None]:
    """The error of each operation; attempts are given what was found of those that can be planned again."""
    reasons: list[StoreError | None] = [None] * len(attempts)
    outrun = numbering.note_raised(refused)
    for each in refused:
        own = isinstance(each.by, Action) and not each.by.internal
        if outrun and own and any(draw.given is None for draw in numbering.draws[each.plan]):
            # It was about a number that somebody else has by now.
            continue
        reason = each.error or _reason(each, attempts[each.plan])
        known = reasons[each.plan]
        # What is certain comes before what may be different at the next attempt; else the first one counts.
        if known is None or isinstance(known, _OutOfDate):
            reasons[each.plan] = reason
    return reasons


def _reason(refused: Refused, attempt: Attempt) -> StoreError:
    if isinstance(refused.by, GuardChange):
        return refused.by.refusal()
    error = refusal_of(refused.by.preconditions, refused.found)
    if error is not None:
        return error
    if not refused.by.internal:
        attempt.found = Found(refused.found)
    return _OutOfDate()


def _as_conflict(operation: Operation, reason: StoreError | None) -> StoreError | None:
    if not isinstance(reason, _OutOfDate):
        return reason
    return Conflict(f"{operation.schema.entity.__name__}: others keep changing the item; it was not written")
