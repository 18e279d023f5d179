"""Reading an item of an older schema version stores it in the newest, if its entity says so, and disturbs nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from tablewright.dynamo import Item
from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    Large,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Upgrades,
    Version,
    attr,
)
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store import AsyncStore, FolderBlobStore, ServiceError, Store, Unreadable
from tablewright.store.flow.driver import Backend, Request, Response
from tests.store.bench import Bench
from tests.store.large_value_design import THRESHOLD, A, Shelf, shelved

people = Table(
    "Shapes",
    "PK",
    "SK",
    indexes=[GlobalIndex("byCity", "GSI1PK", "GSI1SK"), GlobalIndex("byCode", "code", include=[])],
    type_attribute="kind",
)


def with_city(values: dict[str, Any]) -> dict[str, Any]:
    city = values.pop("town").title()
    return {**values, "city": city}


def with_name(values: dict[str, Any]) -> dict[str, Any]:
    name = f"{values.pop('first')} {values.pop('last')}"
    return {**values, "name": name}


class Person(Entity, table=people):
    team: str
    person_id: str
    name: str
    city: str
    code: Annotated[str, Unique()]
    visits: int = 0
    version: Version = 0
    updated_at: UpdatedAt = None

    keys = Keys(PK="TEAM#{team}", SK="PERSON#{person_id}", GSI1PK="CITY#{city}", GSI1SK="{person_id}")
    upgrades = Upgrades(with_city, with_name, write_back=True)

    @Get()
    def by_id(self, team: str, person_id: str) -> None: ...

    @Get("byCode")
    def by_code(self, code: str) -> None: ...

    @Query()
    def of_team(self, team: str) -> None: ...

    @Query("byCity")
    def of_city(self, city: str) -> None: ...


class Badge(Entity, table=people):
    """Has older schema versions as well, and leaves them where they are."""

    team: str
    badge_id: str
    city: str

    keys = Keys(PK="TEAM#{team}", SK="BADGE#{badge_id}")
    upgrades = Upgrades(with_city)

    @Query()
    def of_team(self, team: str) -> None: ...


class Team(Collection):
    people: list[Person]
    badges: list[Badge]

    @CollectionQuery()
    def itself(self, team: str) -> None: ...


def first_shape(number: int) -> Item:
    return {
        "PK": {"S": "TEAM#t"},
        "SK": {"S": f"PERSON#{number}"},
        "kind": {"S": "Person"},
        "GSI1PK": {"S": "CITY#rome"},
        "GSI1SK": {"S": str(number)},
        "team": {"S": "t"},
        "person_id": {"S": str(number)},
        "first": {"S": "Ada"},
        "last": {"S": str(number)},
        "town": {"S": "rome"},
        "code": {"S": f"c-{number}"},
        "visits": {"N": "0"},
        "version": {"N": "3"},
        "updated_at": {"S": "2025-01-01T00:00:00.000000Z"},
        "colour": {"S": "red"},
    }


def present_shape(number: int, **more: Any) -> Item:
    item = Person(team="t", person_id=str(number), name=f"Ada {number}", city="Rome", code=f"c-{number}", version=3)
    stamped: Item = {"updated_at": {"S": "2025-01-01T00:00:00.000000Z"}, "colour": {"S": "red"}}
    return {**item.item(), **stamped, **more}


def guard(number: int) -> Item:
    """What the store keeps for the unique code of a person."""
    schema = Person.schema_
    key = {name: {"S": text} for name, text in (("PK", "TEAM#t"), ("SK", f"PERSON#{number}"))}
    return {**schema.guard_key(schema.fields["code"], {"S": f"c-{number}"}), "owner": {"M": key}}


class Crowd:
    """Three people of the first shape, and one badge."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.backend = bench.backend
        bench.names[people.name] = f"Shapes-{bench.names['Calls']}"
        bench.create(people)
        for number in range(3):
            bench.save_item(people, first_shape(number))
            bench.save_item(people, guard(number))
        self.badge: Item = {
            "PK": {"S": "TEAM#t"}, "SK": {"S": "BADGE#1"}, "kind": {"S": "Badge"}, "team": {"S": "t"},
            "badge_id": {"S": "1"}, "town": {"S": "rome"},
        }  # fmt: skip
        bench.save_item(people, self.badge)

    def store(self, backend: Backend | None = None, **settings: Any) -> Store:
        return Store(backend or self.backend, clock=self.bench.clock, table_names=self.bench.names, **settings)

    def stored(self, number: int) -> Item | None:
        key = {"PK": {"S": "TEAM#t"}, "SK": {"S": f"PERSON#{number}"}}
        body = {"TableName": self.bench.names[people.name], "Key": key, "ConsistentRead": True}
        found: Item | None = self.backend.call(Request("GetItem", body)).get("Item")
        return found

    @property
    def shapes(self) -> list[str]:
        items = [self.stored(number) for number in range(3)]
        return [item.get("shape", {"N": "1"})["N"] for item in items if item is not None]


