"""A member of a model that is not stored counts as its default, or as that of the model around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tablewright.engine import Engine
from tablewright.model import Entity, FieldCondition, Get, Keys, Query, Table, attr, present
from tablewright.store import ConditionFailed, Store

houses = Table("houses", "PK", "SK")


class Room(BaseModel):
    name: str
    doors: int = 2
    tags: list[str] = Field(default_factory=list)


class House(Entity, table=houses):
    street: str
    number: int
    hall: Room = Room(name="hall", doors=1)
    attic: Room | None = None
    kitchen: Room = Room(name="kitchen")
    rooms: list[Room] = Field(default_factory=list)
    doors: int = 1

    keys = Keys(PK="STREET#{street}", SK="HOUSE#{number:03}")

    @Get()
    def by_number(self, street: str, number: int) -> None: ...

    @Query()
    def of_street(self, street: str) -> None: ...


def stored(number: int, **more: Any) -> dict[str, Any]:
    key = {"PK": {"S": "STREET#a"}, "SK": {"S": f"HOUSE#{number:03}"}}
    return {**key, "street": {"S": "a"}, "number": {"N": str(number)}, **more}


def room(name: str, **more: Any) -> dict[str, Any]:
    return {"M": {"name": {"S": name}, **more}}


ITEMS = [
    stored(0),
    stored(1, hall=room("hall"), attic=room("attic"), kitchen=room("kitchen"), rooms={"L": [room("bath")]}),
    stored(
        2,
        hall=room("vestibule", doors={"N": "5"}, tags={"L": [{"S": "dark"}]}),
        attic=room("attic", doors={"N": "1"}),
        kitchen=room("kitchen", doors={"N": "2"}),
        rooms={"L": [room("bath", doors={"N": "4"})]},
        doors={"N": "5"},
    ),
]


def doors(house: House) -> int | None:
    return house.attic.doors if house.attic else None


CONDITIONS: list[tuple[FieldCondition, Callable[[House], object]]] = [
    (attr(House.hall.doors) == 1, lambda house: house.hall.doors == 1),
    (attr(House.hall.doors) != 1, lambda house: house.hall.doors != 1),
    (attr(House.hall.doors) >= 2, lambda house: house.hall.doors >= 2),
    (attr(House.hall.doors).between(2, 4), lambda house: 2 <= house.hall.doors <= 4),
    (attr(House.hall.doors).is_in(1, 5), lambda house: house.hall.doors in (1, 5)),
    (attr(House.hall.doors) == attr(House.doors), lambda house: house.hall.doors == house.doors),
    (attr(House.hall.name) == "hall", lambda house: house.hall.name == "hall"),
    (attr(House.hall.name).begins_with("h"), lambda house: house.hall.name.startswith("h")),
    (attr(House.hall.tags).size() == 0, lambda house: house.hall.tags == []),
    (attr(House.hall.tags).contains("dark"), lambda house: "dark" in house.hall.tags),
    (attr(House.kitchen.doors) == 2, lambda house: house.kitchen.doors == 2),
    (~(attr(House.kitchen.doors) > 1), lambda house: house.kitchen.doors <= 1),
    (attr(present(House.attic).doors) == 2, lambda house: doors(house) == 2),
    (attr(present(House.attic).doors) < 2, lambda house: house.attic is not None and house.attic.doors < 2),
    (attr(present(House.attic).tags).size() == 0, lambda house: house.attic is not None),
    (attr(House.rooms[0].doors) == 2, lambda house: bool(house.rooms) and house.rooms[0].doors == 2),
    (attr(House.rooms[0].doors) > 2, lambda house: bool(house.rooms) and house.rooms[0].doors > 2),
    (attr(House.number).is_in(*range(150)), lambda house: True),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=lambda each: getattr(each, "text", "")[:40])
def test_a_condition_holds_of_what_is_read(condition: FieldCondition, holds: Callable[[House], object]) -> None:
    with Engine.open() as engine:
        store = Store.on(engine)
        store.ensure_tables(houses)
        for item in ITEMS:
            engine.call("PutItem", {"TableName": houses.name, "Item": item})
        found = store.query(House.of_street("a")).items
        expected = [house.number for house in found if holds(house)]
        assert [house.number for house in store.query(House.of_street("a"), where=condition).items] == expected
        written = []
        for house in found:
            try:
                store.update(House.by_number("a", house.number), attr(House.doors).add(0), expect=condition)
            except ConditionFailed:
                continue
            written.append(house.number)
        assert written == expected
