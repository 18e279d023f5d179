"""Consumers as those who run the service see them: waiting, failing, dead letters, and stopping."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest

from tablewright.runtime.background import consumer_threads
from tablewright.runtime.background.consumer_threads import ConsumerSpec
from tablewright.runtime.events.event_log import Event
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.store import AnyChange, Change, CheckpointTable, Effects, Handler, Unavailable
from tablewright.systems import load
from tablewright.systems.tasks.model import Task, task_management
from tests.systems import stored_items
from tests.systems.harness import Served, serving, wait_for
from tests.systems.tasks.team import TASK


def titles(changes: Sequence[AnyChange]) -> list[str]:
    found = [change.after for change in changes if isinstance(change, Change)]
    return [after.title for after in found if isinstance(after, Task)]


@contextmanager
def consuming(handler: Handler, **settings: object) -> Iterator[tuple[Served, httpx.Client]]:
    """Tasks with one consumer, and an admin."""
    (tasks,) = load("tasks")
    system = replace(
        tasks, consumers=lambda runtime, service: [ConsumerSpec("tests.titles", task_management, handler)], search=()
    )
    with serving([system], **settings) as served:
        yield served, served.client("root", "Admins")


def write(admin: httpx.Client, *names: str) -> None:
    for name in names:
        assert admin.post("/tasks/tasks", json={**TASK, "title": name}).status_code == 201


def state(admin: httpx.Client) -> dict[str, object]:
    (found,) = admin.get("/runtime/consumers").json()
    assert isinstance(found, dict)
    assert found.pop("behind_seconds") >= 0
    assert found.pop("shards_elsewhere") == 0
    return found


def test_a_record_that_cannot_be_dealt_with_is_put_aside_and_can_be_handled_after_all() -> None:
    done: list[str] = []
    poison = {"bad"}

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        if poison & set(titles(changes)):
            raise ValueError("this one cannot be")
        done.extend(titles(changes))

    with consuming(handle) as (served, admin):
        write(admin, "good", "bad", "better")
        wait_for(lambda: state(admin)["dead_letters"])
        wait_for(lambda: "better" in done)
        assert state(admin) == {"name": "tests.titles", "failing": None, "waiting": None, "dead_letters": 1}
        assert set(done) == {"good", "better"}

        (letter,) = admin.get("/runtime/consumers/tests.titles/dead-letters").json()["dead_letters"]
        assert (letter["error"], letter["attempts"]) == ("ValueError: this one cannot be", 4)
        assert '"bad"' in letter["record"]
        replay = f"/runtime/consumers/tests.titles/dead-letters/{letter['sequence']}/replay"
        again = admin.post(replay)
        assert (again.status_code, again.json()["detail"]) == (409, "the dead letter failed again: ValueError")
        assert state(admin)["dead_letters"] == 1

        poison.clear()
        assert admin.post(replay).status_code == 204
        assert state(admin)["dead_letters"] == 0
        assert "bad" in done
        assert admin.post(replay).status_code == 404
        assert 'stream_dead_letters_total{consumer="tests.titles"} 1.0' in served.client().get("/metrics").text


def test_dead_letters_are_listed_in_pages_around_one_that_cannot_be_read() -> None:
    def refuse(changes: Sequence[AnyChange], effects: Effects) -> None:
        raise ValueError("none of them")

    path = "/runtime/consumers/tests.titles/dead-letters"
    with consuming(refuse) as (served, admin):
        write(admin, *(f"number {number}" for number in range(6)))
        wait_for(lambda: state(admin)["dead_letters"] == 6)
        assert len(admin.get(path).json()["dead_letters"]) == 6
        letters = CheckpointTable.of(internal_table).dead_letter.of_consumer(consumer="tests.titles")
        kept = list(served.runtime.sync_store.iterate(letters))
        key = {name: value for name, value in kept[2].item().items() if name in ("PK", "SK")}
        stored_items.spoil(served, internal_table, key, attempts={"S": "many"})
        pages, told, cursor = [], [], None
        while True:
            page = admin.get(path, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            pages.append([each["sequence"] for each in page["dead_letters"]])
            told += page["unreadable"]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert pages == [[kept[0].sequence, kept[1].sequence], [kept[3].sequence, kept[4].sequence], [kept[5].sequence]]
        assert [kept[2].sequence in each for each in told] == [True]
        # One that can be read is found behind it.
        again = admin.post(f"{path}/{kept[5].sequence}/replay")
        assert (again.status_code, again.json()["detail"]) == (409, "the dead letter failed again: ValueError")
        assert admin.get(path, params={"limit": 101}).status_code == 422
        other = admin.get(
            "/runtime/events/tasks", params={"cursor": admin.get(path, params={"limit": 2}).json()["cursor"]}
        )
        assert (other.status_code, other.json()["type"]) == (400, "/problems/invalid-cursor")


def test_events_are_listed_around_one_that_cannot_be_read() -> None:
    with serving(load("tasks")) as served:
        admin = served.client("root", "Admins")
        write(admin, "one", "two", "three")
        path = "/runtime/events/tasks"
        found = wait_for(lambda: (page := admin.get(path).json()["events"]) and len(page) == 3 and page)
        key = {"PK": {"S": f"EVENT#{found[1]['event_id']}"}, "SK": {"S": "EVENT"}}
        stored_items.spoil(served, events_table, key, detail={"S": "x"})
        page = admin.get(path, params={"limit": 2}).json()
        assert page["events"] == [found[0], found[2]]
        assert [found[1]["event_id"] in each for each in page["unreadable"]] == [True]


def test_consumers_are_shown_to_admins_only() -> None:
    with consuming(lambda changes, effects: None) as (served, admin):
        member = served.client("grace", "Members")
        for path in ("/runtime/consumers", "/runtime/consumers/tests.titles/dead-letters"):
            assert member.get(path).status_code == 403
            assert admin.get(path).status_code == 200
        assert admin.get("/runtime/consumers/nobody/dead-letters").status_code == 404


def test_a_consumer_that_waits_says_for_what_and_nothing_becomes_a_dead_letter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(consumer_threads, "LATE", 0.1)
    monkeypatch.setattr(consumer_threads, "_REPORT_EVERY", 0.1)
    done: list[str] = []
    shut = threading.Event()
    shut.set()

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        if shut.is_set():
            raise Unavailable("the gate is shut")
        done.extend(titles(changes))

    with consuming(handle) as (_, admin):
        write(admin, *(f"number {number}" for number in range(20)))
        assert wait_for(lambda: state(admin)["waiting"]) == "the gate is shut"
        # An alarm counts these (tablewright.deploy).
        late = wait_for(lambda: [each for each in caplog.records if "behind_seconds" in each.__dict__])
        assert late[0].__dict__["consumer"] == "tests.titles"
        assert late[0].__dict__["behind_seconds"] > 0
        shut.clear()
        wait_for(lambda: len(done) >= 20)
        assert done == [f"number {number}" for number in range(20)]
        wait_for(lambda: state(admin)["waiting"] is None)
        assert state(admin)["dead_letters"] == 0


def test_however_much_is_waiting_a_stop_is_soon_and_the_next_start_goes_on_at_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Each record takes its time; the one that is being dealt with is finished, and the others are kept."""
    folder = tmp_path_factory.mktemp("stopped")
    done: list[str] = []
    begun = threading.Event()
    go_on = threading.Event()

    def slowly(changes: Sequence[AnyChange], effects: Effects) -> None:
        begun.set()
        assert go_on.wait(20)
        done.extend(titles(changes))

    (tasks,) = load("tasks")
    one_by_one = ConsumerSpec("tests.slow", task_management, slowly, batch_size=1)
    system = replace(tasks, consumers=lambda runtime, service: [one_by_one])
    names = [f"number {number}" for number in range(10)]
    with serving([system], data=folder) as served:
        write(served.client("root", "Admins"), *names)
        assert begun.wait(20)
        # The stop comes while the first one is at work.
        threading.Timer(0.5, go_on.set).start()
    assert 1 <= len(done) < len(names)
    with serving([system], data=folder) as served:
        wait_for(lambda: len(done) >= len(names), seconds=10)
    assert done == names


