"""What a diff prints is done to the letter, for changes of all kinds: afterwards the new version has everything.

The old version writes. What the diff says has to be declared is declared, by executing its text; the calls of the
store in its steps are made, in their order, with a process that is stopped in between. Then verify finds nothing, and
every item is read by every pattern of the new version.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablewright.design.diff import DesignChange, Impact, changes, snapshot
from tablewright.engine import Engine
from tablewright.store import Store
from tablewright.store.flow.driver import Backend, Request, Response
from tests.design.diff.generated_changes import CHANGES, SHOPS, Made, Shape, made
from tests.examples import examples

CALL = re.compile(r"`(store\.(?:repair|verify)\([^`]*\))`")
ITEMS = 6


class Stopped(Exception):
    """What is raised where the process is killed."""


class Killed:
    """A backend that is gone after some writes, of which the last may have been made."""

    def __init__(self, backend: Backend, writes: int, *, after: bool) -> None:
        self.backend = backend
        self.writes = writes
        self.after = after

    def call(self, request: Request) -> Response:
        if request.operation in ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"):
            if self.writes == 0:
                if self.after:
                    self.backend.call(request)
                raise Stopped
            self.writes -= 1
        return self.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


def filled(store: Store, old: Made, shape: Shape) -> None:
    store.ensure_tables(old.table)
    for number in range(ITEMS):
        values: dict[str, Any] = {"note": f"n{number}", "street_name": f"Main {number}", "phone": f"+{number}"}
        if shape.unique:
            values["code"] = f"c{number}"
        store.create(old.order(order_id=f"o{number}", shop=SHOPS[number % 2], **values))
        store.create(old.classes["Person"](order_id=f"o{number}"))
        store.create(old.classes["Coupon"](coupon_code=f"c{number}", percent=number))


def declared(found: list[DesignChange], new: Made) -> dict[str, Any]:
    """Declare what the changes say, as a module of its own would."""
    names = new.names
    for declaration in dict.fromkeys(change.declaration for change in found if change.declaration):
        exec(compile(declaration, "declaration", "exec", dont_inherit=True), names)
    return names


def followed(store: Store, found: list[DesignChange], new: Made, writes: int, after: bool) -> None:
    """Declare what the changes say, and make the calls of their steps."""
    names = declared(found, new)
    calls = [call for change in found for step in change.steps for call in CALL.findall(step) if "repair" in call]
    for call in dict.fromkeys(calls):
        try:
            eval(call, {**names, "store": Store(Killed(store.backend, writes, after=after))})
        except Stopped:
            eval(call, {**names, "store": store})


@pytest.mark.requirement("X4")
@pytest.mark.slow
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(CHANGES, st.integers(0, 12), st.booleans())
def test_the_steps_of_a_diff_are_done_to_the_letter(shapes: tuple[Shape, Shape], writes: int, after: bool) -> None:
    before, shape = shapes
    # The name of a field is kept, as the first of its steps says.
    old, new = made(before), made(shape, kept_name=shape.note != before.note)
    with Engine.open() as engine:
        store = Store.on(engine)
        filled(store, old, before)
        found = changes(snapshot(old.design), snapshot(new.design))
        followed(store, found, new, writes, after)

        assert store.verify(new.table).is_clean
        _check_orders(store, new, shape)
        _check_neighbours(store, new, shape)


def _check_orders(store: Store, new: Made, shape: Shape) -> None:
    """Every order is there, and read by every pattern."""
    orders = {each.order_id: each for each in store.iterate(new.order)}
    assert sorted(orders) == [f"o{number}" for number in range(ITEMS)]
    for number, order in enumerate(orders[name] for name in sorted(orders)):
        assert getattr(order, shape.note) == f"n{number}"
        keys = {"order_id": order.order_id, **({"shop": order.shop} if shape.key else {})}
        assert store.get(new.order.by_id(**keys)) == order
    for shop in SHOPS:
        everywhere = shape.index_key == 2
        there = [
            each.order_id for each in store.query(new.order.of_shop(**({} if everywhere else {"shop": shop}))).items
        ]
        assert there == sorted(name for name, each in orders.items() if everywhere or each.shop == shop)


def _check_neighbours(store: Store, new: Made, shape: Shape) -> None:
    """What has left the order is where it belongs, and what is gone is gone."""
    streets = new.classes["Address"] if shape.split else new.order
    phones = new.classes["Person"] if shape.moved else new.order
    wanted = {f"o{number}": (f"Main {number}", f"+{number}") for number in range(ITEMS)}
    assert {each.order_id: each.street_name for each in store.iterate(streets)} == {
        name: street for name, (street, _) in wanted.items()
    }
    assert {each.order_id: each.phone for each in store.iterate(phones)} == {
        name: phone for name, (_, phone) in wanted.items()
    }
    kinds = 3 + shape.split if shape.coupons else 2 + shape.split
    items = store.backend.call(Request("Scan", {"TableName": "Orders"}))["Items"]
    assert len([item for item in items if not new.table.is_internal(item)]) == kinds * ITEMS


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        (Shape(typed=True, split=True), "Order.street_name"),
        (Shape(typed=False, split=True), "Order.street_name"),
        (Shape(typed=False, moved=True), "Order.phone"),
        (Shape(typed=True, note="remark"), "Order.note"),
        (Shape(typed=False, key=1), "Order.keys.PK"),
        (Shape(typed=False, coupons=False), "Coupon"),
        (Shape(typed=True, name="Purchase"), "Order"),
        (Shape(typed=False, name="Purchase", key=2), "Order"),
    ],
)
def test_what_would_be_left_behind_is_never_free(shape: Shape, place: str) -> None:
    found = changes(snapshot(made(Shape(typed=shape.typed)).design), snapshot(made(shape).design))
    assert {change.place: change.impact for change in found}[place] is not Impact.FREE


@pytest.mark.parametrize("typed", [True, False])
def test_what_is_declared_is_not_reported_again(typed: bool) -> None:
    old, new = made(Shape(typed)), made(Shape(typed, name="Purchase", key=1, split=True, moved=True, coupons=False))
    found = changes(snapshot(old.design), snapshot(new.design))
    declared(found, new)
    again = changes(snapshot(old.design), snapshot(new.design))
    assert Impact.UNSAFE in {change.impact for change in found}
    assert Impact.UNSAFE not in {change.impact for change in again}
    assert not any(change.declaration for change in again)
