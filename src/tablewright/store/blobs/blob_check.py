"""Whether the blobs that items refer to exist, and match the items: size and SHA-256.

The items may be those of a snapshot. A missing blob may have been replaced since, so a ``missing`` one is looked up
again in a later snapshot before it counts as lost (``only``).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from tablewright.dynamo import Item
from tablewright.store.blobs.blob_references import Reference, references, value_in
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.blobs.blob_store_location import blob_store_of
from tablewright.store.errors import ServiceError

if TYPE_CHECKING:
    from tablewright.engine import Engine


@dataclass(slots=True)
class BlobCheck:
    """The number of ``blobs`` read, the ``problems`` of some, and the ``missing`` ones, by name."""

    blobs: int = 0
    problems: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


_ADVICE = "restore it from a copy of the blob store, or write the value again"


def _ignore(count: int) -> None:
    """No progress report."""


class BlobChecker:
    """Reads the blobs that items refer to, and compares them with the references; ``check`` has the results."""

    def __init__(
        self,
        blobs: BlobStore,
        *,
        only: Container[str] | None = None,
        on_read: Callable[[int], None] = _ignore,
    ) -> None:
        """``only`` leaves out blobs of other names, and ``on_read`` is called with the size of each."""
        self.check = BlobCheck()
        self._blobs = blobs
        self._only = only
        self._on_read = on_read

    def look_at(self, where: str, item: Item) -> None:
        """Check the blobs of an item; ``where`` says which one it is."""
        for attribute, reference in references(item).items():
            name = reference.blob
            if self._only is None or name in self._only:
                self._look_at(f"{where}, attribute {attribute}: the blob {name}", reference)

    def _look_at(self, what: str, reference: Reference) -> None:
        try:
            data = self._blobs.get(reference.blob)
        except ServiceError as error:
            self.check.problems.append(f"{what} cannot be read: {error}")
            return
        if data is None:
            self.check.missing[reference.blob] = f"{what} is missing; {_ADVICE}"
            return
        self.check.blobs += 1
        self._on_read(len(data))
        if not _is_whole(data, reference):
            self.check.problems.append(f"{what} is damaged; {_ADVICE}")


def check_blobs(
    engine: Engine,
    blobs: BlobStore | None = None,
    *,
    only: Container[str] | None = None,
    on_read: Callable[[int], None] = _ignore,
) -> BlobCheck:
    """Read the blobs that the items of an engine refer to, and compare them with the references.

    They are in ``blobs``, by default the engine's own blob store. ``only`` leaves out those of other names, and
    ``on_read`` is called with the size of each.
    """
    checker = BlobChecker(blob_store_of(engine) if blobs is None else blobs, only=only, on_read=on_read)
    for where, item in _items(engine):
        checker.look_at(where, item)
    return checker.check


def _is_whole(data: bytes, reference: Reference) -> bool:
    try:
        return value_in(data, reference) is not None
    except UnicodeDecodeError:
        return False


def _items(engine: Engine) -> Iterator[tuple[str, Item]]:
    """The items that have references, each with its description."""
    for table in _tables(engine):
        keys = engine.call("DescribeTable", {"TableName": table})["Table"]["KeySchema"]
        request: dict[str, Any] = {"TableName": table}
        while True:
            page = engine.call("Scan", request)
            for item in page["Items"]:
                if references(item):
                    key = {part["AttributeName"]: item[part["AttributeName"]] for part in keys}
                    yield f"table {table}, item {orjson.dumps(key).decode()}", item
            if "LastEvaluatedKey" not in page:
                break
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _tables(engine: Engine) -> Iterator[str]:
    request: dict[str, Any] = {}
    while True:
        page = engine.call("ListTables", request)
        yield from page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            return
        request = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
