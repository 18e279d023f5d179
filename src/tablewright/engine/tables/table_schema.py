"""A table as the engine uses it: keys, indexes and the rules for its items.

``Table`` is compiled from the stored description (DynamoDB's ``TableDescription``, without the figures that change by
themselves) and is immutable in everything that the item operations read: a change to a table makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import (
    INVALID_VALUES,
    KEY_MISMATCH,
    AttributeValue,
    Item,
    ValidationException,
    binary_size,
    number_size,
    text_size,
)
from tablewright.dynamo.limits import MAX_KEY_ATTRIBUTES, MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES
from tablewright.engine.storage import key_encoding
from tablewright.engine.storage.checksums import whole_crc

_NOT_VALID = "One or more parameter values are not valid. "
# Characters that fit into every key, at four bytes each.
_SURELY_FITS = MAX_SORT_KEY_BYTES // 4
_EMPTY = {"S": "string", "B": "binary"}
_UPDATED_BEYOND_SIZE = "The update expression attempted to update the secondary index key beyond allowed size limits"


class EmptyKeyException(ValidationException):
    """A ValidationException about an empty key value, which a transaction raises and does not collect."""

    @property
    def code(self) -> str:
        return "ValidationException"


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a table or of an index: attribute names, with their types."""

    partition: tuple[str, ...]
    sort: tuple[str, ...]
    types: Mapping[str, str]
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.partition + self.sort)

    def partition_prefix(self, item: Mapping[str, AttributeValue]) -> bytes:
        return key_encoding.partition_bytes([key_encoding.scalar_bytes(item[name]) for name in self.partition])

    def bytes_of(self, item: Mapping[str, AttributeValue]) -> bytes:
        """The sortable key of an item that is known to have it."""
        # Loops, because every write makes several keys of one or two attributes, for which comprehensions are slow.
        scalar = key_encoding.scalar_bytes
        partition = []
        for name in self.partition:
            partition.append(scalar(item[name]))
        key = key_encoding.partition_bytes(partition)
        for name in self.sort:
            key += key_encoding.sort_bytes(scalar(item[name]))
        return key

    def shown(self, key: Any) -> str:
        """The key at the start of these bytes, for people; as hexadecimal digits if they are damaged."""
        try:
            values = key_encoding.key_values(key, len(self.partition), len(self.sort))
            return str(
                {
                    name: key_encoding.number_text(value)
                    if self.types[name] == "N"
                    else value.decode()
                    if self.types[name] == "S"
                    else value
                    for name, value in zip(self.names, values, strict=True)
                }
            )
        except (ValueError, TypeError, LookupError):
            return key.hex() if isinstance(key, bytes) else repr(key)

    def check_value(self, name: str, value: AttributeValue) -> None:
        """A key attribute of the right type: not empty, not too large."""
        tag = self.types[name]
        content = value[tag]
        if content == "":
            raise EmptyKeyException(
                f"{_NOT_VALID}The AttributeValue for a key attribute cannot contain an empty {_EMPTY[tag]} value. "
                f"Key: {name}"
            )
        if len(content) > _SURELY_FITS:
            self.check_size(name, content)

    def check_size(self, name: str, content: str) -> None:
        if not self.fits(name, content):
            if name in self.partition:
                problem = f"Size of hashkey has exceeded the maximum size limit of{MAX_PARTITION_KEY_BYTES} bytes"
            else:
                problem = f"Aggregated size of all range keys has exceeded the size limit of {MAX_SORT_KEY_BYTES} bytes"
            raise ValidationException(INVALID_VALUES + problem)

    def fits(self, name: str, content: str) -> bool:
        return self._size(name, content) <= (MAX_PARTITION_KEY_BYTES if name in self.partition else MAX_SORT_KEY_BYTES)

    def _size(self, name: str, content: str) -> int:
        tag = self.types[name]
        return text_size(content) if tag == "S" else number_size(content) if tag == "N" else binary_size(content)

    def excess(self, item: Item) -> tuple[str, tuple[str, ...], int, int] | None:
        """HASH or RANGE, its attributes, its limit and their size, if they are too large together."""
        for kind, names, most in (
            ("HASH", self.partition, MAX_PARTITION_KEY_BYTES),
            ("RANGE", self.sort, MAX_SORT_KEY_BYTES),
        ):
            contents = [(name, item[name].get(self.types[name])) for name in names if name in item]
            size = sum(self._size(name, content) for name, content in contents if content is not None)
            if size > most:
                return kind, names, most, size
        return None


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index; ``rows`` is the SQL table of its entries."""

    name: str
    is_global: bool
    key: Key
    projection: str
    non_key_attributes: frozenset[str]
    rows: str
    queryable: bool
    # None if everything is projected
    projected: frozenset[str] | None
    # Whether its partition key or its sort key has several attributes, whose total size is limited.
    is_multi_attribute: bool = field(init=False)
    # Adds an entry, and removes one.
    insert: str = field(init=False)
    delete: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_multi_attribute", len(self.key.partition) > 1 or len(self.key.sort) > 1)
        object.__setattr__(self, "insert", f"INSERT INTO {self.rows} (key, id) VALUES (?, ?)")
        object.__setattr__(self, "delete", f"DELETE FROM {self.rows} WHERE key = ?")

    def holds(self, item: Item) -> bool:
        """Whether the index has an entry for an item: every key attribute exists, with the type and size of a key.

        Types and sizes can only be wrong in items older than the index: a later write is refused.
        """
        for name, tag in self.key.types.items():
            value = item.get(name)
            if value is None:
                return False
            content = value.get(tag, "")
            if content == "" or (len(content) > _SURELY_FITS and not self.key.fits(name, content)):
                return False
        return not (self.is_multi_attribute and self.key.excess(item))

    def check_together(self, item: Item, *, updated: bool = False) -> None:
        """Valid key attributes: not too large together."""
        if self.is_multi_attribute and (excess := self.key.excess(item)) is not None:
            if updated:
                raise ValidationException(_UPDATED_BEYOND_SIZE)
            kind, names, most, size = excess
            raise ValidationException(
                f"Aggregate size for {kind} key attributes {', '.join(names)} of index {self.name} has exceeded "
                f"limit {most} bytes, with actual size {size} bytes"
            )

    def check_element(self, name: str, value: AttributeValue, *, updated: bool = False) -> None:
        """One key attribute of the right type: not empty, not too large."""
        expected = self.key.types[name]
        content = value[expected]
        if content == "":
            kind = _EMPTY[expected]
            reason = f"The AttributeValue for a key attribute cannot contain an empty {kind} value."
            if updated:
                raise EmptyKeyException(
                    f"{_NOT_VALID}The update expression attempted to update a secondary index key to a value "
                    f"that is not supported. {reason}"
                )
            raise EmptyKeyException(
                f"{_NOT_VALID}A value specified for a secondary index key is not supported. {reason} "
                f"IndexName: {self.name}, IndexKey: {name}"
            )
        if len(content) > _SURELY_FITS:
            if updated and not self.key.fits(name, content):
                raise ValidationException(_UPDATED_BEYOND_SIZE)
            self.key.check_size(name, content)

    def entry(self, item: Item) -> Item:
        """The attributes of an item that the index stores."""
        projected = self.projected
        if projected is None:
            return item
        return {name: value for name, value in item.items() if name in projected}


@dataclass(slots=True)
class Table:
    """One table. ``number`` names its SQL tables and is never used again."""

    number: int
    description: dict[str, Any]
    # The seed of its items' checksums: its number, or that of the table whose items were restored.
    seed: int
    tags: dict[str, str] = field(default_factory=dict)
    # The attribute that holds the expiry time, while time to live is enabled.
    time_to_live: str | None = None
    # The number of the stream that changes go to, while one is enabled.
    stream: int | None = None
    # How many days back the table can be restored to, while point-in-time recovery is enabled, and the time before
    # which there is no history.
    recovery_days: int | None = None
    recovery_begins: float = 0.0
    next_index: int = 1
    index_numbers: dict[str, int] = field(default_factory=dict)
    name: str = field(init=False)
    # It has its items, and its indexes are still being filled: it cannot be read or changed until then.
    is_being_restored: bool = field(init=False)
    key: Key = field(init=False)
    indexes: dict[str, Index] = field(init=False)
    key_names: frozenset[str] = field(init=False)
    view_type: str | None = field(init=False)
    # Whether a write has to read the item that it replaces, and whether other rows depend on the items: index entries,
    # expiry entries, stream records.
    needs_old_image: bool = field(init=False)
    has_derived_rows: bool = field(init=False)
    rows: str = field(init=False)
    expiries: str = field(init=False)
    history: str = field(init=False)
    # The CRC of its undamaged items.
    whole_crc: int = field(init=False)
    # Reads a row by its key; the others use the rowid derived from a key, and ``database`` handles rows with another.
    select_row: str = field(init=False)
    put_row: str = field(init=False)
    insert_row: str = field(init=False)
    update_row: str = field(init=False)
    delete_row: str = field(init=False)
    # Records the image that a change replaces in the history.
    insert_history: str = field(init=False)
    # The order in which index keys are checked.
    indexes_by_name: list[Index] = field(init=False)
    # The first attribute of its key with each index: most items that are missing from an index lack that one.
    _indexes_by_attribute: list[tuple[str, Index]] = field(init=False)
    # Every attribute of an index key, each once; below with those of the table's key.
    index_key_names: list[str] = field(init=False)
    _key_types: list[tuple[str, str]] = field(init=False)
    # Characters that fit into every key of this table, whatever else is in it.
    _surely_fits: int = field(init=False)
    # How many attributes its key has, if all are text; 0 if not.
    _text_keys: int = field(init=False)

    def __post_init__(self) -> None:
        description = self.description
        types = {d["AttributeName"]: d["AttributeType"] for d in description["AttributeDefinitions"]}
        self.name = description["TableName"]
        self.is_being_restored = description["TableStatus"] == "CREATING"
        self.key = _key(description["KeySchema"], types)
        self.key_names = frozenset(self.key.names)
        self.rows = f"items_{self.number}"
        self.whole_crc = whole_crc(self.seed)
        self.expiries = f"expiries_{self.number}"
        self.history = f"history_{self.number}"
        # The rowid derived from its key first; another key may have taken that one before it.
        select = f"SELECT id, size, item FROM {self.rows} WHERE"
        self.select_row = f"{select} id = ? AND key = ? UNION ALL {select} key = ? LIMIT 1"
        replace = "DO UPDATE SET size = excluded.size, item = excluded.item"
        self.put_row = (
            f"INSERT INTO {self.rows} (id, key, size, item) VALUES (?, ?, ?, ?) "
            f"ON CONFLICT (id) {replace} WHERE key = excluded.key ON CONFLICT (key) {replace}"
        )
        self.insert_row = f"INSERT OR IGNORE INTO {self.rows} (id, key, size, item) VALUES (?, ?, ?, ?)"
        self.update_row = f"UPDATE {self.rows} SET size = ?, item = ? WHERE id = ?"
        self.delete_row = f"DELETE FROM {self.rows} WHERE id = ?"
        self.insert_history = (
            f"INSERT INTO {self.history} (at, id, key, size, checksum, item) VALUES (?, ?, ?, ?, ?, nullif(?, x''))"
        )
        self.indexes = {}
        for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
            for definition in description.get(member, ()):
                index = self._index(definition, is_global, types)
                self.indexes[index.name] = index
        stream = description.get("StreamSpecification")
        self.view_type = stream["StreamViewType"] if stream and stream.get("StreamEnabled") else None
        self.has_derived_rows = bool(self.indexes or self.view_type or self.time_to_live)
        self.needs_old_image = self.has_derived_rows or self.recovery_days is not None
        self.indexes_by_name = [self.indexes[name] for name in sorted(self.indexes)]
        self._indexes_by_attribute = [(index.key.names[0], index) for index in self.indexes.values()]
        index_key_types = {name: tag for index in self.indexes_by_name for name, tag in index.key.types.items()}
        self.index_key_names = list(index_key_types)
        self._key_types = list({**self.key.types, **index_key_types}.items())
        multi_attribute = any(index.is_multi_attribute for index in self.indexes_by_name)
        self._text_keys = len(self.key.names) if set(self.key.types.values()) == {"S"} else 0
        self._surely_fits = _SURELY_FITS // MAX_KEY_ATTRIBUTES if multi_attribute else _SURELY_FITS

    def _index(self, definition: dict[str, Any], is_global: bool, types: Mapping[str, str]) -> Index:
        key = _key(definition["KeySchema"], types)
        projection = definition["Projection"]["ProjectionType"]
        non_key = frozenset(definition["Projection"].get("NonKeyAttributes", ()))
        name = definition["IndexName"]
        return Index(
            name=name,
            is_global=is_global,
            key=key,
            projection=projection,
            non_key_attributes=non_key,
            rows=f"index_{self.number}_{self.index_numbers[name]}",
            queryable=definition.get("IndexStatus", "ACTIVE") in ("ACTIVE", "UPDATING"),
            projected=None if projection == "ALL" else non_key | set(key.names) | self.key_names,
        )

    @property
    def arn(self) -> str:
        return str(self.description["TableArn"])

    # -- keys ------------------------------------------------------------------------------------------------

    def row_key(self, item: Mapping[str, AttributeValue]) -> bytes:
        return self.key.bytes_of(item)

    def text_key(self, key: Mapping[str, AttributeValue]) -> bytes | None:
        """The row key of a ``Key`` parameter of plain text that is certainly valid, as most are.

        None for all others, and for all of a table with other keys: these have to be checked one after the other.
        """
        if len(key) != self._text_keys:
            return None
        contents = []
        for name in self.key.names:
            value = key.get(name)
            text = None if value is None or len(value) != 1 else value.get("S")
            if not text or len(text) > _SURELY_FITS or not text.isascii():
                return None
            contents.append(text.encode())
        return key_encoding.simple_key(*contents)

    def index_key(self, index: Index, item: Item, row_key: bytes) -> bytes:
        """The key of an item's entry in an index: unique, and in index order."""
        return index.key.bytes_of(item) + self.tie_breaker(item, row_key)

    def tie_breaker(self, item: Item, row_key: bytes) -> bytes:
        """The common end of the keys of an item's entries, in any index."""
        return key_encoding.tie_breaker_bytes(
            row_key, [key_encoding.scalar_bytes(item[name]) for name in self.key.names]
        )

    def key_of(self, item: Mapping[str, AttributeValue]) -> Item:
        return {name: item[name] for name in self.key.names}

    def indexes_of(self, item: Item) -> list[Index]:
        """The indexes that have an entry for an item."""
        held = []
        for name, index in self._indexes_by_attribute:
            if name in item and index.holds(item):
                held.append(index)
        return held

    # -- checks ----------------------------------------------------------------------------------------------

    def check_key(self, key: Mapping[str, AttributeValue]) -> None:
        """A ``Key`` parameter: exactly the key attributes, of their types, within their sizes."""
        types = self.key.types
        if len(key) != len(types):
            raise ValidationException(KEY_MISMATCH)
        for name, expected in types.items():
            # Most keys are valid, and this runs for every item: no call for each attribute.
            value = key.get(name)
            content = None if value is None else value.get(expected)
            if not content or len(content) > _SURELY_FITS:
                self.check_key_element(self.key, key, name)

    def check_key_element(self, schema: Key, key: Mapping[str, AttributeValue], name: str) -> None:
        value = key.get(name)
        expected = schema.types[name]
        if value is None or expected not in value:
            raise ValidationException(KEY_MISMATCH)
        schema.check_value(name, value)

    def check_item(self, item: Item) -> None:
        """A whole item: its key, and the type of every attribute that is an index key."""
        for name, expected in self._key_types:
            value = item.get(name)
            if value is None:
                if name in self.key_names:
                    break
                continue
            content = value.get(expected)
            if not content or len(content) > self._surely_fits:
                break
        else:
            return
        self._check_item_in_order(item)

    def _check_item_in_order(self, item: Item) -> None:
        """The same, one key after the other: the first invalid one is reported."""
        for name in self.key.names:
            expected = self.key.types[name]
            value = item.get(name)
            if value is None:
                raise ValidationException(f"{INVALID_VALUES}Missing the key {name} in the item")
            if expected not in value:
                raise ValidationException(
                    f"{INVALID_VALUES}Type mismatch for key {name} expected: {expected} actual: {next(iter(value))}"
                )
            self.key.check_value(name, value)
        for index in self.indexes_by_name:
            for name, expected in index.key.types.items():
                value = item.get(name)
                if value is None:
                    continue
                if expected not in value:
                    raise ValidationException(
                        f"{INVALID_VALUES}Type mismatch for Index Key {name} Expected: {expected} "
                        f"Actual: {next(iter(value))} IndexName: {index.name}"
                    )
                index.check_element(name, value)
            index.check_together(item)


def _key(elements: Iterable[Mapping[str, str]], types: Mapping[str, str]) -> Key:
    schema = list(elements)
    partition = tuple(e["AttributeName"] for e in schema if e["KeyType"] == "HASH")
    sort = tuple(e["AttributeName"] for e in schema if e["KeyType"] == "RANGE")
    return Key(partition, sort, {name: types[name] for name in partition + sort})
