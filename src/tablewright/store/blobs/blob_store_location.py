"""Which blob store a store uses: the one at a location, or the one of an engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tablewright.engine.storage.folder_lock import BLOBS
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.blobs.folder_blob_store import FolderBlobStore
from tablewright.store.blobs.memory_blob_store import MemoryBlobStore
from tablewright.store.blobs.s3_blob_store import S3BlobStore

if TYPE_CHECKING:
    from tablewright.engine import Engine

_in_memory: WeakKeyDictionary[Engine, MemoryBlobStore] = WeakKeyDictionary()


def blob_store_of(engine: Engine) -> BlobStore:
    """The default blob store of an engine: in its data folder, or in memory for an engine in memory."""
    if engine.folder is not None:
        return FolderBlobStore(engine.folder / BLOBS)
    return _in_memory.setdefault(engine, MemoryBlobStore())


def blob_store_at(location: str | os.PathLike[str]) -> BlobStore:
    """The blob store at a location: ``s3://bucket/prefix``, or a folder."""
    if isinstance(location, str) and location.startswith("s3://"):
        bucket, _, prefix = location.removeprefix("s3://").partition("/")
        return S3BlobStore(bucket, prefix)
    return FolderBlobStore(location)
