"""A design as plain JSON, always the same for the same design: what a team commits, to compare the next version with.

    snapshot(design)        tables with their settings and indexes; entities with their fields, keys and patterns;
                            writes, roles and reactions

It says what stored data depends on: attributes and their types, what values a field accepts, how keys are made. It is
read back by ``read``, which refuses what it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tablewright.design.loading import DesignError
from tablewright.model import Design, Expiry, Index, Large, Numbered, Schema, Stamp, Table, Unique
from tablewright.model.attributes import Epoch, encode, named, stored_members, stored_types
from tablewright.model.collection import Gather
from tablewright.model.patterns import Get, Query
from tablewright.model.rules import KeyRule, VersionMark

__all__ = ["Snapshot", "declared_entities", "read", "snapshot", "text"]

Snapshot = dict[str, Any]

_VERSION = 1
_MARK = "tablewright-snapshot"
_MOST_BYTES = 64 * 1024 * 1024


def text(designs: Iterable[Design]) -> str:
    """The file of snapshots of some designs."""
    content = {_MARK: _VERSION, "designs": [snapshot(design) for design in designs]}
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read(path: Path) -> list[Snapshot]:
    """The snapshots in a file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DesignError(f"{path} is too large to be a snapshot")
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DesignError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise DesignError(f"{path} is not JSON; write one with: tablewright diff --snapshot MODEL > {path}") from None
    if not isinstance(content, dict) or _MARK not in content or not isinstance(content.get("designs"), list):
        raise DesignError(f"{path} is no snapshot; write one with: tablewright diff --snapshot MODEL > {path}")
    if content[_MARK] != _VERSION:
        raise DesignError(f"{path} was written by another version of tablewright; write it anew from the old model")
    for each in content["designs"]:
        if not isinstance(each, dict) or not {"name", "tables"} <= each.keys():
            raise DesignError(f"{path} is damaged: a design in it lacks its name or tables; write it anew")
    designs: list[Snapshot] = content["designs"]
    return designs


def snapshot(design: Design) -> Snapshot:
    """A design as it will be compared."""
    return {
        "name": design.name,
        "tables": {table.name: _table(table) for table in design.tables},
        "collections": {
            collection.__name__: {
                "members": [member.schema.entity.__name__ for member in collection.members_],
                "patterns": {name: _pattern(each) for name, each in collection.patterns_.items()},
            }
            for collection in design.collections
        },
        "writes": {
            name: [
                f"{touch.action} {touch.entity.__name__}" + (f" {'+'.join(changed)}" if changed else "")
                for touch in write.touches
                for changed in [sorted([*touch.sets, *touch.appends])]
            ]
            for name, write in design.writes.items()
        },
        "reactions": {
            each.name: {"entity": each.entity.__name__, "source": each.source, "effect": each.effect}
            for each in design.reactions
        },
        "roles": {role: sorted(names) for role, names in design.roles.items()},
    }


# -- tables ---------------------------------------------------------------------------------------------------------


def _table(table: Table) -> dict[str, Any]:
    return {
        "partition": table.partition,
        "sort": table.sort,
        "types": {name: table.types.get(name, "S") for name in table.key_attributes},
        "indexes": {index.name: _index(index) for index in table.indexes},
        "type_attribute": table.type_attribute,
        "ttl": table.ttl,
        "stream": table.stream,
        "point_in_time_recovery": table.point_in_time_recovery,
        "encryption": table.encryption,
        "deletion_protection": table.deletion_protection,
        "tags": dict(table.tags),
        "entities": {schema.entity.__name__: _entity(schema) for schema in declared_entities(table)},
    }


def declared_entities(table: Table) -> list[Schema]:
    """The entities of a table, without those that a store declares for itself when a consumer first runs."""
    return [schema for schema in table.entities if not schema.entity.__module__.startswith("tablewright.store.")]


def _index(index: Index) -> dict[str, Any]:
    return {
        "global": index.is_global,
        "partition": list(index.partition),
        "sort": list(index.sort),
        "include": None if index.include is None else sorted(index.include),
    }


def _entity(schema: Schema) -> dict[str, Any]:
    fields = {}
    for name, info in schema.entity.model_fields.items():
        described = _field(info.annotation, info.metadata, info, ())
        fields[name] = {"attribute": schema.fields[name].attribute, **described, **_marks(info)}
    upgrades = schema.upgrades
    return {
        "type_name": schema.type_name,
        "fields": fields,
        "keys": {attribute: _rule(rule) for attribute, rule in schema.rules.items()},
        "patterns": {name: _pattern(pattern) for name, pattern in schema.patterns.items()},
        "upgrades": None if upgrades is None else {"attribute": upgrades.attribute, "steps": len(upgrades.steps)},
    }


