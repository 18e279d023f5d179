"""Batch runs: all customers of a program, a chunk at a time, one run of a program at a time.

A run has a record: how far it is, what it counted, what went wrong. Whoever carries it out holds the program's slot, a
lease that is renewed meanwhile. Candidates are written in transactions together with the record:

    slot: mine still? ─┐
    record: checkpoint ├─ one transaction ─▶ a customer is behind the checkpoint exactly if its candidate is written
    candidates, entries┘

So a run that is stopped, killed or cut off goes on behind its checkpoint, and comes to the same candidates as one that
was not, each of them once. Whoever lost the slot writes nothing more. A run goes by the version of the program that it
began with.

Events change candidates meanwhile. A customer whose candidate has changed since it was read is written alone, after a
wait, as it is by then; one that others keep changing is an error of that customer, and the run goes on.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from threading import Event
from typing import Any, Literal
from uuid import uuid4

from tablewright.runtime.errors import Clash, Invalid, Missing
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    ConditionFailed,
    Conflict,
    Create,
    Delete,
    NotFound,
    Operation,
    Store,
    Update,
    VersionConflict,
)
from tablewright.systems.engagement.connectors import Sources
from tablewright.systems.engagement.heartbeat import kept
from tablewright.systems.engagement.model import (
    MOST_SAMPLES,
    Checkpoint,
    Counts,
    Program,
    ProgramVersion,
    Run,
    RunState,
    Sample,
    Slot,
)
from tablewright.systems.engagement.pipeline import Assessment, Pipeline, Plan
from tablewright.systems.engagement.prospects import Prospect
from tablewright.systems.engagement.rows import Halted, Unreadable

LEASE = timedelta(seconds=60)
CHUNK = 500
# Actions of a transaction that are left for candidates, beside the slot and the record.
_ACTIONS = 98
# Candidates of a transaction, which has 4 MB at most: each may have a tenth of one with all that was told of it.
_CUSTOMERS = 40
# Tries to write a customer alone, and the seconds between them: up to 0.02, 0.04, ... and never more than the longest.
_ATTEMPTS = 10
_FIRST_WAIT = 0.02
_LONGEST_WAIT = 0.5
_CONTESTED = "others keep changing the candidate"
_TAKEN_OVER = 5
_LONGEST_REASON = 200
_MOST_KINDS_OF_ERROR = 50
_LOOK_EVERY = 1.0

Told = Callable[[Run], None]

_log = logging.getLogger(__name__)


class _Ended(Exception):
    """The run does not go on here."""


class _Asked(_Ended):
    """Somebody has asked for it to stop, or to be cancelled."""


class _Lost(_Ended):
    """Somebody else has the slot."""


class _Leaving(_Ended):
    """This process is stopping."""


@dataclass(slots=True)
class Held:
    """A run, and the slot by which it is carried out here."""

    run: Run
    slot: Slot


@dataclass(frozen=True, slots=True)
class _Planned:
    """A customer who was assessed, and what is to be written about that."""

    assessment: Assessment
    operations: list[Operation]
    is_rejected: bool = False


class Runs:
    """Begins, carries out, and ends runs."""

    def __init__(
        self,
        pipeline: Pipeline,
        sources: Sources,
        clock: Callable[[], datetime],
        *,
        chunk: int = CHUNK,
        lease: timedelta = LEASE,
        entropy: random.Random | None = None,
    ) -> None:
        self._store: Store = pipeline.store
        self._pipeline = pipeline
        self._sources = sources
        self._clock = clock
        self._chunk = chunk
        self._lease = lease
        self._random = entropy or random.Random()

    # -- beginning and ending -----------------------------------------------------------------------------------

    def opening(self, program: Program, trigger: Literal["manual", "schedule"]) -> tuple[Held, list[Operation]]:
        """A new run, and the writes that begin it; Clash if the program cannot run."""
        if not program.enabled:
            raise Clash(f"program {program.program_id} is disabled; enable it first")
        if not program.data_connectors:
            raise Clash(f"program {program.program_id} has no data connector to read customers from")
        now = self._clock()
        run = Run(
            program_id=program.program_id,
            marketplace_id=program.marketplace_id,
            run_id=f"{now:%Y%m%dT%H%M%S%f}-{uuid4().hex[:8]}",
            trigger=trigger,
            program_version=program.version,
            started=now,
            updated=now,
        )
        slot = self._slot(run)
        return Held(run, slot), [Create(run), Create(slot)]

    def begin(self, program: Program, trigger: Literal["manual", "schedule"] = "manual", *more: Operation) -> Held:
        """Begin a run; ``more`` is written with it. Clash if there is one already."""
        held, operations = self.opening(program, trigger)
        self.open(program.program_id, program.marketplace_id, *operations, *more)
        return held

    def open(self, program_id: str, marketplace_id: str, *operations: Operation) -> None:
        """Write what begins a run; Clash if there is one already."""
        try:
            self._store.transact(*operations)
        except Cancelled as cancelled:
            raise self.busy(cancelled, program_id, marketplace_id) from None

    def busy(self, cancelled: Cancelled, program_id: str, marketplace_id: str) -> Exception:
        """Why a run could not begin."""
        if not any(isinstance(reason, AlreadyExists) for reason in cancelled.reasons):
            return cancelled
        slot = self._store.get(Slot.of_program(program_id=program_id, marketplace_id=marketplace_id))
        if slot is None:
            return Clash("another run has just ended; try again")
        if slot.until <= self._clock():
            return Clash(f"run {slot.run_id} was cut short; resume or cancel it", run_id=slot.run_id)
        return Clash(f"run {slot.run_id} is going on; there is one run of a program at a time", run_id=slot.run_id)

    def resume(self, run: Run) -> Held:
        """Take up a run that was stopped, failed, or cut short; Clash if it is none of these, or the program is off."""
        program = self._store.get(
            Program.by_id(program_id=run.program_id, marketplace_id=run.marketplace_id), consistent=True
        )
        if program is None or not program.enabled:
            raise Clash(f"program {run.program_id} is disabled; enable it first")
        if run.state in (RunState.STOPPED, RunState.FAILED):
            slot = self._slot(run)
            change = Update(
                run, expect={"state": run.state}, state=RunState.RUNNING, requested=None, failure=None, finished=None
            )
            self.open(run.program_id, run.marketplace_id, change, Create(slot))
            return Held(self.get(run), slot)
        if run.state is not RunState.RUNNING:
            raise Clash(f"run {run.run_id} is {run.state}")
        found = self._store.get(Slot.of_program(program_id=run.program_id, marketplace_id=run.marketplace_id))
        if found is None or found.run_id != run.run_id or found.until > self._clock():
            raise Clash(f"run {run.run_id} is going on")
        return self.take_over(found)

    def take_over(self, slot: Slot) -> Held:
        """Carry on for somebody whose lease has run out; Clash if another was faster."""
        try:
            self._store.update(
                slot,
                expect={"owner": slot.owner, "until": slot.until},
                owner=uuid4().hex,
                until=self._clock() + self._lease,
                taken_over=slot.taken_over + 1,
            )
        except (ConditionFailed, NotFound, Conflict):
            raise Clash(f"run {slot.run_id} is going on") from None
        held = Held(self.get(slot), slot)
        if slot.taken_over > _TAKEN_OVER:
            # Whatever it is that ends processes, it must not end all of them for ever.
            self._end(held, RunState.FAILED, f"it was cut short {_TAKEN_OVER} times in a row at the same place")
            raise Clash(f"run {slot.run_id} was cut short too often; look at its record, and resume it")
        return held

    def free_slots(self) -> None:
        """Have everything that was cut short taken up at once, by somebody who knows that nobody else is there."""
        for slot in self._store.query(Slot.held_until(), limit=1_000).items:
            if slot.until > self._clock():
                self._store.update(slot, expect={"owner": slot.owner}, until=self._clock())

    def request(self, run: Run, wish: Literal["stop", "cancel"]) -> Run:
        """Have a run stop, or end for good, at its next transaction; at once, if nobody carries it out."""
        if run.state is not RunState.RUNNING:
            if wish == "cancel" and run.state in (RunState.STOPPED, RunState.FAILED):
                return self._store.update(
                    run, expect={"state": run.state}, state=RunState.CANCELLED, finished=self._clock()
                )
            raise Clash(f"run {run.run_id} is {run.state}")
        try:
            run = self._store.update(run, expect={"state": RunState.RUNNING}, requested=wish)
        except ConditionFailed:
            raise Clash(f"run {run.run_id} has just ended") from None
        slot = self._store.get(Slot.of_program(program_id=run.program_id, marketplace_id=run.marketplace_id))
        if slot is not None and slot.run_id == run.run_id and slot.until <= self._clock():
            self._end(self.take_over(slot), _STATES[wish])
        return self.get(run)

    def get(self, run: Run | Slot) -> Run:
        found = self._store.get(
            Run.by_id(program_id=run.program_id, marketplace_id=run.marketplace_id, run_id=run.run_id)
        )
        if found is None:
            raise Missing(f"run {run.run_id} is not there")
        return found

    def _slot(self, run: Run) -> Slot:
        return Slot(
            program_id=run.program_id,
            marketplace_id=run.marketplace_id,
            run_id=run.run_id,
            owner=uuid4().hex,
            until=self._clock() + self._lease,
        )

    # -- carrying out -------------------------------------------------------------------------------------------

    def execute(self, held: Held, *, leaving: Event | None = None, tell: Told = lambda run: None) -> Run:
        """Carry a run out until it ends, one way or another; the record as it is then."""
        leaving = leaving or Event()
        try:
            with kept(lambda: self._renewed(held, self._lease), self._lease.total_seconds() / 3):
                self._work(held, leaving, tell)
            self._end(held, RunState.COMPLETED)
        except (_Asked, _Leaving, Halted):
            wish = self.get(held.run).requested
            if wish is not None:
                self._end(held, _STATES[wish])
            elif leaving.is_set():
                # Still running, but nobody's: whoever comes next goes on at once.
                self._renewed(held, timedelta(0))
        except _Lost:
            _log.warning("a run is carried out elsewhere", extra={"system": "engagement"})
        except (Unreadable, Invalid) as error:
            self._end(held, RunState.FAILED, str(error))
        except Exception as error:
            _log.error("a run failed", exc_info=error, extra={"system": "engagement"})
            self._end(held, RunState.FAILED, f"it failed here: {type(error).__name__}")
        return self.get(held.run)

    def _work(self, held: Held, leaving: Event, tell: Told) -> None:
        run = held.run
        version = self._store.get(
            ProgramVersion.by_number(
                program_id=run.program_id, marketplace_id=run.marketplace_id, number=run.program_version
            ),
            consistent=True,
        )
        if version is None:
            raise Unreadable("the version of the program that it began with is not there")
        plan = Plan(run.program_id, run.marketplace_id, version.configuration)
        connectors = plan.configuration.data_connectors
        halted = self._halted(held, leaving)
        if run.total is None:
            numbers = [self._sources.count(connector, halted) for connector in connectors]
            run.total = None if None in numbers else sum(number or 0 for number in numbers)
        tell(run)
        for index in range(run.checkpoint.connector, len(connectors)):
            after = run.checkpoint if index == run.checkpoint.connector else Checkpoint(connector=index)
            chunks = self._sources.prospects(connectors[index], run.program_id, after, self._chunk, halted)
            with closing(chunks):
                for chunk in chunks:
                    _leave_if(leaving)
                    assessments = self._pipeline.assess(plan, _distinct(chunk), halted=halted)
                    self._write(held, plan, index, assessments, leaving, tell)

    def _halted(self, held: Held, leaving: Event) -> Callable[[], bool]:
        """Whether a run is to stop while it waits for its source or a model, and writes nothing that would tell it so.

        It is asked often, by another thread as well, and looks at the record every second or so.
        """
        looked = time.monotonic()

        def halted() -> bool:
            nonlocal looked
            if leaving.is_set() or time.monotonic() - looked < _LOOK_EVERY:
                return leaving.is_set()
            looked = time.monotonic()
            try:
                found = self.get(held.run)
            except Exception as error:
                # Nobody knows; it is looked at again.
                _log.warning("the record of a run could not be read", exc_info=error, extra={"system": "engagement"})
                return False
            return found.requested is not None or found.state is not RunState.RUNNING

        return halted

    def _renewed(self, held: Held, lease: timedelta) -> bool:
        """Whether the slot is still held here, for as long from now. It is called from another thread, too."""
        run = held.run
        place = Slot.of_program(program_id=run.program_id, marketplace_id=run.marketplace_id)
        try:
            self._store.update(place, expect={"owner": held.slot.owner}, until=self._clock() + lease)
        except (ConditionFailed, NotFound):
            return False
        return True

    def _write(
        self, held: Held, plan: Plan, connector: int, assessments: Sequence[Assessment], leaving: Event, tell: Told
    ) -> None:
        """Write what came of some customers, and that it did."""
        rest = list(assessments)
        # How many are written next, where that is not all of them.
        sizes: list[int] = []
        alone = 0
        while rest:
            size = sizes.pop(0) if sizes else len(rest)
            for pack in _packs(self._planned(held.run, plan, rest[:size])):
                _leave_if(leaving)
                try:
                    self._commit(held, connector, pack)
                except Cancelled as cancelled:
                    _raise_if_ended(cancelled)
                    # Somebody has changed a candidate since it was read: those before it, then it alone, all read anew.
                    before = _contested(cancelled, pack)
                    sizes = [before, 1] if before else [1]
                    alone += len(pack) == 1
                    if alone == _ATTEMPTS:
                        if not pack[0].operations:
                            raise Conflict("others keep changing the record of the run") from None
                        rest[0].error, alone = _CONTESTED, 0
                    leaving.wait(self._random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**alone)))
                    break
                alone = 0
                rest = rest[len(pack) :]
                tell(held.run)

    def _planned(self, run: Run, plan: Plan, assessments: Sequence[Assessment]) -> list[_Planned]:
        good = [each for each in assessments if each.error is None]
        existing = iter(self._pipeline.existing(plan, [each.prospect for each in good]))
        planned: list[_Planned] = []
        for each in assessments:
            if each.error is not None:
                planned.append(_Planned(each, []))
                continue
            operations, candidate = self._pipeline.writes(plan, each, next(existing), run_id=run.run_id)
            planned.append(_Planned(each, operations, candidate.rejected))
        return planned

    def _commit(self, held: Held, connector: int, pack: Sequence[_Planned]) -> None:
        run, slot = held.run, held.slot
        self._store.transact(
            Update(slot, expect={"owner": slot.owner}, until=self._clock() + self._lease, taken_over=0),
            Update(run, expect={"state": RunState.RUNNING, "requested": None}, **self._after(run, connector, pack)),
            *(operation for each in pack for operation in each.operations),
        )

    def _after(self, run: Run, connector: int, pack: Sequence[_Planned]) -> dict[str, Any]:
        """The record of a run behind a pack."""
        assessed = [each.assessment for each in pack]
        failed = [each for each in assessed if each.error is not None]
        rejected = sum(each.is_rejected for each in pack)
        before = run.counts
        counts = Counts(
            read=before.read + len(pack),
            candidates=before.candidates + len(pack) - len(failed) - rejected,
            rejected=before.rejected + rejected,
            failed=before.failed + len(failed),
            cached=before.cached + sum(each.cached for each in assessed),
            scored=before.scored + sum(each.scored for each in assessed),
        )
        errors = Counter(run.errors)
        for each in failed:
            reason = (each.error or "")[:_LONGEST_REASON]
            errors[reason if reason in errors or len(errors) < _MOST_KINDS_OF_ERROR - 1 else "others"] += 1
        samples = [
            Sample(customer_id=each.prospect.customer_id[:200], reason=(each.error or "")[:_LONGEST_REASON])
            for each in failed[:MOST_SAMPLES]
        ]
        customer, type_, id_ = assessed[-1].prospect.place
        return {
            "checkpoint": Checkpoint(connector=connector, customer_id=customer, subject_type=type_, subject_id=id_),
            "counts": counts,
            "errors": dict(errors),
            "samples": [*run.samples, *samples][:MOST_SAMPLES],
            "total": run.total,
            "updated": self._clock(),
        }

    def _end(self, held: Held, state: RunState, failure: str | None = None) -> None:
        now = self._clock()
        told = None if failure is None else failure[:500]
        change = Update(
            held.run,
            expect={"state": RunState.RUNNING},
            state=state,
            requested=None,
            failure=told,
            finished=now,
            total=held.run.total,
        )
        try:
            self._store.transact(change, Delete(held.slot, expect={"owner": held.slot.owner}))
        except Cancelled as cancelled:
            if isinstance(cancelled.reasons[1], ConditionFailed | NotFound):
                _log.warning("a run is carried out elsewhere", extra={"system": "engagement"})
                return
            raise


_STATES = {"stop": RunState.STOPPED, "cancel": RunState.CANCELLED}


def _leave_if(leaving: Event) -> None:
    if leaving.is_set():
        raise _Leaving


def _raise_if_ended(cancelled: Cancelled) -> None:
    """What a cancelled transaction means for the run; nothing, if it was about the candidates."""
    slot, record, *_ = cancelled.reasons
    if isinstance(slot, ConditionFailed | NotFound):
        raise _Lost from None
    if isinstance(record, ConditionFailed | NotFound):
        raise _Asked from None
    passing = (VersionConflict, AlreadyExists, Conflict, NotFound, ConditionFailed)
    wrong = [reason for reason in cancelled.reasons if reason is not None and not isinstance(reason, passing)]
    if wrong:
        raise wrong[0]


def _contested(cancelled: Cancelled, pack: Sequence[_Planned]) -> int:
    """How many of a pack come before the first whose candidate others have changed."""
    reasons = iter(cancelled.reasons[2:])
    for before, each in enumerate(pack):
        if any(reason is not None for reason in islice(reasons, len(each.operations))):
            return before
    return 0


def _distinct(chunk: Sequence[Prospect]) -> list[Prospect]:
    """Each customer and subject once; the first of several counts."""
    found: dict[tuple[str, str, str], Prospect] = {}
    for each in chunk:
        found.setdefault((each.customer_id, each.subject.type, each.subject.id), each)
    return list(found.values())


def _packs(planned: Sequence[_Planned]) -> Iterator[list[_Planned]]:
    """As many customers as a transaction takes, one after the other."""
    pack: list[_Planned] = []
    actions = customers = 0
    for each in planned:
        if actions + len(each.operations) > _ACTIONS or customers == _CUSTOMERS:
            yield pack
            pack, actions, customers = [], 0, 0
        pack.append(each)
        actions += len(each.operations)
        customers += bool(each.operations)
    if pack:
        yield pack
