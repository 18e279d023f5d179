"""What the flows of a store share: the clock, the random source, table names, the blob store, the capacity hook."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tablewright.model import Table
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.errors import StoreError

# Told of every response: the access pattern ("Call.upcoming"), the operation, and DynamoDB's ConsumedCapacity.
CapacityHook = Callable[[str, str, Any], None]


@dataclass(slots=True)
class Context:
    """One store's settings."""

    clock: Callable[[], float] = time.time
    entropy: random.Random = field(default_factory=random.SystemRandom)
    # Signs cursors; a store that is to take cursors from another one needs the same secret.
    cursor_secret: bytes = b""
    # Tables that are called otherwise here: {"Calls": "staging-Calls"}
    table_names: Mapping[str, str] = field(default_factory=dict)
    # Refuse an update that would have to read the item first, instead of reading it.
    strict: bool = False
    on_capacity: CapacityHook | None = None
    # Where large values are that do not fit into their items; None: nowhere, so that they have to fit.
    blobs: BlobStore | None = None

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)

    def blob_store(self) -> BlobStore:
        """The blob store, for what cannot be done without one."""
        if self.blobs is None:
            raise StoreError("a large value is in a blob store, and this store has none; give it blobs=...")
        return self.blobs

    def name_of(self, table: Table) -> str:
        return self.table_names.get(table.name, table.name)
