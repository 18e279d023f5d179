"""The permissions of maintenance: verify, repair (which migrates as well), the collection of orphans, personal data.

All of it reads tables from end to end. What a repair writes depends on the entities: an index key is set in place, an
item under a wrong primary key is moved, a guard is put or deleted while its owner is checked, a counter is raised, an
item of a retired entity is replaced by what it becomes. Erasing a person deletes or updates the items about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel

from tablewright.design.iam.grants import Grant, Resource
from tablewright.design.iam.write_grants import of_touch
from tablewright.model import (
    Design,
    ItemWrite,
    Schema,
    Write,
    personal_fields,
    personal_members,
    retired_schemas_of,
    schemas_of,
)

__all__ = ["of_maintenance"]


_PERSONAL = "personal data is found and erased"
# It is put on record who is being erased.
_OF_PERSONAL = ("GetItem", "PutItem", "UpdateItem", "DeleteItem")
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
        for schema in schemas_of(table):
            yield from _of_personal_data(schema)
    for table in design.internal_tables:
        # Which entities it has depends on what the process has imported; some are about people, or none is.
        is_personal = any(personal_fields(schema) for schema in schemas_of(table))
        for action in ("Scan", *(_OF_PERSONAL if is_personal else ())):
            yield Grant(action, Resource(table), _PERSONAL)


def _of_personal_data(schema: Schema) -> Iterator[Grant]:
    """To find it is a scan, as for verify."""
    entity, markers = schema.entity, personal_fields(schema)
    deleted = [name for name, marker in markers.items() if marker.kind in ("subject", "part") and not marker.keep]
    nested = [name for name in schema.fields if name not in markers and _has_personal_members(entity, name)]
    changes = [ItemWrite(entity, "delete")] if deleted else []
    if nested or any(marker.kind != "value" for name, marker in markers.items() if name not in deleted):
        # A person is replaced in it.
        changes.append(ItemWrite(entity, "update", sets=[getattr(entity, name) for name in (*markers, *nested)]))
    for change in changes:
        yield from of_touch(Write(_PERSONAL, change), change, None, False)


def _has_personal_members(model: type[BaseModel], name: str) -> bool:
    """Whether models inside of a field have personal members."""
    found, seen = [model.model_fields[name].annotation], set()
    while found:
        kind = found.pop()
        if kind in seen:
            continue
        seen.add(kind)
        found += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if personal_members(kind):
                return True
            found += [info.annotation for info in kind.model_fields.values()]
    return False


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
