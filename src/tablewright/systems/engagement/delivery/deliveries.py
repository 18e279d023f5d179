"""Deliveries: candidates through the channels of a program, best first, each once for each channel.

    claim ──▶ adapter ──▶ sent, or refused permanently

The claim is a record, made in one transaction with the customer's contacts and the channel's quota: of any number of
concurrent passes one sends, and no limit is exceeded. A channel that is unavailable releases its claim and is left for
the next pass. A claim whose owner died expires, and is taken over; if the owner had sent it already, the adapter's own
record or the receiver recognizes the delivery's id, which stays the same.

Checked again before something is sent: that the candidate still exists, the customer's preferences, quiet hours, and
how often the customer was reached. What has to wait stays for the next pass.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from hashlib import sha256
from threading import Event
from typing import Any
from uuid import uuid4

from tablewright.model import Lookup
from tablewright.runtime import StateConflict
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    ConditionFailed,
    Conflict,
    Create,
    Delete,
    NotFound,
    Operation,
    Put,
    Store,
    TolerantReader,
    Unavailable,
    Unreadable,
    Update,
    VersionConflict,
)
from tablewright.systems.engagement.configuration import Channel, Configuration
from tablewright.systems.engagement.delivery.channels import SENT_WITHIN, Adapter, ChannelMessage
from tablewright.systems.engagement.model import (
    CONTACT_DAYS,
    MAX_CONTACTS,
    Candidate,
    ChannelEntry,
    Contacts,
    Delivery,
    DeliveryState,
    Preferences,
    Program,
    Quota,
)
from tablewright.systems.engagement.scoring.filter_chain import frequency_of, is_quiet, unwanted
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.unreadable_log import UnreadableLog, describe

_log = logging.getLogger(__name__)

_CLAIM_LASTS = timedelta(seconds=2 * SENT_WITHIN)
_ATTEMPTS = 6
_PAGE = 100
_KEPT_LONGER = timedelta(days=2)


@dataclass(slots=True)
class Summary:
    """What a pass has done."""

    sent: int = 0
    refused: int = 0
    # Quiet hours, reached too often, or being sent elsewhere.
    waiting: int = 0
    unwanted: int = 0
    # Something that has to be known of the candidate or the customer cannot be read.
    unreadable: int = 0
    # Channels that took nothing more, and why.
    held_up: dict[str, str] = field(default_factory=dict)
    # Whether it ended before everything was looked at.
    more: bool = False


class _Outcome(Enum):
    SENT = auto()
    REFUSED = auto()
    WAITING = auto()
    UNWANTED = auto()
    UNREADABLE = auto()
    DONE = auto()


class _Full(Exception):
    """The channel's limit of the day is reached."""


