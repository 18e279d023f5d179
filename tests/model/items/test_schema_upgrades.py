"""Items of older schema versions are read as the newest, and written as it."""

from typing import Any

import pytest

from tablewright.model import (
    Entity,
    Keys,
    ModelError,
    Table,
    Upgrades,
    schema_of,
)


def joined_name(values: dict[str, Any]) -> dict[str, Any]:
    values["name"] = f"{values.pop('first')} {values.pop('last')}"
    return values


def cents(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "balance": int(values.get("balance", 0) * 100)}


class Account(Entity, table=Table("accounts", "PK")):
    id: str
    name: str
    balance: int

    keys = Keys(PK="ACCOUNT#{id}")
    upgrades = Upgrades(joined_name, cents, write_back=True)


KEY = {"PK": {"S": "ACCOUNT#1"}, "id": {"S": "1"}}
FIRST = {**KEY, "first": {"S": "Ada"}, "last": {"S": "Byron"}, "balance": {"N": "1.5"}}
NEWEST = {**KEY, "name": {"S": "Ada Byron"}, "balance": {"N": "150"}, "shape": {"N": "3"}}


@pytest.mark.parametrize(
    "item",
    [FIRST, {**KEY, "name": {"S": "Ada Byron"}, "balance": {"N": "1.5"}, "shape": {"N": "2"}}, NEWEST],
)
def test_an_item_of_any_shape_is_read_as_the_newest(item: dict[str, Any]) -> None:
    account = Account.of(item)
    assert account == Account(id="1", name="Ada Byron", balance=150)
    assert account.item() == NEWEST


def test_an_item_of_the_present_shape_is_not_touched() -> None:
    schema = schema_of(Account)
    assert schema.upgrade(NEWEST) is NEWEST
    assert schema.schema_version_of(FIRST) == 1
    assert schema.schema_version_of(NEWEST) == 3


def test_an_upgrade_leaves_what_it_does_not_know_as_it_is_stored() -> None:
    other = {"L": [{"NULL": True}, {"N": "1.50"}, {"SS": ["b", "a"]}]}
    item: dict[str, Any] = {**FIRST, "other": other, "gone": {"NULL": True}}
    upgraded = schema_of(Account).upgrade(item)
    assert upgraded == {**NEWEST, "other": item["other"], "gone": {"NULL": True}}


def test_an_item_of_a_shape_to_come_is_refused() -> None:
    with pytest.raises(
        ModelError,
        match="an item of Account has schema version 4, but the newest declared is 3; it was written by a newer "
        "program, so run that",
    ):
        Account.of({**NEWEST, "shape": {"N": "4"}})


def test_an_upgrade_cannot_move_an_item() -> None:
    class Moved(Entity, table=Table("moved", "id")):
        id: str

        upgrades = Upgrades(lambda values: {**values, "id": "other"})

    with pytest.raises(ModelError, match="an upgrade of Moved changes the primary key"):
        Moved.of({"id": {"S": "1"}})
