"""Whether a copy has the blobs that its items refer to, with the values that the items say.

A store keeps large values outside of their items, in the data folder or elsewhere (``store.blobs``). This is what the
engine knows of it: an item has the name, size and SHA-256 of each value in an attribute of the store's own, and a blob
has a header before its value.

    {"PK": …, "~outside": {"M": {"body": {"M": {blob, size, sha256, type}}}}}        TBWL, length, header, value

Blobs that are kept elsewhere are not a part of the data folder, so missing ones are damage only if there are, or were
in an earlier copy, blobs that items refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import sha256
from typing import Final

from tablewright.dynamo import Item
from tablewright.engine.verify_folder import MAX_PROBLEMS

__all__ = ["REFERENCES", "BlobValue", "CopiedBlobs", "ValueDigest"]

# The attribute of an item that has its references.
REFERENCES: Final = "~outside"
_MAGIC: Final = b"TBWL"
_LENGTH: Final = 4
_ADVICE: Final = "restore it from an earlier copy, or write the value again"

# The size and SHA-256 of the value in a blob.
ValueDigest = tuple[int, bytes]


class BlobValue:
    """Reads a blob from its beginning on, for the size and SHA-256 of the value in it."""

    __slots__ = ("_digest", "_header", "_size")

    def __init__(self) -> None:
        self._digest = sha256()
        self._size = 0
        # How much of the header is still to come; None before the first bytes, which say so.
        self._header: int | None = None

    def add(self, content: bytes) -> None:
        """The next bytes; the first ones are at least eight, unless the blob is shorter."""
        if self._header is None:
            begin = len(_MAGIC) + _LENGTH
            is_whole = content.startswith(_MAGIC)
            self._header = begin + int.from_bytes(content[len(_MAGIC) : begin]) if is_whole else 0
        value = content[self._header :]
        self._header -= len(content) - len(value)
        self._digest.update(value)
        self._size += len(value)

    @property
    def digest(self) -> ValueDigest:
        return self._size, self._digest.digest()


class CopiedBlobs:
    """Compares the blobs of a copy with the items that refer to them."""

    def __init__(self, values: Mapping[str, ValueDigest], earlier: Callable[[], Collection[str]]) -> None:
        """``values`` are those of the copy, by the names of their blobs; ``earlier`` lists those of earlier copies."""
        self._values = values
        self._earlier = earlier
        self._known: Collection[str] | None = None
        self._are_here = False
        # Those that are damaged or missing, and missing ones that may be elsewhere.
        self._found: list[str] = []
        self._unknown: list[str] = []

    @property
    def problems(self) -> list[str]:
        return [*self._found, *self._unknown] if self._are_here else self._found

    def look_at(self, where: str, item: Item) -> None:
        """Check the blobs of an item; ``where`` says which one it is."""
        if REFERENCES not in item:
            return
        for attribute, name, expected in _references(item):
            what = f"{where}, attribute {attribute}: the blob {name}"
            value = self._values.get(name)
            if value is not None:
                self._are_here = True
                if value != expected:
                    _add(self._found, f"{what} is damaged; {_ADVICE}")
            elif name in self._names_in_earlier_copies():
                self._are_here = True
                _add(self._found, f"{what} is missing; {_ADVICE}")
            else:
                _add(self._unknown, f"{what} is missing; {_ADVICE}")

    def _names_in_earlier_copies(self) -> Collection[str]:
        if self._known is None:
            self._known = self._earlier()
        return self._known


def _add(problems: list[str], problem: str) -> None:
    if len(problems) < MAX_PROBLEMS:
        problems.append(problem)


def _references(item: Item) -> Iterator[tuple[str, str, ValueDigest]]:
    """The attributes of an item whose values are in blobs, with the name of the blob and what it should have."""
    for attribute, member in item[REFERENCES].get("M", {}).items():
        fields = member.get("M", {})
        try:
            name, size, digest = fields["blob"]["S"], int(fields["size"]["N"]), bytes.fromhex(fields["sha256"]["S"])
        except (KeyError, ValueError):  # not written by a store, which leaves it out as well
            continue
        yield attribute, name, (size, digest)
