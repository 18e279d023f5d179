"""Uniqueness over several fields, over several entities, in any case; and numbers that entities share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from tablewright.engine import Engine
from tablewright.model import Entity, FieldGroup, Get, GlobalIndex, Keys, ModelError, Numbered, Table, Unique, attr
from tablewright.store import Create, NotUnique, Store, Update
from tablewright.store.maintenance.findings import Fault
from tests.declared_patterns import grouped

accounts = Table("Accounts", "PK", indexes=[GlobalIndex("byName", "GSI1PK")])


class User(Entity, table=accounts):
    id: str
    tenant: str = "t"
    desk: int | None = None
    name: Annotated[str | None, Unique(scope="names", ignore_case=True)] = None
    number: int = 0

    keys = Keys(PK="USER#{id}", GSI1PK="NAME#{name:lower}")

    @Unique()
    def one_desk_per_tenant(self) -> FieldGroup[int | None]:
        return attr(self.desk).per(self.tenant)

    @Numbered(sequence="members")
    def number_per_tenant(self) -> FieldGroup[int]:
        return attr(self.number).per(self.tenant)

    @Get()
    def by_id(self, id: str) -> None: ...

    @Get("byName")
    def by_name(self, name: str) -> None: ...


class Robot(Entity, table=accounts):
    id: str
    tenant: str = "t"
    name: Annotated[str | None, Unique(scope="names", ignore_case=True)] = None
    number: int = 0

    keys = Keys(PK="ROBOT#{id}")

    @Numbered(sequence="members")
    def number_per_tenant(self) -> FieldGroup[int]:
        return attr(self.number).per(self.tenant)

    @Get()
    def by_id(self, id: str) -> None: ...


@pytest.fixture
def store(engine: Engine) -> Store:
    store = Store.on(engine)
    store.ensure_tables(accounts)
    return store


def test_fields_are_unique_together(store: Store) -> None:
    store.create(User(id="1", tenant="a", desk=4))
    store.create(User(id="2", tenant="b", desk=4))
    with pytest.raises(NotUnique, match="User: desk 4, tenant a is already taken"):
        store.create(User(id="3", tenant="a", desk=4))
    store.create(User(id="4", tenant="a"))
    store.create(User(id="5", tenant="a"))


def test_a_change_of_either_field_is_a_change_of_the_value(store: Store) -> None:
    store.create(User(id="1", tenant="a", desk=4))
    moved = store.create(User(id="2", tenant="b", desk=4))
    with pytest.raises(NotUnique):
        store.update(moved, attr(User.tenant).set("a"))
    store.update(User.by_id("1"), attr(User.tenant).set("c"))
    store.update(User.by_id("2"), attr(User.tenant).set("a"))
    store.create(User(id="3", tenant="b", desk=4))
    assert store.verify(accounts).is_clean


def test_entities_share_a_scope_and_case_does_not_count(store: Store) -> None:
    store.create(User(id="1", name="Ada"))
    with pytest.raises(NotUnique, match="Robot: name ada is already taken"):
        store.create(Robot(id="1", name="ADA"))
    store.update(User.by_id("1"), attr(User.name).set("aDA"))
    store.update(User.by_id("1"), attr(User.name).set("Bea"))
    store.create(Robot(id="1", name="ada"))
    assert store.verify(accounts).is_clean


def test_a_consistent_read_by_the_name_finds_it_in_any_case(store: Store) -> None:
    user = store.create(User(id="1", name="Ada"))
    store.create(Robot(id="1", name="Rob"))
    assert store.get(User.by_name("ADA"), consistent=True) == user
    assert store.get(User.by_name("ADA")) == user
    assert store.get(User.by_name("rob"), consistent=True) is None


def test_a_name_moves_between_entities_in_one_transaction(store: Store) -> None:
    user = store.create(User(id="1", name="Ada"))
    store.transact(Update(user, attr(User.name).set(None)), Create(Robot(id="1", name="ada")))
    assert store.verify(accounts).is_clean
    with pytest.raises(NotUnique):
        store.update(User.by_id("1"), attr(User.name).set("ADA"))


def test_verify_tells_a_name_that_two_entities_have(store: Store, engine: Engine) -> None:
    store.create(User(id="1", name="Ada"))
    engine.call("PutItem", {"TableName": "Accounts", "Item": Robot(id="1", name="ada", number=1).item()})
    faults = {finding.fault for finding in store.verify(accounts).findings}
    assert faults == {Fault.DUPLICATE}


def test_entities_share_a_sequence(store: Store) -> None:
    numbers = [
        store.create(User(id="1")).number,
        store.create(Robot(id="1")).number,
        store.create(User(id="2")).number,
        store.create(User(id="3", tenant="other")).number,
    ]
    assert numbers == [1, 2, 3, 1]
    store.transact(Create(User(id="4")), Create(Robot(id="4")))
    found = store.get_or_raise(User.by_id("4")).number, store.get_or_raise(Robot.by_id("4")).number
    assert found == (4, 5)
    assert store.verify(accounts).is_clean


class Address(BaseModel):
    city: str


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: grouped(Unique(), "value", "value"), "Row.value cannot be unique together with itself"),
        (lambda: grouped(Unique(), "value", "missing"), "Row.group: Row has no field 'missing'"),
        (lambda: grouped(Unique(), "value", "tags"), "Row.value is unique together with tags, which must be stored as"),
        (
            lambda: grouped(Unique(), "value"),
            r"Row.group has no group; write attr\(self.value\).per\(self",
        ),
        (lambda: grouped(Unique(), "address.city", "id"), "Row.group: address.city is a part of a field; take a field"),
        (lambda: Unique()(lambda self: self.value), "Row.group returns Row.value; return a field and what it is"),
        (lambda: grouped(Unique(), "email", "id"), "Row.group: email is Unique already; declare it once"),
        (lambda: Unique(scope=""), "name what the entities share"),
        (lambda: Numbered(sequence=""), "name what the entities share"),
    ],
)
def test_uniqueness_that_cannot_be_kept_is_refused(rule: Callable[[], Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):

        class Row(Entity, table=Table("Rows", "PK")):
            id: str
            tags: list[str]
            value: str
            email: Annotated[str, Unique()]
            address: Address

            keys = Keys(PK="{id}")
            group = rule()