@pytest.fixture
def crowd(bench: Bench) -> Crowd:
    return Crowd(bench)


@pytest.fixture
def own_crowd(embedded: Bench) -> Crowd:
    return Crowd(embedded)


class Watching:
    """A backend that notes the writes that go through it, and on which something happens before each of them."""

    def __init__(self, backend: Backend, happens: Callable[[], None] = lambda: None) -> None:
        self.backend = backend
        self.happens = happens
        self.writes: list[Request] = []

    def call(self, request: Request) -> Response:
        if request.operation in ("UpdateItem", "TransactWriteItems", "PutItem"):
            self.writes.append(request)
            self.happens()
        return self.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


def one(store: Store) -> list[Person | None]:
    return [store.get(Person.by_id(team="t", person_id=str(number))) for number in range(3)]


READS: dict[str, Callable[[Store], list[Any]]] = {
    "get": one,
    "get by an index": lambda store: [store.get(Person.by_code(code=f"c-{number}")) for number in range(3)],
    "get by a guard": lambda store: [
        store.get(Person.by_code(code=f"c-{number}"), consistent=True) for number in range(3)
    ],
    "get many": lambda store: store.get_many([Person.by_id(team="t", person_id=str(n)) for n in (0, 1, 2)]),
    "query": lambda store: store.query(Person.of_team(team="t")).items,
    "query an index": lambda store: store.query(Person.of_city(city="rome")).items,
    "scan": lambda store: sorted(store.scan(Person).items, key=lambda person: person.person_id),
    "pages": lambda store: [person for page in store.pages(Person.of_team(team="t"), limit=2) for person in page.items],
    "iterate": lambda store: list(store.iterate(Person.of_team(team="t"), page_size=1)),
    "collect": lambda store: getattr(store.collect(Team.itself(team="t")), "people", []),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_was_read_is_stored_in_the_present_shape(crowd: Crowd, read: Callable[[Store], list[Any]]) -> None:
    watching = Watching(crowd.backend)
    found = read(crowd.store(watching))
    assert [person.name for person in found] == ["Ada 0", "Ada 1", "Ada 2"]
    # Keys of indexes follow, version and stamps stay, and what others have stored beside is still there.
    assert [crowd.stored(number) for number in range(3)] == [present_shape(number) for number in range(3)]
    assert [request.operation for request in watching.writes] == ["UpdateItem"] * 3
    assert [person.item() for person in found] == [present_shape(number) for number in range(3)]


def test_what_has_the_present_shape_is_not_written_again(crowd: Crowd) -> None:
    one(crowd.store())
    watching = Watching(crowd.backend)
    assert one(crowd.store(watching)) == one(crowd.store())
    assert watching.writes == []
    assert crowd.store().verify(Person).is_clean


def test_an_item_that_is_asked_for_twice_is_written_once(crowd: Crowd) -> None:
    watching = Watching(crowd.backend)
    twice = crowd.store(watching).get_many([Person.by_id(team="t", person_id="1")] * 2)
    assert [person is not None and person.city for person in twice] == ["Rome", "Rome"]
    assert len(watching.writes) == 1


def test_an_entity_that_does_not_write_back_is_left_as_it_is(crowd: Crowd) -> None:
    watching = Watching(crowd.backend)
    (badge,) = crowd.store(watching).query(Badge.of_team(team="t")).items
    assert badge.city == "Rome"
    assert watching.writes == []
    case = crowd.store(watching).collect(Team.itself(team="t"))
    assert case is not None
    assert case.badges == [badge]
    table = crowd.bench.names[people.name]
    key = {name: crowd.badge[name] for name in ("PK", "SK")}
    assert crowd.backend.call(Request("GetItem", {"TableName": table, "Key": key}))["Item"] == crowd.badge


def test_a_count_writes_nothing(crowd: Crowd) -> None:
    assert crowd.store().count(Person.of_team(team="t")) == 3
    assert crowd.shapes == ["1", "1", "1"]


def test_who_has_read_an_entity_can_write_it(crowd: Crowd) -> None:
    store = crowd.store()
    before = Person.of(first_shape(0))
    found = store.get(Person.by_id(team="t", person_id="0"))
    assert found is not None
    # Also somebody who had read it before it was written back.
    assert store.update(before, attr(Person.visits).set(1)).version == 4
    found = store.get(Person.by_id(team="t", person_id="1"))
    assert found is not None
    assert store.put(found).version == 4


# -- others -----------------------------------------------------------------------------------------------------------


def test_what_others_write_meanwhile_stays(own_crowd: Crowd) -> None:
    changed = {**first_shape(1), "first": {"S": "Eva"}, "version": {"N": "4"}}
    watching = Watching(own_crowd.backend, lambda: own_crowd.bench.save_item(people, changed))
    person = own_crowd.store(watching).get(Person.by_id(team="t", person_id="1"))
    assert person is not None
    assert person.name == "Ada 1"
    assert own_crowd.stored(1) == changed


def test_what_others_write_without_counting_the_version_stays(own_crowd: Crowd) -> None:
    changed = {**first_shape(1), "first": {"S": "Eva"}}
    watching = Watching(own_crowd.backend, lambda: own_crowd.bench.save_item(people, changed))
    one(own_crowd.store(watching))
    assert own_crowd.stored(1) == changed


def test_an_attribute_that_others_add_meanwhile_stays(own_crowd: Crowd) -> None:
    added = {**first_shape(1), "shade": {"S": "dark"}}
    watching = Watching(own_crowd.backend, lambda: own_crowd.bench.save_item(people, added))
    own_crowd.store(watching).get(Person.by_id(team="t", person_id="1"))
    assert own_crowd.stored(1) == present_shape(1, shade={"S": "dark"})


def test_what_others_delete_meanwhile_does_not_come_back(own_crowd: Crowd) -> None:
    def delete() -> None:
        key = {name: first_shape(1)[name] for name in ("PK", "SK")}
        own_crowd.backend.call(Request("DeleteItem", {"TableName": own_crowd.bench.names[people.name], "Key": key}))

    person = own_crowd.store(Watching(own_crowd.backend, delete)).get(Person.by_id(team="t", person_id="1"))
    assert person is not None
    assert own_crowd.stored(1) is None


def test_a_lost_race_does_not_stop_the_others(own_crowd: Crowd) -> None:
    changed = {**first_shape(0), "first": {"S": "Eva"}}
    own_crowd.store(Watching(own_crowd.backend, lambda: own_crowd.bench.save_item(people, changed))).scan(Person)
    assert own_crowd.shapes == ["1", "3", "3"]


def test_readers_and_writers_at_once_lose_nothing(own_crowd: Crowd) -> None:
    store = own_crowd.store()
    lookup = Person.by_id(team="t", person_id="0")
    for _ in range(30):
        own_crowd.bench.save_item(people, first_shape(0))
        start = threading.Barrier(4)
        failed: list[BaseException] = []

        def attempt(work: Callable[[], Any], start: threading.Barrier = start, failed: Any = failed) -> None:
            try:
                start.wait(10)
                work()
            except BaseException as error:
                failed.append(error)

        works = [lambda: store.get(lookup)] * 2 + [lambda: store.update(lookup, attr(Person.visits).add(1))] * 2
        threads = [threading.Thread(target=attempt, args=[work]) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert failed == []
        item = own_crowd.stored(0)
        assert item is not None
        assert (item["visits"], item["version"], item["shape"]) == ({"N": "2"}, {"N": "5"}, {"N": "3"})


# -- when it cannot be written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        ("ThrottlingException", 1),
        ("ProvisionedThroughputExceededException", 1),
        ("AccessDeniedException", 1),
        ("ConnectionError", 1),
        ("ValidationException", 3),
    ],
)
def test_a_read_does_not_fail_nor_wait_because_nothing_can_be_written(
    own_crowd: Crowd, monkeypatch: pytest.MonkeyPatch, code: str, writes: int
) -> None:
    def refuse() -> None:
        raise ServiceError(code, "no")

    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("waited"))
    watching = Watching(own_crowd.backend, refuse)
    page = own_crowd.store(watching).query(Person.of_team(team="t"))
    assert [person.name for person in page.items] == ["Ada 0", "Ada 1", "Ada 2"]
    assert len(watching.writes) == writes
    assert own_crowd.shapes == ["1", "1", "1"]


