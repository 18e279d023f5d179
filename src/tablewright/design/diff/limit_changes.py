"""Limits of values: lengths, bounds, digits and patterns; which of them became tighter."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from tablewright.design.diff.change import Described

__all__ = ["EXACT", "is_exact", "looser", "tighter"]

# Integers up to here are exact as floats.
EXACT = 2**53

# Limits that are looser where they are larger.
_UPPER = ("maximum length", "maximum digits", "maximum decimals")
_BOUNDS = ("at least", "above", "at most", "below")


def tighter(old: Described, new: Described, *, whole: bool) -> list[str]:
    """The limits that became tighter, in words; ``whole`` is for integers."""
    found = [
        f"{name} {value}" + (f" instead of {old[name]}" if name in old else "")
        for name, value in new.items()
        if name not in _BOUNDS and not _allows(name, old, value)
    ]
    for inclusive, exclusive, sign in (("at least", "above", 1), ("at most", "below", -1)):
        name = exclusive if exclusive in new else inclusive
        if name in new and not _is_within(old, new, inclusive, exclusive, sign, whole=whole):
            was = next((f" instead of {each} {old[each]}" for each in (exclusive, inclusive) if each in old), "")
            found.append(f"{name} {new[name]}{was}")
    return found


def looser(old: Described, new: Described, *, whole: bool) -> bool:
    """Whether some limit became looser."""
    return bool(tighter(new, old, whole=whole))


def _allows(name: str, old: Described, value: Any) -> bool:
    """Whether all values that were accepted are within a limit."""
    if name not in old:
        return False
    before = old[name]
    if before == value:
        return True
    if name in _UPPER:
        return bool(value >= before)
    if name == "minimum length":
        return bool(value <= before)
    if name == "multiple of":
        return Decimal(str(before)) % Decimal(str(value)) == 0
    return False


def _is_within(old: Described, new: Described, inclusive: str, exclusive: str, sign: int, *, whole: bool) -> bool:
    """Whether the old bound on one side is within the new one."""
    before, after = (_bound(limits, inclusive, exclusive, sign, whole=whole) for limits in (old, new))
    if before is None or after is None:
        return after is None
    if before[0] == after[0]:
        return before[1] or not after[1]
    try:
        return bool(before[0] > after[0]) if sign > 0 else bool(before[0] < after[0])
    except TypeError:
        return False


def _bound(limits: Described, inclusive: str, exclusive: str, sign: int, *, whole: bool) -> tuple[Any, bool] | None:
    """A bound, and whether it is exclusive; the bound of an integer is inclusive."""
    name = exclusive if exclusive in limits else inclusive
    if name not in limits:
        return None
    value = limits[name]
    try:
        value = Decimal(str(value))
    except InvalidOperation:
        # A time: written so that text sorts as times do.
        return value, name == exclusive
    if whole and name == exclusive and value == value.to_integral_value():
        return value + sign, False
    return value, name == exclusive


def is_exact(number: Described) -> bool:
    """Whether all integers of a type are exact as floats."""
    limits = number.get("limits", {})
    lowest, highest = limits.get("at least", limits.get("above")), limits.get("at most", limits.get("below"))
    return lowest is not None and highest is not None and int(lowest) >= -EXACT and int(highest) <= EXACT
