"""Plans of reads: the requests to make, and what is to be done with their items.

Most of a plan is the same in every read of its kind, and made once: its ``Scope``. Only the requests, and what an item
has to be checked for, follow from the values that were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import Item
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.schema import Schema
from tablewright.store.read.planning.key_range import Check


@dataclass(slots=True)
class Scope:
    """What is read, whatever the values: of which entities, in which order, and how much of them."""

    schema: Schema
    # What it is counted under: "Call.upcoming"
    pattern: str
    operation: str
    # The attributes of a position: the key of the table, and of the index that is read.
    key: tuple[str, ...]
    sort: tuple[str, ...] = ()
    newest_first: bool = False
    # The index does not have everything that is wanted: the items have to be read from the table.
    partial: bool = False
    # The attributes that are wanted, when it is not all of them.
    projected: tuple[str, ...] = ()
    # Further entities that are read along.
    others: tuple[Schema, ...] = ()
    # All items are in partitions of the table that are of the entity.
    in_own_partition: bool = False
    # Whether values that are outside of items are read along.
    whole: bool = True
    # All entities that are read.
    schemas: tuple[Schema, ...] = field(init=False)
    # Whether items may have values outside of them that are wanted.
    is_large: bool = field(init=False)
    # Whether items of an older schema version are to be stored in the present one.
    writes_back: bool = field(init=False)
    # Whether something is to be done with items before they are entities.
    is_special: bool = field(init=False)
    # Whether the items of a request are the entities that are read, as they come.
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = (self.schema, *self.others)
        wanted = self.whole and (not self.projected or BLOB_REFERENCES in self.projected)
        self.is_large = wanted and any(schema.large for schema in self.schemas)
        self.writes_back = any(schema.writes_back for schema in self.schemas)
        self.is_special = self.is_large or self.writes_back
        self.is_plain = not (self.is_special or self.partial or self.projected or self.others)


@dataclass(slots=True)
class Plan:
    """A read of items: a request for each partition, and how their items are put in one order."""

    scope: Scope
    bodies: Sequence[dict[str, Any]]
    checks: Sequence[Check] = ()
    # The partitions of the requests, when items are moving from some to others of them (see ``moving``).
    partitions: Sequence[Item] = ()

    @property
    def is_plain(self) -> bool:
        """Whether one request reads it, and the items that are shown of it are those that are read."""
        return self.scope.is_plain and len(self.bodies) == 1 and not (self.checks or self.partitions)

    @property
    def settled_key(self) -> tuple[str, ...]:
        """The attributes of a position that stay when an item moves to another shard."""
        key = self.scope.key
        return tuple(name for name in key if name not in self.partitions[0]) if self.partitions else key

    def accepts(self, item: Item) -> bool:
        return all(check(item) for check in self.checks)
