"""An update that sets a key field to what it is already changes nothing, and is no error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablewright.model import Entity, Get, Keys, Table, attr
from tablewright.store import NotFound, Store

users = Table("users", "user_id", "sk")


class User(Entity, table=users):
    user_id: str
    number: int
    name: str = ""

    keys = Keys(sk="{number:05}")

    @Get()
    def by_id(self, user_id: str, number: int) -> None: ...


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(users)
        yield store


def of(user: User) -> Any:
    return User.by_id(user_id=user.user_id, number=user.number)


@pytest.mark.parametrize("target", [lambda user: user, of], ids=["entity", "lookup"])
def test_the_same_key_changes_nothing(store: Store, target: Callable[[User], Any]) -> None:
    user = store.put(User(user_id="u", number=1, name="ada"))
    assert store.update(target(user), attr(User.user_id).set("u")) == user
    assert store.update(target(user), attr(User.user_id).set("u"), attr(User.name).set("eve")).name == "eve"


@pytest.mark.parametrize("target", [lambda user: user, of], ids=["entity", "lookup"])
def test_the_item_has_to_be_there_all_the_same(store: Store, target: Callable[[User], Any]) -> None:
    with pytest.raises(NotFound):
        store.update(target(User(user_id="u", number=1)), attr(User.user_id).set("u"))
