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
        values: dict[str, Any] = {"note": f"n{number}", "street": f"Main {number}"}
        if shape.unique:
            values["code"] = f"c{number}"
        store.create(old.order(order_id=f"o{number}", shop=SHOPS[number % 2], **values))


def followed(store: Store, found: list[DesignChange], new: Made, writes: int, after: bool) -> None:
    """Declare what the changes say, and make the calls of their steps."""
    names = new.names
    for declaration in dict.fromkeys(change.declaration for change in found if change.declaration):
        exec(declaration, names)
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
        orders = {each.order_id: each for each in store.iterate(new.order)}
        assert sorted(orders) == [f"o{number}" for number in range(ITEMS)]
        for number in range(ITEMS):
            order = orders[f"o{number}"]
            assert getattr(order, shape.note) == f"n{number}"
            keys = {"order_id": order.order_id, **({"shop": order.shop} if shape.key else {})}
            assert store.get(new.order.by_id(**keys)) == order
            street: Any = order
            if new.address is not None:
                street = store.get(new.address.by_id(order_id=order.order_id))
            assert street.street == f"Main {number}"
        for shop in SHOPS:
            wanted = {} if shape.index_key == 2 else {"shop": shop}
            there = [each.order_id for each in store.query(new.order.of_shop(**wanted)).items]
            assert there == sorted(
                each.order_id for each in orders.values() if shape.index_key == 2 or each.shop == shop
            )
        assert {change.impact for change in found} != {Impact.FREE} or before == shape


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        (Shape(typed=True, split=True), "Order.street"),
        (Shape(typed=False, split=True), "Order.street"),
        (Shape(typed=True, note="remark"), "Order.note"),
        (Shape(typed=False, key=1), "Order.keys.PK"),
        (Shape(typed=True, name="Purchase", type_name="Purchase"), "Order"),
        (Shape(typed=False, name="Purchase", type_name="Purchase", key=2), "Order"),
    ],
)
def test_what_would_be_left_behind_is_never_free(shape: Shape, place: str) -> None:
    found = changes(snapshot(made(Shape(typed=shape.typed)).design), snapshot(made(shape).design))
    assert {change.place: change.impact for change in found}[place] is not Impact.FREE
