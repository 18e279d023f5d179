"""The preferences of customers, and every change of them: values before and after, who made it, when and how.

    Preferences        the current preferences of a customer
    PreferenceChange   a record of each change, in the transaction that makes it

An opt-out stays in effect until it is changed explicitly: a replacement that omits a field that the customer has set
(``replaced``) is refused, and a partial change (``patched``) changes only the fields that it names.

A stored change is effective immediately. Runs, events and deliveries read it consistently, and lists leave out unwanted
candidates whenever they are read (``is_wanted``), whatever was written meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Literal

from tablewright.runtime import UNSEEN, Seen, StateConflict
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Conflict,
    Create,
    Put,
    TolerantPage,
    Unreadable,
    VersionConflict,
)
from tablewright.systems.engagement.model import (
    MAX_PROGRAMS_OFF,
    Candidate,
    ChannelEntry,
    PreferenceChange,
    Preferences,
)

__all__ = ["CustomerPreferences", "Scope", "is_allowed", "is_wanted", "patched", "replaced", "unsubscribed"]

_ATTEMPTS = 10
_FIELDS = ("opted_out", "channels_off", "programs_off", "quiet_hours")
_SENT = {
    "opted_out": "optedOut",
    "channels_off": "channelsOff",
    "programs_off": "programsOff",
    "quiet_hours": "quietHours",
}

Scope = Literal["program", "everything"]
# The new preferences of a customer, from the old ones, which are None if they cannot be read.
Change = Callable[[Preferences | None], dict[str, Any]]


def replaced(values: dict[str, Any], named: Collection[str]) -> Change:
    """Replace all preferences; StateConflict if a field that the customer has set is not ``named``."""

    def change(before: Preferences | None) -> dict[str, Any]:
        if before is None:
            lost = [] if "opted_out" in named else ["opted_out"]
        else:
            lost = [name for name in _FIELDS if name not in named and getattr(before, name)]
        if lost:
            names = ", ".join(_SENT[name] for name in lost)
            raise StateConflict(f"this would undo choices of the customer: include {names} too, or use PATCH")
        return values

    return change


def patched(values: dict[str, Any]) -> Change:
    """Change some preferences, and keep the others."""

    def change(before: Preferences | None) -> dict[str, Any]:
        if before is None:
            raise StateConflict("the preferences cannot be read: put all of them again")
        return {name: getattr(before, name) for name in _FIELDS} | values

    return change


def unsubscribed(program_id: str, scope: Scope) -> Change:
    """Opt out of a program, or of everything; also of everything if there is no room for another program."""

    def change(before: Preferences | None) -> dict[str, Any]:
        kept = {} if before is None else {name: getattr(before, name) for name in _FIELDS}
        programs: list[str] = kept.get("programs_off", [])
        if scope == "program" and program_id in programs:
            return kept
        # Preferences that cannot be read may have been an opt-out of everything.
        if before is None or scope == "everything" or len(programs) >= MAX_PROGRAMS_OFF:
            return kept | {"opted_out": True}
        return kept | {"programs_off": [*programs, program_id]}

    return change


class CustomerPreferences:
    """Reads and changes preferences."""

    def __init__(self, store: AsyncStore, reader: AsyncTolerantReader, now: Callable[[], datetime]) -> None:
        self._store = store
        self._reader = reader
        self._now = now

    async def get(self, customer_id: str) -> Preferences:
        """The preferences of a customer; by default, everything is wanted."""
        found = await self._store.get(Preferences.of_customer(customer_id), consistent=True)
        return found or Preferences(customer_id=customer_id)

    async def change(
        self, customer_id: str, change: Change, *, by: str, source: str = "api", seen: Seen = UNSEEN
    ) -> Preferences:
        """Change the preferences of a customer, and record the change; unchanged values are not written."""
        lookup = Preferences.of_customer(customer_id)
        for _ in range(_ATTEMPTS):
            found = await self._reader.one(lookup, consistent=True)
            if isinstance(found, Unreadable):
                if seen.tags is not None:
                    raise found
                before, version = None, await self._reader.version(lookup)
            else:
                # A customer without stored preferences is shown the default ones.
                before = found or Preferences(customer_id=customer_id)
                seen.require(before)
                version = before.version
            after = Preferences(customer_id=customer_id, version=version, **change(before))
            changes = _changes(before, after)
            if before is not None and not changes:
                return before
            record = PreferenceChange(
                customer_id=customer_id,
                number=version + 1,
                at=self._now(),
                changed_by=by,
                source=source,
                changes=changes,
            )
            try:
                # Preferences without a version are new, or were written by another program, whose item is replaced.
                await self._store.transact(Put(after), Create(record) if version else Put(record))
            except Cancelled as cancelled:
                passing = (AlreadyExists, VersionConflict, Conflict)
                if not any(isinstance(reason, passing) for reason in cancelled.reasons):
                    raise
                if seen.tags is not None and "*" not in seen.tags:
                    raise seen.outrun("someone else changed these preferences; read them again") from None
                continue
            return await self.get(customer_id)
        raise StateConflict("other requests keep changing these preferences; try again")

    async def history(
        self, customer_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> TolerantPage[PreferenceChange]:
        """Changes of a customer's preferences, latest first."""
        selection = PreferenceChange.of_customer(customer_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def of_each(self, items: Sequence[Candidate | ChannelEntry]) -> list[Preferences | Unreadable | None]:
        """The preferences of the customer of each item."""
        lookups = {each.customer_id: Preferences.of_customer(each.customer_id) for each in items}
        found = await self._reader.each(list(lookups.values()), consistent=True)
        by_customer = dict(zip(lookups, found, strict=True))
        return [by_customer[each.customer_id] for each in items]


def is_allowed(preferences: Preferences | Unreadable | None, program_id: str) -> bool:
    """Whether a program may use the data of a customer; not if the preferences cannot be read."""
    if preferences is None:
        return True
    if not isinstance(preferences, Preferences) or preferences.opted_out:
        return False
    return program_id not in preferences.programs_off


def is_wanted(preferences: Preferences | Unreadable | None, program_id: str, channel_id: str) -> bool:
    """Whether a customer wants a program through a channel."""
    if not is_allowed(preferences, program_id):
        return False
    return not isinstance(preferences, Preferences) or channel_id not in preferences.channels_off


def _changes(before: Preferences | None, after: Preferences) -> dict[str, Any]:
    """The changed fields with both values; all fields if the previous values are unknown."""
    found: dict[str, Any] = {}
    for name in _FIELDS:
        new = _plain(getattr(after, name))
        if before is None:
            found[_SENT[name]] = {"after": new}
        elif (old := _plain(getattr(before, name))) != new:
            found[_SENT[name]] = {"before": old, "after": new}
    return found


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True) if hasattr(value, "model_dump") else value
