"""Requests to a blob store, as steps of a flow: several blobs each, concurrently if the store allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.flow.driver import Work

T = TypeVar("T")


def put_blobs(blobs: BlobStore, contents: Sequence[tuple[str, bytes]]) -> Work:
    """Store blobs, given as names and bytes."""
    names = [name for name, _ in contents]
    return _request("PutBlobs", names, lambda: _map(blobs, lambda each: blobs.put(*each), contents))


def get_blobs(blobs: BlobStore, names: Sequence[str]) -> Work:
    """Blobs in the order of their names, as ``response["Blobs"]``; None for each that does not exist."""
    return _request("GetBlobs", names, lambda: _map(blobs, blobs.get, names))


def head_blobs(blobs: BlobStore, names: Sequence[str], length: int) -> Work:
    """The first bytes of blobs."""
    return _request("HeadBlobs", names, lambda: _map(blobs, lambda name: blobs.head(name, length), names))


def delete_blobs(blobs: BlobStore, names: Sequence[str]) -> Work:
    """Delete blobs."""
    return _request("DeleteBlobs", names, lambda: _map(blobs, blobs.delete, names))


def list_blobs(blobs: BlobStore, prefix: str, after: str | None, limit: int) -> Work:
    """A page of the blobs under a prefix."""
    return _request("ListBlobs", [prefix], lambda: blobs.entries(prefix, after, limit))


def _request(operation: str, names: Sequence[str], perform: Callable[[], list[Any]]) -> Work:
    return Work(operation, {"Names": list(names)}, perform=lambda: {"Blobs": perform()})


def _map(blobs: BlobStore, call: Callable[[Any], T], members: Sequence[Any]) -> list[T]:
    if blobs.concurrency == 1 or len(members) < 2:
        return [call(member) for member in members]
    with ThreadPoolExecutor(min(blobs.concurrency, len(members))) as threads:
        return list(threads.map(call, members))
