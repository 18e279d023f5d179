"""The bounds of a field hold for what a consumer adds to it, and so does its type."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

import pytest
from pydantic import Field

from tablewright.model import Entity, Get, Keys, ModelError, Table, attr
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.effects import Effects
from tests.store.streams.counted_tickets import Desk, Tally, metrics


class Seat(Entity, table=metrics):
    room: str
    taken: int = Field(default=0, ge=0, le=2)
    weight: Decimal | None = Field(default=None, lt=Decimal("0.5"))
    note: str = ""
    names: set[str] = Field(default_factory=set)

    keys = Keys(PK="SEAT#{room}", SK="SEAT")

    @Get()
    def of_room(self, room: str) -> None: ...


def take(changes: Sequence[AnyChange], effects: Effects) -> None:
    for _ in changes:
        effects.add(Seat.of_room(room="a"), attr(Seat.taken).add(1))


def seat(desk: Desk) -> Seat | None:
    return desk.store.get(Seat.of_room(room="a"), consistent=True)


def test_what_would_break_a_bound_is_put_aside_and_the_rest_counts(desk: Desk) -> None:
    desk.put("1", "2", "3")
    consumer = desk.consumer(take, retries=0)
    assert consumer.run_once().dead_letters == 1
    found = seat(desk)
    assert found is not None
    assert found.taken == 2
    (letter,) = consumer.dead_letters()
    assert "Seat room a: taken would be 3, and must be at most 2" in letter.error


def test_a_bound_holds_for_an_item_that_is_not_there_yet(desk: Desk) -> None:
    def give_back(changes: Sequence[AnyChange], effects: Effects) -> None:
        effects.add(Seat.of_room(room="a"), attr(Seat.taken).add(-1))

    desk.put("1")
    consumer = desk.consumer(give_back, retries=0)
    assert consumer.run_once().dead_letters == 1
    (letter,) = consumer.dead_letters()
    assert "taken would be -1, and must be at least 0" in letter.error
    assert seat(desk) is None


def test_the_sum_of_a_batch_is_what_counts(desk: Desk) -> None:
    def come_and_go(changes: Sequence[AnyChange], effects: Effects) -> None:
        for amount in (2, 2, -3):
            effects.add(Seat.of_room(room="a"), attr(Seat.taken).add(amount), attr(Seat.weight).add(Decimal("0.1")))

    desk.put("1")
    assert desk.consumer(come_and_go, retries=0).run_once().dead_letters == 0
    found = seat(desk)
    assert found is not None
    assert (found.taken, found.weight) == (1, Decimal("0.3"))


def test_an_amount_that_does_not_suit_the_field_is_refused_at_once() -> None:
    effects, lookup = Effects(), Seat.of_room(room="a")
    with pytest.raises(ModelError, match=r"taken: 0\.5 cannot be added to an integer"):
        effects.add(lookup, attr(Seat.taken).add(0.5))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="note: a number can be added only to a number"):
        effects.add(lookup, attr(Seat.note).add(1))  # type: ignore[misc]
    with pytest.raises(ModelError, match="names: only numbers are summed"):
        effects.add(lookup, attr(Seat.names).add({"x"}))


def test_what_has_expired_is_not_added_to_but_made_anew(desk: Desk) -> None:
    day = date(2026, 1, 1)

    def tally(changes: Sequence[AnyChange], effects: Effects) -> None:
        effects.add(Tally.of_day(day=day), attr(Tally.tickets).add(len(changes)))

    desk.put("1", "2")
    desk.consumer(tally).run_once()
    desk.clock.now += timedelta(days=31).total_seconds()
    assert desk.store.get(Tally.of_day(day=day)) is None
    desk.put("3")
    assert desk.consumer(tally).run_once().dead_letters == 0
    found = desk.store.get(Tally.of_day(day=day))
    assert found is not None
    assert (found.tickets, found.version) == (1, 1)


def test_what_is_of_another_entity_is_not_added_to(desk: Desk) -> None:
    class Label(Entity, table=Table("Metrics", "PK", "SK", type_attribute="kind", ttl="ttl")):
        room: str
        text: str = ""

        keys = Keys(PK="SEAT#{room}", SK="SEAT")

    desk.store.create(Label(room="a"))
    desk.put("1")
    consumer = desk.consumer(take, retries=0)
    assert consumer.run_once().dead_letters == 1
    assert "Seat room a already exists" in consumer.dead_letters()[0].error
