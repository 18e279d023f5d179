"""A consumer as a Lambda function: what is delivered twice counts once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tablewright.model import ModelError, Table
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.consumer import Consumer
from tablewright.store.streams.effects import Effects
from tests.store.streams.counted_tickets import Desk, count, tickets


def test_lambda_delivers_a_record_twice_and_it_counts_once(desk: Desk) -> None:
    desk.put(*map(str, range(60)))
    records = desk.records()
    handler = desk.consumer().on_lambda
    assert handler({"Records": records[:20]}) == {"batchItemFailures": []}
    assert handler({"Records": records[10:]}, object()) == {"batchItemFailures": []}
    assert handler({"Records": records}) == {"batchItemFailures": []}
    assert desk.counters() == {"open": 60}


def test_lambda_is_told_the_first_record_that_failed_and_those_before_it_count(desk: Desk) -> None:
    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if any(change.key["PK"]["S"] == "TICKET#6" for change in changes):
            raise ValueError("not this one")
        count(changes, effects)

    desk.put(*map(str, range(10)))
    records = desk.records()
    answer = desk.consumer(choosy).on_lambda({"Records": records})
    assert answer == {"batchItemFailures": [{"itemIdentifier": records[6]["dynamodb"]["SequenceNumber"]}]}
    assert desk.counters() == {"open": 6}
    desk.consumer().on_lambda({"Records": records})
    assert desk.counters() == {"open": 10}


def test_lambda_needs_a_time_to_live_for_its_marks(desk: Desk) -> None:
    notes = Table("Notes", "PK", "SK")
    desk.store.ensure_tables(notes)
    desk.put("1")
    consumer = Consumer(desk.store, tickets, count, name="metrics", checkpoints=notes)
    with pytest.raises(ModelError, match="'Notes' needs a time to live"):
        consumer.on_lambda({"Records": desk.records()})
