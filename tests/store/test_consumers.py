"""Consumers: every change once, whatever fails, crashes or is repeated."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, ExpiresAt, Expiry, Get, Keys, ModelError, Table, UpdatedAt, Version
from tablewright.store import AsyncStore, InProgress, NotFound, ServiceError, Store, Unavailable
from tablewright.store.backends import EmbeddedBackend
from tablewright.store.consumers import AsyncConsumer, Consumer
from tablewright.store.effects import Effects
from tablewright.store.errors import Cancelled, LeaseLost, RebuildUnfinished, RecordsLost
from tablewright.store.flow import Backend, Flow, Request, Response, Sleep, run
from tablewright.store.operations import execute_all
from tablewright.store.rebuilds import rebuild
from tablewright.store.streams import AnyChange, Change, ShardReader, describe_stream, only
from tablewright.store.writes import Create
from tests.store import endpoints
from tests.store.conftest import Clock

tickets = Table("Tickets", "PK", "SK", type_attribute="kind", stream="NEW_AND_OLD_IMAGES")
metrics = Table("Metrics", "PK", "SK", type_attribute="kind", ttl="ttl")


class Ticket(Entity, table=tickets):
    ticket_id: str
    status: str = "open"

    keys = Keys(PK="TICKET#{ticket_id}", SK="TICKET")
    by_id = Get()


class Counter(Entity, table=metrics):
    name: str
    count: int = 0
    version: Version = 0

    keys = Keys(PK="COUNTER#{name}", SK="COUNTER")
    named = Get()


class Tally(Entity, table=metrics):
    day: date
    total: Decimal = Decimal(0)
    tickets: int = 0
    version: Version = 0
    updated_at: UpdatedAt = None
    ttl: Annotated[ExpiresAt, Expiry(timedelta(days=30))] = None

    keys = Keys(PK="TALLY", SK="{day}")
    of_day = Get()


class Reading(Entity, table=metrics):
    meter: str
    unit: str
    total: int = 0

    keys = Keys(PK="METER#{meter}", SK="METER")
    of_meter = Get()


class Event(Entity, table=metrics):
    event_id: str

    keys = Keys(PK="EVENT#{event_id}", SK="EVENT")
    by_id = Get()


class Still(random.Random):
    """Chance that never waits."""

    def uniform(self, a: float, b: float) -> float:
        return 0.0


def count(changes: Sequence[AnyChange], effects: Effects) -> None:
    """Tickets by status: what a ticket was counts one less, what it is counts one more."""
    for change in changes:
        assert isinstance(change, Change)
        for ticket, amount in ((change.before, -1), (change.after, 1)):
            if isinstance(ticket, Ticket):
                effects.add(Counter.named(name=ticket.status), count=amount)


class Desk:
    """A store, and what tests do with it; on another endpoint than ours, the engine is not what it runs on."""

    def __init__(self, backend: Backend, engine: Engine, clock: Clock) -> None:
        self.backend = backend
        self.engine = engine
        self.clock = clock
        self._seed = 0
        self.store = self.another_store()
        self.store.ensure_tables(tickets, metrics)

    def another_store(self, backend: Backend | None = None) -> Store:
        self._seed += 1
        return Store(backend or self.backend, clock=self.clock, entropy=Still(self._seed))

    def consumer(self, handler: Callable[[Sequence[AnyChange], Effects], None] = count, **settings: Any) -> Consumer:
        store = settings.pop("store", None) or self.another_store()
        return Consumer(store, tickets, handler, name="metrics", notes=metrics, **settings)

    def call(self, operation: str, body: dict[str, Any]) -> Response:
        return self.backend.call(Request(operation, body))

    def put(self, *ids: str, status: str = "open") -> None:
        for ticket_id in ids:
            item = Ticket(ticket_id=ticket_id, status=status).item()
            self.call("PutItem", {"TableName": "Tickets", "Item": item})

    def remove(self, ticket_id: str) -> None:
        item = Ticket(ticket_id=ticket_id).item()
        self.call("DeleteItem", {"TableName": "Tickets", "Key": {"PK": item["PK"], "SK": item["SK"]}})

    def counters(self) -> dict[str, int]:
        found = self.call("Scan", {"TableName": "Metrics"})["Items"]
        counters = [Counter.of(item) for item in found if item["kind"] == {"S": "Counter"}]
        return {counter.name: counter.count for counter in counters if counter.count}

    def truth(self) -> dict[str, int]:
        statuses = [item["status"]["S"] for item in self.call("Scan", {"TableName": "Tickets"})["Items"]]
        return {status: statuses.count(status) for status in set(statuses)}

    def records(self) -> list[dict[str, Any]]:
        stream = self.store._run(describe_stream(self.store._context, tickets))
        reader = ShardReader(stream.arn, stream.shards[0], None)
        self.store._run(reader.fill(self.store._context, 1000))
        return reader.pending


@pytest.fixture
def desk(engine: Engine, clock: Clock) -> Desk:
    return Desk(EmbeddedBackend(engine, owned=False), engine, clock)


@pytest.fixture(params=endpoints.ENDPOINTS)
def any_desk(request: pytest.FixtureRequest, engine: Engine, clock: Clock) -> Iterator[Desk]:
    endpoints.expect_known_differences(request, request.param)
    with endpoints.started(request.param, engine) as backend:
        yield Desk(backend, engine, clock)


class Failing:
    """A backend that dies at the n-th call: before it is carried out, or after."""

    def __init__(self, backend: Backend, at: int, *, after: bool) -> None:
        self.backend = backend
        self.left = at
        self.after = after

    def call(self, request: Request) -> Response:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Crash
        response = self.backend.call(request)
        if self.left == 0:
            raise Crash
        return response

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


class Crash(BaseException):
    """The end of a process."""


# -- counting -------------------------------------------------------------------------------------------------------


def test_inserts_changes_and_removals_are_counted_once(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1", "2", "3")
    desk.put("2", status="closed")
    desk.remove("3")
    consumer = desk.consumer()
    assert consumer.run_once().records == 5
    assert desk.counters() == {"open": 1, "closed": 1}
    assert consumer.run_once().records == 0
    desk.put("4")
    consumer.run_once()
    assert desk.counters() == desk.truth() == {"open": 2, "closed": 1}


def test_another_consumer_of_the_name_goes_on_where_the_first_stopped(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1")
    first = desk.consumer()
    first.run_once()
    first.release()
    desk.put("2")
    assert desk.consumer().run_once().records == 1
    assert desk.counters() == {"open": 2}


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_moment_neither_loses_nor_repeats_an_effect(after: bool, clock: Clock) -> None:
    at = 0
    while True:
        at += 1
        with Engine.open(clock=clock) as engine:
            desk = Desk(EmbeddedBackend(engine, owned=False), engine, clock)
            desk.put("1", "2", "3", "4", "5")
            desk.put("2", status="closed")
            dying = Failing(desk.backend, at, after=after)
            try:
                desk.consumer(store=desk.another_store(dying), batch_size=2).run_once()
            except Crash:
                clock.now += 61
            desk.consumer(batch_size=3, lease=timedelta(seconds=60)).run_once()
            if dying.left > 0:
                break
            assert desk.counters() == desk.truth(), f"crash at call {at}"
    assert at > 8


def test_an_effect_can_be_any_write_of_a_transaction(desk: Desk) -> None:
    def publish(changes: Sequence[AnyChange], effects: Effects) -> None:
        effects.do(*(Create(Event(event_id=change.sequence)) for change in changes))

    desk.put("1", "2")
    consumer = desk.consumer(publish)
    consumer.run_once()
    sequences = [record["dynamodb"]["SequenceNumber"] for record in desk.records()]
    assert all(desk.store.get(Event.by_id(event_id=sequence)) is not None for sequence in sequences)


def test_a_batch_with_more_effects_than_a_transaction_takes_is_cut(desk: Desk) -> None:
    def per_ticket(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            for part in range(3):
                effects.add(Counter.named(name=f"{change.sequence}-{part}"), count=1)

    desk.put(*map(str, range(100)))
    done = desk.consumer(per_ticket, bisect=False).run_once()
    assert (done.batches, done.dead_letters) == (4, 0)
    assert len(desk.counters()) == 300


def test_additions_that_the_model_forbids_are_named() -> None:
    effects = Effects()
    with pytest.raises(ModelError, match=r"Counter\.name is part of a key"):
        effects.add(Counter.named(name="x"), name=1)
    with pytest.raises(ModelError, match="Counter has no field 'size'"):
        effects.add(Counter.named(name="x"), size=1)
    with pytest.raises(ModelError, match=r"Reading\.unit is required, so no addition can make a Reading"):
        effects.add(Reading.of_meter(meter="m"), total=1)
    assert effects.operations() == []


def test_an_addition_makes_an_item_with_everything_that_follows_from_the_model(desk: Desk) -> None:
    def tally(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in only(Ticket, changes):
            assert change.after is not None
            effects.add(Tally.of_day(day=change.at.date()), total=Decimal("0.1"), tickets=1)

    desk.put("1", "2", "3")
    desk.consumer(tally).run_once()
    day = datetime.fromtimestamp(desk.clock.now, UTC).date()
    tally_of_day = desk.store.get(Tally.of_day(day=day))
    assert tally_of_day is not None
    assert (tally_of_day.total, tally_of_day.tickets, tally_of_day.version) == (Decimal("0.3"), 3, 1)
    assert tally_of_day.ttl == desk.store._context.now() + timedelta(days=30)
    assert desk.store.verify(Tally).is_clean


def test_items_of_other_writers_are_passed_by(desk: Desk) -> None:
    seen: list[AnyChange] = []
    desk.engine.call("PutItem", {"TableName": "Tickets", "Item": {"PK": {"S": "x"}, "SK": {"S": "y"}}})
    desk.put("1")
    assert desk.consumer(lambda changes, _: seen.extend(changes)).run_once().records == 2
    assert [change.key["PK"]["S"] for change in seen] == ["TICKET#1"]


# -- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SU13")
def test_batches_are_of_the_given_size(desk: Desk) -> None:
    sizes: list[int] = []
    desk.put(*map(str, range(25)))
    desk.consumer(lambda changes, _: sizes.append(len(changes)), batch_size=10).run_once()
    assert sizes == [10, 10, 5]


@pytest.mark.requirement("SU13")
def test_a_small_batch_waits_until_its_window_is_over_and_a_full_one_does_not(desk: Desk) -> None:
    sizes: list[int] = []
    consumer = desk.consumer(lambda changes, _: sizes.append(len(changes)), batch_size=4)

    def step() -> None:
        consumer._store._run(consumer._worker.one_pass(flush=False))

    desk.put("1", "2")
    step()
    desk.clock.now += 4
    step()
    assert sizes == []
    desk.clock.now += 1
    step()
    assert sizes == [2]
    desk.put("3", "4", "5", "6", "7")
    step()
    assert sizes == [2, 4]
    desk.clock.now += 5
    step()
    assert sizes == [2, 4, 1]


@pytest.mark.requirement("SU13")
def test_a_failing_batch_is_cut_down_to_the_record_that_is_to_blame(any_desk: Desk) -> None:
    desk = any_desk
    calls: list[int] = []

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        calls.append(len(changes))
        if any(change.key["PK"]["S"] == "TICKET#6" for change in changes):
            raise ValueError("not this one")
        count(changes, effects)

    desk.put(*map(str, range(10)))
    consumer = desk.consumer(choosy)
    done = consumer.run_once()
    assert (done.records, done.dead_letters) == (10, 1)
    assert desk.counters() == {"open": 9}
    # Once in each batch that it was part of, and then four times alone: once, and three times again.
    assert calls.count(1) >= 4
    (letter,) = consumer.dead_letters()
    assert letter.error == "ValueError: not this one"
    assert letter.attempts == 4
    assert "TICKET#6" in letter.record


@pytest.mark.requirement("SU13")
def test_without_bisecting_the_whole_batch_becomes_dead_letters(desk: Desk) -> None:
    calls: list[int] = []

    def broken(changes: Sequence[AnyChange], effects: Effects) -> None:
        calls.append(len(changes))
        raise ValueError("no")

    desk.put(*map(str, range(25)))
    consumer = desk.consumer(broken, bisect=False, retries=2)
    assert consumer.run_once().dead_letters == 25
    assert calls == [25, 25, 25]
    assert len(consumer.dead_letters()) == 25
    assert consumer.run_once().records == 0


def test_effects_that_are_refused_are_the_fault_of_the_record(desk: Desk) -> None:
    def once_only(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            assert isinstance(change, Change)
            assert isinstance(change.after, Ticket)
            effects.do(Create(Event(event_id=change.after.status)))

    desk.put("1", "2")
    consumer = desk.consumer(once_only)
    done = consumer.run_once()
    assert (done.records, done.dead_letters) == (2, 1)
    assert "exists already" in consumer.dead_letters()[0].error


@pytest.mark.requirement("SU13")
def test_a_dead_letter_can_be_replayed_and_counts_once(any_desk: Desk) -> None:
    desk = any_desk
    strict = True

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if strict:
            raise ValueError("not now")
        count(changes, effects)

    desk.put("1")
    consumer = desk.consumer(choosy, retries=0)
    consumer.run_once()
    (letter,) = consumer.dead_letters()
    with pytest.raises(ValueError, match="not now"):
        consumer.replay(letter)
    assert consumer.dead_letters() == [letter]
    strict = False
    consumer.replay(letter)
    assert consumer.dead_letters() == []
    with pytest.raises(NotFound):
        consumer.replay(letter)
    assert desk.counters() == {"open": 1}


def test_when_the_service_fails_nobody_is_to_blame(desk: Desk) -> None:
    class Down(Failing):
        def call(self, request: Request) -> Response:
            if request.operation == "TransactWriteItems":
                raise ServiceError("InternalServerError", "down")
            return self.backend.call(request)

    desk.put("1")
    store = desk.another_store(Down(desk.backend, 0, after=False))
    consumer = desk.consumer(store=store)
    with pytest.raises(ServiceError, match="down"):
        consumer.run_once()
    assert consumer.dead_letters() == []
    store._backend = desk.backend
    assert consumer.run_once().records == 1
    assert desk.counters() == {"open": 1}


def test_a_handler_that_lacks_something_waits_and_nothing_is_put_aside(desk: Desk) -> None:
    away = True

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        if away:
            raise Unavailable("the mail server cannot be reached")
        count(changes, effects)

    for number in range(5):
        desk.put(str(number))
    consumer = desk.consumer(handle)
    for _ in range(10):
        with pytest.raises(Unavailable, match="mail server"):
            consumer.run_once()
    away = False
    assert consumer.run_once().records == 5
    assert consumer.dead_letters() == []
    assert desk.counters() == {"open": 5}


def test_one_who_knows_that_the_others_are_dead_need_not_wait_for_their_leases(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1")
    dead, alive = desk.consumer(), desk.consumer()
    dead.run_once()
    desk.put("2")
    assert alive.run_once().busy == 1
    alive.take_over()
    assert alive.run_once().records == 1
    # Should it not be dead after all, it does no harm.
    desk.put("3")
    assert (dead.run_once().records, alive.run_once().records) == (0, 1)
    assert desk.counters() == {"open": 3}


def test_half_of_a_batch_that_was_committed_before_the_service_failed_counts_once(desk: Desk) -> None:
    class Flaky(Failing):
        """Fails for good from the second transaction on."""

        def call(self, request: Request) -> Response:
            self.left -= request.operation == "TransactWriteItems"
            if self.left <= 0 and request.operation == "TransactWriteItems":
                raise ServiceError("InternalServerError", "down")
            return self.backend.call(request)

    def one_at_a_time(changes: Sequence[AnyChange], effects: Effects) -> None:
        if len(changes) > 1:
            raise ValueError("too many")
        count(changes, effects)

    desk.put("1", "2", "3", "4")
    store = desk.another_store(Flaky(desk.backend, 3, after=False))
    consumer = desk.consumer(one_at_a_time, store=store)
    with pytest.raises(ServiceError, match="down"):
        consumer.run_once()
    assert desk.counters() == {"open": 2}
    store._backend = desk.backend
    assert consumer.run_once().records == 2
    assert desk.counters() == {"open": 4}


# -- leases ---------------------------------------------------------------------------------------------------------


def test_two_consumers_of_one_name_do_not_work_on_one_shard(desk: Desk) -> None:
    desk.put("1")
    first, second = desk.consumer(), desk.consumer()
    first.run_once()
    desk.put("2")
    done = second.run_once()
    assert (done.records, done.busy) == (0, 1)
    desk.clock.now += 61
    assert second.run_once().records == 1
    assert first.run_once().busy == 1
    assert desk.counters() == {"open": 2}


def test_a_consumer_that_was_thought_dead_can_do_no_harm(desk: Desk) -> None:
    other: list[Consumer] = []

    def slow(changes: Sequence[AnyChange], effects: Effects) -> None:
        count(changes, effects)
        # It takes so long that another consumer takes the shard over and does the same work.
        desk.clock.now += 61
        other[0].run_once()

    desk.put("1", "2")
    other.append(desk.consumer())
    assert desk.consumer(slow).run_once().busy == 1
    assert desk.counters() == {"open": 2}


def test_a_lost_answer_to_a_commit_is_not_taken_for_a_lost_lease(desk: Desk) -> None:
    class Forgetful(Failing):
        def call(self, request: Request) -> Response:
            response = self.backend.call(request)
            if request.operation == "UpdateItem" and self.left:
                self.left -= 1
                if not self.left:
                    raise ServiceError("InternalServerError", "lost")
            return response

    desk.put("1", "2")
    # The first update takes the lease, the second one is the checkpoint of a batch without effects.
    consumer = desk.consumer(
        lambda changes, effects: None, store=desk.another_store(Forgetful(desk.backend, 2, after=True))
    )
    done = consumer.run_once()
    assert (done.records, done.busy) == (2, 0)


def test_consumers_that_keep_taking_a_shard_from_each_other_count_once() -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        desk = Desk(backend, engine, Clock(0))
        stop = threading.Event()
        failures: list[Exception] = []

        def work(seed: int) -> None:
            # A lease is over before a batch is done, so that whoever comes next takes the shard away.
            store = Store(backend, entropy=Still(seed))
            try:
                lease = timedelta(milliseconds=2)
                consumer = Consumer(store, tickets, count, name="metrics", notes=metrics, batch_size=7, lease=lease)
                while not stop.is_set():
                    consumer.run_once()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(100, 104)]
        for thread in threads:
            thread.start()
        chance = random.Random(3)
        for _ in range(300):
            desk.put(str(chance.randrange(20)), status=chance.choice(["open", "closed"]))
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []
        time.sleep(0.01)
        Consumer(Store(backend), tickets, count, name="metrics", notes=metrics).run_once()
        assert desk.counters() == desk.truth()


def test_a_checkpoint_moves_on_from_where_it_is_and_from_nowhere_else(desk: Desk) -> None:
    notes = desk.consumer()._worker.desk
    context = desk.store._context
    checkpoint = desk.store._run(notes.acquire("stream", "shard"))
    assert checkpoint is not None
    desk.store._run(execute_all(context, [notes.advance(checkpoint, "5")], "test"))
    with pytest.raises(Cancelled):
        desk.store._run(execute_all(context, [notes.advance(checkpoint, "6")], "test"))
    stranger = desk.consumer()._worker.desk
    with pytest.raises(Cancelled):
        desk.store._run(execute_all(context, [stranger.advance(notes.advanced(checkpoint, "5"), "6")], "test"))


# -- shards ---------------------------------------------------------------------------------------------------------


def test_shards_are_read_in_order_and_their_checkpoints_forgotten_with_them(desk: Desk) -> None:
    seen: list[str] = []

    def note(changes: Sequence[AnyChange], effects: Effects) -> None:
        seen.extend(change.key["PK"]["S"] for change in changes)

    consumer = desk.consumer(note)
    for number in range(4):
        desk.put(str(number))
        desk.clock.now += 5 * 3600
        desk.engine.sweep()
    consumer.run_once()
    assert seen == [f"TICKET#{number}" for number in range(4)]
    assert len(desk.store._run(consumer._worker.desk.load())) > 2
    desk.clock.now += 30 * 3600
    desk.engine.sweep()
    consumer.run_once()
    consumer.run_once()
    assert len(desk.store._run(consumer._worker.desk.load())) <= 2


def test_a_consumer_that_is_too_late_is_told_and_can_rebuild(desk: Desk) -> None:
    consumer = desk.consumer()
    desk.put("1")
    consumer.run_once()
    desk.put("2", "3")
    desk.clock.now += 12 * 3600
    desk.put("4")
    desk.clock.now += 13 * 3600
    with pytest.raises(RecordsLost):
        consumer.run_once()
    consumer.rebuild([Counter])
    assert desk.counters() == desk.truth() == {"open": 4}
    desk.put("5")
    consumer.run_once()
    assert desk.counters() == desk.truth()


def test_a_consumer_that_slept_until_its_shard_was_gone_is_told_too(desk: Desk) -> None:
    consumer = desk.consumer()
    desk.put("1")
    consumer.run_once()
    desk.put("2")
    for _ in range(10):
        desk.clock.now += 5 * 3600
        desk.engine.sweep()
    desk.put("3")
    with pytest.raises(RecordsLost):
        consumer.run_once()
    assert consumer.skip_lost() == 1
    assert consumer.skip_lost() == 0
    consumer.run_once()
    assert desk.counters() == {"open": 2}
    consumer.rebuild([Counter])
    assert desk.counters() == desk.truth() == {"open": 3}


def test_one_who_was_trimmed_can_go_on_with_what_is_left(desk: Desk) -> None:
    consumer = desk.consumer()
    desk.put("1")
    consumer.run_once()
    desk.put("2")
    desk.clock.now += 12 * 3600
    desk.put("3")
    desk.clock.now += 13 * 3600
    with pytest.raises(RecordsLost):
        consumer.run_once()
    assert consumer.skip_lost() == 1
    assert consumer.run_once().records == 1


def test_a_stream_that_is_switched_on_anew_comes_after_the_old_one(any_desk: Desk) -> None:
    desk = any_desk
    seen: list[str] = []

    def note(changes: Sequence[AnyChange], effects: Effects) -> None:
        seen.extend(change.key["PK"]["S"] for change in changes)

    consumer = desk.consumer(note)
    desk.put("1")
    consumer.run_once()
    desk.put("2")
    for enabled in ({"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}):
        desk.call("UpdateTable", {"TableName": "Tickets", "StreamSpecification": enabled})
        desk.clock.now += 1
    desk.put("3")
    consumer.run_once()
    assert seen == ["TICKET#1", "TICKET#2", "TICKET#3"]


def test_nobody_begins_with_a_new_stream_while_another_works_on_the_old_one(desk: Desk) -> None:
    first, second = desk.consumer(), desk.consumer()
    desk.put("1")
    first.run_once()
    desk.put("2")
    for enabled in ({"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}):
        desk.engine.call("UpdateTable", {"TableName": "Tickets", "StreamSpecification": enabled})
        desk.clock.now += 1
    desk.put("2", status="closed")
    assert (second.run_once().records, second.run_once().busy) == (0, 1)
    first.run_once()
    assert desk.counters() == desk.truth() == {"open": 1, "closed": 1}


def test_shards_of_others_are_not_asked_for_again_and_again(desk: Desk) -> None:
    asked: list[str] = []

    class Counting(Failing):
        def call(self, request: Request) -> Response:
            asked.append(request.operation)
            return self.backend.call(request)

    first = desk.consumer()
    first.run_once()
    second = desk.consumer(store=desk.another_store(Counting(desk.backend, 0, after=False)))
    for _ in range(5):
        assert second._store._run(second._worker.one_pass(flush=False)).busy == 1
    assert asked == ["Query", "DescribeTable", "DescribeStream"]


# -- rebuilding -----------------------------------------------------------------------------------------------------


def test_a_rebuild_makes_everything_anew(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1", "2", "3")
    desk.put("2", status="closed")
    consumer = desk.consumer()
    consumer.run_once()
    wrong = Counter(name="open", count=99).item()
    desk.call("PutItem", {"TableName": "Metrics", "Item": wrong})
    told: list[tuple[int, int]] = []
    consumer.rebuild([Counter], on_progress=lambda progress: told.append((progress.items, progress.estimated)))
    assert desk.counters() == desk.truth()
    assert told[-1] == (3, 3)
    desk.put("9")
    assert consumer.run_once().records == 1
    assert desk.counters() == desk.truth()


@pytest.mark.parametrize("seed", range(25))
def test_a_rebuild_is_exact_while_the_table_is_written_to(seed: int, clock: Clock) -> None:
    chance = random.Random(seed)

    def write_something(desk: Desk) -> None:
        for _ in range(chance.randrange(3)):
            ticket_id = str(chance.randrange(12))
            if chance.random() < 0.3:
                desk.remove(ticket_id)
            else:
                desk.put(ticket_id, status=chance.choice(["open", "closed"]))

    def interleaved(desk: Desk, flow: Flow[Any]) -> Flow[Any]:
        """The same flow, with other writers at work between any two of its steps, and small pages."""
        answer: Any = None
        steps = 0
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as end:
                return end.value
            steps += 1
            if steps < 80:
                write_something(desk)
            if isinstance(step, Request) and step.operation == "Scan":
                step = Request(step.operation, {**step.body, "Limit": 3})
            answer = yield step

    with Engine.open(clock=clock) as engine:
        desk = Desk(EmbeddedBackend(engine, owned=False), engine, clock)
        for _ in range(10):
            write_something(desk)
        consumer = desk.consumer(batch_size=chance.choice([1, 2, 5]))
        if chance.random() < 0.5:
            consumer.run_once()
        write_something(desk)
        run(interleaved(desk, rebuild(consumer._worker, [Counter], None, 0.0)), desk.backend)
        consumer.run_once()
        assert desk.counters() == desk.truth()


def test_a_rebuild_that_was_not_finished_must_be_begun_again(desk: Desk) -> None:
    desk.put("1", "2")
    consumer = desk.consumer()
    consumer.run_once()
    dying = desk.consumer(store=desk.another_store(Failing(desk.backend, 9, after=True)))
    with pytest.raises(Crash):
        dying.rebuild([Counter])
    assert consumer.run_once().busy == 1
    with pytest.raises(InProgress):
        consumer.rebuild([Counter])
    desk.clock.now += 61
    with pytest.raises(RebuildUnfinished):
        consumer.run_once()
    consumer.rebuild([Counter])
    consumer.run_once()
    assert desk.counters() == desk.truth()


def test_a_rebuild_that_was_thought_dead_can_do_no_harm(desk: Desk) -> None:
    class Halting(Failing):
        """Takes so long for the n-th call that another rebuild begins, and is done."""

        def call(self, request: Request) -> Response:
            self.left -= 1
            if self.left == 0:
                desk.clock.now += 61
                desk.consumer().rebuild([Counter])
            return self.backend.call(request)

    desk.put("1", "2", "3")
    overtaken = 0
    for at in range(2, 20):
        halting = Halting(desk.backend, at, after=False)
        try:
            desk.consumer(store=desk.another_store(halting)).rebuild([Counter])
        except LeaseLost:
            overtaken += 1
        assert desk.counters() == desk.truth(), at
    assert overtaken > 5


def test_a_rebuild_counts_what_dead_letters_tell_of_and_forgets_them(desk: Desk) -> None:
    strict = True

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if strict:
            raise ValueError("not now")
        count(changes, effects)

    desk.put("1", "2")
    consumer = desk.consumer(choosy, retries=0)
    consumer.run_once()
    letters = consumer.dead_letters()
    strict = False
    consumer.rebuild([Counter])
    assert consumer.dead_letters() == []
    with pytest.raises(NotFound):
        consumer.replay(letters[0])
    assert desk.counters() == {"open": 2}


def test_a_rebuild_takes_the_shards_from_others(desk: Desk) -> None:
    desk.put("1")
    worker = desk.consumer()
    worker.run_once()
    desk.put("2")
    desk.consumer().rebuild([Counter])
    assert worker.run_once().records == 0
    assert desk.counters() == {"open": 2}


# -- Lambda ---------------------------------------------------------------------------------------------------------


def test_lambda_delivers_a_record_twice_and_it_counts_once(desk: Desk) -> None:
    desk.put(*map(str, range(60)))
    records = desk.records()
    handler = desk.consumer().on_lambda
    assert handler({"Records": records[:20]}) == {"batchItemFailures": []}
    assert handler({"Records": records[10:]}, object()) == {"batchItemFailures": []}
    assert handler({"Records": records}) == {"batchItemFailures": []}
    assert desk.counters() == {"open": 60}


def test_lambda_is_told_the_first_record_that_failed_and_those_before_it_count(desk: Desk) -> None:
    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if any(change.key["PK"]["S"] == "TICKET#6" for change in changes):
            raise ValueError("not this one")
        count(changes, effects)

    desk.put(*map(str, range(10)))
    records = desk.records()
    answer = desk.consumer(choosy).on_lambda({"Records": records})
    assert answer == {"batchItemFailures": [{"itemIdentifier": records[6]["dynamodb"]["SequenceNumber"]}]}
    assert desk.counters() == {"open": 6}
    desk.consumer().on_lambda({"Records": records})
    assert desk.counters() == {"open": 10}


def test_lambda_needs_a_time_to_live_for_its_marks(desk: Desk) -> None:
    notes = Table("Notes", "PK", "SK")
    desk.store.ensure_tables(notes)
    desk.put("1")
    consumer = Consumer(desk.store, tickets, count, name="metrics", notes=notes)
    with pytest.raises(ModelError, match="'Notes' has no time to live"):
        consumer.on_lambda({"Records": desk.records()})


# -- running --------------------------------------------------------------------------------------------------------


def test_it_runs_until_told_to_stop_and_gives_its_leases_back(desk: Desk) -> None:
    stop = threading.Event()

    def handler(changes: Sequence[AnyChange], effects: Effects) -> None:
        count(changes, effects)
        stop.set()

    consumer = desk.consumer(handler, window=timedelta(0))
    thread = threading.Thread(target=consumer.run, args=(stop,), kwargs={"pause": 0.001})
    thread.start()
    desk.put("1")
    thread.join(10)
    assert not thread.is_alive()
    assert desk.counters() == {"open": 1}
    desk.put("2")
    assert desk.consumer().run_once().records == 1


def test_the_asynchronous_consumer_does_the_same(desk: Desk) -> None:
    async def main() -> None:
        store = AsyncStore.on(desk.engine, clock=desk.clock)
        stop = asyncio.Event()

        def handler(changes: Sequence[AnyChange], effects: Effects) -> None:
            count(changes, effects)
            if len(changes) == 1:
                stop.set()

        consumer = AsyncConsumer(store, tickets, handler, name="metrics", notes=metrics, window=timedelta(0))
        desk.put("1", "2")
        assert (await consumer.run_once()).records == 2
        desk.put("3")
        await asyncio.wait_for(consumer.run(stop, pause=0.001), 10)
        await consumer.rebuild([Counter])
        assert await consumer.dead_letters() == []

    asyncio.run(main())
    assert desk.counters() == {"open": 3}


def test_checkpoints_need_a_text_key_of_two_parts() -> None:
    with pytest.raises(ModelError, match="two parts"):
        Consumer(Store.open(), tickets, count, name="x", notes=Table("One", "PK"))


def test_sleeping_is_a_step_of_the_flow_and_not_of_the_consumer(desk: Desk) -> None:
    """A retry asks its driver to wait, so that a test (or a simulation) can decide how long that is."""

    def broken(changes: Sequence[AnyChange], effects: Effects) -> None:
        raise ValueError("no")

    desk.put("1")
    flow = desk.consumer(broken)._worker.one_pass(flush=True)
    waits = 0
    answer: Any = None
    try:
        while True:
            step = flow.send(answer)
            answer = None if isinstance(step, Sleep) else desk.backend.call(step)
            waits += isinstance(step, Sleep)
    except StopIteration:
        assert waits == 3


def test_notes_cannot_be_in_the_table_whose_stream_is_read(desk: Desk) -> None:
    """Each note would be a change to be noted: the consumer would never come to an end."""
    with pytest.raises(ModelError, match=r"metrics: its notes cannot be in table 'Tickets', whose stream it reads"):
        Consumer(desk.store, tickets, count, name="metrics", notes=tickets)
