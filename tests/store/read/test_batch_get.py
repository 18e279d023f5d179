"""Batches of gets: over several entities and tables, with keys that a service leaves unprocessed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, assert_type

import pytest

from tablewright.model import ModelError
from tablewright.store import ServiceError, Store
from tablewright.store.flow.driver import Request, Response
from tablewright.store.read.get import get_many
from tests.store.bench import Bench
from tests.store.branches import Article, Buyer, Deal, DealLine, branches, goods
from tests.store.flows import drive
from tests.store.recording_backend import watched

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int) -> Deal:
    return Deal(shop="s", number=number, at=NOON)


@pytest.fixture
def filled(bench: Bench, store: Store) -> Store:
    bench.create_own(branches, goods)
    store.write_many([*map(deal, range(60)), *(Article(sku=str(number)) for number in range(60))])
    store.put(Buyer(buyer_id="b", name="Ada"))
    return store


def test_several_entities_and_tables_are_read_together(bench: Bench, filled: Store) -> None:
    store, backend = watched(bench)
    found = store.get_many(
        [Deal.by_number("s", number) for number in (3, 99, 1)],
        [Buyer.by_id("b"), Buyer.by_id("x")],
        [Article.by_sku("7"), Article.by_sku("7")],
    )
    assert_type(found, tuple[list[Deal | None], list[Buyer | None], list[Article | None]])
    deals, buyers, articles = found
    assert deals == [deal(3), None, deal(1)]
    assert [each and each.name for each in buyers] == ["Ada", None]
    assert articles == [Article(sku="7")] * 2
    assert backend.operations == ["BatchGetItem"]
    assert_type(store.get_many([Deal.by_number("s", 1)]), list[Deal | None])
    assert store.get_many([]) == []
    assert store.get_many([], [Buyer.by_id("b")])[0] == []


def test_more_than_a_request_takes_are_read_in_several(bench: Bench, filled: Store) -> None:
    store, backend = watched(bench)
    deals, articles = store.get_many(
        [Deal.by_number("s", number) for number in range(120)], [Article.by_sku(str(number)) for number in range(120)]
    )
    assert deals == [*map(deal, range(60)), *[None] * 60]
    assert [each is not None for each in articles] == [True] * 60 + [False] * 60
    assert backend.operations == ["BatchGetItem"] * 3


def unprocessed(bench: Bench, most: int) -> Any:
    """Answers some keys of each table, and leaves the others unprocessed, as the service does with their request."""

    def answer(request: Request) -> Response:
        tables = request.body["RequestItems"]
        some = {table: {**each, "Keys": each["Keys"][:most]} for table, each in tables.items()}
        response = bench.backend.call(Request("BatchGetItem", {"RequestItems": some})) if most else {"Responses": {}}
        rest = {table: {**each, "Keys": each["Keys"][most:]} for table, each in tables.items() if each["Keys"][most:]}
        return {**response, "UnprocessedKeys": rest}

    return answer


def test_what_is_left_unprocessed_is_asked_for_again(bench: Bench, filled: Store) -> None:
    deals = [DealLine.of(Deal.by_number("s", number)) for number in range(50)]
    articles = [Article.by_sku(str(number)) for number in range(30)]
    flow = get_many(filled.context, deals, articles, consistent=True)
    lines, found = drive(flow, unprocessed(bench, 7))
    assert [each.number for each in lines] == list(range(50))
    assert found == [Article(sku=str(number)) for number in range(30)]


def test_a_service_that_gets_nothing_done_is_an_error(bench: Bench, filled: Store) -> None:
    flow = get_many(filled.context, [Deal.by_number("s", 1)], [Article.by_sku("1")])
    with pytest.raises(ServiceError, match=r"2 keys of Deal\.by_number, Article.by_sku were left unprocessed"):
        drive(flow, unprocessed(bench, 0))


def test_a_single_lookup_is_no_list(filled: Store) -> None:
    with pytest.raises(ModelError, match=r"get_many takes a list of lookups: get_many\(\[...\]\)"):
        filled.get_many(Deal.by_number("s", 1))  # type: ignore[call-overload]
