"""Calls: whatever happens at once, a call is there once, and nobody overwrites what he has not seen."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from tablewright.systems.calls.model import calls
from tests.examples import examples
from tests.systems import stored_items
from tests.systems.calls.call_clients import HOUR, NOON, Answer, changed, ids, new_id, put, schedule
from tests.systems.harness import Served, at_once

MOVES = examples(60)


class Readers:
    """Threads that look at something over and over, from before it begins to after it ended, and note what is wrong."""

    def __init__(self, served: Served, *looks: Any) -> None:
        self._stop = threading.Event()
        self.seen = [0] * len(looks)
        self.wrong: list[Any] = []
        self._first = threading.Barrier(len(looks) + 1)
        clients = [served.client("cleo", "Schedulers", path="/calls") for _ in looks]
        self._threads = [
            threading.Thread(target=self._run, args=(number, look, client))
            for number, (look, client) in enumerate(zip(looks, clients, strict=True))
        ]

    def _run(self, number: int, look: Any, client: httpx.Client) -> None:
        first = True
        while not self._stop.is_set():
            try:
                wrong = look(client)
            except Exception as error:
                wrong = error
            if wrong is not None:
                self.wrong.append(wrong)
            self.seen[number] += 1
            if first:
                self._first.wait(30)
                first = False

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        self._first.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)


def by_id(call: Answer, **params: Any) -> Any:
    def look(client: httpx.Client) -> Any:
        answer = client.get(f"/calls/{call['callId']}", params=params)
        return None if answer.status_code == 200 else answer.text

    return look


def in_one_list(call: Answer, path: str) -> Any:
    def look(client: httpx.Client) -> Any:
        found = ids(client.get(path))
        return None if found == [call["callId"]] else found

    return look


def in_the_table(served: Served, call: Answer) -> Any:
    """All of the table in one request, which shows one moment of it on this endpoint."""

    def look(_: httpx.Client) -> Any:
        answer = stored_items.ask(served, "Scan", calls, ConsistentRead=True)
        assert "LastEvaluatedKey" not in answer
        found = [item["sk"]["S"] for item in answer["Items"] if item.get("callId") == {"S": call["callId"]}]
        return None if len(found) == 1 else found

    return look


@pytest.mark.requirement("CA5")
def test_readers_see_exactly_one_call_while_it_is_rescheduled(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    lists = [f"/users/{call['userId']}/calls", f"/providers/{call['providerId']}/calls"]
    lists.append(f"/users/{call['userId']}/calls/upcoming?since=0")
    looks = [by_id(call), by_id(call, consistent=True), *(in_one_list(call, path) for path in lists)]
    with Readers(served, *looks, in_the_table(served, call)) as readers:
        for number in range(MOVES):
            call = changed(staff, call, "schedule", scheduledFor=NOON + number % 7 * HOUR)
    assert readers.wrong == []
    assert min(readers.seen) >= 1
    assert call["version"] == MOVES + 1


@pytest.mark.requirement("CA5")
def test_readers_see_exactly_one_call_while_it_is_reassigned(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    users = [call["userId"], new_id("u"), new_id("u")]
    looks = [by_id(call), by_id(call, consistent=True), in_one_list(call, f"/providers/{call['providerId']}/calls")]
    with Readers(served, *looks, in_the_table(served, call)) as readers:
        for number in range(MOVES):
            call = changed(staff, call, "user", userId=users[(number + 1) % 3])
    assert readers.wrong == []
    assert min(readers.seen) >= 1
    assert [each for user in users for each in ids(staff.get(f"/users/{user}/calls"))] == [call["callId"]]


@pytest.mark.requirement("CA5", "CA7")
def test_of_many_moves_of_one_version_one_is_made(staff: httpx.Client, served: Served) -> None:
    call = schedule(staff)
    users = [new_id("u") for _ in range(8)]

    def move(number: int) -> int:
        if number % 2:
            return put(staff, call, "user", userId=users[number // 2]).status_code
        return put(staff, call, "schedule", scheduledFor=NOON + number * HOUR).status_code

    for _ in range(5):
        assert sorted(at_once(16, move)) == [200] + [409] * 15
        call = staff.get(f"/calls/{call['callId']}").json()
        assert in_the_table(served, call)(staff) is None
    assert call["version"] == 6


@pytest.mark.requirement("CA7")
def test_of_many_changes_of_one_version_one_is_made_and_none_overwritten(staff: httpx.Client) -> None:
    call = schedule(staff)

    def change(number: int) -> httpx.Response:
        if number % 2:
            return put(staff, call, "status", status="COMPLETED")
        return put(staff, call, "provider", providerId=new_id("p"))

    answers = at_once(16, change)
    won = [answer.json() for answer in answers if answer.status_code == 200]
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 15
    assert staff.get(f"/calls/{call['callId']}").json() == won[0]


@pytest.mark.requirement("CA7")
def test_those_who_read_again_all_get_their_change_in(staff: httpx.Client) -> None:
    """Every change counts the version up once, so none of them was lost."""
    call = schedule(staff)
    path = f"/calls/{call['callId']}"

    def insist(number: int) -> int:
        for attempt in range(200):
            latest = staff.get(path, params={"consistent": True}).json()
            if put(staff, latest, "provider", providerId=new_id("p")).status_code == 200:
                return attempt
        raise AssertionError("never")

    assert None not in at_once(8, insist)
    assert staff.get(path).json()["version"] == 9


@pytest.mark.requirement("CA7")
def test_a_call_is_either_cancelled_or_changed(staff: httpx.Client, served: Served) -> None:
    for _ in range(10):
        call = schedule(staff)

        def work(number: int, call: Answer = call) -> int:
            if number == 0:
                return staff.delete(f"/calls/{call['callId']}", params={"version": 1}).status_code
            return put(staff, call, "schedule", scheduledFor=NOON + HOUR).status_code

        cancelled, moved = at_once(2, work)
        (left,) = [item for item in stored_items.items(served, calls) if item.get("callId") == {"S": call["callId"]}]
        assert (cancelled, moved, left["status"]["S"]) in ((204, 409, "CANCELLED"), (409, 200, "SCHEDULED"))
