"""The use cases of the service desk. What cannot be read is left out of lists, and is changed by nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4, uuid5

from tablewright.runtime.errors import Clash, Missing, TooLarge
from tablewright.runtime.idempotency import under_key
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    ConditionFailed,
    KeyMismatch,
    LimitExceeded,
    NotFound,
    Outcome,
    TolerantPage,
    Update,
)
from tablewright.systems.servicedesk.model import FOLLOWING, Comment, Status, Ticket
from tablewright.systems.servicedesk.privacy import Masked, caller_id, mask
from tablewright.systems.unreadable_items import Notes

# Tickets that are created under an idempotency key have an id that follows from it.
_NAMESPACE = UUID("6f1c2c61-3b0f-5d5a-9d5e-6f0a2b7f3f11")
# Longer texts are looked through beside other requests: the longest can take more than a second.
_SHORT = 2_000


@dataclass(frozen=True, slots=True)
class Written:
    """A ticket as it was written, and what kinds of secrets were taken out of the text."""

    ticket: Ticket
    masked: tuple[str, ...] = ()


class ServiceDesk:
    """Tickets of callers."""

    def __init__(
        self, store: AsyncStore, secret: bytes, clock: Callable[[], float], notes: Notes | None = None
    ) -> None:
        self.notes = notes or Notes("servicedesk")
        self._store = store
        self._reader = AsyncTolerantReader(store, self.notes.add)
        self._secret = secret
        self._clock = clock

    async def create(self, caller: str, issue: str, *, agent: str, idempotency_key: str | None = None) -> Written:
        """Open a ticket. The same key of the same agent again gives the ticket that it gave before."""
        cleaned = await _cleaned(issue)
        ticket_id = uuid4() if idempotency_key is None else uuid5(_NAMESPACE, f"{agent}\x00{idempotency_key}")
        ticket = Ticket(ticket_id=ticket_id, caller_id=caller_id(caller, self._secret), issue_description=cleaned.text)
        try:
            return Written(await self._store.create(ticket), cleaned.kinds)
        except AlreadyExists:
            first = await self.get(ticket_id, consistent=True)
        if (first.caller_id, first.issue_description) != (ticket.caller_id, ticket.issue_description):
            raise KeyMismatch(f"the idempotency key {idempotency_key} was used before, for another ticket")
        return Written(first, cleaned.kinds)

    async def get(self, ticket_id: UUID, *, consistent: bool = False) -> Ticket:
        ticket = await self._store.get(Ticket.by_id(ticket_id=ticket_id), consistent=consistent)
        if ticket is None:
            raise Missing(f"ticket {ticket_id} is not there")
        return ticket

    async def add_comment(
        self, ticket_id: UUID, text: str, *, agent: str = "", idempotency_key: str | None = None
    ) -> Written:
        """Append a comment, to a ticket that is there. The same key of the same agent again appends nothing."""
        cleaned = await _cleaned(text)
        # An update would find out that a ticket cannot be read when it is done.
        await self.get(ticket_id, consistent=True)
        comment = Comment(comment_text=cleaned.text, added_at=datetime.fromtimestamp(self._clock(), UTC))
        lookup, added = Ticket.by_id(ticket_id=ticket_id), {"comments": [comment]}

        async def work() -> Outcome:
            return Outcome(None, Update(lookup, append=added))

        try:
            if idempotency_key is None:
                return Written(await self._store.update(lookup, append=added), cleaned.kinds)
            request = {"ticket_id": ticket_id, "comment_text": cleaned.text}
            await under_key(self._store, "comment", agent, idempotency_key, request, work)
        except NotFound:
            raise Missing(f"ticket {ticket_id} is not there") from None
        except LimitExceeded:
            raise TooLarge(
                f"ticket {ticket_id} is full: with this comment it would have more than 400 KB; "
                "open another ticket and refer to this one"
            ) from None
        return Written(await self.get(ticket_id, consistent=True), cleaned.kinds)

    async def of_caller(
        self, caller: str, *, open_only: bool = False, limit: int = 10, cursor: str | None = None
    ) -> TolerantPage[Ticket]:
        """The tickets of a caller, newest first."""
        pattern = Ticket.open_of_caller if open_only else Ticket.of_caller
        return await self._reader.page(pattern(caller_id=caller_id(caller, self._secret)), limit=limit, cursor=cursor)

    async def change_status(self, ticket_id: UUID, status: Status) -> Ticket:
        """Move a ticket on, if its status allows that; of two who do the same at once, one wins."""
        ticket = await self.get(ticket_id, consistent=True)
        if status not in FOLLOWING[ticket.status]:
            allowed = " or ".join(sorted(FOLLOWING[ticket.status]))
            raise Clash(f"ticket {ticket_id} is {ticket.status}; it can become {allowed}, not {status}")
        try:
            return await self._store.update(
                Ticket.by_id(ticket_id=ticket_id), status=status, expect={"status": ticket.status}
            )
        except ConditionFailed:
            raise Clash(f"somebody else changed the status of ticket {ticket_id}; look at it again") from None
        except NotFound:
            raise Missing(f"ticket {ticket_id} is not there") from None


async def _cleaned(text: str) -> Masked:
    return mask(text) if len(text) <= _SHORT else await asyncio.to_thread(mask, text)
