"""The cost of an index: the size of its entries by their projection, and how often a write changes them.

    entry_size(schema, index, item, size)     the item, or only what the index projects of it
    entry_writes(schema, index, write)        0, 1, or 2 if the entry moves: it is deleted and put
    entries(schema, index, volume)            how many items an index has
    is_sparse(schema, index)                  whether new items are not in the index

A new item is in the state that its default values put it in. Later it may be in any: an update or a delete counts for
the state in which it costs most, so that it never costs more than is said, and in some state it costs that.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Set
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin

from tablewright.design.cost.write_actions import changed_attributes, is_move
from tablewright.dynamo import AttributeValue, item_size, non_null_at
from tablewright.model import Index, ItemWrite, Schema, Volume
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.values.attribute_codec import resolve_alias

__all__ = ["choices_of", "entries", "entry_size", "entry_writes", "is_sparse"]

# The estimated size of a key that a sample item lacks.
_KEY_BYTES = 24


def entry_size(schema: Schema, index: Index, item: Mapping[str, AttributeValue], size: int) -> int:
    """The bytes of an index entry, for a sample item and the estimated size of items."""
    if index.include is None:
        return size
    projected = dict.fromkeys([*schema.table.key, *index.attributes, *index.include])
    known = {name: item[name] for name in projected if name in item}
    missing = [name for name in index.attributes if name not in item]
    return min(size, item_size(known) + sum(len(name) + _KEY_BYTES for name in missing))


def is_sparse(schema: Schema, index: Index, given: Set[str] = frozenset()) -> bool:
    """Whether an index has items of the entity in some states only, and not in the initial one.

    ``given`` are the attributes that a new item has although their default is none.
    """
    for attribute in index.attributes:
        rule = schema.key_rules.get(attribute)
        needed = [attribute] if rule is None else sorted(rule.required)
        if any(_begins_absent(schema, path) for path in needed if path.partition(".")[0] not in given):
            return True
        if rule is not None and rule.is_partial and not any(_may_begin(schema, case) for case in rule.cases):
            return True
    return False


def _may_begin(schema: Schema, case: KeyRule) -> bool:
    """Whether a new item can be in a state."""
    for path, allowed in case.when.items():
        spec = schema.by_attribute[path.partition(".")[0]]
        info = schema.entity.model_fields[spec.name]
        if not info.is_required():
            default = spec.encode(info.get_default(call_default_factory=True, validated_data={}))
            stored = {} if default is None else {spec.attribute: default}
            if non_null_at(stored, path) not in allowed:
                return False
    return True


def entry_writes(schema: Schema, index: Index, item_write: ItemWrite) -> int:
    """How often a write changes the entry of an item."""
    if not schema.covers(index):
        return 0
    if item_write.action in ("create", "put"):
        given = {schema.path(path).partition(".")[0] for path in item_write.sets}
        return int(not is_sparse(schema, index, given))
    if item_write.action == "delete":
        return 1
    if is_move(item_write):
        return 2
    changed = changed_attributes(schema, item_write)
    if any(_follows(schema, attribute, changed) for attribute in index.attributes):
        return 2 if _may_move(schema, index, changed) else 1
    seen = index.include is None or changed & {*index.include, *schema.table.key}
    return 1 if seen else 0


def _follows(schema: Schema, attribute: str, changed: frozenset[str]) -> bool:
    """Whether a key attribute is another one, or comes or goes, with what is changed."""
    rule = schema.key_rules.get(attribute)
    if rule is None:
        return attribute in changed
    parts = {source for part in rule.fields for source in schema.unstored.sources(part.name.partition(".")[0])}
    if parts & changed or (rule.shards > 1 and schema.identity & changed):
        return True
    if rule.others and any(path.partition(".")[0] in changed for path in rule.state_paths):
        return True
    for path, allowed in rule.when.items():
        spec = schema.by_attribute[path.partition(".")[0]]
        choices = choices_of(spec.annotation) if spec.attribute == path else None
        # A state that includes all states is no restriction.
        if spec.attribute in changed and (choices is None or len(allowed) < choices):
            return True
    return False


def _may_move(schema: Schema, index: Index, changed: frozenset[str]) -> bool:
    """Whether an item can be in an index before and after a change, under another key.

    It cannot if the key changes with the state alone, and there is one state only in which it is in the index.
    """
    states: dict[str, int] = {}
    parts: set[str] = set()
    for attribute in index.attributes:
        rule = schema.key_rules.get(attribute)
        if rule is None:
            parts.add(attribute)
            continue
        parts |= {source for part in rule.fields for source in schema.unstored.sources(part.name.partition(".")[0])}
        if rule.others:
            parts |= {path.partition(".")[0] for path in rule.state_paths}
            continue
        for path, allowed in rule.when.items():
            name = path.partition(".")[0]
            states[name] = min(states.get(name, len(allowed)), len(allowed))
    return any(states.get(name, 2) > 1 for name in parts & changed)


def entries(schema: Schema, index: Index, volume: Volume) -> int:
    """How many items of an entity an index has: as declared, or those in the states that it is for.

    States are taken to be equally frequent, and an attribute that may be absent to be there.
    """
    if index.name in volume.indexed:
        return volume.indexed[index.name]
    share = Fraction(1)
    for attribute in index.attributes:
        rule = schema.key_rules.get(attribute)
        for path, allowed in {} if rule is None or rule.others else rule.when.items():
            spec = schema.by_attribute.get(path)
            choices = None if spec is None else choices_of(spec.annotation)
            if choices:
                share = min(share, Fraction(min(len(allowed), choices), choices))
    return math.ceil(volume.items * share)


def choices_of(annotation: Any) -> int | None:
    """The number of values that a field of this type has, if it is known."""
    annotation = resolve_alias(annotation)
    if get_origin(annotation) is Literal:
        return len(get_args(annotation))
    if annotation is bool:
        return 2
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return len(annotation)
    known = [count for argument in get_args(annotation) if (count := choices_of(argument)) is not None]
    return known[0] if len(known) == 1 else None


def _begins_absent(schema: Schema, path: str) -> bool:
    """Whether a new item lacks an attribute."""
    spec = schema.by_attribute.get(path.partition(".")[0])
    if spec is None or spec in (schema.created, schema.updated):
        return False
    info = schema.entity.model_fields[spec.name]
    if spec is schema.expiry and schema.lifetime is not None:
        return False
    return not info.is_required() and info.default is None and info.default_factory is None
