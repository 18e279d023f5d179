"""One reader of a table for all who look, for as long as somebody does; what is too much is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, Get, Keys, Table
from tablewright.store import AnyChange, AsyncStore
from tablewright.ui import live_changes
from tablewright.ui.live_changes import LiveChanges, TooManyViews

pytestmark = pytest.mark.requirement("AP2")

things = Table("Things", "PK", stream="NEW_AND_OLD_IMAGES")


class Thing(Entity, table=things):
    name: str

    keys = Keys(PK="THING#{name}")

    @Get()
    def by_name(self, name: str) -> None:
        """A thing."""


def run(work: Callable[[AsyncStore, LiveChanges, Engine], Awaitable[None]]) -> None:
    async def main() -> None:
        with Engine.open(None) as engine:
            store = AsyncStore.on(engine)
            await store.ensure_tables(things)
            live = LiveChanges(store)
            try:
                async with asyncio.timeout(20):
                    await work(store, live, engine)
            finally:
                await live.stop()

    asyncio.run(main())


class Seen:
    """What a view was told."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.everything = 0
        self.calls = 0
        self.state: list[bool] = []

    async def on_change(self, changes: Sequence[AnyChange] | None) -> None:
        self.calls += 1
        if changes is None:
            self.everything += 1
        else:
            self.names += [each.after.name for each in changes if isinstance(each.after, Thing)]

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.02)


def test_every_subscriber_is_notified_until_it_unsubscribes() -> None:
    async def work(store: AsyncStore, live: LiveChanges, _: Engine) -> None:
        await store.put(Thing(name="before"))
        one, two = Seen(), Seen()
        end = await live.subscribe(things, one.on_change)
        await live.subscribe(things, two.on_change)
        assert live.is_following(things)
        await store.put(Thing(name="first"))
        await one.until(lambda: one.names == two.names == ["first"])
        end()
        await store.put(Thing(name="second"))
        await two.until(lambda: two.names == ["first", "second"])
        assert one.names == ["first"]

    run(work)


def test_concurrent_changes_are_delivered_together() -> None:
    async def work(store: AsyncStore, live: LiveChanges, _: Engine) -> None:
        seen = Seen()
        await live.subscribe(things, seen.on_change)
        await asyncio.gather(*(store.put(Thing(name=str(number))) for number in range(50)))
        await seen.until(lambda: len(seen.names) == 50)
        assert seen.calls < 10

    run(work)


def test_too_many_changes_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_changes, "_MOST", 5)

    async def work(store: AsyncStore, live: LiveChanges, _: Engine) -> None:
        seen = Seen()
        await live.subscribe(things, seen.on_change)
        await asyncio.gather(*(store.put(Thing(name=str(number))) for number in range(20)))
        await seen.until(lambda: seen.everything > 0)

    run(work)


def test_nothing_is_read_without_subscribers() -> None:
    async def work(store: AsyncStore, live: LiveChanges, _: Engine) -> None:
        seen = Seen()
        end = await live.subscribe(things, seen.on_change)
        end()
        end()
        assert not live.is_following(things)
        # Whoever comes again begins with what is new.
        await store.put(Thing(name="missed"))
        await live.subscribe(things, seen.on_change)
        await store.put(Thing(name="seen"))
        await seen.until(lambda: seen.names == ["seen"])

    run(work)


def test_a_lost_stream_is_reported_and_everything_is_read_again_once_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_changes, "_PAUSE", 0.05)

    async def work(store: AsyncStore, live: LiveChanges, engine: Engine) -> None:
        seen = Seen()
        await live.subscribe(things, seen.on_change, seen.state.append)
        engine.call("UpdateTable", {"TableName": "Things", "StreamSpecification": {"StreamEnabled": False}})
        engine.call("DeleteTable", {"TableName": "Things"})
        await seen.until(lambda: seen.state == [False])
        assert not live.is_following(things)
        await store.ensure_tables(things)
        await seen.until(lambda: seen.state == [False, True] and seen.everything == 1)
        await store.put(Thing(name="after"))
        await seen.until(lambda: seen.names == ["after"])

    run(work)


def test_a_view_that_fails_still_receives_the_next_change() -> None:
    async def work(store: AsyncStore, live: LiveChanges, _: Engine) -> None:
        seen = Seen()

        async def fail_once(changes: Sequence[AnyChange] | None) -> None:
            await seen.on_change(changes)
            if seen.calls == 1:
                raise RuntimeError("a view that is broken")

        await live.subscribe(things, fail_once)
        await store.put(Thing(name="one"))
        await seen.until(lambda: seen.calls == 1)
        await store.put(Thing(name="two"))
        await seen.until(lambda: seen.names == ["one", "two"])

    run(work)


def test_a_process_has_a_bounded_number_of_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_changes, "_MAX_SUBSCRIPTIONS", 2)

    async def work(_: AsyncStore, live: LiveChanges, __: Engine) -> None:
        seen = Seen()
        end = await live.subscribe(things, seen.on_change)
        await live.subscribe(things, seen.on_change)
        with pytest.raises(TooManyViews):
            await live.subscribe(things, seen.on_change)
        end()
        await live.subscribe(things, seen.on_change)

    run(work)
