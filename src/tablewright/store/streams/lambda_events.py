"""A consumer's handler, called by AWS Lambda with a batch of stream records.

Lambda keeps the position in the stream, retries, splits batches and sets records aside, as its event source mapping
says; the response tells it which record failed (``ReportBatchItemFailures``). It may deliver a record more than once,
so each record with effects is marked as seen in the transaction of its effects, and skipped from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablewright.model import ModelError
from tablewright.store.errors import AlreadyExists, Cancelled, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.streams.batch_handler import is_permanent, sequence_of
from tablewright.store.streams.change_records import Record
from tablewright.store.streams.checkpoint import Seen
from tablewright.store.streams.stream_worker import StreamWorker
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.put import Create

# A transaction has 100 actions, and each record takes one for its mark.
_RECORDS_AT_ONCE = 50


def on_lambda(worker: StreamWorker, event: Mapping[str, Any]) -> Flow[dict[str, Any]]:
    """Handle the records of an event in order, up to the first that fails; returns the response for Lambda."""
    records: Sequence[Record] = event["Records"]
    for start in range(0, len(records), _RECORDS_AT_ONCE):
        for part in worker.batches.split(records[start : start + _RECORDS_AT_ONCE]):
            failed = yield from _handle(worker, part)
            if failed is not None:
                return {"batchItemFailures": [{"itemIdentifier": failed}]}
    return {"batchItemFailures": []}


def _handle(worker: StreamWorker, records: Sequence[Record]) -> Flow[str | None]:
    """Handle records; returns the sequence number of the first that failed, after which none was handled."""
    rest = list(records)
    while rest:
        try:
            operations = worker.batches.effects_of(rest)
        except Exception:
            break
        if not operations:
            return None
        marks = [Create(_mark(worker, record)) for record in rest]
        try:
            yield from execute_all(worker.context, [*marks, *operations], worker.batches.pattern)
        except Cancelled as cancelled:
            seen = [isinstance(reason, AlreadyExists) for reason in cancelled.reasons[: len(rest)]]
            if any(seen):
                rest = [record for record, known in zip(rest, seen, strict=True) if not known]
                continue
            if not is_permanent(cancelled):
                raise
            break
        except Exception as error:
            if isinstance(error, StoreError) and not is_permanent(error):
                raise
            break
        return None
    if len(rest) < 2:
        return sequence_of(rest[0]) if rest else None
    middle = len(rest) // 2
    failed = yield from _handle(worker, rest[:middle])
    if failed is None:
        failed = yield from _handle(worker, rest[middle:])
    return failed


def _mark(worker: StreamWorker, record: Record) -> Seen:
    if worker.checkpoints.seen is None:
        raise ModelError(
            f"table {worker.checkpoints.table.name!r} needs a time to live (ttl=...), which deletes the marks of "
            "records that Lambda has delivered"
        )
    return worker.checkpoints.seen(consumer=worker.name, event=record["eventID"])
