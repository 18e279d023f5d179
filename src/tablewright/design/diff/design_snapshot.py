"""A design as plain JSON, always the same for the same design: a team commits it, to compare the next version with.

    snapshot(design)        tables with their settings and indexes; entities with their fields, keys and patterns;
                            writes, roles and reactions

It says what stored data depends on: attributes and their types (``value_types``), how keys are made, what an absent
attribute means. It is read back by ``read_snapshots``, which refuses files of another format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from tablewright.design.design_loading import DesignError
from tablewright.design.diff.value_types import Type, Types, absence
from tablewright.model import (
    CollectionQuery,
    Design,
    Expiry,
    Get,
    Index,
    Large,
    Numbered,
    Query,
    Schema,
    Stamp,
    Table,
    Unique,
    retired_schemas_of,
    schemas_of,
)
from tablewright.model.declarations import VersionMarker
from tablewright.model.derived.counters import CounterMarker
from tablewright.model.field_conditions import path_of
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.values.attribute_codec import encode

__all__ = ["EMPTY_SNAPSHOT", "Snapshot", "declared_entities", "read_snapshots", "snapshot", "snapshot_text"]

Snapshot = dict[str, Any]
"""A design as JSON has it."""

EMPTY_SNAPSHOT: Snapshot = {
    member: {} for member in ("tables", "collections", "writes", "checks", "reactions", "roles")
}
"""The snapshot of a design that one of two versions does not have."""

_FORMAT = 2
_MARK = "tablewright-snapshot"
_MAX_BYTES = 64 * 1024 * 1024


def snapshot_text(designs: Iterable[Design]) -> str:
    """The content of a snapshot file."""
    content = {_MARK: _FORMAT, "designs": [snapshot(design) for design in designs]}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def read_snapshots(path: Path) -> list[Snapshot]:
    """The snapshots in a file."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DesignError(f"{path} is too large to be a snapshot")
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DesignError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DesignError(f"{path} is not JSON; write one with: tablewright diff --snapshot MODEL > {path}") from None
    if not isinstance(content, dict) or _MARK not in content or not isinstance(content.get("designs"), list):
        raise DesignError(f"{path} is not a snapshot; write one with: tablewright diff --snapshot MODEL > {path}")
    if content[_MARK] != _FORMAT:
        raise DesignError(
            f"{path} has snapshot format {content[_MARK]}, and this version of tablewright reads format {_FORMAT}; "
            "write the snapshot again from the model that it was made of"
        )
    for each in content["designs"]:
        if not isinstance(each, dict) or not (
            isinstance(each.get("name"), str) and isinstance(each.get("tables"), dict)
        ):
            raise DesignError(f"{path} is damaged: a design in it lacks its name or tables; write the snapshot again")
    designs: list[Snapshot] = content["designs"]
    return designs


