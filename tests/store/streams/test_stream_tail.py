"""A tail shows the changes of a table from its first read on, to any number of readers, and writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tablewright.store import AnyChange, AsyncStore, AsyncStreamTail, Change, ChangeKind, RawChange
from tests.store.streams.counted_tickets import Desk, Ticket, tickets


def run(desk: Desk, work: Callable[[AsyncStore], Awaitable[None]]) -> None:
    async def main() -> None:
        await work(AsyncStore.on(desk.engine, clock=desk.clock))

    asyncio.run(main())


def ids(changes: list[AnyChange]) -> list[str]:
    return [change.after.ticket_id for change in changes if isinstance(change.after, Ticket)]


def test_it_begins_with_what_comes_after_the_first_read(desk: Desk) -> None:
    async def work(store: AsyncStore) -> None:
        desk.put("before")
        tail, other = AsyncStreamTail(store, tickets), AsyncStreamTail(store, tickets)
        assert await tail.read() == []
        desk.put("1", "2")
        found = await tail.read()
        assert ids(found) == ["1", "2"]
        assert [change.kind for change in found] == [ChangeKind.INSERT] * 2
        assert await tail.read() == []
        # Another one has seen nothing yet, and begins where the stream is now.
        assert await other.read() == []
        desk.put("3")
        assert ids(await tail.read()) == ids(await other.read()) == ["3"]

    run(desk, work)


def test_what_cannot_be_read_is_shown_as_it_is_stored(desk: Desk) -> None:
    async def work(store: AsyncStore) -> None:
        tail = AsyncStreamTail(store, tickets)
        await tail.read()
        desk.put("1")
        key = {"PK": {"S": "TICKET#1"}, "SK": {"S": "TICKET"}}
        damage = {"UpdateExpression": "SET #s = :n", "ExpressionAttributeNames": {"#s": "status"}}
        values: dict[str, dict[str, list[str]]] = {":n": {"L": []}}
        desk.engine.call(
            "UpdateItem", {"TableName": tickets.name, "Key": key, **damage, "ExpressionAttributeValues": values}
        )
        desk.put("2")
        found = await tail.read()
        assert [type(change) for change in found] == [Change, RawChange, Change]

    run(desk, work)


def test_it_goes_on_in_the_shards_that_follow(desk: Desk) -> None:
    async def work(store: AsyncStore) -> None:
        tail = AsyncStreamTail(store, tickets)
        await tail.read()
        seen: list[str] = []
        for day in range(3):
            desk.put(f"day {day}")
            seen += ids(await tail.read())
            # Shards are closed after some hours.
            desk.clock.now += 5 * 3600
            desk.engine.sweep()
            desk.put(f"later {day}")
            seen += ids(await tail.read())
            seen += ids(await tail.read())
        assert seen == [f"{word} {day}" for day in range(3) for word in ("day", "later")]

    run(desk, work)


def test_an_item_of_no_entity_is_a_raw_change(desk: Desk) -> None:
    async def work(store: AsyncStore) -> None:
        tail = AsyncStreamTail(store, tickets)
        await tail.read()
        name = tickets.name
        keys = {key["AttributeName"]: {"S": "other"} for key in _schema(desk, name)}
        desk.engine.call("PutItem", {"TableName": name, "Item": keys})
        found = await tail.read()
        assert [type(change) for change in found] == [RawChange]

    run(desk, work)


def _schema(desk: Desk, name: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = desk.engine.call("DescribeTable", {"TableName": name})["Table"]["KeySchema"]
    return found
