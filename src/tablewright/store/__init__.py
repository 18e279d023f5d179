"""Reads and writes of a model: flows that plan, and the stores that run them, on any backend."""

from tablewright.store.async_store import AsyncStore
from tablewright.store.backends.botocore_backend import BotocoreBackend
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.blob_references import offloaded_sizes
from tablewright.store.blobs.blob_store import BlobEntry, BlobStore
from tablewright.store.blobs.blob_store_location import blob_store_at, blob_store_of
from tablewright.store.blobs.folder_blob_store import FolderBlobStore
from tablewright.store.blobs.memory_blob_store import MemoryBlobStore
from tablewright.store.blobs.orphan_blobs import Orphans, Usage
from tablewright.store.blobs.s3_blob_store import S3BlobStore
from tablewright.store.context import CapacityHook
from tablewright.store.errors import (
    AlreadyExists,
    BlobLost,
    Cancelled,
    ConditionFailed,
    Conflict,
    InProgress,
    InvalidCursor,
    KeyMismatch,
    LeaseLost,
    LimitExceeded,
    NotFound,
    NotReady,
    NotUnique,
    ReadRequired,
    RebuildUnfinished,
    RecordsLost,
    ServiceError,
    StoreError,
    TableMismatch,
    Unavailable,
    Unreadable,
    VersionConflict,
)
from tablewright.store.flow.driver import Backend, Request, Response
from tablewright.store.maintenance.findings import Fault, Finding, Progress, Remedy, Report
from tablewright.store.maintenance.table_differences import Aspect, Difference, Resolution
from tablewright.store.read.query import Page
from tablewright.store.read.tolerant import AsyncTolerantReader, TolerantPage, TolerantReader
from tablewright.store.store import Store
from tablewright.store.streams.change_records import (
    AnyChange,
    Change,
    ChangeFilter,
    ChangeKind,
    RawChange,
    changes_in,
    changes_of,
    only,
    readable,
    wanting,
)
from tablewright.store.streams.checkpoint import Bookkeeping, Checkpoint, DeadLetter
from tablewright.store.streams.consumer import AsyncConsumer, Consumer
from tablewright.store.streams.effects import Effects
from tablewright.store.streams.rebuild import RebuildProgress
from tablewright.store.streams.stream_worker import Handler, Pass
from tablewright.store.write.delete import Delete
from tablewright.store.write.idempotent_write import IdempotencyRecord, Outcome
from tablewright.store.write.planning.operation import Operation
from tablewright.store.write.put import Create, Put
from tablewright.store.write.transaction import Absent, Check
from tablewright.store.write.update import Update
from tablewright.store.write.upsert import Upsert

__all__ = [
    "Absent",
    "AlreadyExists",
    "AnyChange",
    "Aspect",
    "AsyncConsumer",
    "AsyncStore",
    "AsyncTolerantReader",
    "Backend",
    "BlobEntry",
    "BlobLost",
    "BlobStore",
    "Bookkeeping",
    "BotocoreBackend",
    "Cancelled",
    "CapacityHook",
    "Change",
    "ChangeFilter",
    "ChangeKind",
    "Check",
    "Checkpoint",
    "ConditionFailed",
    "Conflict",
    "Consumer",
    "Create",
    "DeadLetter",
    "Delete",
    "Difference",
    "Effects",
    "EmbeddedBackend",
    "Fault",
    "Finding",
    "FolderBlobStore",
    "Handler",
    "IdempotencyRecord",
    "InProgress",
    "InvalidCursor",
    "KeyMismatch",
    "LeaseLost",
    "LimitExceeded",
    "MemoryBlobStore",
    "NotFound",
    "NotReady",
    "NotUnique",
    "Operation",
    "Orphans",
    "Outcome",
    "Page",
    "Pass",
    "Progress",
    "Put",
    "RawChange",
    "ReadRequired",
    "RebuildProgress",
    "RebuildUnfinished",
    "RecordsLost",
    "Remedy",
    "Report",
    "Request",
    "Resolution",
    "Response",
    "S3BlobStore",
    "ServiceError",
    "Store",
    "StoreError",
    "TableMismatch",
    "TolerantPage",
    "TolerantReader",
    "Unavailable",
    "Unreadable",
    "Update",
    "Upsert",
    "Usage",
    "VersionConflict",
    "blob_store_at",
    "blob_store_of",
    "changes_in",
    "changes_of",
    "offloaded_sizes",
    "only",
    "readable",
    "wanting",
]
