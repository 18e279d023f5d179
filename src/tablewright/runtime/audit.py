"""The audit of a thing: who changed what, when, and by which call.

    operation ──┐
    audit.changed("tickets/t-1", before, status=…) ──┴──▶ one transaction: the change, and the entry of it

An entry is written in one transaction with its change, so a crash cannot separate them. Its author comes from the token
(``acting``), never from a body. Facts that the item itself records with author and time, such as its creation or a
comment, need no entry: the busiest calls write nothing extra, and ``page`` merges those facts into the entries
(``Recorded``).

Entries are for reading, not for restoring: long values are cut, and fields with the name of a secret are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from operator import itemgetter
from typing import Annotated, Any
from uuid import uuid4

import orjson
from pydantic import Field
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from tablewright.model import Entity, ItemWrite, Keys, Personal, Query
from tablewright.runtime.errors import ResourceNotFound
from tablewright.runtime.identity.actor import acting
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, Cancelled, Create

__all__ = ["AUDITED", "READ_AUDIT", "Audit", "AuditEntry", "AuditPage", "Recorded", "own_error"]

_SECRET = re.compile(r"secret|password|passwd|authorization|token|api[-_]?key", re.IGNORECASE)
_MAX_TEXT = 1_000
_MAX_VALUE = 8_000
_MAX_NAME = 1_000


class AuditEntry(Entity, table=internal_table):
    """A change of a thing."""

    # The system, what kind of thing, and which: servicedesk/tickets/33567ee8-...
    thing: Annotated[str, Personal("mention")]
    at: datetime
    entry_id: str
    by: Annotated[str, Personal("reference")]
    call: str
    # JSON: by field, what it was and what it is.
    changes: Annotated[str, Personal("mention")]

    keys = Keys(PK="AUDIT#{thing}", SK="{at}#{entry_id}")

    @Query(newest_first=True)
    def of_thing(self, thing: str, *, until: datetime | None = None) -> None:
        """The changes of a thing, newest first."""


AUDITED = ItemWrite(AuditEntry, "create")
"""The entry of a change, as part of the declared write that makes it: in one transaction, at its price."""
READ_AUDIT = "AuditEntry.of_thing"
"""The entries of a thing, as an admin reads them."""


class ValueChange(TypedDict):
    """The value of a field before and after; null where it had none."""

    old: Any
    new: Any


class AuditEntryView(TypedDict):
    """A change: who made it, when, by which call, and what it changed."""

    by: Annotated[str, Field(description="the `sub` of the caller's token", examples=["sam"])]
    at: Annotated[datetime | str, Field(examples=["2026-02-09T12:35:00.123456Z"])]
    call: Annotated[str, Field(description="the call that made the change", examples=["change_status"])]
    changes: Annotated[dict[str, ValueChange], Field(examples=[{"status": {"old": "open", "new": "in_progress"}}])]


# When a change was made, and which of that moment it is.
_Place = tuple[datetime, str]
_Placed = tuple[_Place, AuditEntryView]
_LATEST: _Place = datetime(9999, 12, 31, tzinfo=UTC), ""


class AuditPage(TypedDict):
    """Changes of a thing, newest first."""

    audit: list[AuditEntryView]
    cursor: Annotated[str | None, Field(description="to get older changes; null if there are none")]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A change that the item itself records; ``number`` orders those of one moment."""

    by: str | None
    at: datetime | None
    call: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0


