"""Counters that the stream keeps: the handler of a consumer, from their declaration alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tablewright.model import Entity, Keys, ModelError, Table, attr, count_of
from tablewright.store import Consumer, Store, counter_handler
from tests.store.counted_bookings import AccountTotals, Booking, OwnerTotals, ledger, totals


def counted(store: Store, name: str) -> tuple[int, Decimal | int]:
    found = store.get(OwnerTotals.by_name(name))
    return (0, Decimal(0)) if found is None else (found.streamed, found.amount)


def test_every_change_counts_once_and_a_rebuild_counts_anew() -> None:
    with Store.open() as store:
        store.ensure_tables(ledger, totals)
        consumer = Consumer(store, ledger, counter_handler(OwnerTotals), name="owners", checkpoints=totals)
        for number in range(30):
            store.create(Booking(account="a", number=number, amount=Decimal(2), owner="ada" if number % 3 else "bea"))
        consumer.run_once()
        assert (counted(store, "ada"), counted(store, "bea")) == ((20, 40), (10, 20))
        store.update(Booking.by_number("a", 0), attr(Booking.owner).set("ada"))
        store.update(Booking.by_number("a", 1), attr(Booking.amount).set(Decimal(5)))
        store.delete(Booking.by_number("a", 2))
        store.update(Booking.by_number("a", 3), attr(Booking.owner).set(None))
        consumer.run_once()
        consumer.run_once()
        assert (counted(store, "ada"), counted(store, "bea")) == ((20, 43), (8, 16))
        assert store.verify(OwnerTotals).is_clean
        store.update(OwnerTotals.by_name("ada"), attr(OwnerTotals.streamed).set(7))
        assert not store.verify(OwnerTotals).is_clean
        consumer.rebuild(clear=[OwnerTotals])
        assert (counted(store, "ada"), counted(store, "bea")) == ((20, 43), (8, 16))


def test_the_handler_needs_counters_of_the_stream_and_both_images() -> None:
    with pytest.raises(ModelError, match="AccountTotals has no counter that the stream keeps"):
        counter_handler(AccountTotals)

    class Note(Entity, table=Table("notes", "PK", stream="NEW_IMAGE")):
        shelf: str
        id: str

        keys = Keys(PK="N#{shelf}#{id}")

    class Shelf(Entity, table=Table("shelf-totals", "PK")):
        shelf: str
        notes: int = count_of(Note, kept_by="stream")

        keys = Keys(PK="S#{shelf}")

    with pytest.raises(ModelError, match="declare table 'notes' with stream='NEW_AND_OLD_IMAGES'"):
        counter_handler(Shelf)
