"""What counters cost that transactions keep: estimated as it is charged, and allowed as it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tablewright.design import iam
from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.document import document
from tablewright.design.lint import lint
from tablewright.model import Design, ItemWrite, Volume, Write, attr
from tablewright.store import Store
from tests.design.cost.charge_meter import ChargeMeter
from tests.design.iam.permissions import ARN, allowed, opened
from tests.store.branches import branches
from tests.store.counted_bookings import Booking, Kind, ledger, totals

design = Design(
    "ledger",
    tables=[ledger, totals],
    writes=[
        Write("book", ItemWrite(Booking, "create")),
        Write("note", ItemWrite(Booking, "update", sets=[Booking.note])),
        Write("pay", ItemWrite(Booking, "update", sets=[Booking.kind])),
        Write("hand over", ItemWrite(Booking, "update", sets=[Booking.owner])),
        Write("delete", ItemWrite(Booking, "delete")),
    ],
    roles={name: [name] for name in ("book", "note", "pay", "hand over", "delete")},
    volume={Booking: Volume(items=1000, size=200)},
)


def booking() -> Booking:
    return Booking(account="a", number=1, owner="ada", amount=Decimal(1), code="x")


WRITES: dict[str, Callable[[Store], Any]] = {
    "book": lambda store: store.create(Booking(account="a", number=2, owner="ada", code="y")),
    "note": lambda store: store.update(Booking.by_number("a", 1), attr(Booking.note).set("x")),
    "pay": lambda store: store.update(booking(), attr(Booking.kind).set(Kind.PAID)),
    "hand over": lambda store: store.update(booking(), attr(Booking.owner).set("bea")),
    "delete": lambda store: store.delete(booking()),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_estimated_as_it_is_charged(name: str) -> None:
    meter = ChargeMeter(ledger, totals)
    meter.store.create(booking())
    estimated: dict[str, Decimal] = {}
    for units in CapacityEstimate(design).of(name):
        if units.write:
            estimated[units.place] = estimated.get(units.place, Decimal(0)) + units.write
    assert meter.charged(lambda: WRITES[name](meter.store)) == estimated


def test_a_counted_write_costs_a_transaction() -> None:
    plain = sum(units.write for units in CapacityEstimate(design).of("note") if units.index is None)
    counted = sum(units.write for units in CapacityEstimate(design).of("pay") if units.index is None)
    assert (plain, counted) == (1, 4)


@pytest.mark.parametrize("name", WRITES)
def test_what_is_asked_for_is_allowed(name: str) -> None:
    store, backend = opened(ledger, totals)
    store.create(booking())
    backend.asked.clear()
    WRITES[name](store)
    assert backend.asked <= allowed(iam.document(iam.grants(design, name), ARN))


def test_a_read_of_several_partitions_costs_one_for_each() -> None:
    merged = CapacityEstimate(Design("shops", tables=[branches])).of("Deal.latest")
    # Three states, in two shards each, at half a unit.
    assert sum(units.read for units in merged) == 3


def test_a_document_says_what_a_counter_counts() -> None:
    text = str(document(design))
    assert "counts Booking where kind = paid, kept by the transaction" in text
    assert "sums amount of Booking, kept by the stream" in text


def test_lint_knows_that_the_groups_of_counters_do_not_change() -> None:
    found = {(finding.rule, finding.place) for finding in lint(design)}
    assert not {place for _, place in found if place.startswith(("AccountTotals", "OwnerTotals"))}
