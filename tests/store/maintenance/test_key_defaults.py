"""A field with a default joins a key: items that were stored before read as if they had it, and are found so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import pytest
from pydantic import Field, StringConstraints

from tablewright.engine import Engine
from tablewright.model import Entity, FieldCondition, Get, GlobalIndex, Keys, Query, Table, Unique, attr, when
from tablewright.store import Check, ConditionFailed, Create, Store, Update
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.maintenance.findings import Fault

INDEXES = [GlobalIndex("byState", "GSI1PK", "GSI1SK"), GlobalIndex("byOwner", "owner")]

before = Table("Tickets", "PK", indexes=INDEXES)
after = Table("Tickets", "PK", indexes=INDEXES)


class Old(Entity, table=before):
    id: str
    tenant: str = "t"

    keys = Keys(PK="T#{id}")


class New(Entity, table=after):
    id: str
    tenant: str = "t"
    state: str = "open"
    owner: str = "nobody"
    note: str = ""

    keys = Keys(PK="T#{id}", GSI1PK="s#{tenant}#{state}", GSI1SK=when("{id}", state=["open", "held"]))

    @Get()
    def by_id(self, id: str) -> None: ...

    @Query("byState")
    def by_state(self, tenant: str, state: str) -> None: ...

    @Query("byOwner")
    def of_owner(self, owner: str) -> None: ...

    @Query("byState")
    def held(self) -> FieldCondition:
        return (attr(self.tenant) == "t") & (attr(self.state) == "open") & (attr(self.note) == "")


@pytest.fixture
def store(engine: Engine) -> Store:
    return Store(EmbeddedBackend(engine, owned=False))


@pytest.fixture
def stored(store: Store) -> Store:
    store.ensure_tables(after)
    for name in "abc":
        store.put(Old(id=name))
    return store


def open_ids(store: Store) -> list[str]:
    return [found.id for found in store.query(New.by_state(tenant="t", state="open")).items]


def test_verify_finds_what_lacks_the_keys_of_a_default(stored: Store) -> None:
    report = stored.verify(New)
    assert {(finding.fault, finding.subject) for finding in report.findings} == {
        (Fault.KEY, "GSI1PK"),
        (Fault.KEY, "GSI1SK"),
        (Fault.KEY, "owner"),
    }
    assert report.progress.found == 9


def test_repair_gives_items_the_keys_of_a_default(stored: Store) -> None:
    assert open_ids(stored) == []
    stored.repair(New, dry_run=False)
    assert open_ids(stored) == ["a", "b", "c"]
    assert {found.id for found in stored.query(New.of_owner(owner="nobody")).items} == {"a", "b", "c"}
    assert stored.verify(New).is_clean


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.update(New.by_id(id="a"), attr(New.note).set("x")),
        lambda store: store.update(store.get(New.by_id(id="a")), attr(New.note).set("x")),
        lambda store: store.update(New.by_id(id="a"), attr(New.note).set("x"), expect=attr(New.state) == "open"),
        lambda store: store.update(New.by_id(id="a"), attr(New.tenant).set("t")),
        lambda store: store.update(New.by_id(id="a"), attr(New.owner).set("nobody")),
        lambda store: store.transact(
            Update(New.by_id(id="a"), attr(New.note).set("x")), Create(New(id="z", state="shut"))
        ),
        lambda store: store.upsert(New(id="a")),
    ],
    ids=["lookup", "entity", "expected", "other part", "direct", "transaction", "upsert"],
)
def test_an_update_heals_the_item_that_it_changes(stored: Store, change: Callable[[Store], object]) -> None:
    change(stored)
    assert open_ids(stored) == ["a"]
    assert [found.id for found in stored.query(New.of_owner(owner="nobody")).items][:1] == ["a"]
    assert not [finding for finding in stored.verify(New).findings if "'a'" in finding.item or finding.item == "a"]


def test_an_update_of_the_field_itself_is_one_write(stored: Store) -> None:
    stored.update(New.by_id(id="a"), attr(New.state).set("held"))
    assert [found.id for found in stored.query(New.by_state(tenant="t", state="held")).items] == ["a"]
    stored.update(New.by_id(id="a"), attr(New.state).remove())
    assert open_ids(stored) == ["a"]


def test_a_missing_attribute_counts_as_the_default_where_it_is_expected(stored: Store) -> None:
    stored.transact(Check(New.by_id(id="a"), attr(New.state) == "open", attr(New.note) == ""), Create(New(id="z")))
    with pytest.raises(ConditionFailed, match="state = shut does not hold: state is open"):
        stored.update(New.by_id(id="b"), attr(New.note).set("x"), expect=attr(New.state) == "shut")
    with pytest.raises(ConditionFailed):
        stored.delete(New.by_id(id="b"), expect=attr(New.note) == "x")
    assert stored.delete(New.by_id(id="b"), expect=attr(New.state).is_in("open", "held") & (attr(New.note) == ""))


def test_a_missing_attribute_counts_as_the_default_in_a_filter(stored: Store) -> None:
    stored.update(New.by_id(id="a"), attr(New.state).set("open"))
    assert [found.id for found in stored.query(New.held()).items] == ["a"]


def test_a_default_in_the_primary_key_moves_items(store: Store) -> None:
    old, new = Table("Places", "PK", type_attribute="kind"), Table("Places", "PK", type_attribute="kind")

    class Before(Entity, table=old, type_name="place"):
        id: str
        code: Annotated[str, Unique()]

        keys = Keys(PK="P#{id}")

    class After(Entity, table=new, type_name="place"):
        id: str
        code: Annotated[str, Unique()]
        region: str = "eu"

        keys = Keys(PK="P#{region}#{id}")

        @Get()
        def by_id(self, region: str, id: str) -> None: ...

    store.ensure_tables(old)
    for name in "ab":
        store.create(Before(id=name, code=name.upper()))
    assert {finding.fault for finding in store.verify(After).findings} == {Fault.PLACE}
    store.repair(After, dry_run=False)
    assert store.verify(After).is_clean
    assert store.get(After.by_id(region="eu", id="a")) == After(id="a", code="A")
    assert store.delete(After.by_id(region="eu", id="a"))
    store.create(After(id="c", code="A"))


def test_a_default_that_is_another_at_each_read_is_reported(store: Store) -> None:
    old, new = Table("Things", "PK", indexes=INDEXES), Table("Things", "PK", indexes=INDEXES)
    made = iter("123456789")

    class Before(Entity, table=old):
        id: str
        keys = Keys(PK="T#{id}")

    class After(Entity, table=new):
        id: str
        batch: str = Field(default_factory=lambda: next(made))
        keys = Keys(PK="T#{id}", GSI1PK="B#{batch}", GSI1SK="{id}")

    store.ensure_tables(new)
    store.put(Before(id="a"))
    (finding,) = store.verify(After).findings
    assert finding.fault is Fault.UNREADABLE
    assert finding.found is not None
    assert "declare an upgrade" in finding.found


# -- values that are written otherwise ------------------------------------------------------------------------------


def test_a_key_that_is_a_field_moves_to_what_a_write_would_store(store: Store) -> None:
    old, new = Table("Tags", "who", "tag"), Table("Tags", "who", "tag")

    class Before(Entity, table=old):
        who: str
        tag: str

    class After(Entity, table=new):
        who: str
        tag: Annotated[str, StringConstraints(to_lower=True)]

        @Get()
        def by_tag(self, who: str, tag: str) -> None: ...

    store.ensure_tables(old)
    store.put(Before(who="ada", tag="Blue"))
    assert store.get(After.by_tag("ada", "blue")) is None
    assert {(each.fault, each.subject) for each in store.verify(After).findings} == {(Fault.PLACE, "tag")}
    store.repair(After, dry_run=False)
    assert store.verify(After).is_clean
    assert store.get(After.by_tag("ada", "blue")) == After(who="ada", tag="blue")
    assert len(list(store.iterate(After))) == 1


def test_a_text_that_is_in_lower_case_now_has_the_key_of_that(store: Store) -> None:
    indexes = [GlobalIndex("byMail", "GSI1PK")]
    old, new = Table("Mails", "PK", indexes=indexes), Table("Mails", "PK", indexes=indexes)

    class Before(Entity, table=old):
        id: str
        mail: str
        keys = Keys(PK="M#{id}", GSI1PK="MAIL#{mail}")

    class After(Entity, table=new):
        id: str
        mail: Annotated[str, StringConstraints(to_lower=True)]
        keys = Keys(PK="M#{id}", GSI1PK="MAIL#{mail}")

        @Query("byMail")
        def by_mail(self, mail: str) -> None: ...

    store.ensure_tables(old)
    store.put(Before(id="1", mail="Ada@example.org"))
    assert {(each.fault, each.subject) for each in store.verify(After).findings} == {(Fault.KEY, "GSI1PK")}
    store.repair(After, dry_run=False)
    assert [each.id for each in store.query(After.by_mail("ada@example.org")).items] == ["1"]
    assert store.verify(After).is_clean
