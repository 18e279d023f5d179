"""Updates that change a value without knowing it: none of them leaves an item that cannot be read any more."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from tablewright.model import Entity, FieldChange, Get, Keys, ModelError, Table, Version, attr
from tablewright.store import Cancelled, ConditionFailed, Create, Store, Update

cellar = Table("cellar", "PK")


class Label(BaseModel):
    text: str
    note: str = ""


class Cask(Entity, table=cellar):
    cask_id: str
    owner: str
    label: Label = Label(text="red")
    litres: int = Field(default=10, ge=0, le=100)
    price: Annotated[Decimal, Field(gt=0, lt=50)] | None = None
    tastings: list[str] = Field(default=[], max_length=3)
    grapes: set[str] = Field(default=set(), max_length=2)
    years: set[int] = Field(default_factory=set)
    bottles: int = 0

    keys = Keys(PK="CASK#{cask_id}")

    @Get()
    def by_id(self, cask_id: str) -> None: ...


class Bin(Cask, table=cellar):
    version: Version = 0

    keys = Keys(PK="BIN#{cask_id}")


BY_ID = Cask.by_id(cask_id="c")


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(cellar)
        store.create(Cask(cask_id="c", owner="ada", price=Decimal(40), tastings=["a", "b"], grapes={"merlot"}))
        yield store


def there(store: Store) -> Cask:
    found = store.get(BY_ID, consistent=True)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "removal"),
    [
        ("owner", attr(Cask.owner).remove()),
        ("cask_id", attr(Cask.cask_id).remove()),
        ("label.text", attr(Cask.label.text).remove()),
    ],
)
def test_what_an_item_cannot_be_without_is_not_removed(store: Store, path: str, removal: FieldChange) -> None:
    before = there(store)
    for target in (BY_ID, there(store)):
        with pytest.raises(ModelError, match=f"{path} cannot be removed: a Cask without {path} could not be read"):
            store.update(target, removal)
    assert there(store) == before


def test_what_has_a_default_is_removed(store: Store) -> None:
    after = store.update(
        BY_ID,
        attr(Cask.price).remove(),
        attr(Cask.tastings).remove(),
        attr(Cask.label.note).remove(),
        attr(Cask.litres).remove(),
    )
    assert (after.price, after.tastings, after.label.note, after.litres) == (None, [], "", 10)


@pytest.mark.parametrize(
    ("path", "amount"),
    [("owner", 1), ("label", 1), ("tastings", 1), ("litres", {"x"}), ("grapes", 1), ("grapes", {1}), ("years", {"x"})],
)
def test_nothing_is_added_to_what_is_of_another_type(store: Store, path: str, amount: Any) -> None:
    before = there(store)
    with pytest.raises(ModelError, match=f"^{path}: "):
        store.update(BY_ID, attr(getattr(Cask, path)).add(amount))
    assert there(store) == before


def test_whole_numbers_stay_whole(store: Store) -> None:
    bottles: Any = Cask.bottles
    with pytest.raises(ModelError, match=r"bottles: 1\.5 cannot be added to an integer"):
        store.update(BY_ID, attr(bottles).add(1.5))
    assert store.update(BY_ID, attr(bottles).add(2.0)).bottles == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (attr(Cask.tastings).append("c", "d"), "tastings would have 4 members, and may have at most 3"),
        (attr(Cask.litres).add(91), "litres would be 101, and must be at most 100"),
        (attr(Cask.litres).add(-11), "litres would be -1, and must be at least 0"),
        (attr(Cask.price).add(10), "price would be 50, and must be less than 50"),
        (attr(Cask.price).add(-40), "price would be 0, and must be more than 0"),
        (attr(Cask.grapes).add({"syrah", "pinot"}), "grapes would have 3 members, and may have at most 2"),
    ],
)
def test_a_bound_holds_for_what_is_added(store: Store, change: FieldChange, reason: str) -> None:
    before = there(store)
    for target in (BY_ID, there(store)):
        with pytest.raises(ConditionFailed) as refused:
            store.update(target, change)
        assert str(refused.value) == f"Cask cask_id c: {reason}"
    with pytest.raises(Cancelled) as cancelled:
        store.transact(Create(Cask(cask_id="d", owner="bob")), Update(BY_ID, change))
    assert [str(each) for each in cancelled.value.reasons] == ["None", f"Cask cask_id c: {reason}"]
    assert there(store) == before


def test_up_to_its_bound_a_value_grows(store: Store) -> None:
    after = store.update(
        BY_ID, attr(Cask.tastings).append("c"), attr(Cask.litres).add(90), attr(Cask.grapes).add({"syrah"})
    )
    assert (after.tastings, after.litres, after.grapes) == (["a", "b", "c"], 100, {"merlot", "syrah"})
    assert store.update(BY_ID, attr(Cask.grapes).add({"syrah"})).grapes == {"merlot", "syrah"}


def test_a_bound_holds_for_what_begins_with_the_addition(store: Store) -> None:
    store.update(BY_ID, attr(Cask.price).remove())
    with pytest.raises(ConditionFailed, match="price would be 60, and must be less than 50"):
        store.update(BY_ID, attr(Cask.price).add(60))
    assert store.update(BY_ID, attr(Cask.price).add(30)).price == 30


def test_a_bound_is_looked_at_after_the_version(store: Store) -> None:
    bin_ = store.create(Bin(cask_id="b", owner="ada", litres=95))
    with pytest.raises(ConditionFailed, match="litres would be 105, and must be at most 100"):
        store.update(bin_, attr(Bin.litres).add(10))
    assert bin_.litres == 95
    assert store.update(bin_, attr(Bin.litres).add(5)).litres == 100
