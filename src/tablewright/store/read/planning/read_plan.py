"""Read plans: the requests of a read, and what is done with their items.

Most of a plan is the same in every read by a pattern, and made once: its ``ReadTarget``. Only the requests, and what an
item is checked for, depend on the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo import Item
from tablewright.model import Schema
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store.read.planning.key_range import ItemCheck


@dataclass(slots=True)
class ReadTarget:
    """What is read, whatever the values: which entities, in which order, and which of their attributes."""

    schema: Schema
    # The access pattern, for metrics: "Call.upcoming"
    pattern: str
    operation: str
    # The attributes of a position: the key of the table, and that of the index.
    key: tuple[str, ...]
    sort: tuple[str, ...] = ()
    newest_first: bool = False
    # The index lacks attributes that are needed: the items are fetched from the table.
    fetches_from_table: bool = False
    # The attributes that are read; empty for all of them.
    projected: tuple[str, ...] = ()
    # Further entities of a collection.
    other_schemas: tuple[Schema, ...] = ()
    # All items are in partitions of the table that belong to the entity.
    in_own_partition: bool = False
    # Whether offloaded values are loaded.
    load_large: bool = True
    # What items are read as, instead of as whole entities.
    projection: type[BaseModel] | None = None
    # All entities that are read.
    schemas: tuple[Schema, ...] = field(init=False)
    # Whether items may have offloaded values, which are loaded.
    loads_blobs: bool = field(init=False)
    # Whether items of an older schema version are stored in the present one.
    writes_back: bool = field(init=False)
    # Whether items are completed or written back before they are decoded.
    is_postprocessed: bool = field(init=False)
    # Whether the items of a response are decoded as they are.
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = (self.schema, *self.schema.subtypes, *self.other_schemas)
        may_load = self.load_large and (not self.projected or BLOB_REFERENCES in self.projected)
        self.loads_blobs = may_load and any(schema.large for schema in self.schemas)
        self.writes_back = any(schema.writes_back for schema in self.schemas)
        self.is_postprocessed = self.loads_blobs or self.writes_back
        is_whole = self.projection is None and not self.projected
        self.is_plain = is_whole and not (self.is_postprocessed or self.fetches_from_table or self.other_schemas)


@dataclass(slots=True)
class ReadPlan:
    """A read of items: a request for each partition, and how their items are merged."""

    target: ReadTarget
    bodies: Sequence[dict[str, Any]]
    checks: Sequence[ItemCheck] = ()
    # The partitions of the requests, while items move from some of them to others (see ``reshard_reader``).
    partitions: Sequence[Item] = ()
    # The partitions come one after the other, in the order of their items.
    is_chain: bool = False
    # The requests are for segments of a scan, which has no order.
    is_parallel: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is one request, and its items are decoded as they are."""
        return self.target.is_plain and len(self.bodies) == 1 and not (self.checks or self.partitions)

    @property
    def stable_key(self) -> tuple[str, ...]:
        """The attributes of a position that do not change when an item moves to another shard."""
        key = self.target.key
        return tuple(name for name in key if name not in self.partitions[0]) if self.partitions else key

    def accepts(self, item: Item) -> bool:
        """Whether an item passes all checks, and has not moved to a partition that is not read."""
        if self.partitions and {name: item.get(name) for name in self.partitions[0]} not in self.partitions:
            return False
        return all(check(item) for check in self.checks)
