"""Related entities: those that ids in other entities name, read together, each once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, assert_type

import pytest

from tablewright.model import ModelError
from tablewright.store import AsyncStore, Store
from tests.store.bench import Bench
from tests.store.branches import Article, Buyer, BuyerName, Deal, branches, goods
from tests.store.recording_backend import watched

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, **more: Any) -> Deal:
    return Deal.model_validate({"shop": "s", "number": number, "at": NOON, **more})


@pytest.fixture
def filled(bench: Bench, store: Store) -> Store:
    bench.create_own(branches, goods)
    for number in range(3):
        store.put(Buyer(buyer_id=f"b-{number}", name=f"Buyer {number}"))
    store.write_many([Article(sku=f"a-{number}") for number in range(5)])
    return store


def test_one_and_many_of_several_tables(filled: Store) -> None:
    deals = [
        deal(1, buyer_id="b-1", articles=["a-1", "a-2"]),
        deal(2, buyer_id="b-1", articles=["a-2", "lost", "a-2"]),
        deal(3, buyer_id=None),
        deal(4, buyer_id="lost"),
    ]
    found = filled.fetch_related(deals, Deal.buyer, Deal.lines)
    assert_type(found, list[tuple[Deal, Buyer | None, list[Article | None]]])
    assert [each for each, _, _ in found] == deals
    assert [None if buyer is None else buyer.name for _, buyer, _ in found] == ["Buyer 1", "Buyer 1", None, None]
    assert [[None if each is None else each.sku for each in lines] for _, _, lines in found] == [
        ["a-1", "a-2"],
        ["a-2", None, "a-2"],
        [],
        [],
    ]
    # What several name is one object.
    assert found[0][1] is found[1][1]
    assert found[1][2][0] is found[1][2][2] is found[0][2][1]


def test_the_types_of_each_form(filled: Store) -> None:
    deals = [deal(1, buyer_id="b-1", articles=["a-1"])]
    filled.put(deal(0))
    assert_type(filled.fetch_related(deals, Deal.buyer), list[tuple[Deal, Buyer | None]])
    assert_type(filled.fetch_related(deals, Deal.lines), list[tuple[Deal, list[Article | None]]])
    pairs = filled.fetch_related(deals, Deal.buyer, Deal.previous)
    assert_type(pairs, list[tuple[Deal, Buyer | None, Deal | None]])
    assert pairs[0][2] == deal(0)
    names = filled.fetch_related(deals, lambda each: BuyerName.of(Buyer.by_id(each.buyer_id or "")))
    assert_type(names, list[tuple[Deal, BuyerName | None]])
    assert names[0][1] == BuyerName(name="Buyer 1")
    assert filled.fetch_related([], Deal.buyer) == []


def test_there_is_no_request_for_each_entity(bench: Bench, filled: Store) -> None:
    store, backend = watched(bench)
    deals = [deal(number, buyer_id=f"b-{number % 3}", articles=[f"a-{number % 5}"]) for number in range(500)]
    found = store.fetch_related(deals, Deal.buyer, Deal.lines)
    assert len(found) == 500
    assert backend.operations == ["BatchGetItem"]
    # More than fit into one request.
    backend.operations.clear()
    many = [deal(number, articles=[f"x-{number}"]) for number in range(230)]
    store.fetch_related(many, Deal.lines)
    assert backend.operations == ["BatchGetItem"] * 3


def test_asynchronously(bench: Bench, filled: Store) -> None:
    async def fetched() -> list[tuple[Deal, Buyer | None]]:
        store = AsyncStore(bench.backend, clock=bench.clock, table_names=bench.names)
        return await store.fetch_related([deal(1, buyer_id="b-2")], Deal.buyer, consistent=True)

    ((_, buyer),) = asyncio.run(fetched())
    assert buyer is not None
    assert buyer.name == "Buyer 2"


def test_a_relation_gives_lookups(filled: Store) -> None:
    with pytest.raises(ModelError, match="a relation of fetch_related takes a lookup"):
        filled.fetch_related([deal(1)], lambda each: Deal.of_shop(each.shop))  # type: ignore[arg-type, return-value]
