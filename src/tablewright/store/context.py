"""The settings that the flows of a store share: clock, random source, table names, blob store, capacity hook."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tablewright.dynamo import Item
from tablewright.model import Table
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.errors import StoreError
from tablewright.store.flow.pacing import Pacing
from tablewright.store.read.cursor import seal, unseal

# Called for every response with the access pattern ("Call.upcoming"), the operation, and DynamoDB's ConsumedCapacity.
CapacityHook = Callable[[str, str, Any], None]


@dataclass(slots=True)
class Context:
    """The settings of one store."""

    clock: Callable[[], float] = time.time
    entropy: random.Random = field(default_factory=random.SystemRandom)
    # Signs cursors; stores that accept each other's cursors need the same secret.
    cursor_secret: bytes = b""
    # Tables with another name here: {"Calls": "staging-Calls"}
    table_names: Mapping[str, str] = field(default_factory=dict)
    # Whether a write that has to read the item first is refused.
    strict: bool = False
    on_capacity: CapacityHook | None = None
    # How many seconds a call may take, with all its requests, retries and waits.
    deadline: float | None = None
    # Seconds after which a read that has no response yet is sent to its endpoint a second time.
    hedge_after: float | None = None
    # Whether the next page of a long read is asked for while one is made into entities.
    reads_ahead: bool = False
    pacing: Pacing = field(default_factory=Pacing)
    # Where large values are offloaded to; None: nowhere, so they have to fit into their items.
    blobs: BlobStore | None = None

    def sealed(self, read: Any, position: Item) -> str:
        """The cursor of a list that does not belong to a pattern, at a position; signed like all others."""
        return seal(self.cursor_secret, read, [position])

    def unsealed(self, read: Any, cursor: str) -> Item:
        """The position in a cursor that ``sealed`` made for this list; InvalidCursor for any other text."""
        (position,) = unseal(self.cursor_secret, read, cursor)
        assert isinstance(position, dict)
        return position

    def now(self) -> datetime:
        """The time of the clock."""
        return datetime.fromtimestamp(self.clock(), UTC)

    def blob_store(self) -> BlobStore:
        """The blob store, if it is required."""
        if self.blobs is None:
            raise StoreError("a large value is in a blob store, and this store has none; give it blobs=...")
        return self.blobs

    def name_of(self, table: Table) -> str:
        """The name of a table in this store's backend."""
        return self.table_names.get(table.name, table.name)
