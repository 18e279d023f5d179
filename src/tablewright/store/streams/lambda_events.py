"""A consumer's handler, called by AWS Lambda with a batch of stream records.

Lambda keeps the position in the stream, retries, splits batches and sets records aside, as its event source mapping
says; the response tells it which record failed (``ReportBatchItemFailures``). It may deliver a record more than once,
so each record with effects is marked as seen in the transaction of its effects, and skipped from then on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tablewright.model import ModelError
from tablewright.store.errors import AlreadyExists, Cancelled, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import backoff
from tablewright.store.streams.batch_handler import is_permanent, is_temporary, sequence_of
from tablewright.store.streams.change_records import Record
from tablewright.store.streams.checkpoint import Seen
from tablewright.store.streams.stream_worker import StreamWorker
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.put import Create

# A transaction has 100 actions, and each record takes one for its mark.
_RECORDS_AT_ONCE = 50
# Lambda does not say which shard a record is from.
_SHARD = "lambda"

_log = logging.getLogger(__name__)


def on_lambda(worker: StreamWorker, event: Mapping[str, Any], *, dead_letters: bool = False) -> Flow[dict[str, Any]]:
    """Handle the records of an event in order, up to the first that fails; returns the response for Lambda.

    With ``dead_letters``, one that fails is tried again as often as the consumer says, and becomes a dead letter.
    """
    records: Sequence[Record] = event["Records"]
    for start in range(0, len(records), _RECORDS_AT_ONCE):
        for part in worker.batches.split(records[start : start + _RECORDS_AT_ONCE]):
            failed = yield from _handle(worker, part, dead_letters)
            if failed is not None:
                return {"batchItemFailures": [{"itemIdentifier": failed}]}
    return {"batchItemFailures": []}


def _handle(worker: StreamWorker, records: Sequence[Record], dead_letters: bool) -> Flow[str | None]:
    """Handle records; returns the sequence number of the first that failed, after which none was handled."""
    attempt = 0
    while True:
        error, rest = yield from _attempt(worker, records)
        if error is None:
            return None
        if len(rest) > 1:
            middle = len(rest) // 2
            failed = yield from _handle(worker, rest[:middle], dead_letters)
            return failed or (yield from _handle(worker, rest[middle:], dead_letters))
        if not dead_letters:
            return sequence_of(rest[0])
        attempt += 1
        if attempt > worker.batches.retries:
            yield from _give_up(worker, rest[0], error, attempt)
            return None
        yield backoff(worker.context, attempt)


def _attempt(worker: StreamWorker, records: Sequence[Record]) -> Flow[tuple[Exception | None, Sequence[Record]]]:
    """Handle records and commit their effects; the error, if it is due to them, and those that are not handled."""
    rest = list(records)
    while rest:
        try:
            operations = worker.batches.effects_of(rest)
        except Exception as error:
            if isinstance(error, StoreError) and is_temporary(error):
                # No record is at fault: Lambda delivers all of them again.
                raise
            return error, rest
        if not operations:
            break
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
            return cancelled, rest
        except Exception as error:
            if isinstance(error, StoreError) and not is_permanent(error):
                raise
            return error, rest
        break
    return None, []


def _give_up(worker: StreamWorker, record: Record, error: Exception, attempts: int) -> Flow[None]:
    """Store a record as a dead letter, and as seen."""
    # .../table/Orders/stream/2026-01-15T09:30:00.000
    stream = str(record.get("eventSourceARN", "")).rpartition("/")[2] or "stream"
    place = worker.checkpoints.checkpoint(consumer=worker.name, stream=stream, shard=_SHARD)
    letter = worker.batches.dead_letter(place, record, error, attempts)
    try:
        yield from execute_all(worker.context, [Create(_mark(worker, record)), Create(letter)], worker.batches.pattern)
    except Cancelled as cancelled:
        if not any(isinstance(reason, AlreadyExists) for reason in cancelled.reasons):
            raise
        return
    # Lambda is not told of it, so this is what an alarm counts.
    extra = {"consumer": worker.name, "dead_letters": 1}
    _log.error("a record became a dead letter", exc_info=error, extra=extra)


def _mark(worker: StreamWorker, record: Record) -> Seen:
    if worker.checkpoints.seen is None:
        raise ModelError(
            f"table {worker.checkpoints.table.name!r} needs a time to live (ttl=...), which deletes the marks of "
            "records that Lambda has delivered"
        )
    return worker.checkpoints.seen(consumer=worker.name, event=record["eventID"])
