"""Verify and repair: what is stored, against what the model says of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest

from tablewright.engine import Engine
from tablewright.model import (
    Entity,
    ExpiresAt,
    FieldGroup,
    Get,
    GlobalIndex,
    Keys,
    Query,
    Table,
    Unique,
    Version,
    attr,
    schema_of,
    sharded,
    when,
)
from tablewright.model.declarations import Numbered, Upgrades
from tablewright.store import AsyncStore, InvalidCursor, NotUnique, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Backend, Request, Response
from tablewright.store.maintenance.findings import Fault, Progress, Remedy, Report
from tests.clocks import Clock
from tests.store import endpoints

desk = Table(
    "Desk",
    "PK",
    "SK",
    indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK"), GlobalIndex("escalated", "GSI2PK")],
    type_attribute="kind",
    ttl="ttl",
)


class Ticket(Entity, table=desk):
    ticket_id: str
    number: Annotated[str | None, Unique()] = None
    status: str = "open"
    version: Version = 0
    ttl: ExpiresAt = None

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="TICKET",
        GSI1PK=sharded("STATUS#{status}", 4),
        GSI1SK="{ticket_id}",
        GSI2PK=when("ESCALATED", status="escalated"),
    )

    @Get()
    def by_id(self, ticket_id: str) -> None: ...

    @Query("byStatus")
    def by_status(self, status: str) -> None: ...


class Note(Entity, table=desk):
    ticket_id: str
    sequence: int = 0

    keys = Keys(PK="TICKET#{ticket_id}", SK="NOTE#{sequence:06}")

    @Numbered()
    def sequence_per_ticket(self) -> FieldGroup[int]:
        return attr(self.sequence).per(self.ticket_id)


class Still(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return 0.0


class Bench:
    """A store, and the items behind its back; on another endpoint than ours, the engine is not what it runs on."""

    def __init__(self, backend: Backend, engine: Engine, clock: Clock) -> None:
        self.backend = backend
        self.engine = engine
        self.store = Store(backend, clock=clock, entropy=Still(1))
        self.store.ensure_tables(desk)

    def call(self, operation: str, body: dict[str, Any]) -> Response:
        return self.backend.call(Request(operation, body))

    def item(self, **key: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.call(
            "GetItem", {"TableName": "Desk", "Key": {name: {"S": value} for name, value in key.items()}}
        ).get("Item")
        return found

    def put(self, item: dict[str, Any]) -> None:
        self.call("PutItem", {"TableName": "Desk", "Item": item})

    def delete(self, item: dict[str, Any]) -> None:
        self.call("DeleteItem", {"TableName": "Desk", "Key": {"PK": item["PK"], "SK": item["SK"]}})

    def ticket(self, ticket_id: str) -> dict[str, Any]:
        item = self.item(PK=f"TICKET#{ticket_id}", SK="TICKET")
        assert item is not None
        return item

    def all(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.call("Scan", {"TableName": "Desk"})["Items"]
        return items

    def guards(self) -> list[dict[str, Any]]:
        return [item for item in self.all() if desk.is_internal(item) and "owner" in item]


@pytest.fixture(params=endpoints.ENDPOINTS)
def bench(request: pytest.FixtureRequest, engine: Engine, clock: Clock) -> Iterator[Bench]:
    endpoints.expect_known_differences(request, request.param)
    with endpoints.started(request.param, engine) as backend:
        yield Bench(backend, engine, clock)


@pytest.fixture
def embedded(engine: Engine, clock: Clock) -> Bench:
    return Bench(EmbeddedBackend(engine, owned=False), engine, clock)


def told(report: Report) -> set[tuple[Fault, str, Remedy]]:
    return {(finding.fault, finding.subject, finding.remedy) for finding in report.findings}


def test_what_the_store_wrote_is_clean(bench: Bench) -> None:
    for number in range(5):
        bench.store.put(Ticket(ticket_id=str(number), number=f"n-{number}", status="escalated"))
        bench.store.create(Note(ticket_id="1"))
    report = bench.store.verify(desk)
    assert report.is_clean, report.findings
    assert report.progress.cursor is None
    assert report.progress.done == len(bench.all())


def test_stale_missing_and_superfluous_key_attributes_are_found_and_repaired(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1"))
    right = bench.ticket("1")
    wrong = {**right, "GSI1PK": {"S": "STATUS#closed#1"}, "GSI2PK": {"S": "ESCALATED"}}
    del wrong["GSI1SK"]
    bench.put(wrong)
    found = {(Fault.KEY, name) for name in ("GSI1PK", "GSI1SK", "GSI2PK")}
    assert told(bench.store.verify(desk)) == {(*fault, Remedy.FOUND) for fault in found}
    assert told(bench.store.repair(Ticket)) == {(*fault, Remedy.FOUND) for fault in found}
    assert bench.ticket("1") == wrong, "a dry run changes nothing"
    report = bench.store.repair(Ticket, dry_run=False)
    assert told(report) == {(*fault, Remedy.REPAIRED) for fault in found}
    assert (report.progress.found, report.progress.repaired) == (3, 3)
    assert bench.ticket("1") == right
    assert bench.store.verify(desk).is_clean
    sentence = next(str(finding) for finding in report.findings if finding.subject == "GSI1SK")
    assert sentence == "Ticket ticket_id 1: key attribute GSI1SK: 1 expected, none found (repaired)"


def test_a_missing_type_is_set(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1"))
    item = bench.ticket("1")
    bench.put({name: value for name, value in item.items() if name != "kind"})
    assert told(bench.store.repair(desk, dry_run=False)) == {(Fault.TYPE, "kind", Remedy.REPAIRED)}
    assert bench.ticket("1") == item


@pytest.mark.requirement("SU16")
def test_another_number_of_shards_spreads_the_items_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        bench.store.put(Ticket(ticket_id=f"{number:02}"))
    schema = schema_of(Ticket)
    rule = schema.key_rules["GSI1PK"]
    monkeypatch.setitem(schema.key_rules, "GSI1PK", replace(rule, shards=16))
    bench.store.repair(Ticket, dry_run=False)
    assert bench.store.verify(Ticket).is_clean
    items = [item for item in bench.all() if item["kind"] == {"S": "Ticket"}]
    assert {len(item["GSI1PK"]["S"].rpartition("#")[2]) for item in items} == {2}
    tickets = bench.store.query(Ticket.by_status(status="open")).items
    assert [ticket.ticket_id for ticket in tickets] == [f"{number:02}" for number in range(20)]


def test_an_item_whose_key_is_another_one_now_is_moved_with_its_guards(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1", number="n-1"))
    right, guards = bench.ticket("1"), bench.guards()
    old = {**right, "PK": {"S": "T-1"}}
    bench.delete(right)
    bench.put(old)
    bench.put({**guards[0], "owner": {"M": {"PK": {"S": "T-1"}, "SK": {"S": "TICKET"}}}})
    assert told(bench.store.verify(desk)) == {(Fault.PLACE, "PK", Remedy.FOUND)}
    assert told(bench.store.repair(desk, dry_run=False)) == {(Fault.PLACE, "PK", Remedy.REPAIRED)}
    assert bench.ticket("1") == right
    assert bench.item(PK="T-1", SK="TICKET") is None
    assert bench.guards() == guards
    assert bench.store.verify(desk).is_clean


def test_an_item_is_not_moved_over_another_one(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1"))
    bench.put({**bench.ticket("1"), "PK": {"S": "T-1"}})
    assert told(bench.store.repair(desk, dry_run=False)) == {(Fault.PLACE, "PK", Remedy.LEFT)}
    assert bench.item(PK="T-1", SK="TICKET") is not None


def test_an_invalid_item_is_reported_and_left(bench: Bench) -> None:
    bench.put({"PK": {"S": "TICKET#1"}, "SK": {"S": "TICKET"}, "kind": {"S": "Ticket"}, "version": {"S": "x"}})
    report = bench.store.repair(desk, dry_run=False)
    assert told(report) == {(Fault.UNREADABLE, "", Remedy.LEFT)}
    assert report.progress.repaired == 0


def test_items_of_other_programs_are_ignored(bench: Bench) -> None:
    bench.put({"PK": {"S": "x"}, "SK": {"S": "y"}, "kind": {"S": "Else"}})
    assert bench.store.verify(desk).is_clean


# -- guards ---------------------------------------------------------------------------------------------------------


def test_a_missing_guard_is_put_back(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1", number="n-1"))
    (guard,) = bench.guards()
    bench.delete(guard)
    assert told(bench.store.verify(desk)) == {(Fault.GUARD, "number", Remedy.FOUND)}
    assert bench.guards() == []
    assert told(bench.store.repair(Ticket, dry_run=False)) == {(Fault.GUARD, "number", Remedy.REPAIRED)}
    assert bench.guards() == [guard]
    with pytest.raises(NotUnique):
        bench.store.create(Ticket(ticket_id="2", number="n-1"))


def test_a_guard_whose_owner_is_gone_is_released(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1", number="n-1"))
    bench.delete(bench.ticket("1"))
    assert told(bench.store.verify(Ticket)) == {(Fault.STRAY_GUARD, "", Remedy.FOUND)}
    assert told(bench.store.repair(Ticket, dry_run=False)) == {(Fault.STRAY_GUARD, "", Remedy.REPAIRED)}
    assert bench.guards() == []
    bench.store.create(Ticket(ticket_id="2", number="n-1"))


def test_a_guard_whose_owner_has_another_value_is_released(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1", number="n-1"))
    bench.put({**bench.ticket("1"), "number": {"S": "n-2"}})
    assert told(bench.store.repair(desk, dry_run=False)) == {
        (Fault.GUARD, "number", Remedy.REPAIRED),
        (Fault.STRAY_GUARD, "", Remedy.REPAIRED),
    }
    assert bench.store.verify(desk).is_clean
    assert len(bench.guards()) == 1


def test_a_guard_that_names_an_item_without_the_value_is_handed_over(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1", number="n-1"))
    bench.store.put(Ticket(ticket_id="2"))
    (guard,) = bench.guards()
    bench.put({**guard, "owner": {"M": {"PK": {"S": "TICKET#2"}, "SK": {"S": "TICKET"}}}})
    bench.store.repair(desk, dry_run=False)
    assert bench.guards() == [guard]
    assert bench.store.verify(desk).is_clean


def test_a_value_that_two_items_have_needs_a_decision(bench: Bench) -> None:
    bench.store.put(Ticket(ticket_id="1", number="n-1"))
    twin = Ticket(ticket_id="2", number="n-1", version=1)
    bench.put(twin.item())
    guards = bench.guards()
    report = bench.store.repair(desk, dry_run=False)
    assert told(report) == {(Fault.DUPLICATE, "number", Remedy.LEFT)}
    assert report.findings[0].item == "ticket_id 2"
    assert report.findings[0].found == "ticket_id 1"
    assert bench.guards() == guards


def test_an_expired_item_keeps_no_guard(bench: Bench, clock: Clock) -> None:
    soon = datetime.fromtimestamp(clock.now, UTC) + timedelta(seconds=10)
    bench.store.put(Ticket(ticket_id="1", number="n-1", ttl=soon))
    clock.now += 20
    bench.store.create(Ticket(ticket_id="2", number="n-1"))
    assert bench.store.verify(desk).is_clean


# -- counters and shapes --------------------------------------------------------------------------------------------


def test_a_counter_behind_its_items_is_raised(bench: Bench) -> None:
    for _ in range(3):
        bench.store.create(Note(ticket_id="1"))
    bench.put(Note(ticket_id="1", sequence=9).item())
    assert told(bench.store.verify(desk)) == {(Fault.SEQUENCE, "sequence", Remedy.FOUND)}
    assert told(bench.store.repair(Note, dry_run=False)) == {(Fault.SEQUENCE, "sequence", Remedy.REPAIRED)}
    assert bench.store.verify(desk).is_clean
    note = Note(ticket_id="1")
    bench.store.create(note)
    assert note.sequence == 10


def test_older_shapes_are_brought_up_to_date(embedded: Bench) -> None:
    table = Table("People", "PK", indexes=[GlobalIndex("byCity", "city")], type_attribute="kind")

    def with_city(values: dict[str, Any]) -> dict[str, Any]:
        city = values.pop("town").title()
        return {**values, "city": city}

    class Person(Entity, table=table):
        name: str
        city: str

        keys = Keys(PK="PERSON#{name}")
        upgrades = Upgrades(with_city)

    embedded.store.ensure_tables(table)
    old = {"PK": {"S": "PERSON#ann"}, "kind": {"S": "Person"}, "name": {"S": "ann"}, "town": {"S": "rome"}}
    embedded.engine.call("PutItem", {"TableName": "People", "Item": old})
    assert told(embedded.store.verify(table)) == {(Fault.SCHEMA_VERSION, "", Remedy.FOUND)}
    embedded.store.repair(table, dry_run=False)
    (item,) = embedded.engine.call("Scan", {"TableName": "People"})["Items"]
    assert item == Person(name="ann", city="Rome").item()
    assert embedded.store.verify(Person).is_clean


# -- passes ---------------------------------------------------------------------------------------------------------


def test_a_pass_reports_progress_and_goes_on_from_a_cursor_in_another_process(bench: Bench) -> None:
    for number in range(10):
        bench.put({**Ticket(ticket_id=str(number)).item(), "GSI1SK": {"S": "wrong"}})
    seen: list[Progress] = []
    first = bench.store.repair(desk, dry_run=False, limit=4, page_size=2, on_progress=seen.append)
    assert [(progress.done, progress.found, progress.total) for progress in seen] == [(2, 2, 10), (4, 4, 10)]
    assert first.progress == seen[-1]
    other = Store(bench.backend)
    second = other.repair(desk, dry_run=False, cursor=first.progress.cursor)
    assert (second.progress.done, second.progress.repaired, second.progress.cursor) == (6, 6, None)
    assert bench.store.verify(desk).is_clean
    with pytest.raises(InvalidCursor):
        bench.store.verify(Ticket, cursor=first.progress.cursor)


class Meddling:
    """A backend on which somebody else does something just before a given kind of request, once."""

    def __init__(self, backend: Backend, operation: str, meddle: Callable[[], None]) -> None:
        self.backend = backend
        self.operation = operation
        self.meddle: Callable[[], None] | None = meddle

    def call(self, request: Request) -> Response:
        if request.operation == self.operation and self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            meddle()
        return self.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


def test_a_repair_does_not_overwrite_what_others_change_meanwhile(embedded: Bench) -> None:
    embedded.put({**Ticket(ticket_id="1", version=1).item(), "GSI1SK": {"S": "wrong"}})
    changed = Ticket(ticket_id="1", status="escalated", version=2).item()
    backend = Meddling(embedded.backend, "UpdateItem", lambda: embedded.put(changed))
    report = Store(backend, entropy=Still(1)).repair(desk, dry_run=False)
    assert report.is_clean
    assert embedded.ticket("1") == changed


def test_an_item_that_keeps_changing_is_read_again(embedded: Bench) -> None:
    embedded.put({**Ticket(ticket_id="1").item(), "GSI1SK": {"S": "wrong"}})
    changed = {**Ticket(ticket_id="1", status="escalated").item(), "GSI1SK": {"S": "wrong too"}}
    backend = Meddling(embedded.backend, "UpdateItem", lambda: embedded.put(changed))
    report = Store(backend, entropy=Still(1)).repair(desk, dry_run=False)
    assert told(report) == {(Fault.KEY, "GSI1SK", Remedy.REPAIRED)}
    assert embedded.ticket("1") == Ticket(ticket_id="1", status="escalated").item()


def test_what_is_read_at_two_moments_is_not_taken_for_drift(embedded: Bench) -> None:
    embedded.store.put(Ticket(ticket_id="1", number="n-1"))

    def delete() -> None:
        embedded.store.delete(Ticket.by_id(ticket_id="1"))

    # The item is scanned, and gone with its guard before the guard is looked for.
    backend = Meddling(embedded.backend, "BatchGetItem", delete)
    assert Store(backend).verify(Ticket).is_clean


def test_a_guard_that_is_put_back_meanwhile_is_no_finding(embedded: Bench) -> None:
    embedded.store.put(Ticket(ticket_id="1", number="n-1"))
    (guard,) = embedded.guards()
    embedded.delete(guard)
    backend = Meddling(embedded.backend, "TransactGetItems", lambda: embedded.put(guard))
    assert Store(backend).verify(Ticket).is_clean


def test_a_guard_that_is_taken_again_meanwhile_is_not_released(embedded: Bench) -> None:
    embedded.store.put(Ticket(ticket_id="1", number="n-1"))
    embedded.delete(embedded.ticket("1"))

    def create() -> None:
        embedded.store.create(Ticket(ticket_id="1", number="n-1"))

    backend = Meddling(embedded.backend, "TransactWriteItems", create)
    assert Store(backend, entropy=Still(1)).repair(Ticket, dry_run=False).is_clean
    assert len(embedded.guards()) == 1
    assert embedded.store.verify(desk).is_clean


def test_the_asynchronous_store_has_the_same(embedded: Bench) -> None:
    embedded.put({**Ticket(ticket_id="1").item(), "GSI1SK": {"S": "wrong"}})

    async def main() -> None:
        store = AsyncStore(embedded.backend)
        assert not (await store.verify(desk)).is_clean
        await store.repair(desk, dry_run=False)
        assert (await store.verify(Ticket)).is_clean

    asyncio.run(main())


def test_an_invalid_item_is_reported_in_a_sentence_without_its_values(embedded: Bench) -> None:
    table = Table("Folk", "PK", type_attribute="kind")

    class Folk(Entity, table=table):
        name: str
        age: int
        city: str

        keys = Keys(PK="FOLK#{name}")
        upgrades = Upgrades(lambda values: {**values, "city": values["town"]})

    embedded.store.ensure_tables(table)
    shape = {"shape": {"N": "2"}}
    items: list[dict[str, Any]] = [
        {**shape, "name": {"S": "ann"}, "age": {"S": "secret"}, "city": {"S": "Rome"}},
        {"name": {"S": "bob"}, "age": {"N": "3"}},
    ]
    for item in items:
        key = {"PK": {"S": f"FOLK#{item['name']['S']}"}, "kind": {"S": "Folk"}}
        embedded.engine.call("PutItem", {"TableName": "Folk", "Item": {**item, **key}})
    report = embedded.store.verify(Folk)
    assert {(finding.item, finding.found) for finding in report.findings} == {
        ("name ann", "age: Input should be a valid integer, unable to parse string as an integer"),
        ("name bob", "the upgrade of Folk from schema version 1 failed: KeyError: 'town'"),
    }
    assert {finding.remedy for finding in report.findings} == {Remedy.LEFT}
