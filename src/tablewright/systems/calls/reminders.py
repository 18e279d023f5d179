"""Reminders of calls, by mail.

    Calls' stream ──▶ calls.reminders: a call is scheduled, or a user turns on reminders ──▶ Reminder, in its hour
    a schedule    ──▶ ReminderTurns: those that are due and still right ──▶ event CallReminder, instead of the Reminder
    events        ──▶ calls.mail ──▶ the user

A call that is moved gets a new reminder, and the old one is found to be wrong when it is due. So no reminder has to be
looked up when a call is changed, cancelled or deleted. The event replaces the reminder in one transaction, so only the
first process sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from urllib.parse import quote

from tablewright.model import attr
from tablewright.runtime import ConsumerSpec, Event, Message, Runtime
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.events.event_log import KEPT_FOR, event_filter, events_in
from tablewright.runtime.internal_tables import events_table
from tablewright.store import (
    AnyChange,
    Cancelled,
    Change,
    Create,
    Delete,
    Effects,
    Put,
    Store,
    Unreadable,
    entity_filter,
)
from tablewright.systems.calls.model import CalendarSettings, Call, Reminder, Status, calls

__all__ = ["ReminderTurns", "consumers"]

SOURCE = "calls"
_REMINDER = "CallReminder"
# Per user, in one transaction with the checkpoint.
_MOST_UPCOMING = 50
# A checkpoint is written after so many events with mail; each message may take seconds.
_EVENTS_PER_CHECKPOINT = 10
# How far back unsent reminders are looked for, and how often those that are due are.
_LATE = timedelta(days=1)
_EVERY = 60.0
# How much of the past is checked again each time: the consumer may be that late, and clocks differ.
_AGAIN = timedelta(hours=1)


def consumers(runtime: Runtime) -> list[ConsumerSpec]:
    """The consumers of this system."""
    store = runtime.consumer_store
    mailer = runtime.mailer.on(store)

    def note(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            for reminder in _reminders_after(store, change):
                effects.do(Put(reminder))

    def send(changes: Sequence[AnyChange], effects: Effects) -> None:
        for event in events_in(changes):
            mailer.send_all(event, _messages_about(store, event, runtime.app_url), effects)

    return [
        ConsumerSpec(
            "calls.reminders",
            calls,
            note,
            role="reminders",
            change_filter=entity_filter(Call, CalendarSettings),
            # Each may cause as many reminders as the user has calls.
            max_changes=1,
        ),
        ConsumerSpec(
            "calls.mail",
            events_table,
            send,
            role="notifications",
            change_filter=event_filter(SOURCE, (_REMINDER,)),
            max_changes=_EVENTS_PER_CHECKPOINT,
        ),
    ]


def _reminders_after(store: Store, change: AnyChange) -> Iterator[Reminder]:
    """The reminders that follow from a change: the same ones each time it is read."""
    if not isinstance(change, Change):
        return
    after = change.after
    if isinstance(after, Call) and after.status is Status.SCHEDULED and after.scheduled_for > change.at:
        settings = store.get(CalendarSettings.of_user(after.user_id))
        if settings is not None and (due := _due(after, settings)) is not None:
            yield _reminder(after, due, change.at)
    elif isinstance(after, CalendarSettings) and after.email is not None and after.remind_minutes is not None:
        for call in store.query(Call.upcoming(after.person_id, since=change.at), limit=_MOST_UPCOMING).items:
            due = _due(call, after)
            assert due is not None
            yield _reminder(call, due, change.at)


def _due(call: Call, settings: CalendarSettings) -> datetime | None:
    """When the user is to be reminded of a call; None if reminders are off."""
    if settings.email is None or settings.remind_minutes is None:
        return None
    return call.scheduled_for - timedelta(minutes=settings.remind_minutes)


def _reminder(call: Call, due: datetime, since: datetime) -> Reminder:
    return Reminder(at=max(due, since), due=due, reminded_call=call.call_id, reminded_user=call.user_id)


class ReminderTurns(PeriodicThread):
    """Background work that sends reminders when they are due."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        super().__init__("calls.reminders", role="reminders", every=_EVERY)
        self._store = store
        self._clock = clock
        # Everything due before then has been checked.
        self._since: datetime | None = None

    def turn(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Publish reminders that are due."""
        now = self._clock()
        since = now - _LATE if self._since is None else self._since
        for reminder in self._store.iterate(Reminder.due_between(since=since, until=now)):
            if is_stopped():
                return
            self._publish(reminder, now)
        self._since = now - _AGAIN

    def _publish(self, reminder: Reminder, now: datetime) -> None:
        try:
            call = self._store.get(Call.by_id(reminder.reminded_call), consistent=False)
            settings = self._store.get(CalendarSettings.of_user(reminder.reminded_user))
        except Unreadable:
            # It stays until it can be read, or is too old to be found.
            return
        if call is None or not _is_wanted(reminder, call, settings, now):
            self._store.delete(reminder)
            return
        event = Event(
            event_id=sha256(f"{call.call_id}\0{reminder.reminded_user}\0{reminder.due}".encode()).hexdigest()[:32],
            source=SOURCE,
            type=_REMINDER,
            at=now,
            sequence="0" * 40,
            detail={"callId": call.call_id, "userId": call.user_id},
            ttl=now + KEPT_FOR,
        )
        try:
            self._store.transact(Delete(reminder, expect=[attr(Reminder.due) == reminder.due]), Create(event))
        except Cancelled:
            # Another process was faster; or it was sent before, and the user turned reminders off and on again.
            if self._store.get(Event.by_id(event.event_id)) is not None:
                self._store.delete(reminder)


def _is_wanted(reminder: Reminder, call: Call, settings: CalendarSettings | None, now: datetime) -> bool:
    """Whether a reminder is still right: its call, time and user are unchanged, and the user still has reminders on."""
    return (
        settings is not None
        and call.status is Status.SCHEDULED
        and call.user_id == reminder.reminded_user
        and call.scheduled_for > now
        and _due(call, settings) == reminder.due
    )


def _messages_about(store: Store, event: Event, app_url: str | None) -> Iterator[Message]:
    call = store.get(Call.by_id(event.detail["callId"]))
    settings = store.get(CalendarSettings.of_user(event.detail["userId"]))
    if call is None or call.status is not Status.SCHEDULED or settings is None or settings.email is None:
        return
    when = f"{call.scheduled_for:%A, %d %B %Y, %H:%M} UTC"
    link = call.call_id if app_url is None else f"{app_url}/calls/call/{quote(call.call_id, safe='')}"
    text = f"""\
You have a call with {call.provider_id}.

When:  {when}, {call.duration_minutes} minutes
Call:  {link}

--\x20
You receive this because you turned on reminders of your calls.
"""
    yield Message(settings.email, f"Your call with {call.provider_id}: {when}", text)
