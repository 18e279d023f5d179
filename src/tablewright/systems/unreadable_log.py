"""Items that cannot be read: of an older schema version, or written by another program.

``UnreadableLog`` writes them to the process's log once, by entity only, as a key may name a customer; counts them as a
metric each time; and shows them to Admins with the key. Lists leave them out (the store's ``TolerantReader``). A
request for the item itself is refused with a remedy (``system_router``).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock

from prometheus_client import Counter
from typing_extensions import TypedDict

from tablewright.runtime import Metrics
from tablewright.store import Unreadable

__all__ = ["UnreadableEntry", "UnreadableItem", "UnreadableLog", "describe", "unreadable_items"]

_MAX_ENTRIES = 1_000

_log = logging.getLogger(__name__)


def describe(error: Unreadable) -> str:
    """What is wrong with an item, without its key."""
    return f"{error.entity} cannot be read: {error.reason}"


class UnreadableItem(TypedDict):
    """An item that cannot be read: its key, and what is wrong with it."""

    entity: str
    key: str
    reason: str


def unreadable_items(errors: Iterable[Unreadable]) -> list[UnreadableItem]:
    """Items that a list has left out, as a response shows them."""
    return [{"entity": each.entity, "key": str(each.key), "reason": each.reason} for each in errors]


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """An item that could not be read: when and how often this process read it."""

    error: Unreadable
    first: datetime
    latest: datetime
    times: int = 1


class UnreadableLog:
    """The items that one system could not read since this process started; the latest thousand of them."""

    def __init__(
        self, system: str, metrics: Metrics | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._system = system
        self._now = now
        self._entries: OrderedDict[tuple[str, str], UnreadableEntry] = OrderedDict()
        self._lock = Lock()
        self._counter = None
        if metrics is not None:
            self._counter = Counter(
                f"{system}_unreadable_items_total",
                "Reads of items that are not valid as their entity",
                ["entity"],
                registry=metrics.registry,
            )

    def add(self, error: Unreadable) -> None:
        key, now = (error.entity, str(error.key)), self._now()
        with self._lock:
            known = self._entries.pop(key, None)
            if known is None:
                self._entries[key] = UnreadableEntry(error, now, now)
            else:
                self._entries[key] = replace(known, error=error, latest=now, times=known.times + 1)
            if len(self._entries) > _MAX_ENTRIES:
                self._entries.popitem(last=False)
        if self._counter is not None:
            self._counter.labels(error.entity).inc()
        if known is None:
            # Neither its key nor what is wrong with it: both may contain data of a customer.
            _log.error(
                "an item cannot be read; see GET /unreadable",
                extra={"system": self._system, "code": error.entity},
            )

    @property
    def latest(self) -> list[UnreadableEntry]:
        """The latest first."""
        with self._lock:
            return list(reversed(self._entries.values()))