def test_an_item_that_cannot_be_read_is_reported_and_left(own_crowd: Crowd) -> None:
    own_crowd.bench.save_item(people, {**first_shape(1), "visits": {"S": "many"}})
    with pytest.raises(Unreadable, match="visits"):
        own_crowd.store().query(Person.of_team(team="t"))
    assert own_crowd.shapes[1] == "1"


def test_it_is_reported_what_was_consumed(crowd: Crowd) -> None:
    consumed: list[tuple[str, str]] = []
    store = crowd.store(on_capacity=lambda pattern, operation, _: consumed.append((pattern, operation)))
    store.get(Person.by_id(team="t", person_id="1"))
    assert consumed == [("Person.by_id", "GetItem"), ("Person.write_back", "UpdateItem")]


def test_the_asynchronous_store_writes_back_as_well(crowd: Crowd) -> None:
    async def main() -> None:
        store = AsyncStore(crowd.backend, clock=crowd.bench.clock, table_names=crowd.bench.names)
        assert await store.get(Person.by_id(team="t", person_id="0")) is not None
        assert [person.name async for person in store.iterate(Person)]

    asyncio.run(main())
    assert crowd.shapes == ["3", "3", "3"]


# -- unique and large values ------------------------------------------------------------------------------------------

members = Table("ShapedMembers", "PK")


