"""What a design is estimated to take is what the engine charges, for every pattern and every write."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.index_costs import is_sparse
from tablewright.design.sample_entities import sample
from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Volume,
    Write,
    attr,
    schema_of,
)
from tablewright.store import Check, Create, Store
from tests.design.models import Account, Line, Order, OrderTotal, State, bare, orders

Charges = dict[str, tuple[Decimal, Decimal]]

_READS = ("GetItem", "BatchGetItem", "Query", "Scan")


class Bench:
    """A store that counts what is consumed, by table and index: read and write units."""

    def __init__(self) -> None:
        self.charges: Charges = {}
        self.store = Store.open(None, on_capacity=self._count)
        self.store.ensure_tables(orders)

    def _count(self, pattern: str, operation: str, consumed: Any) -> None:
        for figures in [consumed] if isinstance(consumed, dict) else consumed:
            places = {figures["TableName"]: figures["Table"]}
            for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
                places |= {f"{figures['TableName']}/{name}": units for name, units in figures.get(member, {}).items()}
            for place, units in places.items():
                amount = Decimal(str(units["CapacityUnits"]))
                read, write = self.charges.get(place, (Decimal(0), Decimal(0)))
                reads = operation in _READS
                self.charges[place] = (read + amount, write) if reads else (read, write + amount)

    def charged(self, action: Callable[[Store], object]) -> Charges:
        self.charges.clear()
        action(self.store)
        return {place: units for place, units in self.charges.items() if any(units)}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def estimated(subject: str, design: Design = bare) -> Charges:
    found: Charges = {}
    for units in CapacityEstimate(design).of(subject):
        read, write = found.get(units.place, (Decimal(0), Decimal(0)))
        found[units.place] = read + units.read, write + units.write
    return found


def order(n: int = 0, **changes: object) -> Order:
    return sample(Order, n).model_copy(update={"version": 0, "updated_at": None, **changes})


def late(n: int = 0) -> Order:
    """An order in the state that is in a sparse index, which is where writes cost most."""
    return order(n, state=State.DELAYED)


def line(n: int = 0, **changes: object) -> Line:
    return sample(Line, n).model_copy(update={"position": 0, **changes})


def there(bench: Bench, entity: Order | Line) -> Any:
    return bench.store.create(entity)


# -- writes ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("write", "begin", "action"),
    [
        ("place", lambda store: None, lambda store, _: store.create(order())),
        ("add_line", lambda store: None, lambda store, _: store.create(line())),
        ("place_all", lambda store: None, lambda store, _: store.transact(Create(order()), Create(line()))),
        (
            "pick",
            lambda store: store.create(late()),
            lambda store, it: store.update(it, attr(Order.state).set(State.PICKED)),
        ),
        (
            "remark",
            lambda store: store.create(late()),
            lambda store, it: store.update(it, attr(Order.remark).set("good")),
        ),
        (
            "renumber",
            lambda store: store.create(late()),
            lambda store, it: store.update(it, attr(Order.number).set("number-9")),
        ),
        (
            "hand_over",
            lambda store: store.create(late()),
            lambda store, it: store.update(it, attr(Order.customer_id).set("customer-9")),
        ),
        (
            "add_to_order",
            lambda store: store.create(order()),
            lambda store, it: store.transact(Create(line()), Check(it, attr(Order.state) == State.PLACED)),
        ),
        ("drop", lambda store: store.create(late()), lambda store, it: store.delete(it)),
        ("drop_line", lambda store: store.create(line()), lambda store, it: store.delete(it)),
    ],
)
def test_a_write_is_estimated_as_it_is_charged(
    bench: Bench, write: str, begin: Callable[[Store], Any], action: Callable[[Store, Any], Any]
) -> None:
    entity = begin(bench.store)
    assert bench.charged(lambda store: action(store, entity)) == estimated(write)


@pytest.mark.requirement("X5")
def test_a_write_with_a_check_is_a_transaction() -> None:
    class Note(Entity, table=Table("notes", "id")):
        id: str

    def written(*checks: type[Entity]) -> Design:
        write = Write("add", ItemWrite(Note, "create"), checks=checks)
        return Design("Notes", tables=[schema_of(Note).table, orders], writes=[write])

    (plain,) = CapacityEstimate(written()).of("add")
    assert plain.write == 1
    # Twice for the note, and twice for each of what is checked.
    nothing = Decimal(0)
    assert estimated("add", written(Order, Line)) == {"notes": (nothing, Decimal(2)), "Orders": (nothing, Decimal(4))}


def test_a_change_into_a_state_writes_its_sparse_index_once(bench: Bench) -> None:
    entity = bench.store.create(order())
    assert bench.charged(lambda store: store.update(entity, attr(Order.state).set(State.DELAYED))) == estimated("pick")


# -- reads ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        ("Order.by_id", lambda s: s.get(Order.by_id(customer_id="customer-1", order_id="order-1"))),
        ("Order.by_id_now", lambda s: s.get(Order.by_id_now(customer_id="customer-1", order_id="order-1"))),
        ("Order.of_customer", lambda s: s.query(Order.of_customer(customer_id="customer-1"))),
        ("Order.of_customer_now", lambda s: s.query(Order.of_customer_now(customer_id="customer-1"))),
        ("Order.in_state", lambda s: s.query(Order.in_state(state=State.PLACED))),
        ("Order.of_shop", lambda s: s.query(Order.of_shop(shop="shop-1"))),
        ("OrderTotal.totals_of_shop", lambda s: s.query(OrderTotal.totals_of_shop(shop="shop-1"))),
        ("Order.by_total", lambda s: s.query(Order.by_total(customer_id="customer-1", since=0))),
        ("Line.of_order", lambda s: s.query(Line.of_order(customer_id="customer-1", order_id="order-1"))),
        ("Account.of_customer", lambda s: s.collect(Account.of_customer(customer_id="customer-1"))),
    ],
)
def test_a_read_is_estimated_as_it_is_charged(bench: Bench, pattern: str, read: Callable[[Store], Any]) -> None:
    for n in range(3):
        there(bench, order(n, customer_id="customer-1", shop="shop-1", state=State.PLACED, order_id=f"order-{n + 1}"))
        there(bench, line(n, customer_id="customer-1", order_id="order-1"))
    assert bench.charged(read) == estimated(pattern)


def test_a_large_item_takes_more_units_the_whole_way(bench: Bench) -> None:
    remark = "x" * 5000
    size = len(remark) - len("none")
    large = Design(
        "Large",
        tables=[orders],
        writes=list(bare.writes.values()),
        volume={Order: Volume(items=1, size=CapacityEstimate(bare).size(schema_of(Order)) + size)},
    )
    entity = order(remark=remark)
    assert bench.charged(lambda store: store.create(entity)) == estimated("place", large)
    assert bench.charged(
        lambda store: store.get(Order.by_id(customer_id=entity.customer_id, order_id=entity.order_id))
    ) == estimated("Order.by_id", large)
    assert bench.charged(lambda store: store.update(entity, attr(Order.state).set(State.DELAYED))) == estimated(
        "pick", large
    )
    assert bench.charged(lambda store: store.query(Order.by_total(customer_id=entity.customer_id, since=0))) == {
        "Orders": (Decimal(1), Decimal(0)),
        "Orders/byTotal": (Decimal("0.5"), Decimal(0)),
    }


# -- what a declaration says ------------------------------------------------------------------------------------


def test_what_a_filter_drops_is_read_as_well() -> None:
    size = CapacityEstimate(bare, {Order: 4096}).of("Order.placed")
    # One of four states is wanted: to get two items, eight are read.
    assert [units.read for units in size] == [Decimal(4)]


def test_a_query_that_says_nothing_is_taken_to_give_ten_items() -> None:
    table = Table("Things", "pk", "sk")

    class Thing(Entity, table=table):
        pk: str
        sk: str

        @Query()
        def some(self, pk: str) -> None: ...

        @Query(expected=2)
        def few(self, pk: str) -> None: ...

    design = Design("Things", tables=[table], volume={Thing: Volume(items=1, size=4096)})
    assert [units.read for units in CapacityEstimate(design).of("Thing.some")] == [5]
    assert [units.read for units in CapacityEstimate(design).of("Thing.few")] == [1]


def test_several_items_are_a_transaction_at_twice_the_price() -> None:
    table = Table("Things", "pk", indexes=[GlobalIndex("byOther", "other")])

    class Thing(Entity, table=table):
        pk: str
        other: str

        @Get()
        def by_id(self, pk: str) -> None: ...

    one, many = Write("one", ItemWrite(Thing, "put")), Write("many", ItemWrite(Thing, "put", count=3))
    design = Design("Things", tables=[table], writes=[one, many])
    assert {units.place: units.write for units in CapacityEstimate(design).of("one")} == {
        "Things": 1,
        "Things/byOther": 1,
    }
    # An index is charged once.
    assert {units.place: units.write for units in CapacityEstimate(design).of("many")} == {
        "Things": 6,
        "Things/byOther": 3,
    }


def test_an_index_that_an_item_is_in_later_only_is_sparse() -> None:
    table = Table("Things", "pk", indexes=[GlobalIndex("byOwner", "owner"), GlobalIndex("byKind", "kindKey")])

    class Thing(Entity, table=table):
        pk: str
        owner: str | None = None
        kind: str = "a"

        keys = Keys(kindKey="KIND#{kind}")

    design = Design("Things", tables=[table], writes=[Write("add", ItemWrite(Thing, "create"))])
    capacity, schema = CapacityEstimate(design), schema_of(Thing)
    assert [index.name for index in table.indexes if is_sparse(schema, index)] == ["byOwner"]
    assert [units.place for units in capacity.of("add")] == ["Things", "Things/byKind"]
