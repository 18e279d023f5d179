"""Consumers of a stream as the database has them: how far behind, who runs them, what they failed on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest

from tablewright.engine import Engine
from tablewright.runtime import Metrics
from tablewright.runtime.background.consumer_threads import ConsumerSpec, ConsumerThreads
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AnyChange, Consumer, Effects, EmbeddedBackend, Store
from tablewright.studio.observe.stream_consumers import FoundConsumers, consumers_of, images_of
from tablewright.studio.studio_database import StudioDatabase
from tablewright.systems.tasks.model import Priority, Task, design, task_management
from tablewright.ui.api_calls import Refused

pytestmark = pytest.mark.requirement("ST6")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        store = Store.on(engine)
        store.ensure_tables(task_management, internal_table)
        yield engine


def put(engine: Engine, name: str) -> None:
    when = datetime(2026, 11, 1, tzinfo=UTC)
    Store.on(engine).put(
        Task(
            task_id=name,
            title=name,
            description="",
            priority=Priority.HIGH,
            created_by="grace",
            created_at=when,
            updated_at=when,
            updated_by="grace",
        )
    )


def found(engine: Engine) -> FoundConsumers:
    database = StudioDatabase("memory", EmbeddedBackend(engine, owned=False), [design])
    tables = engine.call("ListTables", {})["TableNames"]
    arn = engine.call("DescribeTable", {"TableName": task_management.name})["Table"]["LatestStreamArn"]
    return asyncio.run(consumers_of(database, tables, arn))


def test_who_is_behind_and_what_failed(engine: Engine) -> None:
    assert found(engine) == FoundConsumers([], True)

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            if getattr(change.after, "title", "") == "bad":
                raise RuntimeError("it cannot be counted")

    store = Store.on(engine)
    consumer = Consumer(store, task_management, handle, name="tasks.count", checkpoints=internal_table, retries=1)
    put(engine, "good")
    put(engine, "bad")
    consumer.run_once()
    (state,) = found(engine).consumers
    assert (state.name, state.behind) == ("tasks.count", 0.0)
    (letter,) = state.letters
    assert "it cannot be counted" in letter.error
    before, after = images_of(letter)
    assert before is None
    assert after is not None
    assert after["Title"] == {"S": "bad"}
    put(engine, "later")
    (state,) = found(engine).consumers
    assert state.behind is not None
    assert state.behind > 0


def test_consumers_of_other_tables_are_not_among_them(engine: Engine) -> None:
    consumer = Consumer(
        Store.on(engine), task_management, lambda changes, effects: None, name="mine", checkpoints=internal_table
    )
    put(engine, "one")
    consumer.run_once()
    database = StudioDatabase("memory", EmbeddedBackend(engine, owned=False), [design])
    assert asyncio.run(consumers_of(database, [internal_table.name], "arn/stream/other")).consumers == []
    assert [state.name for state in found(engine).consumers] == ["mine"]


def test_a_dead_letter_is_handled_again_by_the_consumer_of_this_process(engine: Engine) -> None:
    handled: list[str] = []
    is_broken = True

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        if is_broken:
            raise RuntimeError("it cannot be counted")
        handled.extend(str(change.after.task_id) for change in changes if isinstance(change.after, Task))

    spec = ConsumerSpec("tasks.count", task_management, handle, retries=0)
    threads = ConsumerThreads(Store.on(engine), [spec], Metrics())
    put(engine, "bad")
    threads.consumer("tasks.count").run_once()
    (state,) = found(engine).consumers
    (letter,) = state.letters
    backend = EmbeddedBackend(engine, owned=False)
    for database, refused in (
        (StudioDatabase("memory", backend, [design], consumers=threads), "read-only"),
        (StudioDatabase("memory", backend, [design], may_write=True), "does not run in this process"),
        (StudioDatabase("memory", backend, [design], may_write=True, consumers=threads), "failed again: RuntimeError"),
    ):
        with pytest.raises(Refused, match=refused):
            asyncio.run(database.replay(letter, "ada"))
        assert [each.refused is None for each in database.writes] == [False]
    assert [len(each.letters) for each in found(engine).consumers] == [1], "it is still there"
    is_broken = False
    asyncio.run(database.replay(letter, "ada"))
    assert handled == ["bad"]
    assert [len(each.letters) for each in found(engine).consumers] == [0]
    logged = database.writes[-1]
    assert (logged.who, logged.operation, logged.refused) == ("ada", "replay", None)
    assert logged.about == f"tasks.count, {letter.sequence}"
    # What follows from it is committed together with its deletion, and so counts once.
    with pytest.raises(Refused, match="failed again: NotFound"):
        asyncio.run(database.replay(letter, "ada"))
