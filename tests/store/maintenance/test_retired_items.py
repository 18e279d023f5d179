"""Items of retired entities are replaced by what they become, whatever happens in between."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import pytest

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.model import (
    AttributeName,
    Entity,
    FieldGroup,
    Get,
    GlobalIndex,
    Keys,
    Large,
    ModelError,
    Numbered,
    Query,
    RetiredEntity,
    Table,
    Unique,
    Version,
    attr,
    camel_case,
    schema_of,
)
from tablewright.store import MemoryBlobStore, NotUnique, Store, Update, offloaded_sizes
from tablewright.store.flow.driver import Backend, Request, Response
from tablewright.store.maintenance.findings import Fault, Remedy

INDEXES = [GlobalIndex("byCity", "GSI1PK", "GSI1SK")]
before = Table("Shop", "PK", "SK", indexes=INDEXES, type_attribute="kind")
shop = Table("Shop", "PK", "SK", indexes=INDEXES, type_attribute="kind")


class OldCustomer(Entity, table=before, type_name="Customer"):
    customer_id: str
    name: str
    email: Annotated[str, Unique()]
    street: str | None = None
    city: str | None = None

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="CUSTOMER", GSI1PK="CITY#{city}", GSI1SK="{customer_id}")


class Customer(Entity, table=shop):
    customer_id: str
    name: str
    email: Annotated[str, Unique()]

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="CUSTOMER")

    @Get()
    def by_id(self, customer_id: str) -> None: ...


class Address(Entity, table=shop):
    customer_id: str
    number: int = 0
    street: str
    city: str

    keys = Keys(
        PK="CUSTOMER#{customer_id}", SK="ADDRESS#{number:03}", GSI1PK="CITY#{city}", GSI1SK="{customer_id}#{number:03}"
    )

    @Numbered()
    def number_per_customer(self) -> FieldGroup[int]:
        return attr(self.number).per(self.customer_id)

    @Query()
    def of_customer(self, customer_id: str) -> None: ...

    @Query("byCity")
    def in_city(self, city: str) -> None: ...


class CustomerBefore(RetiredEntity, Customer):
    street: str | None = None
    city: str | None = None

    def becomes(self) -> Iterable[Entity]:
        yield Customer(customer_id=self.customer_id, name=self.name, email=self.email)
        if self.street is not None and self.city is not None:
            yield Address(customer_id=self.customer_id, street=self.street, city=self.city)


@pytest.fixture
def store(engine: Engine) -> Store:
    return Store.on(engine)


@pytest.fixture
def split(store: Store) -> Store:
    """Three customers as they were stored before; the last has no address."""
    store.ensure_tables(before)
    for name in "ab":
        store.create(OldCustomer(customer_id=name, name=name.upper(), email=f"{name}@x", street="Main 1", city="Bern"))
    store.create(OldCustomer(customer_id="c", name="C", email="c@x"))
    return store


def stored(engine: Engine, table: str = "Shop") -> list[Item]:
    found: list[Item] = engine.call("Scan", {"TableName": table})["Items"]
    return [item for item in found if not shop.is_internal(item)]


def people(store: Store) -> dict[str, list[str]]:
    return {
        each.customer_id: [found.street for found in store.query(Address.of_customer(each.customer_id)).items]
        for each in store.iterate(Customer)
    }


SPLIT = {"a": ["Main 1"], "b": ["Main 1"], "c": []}


def test_an_item_that_is_not_split_yet_is_reported(split: Store) -> None:
    report = split.verify(shop)
    assert {(each.fault, each.entity, each.item) for each in report.findings} == {
        (Fault.RETIRED, "CustomerBefore", "customer_id a"),
        (Fault.RETIRED, "CustomerBefore", "customer_id b"),
    }
    assert report.findings[0].expected is not None
    assert "Address customer_id" in report.findings[0].expected
    # Until then, it is read as what it has of the new form.
    assert people(split) == {"a": [], "b": [], "c": []}


def test_one_item_becomes_several_and_nothing_of_it_is_left(split: Store, engine: Engine) -> None:
    report = split.repair(shop, dry_run=False)
    assert {each.remedy for each in report.findings} == {Remedy.REPAIRED}
    assert people(split) == SPLIT
    assert {each.customer_id for each in split.query(Address.in_city("Bern")).items} == {"a", "b"}
    assert split.verify(shop).is_clean
    for item in stored(engine):
        if item["SK"] == {"S": "CUSTOMER"} and item["customer_id"] != {"S": "c"}:
            assert not {"street", "city", "GSI1PK", "GSI1SK"} & item.keys()
    with pytest.raises(NotUnique):
        split.create(Customer(customer_id="z", name="Z", email="a@x"))


def test_it_is_done_once(split: Store) -> None:
    split.repair(shop, dry_run=False)
    again = split.repair(shop, dry_run=False)
    assert again.is_clean
    assert people(split) == SPLIT


def test_a_dry_run_changes_nothing(split: Store, engine: Engine) -> None:
    items = stored(engine)
    assert split.repair(shop).progress.found == 2
    assert stored(engine) == items


def test_a_repair_of_the_entity_is_enough(split: Store) -> None:
    split.repair(Customer, dry_run=False)
    assert people(split) == SPLIT


def test_attributes_of_other_writers_stay_with_the_first(split: Store, engine: Engine) -> None:
    (item,) = [each for each in stored(engine) if each["customer_id"] == {"S": "a"}]
    engine.call("PutItem", {"TableName": "Shop", "Item": {**item, "theirs": {"N": "7"}}})
    split.repair(shop, dry_run=False)
    assert [each["SK"]["S"] for each in stored(engine) if "theirs" in each] == ["CUSTOMER"]


def test_an_item_in_the_way_is_left_and_reported(split: Store, engine: Engine) -> None:
    engine.call(
        "PutItem", {"TableName": "Shop", "Item": Address(customer_id="a", number=1, street="x", city="y").item()}
    )
    report = split.repair(shop, dry_run=False)
    (left,) = [each for each in report.findings if each.remedy is Remedy.LEFT]
    assert left.item == "customer_id a"
    assert left.found is not None
    assert "exists" in left.found
    # It has lost nothing.
    (item,) = [each for each in stored(engine) if each["PK"] == {"S": "CUSTOMER#a"} and each["SK"] == {"S": "CUSTOMER"}]
    assert item["street"] == {"S": "Main 1"}


# -- interruptions --------------------------------------------------------------------------------------------------


class Interrupted(Exception):
    """What a test raises instead of sending a request."""


class Stopping:
    """A backend that stops working before, or after, a given number of writes."""

    def __init__(self, backend: Backend, writes: int, *, after: bool) -> None:
        self.backend = backend
        self.writes = writes
        self.after = after

    def call(self, request: Request) -> Response:
        counted = request.operation in ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")
        if counted and self.writes == 0:
            if self.after:
                self.backend.call(request)
            raise Interrupted
        self.writes -= counted
        return self.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


@pytest.mark.parametrize("after", [False, True], ids=["before it is made", "before it is answered"])
@pytest.mark.parametrize("writes", range(3))
def test_a_repair_that_is_interrupted_is_run_again(split: Store, writes: int, after: bool) -> None:
    try:
        Store(Stopping(split.backend, writes, after=after)).repair(shop, dry_run=False)
    except Interrupted:
        assert writes < 2
    split.repair(shop, dry_run=False)
    assert split.verify(shop).is_clean
    assert people(split) == SPLIT


class Meddling:
    """A backend on which somebody else does something just before the first transaction."""

    def __init__(self, backend: Backend, meddle: Any) -> None:
        self.backend = backend
        self.meddle = meddle

    def call(self, request: Request) -> Response:
        if request.operation == "TransactWriteItems" and self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            meddle()
        return self.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


def test_what_another_writer_changes_meanwhile_is_kept(split: Store) -> None:
    def meddle() -> None:
        for name in "ab":
            split.update(Customer.by_id(name), attr(Customer.name).set(f"changed {name}"))

    Store(Meddling(split.backend, meddle)).repair(shop, dry_run=False)
    assert {each.name for each in split.iterate(Customer)} == {"changed a", "changed b", "C"}
    assert people(split) == SPLIT
    assert split.verify(shop).is_clean


def test_what_another_writer_deletes_meanwhile_stays_deleted(split: Store) -> None:
    def meddle() -> None:
        for name in "ab":
            split.delete(Customer.by_id(name))

    Store(Meddling(split.backend, meddle)).repair(shop, dry_run=False)
    assert people(split) == {"c": []}
    assert list(split.iterate(Address)) == []


# -- many successors ------------------------------------------------------------------------------------------------

carts = Table("Carts", "PK", "SK")


class Line(Entity, table=carts):
    cart_id: str
    place: int
    sku: str

    keys = Keys(PK="CART#{cart_id}", SK="LINE#{place:04}")

    @Query()
    def of_cart(self, cart_id: str) -> None: ...


class Cart(RetiredEntity, table=carts):
    cart_id: str
    skus: list[str]

    keys = Keys(PK="CART#{cart_id}", SK="CART")

    def becomes(self) -> Iterator[Entity]:
        for place, sku in enumerate(self.skus):
            yield Line(cart_id=self.cart_id, place=place, sku=sku)


def put_cart(engine: Engine, size: int) -> None:
    engine.call(
        "PutItem",
        {"TableName": "Carts", "Item": Cart(cart_id="1", skus=[f"sku-{number}" for number in range(size)]).item()},
    )


@pytest.mark.parametrize("writes", [None, 0, 1, 3, 6])
def test_more_successors_than_a_transaction_has_room_for(store: Store, engine: Engine, writes: int | None) -> None:
    store.ensure_tables(carts)
    put_cart(engine, 130)
    if writes is not None:
        with pytest.raises(Interrupted):
            Store(Stopping(store.backend, writes, after=True)).repair(carts, dry_run=False)
    store.repair(carts, dry_run=False)
    assert [each.sku for each in store.iterate(Line.of_cart("1"))] == [f"sku-{number}" for number in range(130)]
    assert store.verify(carts).is_clean
    assert len(stored(engine, "Carts")) == 130


def test_an_entity_that_becomes_nothing_is_deleted(store: Store, engine: Engine) -> None:
    store.ensure_tables(carts)
    put_cart(engine, 0)
    assert store.verify(Cart).progress.found == 1
    store.repair(Cart, dry_run=False)
    assert stored(engine, "Carts") == []


# -- other keys, types and tables -----------------------------------------------------------------------------------

plain_before = Table("Orders", "PK", "SK", indexes=INDEXES)
plain = Table("Orders", "PK", "SK", indexes=INDEXES)


class OldOrder(Entity, table=plain_before, type_name="Order", naming=camel_case):
    order_id: str
    shop_id: str
    code: Annotated[str, Unique()]
    text: Annotated[str, Large(threshold=1000)] = ""
    version: Version = 0

    keys = Keys(PK="ORDER#{order_id}", SK="ORDER", GSI1PK="SHOP#{shop_id}", GSI1SK="{order_id}")


class Order(Entity, table=plain, naming=camel_case):
    order_id: str
    shop_id: str
    code: Annotated[str, Unique()]
    text: Annotated[str, Large(threshold=1000)] = ""
    version: Version = 0

    keys = Keys(PK="SHOP#{shop_id}", SK="ORDER#{order_id}")

    @Get()
    def by_id(self, shop_id: str, order_id: str) -> None: ...


class OrderBefore(RetiredEntity, Order):
    keys = Keys(PK="ORDER#{order_id}", SK="ORDER")


def test_items_get_to_another_primary_key_in_a_table_without_a_type_attribute(engine: Engine) -> None:
    store = Store.on(engine, blobs=MemoryBlobStore())
    store.ensure_tables(plain_before)
    for name in "ab":
        order = store.create(OldOrder(order_id=name, shop_id="s", code=name.upper(), text=name * 5000))
        store.update(order, attr(OldOrder.shop_id).set("t"))
    assert {each.fault for each in store.verify(plain).findings} == {Fault.RETIRED}
    store.repair(plain, dry_run=False)
    assert store.verify(plain).is_clean
    moved = store.get(Order.by_id("t", "a"))
    assert moved is not None
    assert (moved.text, moved.version, list(offloaded_sizes(moved))) == ("a" * 5000, 3, ["text"])
    assert all("GSI1PK" not in item for item in stored(engine, "Orders"))
    with pytest.raises(NotUnique):
        store.create(Order(order_id="z", shop_id="t", code="A"))
    assert store.delete(moved)
    store.create(Order(order_id="z", shop_id="t", code="A"))


def test_another_type_name_is_written_in_place(store: Store) -> None:
    old, new = Table("Notes", "PK", type_attribute="kind"), Table("Notes", "PK", type_attribute="kind")

    class OldNote(Entity, table=old, type_name="NOTE"):
        note_id: str
        topic: str = "t"
        number: int = 0
        version: Version = 0
        keys = Keys(PK="NOTE#{note_id}")

        @Numbered()
        def number_per_topic(self) -> FieldGroup[int]:
            return attr(self.number).per(self.topic)

    class Remark(Entity, table=new):
        note_id: str
        topic: str = "t"
        number: int = 0
        version: Version = 0
        keys = Keys(PK="NOTE#{note_id}")

        @Numbered()
        def number_per_topic(self) -> FieldGroup[int]:
            return attr(self.number).per(self.topic)

    class RemarkBefore(RetiredEntity, Remark, type_name="NOTE"):
        pass

    store.ensure_tables(old)
    for name in "abc":
        store.create(OldNote(note_id=name))
    assert list(store.iterate(Remark)) == []
    store.repair(new, dry_run=False)
    assert store.verify(new).is_clean
    assert {each.number for each in store.iterate(Remark)} == {1, 2, 3}
    assert store.create(Remark(note_id="d")).number == 4
    assert schema_of(RemarkBefore).type_name == "NOTE"


def test_an_attribute_goes_to_an_item_that_is_there(store: Store) -> None:
    old, new = Table("Staff", "PK", "SK"), Table("Staff", "PK", "SK")

    class OldBadge(Entity, table=old, type_name="Badge"):
        person_id: str
        phone: str | None = None
        keys = Keys(PK="P#{person_id}", SK="BADGE")

    class Person(Entity, table=new):
        person_id: str
        phone: str | None = None
        keys = Keys(PK="P#{person_id}", SK="PERSON")

        @Get()
        def by_id(self, person_id: str) -> None: ...

    class Badge(Entity, table=new):
        person_id: str
        keys = Keys(PK="P#{person_id}", SK="BADGE")

    class BadgeBefore(RetiredEntity, Badge):
        phone: str

        def becomes(self) -> Iterator[object]:
            yield Badge(person_id=self.person_id)
            yield Update(Person.by_id(self.person_id), attr(Person.phone).set(self.phone))

    store.ensure_tables(old)
    for name in "ab":
        store.create(OldBadge(person_id=name, phone=f"+{name}"))
        store.create(Person(person_id=name))
    store.create(OldBadge(person_id="c", phone="+c"))
    report = store.repair(new, dry_run=False)
    assert [each.item for each in report.findings if each.remedy is Remedy.LEFT] == ["person_id c"]
    assert {each.person_id: each.phone for each in store.iterate(Person)} == {"a": "+a", "b": "+b"}
    assert schema_of(BadgeBefore).is_retired


def test_items_get_to_another_table(store: Store) -> None:
    old, new = Table("First", "id"), Table("Second", "owner", "id")

    class Thing(Entity, table=new):
        owner: str
        id: str

    class ThingBefore(RetiredEntity, Thing, table=old):
        pass

    store.ensure_tables(old, new)
    store.backend.call(Request("PutItem", {"TableName": "First", "Item": {"id": {"S": "1"}, "owner": {"S": "ada"}}}))
    store.repair(old, dry_run=False)
    assert [(each.owner, each.id) for each in store.iterate(Thing)] == [("ada", "1")]
    assert store.verify(old).is_clean
    assert schema_of(ThingBefore).table is old


# -- declarations ---------------------------------------------------------------------------------------------------


def test_a_retired_entity_says_what_it_becomes() -> None:
    with pytest.raises(ModelError, match="does not say what its items become"):

        class Lost(RetiredEntity, table=Table("Lost", "id")):
            id: str


def test_a_retired_entity_is_no_entity_of_its_table() -> None:
    assert CustomerBefore not in shop.entities
    assert shop.retired == [CustomerBefore]
    assert schema_of(CustomerBefore).patterns == {}


def test_a_failure_of_becomes_is_reported_and_the_item_left(store: Store, engine: Engine) -> None:
    table = Table("Odd", "id")

    class New(Entity, table=table):
        id: str
        n: int

    class Old(RetiredEntity, table=table):
        id: str
        n: Annotated[str, AttributeName("m")]

        def becomes(self) -> Iterator[Entity]:
            yield New(id=self.id, n=self.n)  # type: ignore[arg-type]

    store.ensure_tables(table)
    for name, n in (("a", "1"), ("b", "secret")):
        engine.call("PutItem", {"TableName": "Odd", "Item": {"id": {"S": name}, "m": {"S": n}}})
    report = store.repair(table, dry_run=False)
    (left,) = [each for each in report.findings if each.remedy is Remedy.LEFT]
    assert left.found is not None
    assert "Old.becomes: New.n" in left.found
    assert "secret" not in left.found
    items = {item["id"]["S"]: item for item in stored(engine, "Odd")}
    assert items == {"a": {"id": {"S": "a"}, "n": {"N": "1"}}, "b": {"id": {"S": "b"}, "m": {"S": "secret"}}}


# -- writers that go on ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_writers_that_go_on_while_items_are_split_lose_nothing(store: Store) -> None:
    old, new = Table("Busy", "PK", "SK"), Table("Busy", "PK", "SK")

    class OldThing(Entity, table=old, type_name="Thing"):
        thing_id: str
        hits: int = 0
        street: str = "s"
        keys = Keys(PK="T#{thing_id}", SK="THING")

    class Thing(Entity, table=new):
        thing_id: str
        hits: int = 0
        keys = Keys(PK="T#{thing_id}", SK="THING")

        @Get()
        def by_id(self, thing_id: str) -> None: ...

    class Place(Entity, table=new):
        thing_id: str
        street: str
        keys = Keys(PK="T#{thing_id}", SK="PLACE")

    class ThingBefore(RetiredEntity, Thing):
        street: str

        def becomes(self) -> Iterator[object]:
            yield Thing(thing_id=self.thing_id, hits=self.hits)
            yield Place(thing_id=self.thing_id, street=self.street)

    store.ensure_tables(old)
    names = [str(number) for number in range(60)]
    for name in names:
        store.put(OldThing(thing_id=name))
    stop = threading.Event()
    counted: list[Counter[str]] = []

    def write(seed: int) -> None:
        choices, mine = random.Random(seed), Counter[str]()
        while not stop.is_set():
            name = choices.choice(names)
            store.update(Thing.by_id(name), attr(Thing.hits).add(1))
            mine[name] += 1
        counted.append(mine)

    writers = [threading.Thread(target=write, args=[seed]) for seed in range(3)]
    for writer in writers:
        writer.start()
    while not store.repair(new, dry_run=False).is_clean:
        pass
    stop.set()
    for writer in writers:
        writer.join()
    total = sum(counted, Counter[str]())
    assert store.verify(new).is_clean
    assert {each.thing_id: each.hits for each in store.iterate(Thing)} == {name: total[name] for name in names}
    assert {each.thing_id for each in store.iterate(Place)} == set(names)
    assert schema_of(ThingBefore).is_retired
