"""Events: derived from committed writes, for subscribers.

    table's stream ──▶ publisher ──▶ events table ──▶ its stream ──▶ subscribers: mail, EventBridge, ...
                       (exactly once, by                 (each has a checkpoint, retries
                        the consumer's checkpoint)        and dead letters of its own)

A publisher turns changes into events and stores them in the same transaction as its checkpoint: an event exists if and
only if the write was committed, even after a crash. An event is derived entirely from its change: if a change is read
again, the same event overwrites itself, and no subscriber sees that. Subscribers get every event, or those that they
filter for (``event_filter``), at least once, so they must tolerate repeats; in order, as long as the stream has one
shard at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from tablewright.model import Entity, EpochSeconds, Expiry, Get, ItemWrite, Keys, Query, Write
from tablewright.runtime.internal_tables import events_table
from tablewright.store import Put

# Events are declared by designs, also where no streams are read.
if TYPE_CHECKING:
    from tablewright.store import AnyChange, Change, ChangeFilter, Effects, Handler, RawChange

    Translate = Callable[[AnyChange], Iterable[tuple[str, dict[str, Any]]]]

# What other packages use.
__all__ = [
    "KEPT_FOR",
    "PUBLISH_EVENT",
    "event_filter",
    "events_in",
]

KEPT_FOR = timedelta(days=30)
# The most digits that a sequence number has.
_DIGITS = 40


class Event(Entity, table=events_table):
    """Something that happened. ``source`` is the system, ``type`` a word such as TaskCreated."""

    event_id: str
    source: str
    type: str
    at: datetime
    # The change's sequence number, padded so that it sorts. A stream has times to the second only.
    sequence: str
    detail: dict[str, Any]
    # From when it happened: an event that is published again is the same, and no change of the table.
    ttl: Annotated[EpochSeconds | None, Expiry(KEPT_FOR)] = None

    keys = Keys(PK="EVENT#{event_id}", SK="EVENT", GSI1PK="SOURCE#{source}", GSI1SK="{at}#{sequence}#{event_id}")

    @Get()
    def by_id(self, event_id: str) -> None:
        """An event."""

    @Query("bySource", newest_first=True)
    def of_source(self, source: str, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The events of a source, newest first."""


PUBLISH_EVENT = Write("publish event", ItemWrite(Event, "put"), about="by the consumer of the table's stream")
"""What a publisher writes, for the design of a system that has one."""


def event_id(source: str, type_: str, change: AnyChange, number: int = 0) -> str:
    """The id of an event, which is the same each time its change is read."""
    text = "\x00".join([source, type_, change.sequence, str(sorted(change.key.items())), str(number)])
    return sha256(text.encode()).hexdigest()[:32]


def publisher(source: str, translate: Translate, count: Callable[[str], Any] = lambda type_: None) -> Handler:
    """A handler that stores the events derived from changes: ``translate`` returns (type, detail) for each.

    ``count`` is called with the type of each event that is about to be stored.
    """

    def publish(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            for number, (type_, detail) in enumerate(translate(change)):
                event = Event(
                    event_id=event_id(source, type_, change, number),
                    source=source,
                    type=type_,
                    at=change.at,
                    sequence=change.sequence.zfill(_DIGITS),
                    detail=detail,
                    ttl=change.at + KEPT_FOR,
                )
                effects.do(Put(event))
                count(type_)

    return publish


def event_filter(source: str, types: Collection[str]) -> ChangeFilter:
    """A filter for events of one source and some types; the subscriber is not called for others."""
    sources, kinds = {"S": source}, [{"S": type_} for type_ in types]

    def wanted(change: RawChange) -> bool:
        image = change.after
        return image is not None and image.get("source") == sources and image.get("type") in kinds

    return wanted


def events_in(changes: Sequence[AnyChange]) -> list[Event]:
    """The events among changes of the events table, for a subscriber."""
    from tablewright.store import ChangeKind, typed_changes

    found: list[Change[Event]] = typed_changes(Event, changes)
    return [change.after for change in found if change.kind is ChangeKind.INSERT and change.after is not None]
