"""The use cases of engagement that are a request or two; what takes longer is in ``platform``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from tablewright.model import Entity, Lookup, attr
from tablewright.runtime import UNSEEN, PreconditionFailed, ResourceNotFound, Seen, StateConflict
from tablewright.runtime.audit import Audit, AuditPage
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Conflict,
    Create,
    Delete,
    NotFound,
    Operation,
    Put,
    TolerantPage,
    Unreadable,
    Update,
    VersionConflict,
)
from tablewright.systems.engagement.audit_names import candidate_thing, program_thing
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.consent.customer_preferences import CustomerPreferences, is_allowed, is_wanted
from tablewright.systems.engagement.model import (
    MAX_REJECTIONS,
    Candidate,
    ChannelEntry,
    Delivery,
    Preferences,
    Program,
    ProgramVersion,
    Rejection,
    Run,
    Schedule,
    ScheduleKind,
    Score,
    Subject,
)
from tablewright.systems.engagement.runs.cron_schedule import is_schedule, next_due
from tablewright.systems.engagement.scoring.filter_chain import MANUAL
from tablewright.systems.engagement.scoring.pipeline import entry_of
from tablewright.systems.unreadable_log import UnreadableLog

_ATTEMPTS = 6
_PAGE = 100
# Pages that are read to fill one, where many have opted out.
_MAX_PAGES_READ = 10
# Programs of a marketplace that are looked at for an event; with more of them, it says which one it is about.
MAX_PROGRAMS = 1_000

# Raises Invalid for what cannot work here: connectors, models, filters, channels.
Check = Callable[[Configuration], None]


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate, what its customer wants, and the channels that are left by that."""

    candidate: Candidate
    preferences: Preferences | None
    channels: list[str]

    @property
    def parts(self) -> list[Entity]:
        """What is shown beside the candidate itself."""
        return [] if self.preferences is None else [self.preferences]


