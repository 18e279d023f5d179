"""A policy against the truth: each pattern and each write is run on the embedded engine.

What is asked for must be allowed, and what is allowed must have been asked for.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from tablewright.design import iam
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Large,
    Numbered,
    Query,
    Reaction,
    Schema,
    Table,
    Unique,
    Upgrades,
    Write,
    attr,
    schema_of,
)
from tablewright.store import Check, Consumer, Create, Delete, IdempotencyRecord, Outcome, Store, Update
from tablewright.store.flow.driver import Request
from tests.design.iam.permissions import ARN, Permissions, allowed, opened
from tests.design.models import Account, Line, Order, OrderTotal, State, orders

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def order(n: int = 1) -> Order:
    return Order(customer_id="c-1", order_id=f"o-{n}", number=f"n-{n}", shop="s-1", placed_at=NOON)


# -- reads ----------------------------------------------------------------------------------------------------------

READS: dict[str, Callable[[Store], Any]] = {
    "Order.by_id": lambda store: store.get(Order.by_id(customer_id="c-1", order_id="o-1")),
    "Order.of_customer": lambda store: store.query(Order.of_customer(customer_id="c-1")),
    "Order.in_state": lambda store: store.query(Order.in_state(state=State.PLACED)),
    "Order.of_shop": lambda store: store.query(Order.of_shop(shop="s-1")),
    "OrderTotal.totals_of_shop": lambda store: store.query(OrderTotal.totals_of_shop(shop="s-1")),
    "Order.by_total": lambda store: store.query(Order.by_total(customer_id="c-1", since=1)),
    "Order.late": lambda store: store.query(Order.late()),
    "Order.placed": lambda store: store.query(Order.placed(customer_id="c-1")),
    "Line.of_order": lambda store: store.query(Line.of_order(customer_id="c-1", order_id="o-1")),
    "Account.of_customer": lambda store: store.collect(Account.of_customer(customer_id="c-1")),
}


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", READS)
def test_a_reader_is_granted_exactly_what_its_pattern_asks_for(name: str) -> None:
    design = Design("Orders", tables=[orders], collections=[Account], roles={"reader": [name]})
    store, backend = opened(orders)
    store.create(order())
    backend.asked.clear()
    READS[name](store)
    assert allowed(iam.document(iam.grants(design, "reader"), ARN)) == backend.asked


# -- writes ---------------------------------------------------------------------------------------------------------


def place(store: Store) -> None:
    store.create(order(2))


def add_line(store: Store) -> None:
    store.create(Line(customer_id="c-1", order_id="o-1", product="p"))


def remark(store: Store) -> None:
    store.update(Order.by_id(customer_id="c-1", order_id="o-1"), attr(Order.remark).set("late"))


def pick(store: Store) -> None:
    store.update(Order.by_id(customer_id="c-1", order_id="o-1"), attr(Order.state).set(State.PICKED))


def renumber(store: Store) -> None:
    store.update(Order.by_id(customer_id="c-1", order_id="o-1"), attr(Order.number).set("n-9"))


def hand_over(store: Store) -> None:
    store.update(Order.by_id(customer_id="c-1", order_id="o-1"), attr(Order.customer_id).set("c-2"))


def drop(store: Store) -> None:
    store.delete(Order.by_id(customer_id="c-1", order_id="o-1"))


def replace(store: Store) -> None:
    there = store.get(Order.by_id(customer_id="c-1", order_id="o-1"))
    assert there is not None
    there.number = "n-7"
    store.backend.asked.clear()  # type: ignore[attr-defined]
    store.put(there)


def add_and_check(store: Store) -> None:
    line = Line(customer_id="c-1", order_id="o-1", position=4, product="p")
    store.transact(
        Create(line), Check(Order.by_id(customer_id="c-1", order_id="o-1"), attr(Order.state) == State.PLACED)
    )


def import_products(store: Store) -> None:
    store.write_many([Product(product_id=f"p-{n}", name="n") for n in range(3)])


products = Table("Products", "product_id", indexes=[GlobalIndex("byName", "name")])


class Product(Entity, table=products):
    product_id: str
    name: str

    @Get(many=True)
    def by_id(self, product_id: str) -> None: ...

    @Query("byName")
    def by_name(self, name: str) -> None: ...


WRITES: dict[str, tuple[Write, Callable[[Store], object]]] = {
    "place": (Write("place", ItemWrite(Order, "create")), place),
    "remark": (Write("remark", ItemWrite(Order, "update", sets=[Order.remark])), remark),
    "pick": (Write("pick", ItemWrite(Order, "update", sets=[Order.state])), pick),
    "renumber": (Write("renumber", ItemWrite(Order, "update", sets=[Order.number])), renumber),
    "hand over": (Write("hand over", ItemWrite(Order, "update", sets=[Order.customer_id])), hand_over),
    "drop": (Write("drop", ItemWrite(Order, "delete")), drop),
    "replace": (Write("replace", ItemWrite(Order, "put")), replace),
    "add line": (Write("add line", ItemWrite(Line, "create")), add_line),
    "import": (Write("import", ItemWrite(Product, "put", count=25, conditional=False)), import_products),
    "rename": (
        Write("rename", ItemWrite(Product, "update", sets=[Product.name])),
        lambda store: store.update(Product.by_id(product_id="p-0"), attr(Product.name).set("x")),
    ),
    "drop product": (
        Write("drop product", ItemWrite(Product, "delete")),
        lambda store: store.delete(Product.by_id(product_id="p-0")),
    ),
}


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", WRITES)
def test_a_writer_is_granted_what_its_write_asks_for(name: str) -> None:
    write, run = WRITES[name]
    design = Design("Orders", tables=[orders, products], writes=[write], roles={"writer": [name]})
    store, backend = opened(orders, products)
    store.create(order())
    store.put(Product(product_id="p-0", name="n"))
    backend.asked.clear()
    run(store)
    granted = allowed(iam.document(iam.grants(design, "writer"), ARN))
    assert backend.asked <= granted
    assert granted - backend.asked == MAY_BE_NEEDED.get(name, set())


ORDERS_ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/Orders"
MAY_BE_NEEDED: dict[str, Permissions] = {
    # Who hands an order over to the customer that has it moves nothing.
    "hand over": {("dynamodb:UpdateItem", ORDERS_ARN)},
}


@pytest.mark.requirement("X3")
def test_a_check_is_an_action_of_its_own() -> None:
    write = Write("add", ItemWrite(Line, "create"), checks=[Order])
    design = Design("Orders", tables=[orders], writes=[write], roles={"writer": ["add"]})
    store, backend = opened(orders)
    store.create(order())
    backend.asked.clear()
    add_and_check(store)
    granted = allowed(iam.document(iam.grants(design, "writer"), ARN))
    assert ("dynamodb:ConditionCheckItem", ORDERS_ARN) in backend.asked
    assert backend.asked <= granted


@pytest.mark.requirement("X3")
def test_many_at_once_take_a_permission_of_their_own() -> None:
    design = Design("Products", tables=[products], roles={"reader": ["Product.by_id"]})
    store, backend = opened(products)
    store.get(Product.by_id(product_id="p-1"))
    store.get_many([Product.by_id(product_id="p-1"), Product.by_id(product_id="p-2")])
    assert allowed(iam.document(iam.grants(design, "reader"), ARN)) == backend.asked


# -- items that are found by an index -------------------------------------------------------------------------------

calls = Table("Calls", "userId", "sk", indexes=[GlobalIndex("byCallId", "callId")], stream="NEW_AND_OLD_IMAGES")


class Call(Entity, table=calls):
    userId: str
    callId: Annotated[str, Unique()]
    at: int
    status: str = "SCHEDULED"

    keys = Keys(sk="{at:013}#{callId}")

    @Get("byCallId")
    def by_id(self, callId: str) -> None: ...


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(
    ("write", "run"),
    [
        (
            ItemWrite(Call, "update", sets=[Call.status]),
            lambda store: store.update(Call.by_id(callId="c"), attr(Call.status).set("DONE")),
        ),
        (
            ItemWrite(Call, "update", sets=[Call.at]),
            lambda store: store.update(Call.by_id(callId="c"), attr(Call.at).set(2)),
        ),
        (ItemWrite(Call, "delete"), lambda store: store.delete(Call.by_id(callId="c"))),
        (
            ItemWrite(Call, "delete"),
            lambda store: store.transact(
                Delete(Call.by_id(callId="c")), Update(Call.by_id(callId="d"), attr(Call.status).set("X"))
            ),
        ),
    ],
    ids=["in place", "move", "delete", "transaction"],
)
def test_a_write_to_what_an_index_leads_to_is_allowed(write: ItemWrite, run: Callable[[Store], object]) -> None:
    writes = [Write("write", write), Write("other", ItemWrite(Call, "update", sets=[Call.status]))]
    design = Design("Calls", tables=[calls], writes=writes, roles={"api": ["Call.by_id", "write", "other"]})
    store, backend = opened(calls)
    store.create(Call(userId="u", callId="c", at=1))
    store.create(Call(userId="u", callId="d", at=1))
    backend.asked.clear()
    run(store)
    policy = iam.document(iam.grants(design, "api"), ARN)
    assert backend.asked
    for action, resource in backend.asked:
        assert is_allowed(policy, action, resource), (action, resource)


@pytest.mark.requirement("X3")
def test_what_was_just_written_is_read_by_its_guard() -> None:
    design = Design("Calls", tables=[calls], roles={"reader": ["Call.by_id"]})
    store, backend = opened(calls)
    store.create(Call(userId="u", callId="c", at=1))
    backend.asked.clear()
    store.get(Call.by_id(callId="c"))
    store.get(Call.by_id(callId="c"), consistent=True)
    assert allowed(iam.document(iam.grants(design, "reader"), ARN)) == backend.asked


members = Table("Members", "PK", indexes=[GlobalIndex("byMail", "GSI1PK")])


class Member(Entity, table=members):
    member_id: str
    mail: Annotated[str, Unique()]

    keys = Keys(PK="MEMBER#{member_id}", GSI1PK="MAIL#{mail}")

    @Get("byMail")
    def by_mail(self, mail: str) -> None: ...


@pytest.mark.requirement("X3")
def test_a_key_made_of_a_unique_field_is_read_by_its_guard_as_well() -> None:
    design = Design("Members", tables=[members], roles={"reader": ["Member.by_mail"]})
    store, backend = opened(members)
    store.create(Member(member_id="m", mail="m@example.com"))
    backend.asked.clear()
    store.get(Member.by_mail(mail="m@example.com"))
    store.get(Member.by_mail(mail="m@example.com"), consistent=True)
    same = {("dynamodb:Query", "arn:aws:dynamodb:us-east-1:123456789012:table/Members")}
    assert allowed(iam.document(iam.grants(design, "reader"), ARN)) - same == backend.asked


# -- what is carried out once ---------------------------------------------------------------------------------------


class Once(IdempotencyRecord, table=Table("Once", "PK", ttl="ttl")):
    keys = Keys(PK="ONCE#{idempotency_key}")


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(
    "item_write", [ItemWrite(Once, "create"), ItemWrite(Once, "update", sets=[Once.response]), ItemWrite(Once, "put")]
)
def test_what_is_carried_out_once_is_allowed_whatever_comes_of_it(item_write: ItemWrite) -> None:
    table = schema_of(Once).table
    design = Design("Once", tables=[table], writes=[Write("do", item_write)], roles={"api": ["do"]})
    store, backend = opened(table)

    def fails() -> Outcome:
        raise ValueError("no")

    for _ in range(2):
        store.execute_once(Once, "k", {}, lambda: Outcome({}))
    with pytest.raises(ValueError, match="no"):
        store.execute_once(Once, "other", {}, fails)
    assert allowed(iam.document(iam.grants(design, "api"), ARN)) == backend.asked


# -- older schema versions --------------------------------------------------------------------------------------------


def with_mail(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "mail": f"{values.pop('name')}@example.com"}


@pytest.mark.requirement("X3")
def test_a_read_that_writes_back_is_granted_that() -> None:
    class First(Entity, table=Table("People", "PK")):
        PK: str
        name: str

    class Person(Entity, table=Table("People", "PK")):
        PK: str
        mail: str

        upgrades = Upgrades(with_mail, write_back=True)

        @Get()
        def by_id(self, PK: str) -> None: ...

    design = Design("People", tables=[schema_of(Person).table], roles={"reader": ["Person.by_id"]})
    store, backend = opened(schema_of(First).table)
    store.create(First(PK="p", name="ada"))
    backend.asked.clear()
    found = store.get(Person.by_id(PK="p"))
    assert found is not None
    assert found.mail == "ada@example.com"
    assert allowed(iam.document(iam.grants(design, "reader"), ARN)) == backend.asked


# -- large values ---------------------------------------------------------------------------------------------------

files = Table("Files", "id", indexes=[GlobalIndex("byName", "name")])


class File(Entity, table=files):
    id: str
    name: str = "n"
    content: Annotated[str, Large(1000)] = ""

    @Get()
    def by_id(self, id: str) -> None: ...

    @Get(load_large=False)
    def outline(self, id: str) -> None: ...

    @Query("byName")
    def by_name(self, name: str) -> None: ...


@pytest.mark.requirement("X3")
def test_large_values_take_a_read_of_the_item() -> None:
    write = Write("fill", ItemWrite(File, "update", sets=[File.content]))
    roles = {"writer": ["fill"], "reader": ["File.by_id", "File.by_name"], "outliner": ["File.outline"]}
    design = Design("Files", tables=[files], writes=[write], roles=roles)
    store, backend = opened(files)
    store.create(File(id="f", content="x" * 2000))
    backend.asked.clear()
    store.update(File.by_id(id="f"), attr(File.content).set("y" * 2000))
    assert backend.asked <= allowed(iam.document(iam.grants(design, "writer"), ARN))
    backend.asked.clear()
    store.get(File.by_id(id="f"))
    store.query(File.by_name(name="n"))
    # An item whose value was replaced while it was read is read again.
    again = {("dynamodb:BatchGetItem", "arn:aws:dynamodb:us-east-1:123456789012:table/Files")}
    same = {("dynamodb:Query", "arn:aws:dynamodb:us-east-1:123456789012:table/Files")}
    assert allowed(iam.document(iam.grants(design, "reader"), ARN)) - backend.asked == again | same
    assert {grant.action for grant in iam.grants(design, "outliner")} == {"GetItem"}


# -- consumers ------------------------------------------------------------------------------------------------------

metrics = Table("Metrics", "PK", "SK")


class Counter(Entity, table=metrics):
    name: str
    count: int = 0

    keys = Keys(PK="COUNTER#{name}", SK="TOTAL")

    @Get()
    def named(self, name: str) -> None: ...


@pytest.mark.requirement("X3")
def test_a_consumer_is_granted_its_stream_its_notes_and_what_it_writes() -> None:
    design = Design(
        "Calls",
        tables=[calls, metrics],
        writes=[Write("count", ItemWrite(Counter, "update", sets=[Counter.count]))],
        reactions=[Reaction("metrics", Call, effect="count")],
        roles={"metrics": ["count"]},
    )
    store, backend = opened(calls, metrics)

    def handler(changes: Any, effects: Any) -> None:
        if any(getattr(change.after, "status", "") == "POISON" for change in changes):
            raise ValueError("poison")
        effects.add(Counter.named(name="calls"), attr(Counter.count).add(len(changes)))

    consumer = Consumer(store, calls, handler, name="metrics", checkpoints=metrics, retries=0)
    store.create(Call(userId="u", callId="c", at=1))
    store.create(Call(userId="u", callId="d", at=1, status="POISON"))
    backend.asked.clear()
    consumer.run_once()
    consumer.release()
    label = store.backend.call(Request("DescribeTable", {"TableName": "Calls"}))["Table"]["LatestStreamLabel"]
    arn = iam.arns("us-east-1", "123456789012", stream_labels={"Calls": label})
    policy = iam.document(iam.all_grants(design)["metrics"], arn)
    assert "*" not in str(policy)
    iterated = ("dynamodb:GetRecords", "the stream of the iterator")
    assert iterated in backend.asked
    granted = allowed(policy)
    assert backend.asked - {iterated} <= granted
    stream = f"arn:aws:dynamodb:us-east-1:123456789012:table/Calls/stream/{label}"
    # Records are read by an iterator, which is one of the stream; checkpoints are read again when an answer gets lost,
    # and deleted with their shards.
    notes = "arn:aws:dynamodb:us-east-1:123456789012:table/Metrics"
    assert granted - backend.asked == {
        ("dynamodb:GetRecords", stream),
        ("dynamodb:GetItem", notes),
        ("dynamodb:DeleteItem", notes),
    }


def test_numbered_fields_take_their_counter() -> None:
    schema: Schema = schema_of(Line)
    assert schema.numbered[0].marker(Numbered).per == ("customer_id", "order_id")
    design = Design("O", tables=[orders], writes=[Write("add", ItemWrite(Line, "create"))], roles={"w": ["add"]})
    assert {grant.action for grant in iam.grants(design, "w")} == {"PutItem", "GetItem", "UpdateItem"}
