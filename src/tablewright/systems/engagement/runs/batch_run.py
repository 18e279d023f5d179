"""Batch runs: all customers of a program, a chunk at a time, one run of a program at a time.

The process that executes a run holds the program's slot (``run_records``). Candidates are written in transactions
together with the run's record, a batch of customers at a time (``customer_batches``):

    slot: still held? ─┐
    record: checkpoint ├─ one transaction ─▶ a customer is before the checkpoint if and only if its candidate is written
    candidates, entries┘

So a run that is stopped, killed or interrupted continues after its checkpoint, and writes the same candidates as an
uninterrupted one, each of them once. A process that lost the slot stops writing. A run uses the version of the program
that it was started with.

Events change candidates meanwhile. If a candidate has changed since it was read, the customer is read again after a
pause, and written alone; if other requests keep changing it, that is an error of the customer, and the run continues.

While a model is unavailable the run waits (``outages``), and is paused once it has waited for too long. Failed
customers are recorded (``failed_customers``), and retried first when the run is resumed, whatever it was ended by. A
run fails if a larger share of its customers fails than the program allows.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

from tablewright.model import FieldChange, attr
from tablewright.runtime import Invalid
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    ConditionFailed,
    Conflict,
    Delete,
    NotFound,
    Operation,
    Put,
    Update,
    VersionConflict,
)
from tablewright.systems.engagement.configuration import Connector
from tablewright.systems.engagement.model import (
    Candidate,
    Checkpoint,
    FailedCustomer,
    ProgramVersion,
    Run,
    RunState,
    Slot,
)
from tablewright.systems.engagement.runs.customer_batches import (
    Planned,
    batches_of,
    contested,
    distinct,
    reason_of,
    record_after_retry,
    record_behind,
)
from tablewright.systems.engagement.runs.failed_customers import Place, among, failed_before, failed_customer
from tablewright.systems.engagement.runs.heartbeat import kept
from tablewright.systems.engagement.runs.run_records import ENDED, LEASE, Held, Ledger, is_held
from tablewright.systems.engagement.scoring.outages import Patience, Paused
from tablewright.systems.engagement.scoring.pipeline import Assessment, Pipeline, Plan
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.sources.connectors import Source, Sources
from tablewright.systems.engagement.sources.row_chunks import Halted, Unreadable
from tablewright.systems.unreadable_log import describe

CHUNK = 500
# Seconds that a run waits for a model before it is paused.
OUTAGE_SECONDS = 300.0
# Records of customers who no longer exist, in a transaction beside the slot and the run.
_MAX_GONE = 90
# Attempts to write a customer alone, and the seconds between them: up to 0.02, 0.04, ... and at most the longest.
_ATTEMPTS = 10
_FIRST_WAIT = 0.02
_MAX_WAIT = 0.5
_CONTESTED = "other requests keep changing the candidate"
_LOOK_EVERY = 1.0
# The condition of every write of a run on its record.
_GOES_ON = attr(Run.state) == RunState.RUNNING, attr(Run.requested).is_(None)

ReportRun = Callable[[Run], None]

_log = logging.getLogger(__name__)


class _Ended(Exception):
    """The run does not continue here."""


class _Asked(_Ended):
    """A request has asked to stop or cancel it."""


class _Lost(_Ended):
    """Another process has the slot."""


class _Leaving(_Ended):
    """This process is stopping."""


class _TooManyFailed(Exception):
    """More customers have failed than the program allows."""


@dataclass(frozen=True, slots=True)
class _Work:
    """The state of a run while it is executed here."""

    held: Held
    plan: Plan
    patience: Patience
    leaving: Event
    report: ReportRun

    @property
    def run(self) -> Run:
        return self.held.run

    def leave_if_asked(self) -> None:
        if self.leaving.is_set():
            raise _Leaving


class Runs(Ledger):
    """Starts, executes and ends runs."""

    def __init__(
        self,
        pipeline: Pipeline,
        sources: Sources,
        clock: Callable[[], datetime],
        *,
        chunk: int = CHUNK,
        lease: timedelta = LEASE,
        outage_seconds: float = OUTAGE_SECONDS,
        entropy: random.Random | None = None,
    ) -> None:
        super().__init__(pipeline.store, clock, pipeline.unreadable_log, lease=lease)
        self._pipeline = pipeline
        self._sources = sources
        self._chunk = chunk
        self._outage_seconds = outage_seconds
        self._random = entropy or random.Random()

    def execute(self, held: Held, *, leaving: Event | None = None, report: ReportRun = lambda run: None) -> Run:
        """Execute a run until it ends in any way; returns its record."""
        leaving = leaving or Event()
        try:
            with kept(lambda: self.renewed(held, self._lease), self._lease.total_seconds() / 3):
                self._work(held, leaving, report)
            self.end(held, RunState.COMPLETED)
        except (_Asked, _Leaving, Halted):
            wish = self.get(held.run).requested
            if wish is not None:
                self.end(held, ENDED[wish])
            elif leaving.is_set():
                # Still running, but without an owner: the next process continues at once.
                self.renewed(held, timedelta(0))
        except _Lost:
            _log.warning("a run is executed by another process", extra={"system": "engagement"})
        except Paused as reason:
            _log.warning("a run is paused", extra={"system": "engagement"})
            self.end(held, RunState.PAUSED, str(reason))
        except (Unreadable, Invalid, _TooManyFailed) as error:
            self.end(held, RunState.FAILED, str(error))
        except Exception as error:
            _log.error("a run failed", exc_info=error, extra={"system": "engagement"})
            self.end(held, RunState.FAILED, f"internal error: {type(error).__name__}")
        return self.get(held.run)

    def _work(self, held: Held, leaving: Event, report: ReportRun) -> None:
        run = held.run
        version = self._reader.one(
            ProgramVersion.by_number(
                program_id=run.program_id, marketplace_id=run.marketplace_id, number=run.program_version
            ),
            consistent=True,
        )
        if not isinstance(version, ProgramVersion):
            state = "does not exist" if version is None else f"cannot be read ({version.reason})"
            raise Unreadable(
                f"the version of the program that it started with {state}: put the program again, and start a new run"
            )
        plan = Plan(run.program_id, run.marketplace_id, version.configuration)
        halted = self._halted(held, leaving)
        patience = Patience(self._outage_seconds, halted, lambda reason: self._waits(held, reason))
        work = _Work(held, plan, patience, leaving, report)
        self._retry(work)
        connectors = plan.configuration.data_connectors
        for index in range(run.checkpoint.connector, len(connectors)):
            after = run.checkpoint if index == run.checkpoint.connector else Checkpoint(connector=index)
            with self._sources.open(connectors[index], halted) as source:
                if run.total is None:
                    run.total = self._total(connectors, source, halted)
                report(run)
                for chunk in source.prospects(run.program_id, after, self._chunk):
                    work.leave_if_asked()
                    # Rows without a customer id come first, so by now all of them were read.
                    if chunk:
                        self._count_nameless(work, index, source)
                    self._write(work, index, self._assess(work, distinct(chunk)))
                    if run.total is not None:
                        # Rows without a customer id are in the total, but are not customers.
                        _check_share(run, plan, run.total - run.counts.without_id)
                self._count_nameless(work, index, source)
        _check_share(run, plan, run.counts.read)

    def _assess(self, work: _Work, prospects: Sequence[Prospect]) -> list[Assessment]:
        return self._pipeline.assess(work.plan, prospects, halted=work.patience.halted, patience=work.patience)

    def _retry(self, work: _Work) -> None:
        """Retry the customers who failed before the run was resumed."""
        connectors = work.plan.configuration.data_connectors
        for index, failed in failed_before(self._reader, work.run):
            found: set[Place] = set()
            with self._sources.open(connectors[index], work.patience.halted) as source:
                rows = source.prospects(work.run.program_id, Checkpoint(connector=index), self._chunk)
                for prospects in among(rows, failed, self._chunk):
                    work.leave_if_asked()
                    self._write(work, index, self._assess(work, prospects), failed)
                    found.update(each.place for each in prospects)
            gone = [each for place, each in failed.items() if place not in found]
            for start in range(0, len(gone), _MAX_GONE):
                forgotten = gone[start : start + _MAX_GONE]
                changes = record_after_retry(work.run, [], forgotten, self._clock())
                self._record(work, changes, [Delete(each) for each in forgotten])

    def _count_nameless(self, work: _Work, connector: int, source: Source) -> None:
        """Count the rows of a source without a customer id, once: afterwards the checkpoint is past them."""
        if source.without_id:
            counts = work.run.counts.model_copy(update={"without_id": work.run.counts.without_id + source.without_id})
            checkpoint = Checkpoint(connector=connector, customer_id="")
            source.without_id = 0
            changes = [
                attr(Run.counts).set(counts),
                attr(Run.checkpoint).set(checkpoint),
                attr(Run.updated).set(self._clock()),
            ]
            self._record(work, changes, [])

    def _record(self, work: _Work, changes: Sequence[FieldChange], operations: Sequence[Operation]) -> None:
        """Change the record of a run, apart from the writes of customers."""
        for attempt in range(_ATTEMPTS):
            try:
                self._commit(work.held, changes, operations)
                return
            except Cancelled as cancelled:
                _raise_if_ended(cancelled)
                work.leaving.wait(self._random.uniform(0, _FIRST_WAIT * 2**attempt))
        raise Conflict("other requests keep changing the record of the run")

    def _waits(self, held: Held, reason: str) -> None:
        """Record what a run is waiting for."""
        if held.run.waiting_for == reason:
            return
        try:
            self._store.update(
                held.run,
                attr(Run.waiting_for).set(reason[:500]),
                attr(Run.updated).set(self._clock()),
                expect=_GOES_ON,
            )
        except (ConditionFailed, NotFound):
            raise _Asked from None

    def _total(self, connectors: Sequence[Connector], opened: Source, halted: Callable[[], bool]) -> int | None:
        """The total number of customers, if all connectors know it; one of them is open."""
        total = 0
        for connector in connectors:
            if connector is opened.connector:
                number = opened.count()
            else:
                with self._sources.open(connector, halted) as source:
                    number = source.count()
            if number is None:
                return None
            total += number
        return total

    def _halted(self, held: Held, leaving: Event) -> Callable[[], bool]:
        """Whether a run is to stop while it waits for its source or a model, and writes nothing that would fail.

        It is called often, also by another thread, and reads the record every second or so.
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
                # Unknown; the record is read again later.
                _log.warning("the record of a run could not be read", exc_info=error, extra={"system": "engagement"})
                return False
            return found.requested is not None or found.state is not RunState.RUNNING

        return halted

    def _write(
        self,
        work: _Work,
        connector: int,
        assessments: Sequence[Assessment],
        former: Mapping[Place, FailedCustomer] | None = None,
    ) -> None:
        """Write the results of some customers with the checkpoint; ``former`` has their records if they had failed."""
        rest = list(assessments)
        # How many are written next, if not all of them.
        sizes: list[int] = []
        alone = 0
        while rest:
            size = sizes.pop(0) if sizes else len(rest)
            for batch in batches_of(self._planned(work, connector, rest[:size], former)):
                work.leave_if_asked()
                try:
                    changes = self._changes(work.run, connector, batch, former)
                    self._commit(work.held, changes, [operation for each in batch for operation in each.operations])
                except Cancelled as cancelled:
                    _raise_if_ended(cancelled)
                    # A candidate has changed since it was read: write those before it, then it alone, all read again.
                    before = contested(cancelled, batch)
                    sizes = [before, 1] if before else [1]
                    alone += len(batch) == 1
                    if alone == _ATTEMPTS:
                        if batch[0].is_failed:
                            raise Conflict("other requests keep changing the record of the run") from None
                        rest[0].error, alone = _CONTESTED, 0
                    work.leaving.wait(self._random.uniform(0, min(_MAX_WAIT, _FIRST_WAIT * 2**alone)))
                    break
                alone = 0
                rest = rest[len(batch) :]
                work.report(work.run)

    def _planned(
        self,
        work: _Work,
        connector: int,
        assessments: Sequence[Assessment],
        former: Mapping[Place, FailedCustomer] | None,
    ) -> list[Planned]:
        run, plan = work.run, work.plan
        good = [each for each in assessments if each.error is None]
        existing = iter(self._pipeline.existing(plan, [each.prospect for each in good]))
        planned: list[Planned] = []
        for each in assessments:
            found = next(existing) if each.error is None else None
            if found is not None and not isinstance(found, Candidate):
                each.error, found = describe(found), None
            if each.error is not None:
                expires = self._clock() + plan.lifetime
                failed = failed_customer(run, connector, each.prospect, reason_of(each), expires)
                planned.append(Planned(each, [Put(failed)]))
                continue
            operations, candidate = self._pipeline.writes(plan, each, found, run_id=run.run_id)
            if former is not None:
                operations.append(Delete(former[each.prospect.place]))
            planned.append(Planned(each, operations, candidate.rejected))
        return planned

    def _changes(
        self,
        run: Run,
        connector: int,
        batch: Sequence[Planned],
        former: Mapping[Place, FailedCustomer] | None,
    ) -> list[FieldChange]:
        if former is None:
            return record_behind(run, connector, batch, self._clock())
        tried = [former[each.assessment.prospect.place] for each in batch]
        return record_after_retry(run, batch, tried, self._clock())

    def _commit(self, held: Held, changes: Sequence[FieldChange], operations: Sequence[Operation]) -> None:
        run, slot, until = held.run, held.slot, self._clock() + self._lease
        self._store.transact(
            Update(slot, attr(Slot.lease_end).set(until), attr(Slot.taken_over).set(0), expect=is_held(slot)),
            Update(run, *changes, expect=_GOES_ON),
            *operations,
        )


def _check_share(run: Run, plan: Plan, customers: int) -> None:
    """Raise _TooManyFailed if a larger share of the customers has failed than the program allows."""
    share = plan.configuration.max_failed_share
    failed = run.counts.failed
    if failed > share * customers:
        raise _TooManyFailed(
            f"{failed} of {customers} customers failed, more than maxFailedShare ({share:f}) allows; "
            "see errors, and resume the run to retry them"
        )


def _raise_if_ended(cancelled: Cancelled) -> None:
    """Raise what a cancelled transaction means for the run; nothing if it concerns only candidates."""
    slot, record, *_ = cancelled.reasons
    if isinstance(slot, ConditionFailed | NotFound):
        raise _Lost from None
    if isinstance(record, ConditionFailed | NotFound):
        raise _Asked from None
    passing = (VersionConflict, AlreadyExists, Conflict, NotFound, ConditionFailed)
    wrong = [reason for reason in cancelled.reasons if reason is not None and not isinstance(reason, passing)]
    if wrong:
        raise wrong[0]
