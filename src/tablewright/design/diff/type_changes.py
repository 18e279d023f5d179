"""Changes of types: stored values that are no longer accepted, or are read as something else.

``differences(old, new)`` goes through the members of the old union, and finds for each the member of the new union that
reads its stored values best. A type that accepts the stored value itself (``str`` for S, a number for N) reads whatever
is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from tablewright.design.diff.change import Described, Impact
from tablewright.design.diff.limit_changes import EXACT, is_exact, looser, tighter
from tablewright.design.diff.union_changes import taker
from tablewright.design.diff.value_types import Alternative, Type, tag_of

__all__ = ["MORE", "Models", "TypeDifference", "differences", "field_differences"]

MORE = "accepts more values"
_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a floating-point number",
    "Decimal": "a decimal number",
    "bool": "a boolean",
    "bytes": "bytes",
    "UUID": "a UUID",
    "date": "a date",
    "datetime": "a datetime",
    "seconds": "a time in seconds",
    "milliseconds": "a time in milliseconds",
    "list": "a list",
    "set": "a set",
    "tuple": "a tuple",
    "map": "a map",
    "None": "None",
    "any": "anything",
}
# Types that read stored values of others as they are stored.
_READS: dict[str, frozenset[str]] = {
    "str": frozenset({"UUID", "date", "datetime"}),
    "int": frozenset({"seconds", "milliseconds"}),
    "float": frozenset({"seconds", "milliseconds"}),
    "Decimal": frozenset({"int", "float", "seconds", "milliseconds"}),
}
_LENGTHS = {"UUID": 36, "date": 10, "datetime": 27}


@dataclass(frozen=True, slots=True)
class TypeDifference:
    """The impact of a type change on stored values: of the field itself, or of a member of a nested model."""

    impact: Impact
    what: str
    path: tuple[str, ...] = ()


class Models:
    """The nested models of two versions of an entity, and the results of comparing each pair once."""

    def __init__(self, old: Described, new: Described) -> None:
        self.old = old
        self.new = new
        self.compared: dict[tuple[str, str], tuple[TypeDifference, ...]] = {}


def field_differences(old: Described, new: Described, models: Models) -> Iterator[TypeDifference]:
    """Differences of a field, or of a member of a model: its type, and its value when absent."""
    before = [each for each in old["type"] if each["kind"] != "None"]
    after = [each for each in new["type"] if each["kind"] != "None"]
    yield from differences(before, after, models)
    takes_none = len(after) < len(new["type"]) or any(each["kind"] == "any" for each in after)
    if old.get("nulls") and not takes_none:
        yield TypeDifference(Impact.UNSAFE, "stored values may be None, which is no longer accepted")
    yield from _absence(old["absent"], new["absent"])


def _absence(old: object, new: object) -> Iterator[TypeDifference]:
    if old == new:
        return
    if new == "refused":
        yield TypeDifference(Impact.BACKFILL, "no longer has a default: items without it become unreadable")
    elif old == "refused":
        yield TypeDifference(Impact.FREE, "may now be absent")
    elif old in ("None", "empty"):
        was = "None" if old == "None" else "an empty set"
        yield TypeDifference(
            Impact.BACKFILL, f"items with {was} lack the attribute, and are now read with {_default(new)}"
        )
    else:
        yield TypeDifference(Impact.FREE, f"the default changes: items that lack it are now read with {_default(new)}")


def _default(absent: object) -> str:
    if isinstance(absent, dict):
        return str(absent["default"])
    return {"None": "None", "empty": "an empty set"}.get(str(absent), "a default")


# -- types ----------------------------------------------------------------------------------------------------------


def differences(old: Type, new: Type, models: Models) -> Iterator[TypeDifference]:
    """Differences from one type to another."""
    before, after = {tag_of(each) for each in old}, {tag_of(each) for each in new}
    read = before if "?" in after else before & after
    if read != before and "?" not in before:
        yield TypeDifference(Impact.UNSAFE, f"was stored as {_or(before)}, is now stored as {_or(after)}")
    used: list[Alternative] = []
    for alternative in old:
        if tag_of(alternative) not in read and tag_of(alternative) != "?":
            continue
        best, found = _best(alternative, new, models)
        used += [] if best is None else [best]
        yield from found
        other = taker(alternative, best, new, models.old, models.new)
        if other and not taker(alternative, alternative, old, models.old, models.old):
            yield TypeDifference(Impact.UNSAFE, f"some values of {_shown(alternative)} are now read as {_shown(other)}")
    if any(each not in used for each in new):
        yield TypeDifference(Impact.FREE, MORE)


def _best(alternative: Alternative, new: Type, models: Models) -> tuple[Alternative | None, list[TypeDifference]]:
    """The member of the new union that reads stored values of an old member, with the least difference."""
    order = list(Impact)

    def gravity(pair: tuple[Alternative, list[TypeDifference]]) -> tuple[int, int, bool]:
        other, found = pair
        worst = max((order.index(each.impact) for each in found), default=-1)
        # Of models that are alike, the one of the same name is the same.
        return worst, len(found), other != alternative

    tried = [(each, list(_alternative(alternative, each, models))) for each in new]
    return min(tried, key=gravity, default=(None, []))


def _alternative(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    match old["kind"], new["kind"]:
        case "any", "any":
            return
        case _, "any":
            yield TypeDifference(Impact.FREE, MORE)
        case "any", _:
            yield TypeDifference(Impact.UNSAFE, f"now accepts only {_shown(new)}; before, anything")
        case "choice", "choice":
            yield from _choices(old, new)
        case "choice", _:
            yield from _from_choice(old, new)
        case _, "choice":
            yield TypeDifference(Impact.UNSAFE, f"now accepts only {_shown(new)}; before, {_shown(old)}")
        case "model", "model":
            yield from _models(old, new, models)
        case "model", "map":
            yield from _model_as_map(old, new, models)
        case "tuple", "tuple" | "list":
            yield from _tuples(old, new, models)
        case kind, other if kind == other:
            yield from _parts(old, new, models)
            yield from _limits(old, new)
        case kind, other if kind in _READS.get(other, ()):
            yield from _as_stored(old, new)
        case "int", "float" if is_exact(old):
            yield from _limits(old, new)
            yield TypeDifference(Impact.FREE, MORE)
        case "int", "float":
            yield TypeDifference(Impact.UNSAFE, f"integers above {EXACT:,} are rounded when they are read")
        case _:
            yield TypeDifference(Impact.UNSAFE, f"was {_shown(old)}, is now {_shown(new)}")


def _parts(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    """Differences of the contents of two containers of one type."""
    if old["kind"] == "other" and old["name"] != new["name"]:
        yield TypeDifference(Impact.UNSAFE, f"was {_shown(old)}, is now {_shown(new)}")
    if new.get("class") is not None and old.get("class") != new["class"]:
        yield TypeDifference(Impact.UNSAFE, f"now accepts what {new['class']} accepts; before, {_shown(old)}")
    for part, words in (("items", "its members"), ("values", "its values")):
        if part in old and part in new:
            yield from _inside(words, differences(old[part], new[part], models))
    if "keys" in old and "keys" in new:
        yield from _inside("its keys", _key_differences(old["keys"], new["keys"], models))


def _key_differences(old: Type, new: Type, models: Models) -> Iterator[TypeDifference]:
    """Keys of a map are stored as strings, whatever their type."""
    if old != new and {"kind": "str"} in new:
        yield TypeDifference(Impact.FREE, MORE)
    else:
        yield from differences(old, new, models)


def _inside(words: str, found: Iterator[TypeDifference]) -> Iterator[TypeDifference]:
    """Differences of the contents of a container; a member of a model has a place of its own."""
    for each in found:
        yield each if each.path or each.what == MORE else replace(each, what=f"{words}: {each.what}")


def _tuples(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    if new["kind"] == "list":
        for items in old["items"]:
            yield from _inside("its members", differences(items, new["items"], models))
        length = len(old["items"])
        yield from _limits({**old, "limits": {"minimum length": length, "maximum length": length}}, new)
    elif len(old["items"]) != len(new["items"]):
        yield TypeDifference(Impact.UNSAFE, f"had {len(old['items'])} members, now has {len(new['items'])}")
    else:
        for number, (before, after) in enumerate(zip(old["items"], new["items"], strict=True), 1):
            yield from _inside(f"its member {number}", differences(before, after, models))


def _choices(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    if tag_of(old) != tag_of(new):
        yield TypeDifference(Impact.UNSAFE, f"now accepts only {_shown(new)}")
        return
    gone = [value for value in old["values"] if value not in new["values"]]
    if gone:
        yield TypeDifference(Impact.UNSAFE, f"no longer accepts {', '.join(gone)}")
    if any(value not in old["values"] for value in new["values"]):
        yield TypeDifference(Impact.FREE, MORE)


def _from_choice(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    """Literals or enum members that become a whole type."""
    whole = all("." not in value for value in old["values"])
    reads = {"S": {"str"}, "N": {"Decimal", "float"} | ({"int"} if whole else set()), "BOOL": {"bool"}, "B": {"bytes"}}
    if new["kind"] not in reads.get(tag_of(old), ()) or "class" in new:
        yield TypeDifference(Impact.UNSAFE, f"was {_shown(old)}, is now {_shown(new)}")
        return
    limits = new.get("limits", {})
    known = _limits_of([json.loads(value)[tag_of(old)] for value in old["values"]], tag_of(old), limits)
    narrow = tighter(known, limits, whole=False)
    if narrow:
        yield TypeDifference(Impact.UNSAFE, f"accepts fewer values: {', '.join(narrow)}")
    yield TypeDifference(Impact.FREE, MORE)


def _limits_of(values: Sequence[str], tag: str, wanted: Described) -> dict[str, Any]:
    """The limits that some stored values are within."""
    if tag == "S":
        return {"minimum length": min(map(len, values)), "maximum length": max(map(len, values))}
    if tag != "N":
        return {}
    numbers = [Decimal(value) for value in values]
    known: dict[str, Any] = {"at least": min(numbers), "at most": max(numbers)}
    divisor = wanted.get("multiple of")
    if divisor is not None and all(number % Decimal(str(divisor)) == 0 for number in numbers):
        known["multiple of"] = divisor
    return known


def _as_stored(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    """Stored values of another type, read as they are stored."""
    length = _LENGTHS.get(old["kind"])
    if length is not None:
        old = {**old, "limits": {"minimum length": length, "maximum length": length}}
    yield from _limits(old, new)
    if "class" in new:
        yield TypeDifference(Impact.UNSAFE, f"now accepts what {new['class']} accepts; before, {_shown(old)}")
    yield TypeDifference(Impact.FREE, MORE)


def _limits(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    before, after = old.get("limits", {}), new.get("limits", {})
    whole = old["kind"] == "int"
    narrow = tighter(before, after, whole=whole)
    if narrow:
        yield TypeDifference(Impact.UNSAFE, f"accepts fewer values: {', '.join(narrow)}")
    elif looser(before, after, whole=whole):
        yield TypeDifference(Impact.FREE, MORE)


# -- models ---------------------------------------------------------------------------------------------------------


def _models(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    names = (old["name"], new["name"])
    if names not in models.compared:
        # A recursive model is compared where it occurs first.
        models.compared[names] = ()
        before, after = models.old[old["name"]], models.new[new["name"]]
        found = list(_members(before["members"], after["members"], models))
        if after.get("closed") and not before.get("closed"):
            found.append(TypeDifference(Impact.UNSAFE, f"{new['name']} now refuses unknown members"))
        models.compared[names] = tuple(found)
    yield from models.compared[names]


def _members(old: Described, new: Described, models: Models) -> Iterator[TypeDifference]:
    for name in {**old, **new}:
        if name in old and name in new:
            found = field_differences(old[name], new[name], models)
            yield from (replace(each, path=(name, *each.path)) for each in found)
        elif name in old:
            what = "removed from a nested model: its stored value is lost at the next write, or refused"
            yield TypeDifference(Impact.UNSAFE, what, (name,))
        elif new[name]["absent"] == "refused":
            what = "added without a default: stored items lack it, and become unreadable"
            yield TypeDifference(Impact.BACKFILL, what, (name,))
        else:
            yield TypeDifference(Impact.FREE, "added", (name,))


def _model_as_map(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    """A model that is read as a map: names become keys, members become values."""
    yield from _inside("its keys", differences([{"kind": "str"}], new["keys"], models))
    names = (old["name"], repr(new))
    if names not in models.compared:
        models.compared[names] = ()
        found: list[TypeDifference] = []
        for name, member in models.old[old["name"]]["members"].items():
            stored = [each for each in member["type"] if each["kind"] != "None" or member.get("nulls")]
            refused = [each for each in differences(stored, new["values"], models) if each.impact is not Impact.FREE]
            found += [replace(each, path=(name, *each.path)) for each in refused]
        models.compared[names] = tuple(found)
    yield from models.compared[names]
    yield TypeDifference(Impact.FREE, MORE)


# -- words ----------------------------------------------------------------------------------------------------------


def _shown(alternative: Alternative) -> str:
    kind = alternative["kind"]
    if kind == "choice":
        return ", ".join(alternative["values"])
    if kind in ("model", "other"):
        return str(alternative["name"])
    return str(alternative.get("class") or _WORDS.get(kind, kind))


def _or(tags: set[str]) -> str:
    return " or ".join(sorted(tags)) or "nothing"
