"""Changes of entities: added, removed or renamed ones, their keys, and their upgrades."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.diff.change import Described, DesignChange, Impact, named_changes
from tablewright.design.diff.field_changes import field_changes
from tablewright.design.diff.key_rendering import rendering_changes
from tablewright.design.diff.shard_changes import spread_of

__all__ = ["entity_changes"]

_RECREATES = "creates the guards and raises the counters again, before anything is created"


def entity_changes(name: str, old: Described, new: Described) -> Iterator[DesignChange]:
    """Changes of the entities of a table."""
    before, after = dict(old["entities"]), dict(new["entities"])
    renamed = _renamed(before, after)
    for entity in {**before, **after}:
        if entity in before and entity in after:
            yield from _entity(entity, before[entity], after[entity], old, new)
        elif entity in renamed:
            yield from _rename(entity, renamed[entity], before, after, old, new)
        elif entity in before:
            yield DesignChange(
                Impact.UNSAFE,
                entity,
                f"removed from {name}: its items stay, but nothing reads them",
                ("delete or move its items with the old version, before the deployment",),
            )
        elif entity not in renamed.values():
            yield DesignChange(Impact.FREE, entity, f"added to {name}")


def _renamed(before: Described, after: Described) -> dict[str, str]:
    """Entities that only have another name: same keys and attributes, perhaps more optional ones."""
    found: dict[str, str] = {}
    for is_same in (_is_alike, _is_wider):
        for name, entity in before.items():
            if name in after or name in found:
                continue
            for other, described in after.items():
                if other not in before and other not in found.values() and is_same(entity, described):
                    found[name] = other
                    break
    return found


def _is_alike(old: Described, new: Described) -> bool:
    return _is_wider(old, new) and len(old["fields"]) == len(new["fields"])


def _is_wider(old: Described, new: Described) -> bool:
    """Whether an entity has all keys and attributes of another one, and no other required ones."""
    keys = [{attribute: _plain(rule) for attribute, rule in entity["keys"].items()} for entity in (old, new)]
    before, after = ({field["attribute"]: field for field in entity["fields"].values()} for entity in (old, new))
    return (
        keys[0] == keys[1]
        and all(name in after and field["types"] == after[name]["types"] for name, field in before.items())
        and all(field["absent"] != "refused" for name, field in after.items() if name not in before)
    )


def _rename(
    entity: str, other: str, before: Described, after: Described, old: Described, new: Described
) -> Iterator[DesignChange]:
    was, now = before[entity]["type_name"], after[other]["type_name"]
    steps = _steps_to_type_name(other, before[entity], now, new) if was != now else ()
    keep = (f"keep the stored type name: class {other}(Entity, ..., type_name={was!r}); or",) if steps else ()
    yield DesignChange(Impact.BACKFILL if steps else Impact.FREE, entity, f"renamed to {other}", (*keep, *steps))
    yield from _entity(other, {**before[entity], "type_name": now}, after[other], old, new)


def _steps_to_type_name(name: str, old: Described, type_name: str, new_table: Described) -> tuple[str, ...]:
    """Steps to another type name: it is in the type attribute of items, and in the keys of guards and counters."""
    steps: list[str] = []
    if new_table["type_attribute"] is not None:
        steps.append(f"with the old version, set {new_table['type_attribute']} of all its items to {type_name!r}")
    if any("unique" in field or "numbered" in field for field in old["fields"].values()):
        steps.append(f"stop the writers, deploy, then run `store.repair({name}, dry_run=False)`, which {_RECREATES}")
    return tuple(steps)


def _entity(
    name: str, old: Described, new: Described, table: Described, new_table: Described
) -> Iterator[DesignChange]:
    steps = _steps_to_type_name(name, old, new["type_name"], new_table) if old["type_name"] != new["type_name"] else ()
    if steps:
        what = "stored items" if new_table["type_attribute"] is not None else "its guards and counters"
        yield DesignChange(
            Impact.BACKFILL,
            f"{name}.type_name",
            f"changes from {old['type_name']!r} to {new['type_name']!r}: {what} are not recognised",
            (f"keep the stored type name: type_name={old['type_name']!r}; or", *steps),
        )
    upgraded = _steps(new) - _steps(old)
    yield from _upgrades(name, old, new)
    yield from _keys(name, old["keys"], new["keys"], table, new_table)
    yield from rendering_changes(name, old, new, table, new_table, upgraded > 0)
    yield from field_changes(name, old, new, upgraded > 0)
    for pattern, what in named_changes(old["patterns"], new["patterns"]):
        yield DesignChange(Impact.FREE, f"{name}.{pattern}", f"pattern {what}")


def _steps(entity: Described) -> int:
    return 0 if entity["upgrades"] is None else int(entity["upgrades"]["steps"])


def _upgrades(name: str, old: Described, new: Described) -> Iterator[DesignChange]:
    place = f"{name}.upgrades"
    before, after = old["upgrades"], new["upgrades"]
    if before == after:
        return
    if before is not None and (after is None or _steps(new) < _steps(old) or before["attribute"] != after["attribute"]):
        yield DesignChange(
            Impact.UNSAFE,
            place,
            "steps are removed: stored items of the current schema version become unreadable",
            ("keep all steps, and append new ones",),
        )
    else:
        yield DesignChange(
            Impact.FREE,
            place,
            f"{_steps(new) - _steps(old)} more: items of older schema versions are upgraded when they are read",
            (
                "the old version cannot read what the new one writes: deploy all readers first",
                f"optionally, `store.repair({name}, dry_run=False)` writes all upgraded items back",
            ),
        )


def _keys(name: str, old: Described, new: Described, table: Described, new_table: Described) -> Iterator[DesignChange]:
    primary = (table["partition"], table["sort"])
    indexed = {attribute for index in table["indexes"].values() for attribute in [*index["partition"], *index["sort"]]}
    now = {attribute for index in new_table["indexes"].values() for attribute in [*index["partition"], *index["sort"]]}
    repair = f"`store.repair({name}, dry_run=False)`"
    for attribute in {**old, **new}:
        before, after = old.get(attribute), new.get(attribute)
        if _plain(before) == _plain(after):
            continue
        place = f"{name}.keys.{attribute}"
        what = f"{_shown(before)} becomes {_shown(after)}"
        if attribute in primary:
            has_type = new_table["type_attribute"] is not None
            yield DesignChange(
                Impact.RE_KEY,
                place,
                what,
                (
                    f"deploy, then run {repair}, which moves each item in a transaction",
                    "until then, items that are not moved yet are not found by their new keys",
                )
                if has_type
                else (
                    "stored items are not recognised by the new keys: with the old version, move each item "
                    "to its new key in "
                    "a transaction",
                    f"then deploy, and check with `store.verify({name})`",
                ),
            )
        elif attribute in indexed and attribute in now and (spread := spread_of(before, after)) is not None:
            yield spread.change(place, what, name)
        elif attribute in indexed and attribute in now:
            yield DesignChange(Impact.BACKFILL, place, what, _steps_to_new_key(repair))
        elif attribute in now:
            yield DesignChange(
                Impact.BACKFILL,
                place,
                f"{_shown(after)} added, which stored items lack",
                (f"after the writers are deployed, run {repair}",),
            )
        else:
            yield DesignChange(Impact.FREE, place, "no longer a key")


def _plain(rule: Described | None) -> Described | None:
    """A rule without its parts, which repeat the template."""
    return None if rule is None else {name: value for name, value in rule.items() if name != "parts"}


def _steps_to_new_key(repair: str) -> tuple[str, ...]:
    return (
        "deploy the writers of the new version",
        f"run {repair}, which gives every item its new key",
        "deploy the readers; earlier they would miss items",
    )


def _shown(rule: Described | None) -> str:
    if rule is None:
        return "no template"
    text = repr(rule["template"])
    if "when" in rule:
        text += f" when {' and '.join(sorted(rule['when']))} has certain values"
    if "shards" in rule:
        text += f" in {rule['shards']} shards"
    if "was" in rule:
        text += f" (was={rule['was']})"
    return text