def test_a_consumer_that_fails_is_reported_until_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it keeps its place in is gone for a while."""
    done: list[str] = []
    with consuming(lambda changes, effects: done.extend(titles(changes))) as (served, admin):
        write(admin, "first")
        wait_for(lambda: done)
        notes = {"TableName": "tablewright-internal"}
        engine = served.runtime.engine
        assert engine is not None
        description = engine.call("DescribeTable", notes)["Table"]
        engine.call("DeleteTable", notes)
        # Every call reads that table too, so that the database is failing as well.
        failing = {"tests.titles": "TableNotFound", "database": "a table is missing"}
        wait_for(lambda: served.client().get("/readyz").json()["failing"] == failing)
        engine.call(
            "CreateTable",
            {
                **notes,
                "KeySchema": description["KeySchema"],
                "AttributeDefinitions": description["AttributeDefinitions"],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        wait_for(lambda: served.client().get("/readyz").status_code == 200)
        write(admin, "second")
        wait_for(lambda: "second" in done)


def test_events_are_kept_for_thirty_days() -> None:
    with serving(load("tasks")) as served:
        admin = served.client("root", "Admins")
        write(admin, "first")
        (event,) = wait_for(lambda: list(served.runtime.sync_store.iterate(Event.of_source(source="tasks"))))
        assert event.ttl is not None
        assert (event.ttl - event.at).days in (29, 30)
        served.clock.advance(31 * 86400)
        assert list(served.runtime.sync_store.iterate(Event.of_source(source="tasks"))) == []
