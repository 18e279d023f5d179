"""The design language: tables, entities, keys, indexes and access patterns, declared once. Pure, no I/O.

table       Table, GlobalIndex, LocalIndex
entity      Entity, with naming rules, and schema_of for the compiled declaration
rules       Keys, when, sharded; Attr, Unique, Version, CreatedAt, UpdatedAt, ExpiresAt, Expiry, Numbered, Large;
            Upgrades
attributes  EpochSeconds, EpochMillis, and how values are stored
patterns    Get, Query and what they give: Lookup, Selection
collection  Collection, Gather and what it gives: Gathering
keys        Template: the key codec
design      Design: a whole system, with what is written, by whom, how often: Write, Touch, Need, Reaction, Traffic,
            Volume, Claim, Accepted
checks      what is wrong with a declaration, as ModelError
"""

from tablewright.model.collection import Collection, Gather, Gathering
from tablewright.model.declarations import (
    Attr,
    CreatedAt,
    ExpiresAt,
    Expiry,
    Keys,
    Large,
    Numbered,
    Stamp,
    Unique,
    UpdatedAt,
    Upgrades,
    Version,
    sharded,
    when,
)
from tablewright.model.design import Accepted, Claim, Design, Need, Reaction, Touch, Traffic, Volume, Write
from tablewright.model.entity import Entity, schema_of
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.keys.key_template import Template
from tablewright.model.naming import camel_case, pascal_case, snake_case
from tablewright.model.patterns import Get, Lookup, Query, Selection
from tablewright.model.schema import Schema
from tablewright.model.table import GlobalIndex, Index, LocalIndex, Table
from tablewright.model.values.attribute_codec import EpochMillis, EpochSeconds

__all__ = [
    "Accepted",
    "Attr",
    "Claim",
    "Collection",
    "CreatedAt",
    "Design",
    "Entity",
    "EpochMillis",
    "EpochSeconds",
    "ExpiresAt",
    "Expiry",
    "Gather",
    "Gathering",
    "Get",
    "GlobalIndex",
    "Index",
    "Keys",
    "Large",
    "LocalIndex",
    "Lookup",
    "ModelError",
    "Need",
    "Numbered",
    "Query",
    "Reaction",
    "Schema",
    "Selection",
    "Stamp",
    "Table",
    "Template",
    "TemplateError",
    "Touch",
    "Traffic",
    "Unique",
    "UpdatedAt",
    "Upgrades",
    "Version",
    "Volume",
    "Write",
    "camel_case",
    "pascal_case",
    "schema_of",
    "sharded",
    "snake_case",
    "when",
]
