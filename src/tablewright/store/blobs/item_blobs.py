"""``ItemBlobs``: the blobs of one stored item, for programs that copy items from one place to another.

A blob says which table and key it belongs to, so a copy is made anew, under a name with the other table in place of its
own. That name is the same however often it is copied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tablewright.dynamo import Item
from tablewright.store.blobs.blob_references import Reference, make_blob, references, value_in, with_references
from tablewright.store.blobs.blob_store import BlobStore, blob_prefix

CopiedBlob = Literal["copied", "missing", "damaged"]


class ItemBlobs:
    """The blobs that a stored item refers to, by attribute."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._references = references(item)

    @property
    def attributes(self) -> list[str]:
        return list(self._references)

    def item_in(self, table: str) -> Item:
        """The item as it is stored in another table, where it refers to blobs of that table."""
        return with_references(self._item, {name: _in(table, each) for name, each in self._references.items()})

    def copy(self, attribute: str, source: BlobStore, target: BlobStore, *, table: str, key: Item) -> CopiedBlob:
        """Copy the blob of an attribute, for the item of a key in another table; it is compared, and durable then."""
        reference = self._references[attribute]
        data = source.get(reference.blob)
        value = None if data is None else value_in(data, reference)
        if value is None:
            return "missing" if data is None else "damaged"
        blob = make_blob(_in(table, reference).blob, table, key, attribute, value)
        target.put(blob.reference.blob, blob.data)
        return "copied"

    def is_in(self, attribute: str, store: BlobStore) -> bool:
        """Whether a blob store has the value of an attribute as the item describes it."""
        reference = self._references[attribute]
        data = store.get(reference.blob)
        return data is not None and value_in(data, reference) is not None


def _in(table: str, reference: Reference) -> Reference:
    return replace(reference, blob=blob_prefix(table) + reference.blob.partition("/")[2])
