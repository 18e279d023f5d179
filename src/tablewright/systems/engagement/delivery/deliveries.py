"""Deliveries: candidates through the channels of a program, best first, each once per channel.

    claim ──▶ adapter ──▶ sent, or refused: it will never be accepted, because of its address or its contents
                     └──▶ the channel is paused: its receiver is unavailable, or the settings do not allow it

The claim is a record, written in one transaction with the customer's contacts and the channel's quota: of any number of
concurrent passes one sends, and no limit is exceeded. If a channel is paused, this concerns all of its candidates: the
claim is released, and all of them are left for the next pass. A claim whose owner died expires, and is taken over; if
the owner had sent it already, the adapter's own record or the receiver recognizes the delivery's id, which stays the
same.

A refused delivery is sent again only on request (``retry``).

Before sending, these are checked again: that the candidate still exists, the customer's preferences, quiet hours, and
how often the customer was reached. Candidates that have to wait are left for the next pass.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from hashlib import sha256
from threading import Event
from uuid import uuid4

from tablewright.model import FieldChange, FieldCondition, Lookup, Selection, attr
from tablewright.runtime import Invalid
from tablewright.runtime.mail.mail_transport import Deferred
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
from tablewright.systems.engagement.delivery.channels import (
    SENT_WITHIN,
    Adapter,
    AddressRefused,
    ChannelMessage,
    EndpointRefused,
    PolicyRefused,
)
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
# A mailbox that accepts no mail is tried again after that.
_DEFERRED_FOR = timedelta(minutes=15)


class Cause(StrEnum):
    """What holds a channel up: its daily limit, a receiver that is down or refuses everything, or the settings."""

    LIMIT = "limit"
    UNAVAILABLE = "unavailable"
    ENDPOINT = "endpoint"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Why a channel is paused."""

    cause: Cause
    reason: str


@dataclass(slots=True)
class Summary:
    """The results of a pass."""

    # All attempts: those that were sent, refused, deferred or failed.
    attempted: int = 0
    sent: int = 0
    # Because of their addresses or contents.
    refused: int = 0
    # Not sent because of an internal error; they are retried.
    failed: int = 0
    # Quiet hours, frequency limit, a temporarily unavailable mailbox, or being sent by another pass.
    waiting: int = 0
    unwanted: int = 0
    # Their texts use attributes that they lack: number by the first of those. They are sent once they have them.
    incomplete: dict[str, int] = field(default_factory=dict)
    # An item of the candidate or the customer that is needed cannot be read.
    unreadable: int = 0
    # Channels that were paused, and why.
    held_up: dict[str, HeldUp] = field(default_factory=dict)
    # Whether it ended before all candidates were processed.
    more: bool = False


class _Outcome(Enum):
    SENT = auto()
    REFUSED = auto()
    WAITING = auto()
    UNWANTED = auto()
    UNREADABLE = auto()
    FAILED = auto()
    DEFERRED = auto()
    DONE = auto()


_ATTEMPTED = (_Outcome.SENT, _Outcome.REFUSED, _Outcome.FAILED, _Outcome.DEFERRED)


class _HeldUp(Exception):
    """The channel is paused; ``is_attempt`` says that sending was attempted."""

    def __init__(self, cause: Cause, reason: str, *, is_attempt: bool = False) -> None:
        super().__init__(reason)
        self.why = HeldUp(cause, reason)
        self.is_attempt = is_attempt