class Deliveries:
    """Delivers candidates."""

    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        clock: Callable[[], datetime],
        unreadable_log: UnreadableLog | None = None,
    ) -> None:
        self._store = store
        self._unreadable_log = unreadable_log or UnreadableLog("engagement")
        self._reader = TolerantReader(store, self._unreadable_log.add)
        self._adapters = adapters
        self._clock = clock

    def check(self, channel: Channel) -> None:
        """Invalid, if a channel's configuration cannot work."""
        if channel.carried_by is not None:
            self._adapters[channel.carried_by].check(channel)

    def deliver(
        self, program: Program, *, limit: int | None = None, until: Event | None = None, within: float | None = None
    ) -> Summary:
        """A pass: every channel in order of priority, its best candidates first, until a limit is reached."""
        if not program.enabled:
            raise StateConflict(f"program {program.program_id} is disabled; enable it first")
        summary = Summary()
        end = None if within is None else time.monotonic() + within
        configuration = program.configuration
        for channel in configuration.by_priority:
            if channel.carried_by is None:
                continue
            try:
                for entry in self._open_entries(program, channel, summary):
                    stopping = until is not None and until.is_set()
                    if stopping or (end is not None and time.monotonic() > end) or summary.sent == limit:
                        summary.more = True
                        return summary
                    self._count(summary, self._read_and_deliver(program, configuration, channel, entry))
            except _Full:
                summary.held_up[channel.channel_id] = f"{channel.limit_per_day} were sent today, which is its limit"
            except Unavailable as error:
                summary.held_up[channel.channel_id] = str(error)
        return summary

    def _count(self, summary: Summary, outcome: _Outcome) -> None:
        match outcome:
            case _Outcome.SENT:
                summary.sent += 1
            case _Outcome.REFUSED:
                summary.refused += 1
            case _Outcome.WAITING:
                summary.waiting += 1
            case _Outcome.UNWANTED:
                summary.unwanted += 1
            case _Outcome.UNREADABLE:
                summary.unreadable += 1
            case _Outcome.DONE:
                pass

    def _open_entries(self, program: Program, channel: Channel, summary: Summary) -> Iterator[ChannelEntry]:
        """Candidates of a channel that were neither sent nor refused, best first."""
        best = ChannelEntry.top(program_id=program.program_id, channel_id=channel.channel_id)
        cursor = None
        while True:
            page = self._reader.page(best, limit=_PAGE, cursor=cursor)
            entries = [each for each in page.items if each.marketplace_id == program.marketplace_id]
            found = self._reader.each([_lookup(each) for each in entries])
            # What cannot be read may have been sent.
            summary.unreadable += len(page.unreadable) + sum(isinstance(each, Unreadable) for each in found)
            for entry, delivery in zip(entries, found, strict=True):
                if delivery is None or (isinstance(delivery, Delivery) and delivery.state is DeliveryState.SENDING):
                    yield entry
            cursor = page.cursor
            if cursor is None:
                return

    # -- one candidate ------------------------------------------------------------------------------------------

    def _read_and_deliver(
        self, program: Program, configuration: Configuration, channel: Channel, entry: ChannelEntry
    ) -> _Outcome:
        try:
            return self._deliver(program, configuration, channel, entry)
        except Unreadable as error:
            self._unreadable_log.add(error)
            if error.entity == Quota.__name__:
                # That is not about one candidate.
                raise Unavailable(describe(error)) from None
            return _Outcome.UNREADABLE

    def _deliver(
        self, program: Program, configuration: Configuration, channel: Channel, entry: ChannelEntry
    ) -> _Outcome:
        assert channel.carried_by is not None
        candidate = self._store.get(
            Candidate.by_subject(
                customer_id=entry.customer_id,
                program_id=entry.program_id,
                marketplace_id=entry.marketplace_id,
                subject__type=entry.subject.type,
                subject__id=entry.subject.id,
            ),
            consistent=True,
        )
        if candidate is None or candidate.rejected or channel.channel_id not in candidate.channels:
            return _Outcome.UNWANTED
        preferences = self._store.get(Preferences.of_customer(customer_id=entry.customer_id), consistent=True)
        if preferences is not None:
            # Whatever filters the program has: nobody gets what he does not want.
            asked = Prospect(entry.customer_id, entry.subject, {}, channels=[channel.channel_id])
            if unwanted(preferences, program.program_id, asked) is not None:
                return _Outcome.UNWANTED
            if is_quiet(preferences.quiet_hours, self._clock()):
                return _Outcome.WAITING
        claimed = self._claim(configuration, channel, candidate)
        if not isinstance(claimed, Delivery):
            return claimed
        message = ChannelMessage(claimed.delivery_id, program.program_name, channel, candidate, claimed.at)
        try:
            refusal = self._adapters[channel.carried_by].send(message)
        except Unavailable:
            self._undo(configuration, claimed, Delete(claimed, expect={"claim": claimed.claim}))
            raise
        except Exception as error:
            # Whatever it is, it must not keep all the others from being sent.
            _log.error("a candidate could not be sent", exc_info=error, extra={"system": "engagement"})
            refusal = f"it failed here: {type(error).__name__}"
        if refusal is not None:
            change: dict[str, Any] = {"state": DeliveryState.REFUSED, "reason": refusal[:200]}
            self._undo(configuration, claimed, Update(claimed, expect={"claim": claimed.claim}, **change))
            return _Outcome.REFUSED
        try:
            self._store.update(claimed, expect={"claim": claimed.claim}, state=DeliveryState.SENT)
        except (ConditionFailed, NotFound):
            # It took so long that somebody else has taken over; he finds out that it was sent.
            return _Outcome.WAITING
        return _Outcome.SENT

    def _claim(self, configuration: Configuration, channel: Channel, candidate: Candidate) -> Delivery | _Outcome:
        """The right to send, or why there is none."""
        frequency = frequency_of(configuration.filter_chain)
        for _ in range(_ATTEMPTS):
            now = self._clock()
            delivery = _delivery(channel, candidate, now)
            contacts = self._contacts(candidate.customer_id)
            if frequency is not None and frequency.is_reached(contacts, now):
                if self._store.get(_lookup(delivery)) is None:
                    return _Outcome.WAITING
                # His own claim may be what counts: see whether it can be taken over.
                return self._taken_over(delivery, now)
            quota = self._quota(configuration, channel, candidate, now)
            if channel.limit_per_day is not None and quota.sent >= channel.limit_per_day:
                if self._store.get(_lookup(delivery)) is None:
                    raise _Full
                return self._taken_over(delivery, now)
            contacts.times = [*_recent(contacts, now), now][-MAX_CONTACTS:]
            contacts.ttl = now + timedelta(days=CONTACT_DAYS)
            quota.sent += 1
            try:
                self._store.transact(Create(delivery), _saved(contacts), _saved(quota))
            except Cancelled as cancelled:
                if isinstance(cancelled.reasons[0], AlreadyExists):
                    return self._taken_over(delivery, now)
                if any(isinstance(each, VersionConflict | AlreadyExists | Conflict) for each in cancelled.reasons[1:]):
                    continue
                raise
            return delivery
        return _Outcome.WAITING

    def _taken_over(self, wanted: Delivery, now: datetime) -> Delivery | _Outcome:
        """A claim that has run out; what it counted for is counted already."""
        found = self._store.get(_lookup(wanted))
        if found is None or found.state is not DeliveryState.SENDING:
            return _Outcome.DONE
        if found.claimed_until > now:
            return _Outcome.WAITING
        try:
            expected = {"state": DeliveryState.SENDING, "claim": found.claim}
            return self._store.update(found, expect=expected, claim=uuid4().hex, claimed_until=now + _CLAIM_LASTS)
        except (ConditionFailed, NotFound):
            return _Outcome.WAITING

    def _undo(self, configuration: Configuration, delivery: Delivery, change: Operation) -> None:
        """Take back what a claim counted for, together with a change of it."""
        for _ in range(_ATTEMPTS):
            contacts = self._contacts(delivery.customer_id)
            at = delivery.at.replace(microsecond=0)
            if at in contacts.times:
                contacts.times.remove(at)
            operations: list[Operation] = [change]
            if contacts.version:
                operations.append(_saved(contacts))
            quota = self._store.get(
                Quota.of_day(
                    program_id=delivery.program_id,
                    marketplace_id=delivery.marketplace_id,
                    channel_id=delivery.channel_id,
                    day=delivery.at.astimezone(configuration.zone).date(),
                )
            )
            if quota is not None and quota.sent > 0:
                quota.sent -= 1
                operations.append(_saved(quota))
            try:
                self._store.transact(*operations)
            except Cancelled as cancelled:
                if isinstance(cancelled.reasons[0], ConditionFailed | NotFound):
                    return
                continue
            return

    def _contacts(self, customer_id: str) -> Contacts:
        found = self._store.get(Contacts.of_customer(customer_id=customer_id), consistent=True)
        return found or Contacts(customer_id=customer_id)

    def _quota(self, configuration: Configuration, channel: Channel, candidate: Candidate, now: datetime) -> Quota:
        values: dict[str, Any] = {
            "program_id": candidate.program_id,
            "marketplace_id": candidate.marketplace_id,
            "channel_id": channel.channel_id,
            "day": now.astimezone(configuration.zone).date(),
        }
        found = self._store.get(Quota.of_day(**values))
        return found or Quota(**values, ttl=now + timedelta(days=3))