class Audit:
    """The audit of the things of one system."""

    def __init__(self, system: str, clock: Callable[[], float]) -> None:
        self._system = system
        self._clock = clock

    def created(self, thing: str, entity: Entity) -> Create:
        """The entry for creating a thing, where the item does not record by whom."""
        return self._entry(thing, {}, _fields(entity))

    def changed(self, thing: str, before: Entity | Mapping[str, Any], **after: Any) -> Create:
        """The entry for changing some fields."""
        known = before if isinstance(before, Mapping) else {name: getattr(before, name, None) for name in after}
        return self._entry(thing, {name: known.get(name) for name in after}, after)

    def deleted(self, thing: str, entity: Entity) -> Create:
        """The entry for deleting a thing, with all its values."""
        return self._entry(thing, _fields(entity), {})

    def _entry(self, thing: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Create:
        actor = acting.get()
        changes = {
            name: {"old": _shown(name, before.get(name)), "new": _shown(name, after.get(name))}
            for name in (before or after)
            if before.get(name) != after.get(name)
        }
        entry = AuditEntry(
            thing=_name_of(self._system, thing),
            at=datetime.fromtimestamp(self._clock(), UTC),
            entry_id=uuid4().hex,
            by=actor.user_id,
            call=actor.call,
            changes=orjson.dumps(changes).decode(),
        )
        return Create(entry)

    async def page(
        self, store: AsyncStore, thing: str, recorded: Iterable[Recorded] | None, *, limit: int, cursor: str | None
    ) -> AuditPage:
        """The changes of a thing, newest first; ``recorded`` are those of its item, None without one.

        ResourceNotFound if there is no such thing, and never was.
        """
        read = ["audit", _name_of(self._system, thing)]
        before = _LATEST if cursor is None else _place_of(store.context.unsealed(read, cursor))
        in_item = [] if recorded is None else [_from_item(each) for each in recorded if each.at is not None]
        found = await self._entries(store, _name_of(self._system, thing), before, limit + 1)
        if recorded is None and cursor is None and not found:
            raise ResourceNotFound(f"there is no {thing}")
        places = sorted([*found, *(each for each in in_item if each[0] < before)], key=itemgetter(0), reverse=True)
        shown = places[:limit]
        return {
            "audit": [view for _, view in shown],
            "cursor": store.context.sealed(read, _position(shown[-1][0])) if len(places) > limit else None,
        }

    async def _entries(self, store: AsyncStore, thing: str, before: _Place, number: int) -> list[_Placed]:
        """So many of the stored entries before a place, newest first."""
        selection = AuditEntry.of_thing(thing, until=before[0])
        found: list[_Placed] = []
        cursor: str | None = None
        while len(found) < number:
            page = await store.query(selection, limit=number, cursor=cursor, consistent=True)
            # Those of the same moment may be behind it.
            found += [placed for placed in map(_placed, page.items) if placed[0] < before]
            cursor = page.cursor
            if cursor is None:
                break
        return found[:number]


@contextmanager
def own_error() -> Iterator[None]:
    """For one operation with its entry: raises the operation's own error, not ``Cancelled``."""
    try:
        yield
    except Cancelled as cancelled:
        raise cancelled.reasons[0] or cancelled from None


def _fields(entity: Entity) -> dict[str, Any]:
    return {name: getattr(entity, name) for name in type(entity).model_fields if name in entity.__dict__}


def _shown(name: str, value: Any) -> Any:
    """A value as the audit shows it."""
    plain = _plain(name, to_jsonable_python(value, fallback=str, bytes_mode="hex", inf_nan_mode="strings"))
    text = orjson.dumps(plain)
    return plain if len(text) <= _MAX_VALUE else f"{text[:_MAX_TEXT].decode(errors='ignore')}… ({len(text)} bytes)"


def _plain(name: str, value: Any) -> Any:
    if value is not None and _SECRET.search(name):
        return "(hidden)"
    if isinstance(value, dict):
        return {str(key): _plain(str(key), each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(name, each) for each in value]
    if isinstance(value, str):
        # Surrogates alone are no text.
        text = value[:_MAX_TEXT].encode(errors="replace").decode()
        return text if len(value) <= _MAX_TEXT else f"{text}… ({len(value)} characters)"
    # JSON has numbers of 64 bits.
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def _placed(entry: AuditEntry) -> _Placed:
    changes = orjson.loads(entry.changes)
    return (entry.at, entry.entry_id), {"by": entry.by, "at": entry.at, "call": entry.call, "changes": changes}


def _from_item(recorded: Recorded) -> _Placed:
    assert recorded.at is not None
    changes: dict[str, ValueChange] = {
        name: {"old": None, "new": _shown(name, value)} for name, value in recorded.changes.items()
    }
    view: AuditEntryView = {"by": recorded.by or "", "at": recorded.at, "call": recorded.call, "changes": changes}
    # Of one moment, what the item tells is older than any entry.
    return (recorded.at, f"{recorded.number:010}"), view


def _position(place: _Place) -> dict[str, Any]:
    return {"at": {"S": place[0].isoformat()}, "entry": {"S": place[1]}}


def _place_of(position: Mapping[str, Any]) -> _Place:
    return datetime.fromisoformat(position["at"]["S"]), position["entry"]["S"]


def _name_of(system: str, thing: str) -> str:
    """A thing as keys name it; a digest, where a key has no room for more."""
    text = thing.encode()
    return f"{system}/{thing if len(text) <= _MAX_NAME else sha256(text).hexdigest()}"
