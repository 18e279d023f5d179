"""Unions: stored values of one member may be read as another member.

pydantic tries all members of a union. Of those that accept a value it takes the best match: of models the one with the
most fields set, and of equal ones the first. So a member that comes before the one that wrote a value, and accepts it
as well, is what the value is read as from now on.
"""

from __future__ import annotations

from collections.abc import Sequence

from tablewright.design.diff.change import Described
from tablewright.design.diff.limit_changes import is_exact
from tablewright.design.diff.value_types import Alternative, Type, tag_of

__all__ = ["taker"]

# Types that are stored as they are; a map of such values matches a stored map better than any model.
_AS_STORED = frozenset({"str", "int", "bool"})
_ALL = frozenset({"any", "other"})


def taker(
    stored: Alternative, best: Alternative | None, union: Type, old_models: Described, new_models: Described
) -> Alternative | None:
    """The member of a union that accepts some stored values that ``best`` should read."""
    if best is None:
        return None
    before = union[: union.index(best)]
    if stored["kind"] == best["kind"] == "datetime":
        return next((each for each in before if each["kind"] == "date"), None)
    if best["kind"] == "Decimal" and stored["kind"] in ("int", "Decimal"):
        kinds = {each["kind"] for each in union}
        exact = stored["kind"] == "int" and is_exact(stored)
        return None if exact or "int" in kinds else next((each for each in union if each["kind"] == "float"), None)
    overlap = _Overlap(old_models, new_models)
    if stored["kind"] == "model":
        others = [each for each in union if each is not best]
        return next((each for each in others if _takes_model(each, each in before, stored, overlap)), None)
    if stored["kind"] == "map" and not _is_as_stored(best):
        return next((each for each in before if each["kind"] == "model"), None)
    if stored["kind"] == "list" and _has_members(stored["items"]):
        return next((each for each in before if each["kind"] == "list" and overlap.of(stored, each)), None)
    return None


def _takes_model(other: Alternative, comes_before: bool, stored: Alternative, overlap: _Overlap) -> bool:
    if other["kind"] == "map" and _is_as_stored(other):
        return overlap.of(stored, other)
    return comes_before and other["kind"] in ("model", "map", "any") and overlap.of(stored, other)


def _is_as_stored(alternative: Alternative) -> bool:
    return alternative["kind"] == "map" and all(each["kind"] in _AS_STORED for each in alternative["values"])


def _has_members(items: Sequence[Alternative]) -> bool:
    return any(each["kind"] in ("model", "map") for each in items)


class _Overlap:
    """Whether a stored value of one type may be accepted by another."""

    def __init__(self, old: Described, new: Described) -> None:
        self._old = old
        self._new = new
        # Models that are being compared; a recursive one is not entered again.
        self._within: set[tuple[str, str]] = set()

    def of(self, stored: Alternative, other: Alternative) -> bool:
        if stored["kind"] in _ALL or other["kind"] in _ALL:
            return True
        if tag_of(stored) != tag_of(other):
            return False
        match stored["kind"], other["kind"]:
            case "choice", "choice":
                return not set(stored["values"]).isdisjoint(other["values"])
            case "model", "model":
                return self._models(stored["name"], other["name"])
            case "model", "map":
                members = self._old[stored["name"]]["members"].values()
                return all(self._any(member["type"], other["values"]) for member in members if _is_always_there(member))
            case "list", "list":
                return self._any(stored["items"], other["items"])
        return True

    def _any(self, stored: Type, other: Type) -> bool:
        return any(self.of(each, one) for each in stored for one in other)

    def _models(self, old: str, new: str) -> bool:
        if (old, new) in self._within:
            return True
        self._within.add((old, new))
        stored, model = self._old[old]["members"], self._new[new]
        for name, member in stored.items():
            known = model["members"].get(name)
            if known is None:
                # A model without the member is a worse match than the one that wrote it.
                if _is_always_there(member):
                    return False
            elif _is_always_there(member) and not self._any(member["type"], known["type"]):
                return False
        return all(name in stored for name, member in model["members"].items() if member["absent"] == "refused")


def _is_always_there(member: Described) -> bool:
    """Whether a stored model always has a member: None and empty sets are not stored."""
    return all(each["kind"] not in ("None", "set", "any") for each in member["type"])
