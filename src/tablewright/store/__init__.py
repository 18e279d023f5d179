"""Reads and writes of a model: flows that plan, and the stores that run them, on any backend."""

from tablewright.store.around import AsyncTolerantReader, TolerantPage, TolerantReader
from tablewright.store.async_store import AsyncStore
from tablewright.store.backends import BotocoreBackend, EmbeddedBackend
from tablewright.store.blobs import Blobs, FolderBlobs, MemoryBlobs, blobs_at, blobs_of
from tablewright.store.checkpoints import Bookkeeping, Checkpoint, DeadLetter
from tablewright.store.consumers import AsyncConsumer, Consumer
from tablewright.store.context import CapacityHook
from tablewright.store.effects import Effects
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
from tablewright.store.findings import Fault, Finding, Progress, Remedy, Report
from tablewright.store.flow import Backend, Request, Response
from tablewright.store.idempotency import IdempotencyRecord, Outcome
from tablewright.store.operations import Operation
from tablewright.store.orphans import Orphans, Usage
from tablewright.store.outside import sizes_outside
from tablewright.store.queries import Page
from tablewright.store.rebuilds import RebuildProgress
from tablewright.store.s3_blobs import S3Blobs
from tablewright.store.store import Store
from tablewright.store.streams import (
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
from tablewright.store.tables import Aspect, Difference, Resolution
from tablewright.store.transactions import Absent, Check
from tablewright.store.updates import Update
from tablewright.store.upserts import Upsert
from tablewright.store.workers import Handler, Pass
from tablewright.store.writes import Create, Delete, Put

__all__ = [
    "Absent",
    "AlreadyExists",
    "AnyChange",
    "Aspect",
    "AsyncConsumer",
    "AsyncStore",
    "AsyncTolerantReader",
    "Backend",
    "BlobLost",
    "Blobs",
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
    "FolderBlobs",
    "Handler",
    "IdempotencyRecord",
    "InProgress",
    "InvalidCursor",
    "KeyMismatch",
    "LeaseLost",
    "LimitExceeded",
    "MemoryBlobs",
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
    "S3Blobs",
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
    "blobs_at",
    "blobs_of",
    "changes_in",
    "changes_of",
    "only",
    "readable",
    "sizes_outside",
    "wanting",
]
