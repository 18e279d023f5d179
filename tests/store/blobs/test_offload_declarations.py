"""What may be declared Large, and what may not be done with it."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tablewright.model import AttributeName, Entity, FieldCondition, Large, ModelError, Query, Table, attr


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"body": Annotated[list[str], Large()]}, "Row.body is Large, so it must be text or bytes"),
        ({"body": Annotated[Any, Large()]}, "Row.body is Large, so it must be text or bytes"),
    ],
)
def test_a_large_field_is_text_or_bytes(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        type(
            "Row",
            (Entity,),
            {"__annotations__": {"key": str, **fields}, "__module__": __name__},
            table=Table("rows", "key"),
        )


def test_no_field_can_be_taken_for_references() -> None:
    with pytest.raises(ModelError, match=r"Note\.mine is stored in '~outside', where the store keeps"):

        class Note(Entity, table=Table("notes", "key")):
            key: str
            mine: Annotated[str, AttributeName("~outside")] = ""


def test_a_large_field_is_no_filter() -> None:
    with pytest.raises(
        ModelError,
        match=r"Note\.body is Large and may be stored as a blob, so it cannot be in "
        "a condition",
    ):

        class Note(Entity, table=Table("notes", "key", "sort")):
            key: str
            sort: str
            body: Annotated[str, Large()] = ""

            @Query()
            def long_ones(self, key: str) -> FieldCondition:
                return attr(self.body) == "x"
