"""Reads and writes of a model: flows that plan, and the stores that run them, on any backend.

store, async_store   Store and AsyncStore: a method for each read and write; the first is generated from the second
batch_writer, async_batch_writer   BatchWriter and AsyncBatchWriter: many puts and deletes, one at a time
base_store, context  the base of both: backend, clock, cursor secret, table names, blob store
read/                get, query, batch get, cursors; tolerant reads; planning/ builds the requests
write/               put, update, move, delete, transactions, unique values; planning/ builds and commits the plans
blobs/               large values: references, offloading, blob stores in folders, in memory and on S3
streams/             consumers: shards, leases, checkpoints, effects, rebuilds; tails
switch/              two places as one backend, while tables are relocated from one to the other
maintenance/         creating tables; verify and repair
flow/                runs flows, and retries their requests
backends/            the embedded engine, or an endpoint over HTTP
errors               the errors, in the words of the design
argument_checks      the error for an argument of the wrong type
item_description     an item as messages name it
garbage_collection   pauses garbage collection while many objects are created
"""

from typing import TYPE_CHECKING

from tablewright.lazy_names import lazy_names

__all__ = [
    "Absent",
    "AlreadyExists",
    "AnyChange",
    "Aspect",
    "AsyncBatchWriter",
    "AsyncConsumer",
    "AsyncStore",
    "AsyncStreamTail",
    "AsyncTolerantReader",
    "Backend",
    "BatchWriter",
    "BlobCheck",
    "BlobChecker",
    "BlobEntry",
    "BlobLost",
    "BlobStore",
    "BlobUsage",
    "Cancelled",
    "CapacityHook",
    "Change",
    "ChangeFilter",
    "ChangeKind",
    "Check",
    "Checkpoint",
    "CheckpointTable",
    "ConditionFailed",
    "Conflict",
    "Consumer",
    "ConsumerSettings",
    "Create",
    "DeadLetter",
    "DeadlineExceeded",
    "Delete",
    "Difference",
    "Effects",
    "EmbeddedBackend",
    "EndpointBackend",
    "Fault",
    "Finding",
    "FolderBlobStore",
    "Handler",
    "IdempotencyRecord",
    "InProgress",
    "InvalidCursor",
    "ItemBlobs",
    "KeyMismatch",
    "LeaseLost",
    "LimitExceeded",
    "MemoryBlobStore",
    "NotFound",
    "NotReady",
    "NotUnique",
    "Operation",
    "OrphanReport",
    "Outcome",
    "OutcomeUnknown",
    "Page",
    "PassResult",
    "PlaceSwitch",
    "Progress",
    "Put",
    "RawChange",
    "ReadProgress",
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
    "Scan",
    "ServiceError",
    "Store",
    "StoreError",
    "SwitchedBackend",
    "TableMismatch",
    "TableNotFound",
    "TolerantPage",
    "TolerantReader",
    "Unavailable",
    "Unreadable",
    "Update",
    "Upsert",
    "VersionConflict",
    "WriteResult",
    "blob_store_at",
    "blob_store_of",
    "changes_in",
    "changes_of",
    "check_blobs",
    "counter_handler",
    "entity_filter",
    "is_transient",
    "offloaded_sizes",
    "readable_filter",
    "typed_changes",
]

if TYPE_CHECKING:
    from tablewright.store.async_batch_writer import AsyncBatchWriter
    from tablewright.store.async_store import AsyncStore
    from tablewright.store.backends.embedded_backend import EmbeddedBackend
    from tablewright.store.backends.endpoint_backend import EndpointBackend
    from tablewright.store.batch_writer import BatchWriter
    from tablewright.store.blobs.blob_check import BlobCheck, BlobChecker, check_blobs
    from tablewright.store.blobs.blob_references import offloaded_sizes
    from tablewright.store.blobs.blob_store import BlobEntry, BlobStore
    from tablewright.store.blobs.blob_store_location import blob_store_at, blob_store_of
    from tablewright.store.blobs.folder_blob_store import FolderBlobStore
    from tablewright.store.blobs.item_blobs import ItemBlobs
    from tablewright.store.blobs.memory_blob_store import MemoryBlobStore
    from tablewright.store.blobs.orphan_blobs import BlobUsage, OrphanReport
    from tablewright.store.blobs.s3_blob_store import S3BlobStore
    from tablewright.store.context import CapacityHook
    from tablewright.store.errors import (
        AlreadyExists,
        BlobLost,
        Cancelled,
        ConditionFailed,
        Conflict,
        DeadlineExceeded,
        InProgress,
        InvalidCursor,
        KeyMismatch,
        LeaseLost,
        LimitExceeded,
        NotFound,
        NotReady,
        NotUnique,
        OutcomeUnknown,
        ReadRequired,
        RebuildUnfinished,
        RecordsLost,
        ServiceError,
        StoreError,
        TableMismatch,
        TableNotFound,
        Unavailable,
        Unreadable,
        VersionConflict,
    )
    from tablewright.store.flow.driver import Backend, Request, Response
    from tablewright.store.flow.retry import is_transient
    from tablewright.store.maintenance.findings import Fault, Finding, Progress, Remedy, Report
    from tablewright.store.maintenance.table_differences import Aspect, Difference, Resolution
    from tablewright.store.read.async_tolerant_reader import AsyncTolerantReader
    from tablewright.store.read.planning.scan import Scan
    from tablewright.store.read.query import Page, ReadProgress
    from tablewright.store.read.tolerant import TolerantPage
    from tablewright.store.read.tolerant_reader import TolerantReader
    from tablewright.store.store import Store
    from tablewright.store.streams.async_consumer import AsyncConsumer
    from tablewright.store.streams.change_filters import entity_filter, readable_filter, typed_changes
    from tablewright.store.streams.change_records import (
        AnyChange,
        Change,
        ChangeFilter,
        ChangeKind,
        RawChange,
        changes_in,
        changes_of,
    )
    from tablewright.store.streams.checkpoint import Checkpoint, CheckpointTable, DeadLetter
    from tablewright.store.streams.consumer import Consumer
    from tablewright.store.streams.consumer_settings import ConsumerSettings, Handler, PassResult
    from tablewright.store.streams.counter_handler import counter_handler
    from tablewright.store.streams.effects import Effects
    from tablewright.store.streams.rebuild import RebuildProgress
    from tablewright.store.streams.stream_tail import AsyncStreamTail
    from tablewright.store.switch.place_switch import PlaceSwitch
    from tablewright.store.switch.switched_backend import SwitchedBackend
    from tablewright.store.write.delete import Delete
    from tablewright.store.write.idempotent_write import IdempotencyRecord, Outcome
    from tablewright.store.write.planning.operation import Operation
    from tablewright.store.write.put import Create, Put
    from tablewright.store.write.transaction import Absent, Check
    from tablewright.store.write.update import Update
    from tablewright.store.write.upsert import Upsert
    from tablewright.store.write.write_each import WriteResult
