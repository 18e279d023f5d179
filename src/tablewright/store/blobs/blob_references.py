"""References to blobs: how an item names them, what a blob contains, and which values are offloaded. Pure functions.

    {"PK": …, "title": …, "~outside": {"body": {blob, size, sha256, type}}}

An offloaded value is left out of its item, and an attribute of the store's own says where it is. No field can be
stored in that attribute, so no value can be taken for a reference. Another writer that sets the value itself, in the
item, is right: what is in the item counts before its blob. One that knows nothing of references keeps them, as
it keeps all that it does not know.

A blob names its item, so that a reference to it can be found without scanning the table:

    magic, 4 bytes of length, JSON {"table", "key", "attribute"}, the value

It belongs to one item, under one key: an item that moves takes its values along in new blobs. So an item that does not
refer to a blob which is older than any write can take will never do so.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson

from tablewright.dynamo import AttributeValue, Item, item_size, value_size
from tablewright.model import Entity, Large, Schema, schema_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.items.item_decoding import keep_unknown_attributes, unknown_attributes

_MAGIC = b"TBWL"
_LENGTH = 4
# A key has up to 3 KB, and may be written as \uXXXX; what is longer is no header.
MAX_HEADER_BYTES = 64 * 1024
# What the map of references takes up by itself.
_FIRST_ROOM = len(BLOB_REFERENCES) + 3
# Twelve digits of size are a terabyte.
_ANY_SIZE = 10**12 - 1


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a value is; ``size`` is that of the value, in bytes."""

    blob: str
    size: int
    sha256: str
    # S or B
    type: str

    def stored(self) -> AttributeValue:
        return {
            "M": {
                "blob": {"S": self.blob},
                "size": {"N": str(self.size)},
                "sha256": {"S": self.sha256},
                "type": {"S": self.type},
            }
        }

    @staticmethod
    @lru_cache(maxsize=1024)
    def room(name_length: int) -> int:
        """The size of a reference in an item, without the name of its attribute."""
        return 1 + name_length + value_size(Reference("", _ANY_SIZE, "0" * 64, "S").stored())

    def is_of(self, value: AttributeValue) -> bool:
        """Whether the stored value is this one."""
        content = value.get(self.type)
        return content is not None and (self.size, self.sha256) == _measured(content_of(value))


def references(item: Mapping[str, AttributeValue]) -> dict[str, Reference]:
    """The references of an item, by attribute; also of those that are in the item itself again."""
    found = {}
    for attribute, member in item.get(BLOB_REFERENCES, {}).get("M", {}).items():
        fields = member.get("M", {})
        try:
            found[attribute] = Reference(
                fields["blob"]["S"], int(fields["size"]["N"]), fields["sha256"]["S"], fields["type"]["S"]
            )
        except (KeyError, ValueError):
            continue
    return found


def missing_references(item: Mapping[str, AttributeValue]) -> dict[str, Reference]:
    """The references of values that are not in the item."""
    if BLOB_REFERENCES not in item:
        return {}
    return {attribute: reference for attribute, reference in references(item).items() if attribute not in item}


def with_references(item: Item, found: Mapping[str, Reference]) -> Item:
    """An item with these references and no others; the same one where that changes nothing."""
    if not found and BLOB_REFERENCES not in item:
        return item
    plain = {name: value for name, value in item.items() if name != BLOB_REFERENCES}
    if found:
        plain[BLOB_REFERENCES] = stored_references(found)
    return plain


def stored_references(found: Mapping[str, Reference]) -> AttributeValue:
    return {"M": {attribute: reference.stored() for attribute, reference in found.items()}}


def without_blob_values(item: Item) -> Item:
    """An item as it is stored, given one that has been filled with the values of its blobs."""
    offloaded = references(item)
    return {name: value for name, value in item.items() if name not in offloaded} if offloaded else item


def offloaded_sizes(entity: Entity) -> dict[str, int]:
    """The sizes of an entity's large values that are blobs, by field, as of when it was read or written last."""
    known = unknown_attributes(entity)
    if BLOB_REFERENCES not in known:
        return {}
    by_attribute = schema_of(type(entity)).by_attribute
    return {
        by_attribute[attribute].name: reference.size
        for attribute, reference in references(known).items()
        if attribute in by_attribute
    }


def remember(entity: Entity, found: Mapping[str, Reference]) -> None:
    """Let an entity know its references."""
    known = unknown_attributes(entity)
    if found or BLOB_REFERENCES in known:
        keep_unknown_attributes(entity, with_references(known, found))


# -- values and blobs -----------------------------------------------------------------------------------------------


def content_of(value: AttributeValue) -> bytes:
    """The bytes of a text or binary value."""
    return b64decode(value["B"]) if "B" in value else value["S"].encode()


def _measured(content: bytes) -> tuple[int, str]:
    return len(content), sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Blob:
    """A value on its way to a blob store."""

    reference: Reference
    data: bytes


def make_blob(name: str, table: str, key: Item, attribute: str, value: AttributeValue) -> Blob:
    """The blob of a value."""
    ((kind, _),) = value.items()
    content = content_of(value)
    header = orjson.dumps({"table": table, "key": key, "attribute": attribute})
    data = b"".join((_MAGIC, len(header).to_bytes(_LENGTH), header, content))
    return Blob(Reference(name, *_measured(content), kind), data)


def value_in(data: bytes, reference: Reference) -> AttributeValue | None:
    """The value in a blob; None if it is not what the reference says."""
    content = data[_header_end(data) :]
    if _measured(content) != (reference.size, reference.sha256):
        return None
    return {"B": b64encode(content).decode()} if reference.type == "B" else {"S": content.decode()}


def owner_in(data: bytes) -> dict[str, Any] | None:
    """The table, key and attribute that a blob is of, from its beginning; None if it does not say."""
    try:
        owner = orjson.loads(data[len(_MAGIC) + _LENGTH : _header_end(data)])
    except orjson.JSONDecodeError:
        return None
    return owner if isinstance(owner, dict) and owner.keys() >= {"table", "key"} else None


def _header_end(data: bytes) -> int:
    start = len(_MAGIC) + _LENGTH
    return start + int.from_bytes(data[len(_MAGIC) : start]) if data.startswith(_MAGIC) else 0


# -- which values are offloaded ----------------------------------------------------------------------------------------


def to_offload(schema: Schema, item: Item, name_length: int) -> list[FieldSpec]:
    """The large fields that have to leave an item: the largest first, until it fits.

    A field that would gain nothing is not offloaded, as a reference takes space as well.
    """
    room = Reference.room(name_length)
    going: list[FieldSpec] = []
    sized = _by_size(schema.large, item, room)
    if not sized:
        return going
    size = item_size(item)
    for value, spec in sized:
        gain = value - room
        if not going and BLOB_REFERENCES not in item:
            gain -= _FIRST_ROOM
        if size > spec.marker(Large).threshold and gain > 0:
            going.append(spec)
            size -= gain
    return going


def _by_size(specs: Iterable[FieldSpec], item: Item, room: int) -> list[tuple[int, FieldSpec]]:
    """The fields that can be offloaded, with their sizes: those whose values are larger than their references."""
    sized = []
    for spec in specs:
        value = item.get(spec.attribute)
        if value is not None and ("S" in value or "B" in value) and (size := value_size(value)) > room:
            sized.append((size, spec))
    return sorted(sized, key=lambda each: each[0], reverse=True)
