"""Changes of entities: added, removed or renamed ones, their keys, and their upgrades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tablewright.design.diff.change import Described, DesignChange, Impact, named_changes
from tablewright.design.diff.field_changes import begun_counter, field_changes
from tablewright.design.diff.key_rendering import rendering_changes
from tablewright.design.diff.retired_declarations import before, in_old_table, removed
from tablewright.design.diff.shard_changes import spread_of
from tablewright.design.diff.stranded_data import (
    Entities,
    looks_renamed,
    moved_fields,
    retired_fields,
    retired_form,
    same_key,
)

__all__ = ["entity_changes"]

_RECREATES = "creates the guards and raises the counters again, before anything is created"
_UNTIL_THEN = "until it is done, items that are not migrated yet are not found"


def entity_changes(name: str, old: Described, new: Described, entities: Entities) -> Iterator[DesignChange]:
    """Changes of the entities of a table; ``entities`` are those of all tables."""
    versions = Versions(old, new, entities)
    before, after = dict(old["entities"]), dict(new["entities"])
    renamed = _renamed(before, after, old, new)
    for entity in {**before, **after}:
        if entity in before and entity in after:
            yield from _entity(entity, before[entity], after[entity], versions, f"{entity}.type_name")
        elif entity in renamed:
            yield from _entity(renamed[entity], before[entity], after[renamed[entity]], versions, entity)
        elif entity in before:
            yield _removed(name, entity, before[entity], versions)
        elif entity not in renamed.values():
            yield DesignChange(Impact.FREE, entity, f"added to {name}")
            for field, described in after[entity]["fields"].items():
                if "counter" in described:
                    yield begun_counter(f"{entity}.{field}", entity, described["counter"], "now")
    for form, what in named_changes(old.get("retired", {}), new.get("retired", {})):
        first = f"first check with the old version that `store.verify({form})` is clean" if what == "removed" else ""
        yield DesignChange(Impact.FREE, form, f"retired entity {what}", (first,) if first else ())


@dataclass(frozen=True, slots=True)
class Versions:
    """The two versions of a table, and all entities of both."""

    old: Described
    new: Described
    entities: Entities


def migrated(entity: str) -> tuple[str, ...]:
    """The steps of a migration that a retired entity declares."""
    return (
        f"deploy, then run `store.repair({entity}, dry_run=False)`, or `tablewright migrate`",
        f"check that `store.verify({entity})` is clean; {_UNTIL_THEN}",
    )


def _removed(table_name: str, entity: str, described: Described, versions: Versions) -> DesignChange:
    """An entity that is gone: its items become others, or it is in another table, or nothing is known of them."""
    old, new = versions.old, versions.new
    form = retired_form(described, old, new)
    if form is not None:
        name = next(name for name, each in new["retired"].items() if each is form)
        return DesignChange(Impact.BACKFILL, entity, f"retired: its items become others ({name})", migrated(name))
    if entity in versions.entities.new:
        return DesignChange(
            Impact.UNSAFE,
            entity,
            f"moved from {table_name} to another table: its items stay, and are not found there",
            (
                f"keep the table in the design, and declare {entity}Before in the new version, as printed",
                *migrated(f"{entity}Before"),
            ),
            in_old_table(entity, described, versions.entities.new[entity], table_name, old),
        )
    return DesignChange(
        Impact.UNSAFE,
        entity,
        f"removed from {table_name}: its items stay, but nothing reads them",
        (
            "keep the class in the new version as a retired entity, as printed: what its items become, or that they "
            "are deleted",
            *migrated(entity),
        ),
        removed(entity, described, table_name, old),
    )


def _renamed(before: Described, after: Described, table: Described, new_table: Described) -> dict[str, str]:
    """Entities with another name: of the same type name, with the same keys and attributes, or with most of them."""
    found: dict[str, str] = {}

    def same_type(old: Described, new: Described) -> bool:
        return new_table["type_attribute"] is not None and bool(old["type_name"] == new["type_name"])

    def is_similar(old: Described, new: Described) -> bool:
        return retired_form(old, table, new_table) is None and looks_renamed(old, new, table)

    for is_same in (same_type, _is_alike, _is_wider, is_similar):
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


def _entity(name: str, old: Described, new: Described, versions: Versions, place: str) -> Iterator[DesignChange]:
    """Changes of an entity, which may have another name; ``place`` is where that is reported, or its type name."""
    table, new_table = versions.old, versions.new
    moved = moved_fields(name, old, new, versions.entities, table)
    others = {other: versions.entities.new[other] for targets in moved.values() for other in targets}
    form = retired_form(old, table, new_table)
    declaration = (
        "" if form is not None else before(name, old, new, table, new_table, others, versions.entities.old.keys())
    )
    change = _name_change(name, old, new, versions, place, declaration)
    if change is not None:
        yield change
    upgraded = _steps(new) - _steps(old)
    yield from _upgrades(name, old, new)
    yield from _keys(name, old, new, versions, declaration)
    yield from rendering_changes(name, old, new, table, new_table, upgraded > 0)
    yield from _moved(name, old, moved, form, declaration)
    retired = set() if form is None else retired_fields(old, new, form) - moved.keys()
    for field in sorted(retired):
        what = "removed; a retired entity says what its values become"
        yield DesignChange(Impact.BACKFILL, f"{name}.{field}", what, migrated(name))
    yield from field_changes(name, old, new, upgraded > 0 or bool(retired), {*moved, *retired})
    for pattern, what in named_changes(old["patterns"], new["patterns"]):
        # One of a projection has the name of that.
        where = pattern if "." in pattern else f"{name}.{pattern}"
        yield DesignChange(Impact.FREE, where, f"pattern {what}")


def _name_change(
    name: str, old: Described, new: Described, versions: Versions, place: str, declaration: str
) -> DesignChange | None:
    """Another name, or another type name: it is in the type attribute of items, and in keys of guards and counters."""
    is_renamed = "." not in place
    table, new_table = versions.old, versions.new
    certain = not is_renamed or _is_wider(old, new)
    if is_renamed:
        what = f"renamed to {name}" if certain else f"looks renamed to {name}"
    else:
        what = f"changes from {old['type_name']!r} to {new['type_name']!r}"
    if old["type_name"] == new["type_name"]:
        return DesignChange(Impact.FREE, place, f"renamed to {name}") if is_renamed else None
    keep = f"keep the stored type name: class {name}(Entity, ..., type_name={old['type_name']!r}); or"
    if new_table["type_attribute"] is not None:
        if not declaration:
            return DesignChange(Impact.BACKFILL, place, what, migrated(name))
        return DesignChange(
            Impact.BACKFILL if certain else Impact.UNSAFE,
            place,
            f"{what}: stored items have the type {old['type_name']!r}, and are not recognised",
            (keep, *_declared(name)),
            declaration,
        )
    if not certain and not same_key(old, new, table) and declaration:
        return DesignChange(
            Impact.UNSAFE, place, f"{what}, which does not read its items", _declared(name), declaration
        )
    if any("unique" in field or "numbered" in field for field in old["fields"].values()):
        repair = f"stop the writers, deploy, then run `store.repair({name}, dry_run=False)`, which {_RECREATES}"
        return DesignChange(
            Impact.BACKFILL, place, f"{what}: its guards and counters are not recognised", (keep, repair)
        )
    return DesignChange(Impact.FREE, place, f"renamed to {name}") if is_renamed else None


def _declared(name: str) -> tuple[str, ...]:
    return (f"declare {name}Before in the new version, as printed", *migrated(name))


def _moved(
    name: str, old: Described, moved: Mapping[str, Sequence[str]], form: Described | None, declaration: str
) -> Iterator[DesignChange]:
    """Fields that other entities have now."""
    for field, targets in moved.items():
        place, where = f"{name}.{field}", " and ".join(targets)
        if form is not None and old["fields"][field]["attribute"] in form["attributes"]:
            yield DesignChange(Impact.BACKFILL, place, f"moved to {where} by a retired entity", migrated(name))
        else:
            yield DesignChange(
                Impact.UNSAFE,
                place,
                f"looks moved to {where}: stored values stay in items of {name}, where nothing reads them",
                _declared(name),
                declaration,
            )


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


def _keys(
    name: str, old_entity: Described, new_entity: Described, versions: Versions, declaration: str
) -> Iterator[DesignChange]:
    table, new_table = versions.old, versions.new
    old, new = old_entity["keys"], new_entity["keys"]
    primary = [each for each in (table["partition"], table["sort"]) if each is not None]
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
            # Without a type attribute, only a retired entity tells which items are stored under the old key.
            if new_table["type_attribute"] is not None or not declaration:
                yield DesignChange(Impact.RE_KEY, place, what, migrated(name))
            else:
                what += ": stored items are not recognised by the new keys"
                yield DesignChange(Impact.RE_KEY, place, what, _declared(name), declaration)
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
