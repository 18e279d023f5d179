"""Whether the blobs that items refer to are there, and are what the items say: size and SHA-256.

The items may be those of a snapshot. A blob that is missing can have been replaced since, so what is ``missing`` is
looked for again in a later snapshot before it counts as lost (``only``).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from tablewright.engine import Engine
from tablewright.store.blobs.blob_references import Reference, references, value_in
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.blobs.blob_store_location import blob_store_of
from tablewright.store.errors import ServiceError


@dataclass(slots=True)
class BlobCheck:
    """How many ``blobs`` were read, what is wrong with some (``problems``), and which are ``missing``, by name."""

    blobs: int = 0
    problems: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def _ignore(count: int) -> None:
    """Nobody wants to know how much was read."""


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
    check, store = BlobCheck(), blob_store_of(engine) if blobs is None else blobs
    for where, reference in _references(engine):
        name = reference.blob
        if only is not None and name not in only:
            continue
        try:
            data = store.get(name)
        except ServiceError as error:
            check.problems.append(f"{where}: the blob {name} cannot be read: {error}")
            continue
        if data is None:
            check.missing[name] = f"{where}: the blob {name} is missing"
            continue
        check.blobs += 1
        on_read(len(data))
        if not _is_whole(data, reference):
            check.problems.append(f"{where}: the blob {name} is damaged")
    return check


def _is_whole(data: bytes, reference: Reference) -> bool:
    try:
        return value_in(data, reference) is not None
    except UnicodeDecodeError:
        return False


def _references(engine: Engine) -> Iterator[tuple[str, Reference]]:
    for table in _tables(engine):
        request: dict[str, Any] = {"TableName": table}
        while True:
            page = engine.call("Scan", request)
            for item in page["Items"]:
                for attribute, reference in references(item).items():
                    yield f"table {table}, attribute {attribute}", reference
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
