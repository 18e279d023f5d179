"""Items that cannot be read: an older schema version, or the work of another program.

They are noted (``Notes``): logged once, by the entity alone, as a key may name a customer; counted each time; and shown
to Admins with the key. What does not need them reads around them (the store's ``TolerantReader``). Whoever needs the
very item gets a refusal that says what to do (``TellingRouter``).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import wraps
from threading import Lock
from types import MappingProxyType
from typing import Any

from fastapi import APIRouter
from prometheus_client import Counter
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tablewright.runtime.errors import Clash
from tablewright.runtime.metrics import Metrics
from tablewright.store import Unreadable

__all__ = ["NoteList", "Notes", "TellingRouter", "UnreadableItem", "shown", "told"]

# Items that are remembered.
_MOST_NOTED = 1_000
# What to do where nothing else helps.
_MEND = "somebody has to mend it in the table; until then, what does not need it works"

_log = logging.getLogger(__name__)


def told(error: Unreadable) -> str:
    """What is wrong, without saying which item it is."""
    return f"{error.entity} cannot be read: {error.reason}"


class UnreadableItem(TypedDict):
    """An item that cannot be read: which one, and what is wrong with it."""

    entity: str
    key: str
    reason: str


def shown(errors: Iterable[Unreadable]) -> list[UnreadableItem]:
    """Items that a list left out."""
    return [{"entity": each.entity, "key": str(each.key), "reason": each.reason} for each in errors]


# -- noting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Note:
    """An item that could not be read: since when, and how often that was noticed here."""

    error: Unreadable
    first: datetime
    latest: datetime
    times: int = 1


class Notes:
    """What could not be read since this process began, in one system; the latest thousand items."""

    def __init__(
        self, system: str, metrics: Metrics | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._system = system
        self._now = now
        self._noted: OrderedDict[tuple[str, str], Note] = OrderedDict()
        self._lock = Lock()
        self._counter = None
        if metrics is not None:
            self._counter = Counter(
                f"{system}_unreadable_items_total",
                "Reads of items that do not fit their entity",
                ["entity"],
                registry=metrics.registry,
            )

    def add(self, error: Unreadable) -> None:
        key, now = (error.entity, str(error.key)), self._now()
        with self._lock:
            known = self._noted.pop(key, None)
            if known is None:
                self._noted[key] = Note(error, now, now)
            else:
                self._noted[key] = replace(known, error=error, latest=now, times=known.times + 1)
            if len(self._noted) > _MOST_NOTED:
                self._noted.popitem(last=False)
        if self._counter is not None:
            self._counter.labels(error.entity).inc()
        if known is None:
            # Neither its key nor what is wrong with it: both may have words of a customer's.
            _log.error(
                "an item cannot be read; /unreadable tells which", extra={"system": self._system, "code": error.entity}
            )

    @property
    def latest(self) -> list[Note]:
        """The latest first."""
        with self._lock:
            return list(reversed(self._noted.values()))


# -- refusing -----------------------------------------------------------------------------------------------------


class TellingRouter(APIRouter):
    """A router whose routes answer with what to do, when the item that they are about cannot be read."""

    def __init__(self, service: str, remedies: Mapping[str, str] = MappingProxyType({}), **options: Any) -> None:
        """``service`` is the argument of every route that has ``notes``; ``remedies`` say what to do, by entity."""
        super().__init__(**options)
        self._service = service
        self._remedies = remedies

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().add_api_route(path, self._telling(endpoint), **options)

    def _telling(self, endpoint: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(endpoint)
        async def route(**arguments: Any) -> Any:
            try:
                return await endpoint(**arguments)
            except Unreadable as error:
                notes: Notes = arguments[self._service].notes
                notes.add(error)
                remedy = self._remedies.get(error.entity, _MEND)
                raise Clash(
                    f"{error.entity} {error.key} is stored in a form that cannot be read ({error.reason}): {remedy}",
                    entity=error.entity,
                ) from None

        return route


class NoteView(BaseModel):
    entity: str = Field(examples=["Program"])
    key: str = Field(description="which one it is", examples=["program_id retail, marketplace_id US"])
    reason: str = Field(description="what is wrong with it", examples=["channels: Field required"])
    first: datetime = Field(description="when that was noticed first")
    latest: datetime
    times: int = Field(description="how often")


class NoteList(BaseModel):
    unreadable: list[NoteView]

    @classmethod
    def of(cls, notes: Notes) -> NoteList:
        return cls(
            unreadable=[
                NoteView(
                    entity=each.error.entity,
                    key=str(each.error.key),
                    reason=each.error.reason,
                    first=each.first,
                    latest=each.latest,
                    times=each.times,
                )
                for each in notes.latest
            ]
        )
