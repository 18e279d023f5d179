"""Counters that are declared: kept by the transaction of each write, exact whatever is written and however."""

from __future__ import annotations

import random
import threading
import types
from decimal import Decimal
from typing import Annotated, Any

import pytest

from tablewright.model import (
    Entity,
    ExpiresAt,
    FieldChange,
    Get,
    Keys,
    ModelError,
    Table,
    Unique,
    Version,
    attr,
    count_of,
    sum_of,
)
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    Create,
    Delete,
    Fault,
    NotFound,
    NotUnique,
    Put,
    Remedy,
    Store,
    Update,
    Upsert,
)
from tests.store.bench import Bench
from tests.store.counted_bookings import AccountTotals, Booking, Kind, OwnerTotals, ledger, totals
from tests.store.recording_backend import watched


@pytest.fixture
def ready(bench: Bench, store: Store) -> Store:
    bench.create_own(ledger, totals)
    return store


def counted(store: Store, account: str) -> tuple[int, int, Decimal | int]:
    found = store.get(AccountTotals.of_account(account), consistent=True)
    return (0, 0, Decimal(0)) if found is None else (found.bookings, found.paid, found.revenue)


def expected(store: Store, account: str) -> tuple[int, int, Decimal | int]:
    found = list(store.iterate(Booking.of_account(account), consistent=True))
    paid = [each for each in found if each.kind is Kind.PAID]
    return len(found), len(paid), sum((each.amount for each in paid), Decimal(0))


def test_every_kind_of_write_counts(ready: Store) -> None:
    one = ready.create(Booking(account="a", number=1, amount=Decimal("1.50")))
    assert counted(ready, "a") == (1, 0, 0)
    ready.put(Booking(account="a", number=2, kind=Kind.PAID, amount=Decimal(3)))
    assert counted(ready, "a") == (2, 1, 3)
    ready.update(one, attr(Booking.kind).set(Kind.PAID))
    assert counted(ready, "a") == (2, 2, Decimal("4.5"))
    ready.update(Booking.by_number("a", 2), attr(Booking.amount).add(Decimal(2)))
    assert counted(ready, "a") == (2, 2, Decimal("6.5"))
    # A put over what is there counts the difference.
    ready.put(Booking(account="a", number=2, kind=Kind.OPEN, amount=Decimal(9)))
    assert counted(ready, "a") == (2, 1, Decimal("1.5"))
    ready.upsert(Booking(account="a", number=2, kind=Kind.PAID, amount=Decimal(9)))
    ready.upsert(Booking(account="a", number=3, kind=Kind.PAID, amount=Decimal(1)))
    assert counted(ready, "a") == (3, 3, Decimal("11.5"))
    # To another group, which is another primary key here.
    ready.update(one, attr(Booking.account).set("b"))
    assert counted(ready, "a") == (2, 2, 10)
    assert counted(ready, "b") == (1, 1, Decimal("1.5"))
    assert ready.delete(one)
    assert not ready.delete(one)
    assert ready.delete(Booking.by_number("a", 3))
    assert counted(ready, "b") == (0, 0, 0)
    assert counted(ready, "a") == expected(ready, "a") == (1, 1, 9)
    ready.update(Booking.any_of_kind(Kind.PAID), attr(Booking.note).set("x"))
    ready.create(Booking(account="a", number=2, kind=Kind.OPEN), replacing=attr(Booking.note) == "x")
    assert ready.delete_all(Booking.of_account("a")) == 1
    assert counted(ready, "a") == (0, 0, 0)
    assert ready.verify(ledger).is_clean
    assert ready.verify(AccountTotals).is_clean


def test_what_does_not_change_a_count_is_one_request(bench: Bench, ready: Store) -> None:
    store, backend = watched(bench)
    store.create(Booking(account="a", number=1))
    backend.operations.clear()
    store.update(Booking.by_number("a", 1), attr(Booking.note).set("x"))
    assert backend.operations == ["UpdateItem"]
    store.update(Booking.by_number("a", 1), attr(Booking.amount).set(Decimal(5)))
    assert backend.operations[1:] == ["GetItem", "UpdateItem"]


def test_a_group_that_is_absent_counts_nowhere(ready: Store) -> None:
    booking = ready.create(Booking(account="a", number=1))
    ready.update(booking, attr(Booking.owner).set("ada"))
    ready.update(Booking.by_number("a", 1), attr(Booking.owner).set("bea"))
    ready.create(Booking(account="a", number=2, owner="bea"))
    names = [OwnerTotals.by_name(name) for name in ("ada", "bea")]
    assert [each and each.bookings for each in ready.get_many(names)] == [0, 2]
    ready.update(Booking.by_number("a", 1), attr(Booking.owner).set(None))
    assert [each and each.bookings for each in ready.get_many(names)] == [0, 1]


