"""The code in a repair: declarations that the model takes as they are, in backticks.

    field_code(schema, "seen_at", "datetime")            `seen_at: datetime`
    keys_code({"GSI1SK": "{seen_at}#{visit_id}"})        `Keys(GSI1SK="{seen_at}#{visit_id}")`
    index_code(index)                                    `GlobalIndex("byPage", "page", "GSI1SK")`

They are None where a declaration says more than can be repeated here; a rule then says it in words. What is in
backticks in one repair belongs together, and alternatives are described in words: a test does what every repair says,
lints the design again and reads what it has written. A field or an index replaces the one of its name, and ``Keys`` are
added to those that are declared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from tablewright.design.lint.field_traits import traits_of, words
from tablewright.model import Index, Keys, Schema, Table, schemas_of

__all__ = [
    "EPOCH_DIGITS",
    "constant_key",
    "declared_template",
    "field_code",
    "free_index_name",
    "free_key_attributes",
    "group_code",
    "identity_template",
    "index_code",
    "keys_code",
    "labelled_template",
    "own_ids",
    "sortable_part",
    "unique_key_repair",
]

# Digits of a time that is stored as a number, until the year 2286.
EPOCH_DIGITS = {"seconds": 10, "milliseconds": 13, "microseconds": 16}


# -- fields -----------------------------------------------------------------------------------------------------------


def field_code(schema: Schema, name: str, kind: str = "", marker: str = "") -> str | None:
    """A field with another type, or with a marker; None if its declaration says more than a type and None."""
    info = schema.entity.model_fields.get(name)
    if info is None or info.metadata or info.default_factory is not None:
        return None
    if info.alias is not None or info.description is not None or info.examples is not None:
        return None
    own, optional = _plain_type(info.annotation)
    if own is None or (info.default not in (PydanticUndefined, None) and kind):
        return None
    annotation = f"{kind or own} | None" if optional else kind or own
    if marker:
        annotation = f"Annotated[{annotation}, {marker}]"
    if info.default is PydanticUndefined:
        return f"`{name}: {annotation}`"
    if info.default is not None and type(info.default) not in (str, int, bool):
        return None
    return f"`{name}: {annotation} = {info.default!r}`"


def _plain_type(annotation: Any) -> tuple[str | None, bool]:
    """The name of a class that stands for itself, and whether there may be None instead."""
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kinds = [choice for choice in choices if choice is not NoneType]
    if len(kinds) != 1 or not isinstance(kinds[0], type) or get_args(kinds[0]):
        return None, False
    return kinds[0].__name__, len(kinds) < len(choices)


def group_code(schema: Schema, marker: str, name: str, per: Sequence[str]) -> str | None:
    """A function that declares a field unique or numbered within the items that have the same values of others."""
    own, optional = _plain_type(schema.entity.model_fields[name].annotation)
    if own is None:
        return None
    kind = f"{own} | None" if optional else own
    others = ", ".join(f"self.{each}" for each in per)
    function = f"{name}_per_{'_and_'.join(each.replace('.', '_') for each in per)}"
    head = f"def {function}(self) -> FieldGroup[{kind}]:"
    return f"`@{marker}()` on `{head} return attr(self.{name}).per({others})`"


# -- keys -------------------------------------------------------------------------------------------------------------


def keys_code(templates: Mapping[str, str], shards: int = 1) -> str:
    """Templates of key attributes; with shards, of the first one."""
    texts: list[tuple[str, str]] = []
    for attribute, template in templates.items():
        rule = f'"{template}"' if texts or shards == 1 else f'sharded("{template}", {shards})'
        texts.append((attribute, rule))
    if all(attribute.isidentifier() for attribute in templates):
        return f"`Keys({', '.join(f'{attribute}={rule}' for attribute, rule in texts)})`"
    return f"`Keys({{{', '.join(f'{attribute!r}: {rule}' for attribute, rule in texts)}}})`"


def declared_template(schema: Schema, attribute: str) -> str | None:
    """The template of a key attribute, in terms of fields, if it is the same for all items, and nothing more."""
    declared: Keys | None = getattr(schema.entity, "keys", None)
    rule = None if declared is None else declared.get(attribute)
    if rule is None or rule.others or rule.when or rule.is_spread:
        return None
    return None if rule.template.raw is not None else rule.template.text


def identity_template(schema: Schema) -> str:
    """What distinguishes an entity from all others: the fields of its primary key."""
    rules = [(name, schema.key_rules.get(name)) for name in schema.table.key]
    paths = [path for name, rule in rules for path in ([name] if rule is None else [part.name for part in rule.fields])]
    return "#".join(sortable_part(schema, schema.field_path(path)) for path in dict.fromkeys(paths))


def sortable_part(schema: Schema, name: str) -> str:
    """A field in a key, in the form that sorts as its values do."""
    traits = traits_of(schema, name)
    if traits.unit is not None:
        return f"{{{name}:0{EPOCH_DIGITS[traits.unit]}}}"
    return f"{{{name}:number}}" if traits.is_number and not traits.is_even else f"{{{name}}}"


def constant_key(schema: Schema) -> str:
    """A partition for all items of an entity."""
    return "_".join(words(schema.entity.__name__)).upper()


def labelled_template(names: Sequence[str]) -> str:
    """Fields, each behind its name: ``STATUS#{status}``."""
    return "#".join(f"{name.replace('.', '_').upper()}#{{{name}}}" for name in names)


