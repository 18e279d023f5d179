"""The permissions of maintenance: verify, repair (which migrates as well), and the collection of orphans.

All of it reads tables from end to end. What a repair writes depends on the entities: an index key is set in place, an
item under a wrong primary key is moved, a guard is put or deleted while its owner is checked, a counter is raised, an
item of a retired entity is replaced by what it becomes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.iam.grants import Grant, Resource
from tablewright.model import Design, Schema, retired_schemas_of, schemas_of

__all__ = ["of_maintenance"]


_OF_RETIRED = ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")


def of_maintenance(design: Design) -> Iterator[Grant]:
    for table in design.tables:
        yield Grant("DescribeTable", Resource(table), "verify: the number of items")
        yield Grant("Scan", Resource(table), "verify")
        for schema in schemas_of(table):
            for action, reason in _of_entity(schema):
                yield Grant(action, Resource(table), reason)
        for form in retired_schemas_of(table):
            # Of what they become, only the table is known.
            for action in _OF_RETIRED:
                yield Grant(action, Resource(table), f"repair: what items of {form.entity.__name__} become")
        if any(schema.large for schema in schemas_of(table)):
            reason = f"collect: how far {table.name} can be restored"
            yield Grant("DescribeContinuousBackups", Resource(table), reason)
            yield Grant("ListBackups", Resource(table, everything=True), reason)


def _of_entity(schema: Schema) -> Iterator[tuple[str, str]]:
    name, key = schema.entity.__name__, schema.table.key
    in_place = schema.upgrades is not None or any(attribute not in key for attribute in schema.key_rules)
    moves = any(attribute in key for attribute in schema.key_rules)
    if in_place:
        yield "UpdateItem", f"repair: index keys and schema versions of {name}"
    if moves:
        yield "PutItem", f"repair: {name} at its key"
        yield "DeleteItem", f"repair: {name} at a wrong key"
    if in_place or moves:
        yield "GetItem", f"repair: {name} that others change meanwhile"
    if schema.unique:
        for action in ("BatchGetItem", "GetItem"):
            yield action, f"verify: guards of unique fields of {name}"
        for action in ("PutItem", "DeleteItem", "ConditionCheckItem"):
            yield action, f"repair: guards of unique fields of {name}"
    if schema.numbered:
        yield "BatchGetItem", f"verify: counters of {name}"
        yield "UpdateItem", f"repair: counters of {name}"
    if schema.large:
        yield "BatchGetItem", f"collect: {name} that blobs belong to"
