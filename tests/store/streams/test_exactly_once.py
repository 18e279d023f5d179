"""Every change has its effects once, whatever crashes or is repeated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tablewright.engine import Engine
from tablewright.model import ModelError, attr
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.streams.change_filters import typed_changes
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.effects import Effects
from tablewright.store.write.put import Create
from tests.clocks import Clock
from tests.store.streams.counted_tickets import Counter, Crash, Desk, Event, Failing, Reading, Tally, Ticket


def test_inserts_changes_and_removals_are_counted_once(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1", "2", "3")
    desk.put("2", status="closed")
    desk.remove("3")
    consumer = desk.consumer()
    assert consumer.run_once().records == 5
    assert desk.counters() == {"open": 1, "closed": 1}
    assert consumer.run_once().records == 0
    desk.put("4")
    consumer.run_once()
    assert desk.counters() == desk.truth() == {"open": 2, "closed": 1}


def test_another_consumer_of_the_name_goes_on_where_the_first_stopped(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1")
    first = desk.consumer()
    first.run_once()
    first.release()
    desk.put("2")
    assert desk.consumer().run_once().records == 1
    assert desk.counters() == {"open": 2}


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_moment_neither_loses_nor_repeats_an_effect(after: bool, clock: Clock) -> None:
    at = 0
    while True:
        at += 1
        with Engine.open(clock=clock) as engine:
            desk = Desk(EmbeddedBackend(engine, owned=False), engine, clock)
            desk.put("1", "2", "3", "4", "5")
            desk.put("2", status="closed")
            dying = Failing(desk.backend, at, after=after)
            try:
                desk.consumer(store=desk.another_store(dying), batch_size=2).run_once()
            except Crash:
                clock.now += 61
            desk.consumer(batch_size=3, lease=timedelta(seconds=60)).run_once()
            if dying.left > 0:
                break
            assert desk.counters() == desk.truth(), f"crash at call {at}"
    assert at > 8


def test_an_effect_can_be_any_write_of_a_transaction(desk: Desk) -> None:
    def publish(changes: Sequence[AnyChange], effects: Effects) -> None:
        effects.do(*(Create(Event(event_id=change.sequence)) for change in changes))

    desk.put("1", "2")
    consumer = desk.consumer(publish)
    consumer.run_once()
    sequences = [record["dynamodb"]["SequenceNumber"] for record in desk.records()]
    assert all(desk.store.get(Event.by_id(event_id=sequence)) is not None for sequence in sequences)


def test_a_batch_with_more_effects_than_a_transaction_takes_is_cut(desk: Desk) -> None:
    def per_ticket(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            for part in range(3):
                effects.add(Counter.named(name=f"{change.sequence}-{part}"), attr(Counter.count).add(1))

    desk.put(*map(str, range(100)))
    done = desk.consumer(per_ticket, bisect=False).run_once()
    assert (done.batches, done.dead_letters) == (4, 0)
    assert len(desk.counters()) == 300


def test_additions_that_the_model_forbids_are_named() -> None:
    effects = Effects()
    with pytest.raises(ModelError, match=r"Counter\.name is part of a key"):
        effects.add(Counter.named(name="x"), attr(Counter.name).add(1))  # type: ignore[misc]
    with pytest.raises(ModelError, match=r"add takes additions to fields, such as attr\(Counter.x\).add\(1\)"):
        effects.add(Counter.named(name="x"), attr(Counter.count).set(1))
    with pytest.raises(ModelError, match=r"Reading\.unit is required, so add\(\) cannot create a Reading"):
        effects.add(Reading.of_meter(meter="m"), attr(Reading.total).add(1))
    assert effects.operations() == []


def test_an_addition_makes_an_item_with_everything_that_follows_from_the_model(desk: Desk) -> None:
    def tally(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in typed_changes(Ticket, changes):
            assert change.after is not None
            effects.add(
                Tally.of_day(day=change.at.date()), attr(Tally.total).add(Decimal("0.1")), attr(Tally.tickets).add(1)
            )

    desk.put("1", "2", "3")
    desk.consumer(tally).run_once()
    day = datetime.fromtimestamp(desk.clock.now, UTC).date()
    tally_of_day = desk.store.get(Tally.of_day(day=day))
    assert tally_of_day is not None
    assert (tally_of_day.total, tally_of_day.tickets, tally_of_day.version) == (Decimal("0.3"), 3, 1)
    assert tally_of_day.ttl == desk.store.context.now() + timedelta(days=30)
    assert desk.store.verify(Tally).is_clean


def test_items_of_other_writers_are_passed_by(desk: Desk) -> None:
    seen: list[AnyChange] = []
    desk.engine.call("PutItem", {"TableName": "Tickets", "Item": {"PK": {"S": "x"}, "SK": {"S": "y"}}})
    desk.put("1")
    assert desk.consumer(lambda changes, _: seen.extend(changes)).run_once().records == 2
    assert [change.key["PK"]["S"] for change in seen] == ["TICKET#1"]
