"""The use cases of engagement that take a request or two; longer ones are in ``platform``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tablewright.model import Entity, Lookup, attr
from tablewright.runtime import UNSEEN, ResourceNotFound, Seen, StateConflict
from tablewright.runtime.audit import AuditPage
from tablewright.store import (
    AsyncStore,
    Cancelled,
    Conflict,
    Delete,
    NotFound,
    Operation,
    TolerantPage,
    Unreadable,
    Update,
    VersionConflict,
)
from tablewright.systems.engagement.audit_names import candidate_thing, program_thing
from tablewright.systems.engagement.consent.customer_preferences import CustomerPreferences, is_allowed, is_wanted
from tablewright.systems.engagement.model import (
    MAX_REJECTIONS,
    Candidate,
    ChannelEntry,
    Delivery,
    Preferences,
    Program,
    Rejection,
    Run,
    Score,
    Subject,
)
from tablewright.systems.engagement.program_service import Check, Programs
from tablewright.systems.engagement.scoring.filter_chain import MANUAL
from tablewright.systems.engagement.scoring.pipeline import entry_of
from tablewright.systems.unreadable_log import UnreadableLog

_ATTEMPTS = 6
# Pages that are read to fill one, if many customers have opted out.
_MAX_PAGES_READ = 10


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate, the preferences of its customer, and the channels that these allow."""

    candidate: Candidate
    preferences: Preferences | None
    channels: list[str]

    @property
    def parts(self) -> list[Entity]:
        """The fields that are shown in addition to those of the candidate."""
        return [] if self.preferences is None else [self.preferences]


class Engagement(Programs):
    """Programs, candidates, scores, preferences, and the records of runs and deliveries."""

    def __init__(
        self, store: AsyncStore, clock: Callable[[], float], check: Check, unreadable_log: UnreadableLog | None = None
    ) -> None:
        super().__init__(store, clock, check, unreadable_log)
        self.preferences = CustomerPreferences(store, self._reader, self.now)

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

        Customers who have opted out by now are left out, and so are those whose preferences cannot be read.
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
        """Candidates of a program that were created on a day, in order of creation."""
        selection = Candidate.of_day(program_id=program_id, metadata__day=day)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def shown(self, found: Sequence[Candidate]) -> list[ShownCandidate]:
        """Candidates with current preferences of their customers; no attributes and context for those who opted out."""
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
        """Reject a candidate until it expires; it is removed from the lists of all channels."""
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
        """A score in the cache that has not expired."""
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
        """Record a request to deliver, before it is carried out: each delivery has its own record."""
        thing = program_thing(program.program_id, program.marketplace_id)
        await self._store.transact(self._audit.changed(thing, {}, **wanted))

    async def audit(self, thing: str, lookup: Lookup[Any], *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a thing, newest first; also of a deleted one."""
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
        """Deliveries of a program on a day, in the order in which they were sent."""
        selection = Delivery.of_day(program_id, day)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def deliveries_to(
        self, customer_id: str, program_id: str, marketplace_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> TolerantPage[Delivery]:
        """Deliveries of a program to a customer."""
        selection = Delivery.of_customer(customer_id, program_id, marketplace_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor)


def _reachable(candidate: Candidate, wish: Preferences | Unreadable | None) -> list[str]:
    return [channel for channel in candidate.channels if is_wanted(wish, candidate.program_id, channel)]
