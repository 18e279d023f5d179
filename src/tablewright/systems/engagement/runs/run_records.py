"""The records of runs, and the slot of each program: which process executes its run, and until when.

A run has a record: how far it is, what it counted, what went wrong. The process that executes it holds the
program's slot, a lease that is renewed meanwhile, so there is one run of a program at a time. A run whose holder is
gone can be resumed by any process, once the lease has expired; one that is resumed repeatedly at the same place has
failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal
from uuid import uuid4

from tablewright.model import FieldCondition, attr
from tablewright.runtime import UNSEEN, ResourceNotFound, Seen, StateConflict
from tablewright.runtime.audit import Audit, own_error
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
    TolerantReader,
    Update,
)
from tablewright.systems.engagement.audit_names import program_thing
from tablewright.systems.engagement.model import Program, Run, RunState, Slot
from tablewright.systems.engagement.runs.failed_customers import failures
from tablewright.systems.unreadable_log import UnreadableLog

LEASE = timedelta(seconds=60)
# What becomes of a run that was asked to end.
ENDED = {"stop": RunState.STOPPED, "cancel": RunState.CANCELLED}
# Runs that can be taken up where they are.
RESUMABLE = (RunState.STOPPED, RunState.PAUSED, RunState.FAILED)
_TAKEN_OVER = 5
_FORGOTTEN_AT_ONCE = 500

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Held:
    """A run, and the slot by which it is carried out here."""

    run: Run
    slot: Slot


class Ledger:
    """Begins and ends runs, and keeps their slots."""

    def __init__(
        self, store: Store, clock: Callable[[], datetime], unreadable_log: UnreadableLog, *, lease: timedelta = LEASE
    ) -> None:
        self.unreadable_log = unreadable_log
        self._store = store
        self._reader = TolerantReader(store, unreadable_log.add)
        self._clock = clock
        self._audit = Audit("engagement", lambda: clock().timestamp())
        self._lease = lease

    def opening(self, program: Program, trigger: Literal["manual", "schedule"]) -> tuple[Held, list[Operation]]:
        """A new run, and the writes that begin it; StateConflict if the program cannot run."""
        program.require_active()
        if not program.data_connectors:
            raise StateConflict(f"program {program.program_id} has no data connector to read customers from")
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
        return Held(run, slot), [Create(run), Create(slot), self._entry(run, None, run.state)]

    def begin(self, program: Program, trigger: Literal["manual", "schedule"] = "manual", *more: Operation) -> Held:
        """Begin a run; ``more`` is written with it. StateConflict if there is one already."""
        held, operations = self.opening(program, trigger)
        self.open(program.program_id, program.marketplace_id, *operations, *more)
        return held

    def open(self, program_id: str, marketplace_id: str, *operations: Operation) -> None:
        """Write what begins a run; StateConflict if there is one already."""
        try:
            self._store.transact(*operations)
        except Cancelled as cancelled:
            raise self.busy(cancelled, program_id, marketplace_id) from None

    def busy(self, cancelled: Cancelled, program_id: str, marketplace_id: str) -> Exception:
        """Why a run could not begin."""
        if not any(isinstance(reason, AlreadyExists) for reason in cancelled.reasons):
            return cancelled
        slot = self._store.get(Slot.of_program(program_id, marketplace_id))
        if slot is None:
            return StateConflict("another run has just ended; try again")
        if slot.lease_end <= self._clock():
            return StateConflict(f"run {slot.run_id} was interrupted; resume or cancel it", run_id=slot.run_id)
        return StateConflict(f"run {slot.run_id} is in progress; a program has one run at a time", run_id=slot.run_id)

    def resume(self, run: Run, seen: Seen = UNSEEN) -> Held:
        """Resume a run that was stopped or paused, has failed or was interrupted, or in which customers failed.

        StateConflict for any other, and if the program is not enabled.
        """
        seen.require(run)
        program = self._store.get(Program.by_id(run.program_id, run.marketplace_id), consistent=True)
        if program is None:
            raise StateConflict(f"there is no program {run.program_id} any more")
        program.require_active()
        if run.state in RESUMABLE or (run.state is RunState.COMPLETED and run.counts.failed):
            slot = self._slot(run)
            entry = self._entry(run, run.state, RunState.RUNNING)
            change = Update(
                run,
                attr(Run.state).set(RunState.RUNNING),
                attr(Run.attempt).set(run.attempt + 1),
                attr(Run.requested).set(None),
                attr(Run.failure).set(None),
                attr(Run.finished).set(None),
                expect=[attr(Run.state) == run.state, *seen.unchanged(run)],
            )
            try:
                self._store.transact(change, Create(slot), entry)
            except Cancelled as cancelled:
                if isinstance(cancelled.reasons[0], ConditionFailed | NotFound):
                    raise seen.outrun(f"run {run.run_id} has just been changed; read it again") from None
                raise self.busy(cancelled, run.program_id, run.marketplace_id) from None
            return Held(self.get(run), slot)
        if run.state is RunState.COMPLETED:
            raise StateConflict(f"run {run.run_id} is completed, and no customer failed")
        if run.state is not RunState.RUNNING:
            raise StateConflict(f"run {run.run_id} is {run.state}")
        found = self._store.get(Slot.of_program(run.program_id, run.marketplace_id))
        if found is None or found.run_id != run.run_id or found.lease_end > self._clock():
            raise StateConflict(f"run {run.run_id} is in progress")
        return self.take_over(found)

    def take_over(self, slot: Slot) -> Held:
        """Carry on for somebody whose lease has run out; StateConflict if another was faster."""
        try:
            self._store.update(
                slot,
                attr(Slot.owner).set(uuid4().hex),
                attr(Slot.lease_end).set(self._clock() + self._lease),
                attr(Slot.taken_over).set(slot.taken_over + 1),
                expect=[attr(Slot.owner) == slot.owner, attr(Slot.lease_end) == slot.lease_end],
            )
        except (ConditionFailed, NotFound, Conflict):
            raise StateConflict(f"run {slot.run_id} is in progress") from None
        held = Held(self.get(slot), slot)
        if slot.taken_over > _TAKEN_OVER:
            # Whatever it is that ends processes, it must not end all of them forever.
            self.end(held, RunState.FAILED, f"it was interrupted {_TAKEN_OVER} times in a row at the same place")
            raise StateConflict(f"run {slot.run_id} was interrupted too often; look at its record, and resume it")
        return held

    def free_slots(self) -> None:
        """Have everything that was cut short taken up at once, by somebody who knows that nobody else is there."""
        for slot in self._reader.page(Slot.held_until(), limit=1_000).items:
            if slot.lease_end > self._clock():
                self._store.update(slot, attr(Slot.lease_end).set(self._clock()), expect=is_held(slot))

    def request(self, run: Run, wish: Literal["stop", "cancel"], seen: Seen = UNSEEN) -> Run:
        """Stop or cancel a run at its next transaction; at once, if no process is executing it."""
        seen.require(run)
        expect = [attr(Run.state) == run.state, *seen.unchanged(run)]
        if run.state is not RunState.RUNNING:
            if wish == "cancel" and run.state in RESUMABLE:
                entry = self._entry(run, run.state, RunState.CANCELLED)
                change = Update(
                    run,
                    attr(Run.state).set(RunState.CANCELLED),
                    attr(Run.finished).set(self._clock()),
                    expect=expect,
                )
                try:
                    with own_error():
                        self._store.transact(change, entry)
                    return run
                except (ConditionFailed, NotFound):
                    raise seen.outrun(f"run {run.run_id} has just been changed; read it again") from None
            raise StateConflict(f"run {run.run_id} is {run.state}")
        try:
            with own_error():
                change = Update(run, attr(Run.requested).set(wish), expect=expect)
                self._store.transact(change, self._entry(run, run.state, wish))
        except ConditionFailed:
            raise seen.outrun(f"run {run.run_id} has just ended") from None
        slot = self._store.get(Slot.of_program(run.program_id, run.marketplace_id))
        if slot is not None and slot.run_id == run.run_id and slot.lease_end <= self._clock():
            self.end(self.take_over(slot), ENDED[wish])
        return self.get(run)

    def forget(self, program_id: str, marketplace_id: str, run_id: str, seen: Seen = UNSEEN) -> None:
        """Delete the record of a run that nobody carries out, whether or not it can be read; what it wrote stays."""
        lookup, place = Run.by_id(program_id, marketplace_id, run_id), Slot.of_program(program_id, marketplace_id)
        run, slot = self._reader.one(lookup), self._reader.one(place)
        operations: list[Operation] = []
        if run is not None:
            # Not one that somebody resumes meanwhile; what cannot be read, nobody can.
            expected: list[FieldCondition] = []
            if isinstance(run, Run):
                seen.require(run)
                expected = [attr(Run.state) == run.state, *seen.unchanged(run)]
            operations.append(Delete(lookup, expect=expected))
        if isinstance(slot, Slot):
            if slot.run_id == run_id:
                if slot.lease_end > self._clock():
                    raise StateConflict(f"run {run_id} is in progress; stop it first")
                operations.append(Delete(slot, expect=is_held(slot)))
        elif slot is not None and run is not None:
            # Nobody can hold what cannot be read.
            operations.append(Delete(place))
        if not operations:
            raise ResourceNotFound(f"there is no run {run_id} of program {program_id}")
        before = run.state if isinstance(run, Run) else "unreadable"
        thing = program_thing(program_id, marketplace_id)
        operations.append(self._audit.changed(thing, {f"run {run_id}": before}, **{f"run {run_id}": None}))
        try:
            self._store.transact(*operations)
        except Cancelled:
            raise seen.outrun(f"run {run_id} has just been resumed") from None
        # Nobody looks for them any more; what a crash leaves of them expires.
        failed = failures(self._reader, program_id, marketplace_id, run_id)
        while batch := list(islice(failed, _FORGOTTEN_AT_ONCE)):
            self._store.write_many(delete=batch)

    def _entry(self, run: Run, before: str | None, after: str) -> Operation:
        """That somebody began a run, or wants something of it; the audit of its program has it."""
        thing = program_thing(run.program_id, run.marketplace_id)
        name = f"run {run.run_id}"
        return self._audit.changed(thing, {name: before}, **{name: after})

    def get(self, run: Run | Slot) -> Run:
        found = self._store.get(Run.by_id(run.program_id, run.marketplace_id, run.run_id))
        if found is None:
            raise ResourceNotFound(f"there is no run {run.run_id}")
        return found

    def _slot(self, run: Run) -> Slot:
        return Slot(
            program_id=run.program_id,
            marketplace_id=run.marketplace_id,
            run_id=run.run_id,
            owner=uuid4().hex,
            lease_end=self._clock() + self._lease,
        )

    def renewed(self, held: Held, lease: timedelta) -> bool:
        """Whether the slot is still held here, for as long from now. It is called from another thread, too."""
        run = held.run
        place = Slot.of_program(run.program_id, run.marketplace_id)
        try:
            self._store.update(place, attr(Slot.lease_end).set(self._clock() + lease), expect=is_held(held.slot))
        except (ConditionFailed, NotFound):
            return False
        return True

    def end(self, held: Held, state: RunState, failure: str | None = None) -> None:
        now = self._clock()
        reason = None if failure is None else failure[:500]
        change = Update(
            held.run,
            attr(Run.state).set(state),
            attr(Run.requested).set(None),
            attr(Run.waiting_for).set(None),
            attr(Run.failure).set(reason),
            attr(Run.finished).set(now),
            attr(Run.total).set(held.run.total),
            expect=attr(Run.state) == RunState.RUNNING,
        )
        try:
            self._store.transact(change, Delete(held.slot, expect=is_held(held.slot)))
        except Cancelled as cancelled:
            if isinstance(cancelled.reasons[1], ConditionFailed | NotFound):
                _log.warning("a run is carried out elsewhere", extra={"system": "engagement"})
                return
            raise


def is_held(slot: Slot) -> FieldCondition:
    """That nobody else has taken a slot since."""
    return attr(Slot.owner) == slot.owner
