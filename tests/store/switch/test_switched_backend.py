"""Requests go where the switch says, wait while it is held, and count only while it is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.store import (
    EmbeddedBackend,
    OutcomeUnknown,
    PlaceSwitch,
    Request,
    ServiceError,
    SwitchedBackend,
)
from tablewright.store.switch.place_switch import awake_seconds
from tests.store.switch.switch_places import TABLE, Places, SlowBackend, get, put

pytestmark = [pytest.mark.requirement("SH6"), pytest.mark.timeout(60)]


@pytest.fixture
def places() -> Places:
    return Places()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def switched(places: Places, first: Any = None, **options: Any) -> SwitchedBackend:
    return SwitchedBackend(first or places.backend(0), places.backend(1), **options)


def still_waits(future: Future[Any]) -> bool:
    time.sleep(0.3)
    return not future.done()


def test_each_step_is_made_once_and_from_the_step_before() -> None:
    places = Places()
    opened = places.switch(0)
    assert places.step(0, opened.holding("a"))
    assert places.step(0, opened.holding("b")), "a hold is taken over"
    held = places.switch(0)
    assert not places.step(0, PlaceSwitch("held", 1, hold="a").moving()), "by whoever has it now only"
    assert not places.step(0, PlaceSwitch("held", 1, hold="a").releasing())
    assert places.step(0, held.moving())
    assert not places.step(0, held.moving())
    assert not places.step(0, held.releasing()), "what has moved is not released"
    assert not places.step(0, opened.holding("c"))
    moved = places.switch(0)
    assert (moved.state, moved.epoch, moved.tables) == ("moved", 2, frozenset({TABLE}))
    assert places.step(1, PlaceSwitch.opening(moved.epoch, moved.tables))
    assert not places.step(1, PlaceSwitch.opening(moved.epoch, moved.tables))
    assert places.switch(1) == PlaceSwitch("open", 2, frozenset({TABLE}))


def test_a_place_without_a_switch_is_open() -> None:
    first, second = (EmbeddedBackend(Engine.open(), owned=True) for _ in range(2))
    with closing(SwitchedBackend(first, second)) as backend:
        assert backend.call(Request("ListTables", {})) == {"TableNames": []}


def test_requests_wait_while_a_place_is_held_and_go_to_the_other(places: Places, threads: ThreadPoolExecutor) -> None:
    with closing(switched(places)) as backend:
        backend.call(put("before"))
        places.hold(0)
        waiting = [threads.submit(backend.call, put("held")), threads.submit(backend.call, get("before"))]
        assert still_waits(waiting[0])
        assert not waiting[1].done(), "reads wait with writes"
        assert places.keys(0) == ["before"]
        # The second place is still on standby: whoever comes by opens it.
        places.move(0)
        waiting[0].result(10)
        assert places.keys(1) == ["held"]
        assert waiting[1].result(10) == {}
        assert places.switch(1).state == "open"
        # And back.
        places.hold(1)
        places.move(1)
        backend.call(put("returned"))
        assert places.keys(0) == ["before", "returned"]
        assert (places.switch(0).state, places.switch(0).epoch) == ("open", 3)


def test_requests_of_a_loop_wait_as_well(places: Places) -> None:
    async def run() -> None:
        with closing(switched(places)) as backend:
            await backend.call_async(put("before"))
            places.hold(0)
            waiting = asyncio.ensure_future(backend.call_async(put("held")))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            places.move(0)
            await asyncio.wait_for(waiting, 10)
            assert (places.keys(0), places.keys(1)) == (["before"], ["held"])

    asyncio.run(run())


def test_a_hold_that_is_not_ended_in_time_is_broken(places: Places, threads: ThreadPoolExecutor) -> None:
    with closing(switched(places, clock=lambda: awake_seconds() * 20)) as backend:
        places.hold(0)
        threads.submit(backend.call, put("held")).result(20)
        assert places.keys(0) == ["held"]
        assert not places.step(0, PlaceSwitch("held", 1, hold="h").moving()), "who slept through it moves nothing"


@pytest.mark.parametrize("before", [True, False])
def test_a_write_whose_response_comes_after_the_move_is_not_acknowledged(
    places: Places, threads: ThreadPoolExecutor, before: bool
) -> None:
    slow = SlowBackend(places.backend(0), before=before)
    with closing(switched(places, slow)) as backend:
        late = threads.submit(backend.call, put("late"))
        assert slow.arrived.wait(10)
        places.hold(0)
        places.move(0)
        slow.released.set()
        with pytest.raises(OutcomeUnknown, match="the tables were moved"):
            late.result(10)
        assert places.keys(1) == []


def test_a_read_whose_response_comes_after_the_move_is_sent_again(places: Places, threads: ThreadPoolExecutor) -> None:
    slow = SlowBackend(places.backend(0))
    with closing(switched(places, slow)) as backend:
        late = threads.submit(backend.call, get("k"))
        assert slow.arrived.wait(10)
        places.hold(0)
        places.move(0)
        places.step(1, PlaceSwitch.opening(2, [TABLE]))
        places.engines[1].call("PutItem", put("k").body)
        slow.released.set()
        assert late.result(10) == {"Item": {"pk": {"S": "k"}}}


def test_a_late_response_counts_if_nothing_has_moved(places: Places, threads: ThreadPoolExecutor) -> None:
    slow = SlowBackend(places.backend(0))
    with closing(switched(places, slow)) as backend:
        late = threads.submit(backend.call, put("late"))
        assert slow.arrived.wait(10)
        places.hold(0)
        slow.released.set()
        assert still_waits(late), "nobody knows yet"
        assert places.step(0, places.switch(0).releasing())
        assert late.result(10) == {}


def test_a_transaction_is_not_repeated_in_the_other_place(places: Places, threads: ThreadPoolExecutor) -> None:
    slow = SlowBackend(places.backend(0))
    slow.lost = ServiceError("ConnectionError", "no response")
    slow.released.set()
    body = {"TransactItems": [{"Put": put("t").body}], "ClientRequestToken": "once"}
    with closing(switched(places, slow)) as backend:
        with pytest.raises(ServiceError, match="no response"):
            backend.call(Request("TransactWriteItems", body))
        places.hold(0)
        places.move(0)
        with pytest.raises(OutcomeUnknown, match="before it could be repeated"):
            backend.call(Request("TransactWriteItems", body))
        assert places.keys(1) == []


def test_other_tables_stay_where_they_are(places: Places) -> None:
    for engine in places.engines:
        engine.call(
            "CreateTable",
            {
                "TableName": "Others",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
    with closing(switched(places)) as backend:
        places.hold(0)
        other = {"TableName": "Others", "Item": {"pk": {"S": "o"}}}
        backend.call(Request("PutItem", other))
        places.move(0)
        backend.call(put("k"))
        backend.call(Request("PutItem", other))
        assert places.engines[1].call("Scan", {"TableName": "Others"})["Items"] == []
        both = [{"Put": put("k").body}, {"Put": other}]
        with pytest.raises(ServiceError, match="relocate them together"):
            backend.call(Request("TransactWriteItems", {"TransactItems": both}))


def test_a_consumer_finishes_the_stream_that_was_left_and_goes_on_with_the_other(places: Places) -> None:
    def stream(place: int, *, on: bool) -> None:
        specification = {"StreamEnabled": on} | ({"StreamViewType": "NEW_IMAGE"} if on else {})
        places.engines[place].call("UpdateTable", {"TableName": TABLE, "StreamSpecification": specification})

    def described(backend: SwitchedBackend) -> str:
        return str(backend.call(Request("DescribeTable", {"TableName": TABLE}))["Table"]["LatestStreamArn"])

    def records(backend: SwitchedBackend, arn: str) -> list[str]:
        (shard,) = backend.call(Request("DescribeStream", {"StreamArn": arn}))["StreamDescription"]["Shards"]
        body = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = backend.call(Request("GetShardIterator", body))["ShardIterator"]
        found = backend.call(Request("GetRecords", {"ShardIterator": iterator}))
        return [record["dynamodb"]["Keys"]["pk"]["S"] for record in found["Records"]]

    stream(0, on=True)
    with closing(switched(places)) as backend:
        backend.call(put("before"))
        first = described(backend)
        places.hold(0)
        stream(1, on=True)
        places.move(0)
        backend.call(put("after"))
        stream(0, on=False)
        second = described(backend)
        assert first != second
        assert (records(backend, first), records(backend, second)) == (["before"], ["after"])
        listed = backend.call(Request("ListStreams", {"TableName": TABLE}))["Streams"]
        assert [each["StreamArn"] for each in listed] == [second, first]
    with closing(switched(Places())) as other, pytest.raises(ServiceError, match="ResourceNotFoundException"):
        other.call(Request("DescribeStream", {"StreamArn": first}))


def test_a_standby_endpoint_is_refused_with_a_remedy(places: Places) -> None:
    places.set(0, PlaceSwitch("standby", 0))
    with (
        closing(switched(places, clock=lambda: awake_seconds() * 50)) as backend,
        pytest.raises(ServiceError, match="swap the endpoint and relocate_to"),
    ):
        backend.call(put("k"))
