"""A field may have any name: those of the store's own parameters are no exception."""

from __future__ import annotations

import asyncio

from tablewright.model import Entity, Get, Keys, Table, attr
from tablewright.store import AsyncStore, Check, Store, Update

drawers = Table("drawers", "pk")


class Drawer(Entity, table=drawers):
    drawer_id: str
    context: str = ""
    target: str = ""
    lookup: int = 0

    keys = Keys(pk="DRAWER#{drawer_id}")

    @Get()
    def by_id(self, drawer_id: str) -> None: ...


def test_fields_called_as_parameters_are() -> None:
    with Store.open() as store:
        store.ensure_tables(drawers)
        drawer = store.put(Drawer(drawer_id="d"))
        drawer = store.update(
            drawer, attr(Drawer.context).set("kitchen"), attr(Drawer.target).set("spoons"), attr(Drawer.lookup).set(1)
        )
        store.transact(
            Update(Drawer.by_id(drawer_id="d"), attr(Drawer.context).set("bath"), attr(Drawer.target).set("towels")),
        )
        store.transact(
            Check(Drawer.by_id(drawer_id="d"), attr(Drawer.target) == "towels", attr(Drawer.context) == "bath")
        )
        assert store.get(Drawer.by_id(drawer_id="d")) == Drawer(
            drawer_id="d", context="bath", target="towels", lookup=1
        )


async def _awaited() -> str:
    async with AsyncStore.open() as store:
        await store.ensure_tables(drawers)
        drawer = await store.put(Drawer(drawer_id="d"))
        return (await store.update(drawer, attr(Drawer.context).set("kitchen"))).context


def test_the_same_awaited() -> None:
    assert asyncio.run(_awaited()) == "kitchen"
