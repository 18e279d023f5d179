"""A NoSQL Workbench data model, read and validated; errors name the place in the file.

Items may be listed under the table, under its facets, or both; an item that is listed twice counts once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from tablewright.design.design_loading import DesignError
from tablewright.dynamo import Item
from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH, MIN_TABLE_NAME_LENGTH

__all__ = ["ModelFile", "TableFile", "parse", "read"]

_MAX_BYTES = 64 * 1024 * 1024
_TAGS = frozenset(["S", "N", "B", "SS", "NS", "BS", "M", "L", "BOOL", "NULL"])
_MAX_DEPTH = 40
# Names of tables and indexes, by DynamoDB's rules.
_NAME = rf"^[a-zA-Z0-9_.-]{{{MIN_TABLE_NAME_LENGTH},{MAX_TABLE_NAME_LENGTH}}}$"


class _Attribute(BaseModel):
    AttributeName: str = Field(min_length=1)
    AttributeType: str = "S"


class _KeyAttribute(BaseModel):
    AttributeName: str = Field(min_length=1)
    AttributeType: Literal["S", "N", "B"] = "S"


class _KeyAttributes(BaseModel):
    PartitionKey: _KeyAttribute
    SortKey: _KeyAttribute | None = None


class _Projection(BaseModel):
    ProjectionType: Literal["ALL", "KEYS_ONLY", "INCLUDE"] = "ALL"
    NonKeyAttributes: list[str] = []


class IndexFile(BaseModel):
    """A secondary index."""

    IndexName: str = Field(pattern=_NAME)
    KeyAttributes: _KeyAttributes
    Projection: _Projection = _Projection()


def _items(items: Any) -> Any:
    if not isinstance(items, list):
        raise ValueError("must be a list of items")
    for item in items:
        if not isinstance(item, dict):
            raise ValueError("an item must be an object of attributes")
        for name, value in item.items():
            _check_value(name, value, 0)
    return items


def _check_value(name: str, value: Any, depth: int) -> None:
    if not (isinstance(value, dict) and len(value) == 1):
        raise ValueError(f'{name} is not a typed value such as {{"S": "text"}}')
    ((tag, content),) = value.items()
    if tag not in _TAGS:
        raise ValueError(f"{name} has the type {tag!r}, which DynamoDB does not have")
    if depth > _MAX_DEPTH:
        raise ValueError(f"{name} is nested too deeply")
    members: Sequence[Any] = ()
    if tag == "M" and isinstance(content, dict):
        members = list(content.values())
    elif tag == "L" and isinstance(content, list):
        members = content
    elif tag in ("SS", "NS", "BS"):
        fits = isinstance(content, list) and all(isinstance(each, str) for each in content)
        if not fits:
            raise ValueError(f"{name} has the type {tag}, and must be a list of strings")
    elif tag in ("BOOL", "NULL"):
        if not isinstance(content, bool):
            raise ValueError(f"{name} has the type {tag}, and must be true or false")
    elif not isinstance(content, str):
        raise ValueError(f"{name} has the type {tag}, and its value does not match")
    for member in members:
        _check_value(name, member, depth + 1)


class FacetFile(BaseModel):
    """A facet: a named group of items."""

    FacetName: str = Field(min_length=1)
    NonKeyAttributes: list[str] = []
    TableData: list[dict[str, Any]] = []

    _checked = field_validator("TableData", mode="before")(_items)


class TableFile(BaseModel):
    """A table."""

    TableName: str = Field(pattern=_NAME)
    KeyAttributes: _KeyAttributes
    NonKeyAttributes: list[_Attribute] = []
    TableFacets: list[FacetFile] = []
    GlobalSecondaryIndexes: list[IndexFile] = []
    LocalSecondaryIndexes: list[IndexFile] = []
    TableData: list[dict[str, Any]] = []

    _checked = field_validator("TableData", mode="before")(_items)

    @property
    def key(self) -> list[str]:
        sort = self.KeyAttributes.SortKey
        return [self.KeyAttributes.PartitionKey.AttributeName] + ([] if sort is None else [sort.AttributeName])

    @property
    def indexes(self) -> list[IndexFile]:
        return [*self.GlobalSecondaryIndexes, *self.LocalSecondaryIndexes]

    @property
    def key_types(self) -> dict[str, str]:
        """The type of every attribute that is part of a key."""
        keys = [self.KeyAttributes, *(index.KeyAttributes for index in self.indexes)]
        parts = [part for key in keys for part in (key.PartitionKey, key.SortKey) if part is not None]
        return {part.AttributeName: part.AttributeType for part in parts}

    @property
    def items(self) -> list[Listed]:
        """All items, each once, with the facets that list it; items without a valid key are left out."""
        found: dict[str, Listed] = {}
        for facet, items in [(None, self.TableData), *((each.FacetName, each.TableData) for each in self.TableFacets)]:
            for item in items:
                if any(item.get(name, {}).get(self.key_types[name]) in (None, "") for name in self.key):
                    continue
                listed = found.setdefault(json.dumps([item[name] for name in self.key]), Listed(item))
                if facet is not None:
                    listed.facets.append(facet)
        return list(found.values())


@dataclass(slots=True)
class Listed:
    """An item, and the facets that list it."""

    item: Item
    facets: list[str] = field(default_factory=list)


class ModelFile(BaseModel):
    """A data model."""

    ModelName: str = "Model"
    DataModel: list[TableFile] = Field(min_length=1)


def read(path: Path) -> ModelFile:
    """The data model in a file."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DesignError(
                f"{path} is larger than {_MAX_BYTES // 1024 // 1024} MB; export it with fewer sample items"
            )
        content = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise DesignError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DesignError(f"{path} is not JSON; in NoSQL Workbench, export the model in its own format") from None
    return parse(content, str(path))


def parse(content: Any, place: str = "the model") -> ModelFile:
    """The data model in parsed JSON."""
    if not isinstance(content, Mapping) or "DataModel" not in content:
        raise DesignError(f"{place} is not a NoSQL Workbench data model: it has no DataModel")
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DesignError(f"{place} contains a lone surrogate; save it as valid UTF-8") from None
    try:
        return ModelFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DesignError(f"{place}: {where}: {first['msg'].removeprefix('Value error, ')}") from None