def snapshot(design: Design) -> Snapshot:
    """The snapshot of a design."""
    return {
        "name": design.name,
        "tables": {table.name: _table(table) for table in design.tables},
        "collections": {
            collection.__name__: {
                "members": [schema.entity.__name__ for member in collection.members_ for schema in member.schemas],
                "patterns": {name: _pattern(each) for name, each in collection.patterns_.items()},
            }
            for collection in design.collections
        },
        "writes": {
            name: [
                f"{item_write.action} {item_write.entity.__name__}" + (f" {'+'.join(changed)}" if changed else "")
                for item_write in write.item_writes
                for changed in [sorted(item_write.changed)]
            ]
            for name, write in design.writes.items()
        },
        "checks": {
            name: sorted(entity.__name__ for entity in write.checks)
            for name, write in design.writes.items()
            if write.checks
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
        "retired": {schema.entity.__name__: _retired(schema) for schema in retired_schemas_of(table)},
    }


def _retired(schema: Schema) -> dict[str, Any]:
    """What identifies the items of a retired entity."""
    return {
        "type_name": schema.type_name,
        "attributes": sorted(schema.by_attribute),
        "keys": {name: rule.template.text for name, rule in schema.key_rules.items() if name in schema.table.key},
    }


def declared_entities(table: Table) -> list[Schema]:
    """The entities of a table, without the internal ones that a store declares when a consumer first runs."""
    return [schema for schema in schemas_of(table) if not schema.entity.__module__.startswith("tablewright.store.")]


def _index(index: Index) -> dict[str, Any]:
    return {
        "global": index.is_global,
        "partition": list(index.partition),
        "sort": list(index.sort),
        "include": None if index.include is None else sorted(index.include),
    }


def _entity(schema: Schema) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    types = Types()
    for name, info in schema.entity.model_fields.items():
        kind = types.of(info.annotation, info.metadata, schema.entity)
        fields[name] = {**_field(schema.fields[name], info, kind), **_marks(info)}
        homes = schema.unstored.homes.get(schema.fields[name].attribute)
        if homes is not None:
            # The keys that a field is read from that has no attribute.
            fields[name]["homes"] = {home: schema.key_rules[home].text for home in homes}
    upgrades = schema.upgrades
    return {
        "type_name": schema.type_name,
        "fields": fields,
        "models": types.models,
        "keys": {attribute: _rule(rule) for attribute, rule in schema.key_rules.items()},
        "patterns": {name: _pattern(pattern) for name, pattern in schema.patterns.items()},
        "upgrades": None if upgrades is None else {"attribute": upgrades.attribute, "steps": len(upgrades.steps)},
    }


def _rule(rule: KeyRule) -> dict[str, Any]:
    described: dict[str, Any] = {
        "template": rule.template.text,
        # The attributes in it, and in which format.
        "parts": [[part.name, part.form] for part in rule.fields],
    }
    if rule.template.raw is not None:
        described["raw"] = rule.template.raw
    if rule.when:
        described["when"] = {path: sorted(json.dumps(value) for value in values) for path, values in rule.when.items()}
    if rule.others:
        # What makes the key in other states.
        described["others"] = [_rule(case) for case in rule.others]
    if rule.shards > 1:
        described["shards"] = rule.shards
    if rule.was is not None:
        described["was"] = rule.was
    return described


def _pattern(pattern: Get | Query | CollectionQuery) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": type(pattern).__name__, "index": pattern.index}
    for member in ("range", "newest_first", "consistent", "many"):
        if getattr(pattern, member, None):
            described[member] = getattr(pattern, member)
    for member in ("fixed", "where"):
        if getattr(pattern, member, None):
            described[member] = {name: _plain(value) for name, value in getattr(pattern, member).items()}
    if isinstance(pattern, Query) and pattern.project:
        described["project"] = sorted(pattern.project)
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return sorted(json.dumps(encode(each)) for each in value)
    return json.dumps(encode(value))


# -- fields ---------------------------------------------------------------------------------------------------------


def _field(spec: FieldSpec, info: FieldInfo, kind: Type) -> dict[str, Any]:
    types = spec.types
    described: dict[str, Any] = {
        "attribute": spec.attribute,
        # The type tags of stored values; ``type`` has the rest.
        "types": sorted("?" if kind is None else kind for kind in types),
        "type": kind,
    }
    # The value of the field if an item lacks the attribute.
    if "SET" in types and "NULL" not in types:
        described["absent"] = "empty"
    elif info.is_required():
        described["absent"] = "None" if "NULL" in types else "refused"
    else:
        described["absent"] = absence(info)
    if "NULL" in types and spec.encode(None) is not None:
        described["nulls"] = True
    return described


def _marks(info: FieldInfo) -> dict[str, Any]:
    """What the store does with a field."""
    found: dict[str, Any] = {}
    for mark in info.metadata:
        if isinstance(mark, Unique):
            found["unique"] = True
            # Which guard a value has.
            if mark.per or mark.scope is not None or mark.ignore_case:
                found["guard"] = [*mark.per, mark.scope, mark.ignore_case]
        elif isinstance(mark, Numbered):
            found["numbered"] = [*mark.per, *([] if mark.sequence is None else [f"sequence {mark.sequence}"])]
        elif isinstance(mark, CounterMarker):
            summed = "" if mark.summed is None else f".{mark.summed}"
            found["counter"] = {
                "of": f"{mark.entity.__name__}{summed}",
                "where": None if mark.where is None else mark.where.text,
                "by": [path_of(each, mark.entity, "by") for each in mark.by],
                "kept_by": mark.kept_by,
            }
        elif isinstance(mark, VersionMarker):
            found["version"] = True
        elif isinstance(mark, Stamp):
            found["stamp"] = mark.event
        elif isinstance(mark, Expiry):
            found["expiry"] = None if mark.after is None else mark.after.total_seconds()
        elif isinstance(mark, Large):
            found["large"] = mark.threshold
    return found
