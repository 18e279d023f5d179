"""A relocation step by step, in this process: what is refused, what is repaired, and what is left at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.store import PlaceSwitch
from tablewright.transfer import RelocationOptions, TransferError, open_relocation
from tablewright.transfer.relocation import relocation as relocation_module
from tablewright.transfer.relocation.live_comparing import LiveComparison
from tests.transfer.relocation.served_places import Places, running, served_places
from tests.transfer.samples import ORDERS, every_type, fill, items_of, orders

pytestmark = [pytest.mark.requirement("SH6"), pytest.mark.timeout(90)]


@pytest.fixture
def places() -> Iterator[Places]:
    with served_places() as found:
        source = found.engines[0]
        source.call("CreateTable", ORDERS)
        source.call(
            "UpdateTimeToLive",
            {"TableName": "Orders", "TimeToLiveSpecification": {"AttributeName": "until", "Enabled": True}},
        )
        fill(source, "Orders", orders(40))
        for item in every_type():
            source.call("PutItem", {"TableName": "Orders", "Item": item})
        yield found


def stream_of(engine: Engine) -> str | None:
    table = engine.call("DescribeTable", {"TableName": "Orders"})["Table"]
    view: str | None = table.get("StreamSpecification", {}).get("StreamViewType")
    return view


def test_everything_that_a_table_has_moves_and_changes_go_back(places: Places) -> None:
    source, target = places.engines

    async def run() -> None:
        told: list[str] = []
        async with running(places, told) as relocation:
            answer = await relocation.ask("cut")
            assert answer["done"]
            assert items_of(target, "Orders") == items_of(source, "Orders")
            source.call("DeleteItem", {"TableName": "Orders", "Key": _key(3)})  # by a program without the switch
            target.call("PutItem", {"TableName": "Orders", "Item": {**_key(900), "status": {"S": "new"}}})
            target.call("DeleteItem", {"TableName": "Orders", "Key": _key(7)})
            assert (await relocation.ask("back"))["done"]
            state = await relocation.status()
            assert state is not None
            assert (state.phase, state.open_place) == ("following", places.urls[0])
            assert items_of(source, "Orders") == items_of(target, "Orders")
            with pytest.raises(TransferError, match="back is impossible"):
                await relocation.ask("back")
            assert (await relocation.ask("cut"))["done"]
            assert await relocation.ask("finish") == {"done": True}
        assert [each for each in told if "written again" in each][1].endswith(" 1 written again")

    asyncio.run(run())
    assert (stream_of(source), stream_of(target)) == (None, "NEW_AND_OLD_IMAGES")
    expiry = target.call("DescribeTimeToLive", {"TableName": "Orders"})["TimeToLiveDescription"]
    assert expiry["AttributeName"] == "until"
    left = target.call("Scan", {"TableName": PlaceSwitch.TABLE})["Items"]
    assert [item["id"]["S"] for item in left] == ["switch"]


def _key(number: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"customer-{number // 5}"}, "sk": {"N": str(number)}}


def test_a_relocation_is_given_up_before_the_cut(places: Places) -> None:
    async def run() -> None:
        async with running(places, []) as relocation:
            assert await relocation.ask("finish") == {"done": True}
            assert await relocation.status() is None

    asyncio.run(run())
    switch = PlaceSwitch.of(places.engines[0].call("GetItem", PlaceSwitch.read().body)["Item"])
    assert switch.state == "open"
    assert stream_of(places.engines[0]) == "NEW_AND_OLD_IMAGES"


def test_a_second_process_takes_over(places: Places) -> None:
    async def run() -> None:
        async with open_relocation(*places.urls) as first, open_relocation(*places.urls) as second:
            working = asyncio.ensure_future(first.run(RelocationOptions()))
            while (state := await second.status()) is None or state.phase != "following":
                await asyncio.sleep(0.05)
            again = asyncio.ensure_future(second.run(RelocationOptions()))
            with pytest.raises(TransferError, match="another process has taken over"):
                await asyncio.wait_for(working, 20)
            again.cancel()
            await asyncio.wait([again])

    asyncio.run(run())


def test_mistakes_are_reported(places: Places) -> None:
    source, target = places.engines

    async def run() -> None:
        async with open_relocation(*places.urls) as relocation:

            async def refused(options: RelocationOptions, message: str) -> None:
                with pytest.raises(TransferError, match=message):
                    await relocation.run(options)
                assert await relocation.status() is None

            await refused(RelocationOptions(tables=["Nope"]), "has no table Nope; it has Orders")
            target.call("CreateTable", ORDERS)
            fill(target, "Orders", orders(1))
            await refused(RelocationOptions(), "already has items")
            target.call("DeleteTable", {"TableName": "Orders"})
            for specification in ({"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}):
                source.call("UpdateTable", {"TableName": "Orders", "StreamSpecification": specification})
            await refused(RelocationOptions(), "the stream of Orders has KEYS_ONLY")
            source.call("DeleteTable", {"TableName": "Orders"})
            await refused(RelocationOptions(), "has no tables")
            with pytest.raises(TransferError, match="there is no such relocation"):
                await relocation.ask("cut")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("target", "message"), [("http://127.0.0.1:1", "the same place"), ("./data", "is not an endpoint")]
)
def test_both_places_are_endpoints_and_not_the_same(target: str, message: str) -> None:
    async def run() -> None:
        async with open_relocation("http://127.0.0.1:1", target):
            pass

    with pytest.raises(TransferError, match=message):
        asyncio.run(run())


def test_a_hold_that_others_have_broken_is_no_difference_and_the_process_goes_on(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = places.engines
    broken: list[PlaceSwitch] = []
    differing = LiveComparison.differing

    async def late(self: LiveComparison, table: str, key: Sequence[str], keys: Sequence[Item]) -> dict[bytes, Any]:
        # Programs wait for four seconds at most: they break the hold, and go on writing.
        switch = PlaceSwitch.of(source.call("GetItem", PlaceSwitch.read().body).get("Item"))
        if switch.state == "held" and not broken:
            broken.append(switch)
            source.call("UpdateItem", switch.releasing())
            source.call("PutItem", {"TableName": "Orders", "Item": {**_key(3), "status": {"S": "later"}}})
        return await differing(self, table, key, keys)

    monkeypatch.setattr(LiveComparison, "differing", late)

    async def run() -> None:
        async with running(places, []) as relocation:
            source.call("PutItem", {"TableName": "Orders", "Item": {**_key(3), "status": {"S": "now"}}})
            answer = await relocation.ask("cut")
            assert (answer["done"], answer["reason"]) == (
                False,
                "it took too long, so that waiting programs continued; try again",
            )
            assert len(broken) == 1
            assert (await relocation.ask("cut"))["done"]

    asyncio.run(run())
    assert items_of(target, "Orders") == items_of(source, "Orders")


def test_a_stream_that_does_not_end_during_a_hold_is_reported_and_the_hold_ends(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program without the switch goes on, as do all when they have broken a hold that took too long."""
    source, target = places.engines
    monkeypatch.setattr(relocation_module, "_MAX_HOLD_SECONDS", 1.0)

    async def run() -> None:
        async def write() -> None:
            for number in count(1000):
                source.call("PutItem", {"TableName": "Orders", "Item": _key(number)})
                await asyncio.sleep(0.03)

        async with running(places, []) as relocation:
            writing = asyncio.ensure_future(write())
            answer = await relocation.ask("cut")
            assert not answer["done"]
            assert "a program without the switch writes to it" in answer["reason"]
            switch = PlaceSwitch.of(source.call("GetItem", PlaceSwitch.read().body)["Item"])
            assert switch.state == "open"
            writing.cancel()
            assert (await relocation.ask("cut"))["done"]

    asyncio.run(run())
    assert items_of(target, "Orders") == items_of(source, "Orders")
