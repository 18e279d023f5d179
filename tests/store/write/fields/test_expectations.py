"""What is expected of an item is held against what is stored, wherever in it that is, or refused as no value of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field

from tablewright.model import Entity, FieldCondition, Get, Keys, ModelError, Table, attr
from tablewright.model.declarations import Upgrades
from tablewright.store import Cancelled, Check, ConditionFailed, Delete, NotFound, Store, Update
from tests.store.bench import Bench


class Line(BaseModel):
    count: int = 0
    note: str | None = None


shop = Table("shop", "PK")


class Basket(Entity, table=shop):
    basket_id: str
    state: str = "open"
    lines: list[Line] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    tags: set[str] = Field(default_factory=set)
    size: int | None = None
    visits: int = 0

    keys = Keys(PK="BASKET#{basket_id}")

    @Get()
    def by_id(self, basket_id: str) -> None: ...


BY_ID = Basket.by_id(basket_id="b")


@pytest.fixture
def basket(bench: Bench) -> Iterator[Store]:
    bench.create_own(shop)
    bench.store.create(Basket(basket_id="b", lines=[Line(count=2)], notes=["n"], tags={"x", "y"}))
    yield bench.store
    assert bench.store.verify(shop).is_clean


HELD: list[FieldCondition] = [
    attr(Basket.lines[0].count) == 2,
    attr(Basket.lines[0].count).is_in(1, 2),
    attr(Basket.lines[0].note).is_(None),
    attr(Basket.lines[4].count).absent(),
    attr(Basket.notes) == ["n"],
    attr(Basket.notes).is_in(["other"], ["n"]),
    attr(Basket.tags) == {"y", "x"},
    attr(Basket.tags).is_in({"z"}, {"x", "y"}),
    attr(Basket.size).is_(None),
    attr(Basket.size).is_in(1, None),
    attr(Basket.state).is_in("open", "closed") & (attr(Basket.visits) >= 0),
]
NOT_HELD: list[tuple[FieldCondition, str]] = [
    (
        attr(Basket.lines[0].count) == 7,
        r"Basket basket_id b: lines\[0\]\.count = 7 does not hold: lines\[0\]\.count is 2",
    ),
    (attr(Basket.lines[0].count).absent(), r"lines\[0\]\.count is absent does not hold: lines\[0\]\.count is 2"),
    (attr(Basket.lines[4].count) == 1, r"lines\[4\]\.count = 1 does not hold: lines\[4\]\.count is absent"),
    (attr(Basket.notes) == [], r"notes = \[\] does not hold: notes is \['n'\]"),
    (attr(Basket.tags) == {"x"}, r"tags = \{'x'\} does not hold: tags is \{.*\}"),
    (attr(Basket.tags) == set(), r"tags is None does not hold: tags is \{.*\}"),
    (attr(Basket.state).is_in(), "state is one of no values does not hold: state is open"),
    (attr(Basket.size).is_in(1, 2), "size is 1 or 2 does not hold: size is absent"),
]


@pytest.mark.parametrize("expect", HELD, ids=lambda each: each.text)
def test_a_write_is_made_when_what_is_expected_holds(basket: Store, expect: FieldCondition) -> None:
    assert basket.update(BY_ID, attr(Basket.visits).add(1), expect=expect).visits == 1
    assert basket.delete(BY_ID, expect=expect) is True


@pytest.mark.parametrize(("expect", "reason"), NOT_HELD, ids=lambda each: getattr(each, "text", ""))
def test_nothing_is_written_when_it_does_not_hold_and_the_error_says_why(
    basket: Store, expect: FieldCondition, reason: str
) -> None:
    with pytest.raises(ConditionFailed, match=reason):
        basket.update(BY_ID, attr(Basket.visits).set(9), expect=expect)
    with pytest.raises(ConditionFailed, match=reason):
        basket.delete(BY_ID, expect=expect)
    found = basket.get(BY_ID)
    assert found is not None
    assert found.visits == 0


def test_one_of_no_values_is_no_value_in_a_check_either(basket: Store) -> None:
    with pytest.raises(Cancelled, match="state is one of no values does not hold: state is open"):
        basket.transact(Check(BY_ID, attr(Basket.state).is_in()))


anything: Any = Basket
WRONG_VALUES: list[tuple[Callable[[], Any], str]] = [
    (lambda: attr(anything.visits) == "few", r"Basket\.visits: 'few' is not valid: Input should be a valid integer"),
    (lambda: attr(anything.state).is_in(1), r"Basket\.state: 1 is not valid: Input should be a valid string"),
    (lambda: attr(anything.tags) == "x", r"Basket\.tags: 'x' is not valid: Input should be a valid set"),
    (lambda: attr(anything.lines[0].count) == "x", r"Basket\.lines\[0\]\.count: 'x' is not valid: Input should be"),
]


@pytest.mark.parametrize(("condition", "reason"), WRONG_VALUES)
def test_what_no_item_can_have_is_refused_as_a_mistake(condition: Callable[[], Any], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        condition()


def test_a_null_of_another_writer_is_absent(bench: Bench) -> None:
    bench.create_own(shop)
    bench.save_item(shop, {**Basket(basket_id="b").item(), "size": {"NULL": True}})
    assert bench.store.update(BY_ID, attr(Basket.visits).set(1), expect=attr(Basket.size).is_(None)).visits == 1


# -- items of an older schema version ---------------------------------------------------------------------------------


class OldPlan(Entity, table=Table("plans", "PK"), type_name="Plan"):
    plan_id: str
    tier: str

    keys = Keys(PK="PLAN#{plan_id}")


def _with_level(values: dict[str, Any]) -> dict[str, Any]:
    values["level"] = {"basic": 1, "gold": 2}[values.pop("tier")]
    return values


plans = Table("plans", "PK")


class Plan(Entity, table=plans):
    plan_id: str
    level: int

    keys = Keys(PK="PLAN#{plan_id}")
    upgrades = Upgrades(_with_level)

    @Get()
    def by_id(self, plan_id: str) -> None: ...


GOLD, BASIC = Plan.by_id(plan_id="p"), Plan.by_id(plan_id="q")


@pytest.fixture
def older(bench: Bench) -> Bench:
    bench.create_own(plans)
    bench.save(OldPlan(plan_id="p", tier="gold"), OldPlan(plan_id="q", tier="basic"))
    return bench


def test_an_item_of_an_older_shape_is_what_it_is_read_as(older: Bench) -> None:
    older.store.transact(Check(GOLD, attr(Plan.level) == 2), Update(BASIC, attr(Plan.level).add(1)))
    with pytest.raises(Cancelled, match="plan_id p: level = 1 does not hold: level is 2"):
        older.store.transact(Check(GOLD, attr(Plan.level) == 1), Update(BASIC, attr(Plan.level).add(1)))
    with pytest.raises(ConditionFailed, match="plan_id p: level = 1 does not hold: level is 2"):
        older.store.delete(GOLD, expect=attr(Plan.level) == 1)
    assert older.store.delete(GOLD, expect=attr(Plan.level) == 2) is True
    with pytest.raises(NotFound):
        older.store.delete(GOLD, expect=attr(Plan.level) == 2)


def test_who_is_only_out_of_date_is_not_to_blame(older: Bench) -> None:
    with pytest.raises(Cancelled) as cancelled:
        older.store.transact(
            Update(GOLD, attr(Plan.level).set(5)),
            Delete(Plan.by_id(plan_id="none"), expect=attr(Plan.level) == 1),
            Check(BASIC, attr(Plan.level) == 9),
        )
    assert [type(reason) for reason in cancelled.value.reasons] == [type(None), NotFound, type(None)]


# -- one of several models ------------------------------------------------------------------------------------------


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9
    name: str = ""


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str] = Field(default_factory=list)
    name: str = ""


pets = Table("pets", "PK")


class Owner(Entity, table=pets):
    owner_id: str
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    others: list[Cat | Dog] = Field(default_factory=list)

    keys = Keys(PK="OWNER#{owner_id}")

    @Get()
    def by_id(self, owner_id: str) -> None: ...


ADA = Owner.by_id(owner_id="ada")


@pytest.fixture
def owner(bench: Bench) -> Store:
    bench.create_own(pets)
    bench.store.create(Owner(owner_id="ada", pet=Cat(), others=[Cat(), Dog()]))
    return bench.store


def test_a_path_leads_into_the_model_that_has_the_field(owner: Store) -> None:
    first, second = cast("Cat", Owner.others[0]), cast("Dog", Owner.others[1])
    owner.update(
        ADA,
        attr(cast("Cat", Owner.pet).lives).set(7),
        attr(second.tricks).append("sit"),
        attr(first.lives).add(-1),
    )
    found = owner.update(ADA, attr(cast("Cat | Dog", Owner.pet).name).set("Tom"), attr(Owner.others[1].name).set("Rex"))
    assert found.pet == Cat(lives=7, name="Tom")
    assert found.others == [Cat(lives=8), Dog(tricks=["sit"], name="Rex")]


def test_a_path_into_another_model_than_is_stored_is_refused(owner: Store) -> None:
    with pytest.raises(ConditionFailed, match="Owner owner_id ada: pet is cat, which has no tricks; set pet"):
        owner.update(ADA, attr(cast("Dog", Owner.pet).tricks).set(["sit"]))
    with pytest.raises(ConditionFailed, match=r"others\[1\] is dog, which has no lives"):
        owner.update(ADA, attr(cast("Cat", Owner.others[1]).lives).add(1))
    pet: Any = Owner.pet
    with pytest.raises(
        ModelError, match="pet may be Cat or Dog, and kind depends on which of them it is; set pet as a whole"
    ):
        attr(pet.kind)
    with pytest.raises(ModelError, match="Cat or Dog has no field 'tail'"):
        attr(pet.tail)
    assert owner.get(ADA) == Owner(owner_id="ada", pet=Cat(), others=[Cat(), Dog()])
