"""A consumer's handler, called by Lambda with a batch of stream records.

Lambda keeps the place in the stream, tries again, halves batches and puts records aside, as its event source mapping
says; it needs to be told which record failed (``ReportBatchItemFailures``). It may deliver a record more than once, so
each one that had effects is marked as seen in the transaction of its effects, and passed over from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablewright.model import ModelError
from tablewright.store.errors import AlreadyExists, Cancelled, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.streams.change_records import Record
from tablewright.store.streams.stream_worker import Worker, is_to_blame, sequence_of
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.put import Create

# A transaction has 100 actions, and each record takes one for its mark.
_RECORDS_AT_ONCE = 50


def on_lambda(worker: Worker, event: Mapping[str, Any]) -> Flow[dict[str, Any]]:
    """Handle the records of an event in order, up to the first that fails; Lambda's answer."""
    records: Sequence[Record] = event["Records"]
    for start in range(0, len(records), _RECORDS_AT_ONCE):
        failed = yield from _handled(worker, records[start : start + _RECORDS_AT_ONCE])
        if failed is not None:
            return {"batchItemFailures": [{"itemIdentifier": failed}]}
    return {"batchItemFailures": []}


def _handled(worker: Worker, records: Sequence[Record]) -> Flow[str | None]:
    """Handle records; the sequence number of the first that failed, behind which nothing was done."""
    rest = list(records)
    while rest:
        try:
            operations = worker.effects_of(rest)
        except Exception:
            break
        if not operations:
            return None
        marks = [Create(_mark(worker, record)) for record in rest]
        try:
            yield from execute_all(worker.context, [*marks, *operations], worker.pattern)
        except Cancelled as cancelled:
            seen = [isinstance(reason, AlreadyExists) for reason in cancelled.reasons[: len(rest)]]
            if any(seen):
                rest = [record for record, known in zip(rest, seen, strict=True) if not known]
                continue
            if not is_to_blame(cancelled):
                raise
            break
        except Exception as error:
            if isinstance(error, StoreError) and not is_to_blame(error):
                raise
            break
        return None
    if len(rest) < 2:
        return sequence_of(rest[0]) if rest else None
    middle = len(rest) // 2
    failed = yield from _handled(worker, rest[:middle])
    if failed is None:
        failed = yield from _handled(worker, rest[middle:])
    return failed


def _mark(worker: Worker, record: Record) -> Any:
    if worker.notes.seen is None:
        raise ModelError(
            f"table {worker.notes.table.name!r} has no time to live, by which the marks of records that Lambda has "
            "delivered would go: declare one"
        )
    return worker.notes.seen(consumer=worker.name, event=record["eventID"])
