"""Updates that return the item as it was."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_type

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import ConditionFailed, NotFound, NotUnique, ReadRequired, Store, VersionConflict
from tests.store.bench import Bench
from tests.store.branches import Article, Buyer, Deal, LabelledShelf, Shelf, State, branches, goods
from tests.store.recording_backend import watched

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, **more: Any) -> Deal:
    return Deal.model_validate({"shop": "s", "number": number, "at": NOON, **more})


def test_the_item_as_it_was(bench: Bench) -> None:
    bench.create_own(goods)
    store, backend = watched(bench)
    article = store.put(Article(sku="1", title="old"))
    backend.operations.clear()
    found = store.update(Article.by_sku("1"), attr(Article.title).set("new"), return_values="ALL_OLD")
    assert_type(found, Article)
    assert found == Article(sku="1", title="old")
    # It is one request, and an entity that was given is brought up to date.
    assert backend.operations == ["UpdateItem"]
    before = store.update(article, attr(Article.title).set("newer"), return_values="ALL_OLD")
    assert before == Article(sku="1", title="new")
    assert article == Article(sku="1", title="newer")
    assert store.update(article, attr(Article.title).set("last"), return_values="ALL_NEW").title == "last"


def test_with_keys_that_follow_and_with_a_move(bench: Bench, tmp_path: Path) -> None:
    bench.create_own(branches)
    store = Store(bench.backend, clock=bench.clock, table_names=bench.names, blobs=tmp_path)
    store.put(deal(1, text="t" * 5000))
    before = store.update(Deal.by_number("s", 1), attr(Deal.state).set(State.PAID), return_values="ALL_OLD")
    assert (before.state, before.text) == (State.OPEN, "t" * 5000)
    entity = store.get_or_raise(Deal.by_number("s", 1))
    before = store.update(entity, attr(Deal.number).set(2), attr(Deal.text).set("u" * 5000), return_values="ALL_OLD")
    assert (before.number, before.text) == (1, "t" * 5000)
    assert (entity.number, entity.text) == (2, "u" * 5000)
    before = store.update(entity, attr(Deal.text).set("short"), return_values="ALL_OLD")
    assert (before.text, entity.text) == ("u" * 5000, "short")
    assert store.verify(branches).is_clean


def test_with_versions_and_unique_values(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    ada = store.create(Buyer(buyer_id="a", name="Ada", email="ada@example.com"))
    store.create(Buyer(buyer_id="b", name="Bea", email="bea@example.com"))
    before = store.update(ada, attr(Buyer.email).set("a@example.com"), return_values="ALL_OLD")
    assert (before.email, before.version, ada.email, ada.version) == ("ada@example.com", 1, "a@example.com", 2)
    before = store.update(Buyer.by_id("a"), attr(Buyer.email).set("x@example.com"), return_values="ALL_OLD")
    assert before.email == "a@example.com"
    with pytest.raises(VersionConflict):
        store.update(ada, attr(Buyer.name).set("x"), return_values="ALL_OLD")
    with pytest.raises(NotUnique):
        store.update(Buyer.by_id("a"), attr(Buyer.email).set("bea@example.com"), return_values="ALL_OLD")
    # What the caller has changed in memory is not what was stored.
    current = store.get_or_raise(Buyer.by_id("a"))
    current.name = "nobody"
    assert store.update(current, attr(Buyer.email).set("y@example.com"), return_values="ALL_OLD").name == "Ada"
    assert store.verify(branches).is_clean


def test_what_is_refused_is_refused(bench: Bench, store: Store) -> None:
    bench.create_own(branches, goods)
    store.put(Article(sku="1", title="old"))
    with pytest.raises(NotFound):
        store.update(Article.by_sku("2"), attr(Article.title).set("x"), return_values="ALL_OLD")
    with pytest.raises(NotFound):
        store.update(Buyer.by_id("none"), attr(Buyer.name).set("x"), return_values="ALL_OLD")
    with pytest.raises(ConditionFailed):
        store.update(
            Article.by_sku("1"),
            attr(Article.title).set("x"),
            expect=attr(Article.title) == "other",
            return_values="ALL_OLD",
        )
    with pytest.raises(ModelError, match="return_values is ALL_NEW or ALL_OLD, not 'UPDATED_OLD'"):
        store.update(Article.by_sku("1"), attr(Article.title).set("x"), return_values="UPDATED_OLD")  # type: ignore[arg-type]


def test_an_older_schema_version_is_upgraded(bench: Bench, store: Store) -> None:
    table = Shelf.schema_.table
    bench.create_own(table)
    bench.save_item(table, Shelf(id="1", title="top").item())
    before = store.update(LabelledShelf.by_id("1"), attr(LabelledShelf.count).add(2), return_values="ALL_OLD")
    assert (before.label, before.count) == ("top", 0)
    assert store.update(LabelledShelf.by_id("1"), attr(LabelledShelf.count).add(1), return_values="ALL_OLD").count == 2


def test_a_strict_store_does_not_read_for_it(bench: Bench) -> None:
    bench.create_own(branches, goods)
    store = Store(bench.backend, clock=bench.clock, table_names=bench.names, strict=True)
    store.put(Article(sku="1"))
    assert store.update(Article.by_sku("1"), attr(Article.title).set("x"), return_values="ALL_OLD").title == ""
    ada = store.create(Buyer(buyer_id="a", name="Ada"))
    with pytest.raises(ReadRequired):
        store.update(ada, attr(Buyer.name).set("x"), return_values="ALL_OLD")


@pytest.mark.parametrize("entity", ["plain", "unique"])
def test_no_two_writers_get_the_same_old_value(embedded: Bench, entity: str) -> None:
    embedded.create_own(branches, goods)
    store = embedded.store
    store.create(Buyer(buyer_id="a", name="0", email="0"))
    store.put(Article(sku="a", title="0"))
    found: list[str] = []
    lock = threading.Lock()

    def write(writer: int) -> None:
        for number in range(5):
            value = f"{writer}-{number}"
            if entity == "plain":
                old = store.update(Article.by_sku("a"), attr(Article.title).set(value), return_values="ALL_OLD").title
            else:
                before = store.update(Buyer.by_id("a"), attr(Buyer.email).set(value), return_values="ALL_OLD")
                old = before.email or ""
            with lock:
                found.append(old)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 20