def own_ids(schema: Schema) -> list[str]:
    """The fields that identify an entity, by their names: ``order_id`` of an Order, or ``id``."""
    own = words(schema.entity.__name__)
    stems = {"_".join(own), own[-1]} if own else set()
    known = {"id", "uuid", "guid", *(f"{stem}_{end}" for stem in stems for end in ("id", "uuid", "number", "no"))}
    return [name for name in schema.fields if "_".join(words(name)) in known]


def unique_key_repair(schema: Schema, attribute: str, ids: Sequence[str]) -> str:
    """What to add to a key that several items can have: an id of the entity, or a new one."""
    template = declared_template(schema, attribute)
    added = ids[0] if ids else f"{'_'.join(words(schema.entity.__name__))}_id"
    new = "" if ids or added in schema.fields else f"a field `{added}: str` and "
    part = sortable_part(schema, added) if ids else f"{{{added}}}"
    if template is None or "[" in template or (not ids and not new):
        return f"Add what makes it unique to {attribute}, such as an id of its own."
    return f"Add what makes it unique to the key: {new}{keys_code({attribute: f'{template}#{part}'})}."


# -- indexes ----------------------------------------------------------------------------------------------------------


def index_code(index: Index) -> str:
    """An index, as it can be declared."""
    first = f"GlobalIndex({_text(index.name)}, {_names(index.partition)}" if index.is_global else ""
    if not index.is_global:
        first = f"LocalIndex({_text(index.name)}, {_names(index.sort)}"
    elif index.sort:
        first += f", {_names(index.sort)}"
    include = "" if index.include is None else f", include=[{', '.join(map(_text, index.include))}]"
    return f"`{first}{include})`"


def _names(names: Sequence[str]) -> str:
    return _text(names[0]) if len(names) == 1 else f"[{', '.join(map(_text, names))}]"


def _text(name: str) -> str:
    return f'"{name}"'


def free_key_attributes(table: Table) -> tuple[str, str]:
    """Names for the key attributes of a new index that nothing in the table has."""
    taken = {*table.key_attributes, *(name for each in schemas_of(table) for name in each.by_attribute)}
    if table.type_attribute is not None:
        taken.add(table.type_attribute)
    if table.ttl is not None:
        taken.add(table.ttl)
    number = next(each for each in count(1) if not {f"GSI{each}PK", f"GSI{each}SK"} & taken)
    return f"GSI{number}PK", f"GSI{number}SK"


def free_index_name(table: Table, by: Sequence[str]) -> str:
    """A name for a new index that the table does not have: ``byStatus``."""
    parts = [word[:1].upper() + word[1:] for name in by for word in re.split(r"[._]", name) if word]
    name = "by" + "".join(parts)
    names = {index.name for index in table.indexes}
    if name in names:
        name = next(f"{name}{each}" for each in count(2) if f"{name}{each}" not in names)
    return name
