"""Tables and their indexes, declared.

    tickets = Table(
        "prod-tickets-unified", "PK", "SK",
        indexes=[GlobalIndex("GSI1-customer-index", "GSI1PK", "GSI1SK")],
        ttl="ttl", stream="NEW_AND_OLD_IMAGES",
    )

A table lists the entities that are declared with it (``class Ticket(Entity, table=tickets)``). It does not know where
it runs.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo import AttributeValue
from tablewright.dynamo.limits import (
    MAX_KEY_ATTRIBUTES,
    MAX_PARTITION_KEY_BYTES,
    MAX_TABLE_NAME_LENGTH,
    MAX_TAG_KEY_LENGTH,
    MAX_TAG_VALUE_LENGTH,
    MAX_TAGS,
    MIN_TABLE_NAME_LENGTH,
)
from tablewright.model.errors import ModelError
from tablewright.model.keys.key_forms import SEPARATOR, escape
from tablewright.model.keys.key_template import INTERNAL, PAST

_KEY_TYPES = ("S", "N", "B")
_VIEW_TYPES = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")
# DynamoDB's rule for the names of tables and indexes.
_NAME = re.compile(rf"[a-zA-Z0-9_.-]{{{MIN_TABLE_NAME_LENGTH},{MAX_TABLE_NAME_LENGTH}}}")


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index: the attributes of its key, and its projection. Made by ``GlobalIndex`` and ``LocalIndex``."""

    name: str
    partition: tuple[str, ...]
    sort: tuple[str, ...]
    is_global: bool
    # The projected attributes beside the keys. None: all of them. An empty tuple: only the keys.
    include: tuple[str, ...] | None

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.partition + self.sort

    @property
    def projection(self) -> dict[str, Any]:
        """The projection, as DynamoDB's requests have it."""
        if self.include is None:
            return {"ProjectionType": "ALL"}
        if not self.include:
            return {"ProjectionType": "KEYS_ONLY"}
        return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(self.include)}


def GlobalIndex(
    name: str,
    partition: str | Sequence[str],
    sort: str | Sequence[str] = (),
    *,
    include: Sequence[str] | None = None,
) -> Index:
    """A global secondary index; ``include`` lists the attributes that it projects beside the keys (by default all).

        GlobalIndex("byStatus", "GSI1PK", "GSI1SK")
        GlobalIndex("byRegion", ["tenant", "region"], ["day", "total"], include=[])

    A partition key and a sort key can have up to four attributes each, where the endpoint supports that; one attribute
    that a template makes works everywhere.
    """
    _check_name("index", name)
    parts = _names(partition), _names(sort)
    for names in parts:
        if len(names) > MAX_KEY_ATTRIBUTES:
            raise ModelError(
                f"index {name!r}: a partition key and a sort key have at most {MAX_KEY_ATTRIBUTES} attributes each"
            )
    if not parts[0]:
        raise ModelError(f"index {name!r} needs a partition key")
    if len(set(parts[0] + parts[1])) != len(parts[0] + parts[1]):
        raise ModelError(f"index {name!r} has the same attribute twice in its key")
    return Index(name, *parts, is_global=True, include=None if include is None else tuple(include))


def LocalIndex(name: str, sort: str, *, include: Sequence[str] | None = None) -> Index:
    """A local secondary index: the partitions of the table, sorted by another attribute."""
    _check_name("index", name)
    return Index(name, (), (sort,), is_global=False, include=None if include is None else tuple(include))


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ModelError(
            f"{what} {name!r}: DynamoDB allows names of {MIN_TABLE_NAME_LENGTH} to {MAX_TABLE_NAME_LENGTH} "
            "characters: letters, digits, '_', '.' and '-'; rename it"
        )


def _check_tags(table: str, tags: Mapping[str, str]) -> None:
    if len(tags) > MAX_TAGS:
        raise ModelError(f"table {table!r} has {len(tags)} tags, and AWS allows {MAX_TAGS}; remove some")
    for key, value in tags.items():
        if key.lower().startswith("aws:"):
            raise ModelError(f"table {table!r}: the tag {key!r} begins with aws:, which is reserved for AWS; rename it")
        if not 1 <= len(key) <= MAX_TAG_KEY_LENGTH or len(value) > MAX_TAG_VALUE_LENGTH:
            raise ModelError(
                f"table {table!r}, tag {key!r}: AWS allows a name of 1 to {MAX_TAG_KEY_LENGTH} characters and a value "
                f"of at most {MAX_TAG_VALUE_LENGTH}; shorten it"
            )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(eq=False)
