"""The filters of access patterns are known, and checked, when the class is made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import Field

from tablewright.model import (
    Entity,
    FieldCondition,
    GlobalIndex,
    Keys,
    Large,
    ModelError,
    Query,
    Table,
    attr,
    schema_of,
)
from tablewright.store import Store


def visits() -> Table:
    return Table("visits", "PK", "SK", indexes=[GlobalIndex("byPage", "page", "SK")])


class Visit(Entity, table=visits()):
    user: str
    at: datetime
    page: str = "home"
    seconds: int = 0
    tags: set[str] = Field(default_factory=set)

    keys = Keys(PK="USER#{user}", SK="{at}")

    @Query()
    def longer(self, user: str, than: int) -> FieldCondition:
        return attr(self.seconds) > than

    @Query()
    def tagged(self, user: str, tag: str, *, page: str | None = None) -> FieldCondition:
        tagged = attr(self.tags).contains(tag)
        return tagged if page is None else tagged & (attr(self.page) == page)

    @Query()
    def on_pages(self, user: str, pages: list[str]) -> FieldCondition:
        return attr(self.page).is_in(*pages)

    @Query()
    def within(self, user: str, minutes: int) -> FieldCondition:
        return attr(self.seconds) < 60 * minutes

    @Query()
    def recent(self, user: str, days: int) -> FieldCondition:
        return attr(self.seconds) > timedelta(days=days).days

    @Query()
    def sometimes(self, user: str, least: int | None = None) -> FieldCondition | None:
        return None if least is None else attr(self.seconds).between(least, 100)


def test_a_filter_is_known_with_its_parameters() -> None:
    texts = {name: condition.text for name, condition in schema_of(Visit).filters.items()}
    assert texts == {
        "longer": "seconds > than",
        "tagged": "tags contains tag and page = page",
        "on_pages": "page is pages",
        "sometimes": "seconds is from least to 100",
    }


def test_a_filter_that_computes_with_its_parameters_is_known_when_it_has_them() -> None:
    with Store.open() as store:
        store.ensure_tables(schema_of(Visit).table)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        store.write_many(
            Visit(user="u", at=at + timedelta(hours=number), seconds=40 * number, page="ab"[number % 2])
            for number in range(5)
        )

        def found(selection: Any) -> list[int]:
            return [visit.seconds for visit in store.iterate(selection)]

        assert found(Visit.within("u", 2)) == [0, 40, 80]
        assert found(Visit.recent("u", 100)) == [120, 160]
        assert found(Visit.sometimes("u")) == [0, 40, 80, 120, 160]
        assert found(Visit.sometimes("u", 50)) == [80]
        assert found(Visit.on_pages("u", ["b"])) == [40, 120]
        assert found(Visit.tagged("u", "x", page="a")) == []


def declared(returned: Any, index: str | None = None) -> type[Entity]:
    def filtered(self: Any) -> Any:
        return returned(self)

    filtered.__annotations__ = {"return": "FieldCondition"}

    class Row(Entity, table=visits()):
        user: str
        at: datetime
        page: str = ""
        text: Annotated[str, Large()] = ""

        keys = Keys(PK="USER#{user}", SK="{at}")

        found = Query(index, fixed={"user": "u"} if index is None else {"page": "p"})(filtered)

    return Row


def returned_by_mistake(self: Any) -> Any:
    return attr(self.page).set("x")


@pytest.mark.parametrize(
    ("returned", "index", "reason"),
    [
        (
            lambda self: attr(self.pgae) == "x",
            None,
            r"Row.found, filter: Row has no field 'pgae'; did you mean 'page'",
        ),
        (lambda self: self.page == "x", None, r"Row.found: .* for an expression write attr\(Row.page\)"),
        (lambda self: attr(self.page) == 5, None, r"Row.page: 5 is not valid"),
        (lambda self: attr(self.page) == "x", "byPage", r"Row.found: page is part of the key that is read"),
        (lambda self: attr(self.text) == "x", None, r"Row.text is Large"),
        (returned_by_mistake, None, r"Row.found returns .* as its filter; return a condition"),
    ],
)
def test_a_wrong_filter_is_refused_with_the_class(returned: Any, index: str | None, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        declared(returned, index)


def test_a_bound_is_not_a_parameter_of_the_filter() -> None:
    with pytest.raises(ModelError, match=r"Wrong\.later: since is a bound of at, so it cannot be filtered by; rename"):

        class Wrong(Entity, table=visits()):
            user: str
            at: datetime
            left: datetime
            page: str = ""

            keys = Keys(PK="USER#{user}", SK="{at}")

            @Query()
            def later(self, user: str, *, since: datetime) -> FieldCondition:
                return attr(self.left) >= since
