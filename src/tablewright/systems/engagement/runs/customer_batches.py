"""Customers of a run in batches: as many as fit into one transaction, and the run's record after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from tablewright.model import FieldChange, attr
from tablewright.store import Cancelled, Operation
from tablewright.systems.engagement.model import MAX_SAMPLES, Checkpoint, FailedCustomer, Run, Sample
from tablewright.systems.engagement.scoring.pipeline import Assessment
from tablewright.systems.engagement.scoring.prospects import Prospect

# Actions of a transaction for candidates, beside the slot and the record.
_ACTIONS = 98
# Candidates of a transaction, which has at most 4 MB: each may have a tenth of a MB with its whole context.
_CUSTOMERS = 40
_MAX_REASON_LENGTH = 200
_MAX_ERROR_KINDS = 50
_MAX_SAMPLE_ID_LENGTH = 200
_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Planned:
    """A customer who was assessed, with the writes for that."""

    assessment: Assessment
    operations: list[Operation]
    is_rejected: bool = False

    @property
    def is_failed(self) -> bool:
        return self.assessment.error is not None


def contested(cancelled: Cancelled, batch: Sequence[Planned]) -> int:
    """The number of customers in a batch before the first whose candidate others have changed."""
    reasons = iter(cancelled.reasons[2:])
    for before, each in enumerate(batch):
        if any(reason is not None for reason in islice(reasons, len(each.operations))):
            return before
    return 0


def distinct(chunk: Sequence[Prospect]) -> list[Prospect]:
    """Each customer and subject once; the first of duplicates is used."""
    found: dict[tuple[str, str, str], Prospect] = {}
    for each in chunk:
        found.setdefault((each.customer_id, each.subject.type, each.subject.id), each)
    return list(found.values())


def batches_of(planned: Sequence[Planned]) -> Iterator[list[Planned]]:
    """Batches of as many customers as fit into a transaction."""
    batch: list[Planned] = []
    actions = customers = 0
    for each in planned:
        if actions + len(each.operations) > _ACTIONS or customers == _CUSTOMERS:
            yield batch
            batch, actions, customers = [], 0, 0
        batch.append(each)
        actions += len(each.operations)
        customers += bool(each.operations) and not each.is_failed
    if batch:
        yield batch


def reason_of(assessment: Assessment) -> str:
    return (assessment.error or "")[:_MAX_REASON_LENGTH]


def record_behind(run: Run, connector: int, batch: Sequence[Planned], now: datetime) -> list[FieldChange]:
    """The changes of the record of a run after a batch."""
    customer, type_, id_ = batch[-1].assessment.prospect.place
    checkpoint = Checkpoint(connector=connector, customer_id=customer, subject_type=type_, subject_id=id_)
    return [attr(Run.checkpoint).set(checkpoint), *_counted(run, batch, len(batch), (), now)]


def record_after_retry(
    run: Run, batch: Sequence[Planned], former: Sequence[FailedCustomer], now: datetime
) -> list[FieldChange]:
    """The same after failed customers were retried; those who are not in the batch no longer exist."""
    return _counted(run, batch, len(batch) - len(former), former, now)


def _counted(
    run: Run, batch: Sequence[Planned], read: int, former: Sequence[FailedCustomer], now: datetime
) -> list[FieldChange]:
    assessed = [each.assessment for each in batch]
    failed = [each for each in assessed if each.error is not None]
    rejected = sum(each.is_rejected for each in batch)
    before = run.counts
    counts = before.model_copy(
        update={
            "read": before.read + read,
            "candidates": before.candidates + len(batch) - len(failed) - rejected,
            "rejected": before.rejected + rejected,
            "failed": before.failed + len(failed) - len(former),
            "cached": before.cached + sum(each.cached for each in assessed),
            "scored": before.scored + sum(each.scored for each in assessed),
        }
    )
    errors = Counter(run.errors)
    for each in former:
        errors[each.reason if each.reason in errors else _OTHERS] -= 1
    for assessment in failed:
        reason = reason_of(assessment)
        errors[reason if reason in errors or len(errors) < _MAX_ERROR_KINDS - 1 else _OTHERS] += 1
    tried = {each.customer_id[:_MAX_SAMPLE_ID_LENGTH] for each in former}
    samples = [each for each in run.samples if each.customer_id not in tried]
    samples += [
        Sample(customer_id=each.prospect.customer_id[:_MAX_SAMPLE_ID_LENGTH], reason=reason_of(each))
        for each in failed[:MAX_SAMPLES]
    ]
    return [
        attr(Run.counts).set(counts),
        attr(Run.errors).set(dict(+errors)),
        attr(Run.samples).set(samples[:MAX_SAMPLES]),
        attr(Run.total).set(run.total),
        attr(Run.waiting_for).set(None),
        attr(Run.updated).set(now),
    ]
