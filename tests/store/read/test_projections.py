"""Partial reads: some fields of an entity, wherever the entity is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, assert_type

import pytest

from tablewright.model import Entity, ExpiresAt, Get, Keys, ModelError, Projection, Table
from tablewright.store import Page, Scan, Store, TolerantReader, Unreadable
from tests.store.bench import Bench
from tests.store.branches import (
    Buyer,
    BuyerName,
    Deal,
    DealLine,
    DealText,
    LabelledShelf,
    Shelf,
    ShelfLabel,
    State,
    branches,
)
from tests.store.recording_backend import watched

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, **more: Any) -> Deal:
    return Deal.model_validate({"shop": "s", "number": number, "at": NOON + timedelta(hours=number), **more})


def line(number: int, state: State = State.OPEN, note: str = "") -> DealLine:
    return DealLine(number=number, state=state, note=note)


def test_every_read_takes_a_projection(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    bench.save(deal(1, note="a"), deal(2, state=State.PAID), Buyer(buyer_id="b", name="Ada"))
    lookup = DealLine.of(Deal.by_number("s", 1))
    assert_type(store.get(lookup), DealLine | None)
    assert store.get(lookup) == line(1, note="a")
    assert store.get(DealLine.of(Deal.by_number("s", 9))) is None
    assert store.get_or_raise(lookup) == line(1, note="a")
    assert store.transact_get(lookup, BuyerName.of(Buyer.by_id("b"))) == (line(1, note="a"), BuyerName(name="Ada"))
    assert store.get_many([lookup, DealLine.of(Deal.by_number("s", 9))]) == [line(1, note="a"), None]
    # A whole entity and projections of one table, in one request.
    assert store.get_many([lookup], [Buyer.by_id("b")], [BuyerName.of(Buyer.by_id("b"))]) == (
        [line(1, note="a")],
        [Buyer(buyer_id="b", name="Ada")],
        [BuyerName(name="Ada")],
    )
    selection = DealLine.of(Deal.of_shop("s"))
    assert_type(store.query(selection), Page[DealLine])
    assert store.query(selection).items == [line(1, note="a"), line(2, State.PAID)]
    page = store.query(selection, limit=1)
    assert store.query(selection, limit=1, cursor=page.cursor).items == [line(2, State.PAID)]
    assert store.first(selection) == line(1, note="a")
    assert list(store.iterate(selection)) == [line(1, note="a"), line(2, State.PAID)]
    assert sorted(each.number for each in store.scan(DealLine).items) == [1, 2]
    assert sorted(each.number for each in store.iterate(Scan(DealLine, segments=3))) == [1, 2]
    merged = DealLine.of(Deal.latest([State.OPEN, State.PAID]))
    assert [each.number for each in store.query(merged).items] == [2, 1]
    # An index that has only keys.
    assert [each.number for each in store.query(DealLine.of(Deal.of_shops(["s"], [State.PAID]))).items] == [2]
    assert TolerantReader(store).page(selection, limit=5).items == [line(1, note="a"), line(2, State.PAID)]


def test_only_what_is_needed_is_asked_for(bench: Bench) -> None:
    bench.create_own(branches)
    store, backend = watched(bench)
    seen: list[dict[str, Any]] = []
    call = backend.call

    def noted(request: Any) -> Any:
        response = call(request)
        seen.append(response)
        return response

    backend.call = noted  # type: ignore[method-assign]
    bench.save(deal(1, note="a", articles=["x"] * 50))
    assert store.get(DealLine.of(Deal.by_number("s", 1))) == line(1, note="a")
    assert seen[-1]["Item"].keys() == {"PK", "SK", "number", "state", "note"}
    store.query(DealLine.of(Deal.of_shop("s")))
    assert "articles" not in seen[-1]["Items"][0]
    store.get_many([DealLine.of(Deal.by_number("s", 1))])
    ((found,),) = seen[-1]["Responses"].values()
    assert "articles" not in found


def test_a_partial_read_is_charged_for_the_whole_item(bench: Bench) -> None:
    bench.create_own(branches)
    bench.save(deal(1, articles=["a" * 1000] * 20))
    charged: list[float] = []
    store = Store(
        bench.backend,
        clock=bench.clock,
        table_names=bench.names,
        on_capacity=lambda _, __, units: charged.append(units["CapacityUnits"]),
    )
    store.get(Deal.by_number("s", 1))
    store.get(DealLine.of(Deal.by_number("s", 1)))
    assert charged[0] == charged[1] == 2.5


def test_what_an_item_does_not_have_is_the_default_of_the_entity(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    item = deal(1).item()
    bench.save_item(branches, {name: value for name, value in item.items() if name not in ("state", "note")})
    assert store.get(DealLine.of(Deal.by_number("s", 1))) == line(1)


def test_a_missing_field_without_a_default_is_unreadable(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    item = deal(1).item()
    del item["number"]
    bench.save_item(branches, item)
    with pytest.raises(Unreadable, match="number: Field required"):
        store.get(DealLine.of(Deal.by_number("s", 1)))
    page = TolerantReader(store).page(DealLine.of(Deal.of_shop("s")), limit=5)
    assert (page.items, len(page.unreadable)) == ([], 1)


def test_expired_items_and_those_of_others_are_left_out(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    now = datetime.fromtimestamp(bench.clock(), UTC)
    bench.save(deal(1, expires=now - timedelta(hours=1)), deal(2, expires=now + timedelta(hours=1)))
    assert store.query(DealLine.of(Deal.of_shop("s"))).items == [line(2)]
    assert store.get(DealLine.of(Deal.by_number("s", 1))) is None


def test_large_values_are_loaded_if_they_are_asked_for(bench: Bench, tmp_path: Any) -> None:
    bench.create_own(branches)
    store = Store(bench.backend, clock=bench.clock, table_names=bench.names, blobs=tmp_path)
    store.put(deal(1, text="t" * 5000))
    assert store.get(DealText.of(Deal.by_number("s", 1))) == DealText(number=1, text="t" * 5000)
    assert store.query(DealText.of(Deal.of_shop("s"))).items == [DealText(number=1, text="t" * 5000)]
    assert store.get(DealLine.of(Deal.by_number("s", 1))) == line(1)


def test_an_older_item_is_upgraded_before_it_is_cut(bench: Bench, store: Store) -> None:
    table = Shelf.schema_.table
    bench.create_own(table)
    bench.save_item(table, Shelf(id="1", title="top").item())
    assert store.get(ShelfLabel.of(LabelledShelf.by_id("1"))) == ShelfLabel(label="top")
    assert store.scan(ShelfLabel).items == [ShelfLabel(label="top")]


def undeclared() -> object:
    class Wrong(Projection[Deal]):
        nmber: int

    return Wrong


def another_type() -> object:
    class Wrong(Projection[Deal]):
        number: str

    return Wrong


def a_default() -> object:
    class Wrong(Projection[Deal]):
        note: str = "x"

    return Wrong


def no_fields() -> object:
    class Wrong(Projection[Deal]):
        pass

    return Wrong


def no_entity() -> object:
    class Wrong(Projection):  # type: ignore[type-arg]
        number: int

    return Wrong


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (undeclared, "Deal has no field 'nmber'; did you mean 'number'\\? It has shop, number"),
        (another_type, "another type than Deal.number"),
        (a_default, "note has a default"),
        (no_fields, "has no fields; declare some of those of Deal"),
        (no_entity, r"declare it as Projection\[Order\]"),
    ],
)
def test_a_wrong_declaration_is_refused(declare: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        declare()


def test_a_projection_is_of_its_entity(store: Store) -> None:
    with pytest.raises(ModelError, match="DealLine is a projection of Deal: it takes a lookup or a selection of Deal"):
        DealLine.of(Buyer.by_id("b"))  # type: ignore[arg-type]


def test_markers_of_a_field_need_not_be_repeated() -> None:
    table = Table("marked", "id", ttl="ttl")

    class Marked(Entity, table=table):
        id: str
        ttl: ExpiresAt = None
        note: Annotated[str, "anything"] = ""

        keys = Keys()

        @Get()
        def by_id(self, id: str) -> None: ...

    class Part(Projection[Marked]):
        note: str
        ttl: ExpiresAt

    with Store.open() as store:
        store.ensure_tables(table)
        store.put(Marked(id="1", note="x"))
        assert store.get(Part.of(Marked.by_id("1"))) == Part(note="x", ttl=None)
