"""Declarations of retired entities, as Python text: what to add to a new version so that a repair can migrate items.

    before(...)     class OrderBefore(RetiredEntity, Order): the old keys, type name and fields, and what items become
    converted(...)  the same, with the old type of a field that is the key itself
    removed(...)    class Order(RetiredEntity, table=orders): the old entity, whose items are deleted

They are made from snapshots, which know attributes and types, but neither validators nor what a value means. So they
are complete where fields keep their names, and have ``...`` where a decision is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from tablewright.design.diff.change import Described
from tablewright.design.diff.stranded_data import primary_key, renamed_fields
from tablewright.model import Template

__all__ = ["before", "converted", "in_old_table", "removed"]

_ANNOTATIONS: Mapping[str, str] = {
    **{name: name for name in ("str", "int", "float", "Decimal", "bool", "bytes", "UUID", "date", "datetime", "None")},
    "seconds": "EpochSeconds",
    "milliseconds": "EpochMillis",
}


def before(
    name: str,
    old: Described,
    new: Described,
    table: Described,
    new_table: Described,
    moved: Mapping[str, Described],
    existing: Collection[str],
) -> str:
    """The old form of an entity, for all that has changed of it.

    ``moved`` are the entities that have fields of it now; those that were there already are ``existing``.
    """
    primary = primary_key(table)
    bases = f"RetiredEntity, {name}"
    if new_table["type_attribute"] is not None and old["type_name"] != new["type_name"]:
        bases += f", type_name={old['type_name']!r}".replace("'", '"')
    re_keyed = any(_text(old, attribute) != _text(new, attribute) for attribute in primary)
    now = {field["attribute"] for field in new["fields"].values()}
    used = _key_attributes(old, primary) if re_keyed else set()
    taken = {each for described in moved.values() for each in described["fields"]}
    gone = [
        each
        for each, field in old["fields"].items()
        if field["attribute"] not in now
        and each not in new["fields"]
        and (field["attribute"] in used or each in taken or moved)
    ]
    stored = {field["attribute"] for field in old["fields"].values()}
    lacking = [
        each
        for each, field in new["fields"].items()
        if field["absent"] == "refused" and field["attribute"] not in stored
    ]
    # By their new names, in the attributes that they are stored in.
    renamed = {} if moved else {now: was for was, now in renamed_fields(old, new).items() if was not in gone}
    lacking = [each for each in lacking if each not in renamed]
    fields = [_field(each, old["fields"][each]) for each in gone]
    fields += [_field(now, old["fields"][was]) for now, was in renamed.items()]
    # What the entity requires, and its old form does not have.
    fields += [f"{each}: Any = None" for each in lacking]
    keys = _keys(old, new, primary) if re_keyed else []
    body = _becomes(name, old, new, gone, moved, existing) if moved else []
    return _class(f"{name}Before", bases, fields, keys, body)


def _becomes(
    name: str,
    old: Described,
    new: Described,
    gone: Sequence[str],
    moved: Mapping[str, Described],
    existing: Collection[str],
) -> list[str]:
    known = {field["attribute"]: each for each, field in new["fields"].items()}
    # By the names that new entities have for them: what the old one has.
    have = {each: each for each in [known.get(field["attribute"], name) for name, field in old["fields"].items()]}
    own = {**have, **{now: was for was, now in renamed_fields(old, new).items()}}
    body = ["def becomes(self) -> Iterable[object]:", f"    yield {_made(name, new, own)}"]
    for other, described in moved.items():
        optional = [each for each in gone if each in described["fields"] and _may_be_none(old["fields"][each])]
        required = [each for each in optional if not _may_be_none(described["fields"][each])]
        made = f"yield {_made(other, described, have)}"
        if other in existing:
            # Its items are there, and get the values.
            made, required = f"yield {_updated(other, described, gone, have)}", optional
        if required:
            body += [f"    if {' and '.join(f'self.{each} is not None' for each in required)}:", f"        {made}"]
        else:
            body.append(f"    {made}")
    return body


def converted(name: str, old: Described, new: Described, attribute: str) -> str:
    """The entity with the old type of a field that is its key; a person has to declare how a value is converted."""
    now = {field["attribute"]: each for each, field in new["fields"].items()}
    known = {now[field["attribute"]]: field for field in old["fields"].values() if field["attribute"] in now}
    field = now.get(attribute, attribute)
    have = {each: each for each in known if each != field}
    body = ["def becomes(self) -> Iterable[object]:", f"    yield {_made(name, {'fields': {**new['fields']}}, have)}"]
    lines = [_field(field, known[field])] if field in known else []
    return _class(f"{name}Before", f"RetiredEntity, {name}", lines, [], body)


def in_old_table(name: str, old: Described, new: Described, table: str, described: Described) -> str:
    """The entity in the table that it was in."""
    type_name = "" if old["type_name"] == new["type_name"] else f", type_name={old['type_name']!r}"
    bases = f"RetiredEntity, {name}, table={_variable(table)}{type_name}"
    return _class(f"{name}Before", bases, [], _keys(old, new, primary_key(described)))


def removed(name: str, old: Described, table: str, described: Described) -> str:
    """An entity whose items have no successors."""
    fields = [_field(each, field) for each, field in old["fields"].items()]
    keys = _keys(old, old, primary_key(described))
    body = ["def becomes(self) -> Iterable[object]:", "    return ()  # or the entities that its items become"]
    return _class(name, f"RetiredEntity, table={_variable(table)}, type_name={old['type_name']!r}", fields, keys, body)


def _variable(table: str) -> str:
    """A possible name of a table in Python."""
    return re.sub(r"\W+", "_", table).lower().strip("_") or "table"


# -- parts ----------------------------------------------------------------------------------------------------------


def _class(name: str, bases: str, fields: Sequence[str], keys: Sequence[str], body: Sequence[str] = ()) -> str:
    parts = [part for part in (fields, keys, body) if part]
    lines = [line for number, part in enumerate(parts) for line in ([""] if number else []) + list(part)]
    return "\n".join([f"class {name}({bases}):", *(f"    {line}" if line else "" for line in lines or ["pass"])])


def _keys(old: Described, new: Described, attributes: Iterable[str]) -> list[str]:
    """The templates of the old version, with the names that fields have in the class."""
    now = {field["attribute"]: name for name, field in new["fields"].items()}
    names = {field["attribute"]: now.get(field["attribute"], name) for name, field in old["fields"].items()}

    def field_path(path: str) -> str:
        first, dot, rest = path.partition(".")
        return f"{names.get(first, first)}{dot}{rest}"

    texts = []
    for attribute in attributes:
        rule = old["keys"].get(attribute)
        if rule is not None and ("raw" in rule or "others" in rule):
            return ["keys = ...  # those of the old version"]
        if rule is not None:
            text = repr(Template(rule["template"]).renamed(field_path).text).replace("'", '"')
            if "shards" in rule:
                text = f"sharded({text}, {rule['shards']})"
            texts.append(f"{attribute}={text}" if attribute.isidentifier() else f"**{{{attribute!r}: {text}}}")
    return [f"keys = Keys({', '.join(texts)})"] if texts else []


def _text(entity: Described, attribute: str) -> str | None:
    rule = entity["keys"].get(attribute)
    return None if rule is None else f"{rule['template']} {rule.get('shards', 1)}"


def _key_attributes(entity: Described, primary: Sequence[str]) -> set[str]:
    """The attributes that a primary key is made of."""
    rules = [(name, entity["keys"].get(name)) for name in primary]
    parts = {path.partition(".")[0] for _, rule in rules if rule is not None for path, _ in rule["parts"]}
    return parts | {name for name, rule in rules if rule is None}


def _field(name: str, field: Described) -> str:
    kinds = [_ANNOTATIONS.get(each["kind"], "Any") for each in field["type"]]
    default = _default(field)
    if default == "None" and "None" not in kinds:
        kinds.append("None")
    annotation = "Any" if "Any" in kinds else " | ".join(kinds)
    if field["attribute"] != name:
        annotation = f'Annotated[{annotation}, AttributeName("{field["attribute"]}")]'
    return f"{name}: {annotation}" + ("" if default is None else f" = {default}")


def _default(field: Described) -> str | None:
    """The default of a field, as it is written; None if it has none."""
    absent = field["absent"]
    if absent == "refused":
        return None
    if isinstance(absent, dict):
        ((tag, value),) = json.loads(absent["default"]).items()
        if tag in ("S", "BOOL"):
            return repr(value).replace("'", '"')
        if tag == "N":
            return str(value)
    return "None"


def _may_be_none(field: Described) -> bool:
    return _default(field) == "None" or any(each["kind"] == "None" for each in field["type"])


def _made(name: str, entity: Described, have: Mapping[str, str]) -> str:
    """The call that makes an entity of the old one's values."""
    given = [
        f"{each}=self.{have[each]}" if each in have else f"{each}=..."
        for each, field in entity["fields"].items()
        if each in have or field["absent"] == "refused"
    ]
    return f"{name}({', '.join(given)})"


def _updated(name: str, entity: Described, gone: Sequence[str], have: Mapping[str, str]) -> str:
    """The operation that sets values in an item."""
    gets = [
        each for each, pattern in entity["patterns"].items() if "Get" in pattern["kind"] and pattern["index"] is None
    ]
    names = {field["attribute"]: each for each, field in entity["fields"].items()}
    paths = dict.fromkeys(path for rule in entity["keys"].values() for path, _ in rule["parts"])
    keys = [names.get(path, path) for path in paths if path in names]
    found = ", ".join(f"{each}=self.{have[each]}" if each in have else f"{each}=..." for each in keys)
    changes = [f"attr({name}.{each}).set(self.{each})" for each in gone if each in entity["fields"]]
    return f"Update({name}.{gets[0] if gets else 'by_id'}({found}), {', '.join(changes)})"
