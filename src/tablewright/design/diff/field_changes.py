"""Changes of fields: whether what is stored is still accepted, and means the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tablewright.design.diff.change import Described, DesignChange, Impact
from tablewright.design.diff.key_rendering import is_rendered_alike
from tablewright.design.diff.type_changes import MORE, Models, field_differences

__all__ = ["field_changes"]


def field_changes(owner: str, old_entity: Described, new_entity: Described, upgraded: bool) -> Iterator[DesignChange]:
    """Changes of the fields of an entity; an attribute is the same field, whatever it is called in Python."""
    old, new = old_entity["fields"], new_entity["fields"]
    before = {field["attribute"]: (name, field) for name, field in old.items()}
    after = {field["attribute"]: (name, field) for name, field in new.items()}
    for attribute, (name, field) in before.items():
        if attribute in after:
            other, described = after[attribute]
            if other != name and other in old:
                what = f"stored in {attribute} now, where {name} was, and in {old[other]['attribute']} before"
                yield DesignChange(
                    Impact.FREE if upgraded else Impact.UNSAFE,
                    f"{owner}.{other}",
                    what,
                    _UPGRADED if upgraded else _STEPS[Impact.UNSAFE],
                )
            elif other != name:
                yield DesignChange(
                    Impact.FREE, f"{owner}.{name}", f"called {other} now; stored in {attribute} as before"
                )
            models = Models(old_entity["models"], new_entity["models"])
            yield from _field(f"{owner}.{other}", field, described, models, upgraded)
            yield from _marks(f"{owner}.{other}", owner, field, described)
            yield from _numbered(f"{owner}.{other}", owner, field, described, old, new)
            yield from _kept_by_value(f"{owner}.{other}", owner, field, described)
        elif name in new and new[name]["attribute"] not in before:
            yield DesignChange(
                Impact.FREE if upgraded else Impact.BACKFILL,
                f"{owner}.{name}",
                f"stored in {new[name]['attribute']} now, and in {attribute} before",
                ()
                if upgraded
                else (
                    f"add a step to `Upgrades` that takes the value from {attribute}; or",
                    f"keep the name: AttributeName({attribute!r})",
                ),
            )
            yield from _kept_by_attribute(f"{owner}.{name}", owner, field, new[name])
        else:
            yield DesignChange(
                Impact.FREE, f"{owner}.{name}", f"removed; {attribute} stays in stored items, and is written back"
            )
    for attribute, (name, field) in after.items():
        if attribute not in before and name not in old:
            if field["absent"] == "refused" and not upgraded:
                yield DesignChange(
                    Impact.BACKFILL,
                    f"{owner}.{name}",
                    "added without a default: stored items lack it, and are refused when they are read",
                    ("give it a default; or add a step to `Upgrades` that fills it in; or", "fill it in first"),
                )
            else:
                yield DesignChange(Impact.FREE, f"{owner}.{name}", "added")
            if field.get("unique"):
                yield _unique(f"{owner}.{name}", owner)
            if "numbered" in field and upgraded:
                # What the step fills in has been numbered by something else.
                yield _begun(f"{owner}.{name}", owner)


def _field(place: str, old: Described, new: Described, models: Models, upgraded: bool) -> Iterator[DesignChange]:
    """Whether what is stored is still accepted, and means the same; a member of a nested model has its own place."""
    places: dict[tuple[str, ...], dict[Impact, dict[str, None]]] = {}
    for each in field_differences(old, new, models):
        places.setdefault(each.path, {}).setdefault(each.kind, {})[each.what] = None
    for path, kinds in places.items():
        where = ".".join([place, *path])
        for kind, reasons in kinds.items():
            if kind is not Impact.FREE:
                steps = _UPGRADED if upgraded else _STEPS[kind]
                yield DesignChange(Impact.FREE if upgraded else kind, where, "; ".join(reasons), steps)
            elif len(kinds) == 1:
                yield DesignChange(kind, where, "; ".join(reasons), (_READERS_FIRST,) if MORE in reasons else ())


_UPGRADED = ("check that the step of `Upgrades` takes care of it",)
_READERS_FIRST = "replace all readers of the old version, before anything is written that it would refuse"
_STEPS: Mapping[Impact, tuple[str, ...]] = {
    Impact.UNSAFE: (
        "add a step to `Upgrades` that turns what is stored into what is accepted; or",
        "see with `store.verify` that no stored item is refused, and that what is read is what was meant",
    ),
    Impact.BACKFILL: (
        "keep what it means that it is absent; or add a step to `Upgrades` that fills it in; or",
        "fill it in first, in all items, with the old version",
    ),
}


# -- what the store does with a field -------------------------------------------------------------------------------


def _unique(place: str, owner: str) -> DesignChange:
    return DesignChange(
        Impact.BACKFILL,
        place,
        "has to be unique: stored items have no guards yet, and may have the same value twice",
        (
            "deploy the writers of the new version, everywhere",
            f"`store.repair({owner}, dry_run=False)` makes the guards, and tells of values that are there twice",
        ),
    )


def _marks(place: str, owner: str, old: Described, new: Described) -> Iterator[DesignChange]:
    if new.get("unique") and not old.get("unique"):
        yield _unique(place, owner)
    elif old.get("unique") and not new.get("unique"):
        yield DesignChange(
            Impact.FREE, place, "need not be unique any more", ("its guards stay until they are deleted by hand",)
        )
    for mark, words in _PLAIN_MARKS.items():
        if (mark in old) != (mark in new):
            yield DesignChange(Impact.FREE, place, f"{'now' if mark in new else 'no longer'} {words}")
    if "stamp" in old and "stamp" in new and old["stamp"] != new["stamp"]:
        yield DesignChange(
            Impact.UNSAFE,
            place,
            f"the time when an item was {new['stamp']}, and when it was {old['stamp']} so far",
            ("give the other time a field of its own",),
        )
    yield from _large(place, owner, old.get("large"), new.get("large"))
    if "expiry" in old and "expiry" in new and old["expiry"] != new["expiry"]:
        yield DesignChange(Impact.FREE, place, "another lifetime; what is stored keeps the one that it has")


def _large(place: str, owner: str, old: int | None, new: int | None) -> Iterator[DesignChange]:
    """Values that are outside of their items stay there, until the item is written."""
    if old == new:
        return
    if new is None:
        yield DesignChange(
            Impact.UNSAFE,
            place,
            "no longer kept outside of the table: values that are outside are not read any more",
            (
                "first say Large(threshold=400 * 1024), and deploy that",
                f"put every item anew (`store.put` of each of `store.iterate({owner})`): what fits comes back into it",
                f"check that `offloaded_sizes` is empty for each {owner}; shorten a value that does not fit",
                "then drop `Large`, and deploy",
            ),
        )
    elif old is None:
        yield DesignChange(
            Impact.FREE,
            place,
            f"kept outside of the table while the item is past {new:,} bytes; what is stored stays inside until then",
            (
                "give every store a place for such values: blobs=...",
                "replace all readers of the old version first: they do not find what is outside",
            ),
        )
    else:
        yield DesignChange(
            Impact.FREE,
            place,
            f"kept outside of the table past {new:,} bytes instead of {old:,}; what is stored stays where it is until "
            "it is written",
        )


def _numbered(
    place: str, owner: str, field: Described, described: Described, old: Described, new: Described
) -> Iterator[DesignChange]:
    """Counters are found by the values of the fields that are counted for, whatever those are called."""
    if "numbered" not in field:
        if "numbered" in described:
            yield _begun(place, owner)
        return
    if "numbered" not in described:
        yield DesignChange(Impact.FREE, place, "no longer numbered by the store")
        return
    before, after = field["numbered"], described["numbered"]
    again = (f"`store.repair({owner}, dry_run=False)` raises the new counters, before anything is created",)
    if before != after and _attributes(before, old) != _attributes(after, new):
        what = f"numbered per {_per(described)}, and per {_per(field)} before: numbers are given again from 1"
        yield DesignChange(Impact.UNSAFE, place, what, again)
        return
    pairs = [(old[was], new[now], now) for was, now in zip(before, after, strict=True) if was in old and now in new]
    moved = [name for was, now, name in pairs if _is_stored_otherwise(was, now)]
    if moved:
        what = f"numbered per {', '.join(sorted(moved))}, which is stored otherwise: numbers are given again from 1"
        yield DesignChange(Impact.UNSAFE, place, what, again)


def _attributes(paths: Sequence[str], fields: Described) -> list[str]:
    """Paths of fields as they are stored, as far as the first step tells."""
    found = []
    for path in paths:
        first, dot, rest = path.partition(".")
        found.append((fields[first]["attribute"] if first in fields else first) + dot + rest)
    return found


def _begun(place: str, owner: str) -> DesignChange:
    return DesignChange(
        Impact.BACKFILL,
        place,
        "numbered by the store: its counters begin at 1",
        (f"`store.repair({owner}, dry_run=False)` raises them to what is stored, before anything is created",),
    )


def _kept_by_value(place: str, owner: str, field: Described, described: Described) -> Iterator[DesignChange]:
    """Guards are found by values, as they are stored."""
    if field.get("unique") and described.get("unique") and _is_stored_otherwise(field, described):
        yield DesignChange(
            Impact.BACKFILL,
            place,
            "its values are stored otherwise: the guards of those that are stored do not hold any more",
            ("stop the writers, and deploy", f"`store.repair({owner}, dry_run=False)` makes the guards anew"),
        )


def _kept_by_attribute(place: str, owner: str, field: Described, described: Described) -> Iterator[DesignChange]:
    """Guards and counters have the attribute in their keys."""
    if field.get("unique") and described.get("unique"):
        yield DesignChange(
            Impact.BACKFILL,
            place,
            "unique, and stored in another attribute: the guards of those that are stored do not hold any more",
            ("stop the writers, and deploy", f"`store.repair({owner}, dry_run=False)` makes the guards anew"),
        )
    elif described.get("unique"):
        yield _unique(place, owner)
    if "numbered" in described:
        yield _begun(place, owner)


def _is_stored_otherwise(old: Described, new: Described) -> bool:
    return not is_rendered_alike(old["type"], new["type"], "text")


_PLAIN_MARKS: Mapping[str, str] = {
    "version": "the version that writes are checked by",
    "stamp": "set by the store",
    "expiry": "the time at which items expire",
}


def _per(field: Described) -> str:
    return ", ".join(field["numbered"]) or "table"