class Member(Entity, table=members):
    """Whose unique e-mail address was once stored as it was typed."""

    member_id: str
    mail: Annotated[str, Unique()]

    keys = Keys(PK="MEMBER#{member_id}")
    upgrades = Upgrades(lambda values: {**values, "mail": values["mail"].lower()}, write_back=True)

    @Get()
    def by_id(self, member_id: str) -> None: ...


@pytest.fixture
def membership(embedded: Bench) -> Bench:
    embedded.create(members)
    embedded.store.create(Member(member_id="1", mail="Ada@x"))
    item = {**Member(member_id="1", mail="Ada@x").item()}
    del item["shape"]
    embedded.save_item(members, item)
    return embedded


def test_a_unique_value_that_an_upgrade_changes_is_guarded(membership: Bench) -> None:
    assert membership.store.get(Member.by_id(member_id="1")) == Member(member_id="1", mail="ada@x")
    assert membership.store.verify(members).is_clean


def test_a_unique_value_that_another_has_is_not_taken(membership: Bench) -> None:
    membership.store.create(Member(member_id="2", mail="ada@x"))
    assert membership.store.get(Member.by_id(member_id="1")) == Member(member_id="1", mail="ada@x")
    (old,) = [
        item
        for item in membership.backend.call(Request("Scan", {"TableName": members.name}))["Items"]
        if item.get("member_id") == {"S": "1"}
    ]
    assert old["mail"] == {"S": "Ada@x"}


letters = Table("ShapedLetters", "PK")


class Letter(Entity, table=letters):
    letter_id: str
    text: Annotated[str, Large(THRESHOLD)]

    keys = Keys(PK="LETTER#{letter_id}")
    upgrades = Upgrades(lambda values: {**values, "text": values.get("text", "").upper()}, write_back=True)

    @Get()
    def by_id(self, letter_id: str) -> None: ...

    @Get(load_large=False)
    def in_part(self, letter_id: str) -> None: ...


@pytest.fixture
def old_letter(bench: Bench, tmp_path: Path) -> Shelf:
    shelf = shelved(bench, FolderBlobStore(tmp_path / "letters"), letters)
    shelf.store.put(Letter(letter_id="1", text=A))
    item = shelf.item(Letter(letter_id="1", text=""))
    del item["shape"]
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": item}))
    return shelf


def test_large_values_are_written_back_outside_of_their_item(old_letter: Shelf) -> None:
    found = old_letter.store.get(Letter.by_id(letter_id="1"))
    assert found is not None
    assert found.text == A.upper()
    item = old_letter.item(found)
    assert item["shape"] == {"N": "2"}
    assert "text" in item[BLOB_REFERENCES]["M"]
    old_letter.assert_tidy()
    assert old_letter.store.get(Letter.by_id(letter_id="1")) == found
    assert old_letter.store.put(found) == found
    old_letter.assert_tidy()


def test_what_was_read_without_its_large_values_is_left(old_letter: Shelf) -> None:
    # The steps could not look at them.
    assert old_letter.store.get(Letter.in_part(letter_id="1")) is not None
    assert "shape" not in old_letter.item(Letter(letter_id="1", text=""))
