"""Changes of fields: whether what is stored is still accepted, and means the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tablewright.design.diff.change import Change, Described, Kind

__all__ = ["field_changes"]


def field_changes(owner: str, old: Described, new: Described, upgraded: bool) -> Iterator[Change]:
    """Changes of fields; an attribute is the same field, whatever it is called in Python."""
    before = {field["attribute"]: (name, field) for name, field in old.items()}
    after = {field["attribute"]: (name, field) for name, field in new.items()}
    for attribute, (name, field) in before.items():
        if attribute in after:
            other, described = after[attribute]
            if other != name:
                yield Change(Kind.FREE, f"{owner}.{name}", f"called {other} now; stored in {attribute} as before")
            yield from _field(f"{owner}.{other}", field, described, upgraded)
            yield from _marks(f"{owner}.{other}", owner, field, described)
        elif name in new and new[name]["attribute"] not in before:
            yield Change(
                Kind.FREE if upgraded else Kind.BACKFILL,
                f"{owner}.{name}",
                f"stored in {new[name]['attribute']} now, and in {attribute} before",
                ()
                if upgraded
                else (
                    f"add a step to `Upgrades` that takes the value from {attribute}; or",
                    f"keep the name: Attr({attribute!r})",
                ),
            )
        else:
            yield Change(
                Kind.FREE, f"{owner}.{name}", f"removed; {attribute} stays in stored items, and is written back"
            )
    for attribute, (name, field) in after.items():
        if attribute not in before and name not in old:
            if field["required"] and not upgraded:
                yield Change(
                    Kind.BACKFILL,
                    f"{owner}.{name}",
                    "added without a default: stored items lack it, and are refused when they are read",
                    ("give it a default; or add a step to `Upgrades` that fills it in; or", "fill it in first"),
                )
            else:
                yield Change(Kind.FREE, f"{owner}.{name}", "added")
            if field.get("unique"):
                yield _unique(f"{owner}.{name}", owner)


def _field(place: str, old: Described, new: Described, upgraded: bool) -> Iterator[Change]:
    """Whether what is stored is still accepted, and means the same."""
    reasons = []
    before, after = set(old["types"]) - {"NULL"}, set(new["types"]) - {"NULL"}
    if not (before <= after or "?" in after):
        reasons.append(f"stored as {_and(before)} so far, as {_and(after)} now")
    elif old.get("unit") != new.get("unit"):
        reasons.append(f"counted in {old.get('unit', 'nothing')} so far, in {new.get('unit', 'nothing')} now")
    gone = [] if "values" not in new else [value for value in old.get("values", ()) if value not in new["values"]]
    if gone:
        reasons.append(f"no longer accepts {', '.join(gone)}")
    elif "values" in new and "values" not in old and not reasons:
        reasons.append(f"accepts {', '.join(new['values'])} only, and was free before")
    tighter = _tighter(old.get("limits", {}), new.get("limits", {}))
    if tighter:
        reasons.append(f"accepts less: {', '.join(tighter)}")
    if reasons:
        yield Change(
            Kind.FREE if upgraded else Kind.UNSAFE,
            place,
            "; ".join(reasons),
            ("check that the step of `Upgrades` takes care of it",)
            if upgraded
            else (
                "add a step to `Upgrades` that turns what is stored into what is accepted; or",
                "see with `store.verify` that no stored item is refused",
            ),
        )
    elif (before, old.get("values"), old.get("limits")) != (after, new.get("values"), new.get("limits")):
        yield Change(Kind.FREE, place, "accepts more")
    if new["required"] and not old["required"]:
        yield Change(
            Kind.FREE if upgraded else Kind.BACKFILL,
            place,
            "has no default any more: items without it are refused when they are read",
            ()
            if upgraded
            else ("keep a default; or add a step to `Upgrades` that fills it in; or", "fill it in first"),
        )
    elif old["required"] and not new["required"]:
        yield Change(Kind.FREE, place, "may be absent now")
    if "members" in old and "members" in new:
        yield from _members(place, old["members"], new["members"], upgraded)


def _members(place: str, old: Described, new: Described, upgraded: bool) -> Iterator[Change]:
    for name in {**old, **new}:
        where = f"{place}.{name}"
        if name in old and name in new:
            yield from _field(where, old[name], new[name], upgraded)
        elif name in old:
            yield Change(
                Kind.UNSAFE,
                where,
                "removed from a nested model: what is stored there is lost at the next write, or refused",
                ("keep it, optional, until nothing needs it",),
            )
        elif new[name]["required"] and not upgraded:
            yield Change(
                Kind.BACKFILL,
                where,
                "added without a default: stored items lack it, and are refused when they are read",
                ("give it a default; or add a step to `Upgrades` that fills it in",),
            )
        else:
            yield Change(Kind.FREE, where, "added")


def _tighter(old: Described, new: Described) -> list[str]:
    found = []
    for name, value in new.items():
        if name not in old:
            found.append(f"{name} {value}")
        elif old[name] != value:
            lower = name in ("at least", "above", "least length")
            looser = name not in ("pattern", "multiple of") and (value < old[name] if lower else value > old[name])
            if not looser:
                found.append(f"{name} {value} instead of {old[name]}")
    return found


def _and(types: set[str]) -> str:
    return " or ".join(sorted(types)) or "nothing"


# -- what the store does with a field -------------------------------------------------------------------------------


def _unique(place: str, owner: str) -> Change:
    return Change(
        Kind.BACKFILL,
        place,
        "has to be unique: stored items have no guards yet, and may have the same value twice",
        (
            "deploy the writers of the new version, everywhere",
            f"`store.repair({owner}, dry_run=False)` makes the guards, and tells of values that are there twice",
        ),
    )


def _marks(place: str, owner: str, old: Described, new: Described) -> Iterator[Change]:
    if new.get("unique") and not old.get("unique"):
        yield _unique(place, owner)
    elif old.get("unique") and not new.get("unique"):
        yield Change(
            Kind.FREE, place, "need not be unique any more", ("its guards stay until they are deleted by hand",)
        )
    if old.get("numbered") != new.get("numbered"):
        if "numbered" in old and "numbered" in new:
            yield Change(
                Kind.UNSAFE,
                place,
                f"numbered per {_per(new)}, and per {_per(old)} before: numbers are given again from 1",
                (f"`store.repair({owner}, dry_run=False)` raises the new counters, before anything is created",),
            )
        elif "numbered" in new:
            yield Change(
                Kind.BACKFILL,
                place,
                "numbered by the store: its counters begin at 1",
                (f"`store.repair({owner}, dry_run=False)` raises them to what is stored",),
            )
        else:
            yield Change(Kind.FREE, place, "no longer numbered by the store")
    for mark, words in _PLAIN_MARKS.items():
        if (mark in old) != (mark in new):
            yield Change(Kind.FREE, place, f"{'now' if mark in new else 'no longer'} {words}")
    if "expiry" in old and "expiry" in new and old["expiry"] != new["expiry"]:
        yield Change(Kind.FREE, place, "another lifetime; what is stored keeps the one that it has")


_PLAIN_MARKS: Mapping[str, str] = {
    "version": "the version that writes are checked by",
    "stamp": "set by the store",
    "expiry": "the time at which items expire",
    "large": "kept outside of the table where it is large",
}


def _per(field: Described) -> str:
    return ", ".join(field["numbered"]) or "table"
