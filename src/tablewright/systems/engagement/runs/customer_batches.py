"""Customers of a run in batches: as many as one transaction takes, and the run's record after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from tablewright.store import Cancelled, Operation
from tablewright.systems.engagement.model import MAX_SAMPLES, Checkpoint, Counts, Run, Sample
from tablewright.systems.engagement.scoring.pipeline import Assessment
from tablewright.systems.engagement.scoring.prospects import Prospect

# Actions of a transaction that are left for candidates, beside the slot and the record.
_ACTIONS = 98
# Candidates of a transaction, which has 4 MB at most: each may have a tenth of one with its whole context.
_CUSTOMERS = 40
_MAX_REASON_LENGTH = 200
_MAX_ERROR_KINDS = 50


@dataclass(frozen=True, slots=True)
class Planned:
    """A customer who was assessed, and what is to be written about that."""

    assessment: Assessment
    operations: list[Operation]
    is_rejected: bool = False


def contested(cancelled: Cancelled, batch: Sequence[Planned]) -> int:
    """How many of a batch come before the first whose candidate others have changed."""
    reasons = iter(cancelled.reasons[2:])
    for before, each in enumerate(batch):
        if any(reason is not None for reason in islice(reasons, len(each.operations))):
            return before
    return 0


def distinct(chunk: Sequence[Prospect]) -> list[Prospect]:
    """Each customer and subject once; the first of several counts."""
    found: dict[tuple[str, str, str], Prospect] = {}
    for each in chunk:
        found.setdefault((each.customer_id, each.subject.type, each.subject.id), each)
    return list(found.values())


def batches_of(planned: Sequence[Planned]) -> Iterator[list[Planned]]:
    """As many customers as a transaction takes, one after the other."""
    batch: list[Planned] = []
    actions = customers = 0
    for each in planned:
        if actions + len(each.operations) > _ACTIONS or customers == _CUSTOMERS:
            yield batch
            batch, actions, customers = [], 0, 0
        batch.append(each)
        actions += len(each.operations)
        customers += bool(each.operations)
    if batch:
        yield batch


def record_behind(run: Run, connector: int, batch: Sequence[Planned], now: datetime) -> dict[str, Any]:
    """The record of a run behind a batch."""
    assessed = [each.assessment for each in batch]
    failed = [each for each in assessed if each.error is not None]
    rejected = sum(each.is_rejected for each in batch)
    before = run.counts
    counts = Counts(
        read=before.read + len(batch),
        candidates=before.candidates + len(batch) - len(failed) - rejected,
        rejected=before.rejected + rejected,
        failed=before.failed + len(failed),
        cached=before.cached + sum(each.cached for each in assessed),
        scored=before.scored + sum(each.scored for each in assessed),
    )
    errors = Counter(run.errors)
    for each in failed:
        reason = (each.error or "")[:_MAX_REASON_LENGTH]
        errors[reason if reason in errors or len(errors) < _MAX_ERROR_KINDS - 1 else "others"] += 1
    samples = [
        Sample(customer_id=each.prospect.customer_id[:200], reason=(each.error or "")[:_MAX_REASON_LENGTH])
        for each in failed[:MAX_SAMPLES]
    ]
    customer, type_, id_ = assessed[-1].prospect.place
    return {
        "checkpoint": Checkpoint(connector=connector, customer_id=customer, subject_type=type_, subject_id=id_),
        "counts": counts,
        "errors": dict(errors),
        "samples": [*run.samples, *samples][:MAX_SAMPLES],
        "total": run.total,
        "updated": now,
    }
