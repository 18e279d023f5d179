"""A design as a NoSQL Workbench data model: tables, attributes, indexes, and a facet with sample items for each entity.

The key aliases of a facet are the key templates of the entity, so that they are shown with the data.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tablewright.design.design_loading import DesignError
from tablewright.design.diff.design_snapshot import declared_entities
from tablewright.design.sample_entities import samples
from tablewright.dynamo import Item
from tablewright.model import Design, Index, Schema, Table, schemas_of

__all__ = ["model"]

_SAMPLES = 3
_VERSION = "3.0"


def model(design: Design, at: datetime) -> dict[str, Any]:
    """The data model of a design, with a date."""
    date = at.strftime("%b %d, %Y, %I:%M %p")
    about = design.about.strip().splitlines()
    return {
        "ModelName": design.name,
        "ModelMetadata": {
            "Author": design.author,
            "DateCreated": date,
            "DateLastModified": date,
            "Description": about[0] if about else "",
            "AWSService": "Amazon DynamoDB",
            "Version": _VERSION,
        },
        "DataModel": [_table(table, design.sample_items.get(table)) for table in design.tables],
    }


def losses(design: Design) -> list[str]:
    """What a design declares and a Workbench data model cannot express, as text."""
    found = []
    for table in design.tables:
        settings = [
            *([f"time to live on {table.ttl}"] if table.ttl is not None else []),
            *([f"a stream of {table.stream}"] if table.stream is not None else []),
            *(["point-in-time recovery"] if table.point_in_time_recovery else []),
            *(["encryption with a KMS key"] if table.encryption else []),
            *(["deletion protection"] if table.deletion_protection else []),
            *([f"the tags {', '.join(table.tags)}"] if table.tags else []),
        ]
        if settings:
            found.append(f"table {table.name}: {', '.join(settings)}")
        found += [
            f"{schema.entity.__name__}: {', '.join(lost)}" for schema in schemas_of(table) if (lost := _lost(schema))
        ]
    declared = {
        "writes": design.writes,
        "roles": design.roles,
        "reactions": design.reactions,
        "collections": design.collections,
        "volume": design.volume,
        "traffic": design.traffic,
    }
    rest = [name for name, members in declared.items() if members]
    if rest or design.patterns:
        found.append(f"{design.name}: {', '.join([*(['access patterns'] if design.patterns else []), *rest])}")
    return found


def _lost(schema: Schema) -> list[str]:
    """What the store does with an entity that its data does not show."""
    marked = {
        "is unique": schema.unique,
        "is numbered": schema.numbered,
        "is stored as a blob while it is large": schema.large,
        "is the version": [schema.version] if schema.version is not None else [],
        "is set by the store": [spec for spec in (schema.created, schema.updated) if spec is not None],
        "is its expiry": [schema.expiry] if schema.expiry is not None else [],
    }
    found = [f"that {' and '.join(spec.name for spec in specs)} {what}" for what, specs in marked.items() if specs]
    found += [f"when {attribute} is present" for attribute, rule in schema.key_rules.items() if rule.is_partial]
    found += [f"that {attribute} is sharded" for attribute, rule in schema.key_rules.items() if rule.is_spread]
    return found + (["its older schema versions"] if schema.upgrades is not None else [])


def _table(table: Table, given: list[Item] | None) -> dict[str, Any]:
    schemas = declared_entities(table)
    items = {schema.entity.__name__: _items(schema) for schema in schemas}
    if given is not None:
        items = {schema.entity.__name__: [item for item in given if schema.matches(item)] for schema in schemas}
    found: dict[str, Any] = {
        "TableName": table.name,
        "KeyAttributes": _key(table, (table.partition,), () if table.sort is None else (table.sort,)),
        "NonKeyAttributes": _attributes(table, schemas, items),
        "TableFacets": [_facet(table, schema, items[schema.entity.__name__]) for schema in schemas],
    }
    for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
        indexes = [_index(table, index) for index in table.indexes if index.is_global is is_global]
        if indexes:
            found[member] = indexes
    found["TableData"] = [item for some in items.values() for item in some] if given is None else given
    found["DataAccess"] = {"MySql": {}}
    found["BillingMode"] = "PAY_PER_REQUEST"
    return found


def _items(schema: Schema) -> list[Item]:
    """Sample items with distinct keys."""
    found: dict[str, Item] = {}
    for entity in samples(schema.entity, _SAMPLES):
        item = schema.encode(entity)
        found.setdefault(str([item[name] for name in schema.table.key]), item)
    return list(found.values())


def _key(table: Table, partition: tuple[str, ...], sort: tuple[str, ...]) -> dict[str, Any]:
    if len(partition) > 1 or len(sort) > 1:
        raise DesignError(
            f"table {table.name!r}: NoSQL Workbench does not support keys of several attributes; "
            "use one attribute, with a template"
        )
    found = {"PartitionKey": _attribute(table, partition[0])}
    if sort:
        found["SortKey"] = _attribute(table, sort[0])
    return found


def _attribute(table: Table, name: str) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": table.types.get(name, "S")}


def _index(table: Table, index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeyAttributes": _key(table, index.partition, index.sort),
        "Projection": index.projection,
    }


def _attributes(table: Table, schemas: list[Schema], items: dict[str, list[Item]]) -> list[dict[str, str]]:
    """All attributes outside of the table's key, with their types."""
    types: dict[str, str] = {name: table.types.get(name, "S") for name in table.key_attributes}
    if table.type_attribute is not None:
        types.setdefault(table.type_attribute, "S")
    for schema in schemas:
        for item in items[schema.entity.__name__]:
            for name, value in item.items():
                types.setdefault(name, next(iter(value)))
        for name, spec in schema.by_attribute.items():
            if name in schema.unstored.names:
                continue
            known = sorted(kind for kind in spec.types if kind not in (None, "NULL"))
            types.setdefault(name, "SS" if known == ["SET"] else str(known[0]) if known else "S")
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items() if name not in table.key]


def _facet(table: Table, schema: Schema, items: list[Item]) -> dict[str, Any]:
    def alias(attribute: str) -> str:
        rule = schema.key_rules.get(attribute)
        return attribute if rule is None else rule.text

    aliases = {"PartitionKeyAlias": alias(table.partition)}
    if table.sort is not None:
        aliases["SortKeyAlias"] = alias(table.sort)
    stored = [name for name in schema.by_attribute if name not in schema.unstored.names]
    names = dict.fromkeys([*stored, *schema.key_rules, *(name for item in items for name in item)])
    return {
        "FacetName": schema.entity.__name__,
        "KeyAttributeAlias": aliases,
        "NonKeyAttributes": [name for name in names if name not in table.key],
        "DataAccess": {"MySql": {}},
    }
