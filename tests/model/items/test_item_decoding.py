"""Items as entities: with what other writers stored, without what is absent, and in part."""

from typing import Any, Self

import pytest
from pydantic import ValidationError, model_validator

from tablewright.model import (
    Entity,
    ModelError,
    Table,
    schema_of,
)


class Note(Entity, table=Table("notes", "id")):
    id: str
    text: str = ""
    tags: set[str]
    parent: str | None


def test_unknown_attributes_survive_a_read_and_a_write() -> None:
    item: dict[str, Any] = {
        "id": {"S": "1"},
        "text": {"S": "x"},
        "colour": {"M": {"r": {"N": "1"}, "none": {"NULL": True}}},
    }
    note = Note.of(item)
    note.text = "y"
    assert note.item() == {**item, "text": {"S": "y"}}


def test_what_is_absent_is_an_empty_set_or_none() -> None:
    note = Note.of({"id": {"S": "1"}})
    assert note.tags == set()
    assert note.parent is None


def test_an_item_that_is_no_entity_is_a_validation_error() -> None:
    with pytest.raises(ValidationError, match="text"):
        Note.of({"id": {"S": "1"}, "text": {"N": "1"}})


class Account(Entity, table=Table("accounts", "id")):
    id: str
    name: str
    balance: int


def test_a_part_of_an_item_gives_an_entity_without_the_rest() -> None:
    part = schema_of(Account).decode({"id": {"S": "1"}, "balance": {"N": "7"}}, partial=True)
    assert isinstance(part, Account)
    assert part.balance == 7
    with pytest.raises(AttributeError, match="name"):
        _ = part.name
    with pytest.raises(
        ModelError, match="this Account was read without its field name; read the complete item before you write it"
    ):
        part.item()


def test_the_fields_of_a_part_are_validated() -> None:
    with pytest.raises(ValidationError, match="balance"):
        schema_of(Account).decode({"id": {"S": "1"}, "balance": {"S": "much"}}, partial=True)


def test_a_part_of_an_entity_is_not_shown_to_validators_of_the_whole() -> None:
    class Span(Entity, table=Table("spans", "id")):
        id: str
        first: int = 0
        last: int = 9

        @model_validator(mode="after")
        def in_order(self) -> Self:
            if self.first > self.last:
                raise ValueError("first is after last")
            return self

    part = schema_of(Span).decode({"id": {"S": "s"}, "first": {"N": "12"}}, partial=True)
    assert part.__dict__ == {"id": "s", "first": 12}
    with pytest.raises(ValidationError, match="valid integer"):
        schema_of(Span).decode({"first": {"S": "x"}}, partial=True)
    with pytest.raises(ValidationError, match="first is after last"):
        schema_of(Span).decode({"id": {"S": "s"}, "first": {"N": "12"}})
