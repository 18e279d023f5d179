"""Whatever dies at whatever moment: every event exists once, and every letter arrives.

A process that dies is played by a store whose backend stops for good at a given request, either before it takes effect
or after. Each moment there is gets its turn; then a new process takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from tablewright.model import Table, attr
from tablewright.runtime.events.event_log import Event
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.mail.event_mail import Mailer, sender_from
from tablewright.runtime.mail.mail_transport import SmtpTransport
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.store import Check, Consumer, ConsumerSettings, Create, Store
from tablewright.store.flow.driver import Backend, Request, Response
from tablewright.systems.tasks import handlers
from tablewright.systems.tasks.model import Assignment, Group, Priority, Status, Task, User, task_management
from tablewright.systems.tasks.tasks_system import system
from tests.examples import THOROUGH
from tests.runtime.mail_server import MailServer
from tests.systems.dying_backend import Died, Mortal
from tests.systems.harness import Clock


@contextmanager
def office(mail: MailServer) -> Iterator[tuple[Runtime, Clock]]:
    clock = Clock()
    # An issuer of somewhere else, as a key of our own takes long to make.
    settings: dict[str, Any] = {"memory": True, "smtp_url": mail.url}
    settings |= {"issuer": "https://issuer.example.org", "audience": "tests"}
    runtime = Runtime.open(Settings(**settings), [system], clock=clock)
    try:
        runtime.sync_store.ensure_tables(events_table, internal_table, task_management)
        yield runtime, clock
    finally:
        runtime.close()


def some_work(store: Store) -> None:
    """Two are assigned a task, one of them starts it."""
    for name, group in (("ada", Group.ADMINS), ("grace", Group.MEMBERS), ("linus", Group.MEMBERS)):
        store.create(User(user_id=name, email=f"{name}@example.org", groups=frozenset({group})))
    task = store.create(
        Task(task_id="t-1", title="Deploy", description="", priority=Priority.LOW, created_by="ada", updated_by="ada")
    )
    for name in ("grace", "linus"):
        assignment = Assignment(task_id="t-1", assigned_to=name, assigned_by="ada")
        store.transact(Check(User.by_id(user_id=name)), Create(assignment))
    store.update(task, attr(Task.status).set(Status.IN_PROGRESS), attr(Task.updated_by).set("grace"))


def consumer(runtime: Runtime, clock: Clock, mail: MailServer, name: str, backend: Any = None) -> Consumer:
    """A consumer as a process of its own has it."""
    store = Store(backend or runtime.sync_store.backend, clock=clock)
    mailer = Mailer(
        store,
        SmtpTransport(mail.url),
        sender_from("tasks@example.org"),
        clock=lambda: datetime.fromtimestamp(clock(), UTC),
    )
    of_its_own = replace(runtime, consumer_store=store)
    of_its_own.mailer = mailer
    found = handlers.consumers(of_its_own)
    each = next(each for each in found if each.name == name)
    table: Table = each.table
    settings: ConsumerSettings = {"batch_size": each.batch_size, "max_changes": each.max_changes}
    return Consumer(store, table, each.handler, name=name, checkpoints=internal_table, **settings)


def run_through(runtime: Runtime, clock: Clock, mail: MailServer, name: str, last: int | None, after: bool) -> Mortal:
    """Run a consumer that dies at a request (None: at none), and the one that takes over; gives what the first had."""
    mortal = Mortal(runtime.sync_store.backend, last, after=after)
    first = consumer(runtime, clock, mail, name, mortal)
    if last is None:
        first.run_once()
    else:
        with pytest.raises(Died):
            first.run_once()
        clock.advance(120)
        second = consumer(runtime, clock, mail, name)
        second.run_once()
        assert second.dead_letters() == []
    return mortal


def every_moment(work: Callable[[int | None, bool], int]) -> None:
    """Have work done with an end at each of its requests, before and after it; without an end it says how many.

    ``make test`` tries every third of them.
    """
    for last in range(0, work(None, False), 1 if THOROUGH else 3):
        for after in (False, True):
            work(last, after)


TYPES = ["TaskCreated", "TaskAssigned", "TaskAssigned", "TaskStatusUpdated"]


def events(store: Store) -> list[Event]:
    return list(store.iterate(Event.of_source(source="tasks")))[::-1]


@pytest.mark.requirement("TM7")
def test_a_publisher_that_dies_loses_no_event_and_makes_none_twice() -> None:
    mail = MailServer()

    def publish(last: int | None, after: bool) -> int:
        with office(mail) as (runtime, clock):
            some_work(runtime.sync_store)
            mortal = run_through(runtime, clock, mail, "tasks.events", last, after)
            found = events(runtime.sync_store)
            assert [event.type for event in found] == TYPES, mortal.requests[-1]
            # Nothing was made twice and put over itself: a subscriber would have seen that.
            seen: list[str] = []
            watcher = Consumer(
                runtime.sync_store,
                events_table,
                lambda changes, effects: seen.extend(change.kind for change in changes),
                name="watcher",
                checkpoints=internal_table,
            )
            watcher.run_once()
            assert seen == ["INSERT"] * len(TYPES)
            return len(mortal.requests)

    every_moment(publish)


@pytest.mark.requirement("TM8")
def test_a_mailer_that_dies_loses_no_message_and_repeats_one_only_in_the_gap() -> None:
    """The gap is between the server's acceptance and the record of it; what is repeated has the same Message-ID."""
    expected = sorted(
        ["Assigned to you: Deploy grace", "Assigned to you: Deploy linus"]
        + [f"In progress: Deploy {name}" for name in ("ada", "grace", "linus")]
    )
    repeated: list[str] = []
    with MailServer() as mail:

        def send(last: int | None, after: bool) -> int:
            mail.received.clear()
            with office(mail) as (runtime, clock):
                some_work(runtime.sync_store)
                consumer(runtime, clock, mail, "tasks.events").run_once()
                mortal = run_through(runtime, clock, mail, "tasks.mail", last, after)
                by_id = {each.message_id: each for each in mail.received}
                told = sorted(
                    f"{each.message['Subject']} {each.recipient.partition('@')[0]}" for each in by_id.values()
                )
                assert told == expected, mortal.requests[-1]
                twice = len(mail.received) - len(by_id)
                assert twice == (1 if last is not None and not after and is_record(mortal.requests[-1]) else 0)
                repeated.extend(["once"] * twice)
                return len(mortal.requests)

        every_moment(send)
    assert len(repeated) == len(expected) if THOROUGH else len(repeated) < len(expected)


