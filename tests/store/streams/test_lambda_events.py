"""A consumer as a Lambda function: what is delivered twice counts once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tablewright.model import ModelError, Table
from tablewright.store.errors import Unavailable
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


def test_lambda_gets_the_first_failed_record_and_those_before_it_count(desk: Desk) -> None:
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


@pytest.mark.requirement("SH3")
def test_a_record_that_fails_becomes_a_dead_letter_on_demand_once_and_those_after_it_count(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    tried = []

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if any(change.key["PK"]["S"] == "TICKET#6" for change in changes):
            tried.append(len(changes))
            raise ValueError("not this one")
        count(changes, effects)

    desk.put(*map(str, range(10)))
    event = {"Records": [{**each, "eventSourceARN": "arn:x:table/T/stream/label"} for each in desk.records()]}
    consumer = desk.consumer(choosy, retries=2)
    for _ in range(2):
        # Delivered again, the other records have been counted, and the failing one is set aside already.
        assert consumer.on_lambda(event, dead_letters=True) == {"batchItemFailures": []}
    # Once: an alarm counts these.
    (told,) = [each for each in caplog.records if each.name.startswith("tablewright")]
    assert told.__dict__["dead_letters"] == 1
    assert told.exc_info is not None
    assert told.exc_info[0] is ValueError
    (letter,) = consumer.dead_letters()
    assert told.__dict__["consumer"] == letter.consumer
    assert (letter.sequence, letter.stream) == (event["Records"][6]["dynamodb"]["SequenceNumber"], "label")
    assert letter.error == "ValueError: not this one"
    assert letter.attempts == 3
    assert tried.count(1) >= 3
    assert desk.counters() == {"open": 9}
    desk.consumer(retries=2).replay(letter)
    assert desk.counters() == {"open": 10}


def test_when_something_cannot_be_reached_no_record_is_at_fault_and_lambda_delivers_again(desk: Desk) -> None:
    def unavailable(changes: Sequence[AnyChange], effects: Effects) -> None:
        raise Unavailable("the mail server is down")

    desk.put("1", "2")
    for dead_letters in (False, True):
        with pytest.raises(Unavailable):
            desk.consumer(unavailable).on_lambda({"Records": desk.records()}, dead_letters=dead_letters)
    assert desk.consumer().dead_letters() == []