class Table:
    """One table: its key, its indexes, and its settings.

        tickets = Table("tickets", "PK", "SK", indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK")], ttl="ttl")

    ``types`` are the types of key attributes that are not text. ``type_attribute`` is the attribute that distinguishes
    the entities of the table, ``ttl`` that of the time to live, ``stream`` the view type of the stream.
    """

    name: str
    partition: str
    sort: str | None = None
    indexes: Sequence[Index] = ()
    # Key attributes that are not text: {"year": "N"}
    types: Mapping[str, str] = field(default_factory=dict)
    # The attribute that distinguishes entities, when the table has several.
    type_attribute: str | None = None
    ttl: str | None = None
    stream: str | None = None
    point_in_time_recovery: bool = False
    encryption: bool = False
    deletion_protection: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    # The classes that are declared with this table, in that order; ``schema_of`` gives what they are compiled to.
    entities: list[type[BaseModel]] = field(default_factory=list, init=False, repr=False)
    # The classes of forms that earlier versions stored, and that a repair replaces.
    retired: list[type[BaseModel]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_name("table", self.name)
        _check_tags(self.name, self.tags)
        names = [index.name for index in self.indexes]
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f"table {self.name!r} has two indexes named {name!r}; rename one")
        if self.sort == self.partition:
            raise ModelError(f"table {self.name!r}: {self.sort!r} cannot be both partition and sort key")
        if self.sort is None and not all(index.is_global for index in self.indexes):
            raise ModelError(f"table {self.name!r} has no sort key, so it cannot have local indexes; use GlobalIndex")
        self.indexes = tuple(
            index
            if index.is_global
            else Index(index.name, (self.partition,), index.sort, is_global=False, include=index.include)
            for index in self.indexes
        )
        if self.stream is not None and self.stream not in _VIEW_TYPES:
            raise ModelError(f"table {self.name!r}: the view type of a stream is one of {', '.join(_VIEW_TYPES)}")
        for attribute, kind in self.types.items():
            if attribute not in self.key_attributes:
                raise ModelError(
                    f"table {self.name!r}: {attribute!r} is not a key attribute; a table declares the types "
                    "of key attributes only"
                )
            if kind not in _KEY_TYPES:
                raise ModelError(
                    f"table {self.name!r}: the type of {attribute!r} is one of {', '.join(_KEY_TYPES)}, not {kind!r}"
                )

    @cached_property
    def key(self) -> tuple[str, ...]:
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @property
    def key_attributes(self) -> tuple[str, ...]:
        """Every attribute that is part of a key, those of the table first."""
        names = [*self.key, *(name for index in self.indexes for name in index.attributes)]
        return tuple(dict.fromkeys(names))

    def index(self, name: str) -> Index:
        for index in self.indexes:
            if index.name == name:
                return index
        known = ", ".join(index.name for index in self.indexes) or "none"
        raise ModelError(f"table {self.name!r} has no index {name!r}; it has {known}")

    # -- internal items ------------------------------------------------------------------------------------------

    def internal_key(self, kind: str, *parts: str) -> dict[str, AttributeValue]:
        """The key of an item that the store keeps for itself in the table: a guard, a sequence, a record.

        No template makes such a key, and no value of a field that is a key attribute may begin so.
        """
        text = SEPARATOR.join([INTERNAL + kind, *map(escape, parts)])
        if len(text.encode()) > MAX_PARTITION_KEY_BYTES:
            # A digest instead of the parts, after what no part can begin with.
            text = f"{INTERNAL}{kind}{SEPARATOR}{PAST}{SEPARATOR}{sha256(text.encode()).hexdigest()}"
        key = {self.partition: self._key_value(self.partition, text)}
        if self.sort is not None:
            key[self.sort] = (
                {"N": "0"} if self.types.get(self.sort) == "N" else self._key_value(self.sort, INTERNAL + kind)
            )
        return key

    def _key_value(self, attribute: str, text: str) -> AttributeValue:
        kind = self.types.get(attribute, "S")
        if kind == "N":
            raise ModelError(
                f"table {self.name!r}: {attribute} is a number, so the store cannot keep guards and sequences in the "
                "table; make the partition key text, or remove unique and numbered fields"
            )
        return {"S": text} if kind == "S" else {"B": b64encode(text.encode()).decode()}

    def is_internal(self, item: Mapping[str, AttributeValue]) -> bool:
        """Whether an item is one that the store keeps for itself."""
        value = item.get(self.partition, {})
        if "B" in value:
            return b64decode(value["B"]).startswith(INTERNAL.encode())
        return str(value.get("S", "")).startswith(INTERNAL)

    def without_internal(self, items: list[dict[str, AttributeValue]]) -> list[dict[str, AttributeValue]]:
        """The items without those that the store keeps for itself; KeyError if a partition key is not text."""
        name = self.partition
        return [item for item in items if not item[name]["S"].startswith(INTERNAL)]

    # -- creating it ------------------------------------------------------------------------------------------------

    def create_request(self, name: str | None = None) -> dict[str, Any]:
        """The CreateTable request; time to live and recovery are set by requests of their own."""
        request: dict[str, Any] = {
            "TableName": name or self.name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": attribute, "AttributeType": self.types.get(attribute, "S")}
                for attribute in self.key_attributes
            ],
            "KeySchema": _key_schema((self.partition,), () if self.sort is None else (self.sort,)),
        }
        for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
            indexes = [_index_definition(index) for index in self.indexes if index.is_global is is_global]
            if indexes:
                request[member] = indexes
        if self.stream is not None:
            request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": self.stream}
        if self.encryption:
            request["SSESpecification"] = {"Enabled": True}
        if self.deletion_protection:
            request["DeletionProtectionEnabled"] = True
        if self.tags:
            request["Tags"] = [{"Key": key, "Value": value} for key, value in self.tags.items()]
        return request


def _key_schema(partition: Sequence[str], sort: Sequence[str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH"} for name in partition] + [
        {"AttributeName": name, "KeyType": "RANGE"} for name in sort
    ]


def _index_definition(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition, index.sort),
        "Projection": index.projection,
    }