else:
    __getattr__ = lazy_names(
        globals(),
        {
            "async_batch_writer": ("AsyncBatchWriter",),
            "async_store": ("AsyncStore",),
            "backends.embedded_backend": ("EmbeddedBackend",),
            "backends.endpoint_backend": ("EndpointBackend",),
            "batch_writer": ("BatchWriter",),
            "blobs.blob_check": ("BlobCheck", "BlobChecker", "check_blobs"),
            "blobs.blob_references": ("offloaded_sizes",),
            "blobs.blob_store": ("BlobEntry", "BlobStore"),
            "blobs.blob_store_location": ("blob_store_at", "blob_store_of"),
            "blobs.folder_blob_store": ("FolderBlobStore",),
            "blobs.item_blobs": ("ItemBlobs",),
            "blobs.memory_blob_store": ("MemoryBlobStore",),
            "blobs.orphan_blobs": ("BlobUsage", "OrphanReport"),
            "blobs.s3_blob_store": ("S3BlobStore",),
            "context": ("CapacityHook",),
            "errors": (
                "AlreadyExists",
                "BlobLost",
                "Cancelled",
                "ConditionFailed",
                "Conflict",
                "DeadlineExceeded",
                "InProgress",
                "InvalidCursor",
                "KeyMismatch",
                "LeaseLost",
                "LimitExceeded",
                "NotFound",
                "NotReady",
                "NotUnique",
                "OutcomeUnknown",
                "ReadRequired",
                "RebuildUnfinished",
                "RecordsLost",
                "ServiceError",
                "StoreError",
                "TableMismatch",
                "TableNotFound",
                "Unavailable",
                "Unreadable",
                "VersionConflict",
            ),
            "flow.driver": ("Backend", "Request", "Response"),
            "flow.retry": ("is_transient",),
            "maintenance.findings": ("Fault", "Finding", "Progress", "Remedy", "Report"),
            "maintenance.table_differences": ("Aspect", "Difference", "Resolution"),
            "read.async_tolerant_reader": ("AsyncTolerantReader",),
            "read.planning.scan": ("Scan",),
            "read.query": ("Page", "ReadProgress"),
            "read.tolerant": ("TolerantPage",),
            "read.tolerant_reader": ("TolerantReader",),
            "store": ("Store",),
            "streams.async_consumer": ("AsyncConsumer",),
            "streams.change_filters": ("entity_filter", "readable_filter", "typed_changes"),
            "streams.change_records": (
                "AnyChange",
                "Change",
                "ChangeFilter",
                "ChangeKind",
                "RawChange",
                "changes_in",
                "changes_of",
            ),
            "streams.checkpoint": ("Checkpoint", "CheckpointTable", "DeadLetter"),
            "streams.consumer": ("Consumer",),
            "streams.consumer_settings": ("ConsumerSettings", "Handler", "PassResult"),
            "streams.counter_handler": ("counter_handler",),
            "streams.effects": ("Effects",),
            "streams.rebuild": ("RebuildProgress",),
            "streams.stream_tail": ("AsyncStreamTail",),
            "switch.place_switch": ("PlaceSwitch",),
            "switch.switched_backend": ("SwitchedBackend",),
            "write.delete": ("Delete",),
            "write.idempotent_write": ("IdempotencyRecord", "Outcome"),
            "write.planning.operation": ("Operation",),
            "write.put": ("Create", "Put"),
            "write.transaction": ("Absent", "Check"),
            "write.update": ("Update",),
            "write.upsert": ("Upsert",),
            "write.write_each": ("WriteResult",),
        },
    )