def test_a_transaction_counts_once_for_all_its_operations(ready: Store) -> None:
    ready.transact(*(Create(Booking(account="a", number=number, amount=Decimal(1))) for number in range(10)))
    assert counted(ready, "a") == (10, 0, 0)
    ready.transact(
        Delete(Booking.by_number("a", 0)),
        Create(Booking(account="a", number=10)),
        Update(Booking.by_number("a", 1), attr(Booking.kind).set(Kind.PAID)),
        Create(Booking(account="b", number=1, kind=Kind.PAID, amount=Decimal(2))),
    )
    assert counted(ready, "a") == expected(ready, "a") == (10, 1, 1)
    assert counted(ready, "b") == (1, 1, 2)
    with pytest.raises(Cancelled):
        ready.transact(Create(Booking(account="a", number=20)), Create(Booking(account="a", number=1)))
    assert counted(ready, "a") == (10, 1, 1)


def test_what_is_refused_counts_nothing(ready: Store) -> None:
    ready.create(Booking(account="a", number=1, code="x"))
    with pytest.raises(AlreadyExists):
        ready.create(Booking(account="a", number=1))
    with pytest.raises(NotUnique):
        ready.create(Booking(account="a", number=2, code="x"))
    with pytest.raises(NotFound):
        ready.update(Booking.by_number("a", 9), attr(Booking.kind).set(Kind.PAID))
    assert counted(ready, "a") == (1, 0, 0)


def random_write(chosen: random.Random, store: Store) -> None:
    account, number = chosen.choice("ab"), chosen.randrange(4)
    lookup = Booking.by_number(account, number)
    entity = Booking(
        account=account,
        number=number,
        kind=chosen.choice(list(Kind)),
        amount=Decimal(chosen.randrange(5)),
        owner=chosen.choice([None, "ada", "bea"]),
    )
    change: FieldChange = chosen.choice(
        [
            attr(Booking.kind).set(chosen.choice(list(Kind))),
            attr(Booking.amount).add(Decimal(chosen.randrange(3))),
            attr(Booking.owner).set(chosen.choice([None, "ada", "bea"])),
            attr(Booking.account).set(chosen.choice("ab")),
            attr(Booking.note).set("n"),
            attr(Booking.amount).remove(),
            attr(Booking.kind).set_if_absent(Kind.PAID),
        ]
    )
    operation = chosen.choice([Create(entity), Put(entity), Upsert(entity), Delete(lookup), Update(lookup, change)])
    store.write_each([operation])


@pytest.mark.parametrize("seed", range(6))
def test_counters_are_exact_after_any_history(embedded: Bench, seed: int) -> None:
    embedded.create_own(ledger, totals)
    store, chosen = embedded.store, random.Random(seed)
    for _ in range(120):
        random_write(chosen, store)
    for account in "ab":
        assert counted(store, account) == expected(store, account)
    assert store.verify(ledger).is_clean
    assert [finding for finding in store.verify(totals).findings if finding.subject == "bookings"] == []


def test_counters_are_exact_with_many_writers(embedded: Bench) -> None:
    embedded.create_own(ledger, totals)
    store = embedded.store

    def write(seed: int) -> None:
        chosen = random.Random(seed)
        for _ in range(25):
            random_write(chosen, store)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for account in "ab":
        assert counted(store, account) == expected(store, account)
    assert store.verify(AccountTotals).is_clean


def test_a_wrong_counter_is_found_and_repaired(bench: Bench, ready: Store) -> None:
    for number in range(3):
        ready.create(Booking(account="a", number=number, kind=Kind.PAID, amount=Decimal(2)))
    # Another program deletes and adds items, and knows nothing of counters.
    item = Booking(account="a", number=7, kind=Kind.PAID, amount=Decimal(5)).item()
    bench.save_item(ledger, item)
    bench.save(Booking(account="new", number=1))
    bench.save_item(ledger, {**AccountTotals(account="gone").item(), "bookings": {"N": "4"}})
    report = ready.verify(ledger)
    assert {
        (finding.fault, finding.item, finding.subject, finding.expected, finding.found) for finding in report.findings
    } == {
        (Fault.COUNTER, "account a", "bookings", "4", "3"),
        (Fault.COUNTER, "account a", "paid", "4", "3"),
        (Fault.COUNTER, "account a", "revenue", "11", "6"),
        (Fault.COUNTER, "account new", "bookings", "1", "0"),
        (Fault.COUNTER, "account gone", "bookings", "0", "4"),
    }
    assert counted(ready, "a") == (3, 3, 6)
    assert ready.repair(ledger, dry_run=False).progress.repaired == 5
    assert ready.verify(ledger).is_clean
    assert counted(ready, "a") == (4, 4, 11)
    assert counted(ready, "new") == (1, 0, 0)
    assert counted(ready, "gone") == (0, 0, 0)
    ready.create(Booking(account="new", number=2))
    assert counted(ready, "new") == (2, 0, 0)


def test_a_repair_while_others_write_leaves_exact_counters(embedded: Bench) -> None:
    embedded.create_own(ledger, totals)
    store = embedded.store
    for account in "ab":
        store.create(Booking(account=account, number=99))
        embedded.save(Booking(account=account, number=98))
    stop = threading.Event()

    def write() -> None:
        chosen = random.Random(1)
        while not stop.is_set():
            random_write(chosen, store)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            store.repair(AccountTotals, dry_run=False)
    finally:
        stop.set()
        writer.join()
    store.repair(AccountTotals, dry_run=False)
    for account in "ab":
        assert counted(store, account) == expected(store, account)


