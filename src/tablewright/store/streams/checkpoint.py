"""What consumers store in a table: how far they have read, who is working on a shard, and what they failed on.

CONSUMER#metrics   SHARD#<stream>#<shard>     Checkpoint: the last record processed, and a lease on the shard
CONSUMER#metrics   DEAD#<stream>#<sequence>   DeadLetter: a record that the handler failed on
SEEN#metrics#<id>  SEEN                       Seen: a record that Lambda has delivered (deleted by time to live)
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, TypeVar

from tablewright.model import AttributeName, Entity, EpochMillis, ExpiresAt, Expiry, Get, Keys, ModelError, Query, Table

E = TypeVar("E", bound=Entity)

# Two threads may make the checkpoint table of one table at the same time, and its entities are declared once.
_declaring = threading.Lock()
# The shard of the checkpoint that says that a rebuild is running.
REBUILD = "rebuild"
# Lambda retries a record for a day at most, as long as the stream has it.
_SEEN_FOR = timedelta(days=2)


class Checkpoint(Entity):
    """How far a consumer has read a shard, and who has the lease of the shard until when."""

    consumer: str
    stream: str
    shard: str
    # The sequence number of the last record that was processed; None: none yet.
    sequence: str | None = None
    finished: bool = False
    owner: str | None = None
    leased_until: EpochMillis | None = None
    # The consumer that asks for the lease, to have its share of the shards.
    wanted_by: str | None = None

    @Query()
    def of_consumer(self, consumer: str) -> None:
        """All of a consumer."""

    @property
    def is_rebuild_marker(self) -> bool:
        """Whether it belongs to no shard, and says that a rebuild is running."""
        return self.shard == REBUILD


class DeadLetter(Entity):
    """A record that a consumer's handler failed on, with the error, so that it can be inspected and replayed."""

    consumer: str
    stream: str
    shard: str
    sequence: str
    # The stream's record as JSON; without its images if it would be too large to store (``complete`` is False then).
    record: str
    complete: bool = True
    error: str
    attempts: int
    failed_at: datetime

    @Query()
    def of_consumer(self, consumer: str) -> None:
        """All of a consumer."""


class Seen(Entity):
    """A record that Lambda has delivered and whose effects have been committed."""

    consumer: str
    event: str

    @Get()
    def by_event(self, consumer: str, event: str) -> None:
        """A record by its event id."""


@dataclass(frozen=True, slots=True)
class CheckpointTable:
    """A table that consumers store checkpoints and dead letters in, and the entities for them.

    The table has a text partition key and a text sort key, and may have other entities too. A consumer makes this from
    the table that it is given; make it with ``CheckpointTable.of(table)`` to read the entities.
    """

    table: Table
    checkpoint: type[Checkpoint]
    dead_letter: type[DeadLetter]
    # None if the table has no time to live, which deletes them.
    seen: type[Seen] | None

    @classmethod
    def of(cls, table: Table | CheckpointTable) -> CheckpointTable:
        """The checkpoint table in a table; its entities are declared on first use."""
        if isinstance(table, CheckpointTable):
            return table
        sort = table.sort
        if sort is None or any(table.types.get(name, "S") != "S" for name in table.key):
            raise ModelError(
                f"table {table.name!r} cannot store checkpoints: they need a text partition key and a text sort key"
            )
        with _declaring:
            return cls(
                table,
                _declared(Checkpoint, table) or _checkpoint(table, sort),
                _declared(DeadLetter, table) or _dead_letter(table, sort),
                _declared(Seen, table) or (None if table.ttl is None else _seen(table, sort, table.ttl)),
            )


def _declared(base: type[E], table: Table) -> type[E] | None:
    for entity in table.entities:
        if issubclass(entity, base):
            return entity
    return None


def _checkpoint(table: Table, sort: str) -> type[Checkpoint]:
    class TableCheckpoint(Checkpoint, table=table, type_name="ConsumerCheckpoint"):
        keys = Keys({table.partition: "CONSUMER#{consumer}", sort: "SHARD#{stream}#{shard}"})

    return TableCheckpoint


def _dead_letter(table: Table, sort: str) -> type[DeadLetter]:
    class TableDeadLetter(DeadLetter, table=table, type_name="ConsumerDeadLetter"):
        keys = Keys({table.partition: "CONSUMER#{consumer}", sort: "DEAD#{stream}#{sequence}"})

    return TableDeadLetter


def _seen(table: Table, sort: str, ttl: str) -> type[Seen]:
    class TableSeen(Seen, table=table, type_name="ConsumerSeen"):
        forgotten_at: Annotated[ExpiresAt, Expiry(_SEEN_FOR), AttributeName(ttl)] = None

        keys = Keys({table.partition: "SEEN#{consumer}#{event}", sort: "SEEN"})

    return TableSeen
