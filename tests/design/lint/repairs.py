"""Does what a repair of lint says: the code in its backticks, applied to the design that it is about.

A design is made anew from its parts. A field or an index replaces the one of its name, ``Keys`` are added to those that
are declared, and a field that was stored in such a key attribute goes. Patterns of a key that has changed take the
fields that it is made of now.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from types import new_class
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints
from pydantic.fields import FieldInfo

import tablewright.model
from tablewright.design.lint import LintFinding
from tablewright.design.sample_entities import sample
from tablewright.model import (
    Design,
    Entity,
    Get,
    Index,
    ItemWrite,
    Keys,
    Projection,
    Query,
    Reaction,
    RequiredRead,
    Schema,
    Table,
    Template,
    Upgrades,
    Write,
    schemas_of,
)
from tablewright.model.declarations import Computed, GroupRule
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.patterns import BOUNDS
from tablewright.store import MemoryBlobStore, Store
from tests.declared_patterns import taking

_CODE = re.compile(r"`([^`]+)`")


@dataclasses.dataclass
class Edits:
    """What the code of a repair changes."""

    fields: dict[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)
    rules: dict[str, GroupRule] = dataclasses.field(default_factory=dict)
    keys: dict[str, KeyRule] = dataclasses.field(default_factory=dict)
    # Parts of templates by field: {score:number}
    parts: dict[str, str] = dataclasses.field(default_factory=dict)
    indexes: dict[str, Index] = dataclasses.field(default_factory=dict)
    table: dict[str, Any] = dataclasses.field(default_factory=dict)
    item_write: ItemWrite | None = None


def code_in(finding: LintFinding) -> list[str]:
    """The code of a repair."""
    return _CODE.findall(finding.repair)


def schema_at(design: Design, finding: LintFinding) -> Schema:
    """The entity that a finding is about."""
    name = finding.place.partition(".")[0].partition("/")[0]
    for schema in design.schemas:
        if name in (schema.entity.__name__, schema.table.name) or finding.place in schema.patterns:
            return schema
    if name in design.writes:
        return design.writes[name].item_writes[0].entity.schema_
    if name in (collections := {each.__name__: each for each in design.collections}):
        return collections[name].members_[0].schema
    named: list[RequiredRead | Reaction] = [*design.required_reads, *design.reactions]
    return next(each.entity.schema_ for each in named if each.name == name)


def edits_of(design: Design, finding: LintFinding) -> Edits:
    """The code of a repair, evaluated; what is not a declaration is an error."""
    if not code_in(finding):
        return Edits()
    schema = schema_at(design, finding)
    known: dict[str, Any] = {**vars(tablewright.model), "Annotated": Annotated, "StringConstraints": StringConstraints}
    known |= {kind.__name__: kind for kind in (datetime, date, Decimal, UUID)}
    for each in design.schemas:
        known[each.entity.__name__] = each.entity
    for info in schema.entity.model_fields.values():
        for kind in getattr(info.annotation, "__args__", (info.annotation,)):
            known.setdefault(getattr(kind, "__name__", "?"), kind)
    edits = Edits()
    decorator = ""
    for code in code_in(finding):
        if code.startswith("@"):
            decorator = f"{code}\n"
            continue
        if code.startswith("{"):
            (part,) = Template(code).fields
            edits.parts[part.name] = code
            continue
        (statement,) = ast.parse(decorator + code).body
        if isinstance(statement, ast.FunctionDef):
            made: dict[str, Any] = {}
            exec(decorator + code, known, made)
            edits.rules |= made
            decorator = ""
            continue
        if isinstance(statement, ast.AnnAssign):
            default = ... if statement.value is None else eval(ast.unparse(statement.value), known)
            edits.fields[ast.unparse(statement.target)] = eval(ast.unparse(statement.annotation), known), default
        elif isinstance(statement, ast.Assign):
            edits.table[ast.unparse(statement.targets[0])] = eval(ast.unparse(statement.value), known)
        else:
            assert isinstance(statement, ast.Expr), code
            value = eval(code, known)
            if isinstance(value, Keys):
                edits.keys |= dict(value)
            elif isinstance(value, Index):
                edits.indexes[value.name] = value
            elif isinstance(value, ItemWrite):
                edits.item_write = value
    return edits


# -- a design made anew ----------------------------------------------------------------------------------------------


def repaired(design: Design, finding: LintFinding) -> Design:
    """The design with the repair."""
    edits = edits_of(design, finding)
    target = schema_at(design, finding)
    table = _table(target.table, edits)
    entities: dict[type[Entity], type[Entity]] = {}
    for schema in schemas_of(target.table):
        own = edits if schema is target else Edits(indexes=edits.indexes)
        entities[schema.entity] = _entity(schema, table, own)
    writes = [_write(write, entities, edits, finding.place) for write in design.writes.values()]
    return Design(
        design.name,
        tables=[table if each is target.table else each for each in design.tables],
        writes=writes,
        required_reads=[_required(read, entities) for read in design.required_reads],
        reactions=[
            dataclasses.replace(
                each,
                entity=entities.get(each.entity, each.entity),
                source="stream" if "stream" in edits.table else each.source,
            )
            for each in design.reactions
        ],
        volume={entities.get(entity, entity): volume for entity, volume in design.volume.items()},
        traffic=design.traffic,
        claims=design.claims,
    )


def _table(table: Table, edits: Edits) -> Table:
    indexes = {index.name: index for index in table.indexes} | edits.indexes
    changed = dict(edits.table)
    kept = {name for index in indexes.values() for name in index.attributes} | {*table.key}
    types = {name: kind for name, kind in {**table.types, **changed.pop("types", {})}.items() if name in kept}
    return dataclasses.replace(table, indexes=list(indexes.values()), types=types, **changed)


def _entity(schema: Schema, table: Table, edits: Edits) -> type[Entity]:
    entity = schema.entity
    removed = {spec.name for name in edits.keys if (spec := schema.by_attribute.get(name)) is not None}
    keys = dict(getattr(entity, "keys", {})) | edits.keys
    for name, part in edits.parts.items():
        for attribute, rule in keys.items():
            text = re.sub(rf"\{{{re.escape(name)}(:[^}}]*)?\}}", part, rule.template.text)
            keys[attribute] = dataclasses.replace(rule, template=Template(text, rule.template.raw))
    keys = {name: rule for name, rule in keys.items() if name in table.key_attributes}
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {"__module__": __name__, "keys": Keys(keys)}
    for name, info in entity.model_fields.items():
        if name not in removed:
            annotations[name], namespace[name] = _declared(info)
    for name, (annotation, default) in edits.fields.items():
        annotations[name], namespace[name] = annotation, Field() if default is ... else default
    kept = (Computed, GroupRule, Upgrades)
    namespace |= {name: each for name, each in vars(entity).items() if isinstance(each, kept)} | edits.rules
    for name, pattern in schema.patterns.items():
        if "." not in name:
            namespace[name] = _pattern(schema, pattern, table, keys, removed, edits)
    namespace["__annotations__"] = annotations
    names = {"table": table, "naming": schema.naming, "type_name": schema.type_name}
    made = new_class(entity.__name__, (Entity,), names, lambda body: body.update(namespace))
    for name, pattern in schema.patterns.items():
        if isinstance(pattern, Query) and pattern.projection is not None:
            _projection(made, name, pattern.projection, _pattern(schema, pattern, table, keys, removed, edits))
    return made


def _projection(entity: type[Entity], name: str, projection: type[BaseModel], pattern: Get | Query) -> None:
    kind, _, called = name.partition(".")
    annotations = {field: info.annotation for field, info in projection.model_fields.items()}
    body = {"__module__": __name__, "__annotations__": annotations, called: pattern}
    base: Any = Projection
    new_class(kind, (base[entity],), {}, lambda namespace: namespace.update(body))


def _declared(info: FieldInfo) -> tuple[Any, Any]:
    annotation: Any = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
    if info.default_factory is not None:
        return annotation, Field(default_factory=info.default_factory, examples=info.examples)
    return annotation, Field(default=info.default, examples=info.examples, description=info.description)


def _pattern(
    schema: Schema, pattern: Get | Query, table: Table, keys: dict[str, KeyRule], removed: set[str], edits: Edits
) -> Get | Query:
    """A pattern; of a key that is another one now, with the fields of that as its parameters."""
    before = schema.table.key if pattern.index is None else schema.table.index(pattern.index).attributes
    index = None if pattern.index is None else table.index(pattern.index)
    partition, sort = (table.key[:1], table.key[1:]) if index is None else (index.partition, index.sort)
    changed = {*edits.keys, *(name for name in keys if edits.parts)}
    if before == (*partition, *sort) and not changed.intersection(before) and not edits.fields:
        return pattern
    settings = {each.name: getattr(pattern, each.name) for each in dataclasses.fields(pattern) if each.init}
    wanted = (*partition, *sort) if isinstance(pattern, Get) else partition
    fixed = getattr(pattern, "fixed", {})
    names = [path for attribute in wanted for path in _fields(schema, keys, attribute)]
    parameters = [name.replace(".", "__") for name in dict.fromkeys(names) if name not in fixed]
    if isinstance(pattern, Get):
        return taking(Get(**settings), *parameters)
    assert pattern.signature is not None
    is_bounded = pattern.range is not None and pattern.range not in {*removed, *names}
    bounds = [name for name in pattern.signature.names if name in BOUNDS and is_bounded]
    return taking(Query(**settings), *parameters, optional=" ".join(bounds))


def _fields(schema: Schema, keys: dict[str, KeyRule], attribute: str) -> list[str]:
    rule = keys.get(attribute)
    return [schema.field_path(attribute)] if rule is None else [part.name for part in rule.fields]


def _fields_at(entity: type[Entity], paths: Sequence[str]) -> list[object]:
    """Fields by their paths, as far as an entity has them."""
    return [reduce(getattr, path.split("."), entity) for path in paths if path.partition(".")[0] in entity.model_fields]


def _required(read: RequiredRead, entities: dict[type[Entity], type[Entity]]) -> RequiredRead:
    entity = entities.get(read.entity, read.entity)
    return RequiredRead(read.name, entity, _fields_at(entity, read.by))


def _write(write: Write, entities: dict[type[Entity], type[Entity]], edits: Edits, place: str) -> Write:
    parts = []
    for part in write.item_writes:
        if edits.item_write is not None and write.name == place.partition(".")[0]:
            part = edits.item_write
        entity = entities.get(part.entity, part.entity)
        by_hand = {name: text for name, text in part.keys.items() if name not in entity.schema_.key_rules}
        moved = ItemWrite(
            entity,
            part.action,
            *(_fields_at(entity, paths) for paths in (part.sets, part.adds, part.appends)),
            conditional=part.conditional,
            count=part.count,
            keys=by_hand,
        )
        parts.append(moved)
    checks = [entities.get(each, each) for each in write.checks]
    return Write(write.name, *parts, checks=checks, retries=write.retries)


# -- what it reads ---------------------------------------------------------------------------------------------------


def check_reads(design: Design) -> None:
    """Write an item of each entity, and read it by each of its patterns."""
    with Store.open(None, blobs=MemoryBlobStore()) as store:
        store.ensure_tables(*design.tables)
        for schema in design.schemas:
            made = sample(schema.entity)
            if schema.expiry is not None:
                setattr(made, schema.expiry.name, datetime(2090, 1, 1, tzinfo=UTC))
            written = store.put(made)
            item = written.item()
            for pattern in schema.patterns.values():
                kind = pattern.projection if isinstance(pattern, Query) and pattern.projection else schema.entity
                name = pattern.name.rpartition(".")[2]
                index = None if pattern.index is None else schema.table.index(pattern.index)
                if index is not None and not item.keys() >= {*index.attributes}:
                    continue
                assert pattern.signature is not None
                if pattern.signature.returns_filter:
                    continue
                values = {each: _value(written, each) for each in pattern.signature.required}
                if any(getattr(written, path) != value for path, value in getattr(pattern, "fixed", {}).items()):
                    continue
                asked = getattr(kind, name)(**values)
                if isinstance(pattern, Get):
                    assert store.get(asked) == written, (schema.entity.__name__, name)
                else:
                    assert len(store.query(asked, limit=10).items) == 1, (schema.entity.__name__, name)


def _value(entity: Entity, parameter: str) -> Any:
    value: Any = entity
    for step in parameter.split("__"):
        value = getattr(value, step)
    return value
