"""What an index costs: the size of its entries by their projection, and how often a write changes them.

    entry_size(schema, index, item, size)     the item, or only what the index projects of it
    entry_writes(schema, index, write)        0, 1, or 2 if the entry moves: it is deleted and put
    is_sparse(schema, index)                  whether new items are not in the index

An item is assumed to be in a sparse index if its default values put it there, or if the write adds or removes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tablewright.design.cost.write_actions import changed_attributes, is_move
from tablewright.dynamo import AttributeValue, item_size, non_null_at
from tablewright.model import Index, ItemWrite, Schema

__all__ = ["entry_size", "entry_writes", "is_sparse"]

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


def is_sparse(schema: Schema, index: Index) -> bool:
    """Whether an index has items of the entity in some states only, and not in the initial one."""
    for attribute in index.attributes:
        rule = schema.key_rules.get(attribute)
        needed = [attribute] if rule is None else sorted(rule.template.required)
        if any(_begins_absent(schema, path) for path in needed):
            return True
        for path, allowed in {} if rule is None else rule.when.items():
            spec = schema.by_attribute[path.partition(".")[0]]
            info = schema.entity.model_fields[spec.name]
            if not info.is_required():
                default = spec.encode(info.get_default(call_default_factory=True, validated_data={}))
                if default is None or non_null_at({spec.attribute: default}, path) not in allowed:
                    return True
    return False


def entry_writes(schema: Schema, index: Index, item_write: ItemWrite) -> int:
    """How often a write changes the entry of an item."""
    if not schema.covers(index):
        return 0
    there = not is_sparse(schema, index)
    if item_write.action != "update":
        return int(there)
    if is_move(item_write):
        return 2 * there
    changed = changed_attributes(schema, item_write)
    if any(schema.sources(attribute) & changed for attribute in index.attributes):
        states = {
            path.partition(".")[0]
            for attribute in index.attributes
            if attribute in schema.key_rules
            for path in schema.key_rules[attribute].when
        }
        # The state decides whether there is an entry: it is added or removed.
        return 1 if states & changed else 2
    if not there:
        return 0
    seen = index.include is None or changed & {*index.include, *schema.table.key}
    return 1 if seen else 0


def _begins_absent(schema: Schema, path: str) -> bool:
    """Whether a new item lacks an attribute."""
    spec = schema.by_attribute.get(path.partition(".")[0])
    if spec is None or spec in (schema.created, schema.updated):
        return False
    info = schema.entity.model_fields[spec.name]
    if spec is schema.expiry and schema.lifetime is not None:
        return False
    return not info.is_required() and info.default is None and info.default_factory is None