class _Incomplete(Exception):
    """A message needs an attribute that the candidate lacks; the text is its name."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """What a pass processes: candidates that are to be sent, or those that were refused."""

    program: Program
    configuration: Configuration
    refused: bool = False
    channel_id: str | None = None
    customer_id: str | None = None

    def entries(self, channel: Channel) -> Selection[ChannelEntry]:
        """Where the candidates of a channel are stored."""
        program_id, marketplace_id = self.program.program_id, self.program.marketplace_id
        if self.customer_id is not None:
            return ChannelEntry.of_customer(self.customer_id, program_id, marketplace_id)
        return ChannelEntry.top_of_marketplace(program_id, marketplace_id, channel.channel_id)


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

    def check(self, channel: Channel, attributes: Collection[str] | None) -> None:
        """Raise Invalid if a channel cannot work for customers with these attributes (None if unknown)."""
        if channel.carried_by is not None:
            self._adapters[channel.carried_by].check(channel, attributes)

    def rendered(self, channel: Channel, program_name: str, candidate: Candidate) -> dict[str, str]:
        """What a candidate would be sent through a channel; nothing for one that others deliver.

        AddressRefused if nothing could be sent.
        """
        if channel.carried_by is None:
            return {}
        adapter = self._adapters[channel.carried_by]
        lacked = adapter.lacks(channel, candidate)
        if lacked is not None:
            raise AddressRefused(f"the text uses ${lacked}, which the customer does not have")
        return adapter.rendered(ChannelMessage("preview", program_name, channel, candidate, self._clock()))

    def deliver(
        self, program: Program, *, limit: int | None = None, until: Event | None = None, within: float | None = None
    ) -> Summary:
        """A pass: every channel in order of priority, its best candidates first, until a limit is reached.

        ``limit`` is the maximum number of attempts, ``within`` the maximum time in seconds.
        """
        return self._pass(_Pass(program, program.configuration), limit, until, within)

    def retry(
        self,
        program: Program,
        *,
        channel_id: str | None = None,
        customer_id: str | None = None,
        limit: int | None = None,
        within: float | None = None,
    ) -> Summary:
        """A pass over refused deliveries, of a channel or a customer if given."""
        return self._pass(_Pass(program, program.configuration, True, channel_id, customer_id), limit, None, within)

    def _pass(self, over: _Pass, limit: int | None, until: Event | None, within: float | None) -> Summary:
        over.program.require_active()
        summary = Summary()
        end = None if within is None else time.monotonic() + within
        for channel in over.configuration.by_priority:
            if channel.carried_by is None or over.channel_id not in (None, channel.channel_id):
                continue
            try:
                for entry, refused in self._open_entries(over, channel, summary):
                    stopping = until is not None and until.is_set()
                    if stopping or (end is not None and time.monotonic() > end) or summary.attempted == limit:
                        summary.more = True
                        return summary
                    try:
                        _count(summary, self._read_and_deliver(over, channel, entry, refused))
                    except _Incomplete as incomplete:
                        name = str(incomplete)
                        summary.incomplete[name] = summary.incomplete.get(name, 0) + 1
            except _HeldUp as held_up:
                summary.attempted += held_up.is_attempt
                summary.held_up[channel.channel_id] = held_up.why
        return summary

    def _open_entries(
        self, over: _Pass, channel: Channel, summary: Summary
    ) -> Iterator[tuple[ChannelEntry, Delivery | None]]:
        """Candidates of a channel that a pass processes, best first; with their deliveries if they were refused."""
        cursor = None
        while True:
            page = self._reader.page(over.entries(channel), limit=_PAGE, cursor=cursor)
            entries = [each for each in page.items if each.channel_id == channel.channel_id]
            found = self._reader.each([_lookup(each) for each in entries])
            # A delivery that cannot be read may have been sent.
            summary.unreadable += len(page.unreadable) + sum(isinstance(each, Unreadable) for each in found)
            for entry, delivery in zip(entries, found, strict=True):
                if isinstance(delivery, Unreadable):
                    continue
                state = None if delivery is None else delivery.state
                if over.refused and state is DeliveryState.REFUSED:
                    yield entry, delivery
                elif not over.refused and state in (None, DeliveryState.SENDING):
                    yield entry, None
            cursor = page.cursor
            if cursor is None:
                return

    # -- one candidate ------------------------------------------------------------------------------------------

    def _read_and_deliver(
        self, over: _Pass, channel: Channel, entry: ChannelEntry, refused: Delivery | None
    ) -> _Outcome:
        try:
            return self._deliver(over, channel, entry, refused)
        except Invalid as reason:
            # Its stored configuration is no longer valid.
            raise _HeldUp(Cause.POLICY, str(reason)) from None
        except Unreadable as error:
            self._unreadable_log.add(error)
            if error.entity == Quota.__name__:
                # This does not concern a single candidate.
                raise _HeldUp(Cause.UNAVAILABLE, describe(error)) from None
            return _Outcome.UNREADABLE

    def _deliver(self, over: _Pass, channel: Channel, entry: ChannelEntry, refused: Delivery | None) -> _Outcome:
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
        preferences = self._store.get(Preferences.of_customer(entry.customer_id), consistent=True)
        if preferences is not None:
            # Regardless of the program's filters, no customer is sent unwanted messages.
            asked = Prospect(entry.customer_id, entry.subject, {}, channels=[channel.channel_id])
            if unwanted(preferences, over.program.program_id, asked) is not None:
                return _Outcome.UNWANTED
            if is_quiet(preferences.quiet_hours, self._clock()):
                return _Outcome.WAITING
        assert channel.carried_by is not None
        lacking = self._adapters[channel.carried_by].lacks(channel, candidate)
        if lacking is not None:
            raise _Incomplete(lacking)
        claimed = self._claim(over.configuration, channel, candidate, refused)
        if not isinstance(claimed, Delivery):
            return claimed
        return self._send(over, channel, candidate, claimed)

    def _send(self, over: _Pass, channel: Channel, candidate: Candidate, claimed: Delivery) -> _Outcome:
        """Have the channel send a claimed delivery."""
        assert channel.carried_by is not None
        message = ChannelMessage(
            claimed.delivery_id, over.program.program_name, channel, candidate, claimed.at, claimed.retries
        )
        is_ours = attr(Delivery.claim) == claimed.claim
        try:
            self._adapters[channel.carried_by].send(message)
        except AddressRefused as refusal:
            refused = Update(
                claimed,
                attr(Delivery.state).set(DeliveryState.REFUSED),
                attr(Delivery.reason).set(str(refusal)[:200]),
                expect=is_ours,
            )
            self._undo(over.configuration, claimed, refused)
            return _Outcome.REFUSED
        except Deferred:
            # The claim stays until its next attempt is due, so that it does not block others meanwhile.
            with suppress(ConditionFailed, NotFound):
                until = self._clock() + _DEFERRED_FOR
                self._store.update(claimed, attr(Delivery.claimed_until).set(until), expect=is_ours)
            return _Outcome.DEFERRED
        except (Unavailable, EndpointRefused, PolicyRefused, Invalid) as reason:
            self._release(over.configuration, claimed)
            raise _HeldUp(_cause(reason), str(reason), is_attempt=True) from None
        except Exception as error:
            # Whatever the error, it must not stop the others from being sent, nor this one permanently.
            _log.error("a candidate could not be sent", exc_info=error, extra={"system": "engagement"})
            self._release(over.configuration, claimed)
            return _Outcome.FAILED
        try:
            self._store.update(
                claimed,
                attr(Delivery.state).set(DeliveryState.SENT),
                attr(Delivery.reason).set(None),
                expect=is_ours,
            )
        except (ConditionFailed, NotFound):
            # It took so long that another pass has taken over, which will find that it was sent.
            return _Outcome.WAITING
        return _Outcome.SENT

    def _release(self, configuration: Configuration, claimed: Delivery) -> None:
        """Restore the state before the claim: not attempted, or refused if it was a retry."""
        is_ours = attr(Delivery.claim) == claimed.claim
        if claimed.retries:
            change: Operation = Update(claimed, attr(Delivery.state).set(DeliveryState.REFUSED), expect=is_ours)
        else:
            change = Delete(claimed, expect=is_ours)
        self._undo(configuration, claimed, change)

    def _claim(
        self, configuration: Configuration, channel: Channel, candidate: Candidate, refused: Delivery | None
    ) -> Delivery | _Outcome:
        """Claim the right to send, or return why not; ``refused`` is the delivery if it is sent again."""
        frequency = frequency_of(configuration.filter_chain)
        for _ in range(_ATTEMPTS):
            now = self._clock()
            delivery = _delivery(channel, candidate, now)
            contacts = self._contacts(candidate.customer_id)
            if frequency is not None and frequency.is_reached(contacts, now):
                if refused is not None or self._store.get(_lookup(delivery)) is None:
                    return _Outcome.WAITING
                # A claim of this delivery may be what counts: see whether it can be taken over.
                return self._taken_over(delivery, now)
            quota = self._quota(configuration, channel, candidate, now)
            if channel.limit_per_day is not None and quota.sent >= channel.limit_per_day:
                if refused is not None or self._store.get(_lookup(delivery)) is None:
                    reason = f"{channel.limit_per_day} were sent today, which is the daily limit"
                    raise _HeldUp(Cause.LIMIT, reason)
                return self._taken_over(delivery, now)
            contacts.times = [*_recent(contacts, now), now][-MAX_CONTACTS:]
            contacts.ttl = now + timedelta(days=CONTACT_DAYS)
            quota.sent += 1
            claim: Operation = Create(delivery)
            if refused is not None:
                # The reason is kept, in case it cannot be attempted.
                delivery = refused
                claim = Update(refused, *_claimed_again(refused, now), expect=_is_in(DeliveryState.REFUSED, refused))
            try:
                self._store.transact(claim, _saved(contacts), _saved(quota))
            except Cancelled as cancelled:
                if isinstance(cancelled.reasons[0], AlreadyExists):
                    return self._taken_over(delivery, now)
                if isinstance(cancelled.reasons[0], ConditionFailed | NotFound):
                    # Another pass is retrying it.
                    return _Outcome.WAITING
                if any(isinstance(each, VersionConflict | AlreadyExists | Conflict) for each in cancelled.reasons[1:]):
                    continue
                raise
            return delivery
        return _Outcome.WAITING

    def _taken_over(self, wanted: Delivery, now: datetime) -> Delivery | _Outcome:
        """Take over an expired claim; its contacts and quota are counted already."""
        found = self._store.get(_lookup(wanted))
        if found is None or found.state is not DeliveryState.SENDING:
            return _Outcome.DONE
        if found.claimed_until > now:
            return _Outcome.WAITING
        try:
            return self._store.update(
                found,
                attr(Delivery.claim).set(uuid4().hex),
                attr(Delivery.claimed_until).set(now + _CLAIM_LASTS),
                expect=_is_in(DeliveryState.SENDING, found),
            )
        except (ConditionFailed, NotFound):
            return _Outcome.WAITING

    def _undo(self, configuration: Configuration, delivery: Delivery, change: Operation) -> None:
        """Undo what a claim counted, together with a change of it."""
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
        found = self._store.get(Contacts.of_customer(customer_id), consistent=True)
        return found or Contacts(customer_id=customer_id)

    def _quota(self, configuration: Configuration, channel: Channel, candidate: Candidate, now: datetime) -> Quota:
        new = Quota(
            program_id=candidate.program_id,
            marketplace_id=candidate.marketplace_id,
            channel_id=channel.channel_id,
            day=now.astimezone(configuration.zone).date(),
            ttl=now + timedelta(days=3),
        )
        found = self._store.get(Quota.of_day(new.program_id, new.marketplace_id, new.channel_id, new.day))
        return found or new


def _count(summary: Summary, outcome: _Outcome) -> None:
    summary.attempted += outcome in _ATTEMPTED
    match outcome:
        case _Outcome.SENT:
            summary.sent += 1
        case _Outcome.REFUSED:
            summary.refused += 1
        case _Outcome.FAILED:
            summary.failed += 1
        case _Outcome.WAITING | _Outcome.DEFERRED:
            summary.waiting += 1
        case _Outcome.UNWANTED:
            summary.unwanted += 1
        case _Outcome.UNREADABLE:
            summary.unreadable += 1
        case _Outcome.DONE:
            pass


def _cause(reason: Exception) -> Cause:
    if isinstance(reason, EndpointRefused):
        return Cause.ENDPOINT
    return Cause.UNAVAILABLE if isinstance(reason, Unavailable) else Cause.POLICY


def _is_in(state: DeliveryState, delivery: Delivery) -> list[FieldCondition]:
    """The condition that a delivery is in a state, and not claimed by others."""
    return [attr(Delivery.state) == state, attr(Delivery.claim) == delivery.claim]


def _claimed_again(refused: Delivery, now: datetime) -> list[FieldChange]:
    return [
        attr(Delivery.state).set(DeliveryState.SENDING),
        attr(Delivery.claim).set(uuid4().hex),
        attr(Delivery.claimed_until).set(now + _CLAIM_LASTS),
        attr(Delivery.at).set(now),
        attr(Delivery.day).set(now.date()),
        attr(Delivery.retries).set(refused.retries + 1),
    ]


def _saved(entity: Contacts | Quota) -> Operation:
    """The write over the version that was read, or of the first version."""
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