def is_record(request: Request) -> bool:
    """Whether a request says that a letter has been sent."""
    values = request.body.get("ExpressionAttributeValues", {}).values()
    return request.operation == "UpdateItem" and {"S": "sent"} in values


@pytest.mark.requirement("TM7", "TM8")
def test_a_place_in_the_stream_that_is_lost_sends_nothing_again() -> None:
    """Checkpoints are set back to the beginning: everything is read again."""
    with MailServer() as mail, office(mail) as (runtime, clock):
        some_work(runtime.sync_store)
        for name in ("tasks.events", "tasks.mail"):
            consumer(runtime, clock, mail, name).run_once()
        sent, found = list(mail.received), events(runtime.sync_store)
        assert len(sent) == 5
        for name in ("tasks.events", "tasks.mail"):
            checkpoints = Consumer(
                runtime.sync_store, events_table, lambda *_: None, name=name, checkpoints=internal_table
            )
            for note in runtime.sync_store.run_flow(checkpoints._worker.leases.load()):
                assert runtime.sync_store.delete(note)
        clock.advance(120)
        for name in ("tasks.events", "tasks.mail"):
            assert consumer(runtime, clock, mail, name).run_once().records > 0
        assert mail.received == sent
        assert events(runtime.sync_store) == found


def test_a_place_in_the_stream_is_noted_after_a_few_events_that_are_mailed() -> None:
    """However many changes come together: each message may take seconds, and a process may die meanwhile."""
    with MailServer() as mail, office(mail) as (runtime, clock):
        store = runtime.sync_store
        some_work(store)
        task = store.get(Task.by_id(task_id="t-1"))
        assert task is not None
        for number in range(30):
            store.create(task.model_copy(update={"task_id": f"u-{number}"}))
            store.create(Assignment(task_id=f"u-{number}", assigned_to="grace", assigned_by="ada"))
        consumer(runtime, clock, mail, "tasks.events").run_once()
        mailed_at_each_note: list[int] = []
        watched = Watched(store.backend, lambda: mailed_at_each_note.append(len(mail.received)))
        assert consumer(runtime, clock, mail, "tasks.mail", watched).run_once().dead_letters == 0
        assert len(mail.received) == mailed_at_each_note[-1] == 2 + 3 + 30
        steps = [after - before for before, after in pairwise([0, *mailed_at_each_note])]
        # One of the events has three letters.
        assert max(steps) <= 10 + 2


class Watched:
    """A backend that tells of each request that settles mail."""

    def __init__(self, backend: Backend, settled: Callable[[], None]) -> None:
        self._backend = backend
        self._settled = settled

    def call(self, request: Request) -> Response:
        response = self._backend.call(request)
        if request.pattern == "tasks.mail.consume":
            self._settled()
        return response

    async def call_async(self, request: Request) -> Response:
        raise NotImplementedError

    def close(self) -> None:
        self._backend.close()
