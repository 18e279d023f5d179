"""What a consumer is made of beside its store: the handler, the settings, and the result of a pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypedDict

from tablewright.store.streams.change_records import AnyChange, ChangeFilter
from tablewright.store.streams.effects import Effects

# Adds to the effects what follows from the changes. It raises ``Unavailable`` to be called again later, when something
# that it needs cannot be reached; any other error means that it cannot handle the changes.
Handler = Callable[[Sequence[AnyChange], Effects], None]

# Seconds between two passes of ``run``. After a pass that found records, the next begins sooner, but not at once: it
# would find little, and commit for each little.
IDLE_PAUSE: Final = 0.2
BUSY_PAUSE: Final = 0.1


class ConsumerSettings(TypedDict, total=False):
    """The settings of a consumer."""

    # Records in a batch, and how long a smaller one waits for more (in ``run`` only).
    batch_size: int
    window: timedelta
    # The most changes that one call of the handler is given; a batch with more is split before. None: no limit.
    max_changes: int | None
    # Whether a batch that fails is split in halves, to find the record that fails.
    bisect: bool
    # How often a failing record is retried before it becomes a dead letter.
    retries: int
    # How long a shard stays with a consumer that does not renew its lease.
    lease: timedelta
    # Whether the handler is also given changes of items that belong to no entity, as ``RawChange``.
    include_raw: bool
    # Which changes the handler is given, decided by the stored items; the others are skipped without being decoded.
    change_filter: ChangeFilter | None


@dataclass(slots=True)
class PassResult:
    """What one pass over the shards of a stream did."""

    records: int = 0
    batches: int = 0
    dead_letters: int = 0
    # Shards that another consumer of the same name has the lease of.
    busy: int = 0
