"""Keys with the same template whose values change, because the type or the default of a field changes.

If a date becomes a datetime, or seconds become milliseconds, the same item gets another key. An item without the
attribute has the key of the default, so a default that is added or changed gives it another key as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablewright.design.diff.change import Described, DesignChange, Impact
from tablewright.design.diff.limit_changes import is_exact
from tablewright.design.diff.retired_declarations import converted
from tablewright.design.diff.stranded_data import retired_form
from tablewright.design.diff.value_types import Alternative, Type, tag_of
from tablewright.model.keys.key_forms import TIME_PARTS

__all__ = ["is_rendered_alike", "rendering_changes"]


def rendering_changes(
    name: str, old: Described, new: Described, table: Described, new_table: Described, upgraded: bool
) -> Iterator[DesignChange]:
    """Key attributes that would get another value for stored items."""
    before = {field["attribute"]: field["type"] for field in old["fields"].values()}
    after = {field["attribute"]: field["type"] for field in new["fields"].values()}
    primary = [attribute for attribute in (table["partition"], table["sort"]) if attribute is not None]
    indexed = [
        attribute
        for index in new_table["indexes"].values()
        for attribute in (*index["partition"], *index["sort"])
        if attribute in table["types"]
    ]
    for attribute in dict.fromkeys([*primary, *indexed]):
        changed = [
            path
            for path, form in _parts(attribute, old, new)
            if (was := _type_at(before, old["models"], path)) and (now := _type_at(after, new["models"], path))
            if not is_rendered_alike(was, now, form)
        ]
        if changed:
            what = f"{' and '.join(changed)} {'has' if len(changed) == 1 else 'have'} another format in the key"
            place = f"{name}.keys.{attribute}"
            if attribute in primary and attribute not in old["keys"]:
                # An upgrade cannot change what is the key itself.
                is_declared = retired_form(old, table, new_table) is not None
                declare = () if is_declared else (f"declare {name}Before in the new version, as printed",)
                declaration = "" if is_declared else converted(name, old, new, attribute)
                yield DesignChange(Impact.RE_KEY, place, what, (*declare, *_moved(name, upgraded=True)), declaration)
            elif attribute in primary:
                yield DesignChange(Impact.RE_KEY, place, what, _moved(name, upgraded))
            else:
                yield DesignChange(Impact.BACKFILL, place, what, _derived_anew(name, upgraded))
    if not upgraded:
        yield from _default_changes(name, old, new, [attribute for attribute in indexed if attribute not in primary])


def _default_changes(name: str, old: Described, new: Described, indexed: Sequence[str]) -> Iterator[DesignChange]:
    """Keys of indexes that items without an attribute get, because it has another default now."""
    before = {field["attribute"]: field["absent"] for field in old["fields"].values()}
    after = {field["attribute"]: field["absent"] for field in new["fields"].values()}
    for attribute in dict.fromkeys(indexed):
        rules = old["keys"].get(attribute), new["keys"].get(attribute)
        if (rules[0] is None) != (rules[1] is None) or (rules[1] is not None and not _is_same(*rules)):
            continue
        rule = rules[1]
        paths = [attribute] if rule is None else [*(path for path, _ in rule["parts"]), *rule.get("when", ())]
        for source in dict.fromkeys(path.partition(".")[0] for path in paths):
            absent = after.get(source)
            if isinstance(absent, dict) and before.get(source, "None") not in (absent, "refused"):
                what = f"items without {source} get the key of its default"
                yield DesignChange(
                    Impact.BACKFILL,
                    f"{name}.keys.{attribute}",
                    what,
                    (
                        "deploy the writers of the new version",
                        f"run `store.repair({name}, dry_run=False)`, which stores the default and the key",
                        "deploy the readers; earlier they would miss items",
                    ),
                )


def _is_same(old: Described | None, new: Described | None) -> bool:
    return {**(old or {}), "parts": None} == {**(new or {}), "parts": None}


def _parts(attribute: str, old: Described, new: Described) -> list[tuple[str, str]]:
    """The fields in a key and their formats: of an unchanged template, or of the field that is the key itself."""
    before, after = old["keys"].get(attribute), new["keys"].get(attribute)
    if before is None and after is None:
        return [(attribute, "text")]
    if before is None or after is None or before["template"] != after["template"]:
        return []
    return [(path, form) for path, form in before["parts"]]


def _type_at(types: dict[str, Type], models: Described, path: str) -> Type | None:
    """The type of the value at a path; None if it is not known."""
    first, *steps = path.split(".")
    found = types.get(first)
    for step in steps:
        inside = [models[each["name"]]["members"] for each in found or () if each["kind"] == "model"]
        found = inside[0][step]["type"] if len(inside) == 1 and step in inside[0] else None
    return found


def _moved(name: str, upgraded: bool) -> tuple[str, ...]:
    upgrade = () if upgraded else ("add a step to `Upgrades` that converts stored values",)
    return (
        *upgrade,
        f"deploy, then run `store.repair({name}, dry_run=False)`, which moves each item in a transaction",
        f"check that `store.verify({name})` is clean; until it is done, items that are not moved yet are not found",
    )


def _derived_anew(name: str, upgraded: bool) -> tuple[str, ...]:
    upgrade = () if upgraded else ("add a step to `Upgrades` that converts stored values",)
    return (
        *upgrade,
        "deploy the writers of the new version",
        f"run `store.repair({name}, dry_run=False)`, which gives every item its new key",
        "deploy the readers; earlier they would miss items",
    )


# -- how values are written ------------------------------------------------------------------------------------------


def is_rendered_alike(old: Type, new: Type, form: str) -> bool:
    """Whether stored values of one type have the same text in a key when read as another type."""
    after = {_rendering(each, form) for each in new if each["kind"] != "None"}
    if "any" in after:
        return True
    for each in old:
        ways = {_rendering(each, form), tag_of(each)}
        if (each["kind"] == "choice" and tag_of(each) == "N") or (each["kind"] == "int" and is_exact(each)):
            ways.add("float")
        if each["kind"] != "None" and ways.isdisjoint(after):
            return False
    return True


def _rendering(alternative: Alternative, form: str) -> str:
    """How a value is written in a key: as it is stored, or in a format of its own."""
    kind = alternative["kind"]
    if kind in ("str", "choice", "int", "Decimal") or (form in TIME_PARTS and kind in ("date", "datetime")):
        return tag_of(alternative)
    return str(kind)
