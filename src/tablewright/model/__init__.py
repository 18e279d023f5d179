"""The design language: tables, entities, keys, indexes and access patterns, declared once. Pure, no I/O.

table         Table, GlobalIndex, LocalIndex
entity        Entity; RetiredEntity, the form of an earlier version
declarations  AttributeName, KeyOnly, Unique, Version, CreatedAt, UpdatedAt, ExpiresAt, Expiry, Retain, Numbered, Large;
              computed, Upgrades
naming        camel_case, pascal_case, snake_case
patterns      Get, Query and what they give: Lookup, Selection
field_expressions  attr, present: fields in conditions, filters and changes
derived/      Projection: some fields of an entity, for reads; count_of, sum_of: counters of its items
collection    Collection, CollectionQuery, MemberRead, and what a query gives: CollectionSelection
schema        Schema: a declaration, compiled; schema_of
design        Design: a whole system, with what is written, by whom, how often: Write, ItemWrite, RequiredRead,
              Reaction, Traffic, Volume, CostClaim, AcceptedFinding
values/       EpochSeconds, EpochMillis, and how values are stored
keys/         Keys, when, first_of, raw, sharded; Template: the key codec
items/        fields in items: where they are stored, how items are decoded, validated and upgraded
"""

from tablewright.model.collection import Collection, CollectionQuery, CollectionSelection, MemberRead
from tablewright.model.declarations import (
    AttributeName,
    CreatedAt,
    ExpiresAt,
    Expiry,
    KeyOnly,
    Large,
    Numbered,
    Personal,
    Retain,
    Stamp,
    Unique,
    UpdatedAt,
    Upgrades,
    Version,
    computed,
)
from tablewright.model.derived.counters import count_of, sum_of
from tablewright.model.derived.projections import Projection
from tablewright.model.design import (
    AcceptedFinding,
    CostClaim,
    Design,
    ItemWrite,
    Reaction,
    RequiredRead,
    Traffic,
    Volume,
    Write,
)
from tablewright.model.entity import Entity, RetiredEntity
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.field_conditions import FieldChange, FieldCondition, FieldGroup
from tablewright.model.field_expressions import Attr, attr, present
from tablewright.model.keys.key_rules import Keys, first_of, raw, sharded, when
from tablewright.model.keys.key_template import Template
from tablewright.model.naming import camel_case, pascal_case, snake_case
from tablewright.model.patterns import Get, Lookup, Query, Selection
from tablewright.model.personal_fields import personal_fields, personal_members
from tablewright.model.schema import Schema, retired_schemas_of, schema_of, schemas_of
from tablewright.model.table import GlobalIndex, Index, LocalIndex, Table
from tablewright.model.values.attribute_codec import EpochMillis, EpochSeconds

__all__ = [
    "AcceptedFinding",
    "Attr",
    "AttributeName",
    "Collection",
    "CollectionQuery",
    "CollectionSelection",
    "CostClaim",
    "CreatedAt",
    "Design",
    "Entity",
    "EpochMillis",
    "EpochSeconds",
    "ExpiresAt",
    "Expiry",
    "FieldChange",
    "FieldCondition",
    "FieldGroup",
    "Get",
    "GlobalIndex",
    "Index",
    "ItemWrite",
    "KeyOnly",
    "Keys",
    "Large",
    "LocalIndex",
    "Lookup",
    "MemberRead",
    "ModelError",
    "Numbered",
    "Personal",
    "Projection",
    "Query",
    "Reaction",
    "RequiredRead",
    "Retain",
    "RetiredEntity",
    "Schema",
    "Selection",
    "Stamp",
    "Table",
    "Template",
    "TemplateError",
    "Traffic",
    "Unique",
    "UpdatedAt",
    "Upgrades",
    "Version",
    "Volume",
    "Write",
    "attr",
    "camel_case",
    "computed",
    "count_of",
    "first_of",
    "pascal_case",
    "personal_fields",
    "personal_members",
    "present",
    "raw",
    "retired_schemas_of",
    "schema_of",
    "schemas_of",
    "sharded",
    "snake_case",
    "sum_of",
    "when",
]