def test_what_the_stream_keeps_is_left_by_a_repair(ready: Store) -> None:
    ready.create(Booking(account="a", number=1, owner="ada"))
    findings = ready.repair(OwnerTotals, dry_run=False).findings
    assert {(finding.subject, finding.remedy) for finding in findings} == {("streamed", Remedy.LEFT)}


def test_a_batch_does_not_count() -> None:
    with (
        Store.open() as store,
        pytest.raises(ModelError, match="Booking has unique fields, which a batch cannot check"),
    ):
        store.write_many([Booking(account="a", number=1)])

    table = Table("plain", "PK")

    class Plain(Entity, table=table):
        id: str
        group: str

        keys = Keys(PK="P#{id}")

    class Groups(Entity, table=table):
        group: str
        members: int = count_of(Plain)

        keys = Keys(PK="G#{group}")

    with Store.open() as store, pytest.raises(ModelError, match="Plain has counters that its transactions keep"):
        store.write_many([Plain(id="1", group="g")])
    assert Groups.schema_.counts


def test_a_counter_may_be_declared_after_its_entity_was_used() -> None:
    table = Table("late", "PK")

    class Visit(Entity, table=table):
        id: str
        place: str

        keys = Keys(PK="V#{id}")

        @Get()
        def by_id(self, id: str) -> None: ...

    with Store.open() as store:
        store.ensure_tables(table)
        store.create(Visit(id="1", place="x"))
        store.update(Visit.by_id("1"), attr(Visit.place).set("y"))

        class Places(Entity, table=table):
            place: str
            visits: int = count_of(Visit)

            keys = Keys(PK="P#{place}")

            @Get()
            def by_place(self, place: str) -> None: ...

        assert store.repair(Places, dry_run=False).progress.repaired == 1
        store.update(Visit.by_id("1"), attr(Visit.place).set("z"))
        assert store.get_or_raise(Places.by_place("y")).visits == 0
        assert store.get_or_raise(Places.by_place("z")).visits == 1


def declared(**fields: Any) -> Any:
    annotations = {"account": str, **{name: kind for name, (kind, _) in fields.items()}}
    defaults = {name: default for name, (_, default) in fields.items() if default is not ...}
    body = {"__annotations__": annotations, "keys": Keys(PK="T#{account}"), **defaults, "__module__": __name__}
    return lambda: types.new_class(
        "Wrong", (Entity,), {"table": Table("wrong", "PK")}, lambda space: space.update(body)
    )


class Expiring(Entity, table=Table("expiring", "PK", ttl="ttl")):
    account: str
    ttl: ExpiresAt = None

    keys = Keys(PK="E#{account}")


class Elsewhere(Entity, table=Table("elsewhere", "PK")):
    other: str

    keys = Keys(PK="E#{other}")


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (declared(n=(str, count_of(Booking))), "n is a counter, so it must be a number"),
        (
            declared(n=(int, count_of(Booking, by=[Booking.account, Booking.owner]))),
            "the primary key of Wrong is made of account; give a field of Booking for each of them, in this order",
        ),
        (declared(n=(int, count_of(Booking, by=["owner"]))), "by takes fields of Booking, such as Booking.owner"),
        (declared(n=(int, sum_of(Booking.note))), "the sum of Booking.note, which is not a number"),  # type: ignore[type-var]
        (
            lambda: declared(n=(int, sum_of(5)))(),
            r"sum_of takes a field of an entity class, such as sum_of\(Order.total\)",
        ),
        (declared(n=(int, count_of(Elsewhere))), "Elsewhere has no field 'account' to be grouped by"),
        (declared(n=(int, count_of(Expiring))), "Expiring has a time to live"),
        (
            declared(n=(int, count_of(Booking, by=[Elsewhere.other]))),
            "by takes fields of Booking",
        ),
        (
            declared(n=(int, count_of(Booking, where=attr(Elsewhere.other) == "x"))),
            "the condition is on Elsewhere, and Booking is counted",
        ),
        (
            declared(n=(int, count_of(Booking, kept_by="hand"))),  # type: ignore[arg-type]
            "kept_by is one of transaction, stream, not 'hand'",
        ),
        (
            declared(n=(int, count_of(Booking)), version=(Version, 0)),
            "version is set by the store",
        ),
        (
            declared(n=(int, count_of(Booking)), code=(Annotated[str, Unique()], "")),
            "code is unique",
        ),
        (declared(n=(int, count_of(Booking)), name=(str, ...)), "name has no default"),
    ],
)
def test_a_wrong_declaration_is_refused(declare: Any, message: str) -> None:
    before = Booking.schema_.counters
    with pytest.raises(ModelError, match=message):
        declare()
    assert Booking.schema_.counters == before
