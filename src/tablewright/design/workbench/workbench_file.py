"""A NoSQL Workbench data model, read and validated; errors name the place in the file.

Items may be listed under the table, under its facets, or both; an item that is listed twice counts once. One that
cannot be read is left out, and listed in ``ModelFile.notes``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from tablewright.design.design_loading import DesignError
from tablewright.design.workbench.sample_values import readable_item
from tablewright.dynamo import Item
from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH, MIN_TABLE_NAME_LENGTH

__all__ = ["ModelFile", "TableFile", "parse", "read"]

_MAX_BYTES = 64 * 1024 * 1024
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


class FacetFile(BaseModel):
    """A facet: a named group of items."""

    FacetName: str = Field(min_length=1)
    NonKeyAttributes: list[str] = []
    TableData: list[dict[str, Any]] = []


class TableFile(BaseModel):
    """A table."""

    TableName: str = Field(pattern=_NAME)
    KeyAttributes: _KeyAttributes
    NonKeyAttributes: list[_Attribute] = []
    TableFacets: list[FacetFile] = []
    GlobalSecondaryIndexes: list[IndexFile] = []
    LocalSecondaryIndexes: list[IndexFile] = []
    TableData: list[dict[str, Any]] = []

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


class _Metadata(BaseModel):
    Author: str = ""
    Description: str = ""


class ModelFile(BaseModel):
    """A data model."""

    ModelName: str = "Model"
    ModelMetadata: _Metadata = _Metadata()
    DataModel: list[TableFile] = Field(min_length=1)
    # What was left out of it.
    notes: list[str] = []


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
        notes: list[str] = []
        readable = {**content, "DataModel": _readable(content["DataModel"], "DataModel", notes)}
        return ModelFile.model_validate({**readable, "notes": notes})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DesignError(f"{place}: {where}: {first['msg'].removeprefix('Value error, ')}") from None


def _readable(tables: Any, place: str, notes: list[str]) -> Any:
    """Tables, or facets, with those of their items that can be read; others are noted."""
    if not isinstance(tables, list):
        return tables
    found = []
    for number, each in enumerate(tables):
        where = f"{place}.{number}"
        if isinstance(each, dict):
            each = dict(each)
            if isinstance(each.get("TableData"), list):
                each["TableData"] = _readable_items(each["TableData"], f"{where}.TableData", notes)
            if "TableFacets" in each:
                each["TableFacets"] = _readable(each["TableFacets"], f"{where}.TableFacets", notes)
        found.append(each)
    return found


def _readable_items(items: list[Any], place: str, notes: list[str]) -> list[Item]:
    found = []
    for number, item in enumerate(items):
        try:
            found.append(readable_item(item))
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            notes.append(f"{place}.{number} is left out: {reason}")
    return found
