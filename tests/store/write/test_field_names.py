"""A field may have any name: those of the store's own parameters are no exception."""

from __future__ import annotations

import asyncio

from tablewright.model import Entity, Get, Keys, Table
from tablewright.store import AsyncStore, Check, Store, Update

drawers = Table("drawers", "pk")


class Drawer(Entity, table=drawers):
    drawer_id: str
    context: str = ""
    target: str = ""
    lookup: int = 0

    keys = Keys(pk="DRAWER#{drawer_id}")

    by_id = Get()


def test_fields_called_as_parameters_are() -> None:
    with Store.open() as store:
        store.ensure_tables(drawers)
        drawer = store.put(Drawer(drawer_id="d"))
        drawer = store.update(drawer, context="kitchen", target="spoons", lookup=1)
        store.transact(
            Update(Drawer.by_id(drawer_id="d"), context="bath", target="towels"),
        )
        store.transact(Check(Drawer.by_id(drawer_id="d"), target="towels", context="bath"))
        assert store.get(Drawer.by_id(drawer_id="d")) == Drawer(
            drawer_id="d", context="bath", target="towels", lookup=1
        )


async def _awaited() -> str:
    async with AsyncStore.open() as store:
        await store.ensure_tables(drawers)
        drawer = await store.put(Drawer(drawer_id="d"))
        return (await store.update(drawer, context="kitchen", target="spoons")).context


def test_the_same_awaited() -> None:
    assert asyncio.run(_awaited()) == "kitchen"