def _saved(entity: Contacts | Quota) -> Operation:
    """Over the version that was read, or where there was none."""
    return Put(entity) if entity.version else Create(entity)


def _recent(contacts: Contacts, now: datetime) -> list[datetime]:
    since = now - timedelta(days=CONTACT_DAYS)
    return [at for at in contacts.times if at > since]


def _delivery(channel: Channel, candidate: Candidate, now: datetime) -> Delivery:
    created = candidate.metadata.created
    parts = [
        candidate.program_id,
        candidate.marketplace_id,
        candidate.customer_id,
        candidate.subject.type,
        candidate.subject.id,
        channel.channel_id,
        created.isoformat(),
    ]
    return Delivery(
        customer_id=candidate.customer_id,
        program_id=candidate.program_id,
        marketplace_id=candidate.marketplace_id,
        subject=candidate.subject,
        channel_id=channel.channel_id,
        candidate_created=created,
        delivery_id=sha256("\x00".join(parts).encode()).hexdigest()[:32],
        claim=uuid4().hex,
        claimed_until=now + _CLAIM_LASTS,
        at=now,
        day=now.date(),
        ttl=None if candidate.ttl is None else candidate.ttl + _KEPT_LONGER,
    )


def _lookup(of: ChannelEntry | Delivery) -> Lookup[Delivery]:
    created = of.created if isinstance(of, ChannelEntry) else of.candidate_created
    return Delivery.by_candidate(
        customer_id=of.customer_id,
        program_id=of.program_id,
        marketplace_id=of.marketplace_id,
        channel_id=of.channel_id,
        subject__type=of.subject.type,
        subject__id=of.subject.id,
        candidate_created=created,
    )
