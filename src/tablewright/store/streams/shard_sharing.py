"""How consumers of one name share shards: each as many as the others. Pure.

    one with too few  ──▶ asks for a shard of the one with the most       ``wanted_by`` of its checkpoint
    its owner         ──▶ hands it over between two batches, or declines

So nothing is taken from a consumer that is at work, and no batch is begun twice. Consumers know of each other by the
leases that they have and by what they ask for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tablewright.store.streams.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class Sharing:
    """What a consumer does to have its share, and no more."""

    hand_over: list[Checkpoint]
    decline: list[Checkpoint]
    ask: Checkpoint | None


def sharing(checkpoints: Iterable[Checkpoint], me: str, now: datetime) -> Sharing:
    """What to hand over, to decline and to ask for, given all checkpoints of the consumers of a name."""
    leased = [
        each
        for each in checkpoints
        if each.owner is not None
        and each.leased_until is not None
        and each.leased_until > now
        and not each.finished
        and not each.is_rebuild_marker
    ]
    held = Counter(each.owner for each in leased)
    workers = {me, *held, *(each.wanted_by for each in leased if each.wanted_by is not None)}
    share = len(leased) // len(workers)
    wanted = [each for each in leased if each.owner == me and each.wanted_by not in (None, me)]
    # Who has one alone keeps it.
    spare = max(0, held[me] - max(1, share))
    busiest = max(held, key=lambda owner: held[owner], default=me)
    ask = None
    if held[me] < share < held[busiest]:
        ask = next((each for each in leased if each.owner == busiest and each.wanted_by is None), None)
    return Sharing(wanted[:spare], wanted[spare:], ask)
