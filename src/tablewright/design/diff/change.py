"""One change between two versions of a design, and its impact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Described", "DesignChange", "Impact", "most_severe", "named_changes"]

# A part of a snapshot.
Described = Mapping[str, Any]


class Impact(StrEnum):
    """What a change means for stored data, from the least to the most severe."""

    FREE = "free"
    NEW_INDEX = "new index"
    BACKFILL = "backfill"
    RE_KEY = "re-key"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class DesignChange:
    """One change: its place, what changes, the migration steps, and what to declare in the new version first."""

    impact: Impact
    place: str
    what: str
    steps: tuple[str, ...] = ()
    declaration: str = ""


def named_changes(old: Described, new: Described) -> Iterator[tuple[str, str]]:
    """The names that were removed, added or changed."""
    for name in {**old, **new}:
        if name not in new:
            yield name, "removed"
        elif name not in old:
            yield name, "added"
        elif old[name] != new[name]:
            yield name, "changed"


def most_severe(found: Sequence[DesignChange]) -> Impact | None:
    """The most severe impact of some changes; None if there are no changes."""
    order = list(Impact)
    return max((change.impact for change in found), key=order.index, default=None)
