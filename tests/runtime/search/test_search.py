"""Search at the level of the runtime: many documents, rights, rebuilds while the index is used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tablewright.model import attr
from tablewright.runtime import Caller, Runtime, StateConflict
from tablewright.runtime.search.search import Found
from tablewright.store import Delete
from tablewright.systems.support.model import Ticket
from tablewright.systems.support.support_system import system
from tests.systems.harness import opened_runtime, wait_for

pytestmark = pytest.mark.requirement("AP3")

STAFF = Caller("op", None, frozenset({"support:Operators"}))


def customer(number: int) -> Caller:
    return Caller(f"cust_{number}", None, frozenset({"support:Customers"}))


@pytest.fixture(scope="module", params=[500, pytest.param(10_000, marks=pytest.mark.slow)])
def number(request: pytest.FixtureRequest) -> int:
    """How many documents there are."""
    return int(request.param)


@pytest.fixture(scope="module")
def runtime(number: int) -> Iterator[Runtime]:
    runtime = opened_runtime([system], memory=True)
    for each in range(number):
        text = f"pump number{each} hums in hall {each % 100}"
        runtime.sync_store.put(Ticket(ticket_id=f"t-{each}", customer_id=f"cust_{each % 100}", symptom_text=text))
    runtime.search.rebuild("support")
    yield runtime
    runtime.close()


def find(runtime: Runtime, caller: Caller, query: str, limit: int = 20) -> list[Found]:
    return asyncio.run(runtime.search.find("support", caller, query, limit))


def tickets(found: list[Found]) -> set[str]:
    return {each.ids["ticket_id"] for each in found}


def test_one_of_many_is_found_and_a_page_of_all(runtime: Runtime, number: int) -> None:
    assert tickets(find(runtime, STAFF, "number477")) >= {"t-477"}
    assert len(find(runtime, STAFF, "pump")) == 20
    assert len(find(runtime, STAFF, "p", limit=50)) == 50
    assert runtime.search.states()[0].documents == number


def test_a_customer_finds_his_own_and_none_of_the_others(runtime: Runtime, number: int) -> None:
    for person in (0, 1, 99):
        own = {f"t-{each}" for each in range(person, number, 100)}
        found = tickets(find(runtime, customer(person), "pump hums", limit=50))
        assert found <= own
        assert len(found) == min(50, len(own))
    assert find(runtime, customer(1), "number477") == []
    assert find(runtime, Caller("nobody", None, frozenset({"tasks:Admins"})), "pump") == []


def test_an_index_that_lags_shows_nothing_deleted_or_belonging_to_others(runtime: Runtime, number: int) -> None:
    # No consumer runs here: the index does not hear of it.
    runtime.sync_store.transact(Delete(Ticket.by_id("t-105")))
    runtime.sync_store.update(Ticket.by_id("t-106"), attr(Ticket.customer_id).set("cust_7"))
    assert "t-105" not in tickets(find(runtime, STAFF, "number105", limit=50))
    assert "t-106" not in tickets(find(runtime, customer(6), "number106", limit=50))
    runtime.search.rebuild("support")
    assert "t-106" in tickets(find(runtime, customer(7), "number106", limit=50))
    assert runtime.search.states()[0].documents == number - 1


def test_a_rebuild_is_done_once_at_a_time(runtime: Runtime) -> None:
    runtime.search.rebuild_soon("support")
    with pytest.raises(StateConflict):
        runtime.search.rebuild_soon("support")
    assert runtime.search.is_building("support")
    runtime.search.start()
    try:
        wait_for(lambda: not runtime.search.is_building("support"))
    finally:
        runtime.search.stop()
