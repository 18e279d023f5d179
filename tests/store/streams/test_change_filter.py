"""A consumer can say which changes it wants: the others are passed over, and nobody reads them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta

import pytest

from tablewright.model import Entity, Keys, Table
from tablewright.store import Unreadable, changes_in, entity_filter, readable_filter
from tablewright.store.streams.change_records import AnyChange, Change, RawChange, Record
from tablewright.store.streams.effects import Effects
from tests.store.streams.counted_tickets import Desk, Ticket, count

BROKEN = {"PK": {"S": "TICKET#9"}, "SK": {"S": "TICKET"}, "kind": {"S": "Ticket"}, "status": {"N": "9"}}


def is_closed(change: RawChange) -> bool:
    return change.after is not None and change.after["status"] == {"S": "closed"}


def test_the_handler_is_given_what_is_wanted_and_the_place_moves_on_past_the_rest(desk: Desk) -> None:
    desk.put("1", "2")
    desk.put("3", status="closed")
    desk.put("4")
    given: list[AnyChange] = []

    def handler(changes: Sequence[AnyChange], effects: Effects) -> None:
        given.extend(changes)
        count(changes, effects)

    assert desk.consumer(handler, change_filter=is_closed, batch_size=2).run_once().records == 4
    (change,) = given
    assert isinstance(change, Change)
    assert change.after == Ticket(ticket_id="3", status="closed")
    assert desk.counters() == {"closed": 1}
    # Whoever wants everything from now on gets what comes.
    assert desk.consumer().run_once().records == 0


def test_an_item_that_cannot_be_read_is_a_dead_letter_where_it_is_wanted_and_nothing_where_it_is_not(
    desk: Desk,
) -> None:
    desk.put("1", status="closed")
    desk.call("PutItem", {"TableName": "Tickets", "Item": BROKEN})
    desk.put("2", status="closed")
    choosy = desk.consumer(change_filter=is_closed)
    assert (choosy.run_once().dead_letters, choosy.dead_letters()) == (0, [])
    assert desk.counters() == {"closed": 2}

    desk.call("PutItem", {"TableName": "Tickets", "Item": {**BROKEN, "PK": {"S": "TICKET#8"}}})
    curious = desk.consumer(change_filter=entity_filter(Ticket))
    choosy.release()
    assert curious.run_once().dead_letters == 1
    (letter,) = curious.dead_letters()
    assert letter.error.startswith("Unreadable: Ticket ticket_id 8 cannot be read")


def test_unreadable_changes_can_be_skipped_and_reported(desk: Desk) -> None:
    foreign = {"PK": {"S": "NOTE#1"}, "SK": {"S": "NOTE"}}
    desk.put("1")
    mended = [Ticket(ticket_id="9", status=status).item() for status in ("open", "closed")]
    for item in (BROKEN, *mended, foreign):
        desk.call("PutItem", {"TableName": "Tickets", "Item": item})
    errors: list[Unreadable] = []
    given: list[AnyChange] = []
    consumer = desk.consumer(
        lambda changes, effects: given.extend(changes),
        change_filter=readable_filter(Ticket, on_unreadable=errors.append),
        include_raw=True,
    )
    assert consumer.run_once().dead_letters == 0
    # The second change of it cannot be read either, because of what was there before.
    assert [(error.entity, error.key) for error in errors] == [("Ticket", "ticket_id 9")] * 2
    assert [type(change) for change in given] == [Change, Change, RawChange]
    assert given[1].after == Ticket(ticket_id="9", status="closed")


def test_changes_of_some_entities_are_wanted_by_their_items() -> None:
    shop = Table("Shop", "PK", "SK", type_attribute="kind", stream="NEW_AND_OLD_IMAGES")

    class Order(Entity, table=shop):
        order_id: str
        keys = Keys(PK="ORDER#{order_id}", SK="ORDER")

    class Parcel(Entity, table=shop):
        order_id: str
        grams: int
        keys = Keys(PK="ORDER#{order_id}", SK="PARCEL")

    class Bill(Entity, table=shop):
        order_id: str
        keys = Keys(PK="ORDER#{order_id}", SK="BILL")

    def told(before: Entity | None, after: Entity | None) -> Record:
        entities = {"OldImage": before, "NewImage": after}
        images = {name: entity.item() for name, entity in entities.items() if entity is not None}
        (item,) = images.values()
        body = {"Keys": {name: item[name] for name in shop.key}, "SequenceNumber": "1", **images}
        return {"eventName": "INSERT" if before is None else "REMOVE", "dynamodb": body}

    order, parcel, bill = Order(order_id="1"), Parcel(order_id="1", grams=5), Bill(order_id="1")
    records = [told(None, order), told(None, parcel), told(bill, None), told(None, bill)]
    found = changes_in(shop, records, change_filter=entity_filter(Order, Bill))
    assert [change.after or change.before for change in found] == [order, bill, bill]

    del records[1]["dynamodb"]["NewImage"]["grams"]
    assert changes_in(shop, records, change_filter=entity_filter(Order, Bill)) == found
    with pytest.raises(Unreadable, match="Parcel order_id 1 cannot be read"):
        changes_in(shop, records, change_filter=entity_filter(Parcel))


def test_however_much_is_not_wanted_no_batch_is_begun_after_the_stop(desk: Desk) -> None:
    desk.put(*map(str, range(10)))
    stop = threading.Event()

    def wanted(change: RawChange) -> bool:
        stop.set()
        return False

    desk.consumer(change_filter=wanted, batch_size=3, window=timedelta(0)).run(stop)
    assert desk.consumer().run_once().records == 7