class Engagement:
    """Programs, candidates, scores, preferences, and what became of runs and deliveries."""

    def __init__(
        self, store: AsyncStore, clock: Callable[[], float], check: Check, unreadable_log: UnreadableLog | None = None
    ) -> None:
        self._store = store
        self._reader = AsyncTolerantReader(store, (unreadable_log or UnreadableLog("engagement")).add)
        self._clock = clock
        self._check = check
        self.preferences = CustomerPreferences(store, self._reader, self.now)
        self._audit = Audit("engagement", clock)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    # -- programs -----------------------------------------------------------------------------------------------

    async def put_program(
        self,
        program_id: str,
        marketplace_id: str,
        configuration: Configuration,
        *,
        expected: int | None = None,
        by: str,
        seen: Seen = UNSEEN,
    ) -> Program:
        """A program as it is from now on; refused unless ``expected`` is its version, where that is given."""
        # In a thread, as a query is read by a database.
        await asyncio.to_thread(self._check, configuration)
        if seen.tags is None:
            return await self._put(program_id, marketplace_id, configuration, expected=expected, by=by)
        try:
            program = await self.program(program_id, marketplace_id, consistent=True)
        except ResourceNotFound as missing:
            raise PreconditionFailed(str(missing)) from None
        seen.require(program)
        if expected not in (None, program.version):
            raise _other_version(program_id, program.version, expected)
        try:
            return await self._put(program_id, marketplace_id, configuration, expected=program.version, by=by)
        except StateConflict as conflict:
            raise seen.outrun(str(conflict)) from None

    async def _put(
        self, program_id: str, marketplace_id: str, configuration: Configuration, *, expected: int | None, by: str
    ) -> Program:
        place = Program.by_id(program_id, marketplace_id)
        # Of what is there, no more than its version: what cannot be read is put again like anything else.
        version = await self._reader.version(place)
        if expected not in (None, version):
            raise _other_version(program_id, version, expected)
        values = {name: getattr(configuration, name) for name in Configuration.model_fields}
        program = Program(program_id=program_id, marketplace_id=marketplace_id, version=version, **values)
        record = ProgramVersion(
            program_id=program_id,
            marketplace_id=marketplace_id,
            number=version + 1,
            configuration=configuration,
            changed_by=by,
            at=self.now(),
        )
        found = await self._reader.one(place, consistent=True)
        before: Program | dict[str, Any] = found if isinstance(found, Program) else {}
        entry = self._audit.changed(program_thing(program_id, marketplace_id), before, **values)
        # One without a version is new, or was written by another program, whose item is replaced.
        operations: list[Operation] = [Put(program), Create(record) if version else Put(record), entry]
        operations += await self._scheduled(program)
        try:
            await self._store.transact(*operations)
        except Cancelled as cancelled:
            passing = (AlreadyExists, VersionConflict, Conflict)
            if any(isinstance(reason, passing) for reason in cancelled.reasons):
                raise StateConflict(f"program {program_id} has just been changed; read it again") from None
            raise
        return await self.program(program_id, marketplace_id, consistent=True)

    async def _scheduled(self, program: Program) -> list[Operation]:
        """The writes that make the schedules what a program says; one that stays as it is keeps its next time."""
        operations: list[Operation] = []
        wanted = {ScheduleKind.BATCH: program.batch_schedule, ScheduleKind.DELIVERY: program.delivery_schedule}
        for kind, cron in wanted.items():
            lookup = Schedule.of_program(program.program_id, program.marketplace_id, kind)
            found = await self._reader.one(lookup)
            if cron is None or not is_schedule(cron, program.time_zone):
                if found is not None:
                    operations.append(Delete(lookup))
            elif not isinstance(found, Schedule) or (found.cron, found.time_zone) != (cron, program.time_zone):
                schedule = Schedule(
                    program_id=program.program_id,
                    marketplace_id=program.marketplace_id,
                    kind=kind,
                    cron=cron,
                    time_zone=program.time_zone,
                    due=next_due(cron, program.time_zone, self.now()),
                )
                operations.append(Put(schedule))
        return operations

    async def set_enabled(
        self, program_id: str, marketplace_id: str, enabled: bool, *, by: str, seen: Seen = UNSEEN
    ) -> Program:
        """Enable a program, if it can work here; or disable it, whatever has become of what it needs."""
        for _ in range(_ATTEMPTS):
            program = await self.program(program_id, marketplace_id, consistent=True)
            seen.require(program)
            if program.enabled is enabled:
                return program
            if enabled:
                await asyncio.to_thread(self._check, program.configured(enabled=True))
            values = {name: getattr(program, name) for name in Configuration.model_fields} | {"enabled": enabled}
            try:
                # As it is: what was stored once may not be put any more.
                changed = Configuration.model_construct(**values)
                return await self._put(program_id, marketplace_id, changed, expected=program.version, by=by)
            except StateConflict:
                # Somebody has just put it; it is enabled, or disabled, nevertheless.
                continue
        raise StateConflict(f"other requests keep changing program {program_id}; try again")

    async def program(self, program_id: str, marketplace_id: str, *, consistent: bool = False) -> Program:
        found = await self._store.get(Program.by_id(program_id, marketplace_id), consistent=consistent)
        if found is None:
            raise ResourceNotFound(f"there is no program {program_id} in marketplace {marketplace_id}")
        return found

    async def programs(
        self, marketplace_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> TolerantPage[Program]:
        """The programs of a marketplace, by one query."""
        return await self._reader.page(Program.of_marketplace(marketplace_id), limit=limit, cursor=cursor)

    async def reacting(self, marketplace_id: str) -> TolerantPage[Program]:
        """Every program of a marketplace that reacts to events; StateConflict if there are too many to look at."""
        found: list[Program] = []
        unreadable: list[Unreadable] = []
        seen, cursor = 0, None
        while True:
            page = await self.programs(marketplace_id, limit=_PAGE, cursor=cursor)
            found += [program for program in page.items if program.enabled and program.reactive_enabled]
            unreadable += page.unreadable
            seen, cursor = seen + len(page.items) + len(page.unreadable), page.cursor
            if seen > MAX_PROGRAMS:
                raise StateConflict(
                    f"marketplace {marketplace_id} has more than {MAX_PROGRAMS} programs: "
                    "name one of them with programId"
                )
            if cursor is None:
                return TolerantPage(found, unreadable, None)

    async def versions(
        self, program_id: str, marketplace_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[ProgramVersion]:
        """The versions of a program, latest first."""
        selection = ProgramVersion.of_program(program_id, marketplace_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    # -- candidates ---------------------------------------------------------------------------------------------

    def candidate_lookup(
        self, customer_id: str, program_id: str, marketplace_id: str, subject: Subject
    ) -> Lookup[Candidate]:
        return Candidate.by_subject(
            customer_id=customer_id,
            program_id=program_id,
            marketplace_id=marketplace_id,
            subject__type=subject.type,
            subject__id=subject.id,
        )

    async def candidate(
        self, customer_id: str, program_id: str, marketplace_id: str, subject: Subject, *, consistent: bool = False
    ) -> Candidate:
        lookup = self.candidate_lookup(customer_id, program_id, marketplace_id, subject)
        found = await self._store.get(lookup, consistent=consistent)
        if found is None:
            raise ResourceNotFound("there is no such candidate, or it has expired")
        return found

    async def top(
        self,
        program_id: str,
        channel_id: str,
        *,
        marketplace_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TolerantPage[ChannelEntry]:
        """Candidates of a program and channel, best score first, of one marketplace or of all.

        Customers who have opted out are left out, whenever they did, and so are those whose preferences cannot be read.
        """
        if marketplace_id is None:
            selection = ChannelEntry.top(program_id, channel_id)
        else:
            selection = ChannelEntry.top_of_marketplace(program_id, marketplace_id, channel_id)
        found: list[ChannelEntry] = []
        unreadable: list[Unreadable] = []
        for _ in range(_MAX_PAGES_READ):
            page = await self._reader.page(selection, limit=limit - len(found), cursor=cursor)
            cursor = page.cursor
            wishes = await self.preferences.of_each(page.items)
            unreadable += [*page.unreadable, *(each for each in wishes if isinstance(each, Unreadable))]
            found += [
                entry
                for entry, wish in zip(page.items, wishes, strict=True)
                if is_wanted(wish, entry.program_id, entry.channel_id)
            ]
            if cursor is None or len(found) == limit:
                break
        return TolerantPage(found, unreadable, cursor)

    async def of_day(
        self, program_id: str, day: date, *, limit: int = 100, cursor: str | None = None
    ) -> TolerantPage[Candidate]:
        """Candidates of a program that were made on a day, in that order."""
        selection = Candidate.of_day(program_id=program_id, metadata__day=day)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def shown(self, found: Sequence[Candidate]) -> list[ShownCandidate]:
        """Candidates with what their customers want by now; of one who has opted out, no attributes and no context."""
        wishes = await self.preferences.of_each(found)
        return [
            ShownCandidate(
                each
                if is_allowed(wish, each.program_id)
                else each.model_copy(update={"attributes": {}, "context": []}),
                wish if isinstance(wish, Preferences) else None,
                _reachable(each, wish),
            )
            for each, wish in zip(found, wishes, strict=True)
        ]

    async def reject(
        self,
        customer_id: str,
        program_id: str,
        marketplace_id: str,
        subject: Subject,
        *,
        reason: str,
        seen: Seen = UNSEEN,
    ) -> Candidate:
        """Leave a candidate out by hand, until it expires; it leaves every list of a channel at once."""
        for _ in range(_ATTEMPTS):
            found = await self.candidate(customer_id, program_id, marketplace_id, subject, consistent=True)
            seen.require(found)
            rejection = Rejection(reason=reason, filter=MANUAL, at=self.now())
            history = [*found.rejection_history, rejection][-MAX_REJECTIONS:]
            entries = [Delete(entry_of(found, channel)) for channel in found.channels]
            change = Update(
                found,
                attr(Candidate.rejected).set(True),
                attr(Candidate.channels).set([]),
                attr(Candidate.rejection_history).set(history),
            )
            thing = candidate_thing(customer_id, program_id, marketplace_id, subject)
            entry = self._audit.changed(thing, {"rejected": found.rejected}, rejected=True, reason=reason)
            if await self._done(change, *entries, entry):
                return await self.candidate(customer_id, program_id, marketplace_id, subject, consistent=True)
        raise StateConflict("other requests keep changing this candidate; try again")

    async def delete(
        self, customer_id: str, program_id: str, marketplace_id: str, subject: Subject, seen: Seen = UNSEEN
    ) -> None:
        for _ in range(_ATTEMPTS):
            try:
                found = await self.candidate(customer_id, program_id, marketplace_id, subject, consistent=True)
            except Unreadable:
                return await self._delete_unread(customer_id, program_id, marketplace_id, subject)
            seen.require(found)
            entries = [Delete(entry_of(found, channel)) for channel in found.channels]
            thing = candidate_thing(customer_id, program_id, marketplace_id, subject)
            if await self._done(Delete(found), *entries, self._audit.deleted(thing, found)):
                return None
        raise StateConflict("other requests keep changing this candidate; try again")

    async def _delete_unread(self, customer_id: str, program_id: str, marketplace_id: str, subject: Subject) -> None:
        """Delete a candidate that cannot be read, and its entry for each channel that the program has now."""
        place = {
            "customer_id": customer_id,
            "program_id": program_id,
            "marketplace_id": marketplace_id,
            "subject__type": subject.type,
            "subject__id": subject.id,
        }
        program = await self._reader.one(Program.by_id(program_id, marketplace_id))
        channels = program.channels if isinstance(program, Program) else []
        entries = [ChannelEntry.by_channel(**place, channel_id=each.channel_id) for each in channels]
        thing = candidate_thing(customer_id, program_id, marketplace_id, subject)
        entry = self._audit.changed(thing, {"unreadable": True}, unreadable=None)
        await self._store.transact(Delete(Candidate.by_subject(**place)), *map(Delete, entries), entry)

    async def _done(self, *operations: Operation) -> bool:
        """Whether writes were made; False if the candidate has changed since it was read."""
        try:
            await self._store.transact(*operations)
        except Cancelled as cancelled:
            if isinstance(cancelled.reasons[0], VersionConflict | Conflict | NotFound):
                return False
            raise
        return True

    # -- scores ---------------------------------------------------------------------------------

    async def score(self, customer_id: str, subject_id: str, model_id: str) -> Score:
        """A score in the cache; one that has expired is none."""
        lookup = Score.by_model(customer_id, subject_id, model_id)
        found = await self._store.get(lookup)
        if found is None:
            raise ResourceNotFound(f"the cache has no score of {model_id} for this customer and subject")
        return found

    async def scores(self, customer_id: str, subject_id: str) -> TolerantPage[Score]:
        """All scores of a customer and subject that the cache has."""
        return await self._reader.all(Score.of_subject(customer_id, subject_id))

    # -- audit --------------------------------------------------------------------------------------------------

    async def record(self, program: Program, **wanted: Any) -> None:
        """Record what somebody wants of a program, before it is done: each delivery is a record of its own."""
        thing = program_thing(program.program_id, program.marketplace_id)
        await self._store.transact(self._audit.changed(thing, {}, **wanted))

    async def audit(self, thing: str, lookup: Lookup[Any], *, limit: int, cursor: str | None) -> AuditPage:
        """Who changed what of a thing, newest first; also of one that was deleted."""
        there = await self._reader.one(lookup, consistent=True) is not None
        return await self._audit.page(self._store, thing, [] if there else None, limit=limit, cursor=cursor)

    # -- runs and deliveries ------------------------------------------------------------------------------------

    async def run(self, program_id: str, marketplace_id: str, run_id: str) -> Run:
        found = await self._store.get(Run.by_id(program_id, marketplace_id, run_id))
        if found is None:
            raise ResourceNotFound(f"there is no run {run_id} of program {program_id}")
        return found

    async def runs(
        self, program_id: str, marketplace_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[Run]:
        """The runs of a program, latest first."""
        selection = Run.of_program(program_id, marketplace_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def deliveries(
        self, program_id: str, day: date, *, limit: int = 100, cursor: str | None = None
    ) -> TolerantPage[Delivery]:
        """What a program has sent on a day, in that order."""
        selection = Delivery.of_day(program_id, day)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def deliveries_to(
        self, customer_id: str, program_id: str, marketplace_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> TolerantPage[Delivery]:
        """What a program has sent to a customer."""
        selection = Delivery.of_customer(customer_id, program_id, marketplace_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor)


def _reachable(candidate: Candidate, wish: Preferences | Unreadable | None) -> list[str]:
    return [channel for channel in candidate.channels if is_wanted(wish, candidate.program_id, channel)]


def _other_version(program_id: str, version: int, expected: int | None) -> StateConflict:
    return StateConflict(f"program {program_id} is at version {version}, not {expected}; read it again")
