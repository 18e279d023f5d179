"""Changes of types: which stored values are no longer read, or read as something else.

``differences(old, new)`` goes through what the old type can have stored, and finds for each alternative the one of the
new type that reads it best. What is stored stays as it is; so a type that takes the stored value itself (text for what
is stored as S, a number for what is stored as N) reads whatever is stored there.
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

MORE = "accepts more"
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a floating-point number",
    "Decimal": "a decimal number",
    "bool": "true or false",
    "bytes": "bytes",
    "UUID": "a UUID",
    "date": "a date",
    "datetime": "a time",
    "seconds": "a time in seconds",
    "milliseconds": "a time in milliseconds",
    "list": "a list",
    "set": "a set",
    "tuple": "a tuple",
    "map": "a map",
    "None": "None",
    "any": "anything",
}
# Types that read what others have stored, as it is stored.
_READS: dict[str, frozenset[str]] = {
    "str": frozenset({"UUID", "date", "datetime"}),
    "int": frozenset({"seconds", "milliseconds"}),
    "float": frozenset({"seconds", "milliseconds"}),
    "Decimal": frozenset({"int", "float", "seconds", "milliseconds"}),
}
_LENGTHS = {"UUID": 36, "date": 10, "datetime": 27}


@dataclass(frozen=True, slots=True)
class TypeDifference:
    """What a change of a type means for stored values: at the field itself, or at a member of a model in it."""

    kind: Impact
    what: str
    path: tuple[str, ...] = ()


class Models:
    """The models of two versions of an entity, and how far they are compared: each pair of them once."""

    def __init__(self, old: Described, new: Described) -> None:
        self.old = old
        self.new = new
        self.compared: dict[tuple[str, str], tuple[TypeDifference, ...]] = {}


def field_differences(old: Described, new: Described, models: Models) -> Iterator[TypeDifference]:
    """Of a field, or of a member of a model: its type, and what it means that it is absent."""
    before = [each for each in old["type"] if each["kind"] != "None"]
    after = [each for each in new["type"] if each["kind"] != "None"]
    yield from differences(before, after, models)
    takes_none = len(after) < len(new["type"]) or any(each["kind"] == "any" for each in after)
    if old.get("nulls") and not takes_none:
        yield TypeDifference(Impact.UNSAFE, "None is stored so far, and not accepted now")
    yield from _absence(old["absent"], new["absent"])


def _absence(old: object, new: object) -> Iterator[TypeDifference]:
    if old == new:
        return
    if new == "refused":
        yield TypeDifference(
            Impact.BACKFILL, "has no default any more: items without it are refused when they are read"
        )
    elif old == "refused":
        yield TypeDifference(Impact.FREE, "may be absent now")
    elif old in ("None", "empty"):
        was = "None" if old == "None" else "an empty set"
        yield TypeDifference(Impact.BACKFILL, f"items that have {was} lack it, and are read with {_default(new)} now")
    else:
        yield TypeDifference(Impact.FREE, f"another default: items that lack it are read with {_default(new)} now")


def _default(absent: object) -> str:
    if isinstance(absent, dict):
        return str(absent["default"])
    return {"None": "None", "empty": "an empty set"}.get(str(absent), "a default")


# -- types ----------------------------------------------------------------------------------------------------------


def differences(old: Type, new: Type, models: Models) -> Iterator[TypeDifference]:
    """From one type to another."""
    before, after = {tag_of(each) for each in old}, {tag_of(each) for each in new}
    read = before if "?" in after else before & after
    if read != before and "?" not in before:
        yield TypeDifference(Impact.UNSAFE, f"stored as {_or(before)} so far, as {_or(after)} now")
    used: list[Alternative] = []
    for alternative in old:
        if tag_of(alternative) not in read and tag_of(alternative) != "?":
            continue
        best, found = _best(alternative, new, models)
        used += [] if best is None else [best]
        yield from found
        other = taker(alternative, best, new, models.old, models.new)
        if other and not taker(alternative, alternative, old, models.old, models.old):
            yield TypeDifference(Impact.UNSAFE, f"some are read as {_shown(other)} now, and were {_shown(alternative)}")
    if any(each not in used for each in new):
        yield TypeDifference(Impact.FREE, MORE)


def _best(alternative: Alternative, new: Type, models: Models) -> tuple[Alternative | None, list[TypeDifference]]:
    """The alternative of a type that reads what another one has stored, with the least difference."""
    order = list(Impact)

    def gravity(pair: tuple[Alternative, list[TypeDifference]]) -> tuple[int, int, bool]:
        other, found = pair
        most_severe = max((order.index(each.kind) for each in found), default=-1)
        # Of models that are alike, the one of the same name is the same.
        return most_severe, len(found), other != alternative

    tried = [(each, list(_alternative(alternative, each, models))) for each in new]
    return min(tried, key=gravity, default=(None, []))


def _alternative(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    match old["kind"], new["kind"]:
        case "any", "any":
            return
        case _, "any":
            yield TypeDifference(Impact.FREE, MORE)
        case "any", _:
            yield TypeDifference(Impact.UNSAFE, f"accepts {_shown(new)} only, and anything so far")
        case "choice", "choice":
            yield from _choices(old, new)
        case "choice", _:
            yield from _from_choice(old, new)
        case _, "choice":
            yield TypeDifference(Impact.UNSAFE, f"accepts {_shown(new)} only, and {_shown(old)} so far")
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
            yield TypeDifference(Impact.UNSAFE, f"whole numbers above {EXACT:,} are rounded when they are read")
        case _:
            yield TypeDifference(Impact.UNSAFE, f"{_shown(old)} so far, {_shown(new)} now")


def _parts(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    """What is inside of containers of one kind."""
    if old["kind"] == "other" and old["name"] != new["name"]:
        yield TypeDifference(Impact.UNSAFE, f"{_shown(old)} so far, {_shown(new)} now")
    if new.get("class") is not None and old.get("class") != new["class"]:
        yield TypeDifference(Impact.UNSAFE, f"accepts what {new['class']} accepts, and {_shown(old)} so far")
    for part, words in (("items", "its members"), ("values", "its values")):
        if part in old and part in new:
            yield from _inside(words, differences(old[part], new[part], models))
    if "keys" in old and "keys" in new:
        yield from _inside("its keys", _key_differences(old["keys"], new["keys"], models))


def _key_differences(old: Type, new: Type, models: Models) -> Iterator[TypeDifference]:
    """The keys of a map are stored as text, whatever they are."""
    if old != new and {"kind": "str"} in new:
        yield TypeDifference(Impact.FREE, MORE)
    else:
        yield from differences(old, new, models)


def _inside(words: str, found: Iterator[TypeDifference]) -> Iterator[TypeDifference]:
    """Differences inside of a container; a member of a model has a place of its own."""
    for each in found:
        yield each if each.path or each.what == MORE else replace(each, what=f"{words}: {each.what}")


def _tuples(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    if new["kind"] == "list":
        for items in old["items"]:
            yield from _inside("its members", differences(items, new["items"], models))
        length = len(old["items"])
        yield from _limits({**old, "limits": {"least length": length, "most length": length}}, new)
    elif len(old["items"]) != len(new["items"]):
        yield TypeDifference(Impact.UNSAFE, f"has {len(old['items'])} members so far, and {len(new['items'])} now")
    else:
        for number, (before, after) in enumerate(zip(old["items"], new["items"], strict=True), 1):
            yield from _inside(f"its member {number}", differences(before, after, models))


def _choices(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    if tag_of(old) != tag_of(new):
        yield TypeDifference(Impact.UNSAFE, f"accepts {_shown(new)} only")
        return
    gone = [value for value in old["values"] if value not in new["values"]]
    if gone:
        yield TypeDifference(Impact.UNSAFE, f"no longer accepts {', '.join(gone)}")
    if any(value not in old["values"] for value in new["values"]):
        yield TypeDifference(Impact.FREE, MORE)


def _from_choice(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    """A few values that any value of a kind is among now."""
    whole = all("." not in value for value in old["values"])
    reads = {"S": {"str"}, "N": {"Decimal", "float"} | ({"int"} if whole else set()), "BOOL": {"bool"}, "B": {"bytes"}}
    if new["kind"] not in reads.get(tag_of(old), ()) or "class" in new:
        yield TypeDifference(Impact.UNSAFE, f"{_shown(old)} so far, {_shown(new)} now")
        return
    limits = new.get("limits", {})
    known = _limits_of([json.loads(value)[tag_of(old)] for value in old["values"]], tag_of(old), limits)
    narrow = tighter(known, limits, whole=False)
    if narrow:
        yield TypeDifference(Impact.UNSAFE, f"accepts less: {', '.join(narrow)}")
    yield TypeDifference(Impact.FREE, MORE)


def _limits_of(values: Sequence[str], tag: str, wanted: Described) -> dict[str, Any]:
    """The limits within which some stored values are."""
    if tag == "S":
        return {"least length": min(map(len, values)), "most length": max(map(len, values))}
    if tag != "N":
        return {}
    numbers = [Decimal(value) for value in values]
    known: dict[str, Any] = {"at least": min(numbers), "at most": max(numbers)}
    divisor = wanted.get("multiple of")
    if divisor is not None and all(number % Decimal(str(divisor)) == 0 for number in numbers):
        known["multiple of"] = divisor
    return known


def _as_stored(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    """What another type has stored is read as it is stored."""
    length = _LENGTHS.get(old["kind"])
    if length is not None:
        old = {**old, "limits": {"least length": length, "most length": length}}
    yield from _limits(old, new)
    if "class" in new:
        yield TypeDifference(Impact.UNSAFE, f"accepts what {new['class']} accepts, and {_shown(old)} so far")
    yield TypeDifference(Impact.FREE, MORE)


def _limits(old: Alternative, new: Alternative) -> Iterator[TypeDifference]:
    before, after = old.get("limits", {}), new.get("limits", {})
    whole = old["kind"] == "int"
    narrow = tighter(before, after, whole=whole)
    if narrow:
        yield TypeDifference(Impact.UNSAFE, f"accepts less: {', '.join(narrow)}")
    elif looser(before, after, whole=whole):
        yield TypeDifference(Impact.FREE, MORE)


# -- models ---------------------------------------------------------------------------------------------------------


def _models(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    names = (old["name"], new["name"])
    if names not in models.compared:
        # A model that is part of itself is compared where it stands first.
        models.compared[names] = ()
        before, after = models.old[old["name"]], models.new[new["name"]]
        found = list(_members(before["members"], after["members"], models))
        if after.get("closed") and not before.get("closed"):
            found.append(
                TypeDifference(Impact.UNSAFE, f"{new['name']} refuses members that it does not know, and did not")
            )
        models.compared[names] = tuple(found)
    yield from models.compared[names]


def _members(old: Described, new: Described, models: Models) -> Iterator[TypeDifference]:
    for name in {**old, **new}:
        if name in old and name in new:
            found = field_differences(old[name], new[name], models)
            yield from (replace(each, path=(name, *each.path)) for each in found)
        elif name in old:
            what = "removed from a nested model: what is stored there is lost at the next write, or refused"
            yield TypeDifference(Impact.UNSAFE, what, (name,))
        elif new[name]["absent"] == "refused":
            what = "added without a default: stored items lack it, and are refused when they are read"
            yield TypeDifference(Impact.BACKFILL, what, (name,))
        else:
            yield TypeDifference(Impact.FREE, "added", (name,))


def _model_as_map(old: Alternative, new: Alternative, models: Models) -> Iterator[TypeDifference]:
    """A model that is read as a map: its names are keys, its members values."""
    yield from _inside("its keys", differences([{"kind": "str"}], new["keys"], models))
    names = (old["name"], repr(new))
    if names not in models.compared:
        models.compared[names] = ()
        found: list[TypeDifference] = []
        for name, member in models.old[old["name"]]["members"].items():
            stored = [each for each in member["type"] if each["kind"] != "None" or member.get("nulls")]
            refused = [each for each in differences(stored, new["values"], models) if each.kind is not Impact.FREE]
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
