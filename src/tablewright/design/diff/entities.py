"""Changes of entities: which there are, how their keys are made, and their older shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablewright.design.diff.change import Change, Described, Kind, named_changes
from tablewright.design.diff.fields import field_changes

__all__ = ["entity_changes"]


def entity_changes(name: str, old: Described, new: Described) -> Iterator[Change]:
    """Changes of the entities of a table."""
    before, after = dict(old["entities"]), dict(new["entities"])
    renamed = _renamed(before, after)
    for entity in {**before, **after}:
        if entity in before and entity in after:
            yield from _entity(entity, before[entity], after[entity], old, new)
        elif entity in renamed:
            yield from _rename(entity, renamed[entity], before, after, old, new)
        elif entity in before:
            yield Change(
                Kind.UNSAFE,
                entity,
                f"no longer in {name}: its items stay, and nobody reads them",
                ("delete or move its items with the old version, before the new one runs",),
            )
        elif entity not in renamed.values():
            yield Change(Kind.FREE, entity, f"added to {name}")


def _renamed(before: Described, after: Described) -> dict[str, str]:
    """Entities that have another name and the same keys and attributes."""

    def shape(entity: Described) -> Any:
        return entity["keys"], {field["attribute"]: field["types"] for field in entity["fields"].values()}

    found: dict[str, str] = {}
    for name, entity in before.items():
        if name in after:
            continue
        for other, described in after.items():
            if other not in before and other not in found.values() and shape(entity) == shape(described):
                found[name] = other
                break
    return found


def _rename(
    entity: str, other: str, before: Described, after: Described, old: Described, new: Described
) -> Iterator[Change]:
    was, now = before[entity]["type_name"], after[other]["type_name"]
    guarded = any("unique" in field or "numbered" in field for field in before[entity]["fields"].values())
    keep = f"keep what is stored: class {other}(Entity, ..., type_name={was!r}); or"
    kind = Kind.FREE
    steps: tuple[str, ...] = ()
    if was != now and new["type_attribute"] is not None:
        kind = Kind.BACKFILL
        steps = (keep, f"write {now!r} into {new['type_attribute']} of all its items, with the old version")
    elif was != now and guarded:
        kind = Kind.BACKFILL
        steps = (keep, f"stop the writers, deploy, then `store.repair({other}, dry_run=False)` makes its guards anew")
    yield Change(kind, entity, f"renamed to {other}", steps)
    yield from _entity(other, {**before[entity], "type_name": now}, after[other], old, new)


def _entity(name: str, old: Described, new: Described, table: Described, new_table: Described) -> Iterator[Change]:
    if old["type_name"] != new["type_name"] and new_table["type_attribute"] is not None:
        yield Change(
            Kind.BACKFILL,
            f"{name}.type_name",
            f"changes from {old['type_name']!r} to {new['type_name']!r}: items that are stored are not recognised",
            (f"write {new['type_name']!r} into {new_table['type_attribute']} of all its items, with the old version",),
        )
    upgraded = _steps(new) - _steps(old)
    yield from _upgrades(name, old, new)
    yield from _keys(name, old["keys"], new["keys"], table, new_table)
    yield from field_changes(name, old["fields"], new["fields"], upgraded > 0)
    for pattern, what in named_changes(old["patterns"], new["patterns"]):
        yield Change(Kind.FREE, f"{name}.{pattern}", f"pattern {what}")


def _steps(entity: Described) -> int:
    return 0 if entity["upgrades"] is None else int(entity["upgrades"]["steps"])


def _upgrades(name: str, old: Described, new: Described) -> Iterator[Change]:
    place = f"{name}.upgrades"
    before, after = old["upgrades"], new["upgrades"]
    if before == after:
        return
    if before is not None and (after is None or _steps(new) < _steps(old) or before["attribute"] != after["attribute"]):
        yield Change(
            Kind.UNSAFE,
            place,
            "steps are gone: items of the shape that is stored now cannot be read",
            ("keep all steps, and add new ones behind them",),
        )
    else:
        yield Change(
            Kind.FREE,
            place,
            f"{_steps(new) - _steps(old)} more: older items are upgraded as they are read",
            (
                "programs of the old version cannot read what the new one writes: replace all readers first",
                f"`store.repair({name}, dry_run=False)` writes all of them back, when that is wanted",
            ),
        )


def _keys(name: str, old: Described, new: Described, table: Described, new_table: Described) -> Iterator[Change]:
    primary = (table["partition"], table["sort"])
    kept = {attribute for index in table["indexes"].values() for attribute in [*index["partition"], *index["sort"]]}
    now = {attribute for index in new_table["indexes"].values() for attribute in [*index["partition"], *index["sort"]]}
    repair = f"`store.repair({name}, dry_run=False)`"
    for attribute in {**old, **new}:
        before, after = old.get(attribute), new.get(attribute)
        if before == after:
            continue
        place = f"{name}.keys.{attribute}"
        what = f"{_shown(before)} becomes {_shown(after)}"
        if attribute in primary:
            told_apart = new_table["type_attribute"] is not None
            yield Change(
                Kind.RE_KEY,
                place,
                what,
                (
                    f"deploy, then {repair}: it moves each item in a transaction",
                    "until then an item that has not been moved is not found under its new key",
                )
                if told_apart
                else (
                    "by its new keys no old item is recognised: read the items with the old version, and write each "
                    "to its new key and away from the old one in a transaction",
                    f"then deploy, and check with `store.verify({name})`",
                ),
            )
        elif attribute in kept and attribute in now and _spreads_anew(before, after):
            yield Change(
                Kind.BACKFILL,
                place,
                what,
                (
                    "deploy: writes go by the new number of shards, reads look at the shards of both",
                    f"{repair} spreads the other items, while readers and writers go on",
                    "then drop was=",
                ),
            )
        elif attribute in kept and attribute in now and _spreads_anew(after, before):
            yield Change(Kind.FREE, place, what, (f"`store.verify({name})` finds no item in an earlier shard first",))
        elif attribute in kept and attribute in now:
            yield Change(Kind.BACKFILL, place, what, _steps_to_new_key(before, after, repair))
        elif attribute in now:
            yield Change(
                Kind.BACKFILL,
                place,
                f"{_shown(after)} is new to older items",
                (f"once the writers are deployed: {repair}",),
            )
        else:
            yield Change(Kind.FREE, place, "no longer a key")


def _spreads_anew(before: Described | None, after: Described | None) -> bool:
    """Whether all that changes is the number of shards, and that it was another one is said."""
    if before is None or after is None or "was" not in after or "was" in before:
        return False
    plain = [{name: rule[name] for name in rule if name not in ("shards", "was")} for rule in (before, after)]
    return plain[0] == plain[1] and before.get("shards", 1) in (after["was"], after.get("shards", 1))


def _steps_to_new_key(before: Described | None, after: Described | None, repair: str) -> tuple[str, ...]:
    was, now = ((rule or {}).get("shards", 1) for rule in (before, after))
    if before and after and was != now and before["template"] == after["template"]:
        return (
            f"say `sharded(..., {now}, was={was})`, and deploy: reads look at the shards of both numbers",
            f"{repair} moves every item to its new shard",
            f"then drop `was={was}`",
        )
    return (
        "deploy the writers of the new version",
        f"{repair} gives every item its new key",
        "deploy the readers: before that they do not find all",
    )


def _shown(rule: Described | None) -> str:
    if rule is None:
        return "no template"
    text = repr(rule["template"])
    if "when" in rule:
        text += f" when {' and '.join(sorted(rule['when']))} is in some states"
    if "shards" in rule:
        text += f" in {rule['shards']} shards"
    if "was" in rule:
        text += f", which were {rule['was']}"
    return text
