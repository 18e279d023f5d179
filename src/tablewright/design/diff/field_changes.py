"""Changes of fields: whether stored values are still accepted, and mean the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tablewright.design.diff.change import Described, DesignChange, Impact
from tablewright.design.diff.key_rendering import is_rendered_alike
from tablewright.design.diff.stranded_data import renamed_fields
from tablewright.design.diff.type_changes import MORE, Models, field_differences

__all__ = ["begun_counter", "field_changes"]


def field_changes(
    owner: str, old_entity: Described, new_entity: Described, upgraded: bool, moved: Collection[str] = ()
) -> Iterator[DesignChange]:
    """Changes of the fields of an entity; fields are matched by the attribute that they are stored in.

    ``moved`` are those that other entities have now, which are dealt with elsewhere.
    """
    old, new = old_entity["fields"], new_entity["fields"]
    renamed = (
        {}
        if upgraded
        else {was: now for was, now in renamed_fields(old_entity, new_entity).items() if was not in moved}
    )
    before = {field["attribute"]: (name, field) for name, field in old.items()}
    after = {field["attribute"]: (name, field) for name, field in new.items()}
    for attribute, (name, field) in before.items():
        if attribute in after:
            other, described = after[attribute]
            if other != name and other in old:
                what = f"now stored in {attribute}, where {name} was; previously in {old[other]['attribute']}"
                yield DesignChange(
                    Impact.FREE if upgraded else Impact.UNSAFE,
                    f"{owner}.{other}",
                    what,
                    _UPGRADED if upgraded else _STEPS[Impact.UNSAFE],
                )
            elif other != name:
                yield DesignChange(Impact.FREE, f"{owner}.{name}", f"renamed to {other}; still stored in {attribute}")
            models = Models(old_entity["models"], new_entity["models"])
            yield from _field(f"{owner}.{other}", field, described, models, upgraded)
            yield from _marks(f"{owner}.{other}", owner, field, described)
            yield from _numbered(f"{owner}.{other}", owner, field, described, old, new)
            yield from _kept_by_value(f"{owner}.{other}", owner, field, described)
        elif name in new and new[name]["attribute"] not in before:
            yield DesignChange(
                Impact.FREE if upgraded else Impact.BACKFILL,
                f"{owner}.{name}",
                f"now stored in {new[name]['attribute']}, previously in {attribute}",
                ()
                if upgraded
                else (
                    f"add a step to `Upgrades` that copies the value from {attribute}; or",
                    f"keep the name: AttributeName({attribute!r})",
                ),
            )
            yield from _kept_by_attribute(f"{owner}.{name}", owner, field, new[name])
        elif name in renamed:
            yield _looks_renamed(owner, name, renamed[name], attribute, new[renamed[name]]["attribute"])
        elif name not in moved:
            yield DesignChange(Impact.FREE, f"{owner}.{name}", f"removed; {attribute} stays in stored items")
    for attribute, (name, field) in after.items():
        if attribute not in before and name not in old:
            if name in renamed.values():
                pass
            elif field["absent"] == "refused" and not upgraded:
                yield DesignChange(
                    Impact.BACKFILL,
                    f"{owner}.{name}",
                    "added without a default: stored items lack it, and become unreadable",
                    ("give it a default; or add a step to `Upgrades` that sets it; or", "backfill it first"),
                )
            else:
                yield DesignChange(Impact.FREE, f"{owner}.{name}", "added")
            if field.get("unique"):
                yield _unique(f"{owner}.{name}", owner)
            if "counter" in field:
                yield begun_counter(f"{owner}.{name}", owner, field["counter"], "now")
            if "numbered" in field and upgraded:
                # The values that the step sets were not assigned by the store.
                yield _begun(f"{owner}.{name}", owner)


def _looks_renamed(owner: str, name: str, other: str, attribute: str, new_attribute: str) -> DesignChange:
    return DesignChange(
        Impact.UNSAFE,
        f"{owner}.{name}",
        f"looks renamed to {other}: stored values stay in {attribute}, where nothing reads them",
        (
            f"keep the stored name: {other}: Annotated[..., AttributeName({attribute!r})]; or",
            f"add a step to `Upgrades` that copies {attribute} to {new_attribute}; or",
            f"if {other} is another field, accept the change: --accept {owner}.{name}",
        ),
    )


def _field(place: str, old: Described, new: Described, models: Models, upgraded: bool) -> Iterator[DesignChange]:
    """Whether stored values are still accepted, and mean the same; members of nested models have their own place."""
    places: dict[tuple[str, ...], dict[Impact, dict[str, None]]] = {}
    for each in field_differences(old, new, models):
        places.setdefault(each.path, {}).setdefault(each.impact, {})[each.what] = None
    for path, kinds in places.items():
        where = ".".join([place, *path])
        for kind, reasons in kinds.items():
            if kind is not Impact.FREE:
                steps = _UPGRADED if upgraded else _STEPS[kind]
                yield DesignChange(Impact.FREE if upgraded else kind, where, "; ".join(reasons), steps)
            elif len(kinds) == 1:
                yield DesignChange(kind, where, "; ".join(reasons), (_READERS_FIRST,) if MORE in reasons else ())


_UPGRADED = ("check that the step of `Upgrades` handles it",)
_READERS_FIRST = "deploy all readers before anything is written that the old version refuses"
_STEPS: Mapping[Impact, tuple[str, ...]] = {
    Impact.UNSAFE: (
        "add a step to `Upgrades` that converts stored values; or",
        "check with `store.verify` that all stored items are readable, and that their values mean the same",
    ),
    Impact.BACKFILL: (
        "keep the meaning of an absent attribute; or add a step to `Upgrades` that sets it; or",
        "with the old version, backfill it in all items first",
    ),
}


# -- what the store does with a field -------------------------------------------------------------------------------


def _unique(place: str, owner: str) -> DesignChange:
    return DesignChange(
        Impact.BACKFILL,
        place,
        "now unique: stored items have no guards yet, and may contain duplicates",
        (
            "deploy all writers of the new version",
            f"run `store.repair({owner}, dry_run=False)`, which creates the guards and reports duplicates",
        ),
    )


def begun_counter(place: str, owner: str, counter: Described, since: str) -> DesignChange:
    """A counter that has not counted what is stored; ``since`` says whether it is new, or counts something else."""
    steps: tuple[str, ...] = (f"run the consumer's `rebuild(clear=[{owner}])`, which counts them",)
    if counter["kept_by"] == "transaction":
        steps = (
            "deploy all writers of the new version",
            f"run `store.repair({owner}, dry_run=False)`, which counts them",
        )
    return DesignChange(
        Impact.BACKFILL, place, f"{since} counts {counter['of']}: stored items are not counted yet", steps
    )


def _marks(place: str, owner: str, old: Described, new: Described) -> Iterator[DesignChange]:
    if old.get("homes") is not None and old["homes"] != new.get("homes"):
        steps = (
            "store it in an attribute first: remove KeyOnly(), and add a step to `Upgrades` that takes it from the key",
            f"run `store.repair({owner}, dry_run=False)`, and change the keys after that",
        )
        yield DesignChange(Impact.UNSAFE, place, "is only in keys, and no longer read from the same ones", steps)
    if new.get("unique") and (not old.get("unique") or old.get("guard") != new.get("guard")):
        yield _unique(place, owner)
    elif old.get("unique") and not new.get("unique"):
        yield DesignChange(Impact.FREE, place, "no longer unique", ("its guards stay until they are deleted by hand",))
    if "counter" in new and old.get("counter") != new["counter"]:
        yield begun_counter(place, owner, new["counter"], "otherwise" if "counter" in old else "now")
    elif "counter" in old and "counter" not in new:
        yield DesignChange(Impact.FREE, place, "no longer a counter; its stored value stays as it is")
    for mark, words in _PLAIN_MARKS.items():
        if (mark in old) != (mark in new):
            yield DesignChange(Impact.FREE, place, f"{'now' if mark in new else 'no longer'} {words}")
    if "stamp" in old and "stamp" in new and old["stamp"] != new["stamp"]:
        yield DesignChange(
            Impact.UNSAFE,
            place,
            f"now the time when an item was {new['stamp']}, previously when it was {old['stamp']}",
            ("add a field for the other time",),
        )
    yield from _large(place, owner, old.get("large"), new.get("large"))
    if "expiry" in old and "expiry" in new and old["expiry"] != new["expiry"]:
        yield DesignChange(Impact.FREE, place, "the lifetime changes; stored items keep theirs")


def _large(place: str, owner: str, old: int | None, new: int | None) -> Iterator[DesignChange]:
    """Values stay where they are, in the item or in a blob, until the item is written."""
    if old == new:
        return
    if new is None:
        yield DesignChange(
            Impact.UNSAFE,
            place,
            "no longer stored as a blob: values in blobs are not read any more",
            (
                "first declare Large(threshold=400 * 1024), and deploy",
                f"rewrite every item (`store.put` each of `store.iterate({owner})`): values that fit move back into it",
                f"check that `offloaded_sizes` is empty for each {owner}; shorten a value that does not fit",
                "then remove `Large`, and deploy",
            ),
        )
    elif old is None:
        yield DesignChange(
            Impact.FREE,
            place,
            f"stored as a blob if the item exceeds {new:,} bytes; stored values stay in their items until "
            "they are written",
            (
                "give every store a blob store: blobs=...",
                "deploy all readers first: the old version does not read blobs",
            ),
        )
    else:
        yield DesignChange(
            Impact.FREE,
            place,
            f"stored as a blob above {new:,} bytes instead of {old:,}; stored values stay where they are until "
            "they are written",
        )


def _numbered(
    place: str, owner: str, field: Described, described: Described, old: Described, new: Described
) -> Iterator[DesignChange]:
    """Counters are found by the values of the fields that they count per, whatever those are called."""
    if "numbered" not in field:
        if "numbered" in described:
            yield _begun(place, owner)
        return
    if "numbered" not in described:
        yield DesignChange(Impact.FREE, place, "no longer numbered by the store")
        return
    before, after = field["numbered"], described["numbered"]
    again = (f"before anything is created, run `store.repair({owner}, dry_run=False)`, which raises the new counters",)
    if before != after and _attributes(before, old) != _attributes(after, new):
        what = f"now numbered per {_per(described)}, previously per {_per(field)}: numbers start again at 1"
        yield DesignChange(Impact.UNSAFE, place, what, again)
        return
    pairs = [(old[was], new[now], now) for was, now in zip(before, after, strict=True) if was in old and now in new]
    moved = [name for was, now, name in pairs if _is_stored_otherwise(was, now)]
    if moved:
        what = f"numbered per {', '.join(sorted(moved))}, which is stored in another format: numbers start again at 1"
        yield DesignChange(Impact.UNSAFE, place, what, again)


def _attributes(paths: Sequence[str], fields: Described) -> list[str]:
    """Paths of fields, with the attribute that the first step is stored in."""
    found = []
    for path in paths:
        first, dot, rest = path.partition(".")
        found.append((fields[first]["attribute"] if first in fields else first) + dot + rest)
    return found


def _begun(place: str, owner: str) -> DesignChange:
    return DesignChange(
        Impact.BACKFILL,
        place,
        "now numbered by the store: its counters start at 1",
        (
            f"before anything is created, run `store.repair({owner}, dry_run=False)`, which raises them "
            "above the stored numbers",
        ),
    )


def _kept_by_value(place: str, owner: str, field: Described, described: Described) -> Iterator[DesignChange]:
    """Guards are found by the stored format of values."""
    if field.get("unique") and described.get("unique") and _is_stored_otherwise(field, described):
        yield DesignChange(
            Impact.BACKFILL,
            place,
            "its values are stored in another format: existing guards no longer apply",
            (
                "stop the writers, and deploy",
                f"run `store.repair({owner}, dry_run=False)`, which creates the guards again",
            ),
        )


def _kept_by_attribute(place: str, owner: str, field: Described, described: Described) -> Iterator[DesignChange]:
    """Guards and counters have the attribute in their keys."""
    if field.get("unique") and described.get("unique"):
        yield DesignChange(
            Impact.BACKFILL,
            place,
            "unique, and stored in another attribute: existing guards no longer apply",
            (
                "stop the writers, and deploy",
                f"run `store.repair({owner}, dry_run=False)`, which creates the guards again",
            ),
        )
    elif described.get("unique"):
        yield _unique(place, owner)
    if "numbered" in described:
        yield _begun(place, owner)


def _is_stored_otherwise(old: Described, new: Described) -> bool:
    return not is_rendered_alike(old["type"], new["type"], "text")


_PLAIN_MARKS: Mapping[str, str] = {
    "version": "the version for optimistic locking",
    "stamp": "set by the store",
    "expiry": "the expiry of items",
}


def _per(field: Described) -> str:
    return ", ".join(field["numbered"]) or "table"
