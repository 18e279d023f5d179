"""The records of runs, and the slot of each program: which process executes its run, and until when.

A run has a record of its progress, counts and errors. The process that executes it holds the program's slot, a lease
that is renewed meanwhile, so a program has one run at a time. If the holder dies, any process can resume the run once
the lease has expired; a run that is resumed repeatedly at the same position fails.
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
# The state of a run after a request to end it.
ENDED = {"stop": RunState.STOPPED, "cancel": RunState.CANCELLED}
# States in which a run can be resumed.
RESUMABLE = (RunState.STOPPED, RunState.PAUSED, RunState.FAILED)
_TAKEN_OVER = 5
_FORGOTTEN_AT_ONCE = 500

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Held:
    """A run, and the slot that lets this process execute it."""

    run: Run
    slot: Slot


class Ledger:
    """Starts and ends runs, and holds their slots."""

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
        """A new run, and the writes that start it; StateConflict if the program cannot run."""
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
        """Start a run; ``more`` is written with it. StateConflict if one is in progress."""
        held, operations = self.opening(program, trigger)
        self.open(program.program_id, program.marketplace_id, *operations, *more)
        return held

    def open(self, program_id: str, marketplace_id: str, *operations: Operation) -> None:
        """Write a new run; StateConflict if one is in progress."""
        try:
            self._store.transact(*operations)
        except Cancelled as cancelled:
            raise self.busy(cancelled, program_id, marketplace_id) from None

    def busy(self, cancelled: Cancelled, program_id: str, marketplace_id: str) -> Exception:
        """Why a run could not be started."""
        if not any(isinstance(reason, AlreadyExists) for reason in cancelled.reasons):
            return cancelled
        slot = self._store.get(Slot.of_program(program_id, marketplace_id))
        if slot is None:
            return StateConflict("another run has just ended; try again")
        if slot.lease_end <= self._clock():
            return StateConflict(f"run {slot.run_id} was interrupted; resume or cancel it", run_id=slot.run_id)
        return StateConflict(f"run {slot.run_id} is in progress; only one can be at a time", run_id=slot.run_id)

    def resume(self, run: Run, seen: Seen = UNSEEN) -> Held:
        """Resume a run that was stopped, paused or interrupted, has failed, or has failed customers.

        StateConflict for any other, and if the program is not enabled.
        """
        seen.require(run)
        program = self._store.get(Program.by_id(run.program_id, run.marketplace_id), consistent=True)
        if program is None:
            raise StateConflict(f"program {run.program_id} no longer exists")
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
            raise StateConflict(f"run {run.run_id} is completed, without failed customers")
        if run.state is not RunState.RUNNING:
            raise StateConflict(f"run {run.run_id} is {run.state}")
        found = self._store.get(Slot.of_program(run.program_id, run.marketplace_id))
        if found is None or found.run_id != run.run_id or found.lease_end > self._clock():
            raise StateConflict(f"run {run.run_id} is in progress")
        return self.take_over(found)

    def take_over(self, slot: Slot) -> Held:
        """Take over a run whose lease has expired; StateConflict if another process was faster."""
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
            # Whatever crashes processes, it must not crash all of them for ever.
            self.end(held, RunState.FAILED, f"it was interrupted {_TAKEN_OVER} times in a row at the same position")
            raise StateConflict(f"run {slot.run_id} was interrupted too often; check its record, then resume it")
        return held

    def free_slots(self) -> None:
        """Expire all leases at once, so that interrupted runs are resumed; only if no other process exists."""
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
        """Delete the record of a run that is not executed, readable or not; its candidates stay."""
        lookup, place = Run.by_id(program_id, marketplace_id, run_id), Slot.of_program(program_id, marketplace_id)
        run, slot = self._reader.one(lookup), self._reader.one(place)
        operations: list[Operation] = []
        if run is not None:
            # Not if it is resumed meanwhile; an unreadable run cannot be.
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
            # A slot that cannot be read is not held.
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
        # They are no longer needed; those that remain after a crash expire.
        failed = failures(self._reader, program_id, marketplace_id, run_id)
        while batch := list(islice(failed, _FORGOTTEN_AT_ONCE)):
            self._store.write_many(delete=batch)

    def _entry(self, run: Run, before: str | None, after: str) -> Operation:
        """The entry for starting a run, or for a request about it, in the audit of its program."""
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
        """Renew the slot; False if it is no longer held here. It is also called from another thread."""
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
                _log.warning("a run is executed by another process", extra={"system": "engagement"})
                return
            raise


def is_held(slot: Slot) -> FieldCondition:
    """The condition that the slot was not taken by others since."""
    return attr(Slot.owner) == slot.owner