def _rule(rule: KeyRule) -> dict[str, Any]:
    described: dict[str, Any] = {"template": rule.template.text}
    if rule.when:
        described["when"] = {path: sorted(json.dumps(value) for value in values) for path, values in rule.when.items()}
    if rule.shards > 1:
        described["shards"] = rule.shards
    if rule.was is not None:
        described["was"] = rule.was
    return described


def _pattern(pattern: Get | Query | Gather) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": type(pattern).__name__, "index": pattern.index}
    for member in ("range", "newest_first", "consistent", "many"):
        if getattr(pattern, member, None):
            described[member] = getattr(pattern, member)
    for member in ("fixed", "where"):
        if getattr(pattern, member, None):
            described[member] = {name: _plain(value) for name, value in getattr(pattern, member).items()}
    if getattr(pattern, "project", ()):
        described["project"] = sorted(pattern.project) if isinstance(pattern, Query) else []
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return sorted(json.dumps(encode(each)) for each in value)
    return json.dumps(encode(value))


# -- fields ---------------------------------------------------------------------------------------------------------


def _field(annotation: Any, metadata: Sequence[Any], info: FieldInfo, inside: tuple[type, ...]) -> dict[str, Any]:
    types = stored_types(annotation, metadata)
    described: dict[str, Any] = {"types": sorted("?" if kind is None else kind for kind in types)}
    # An absent attribute means None, or an empty set, or the default.
    described["required"] = info.is_required() and not types & {"NULL", "SET"}
    flat = list(_flattened(annotation, metadata))
    values = [_stored_choices(kind) for kind, _ in flat]
    if values and all(choices is not None for choices in values):
        described["values"] = sorted({choice for choices in values for choice in choices or ()})
    units = {mark.unit for _, marks in flat for mark in marks if isinstance(mark, Epoch)}
    if units:
        described["unit"] = "milliseconds" if timedelta(milliseconds=1) in units else "seconds"
    limits = {name: value for _, marks in flat for name, value in _limits(marks)}
    if limits:
        described["limits"] = limits
    models = {kind for kind, _ in _deep(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)}
    if len(models) == 1 and not models & set(inside):
        (model,) = models
        described["members"] = {
            stored: _field(member.annotation, member.metadata, member, (*inside, model))
            for name, stored, _, _ in stored_members(model)
            for member in [model.model_fields[name]]
        }
    return described


def _flattened(annotation: Any, metadata: Sequence[Any]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The types that a field is one of, None aside, each with what is said of it."""
    annotation = named(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _flattened(arguments[0], (*metadata, *arguments[1:]))
    elif origin is Union or origin is UnionType:
        for argument in arguments:
            if argument is not type(None):
                yield from _flattened(argument, metadata)
    else:
        yield annotation, tuple(metadata)


def _deep(annotation: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """All types in an annotation, also those of members of containers."""
    for kind, marks in _flattened(annotation, ()):
        yield kind, marks
        if get_origin(kind) is not Literal:
            for argument in get_args(kind):
                if argument is not ...:
                    yield from _deep(argument)


def _stored_choices(kind: Any) -> list[str] | None:
    """The values that a type accepts, as they are stored; None where they cannot be counted."""
    if get_origin(kind) is Literal:
        choices: Iterable[Any] = get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        choices = kind
    else:
        return None
    return [json.dumps(encode(choice)) for choice in choices]


def _limits(marks: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for mark in marks:
        if isinstance(mark, annotated_types.GroupedMetadata):
            yield from _limits(mark)
            continue
        for name, attribute in _LIMITS.items():
            value = getattr(mark, attribute, None)
            if value is not None and not isinstance(mark, type):
                yield name, value if isinstance(value, int | float) else str(value)


_LIMITS: Mapping[str, str] = {
    "at least": "ge",
    "above": "gt",
    "at most": "le",
    "below": "lt",
    "multiple of": "multiple_of",
    "least length": "min_length",
    "most length": "max_length",
    "pattern": "pattern",
}


def _marks(info: FieldInfo) -> dict[str, Any]:
    """What the store does with a field."""
    found: dict[str, Any] = {}
    for mark in info.metadata:
        if isinstance(mark, Unique):
            found["unique"] = True
        elif isinstance(mark, Numbered):
            found["numbered"] = list(mark.per)
        elif isinstance(mark, VersionMark):
            found["version"] = True
        elif isinstance(mark, Stamp):
            found["stamp"] = mark.event
        elif isinstance(mark, Expiry):
            found["expiry"] = None if mark.after is None else mark.after.total_seconds()
        elif isinstance(mark, Large):
            found["large"] = mark.threshold
    return found
