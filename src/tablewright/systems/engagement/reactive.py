"""Events: something that a customer did creates or refreshes a candidate immediately.

The pipeline is that of a batch run, for one customer and with a time limit, which the models of all programs share.
Programs are handled concurrently, so that one whose model hangs does not delay the others. Models are called again, as
the event may change their scores. Attributes of the event are added to those of the candidate.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from tablewright.runtime import Idempotency, Invalid, Responder, StateConflict
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    Conflict,
    Operation,
    Outcome,
    StoreError,
    Unreadable,
    VersionConflict,
)
from tablewright.systems.engagement.model import Candidate, Program, Subject
from tablewright.systems.engagement.scoring.pipeline import Assessment, Pipeline, Plan, is_rejected_by_hand
from tablewright.systems.engagement.scoring.prospects import Prospect, plain
from tablewright.systems.unreadable_log import describe

# Seconds that models have for an event, those of all programs together.
BUDGET = 2.0
_AT_ONCE = 16
# Attempts to write a candidate that others change meanwhile, and the seconds between them: up to 0.01, 0.02, ...
_ATTEMPTS = 12
_FIRST_WAIT = 0.01
_MAX_WAIT = 0.1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a customer did."""

    customer_id: str
    subject: Subject | None
    attributes: dict[str, Any]
    context: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reaction:
    """The result of an event in a program."""

    program_id: str
    outcome: Literal["candidate", "rejected", "failed"]
    reason: str | None
    score: str | None


class _Failed(Exception):
    def __init__(self, reaction: Reaction) -> None:
        super().__init__()
        self.reaction = reaction


class Reactive:
    """Reacts to events."""

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        budget: float = BUDGET,
        clock: Callable[[], float] = time.monotonic,
        entropy: random.Random | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._idempotency = Idempotency("engagement")
        self._random = entropy or random.Random()
        self._budget = budget
        self._clock = clock

    def react_all(
        self, programs: Sequence[Program], event: Event, key: str | None = None, *, by: str = ""
    ) -> list[Reaction]:
        """The results of an event in some programs; of several, one that cannot react does not stop the rest."""
        deadline = self._clock() + self._budget

        def react(program: Program) -> Reaction:
            try:
                return self.react(program, event, key, by=by, deadline=deadline)
            except (StateConflict, Invalid) as problem:
                if len(programs) == 1:
                    raise
                return Reaction(program.program_id, "failed", str(problem), None)
            except Unreadable as error:
                # The result of the same event before.
                if len(programs) == 1:
                    raise
                self._pipeline.unreadable_log.add(error)
                return Reaction(program.program_id, "failed", describe(error), None)
            except StoreError:
                raise
            except Exception as error:
                # A custom filter.
                if len(programs) == 1:
                    raise
                _log.error("a program failed to handle an event", exc_info=error, extra={"system": "engagement"})
                return Reaction(program.program_id, "failed", f"internal error: {type(error).__name__}", None)

        if len(programs) < 2:
            return [react(program) for program in programs]
        with ThreadPoolExecutor(min(len(programs), _AT_ONCE), "engagement.event") as executor:
            return list(executor.map(react, programs))

    def react(
        self, program: Program, event: Event, key: str | None = None, *, by: str = "", deadline: float | None = None
    ) -> Reaction:
        """The result of an event; with a key, the same for all events of the same sender that have it."""
        program.require_active()
        if not program.reactive_enabled:
            raise StateConflict(f"program {program.program_id} does not react to events: reactiveEnabled is off")
        plan = Plan(program.program_id, program.marketplace_id, program.configuration)
        subject = event.subject or Subject(type="program", id=program.program_id)
        store = self._pipeline.store
        responder: Responder[Reaction, Reaction] = Responder(
            lambda made: made, by, key, lambda stored: Reaction(**stored)
        )
        end = self._clock() + self._budget if deadline is None else deadline
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(self._random.uniform(0, min(_MAX_WAIT, _FIRST_WAIT * 2**attempt)))
            try:
                if key is None:
                    reaction, operations = self._assessed(plan, subject, event, end)
                    if operations:
                        store.transact(*operations)
                    return reaction
                request = {
                    "customer": event.customer_id,
                    "subject": [subject.type, subject.id],
                    "attributes": event.attributes,
                    "context": event.context,
                }

                def work() -> Outcome:
                    reaction, operations = self._assessed(plan, subject, event, end)
                    if reaction.outcome == "failed":
                        # No response to keep: the same event may be sent again.
                        raise _Failed(reaction)
                    return Outcome(responder.view(reaction), *operations)

                # An event is a transaction in each of its programs.
                scope = program.program_id, program.marketplace_id
                return self._idempotency.execute_blocking(store, "event", request, responder, work, scope=scope)
            except Cancelled as cancelled:
                passing = (AlreadyExists, VersionConflict, Conflict)
                if not any(isinstance(reason, passing) for reason in cancelled.reasons):
                    raise
            except (AlreadyExists, VersionConflict):
                continue
            except _Failed as failed:
                return failed.reaction
        raise StateConflict("other requests keep changing this candidate; send the event again")

    def _assessed(
        self, plan: Plan, subject: Subject, event: Event, deadline: float
    ) -> tuple[Reaction, list[Operation]]:
        added = {name: plain(value) for name, value in event.attributes.items()}
        prospect = Prospect(event.customer_id, subject, added)
        (existing,) = self._pipeline.existing(plan, [prospect])
        if isinstance(existing, Unreadable):
            return Reaction(plan.program_id, "failed", describe(existing), None), []
        if existing is not None:
            prospect.attributes = {**existing.attributes, **added}
            if event.subject is None or not event.subject.attributes:
                prospect.subject = existing.subject
        (assessment,) = self._pipeline.assess(plan, [prospect], fresh=True, deadline=deadline)
        if assessment.error is not None:
            return Reaction(plan.program_id, "failed", assessment.error, None), []
        if assessment.unwanted and assessment.left_out is not None and existing is None:
            return Reaction(plan.program_id, "rejected", assessment.left_out.reason, None), []
        operations, candidate = self._pipeline.writes(plan, assessment, existing, context=event.context or None)
        return _reaction(plan, assessment, candidate), operations


def _reaction(plan: Plan, assessment: Assessment, candidate: Candidate) -> Reaction:
    if is_rejected_by_hand(candidate):
        reason: str | None = candidate.rejection_history[-1].reason
    else:
        reason = None if assessment.left_out is None else assessment.left_out.reason
    outcome: Literal["candidate", "rejected"] = "rejected" if candidate.rejected else "candidate"
    return Reaction(plan.program_id, outcome, reason, str(candidate.score))
