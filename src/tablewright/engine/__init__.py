"""The embedded engine: DynamoDB's semantics on SQLite, in process, without a network.

    engine           Engine: open, call, execute, verify, close
    operations       every operation, by DynamoDB's name for it
    requests/        what a request may contain, checked before its operation runs
    items/           reads and writes of items: single, batches, transactions, query and scan
    tables/          tables and their indexes, throughput, tags; limits of the account
    partiql/         the same with PartiQL statements
    streams/         DynamoDB Streams
    ttl/             time to live
    backups/         on-demand backups, point-in-time recovery, restores
    past/            tables as they were at an earlier time, without a restore
    copies/          copies of a whole data folder: taken while it is in use, verified, restored
    database         what the operations share, and the one path by which an item changes
    storage/         the data folder: SQLite, group commit, key encoding
    verify_folder    whether a data folder is consistent
    closed_folder    the same for a folder that no process has open, without changing it
    free_space       gives free pages back to the file system
    background_work  expiry, backfills, trimming: one thread, while there is work
    metering         the capacity that every request consumed: for a file, or for metrics

Other packages import from here only. The names are loaded on first use: opening an engine does not load verification of
a closed folder, and using an endpoint does not load the engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "METER_VARIABLE",
    "ChangedItem",
    "ChangedItems",
    "Commit",
    "DamagedError",
    "DynamoError",
    "Engine",
    "FolderLock",
    "ItemVersion",
    "ItemVersions",
    "Outcome",
    "StorageError",
    "StorageFigures",
    "Unfinished",
    "VerifyReport",
    "claim_folder",
    "holds_database",
    "resolve_folder",
    "verify_closed",
]

if TYPE_CHECKING:
    from tablewright.dynamo import DynamoError
    from tablewright.engine.closed_folder import verify_closed
    from tablewright.engine.engine import Engine
    from tablewright.engine.meter_variable import METER_VARIABLE
    from tablewright.engine.past.past_changes import ChangedItem, ChangedItems, ItemVersion, ItemVersions
    from tablewright.engine.slices import Outcome, Unfinished
    from tablewright.engine.storage.data_folder import (
        DamagedError,
        StorageError,
        StorageFigures,
        claim_folder,
        holds_database,
        resolve_folder,
    )
    from tablewright.engine.storage.durable_commit import Commit
    from tablewright.engine.storage.folder_lock import FolderLock
    from tablewright.engine.verify_folder import VerifyReport
else:
    _MODULES = {
        "dynamo": ("DynamoError",),
        "engine.closed_folder": ("verify_closed",),
        "engine.engine": ("Engine",),
        "engine.meter_variable": ("METER_VARIABLE",),
        "engine.past.past_changes": (
            "ChangedItem",
            "ChangedItems",
            "ItemVersion",
            "ItemVersions",
        ),
        "engine.slices": (
            "Outcome",
            "Unfinished",
        ),
        "engine.storage.data_folder": (
            "DamagedError",
            "StorageError",
            "StorageFigures",
            "claim_folder",
            "holds_database",
            "resolve_folder",
        ),
        "engine.storage.durable_commit": ("Commit",),
        "engine.storage.folder_lock": ("FolderLock",),
        "engine.verify_folder": ("VerifyReport",),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"tablewright.{_MODULE_OF[name]}"), name)
        return value
