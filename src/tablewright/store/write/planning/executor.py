"""Carrying out operations: plan them, commit the plans, and plan again while an assumption is out of date.

    attempts ─▶ plan each operation ─▶ numbers from sequences ─▶ upload large values ─▶ commit ─▶ results
       ▲                                                                        │
       └──────────── what was found, how far sequences are ◀──── refused ◀──────┘

An error that is certain ends it at once, as ``Cancelled`` with a reason for each operation; what is merely out of date
is tried ``MAX_PLAN_ATTEMPTS`` times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tablewright.store.blobs.offload import Offload
from tablewright.store.context import Context
from tablewright.store.errors import (
    AlreadyExists,
    Cancelled,
    ConditionFailed,
    Conflict,
    LimitExceeded,
    NotFound,
    ServiceError,
    StoreError,
)
from tablewright.store.flow.driver import Flow
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
from tablewright.store.write.sequence import Draw, Identity, Sequences, SequenceState
from tablewright.store.write.unique_values import GuardChange
from tablewright.store.write.upkeep import CounterChange

# How often a write is planned before it is given up.
MAX_PLAN_ATTEMPTS = 12
# From so many on, waits do not grow: each time another write has succeeded, so no outage is to be waited out.
_MAX_BACKOFF_STEP = 4

# The errors that planning itself may raise.
_REFUSALS = (AlreadyExists, NotFound, ConditionFailed, Conflict)


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
    """Carry out operations, all or none; returns the result of each."""
    offload = Offload(context)
    flow = _execute(context, operations, pattern, offload)
    # What follows a number may be of any entity.
    large = any(operation.schema.large or operation.schema.numbered for operation in operations)
    return _tidied_up(flow, offload) if large else flow


def _tidied_up(flow: Flow[list[Any]], offload: Offload) -> Flow[list[Any]]:
    try:
        return (yield from flow)
    except Exception:
        yield from offload.refused()
        raise


def _execute(context: Context, operations: Sequence[Operation], pattern: str, offload: Offload) -> Flow[list[Any]]:
    attempts = [Attempt(context, offload) for _ in operations]
    numbered = [operation for operation in operations if operation.schema.numbered]
    numbering = _Numbering(context, operations, pattern, offload) if numbered else None
    for number in range(MAX_PLAN_ATTEMPTS):
        if number > 1:
            yield backoff(context, min(number - 1, _MAX_BACKOFF_STEP))
        if numbering is None:
            plans = yield from _plan(operations, attempts)
        else:
            plans = yield from numbering.plan(attempts)
            operations = numbering.operations
        if len(plans) > 1:
            _check_once(operations, plans)
        flow = commit(context, plans, pattern, () if numbering is None else numbering.actions)
        placements = [plan.placement for plan in plans if plan.placement is not None]
        if offload.has_work(placements):
            yield from offload.upload(placements)
            response, refused = yield from offload.track_outcome(flow)
            if response is not None:
                yield from offload.committed(placements)
        else:
            response, refused = yield from flow
        if response is not None:
            results = []
            for plan in plans:
                load = plan.load_result
                results.append(plan.result(response) if load is None else (yield from load(response, len(plans) == 1)))
            return results
        reasons = _reasons(refused if numbering is None else numbering.relevant(refused), attempts)
        if any(reason is not None and not isinstance(reason, _OutOfDate) for reason in reasons):
            # What was only out of date might have been done at the next attempt.
            raise Cancelled([None if isinstance(reason, _OutOfDate) else reason for reason in reasons])
    raise Cancelled([_as_conflict(operation, reason) for operation, reason in zip(operations, reasons, strict=True)])


def _plan(operations: Sequence[Operation], attempts: Sequence[Attempt]) -> Flow[list[WritePlan]]:
    """Plan operations that need no numbers."""
    plans: list[WritePlan] = []
    try:
        for operation, attempt in zip(operations, attempts, strict=True):
            plans.append((yield from cast("Flow[WritePlan]", operation.plan(attempt))))
    except _REFUSALS as error:
        raise _cancelled(error, len(plans), len(operations)) from None
    return plans


def _cancelled(error: StoreError, by: int, operations: int) -> Cancelled:
    return Cancelled([error if number == by else None for number in range(operations)])


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
                    f"a transaction can write an item only once, but actions {other} and {number} are of the same "
                    f"{operation.schema.entity.__name__}; combine them into one"
                )


class _Numbering:
    """The plans of operations that draw numbers from sequences, and of those that follow from the numbers."""

    def __init__(self, context: Context, operations: Sequence[Operation], pattern: str, offload: Offload) -> None:
        self._context = context
        self._given = operations
        self._pattern = pattern
        self._offload = offload
        self._sequences = Sequences()
        # Those that were given, and what follows from their numbers.
        self.operations = operations
        # By operation, what it draws, and the numbers that it was given.
        self._draws: list[Sequence[Draw]] = []
        self._numbers: list[dict[str, int]] = []
        # The actions that raise sequences, with the sequence that each is of.
        self._raises: list[tuple[Identity, Action]] = []

    @property
    def actions(self) -> list[Action]:
        return [action for _, action in self._raises]

    def plan(self, attempts: list[Attempt]) -> Flow[list[WritePlan]]:
        """Plan all operations; those that need numbers wait until it is known what all of them draw.

        What follows from their numbers is planned after them, and may draw numbers itself; attempts of it are added.
        """
        before, self._draws, self._numbers, self._raises = self._numbers, [], [], []
        self.operations = [*self._given]
        known: dict[Identity, SequenceState] = {}
        plans: list[WritePlan] = []
        while len(plans) < len(self.operations):
            first = len(plans)
            plans += yield from self._plan_from(first, attempts, known)
            for number, operation in enumerate(self.operations[first:], first):
                self.operations += operation.followers(self._numbers[number])
            # What was found of a follower says nothing of one with other numbers.
            if self._numbers[first:] != before[first : len(plans)]:
                del attempts[len(plans) :]
            attempts += [Attempt(self._context, self._offload) for _ in self.operations[len(attempts) :]]
        self._raises = [
            (identity, Action("Update", sequence.body(self._context), internal=True))
            for identity, sequence in known.items()
            if sequence.highest != sequence.last
        ]
        return plans

    def _plan_from(
        self, first: int, attempts: Sequence[Attempt], known: dict[Identity, SequenceState]
    ) -> Flow[list[WritePlan]]:
        """Plan the operations from a position on."""
        current = first
        plannings = [each.plan(attempts[number]) for number, each in enumerate(self.operations[first:], first)]
        plans: list[WritePlan | None] = []
        try:
            for number, planning in enumerate(plannings):
                current = first + number
                step = yield from _advance(planning, None)
                plans.append(None if isinstance(step, Draws) else step)
                self._draws.append(step.draws if isinstance(step, Draws) else ())
            yield from self._draw_numbers(first, known)
            for number, planning in enumerate(plannings):
                current = first + number
                if plans[number] is None:
                    step = yield from _advance(planning, self._numbers[current])
                    assert isinstance(step, WritePlan)
                    plans[number] = step
        except _REFUSALS as error:
            raise _cancelled(error, current, len(self.operations)) from None
        return [plan for plan in plans if plan is not None]

    def _draw_numbers(self, first: int, known: dict[Identity, SequenceState]) -> Flow[None]:
        """Give the operations from a position on their numbers, by field."""

        def is_new(draw: Draw) -> bool:
            return any(operation.creates(draw.group) for operation in self.operations)

        draws = [draw for some in self._draws[first:] for draw in some]
        yield from self._sequences.prepare(self._context, draws, self._pattern, is_new, known)
        self._numbers += [
            {draw.spec.name: known[draw.identity].next() for draw in some if draw.given is None}
            for some in self._draws[first:]
        ]

    def relevant(self, refused: Sequence[Refused]) -> list[Refused]:
        """What was refused, except because of a number that another write has drawn meanwhile."""
        if not self._note_raised(refused):
            return list(refused)
        return [each for each in refused if not (each.is_own and self._is_numbered(each.plan))]

    def _is_numbered(self, operation: int) -> bool:
        is_follower = operation >= len(self._given)
        return is_follower or any(draw.given is None for draw in self._draws[operation])

    def _note_raised(self, refused: Sequence[Refused]) -> bool:
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


def _reasons(refused: Sequence[Refused], attempts: Sequence[Attempt]) -> list[StoreError | None]:
    """The error of each operation; attempts are given what was found of those that can be planned again."""
    reasons: list[StoreError | None] = [None] * len(attempts)
    for each in refused:
        reason = each.error or _reason(each, attempts[each.plan])
        known = reasons[each.plan]
        # What is certain comes before what may be different at the next attempt; else the first one counts.
        if known is None or isinstance(known, _OutOfDate):
            reasons[each.plan] = reason
    return reasons


def _reason(refused: Refused, attempt: Attempt) -> StoreError:
    if isinstance(refused.by, GuardChange | CounterChange):
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
    return Conflict(
        f"{operation.schema.entity.__name__}: the item was not written: it kept changing at the same time; try again"
    )
