"""Idempotent execution: a request that arrives twice is executed once, and gets the same response twice."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    Cancelled,
    Create,
    InProgress,
    KeyMismatch,
    Outcome,
    ServiceError,
    Update,
)
from tablewright.store.context import Context
from tablewright.store.flow.driver import Sleep, run
from tablewright.store.write.idempotent_write import IdempotentRequest, StoredResponse, digest
from tests.store.bench import Bench
from tests.store.members import Line, Once, Player, Slot, everything, people
from tests.store.models import Event, Ticket

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
REQUEST = {"subject": "printer", "at": JANUARY}


class Desk:
    """A service that opens tickets, and counts how often it had to."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self) -> Outcome:
        self.opened += 1
        ticket = Ticket(ticket_id=f"t-{self.opened}", customer_id="c-1", opened_at=JANUARY)
        event = Event(ticket_id=ticket.ticket_id, at=JANUARY, sequence=1, text="ticket_created")
        return Outcome({"ticket_id": ticket.ticket_id, "at": JANUARY}, Create(ticket), Create(event))


def tickets(bench: Bench) -> list[Ticket]:
    return bench.store.query(Ticket.of_customer(customer_id="c-1")).items


def test_the_same_request_gets_the_stored_response(written: Bench) -> None:
    desk = Desk()
    first = written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    assert first == {"ticket_id": "t-1", "at": "2026-01-01T00:00:00Z"}
    assert written.store.execute_once(Once, "k-1", dict(reversed(REQUEST.items())), desk.open) == first
    assert desk.opened == 1
    assert len(tickets(written)) == 1


def test_another_request_under_the_same_key_is_refused(written: Bench) -> None:
    desk = Desk()
    written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    with pytest.raises(KeyMismatch, match="k-1 was used for another request"):
        written.store.execute_once(Once, "k-1", {**REQUEST, "subject": "screen"}, desk.open)
    assert len(tickets(written)) == 1


def test_another_key_is_another_request(written: Bench) -> None:
    desk = Desk()
    written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    written.store.execute_once(Once, "k-2", REQUEST, desk.open)
    assert len(tickets(written)) == 2


def test_after_a_day_the_key_is_forgotten(written: Bench) -> None:
    desk = Desk()
    written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    written.clock.now += 24 * 3600 - 1
    written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    assert desk.opened == 1
    written.clock.now += 1
    written.store.execute_once(Once, "k-1", {"other": 1}, desk.open)
    assert desk.opened == 2


def test_an_answer_may_be_nothing(written: Bench) -> None:
    assert written.store.execute_once(Once, "k-1", REQUEST, lambda: Outcome(None)) is None
    assert written.store.execute_once(Once, "k-1", REQUEST, lambda: Outcome(1)) is None


def test_of_duplicates_at_the_same_time_one_commits_and_the_others_get_its_response(written: Bench) -> None:
    desk = Desk()

    def overtaken() -> Outcome:
        outcome = desk.open()
        assert written.store.execute_once(Once, "k-1", REQUEST, desk.open)["ticket_id"] == "t-2"
        return outcome

    assert written.store.execute_once(Once, "k-1", REQUEST, overtaken)["ticket_id"] == "t-2"
    assert [ticket.ticket_id for ticket in tickets(written)] == ["t-2"]


def test_of_different_requests_at_the_same_time_the_later_one_is_refused(written: Bench) -> None:
    desk = Desk()

    def overtaken() -> Outcome:
        written.store.execute_once(Once, "k-1", {"other": 1}, desk.open)
        return desk.open()

    with pytest.raises(KeyMismatch):
        written.store.execute_once(Once, "k-1", REQUEST, overtaken)
    assert [ticket.ticket_id for ticket in tickets(written)] == ["t-1"]


def test_work_that_fails_because_a_duplicate_was_faster_gets_the_response(written: Bench) -> None:
    desk = Desk()

    def finds_it_done() -> Outcome:
        written.store.execute_once(Once, "k-1", REQUEST, desk.open)
        raise RuntimeError("there is a ticket already")

    assert written.store.execute_once(Once, "k-1", REQUEST, finds_it_done)["ticket_id"] == "t-1"


def test_work_that_fails_can_be_tried_again_at_once(written: Bench) -> None:
    desk = Desk()

    def fails() -> Outcome:
        raise RuntimeError("no printer")

    with pytest.raises(RuntimeError):
        written.store.execute_once(Once, "k-1", REQUEST, fails)
    written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    assert len(tickets(written)) == 1


def test_a_refused_write_leaves_no_answer(written: Bench) -> None:
    desk = Desk()
    written.store.create(Ticket(ticket_id="t-1", customer_id="c-2", opened_at=JANUARY))
    with pytest.raises(Cancelled) as refused:
        written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    assert [type(reason) for reason in refused.value.reasons] == [AlreadyExists, type(None)]
    written.store.execute_once(Once, "k-1", REQUEST, desk.open)
    assert [ticket.ticket_id for ticket in tickets(written)] == ["t-2"]


def test_a_process_that_dies_leaves_all_or_nothing(written: Bench) -> None:
    """The driver stops after each request in turn; then the request is sent again."""
    context = Context(clock=written.clock, table_names=written.names)

    def work(key: str) -> Outcome:
        return Outcome(key, Create(Player(player_id=key, team="red")), Create(Line(order_id="o-1")))

    def executed(key: str) -> Any:
        attempt = IdempotentRequest(Once, key, REQUEST)
        assert (yield from attempt.find(context)) is None
        return (yield from attempt.commit(context, work(key)))

    for requests in range(3):
        key = f"k-{requests}"
        flow = executed(key)
        step = next(flow)
        with suppress(StopIteration):
            for _ in range(requests):
                step = flow.send(written.backend.call(step))
        flow.close()
        assert written.store.execute_once(Once, key, REQUEST, partial(work, key)) == key
        assert run(IdempotentRequest(Once, key, REQUEST).find(context), written.backend) == StoredResponse(key)
    players = written.store.query(Player.of_team(team="red")).items
    assert sorted(player.player_id for player in players) == ["k-0", "k-1", "k-2"]


def test_a_response_can_show_the_times_that_are_stored(written: Bench) -> None:
    at = JANUARY + timedelta(microseconds=345_678)
    store = written.store
    player = Player(player_id="p-1", team="red")
    store.execute_once(Once, "k-1", REQUEST, lambda: Outcome(str(at), Create(player), at=at))
    (found,) = store.query(Player.of_team(team="red")).items
    assert (found.created_at, found.updated_at) == (at, at)


def test_conflicts_that_do_not_end_say_that_it_can_be_tried_again(written: Bench) -> None:
    context = Context(clock=written.clock, table_names=written.names)
    outcome = Outcome("done", Create(Player(player_id="p-1", team="red")))
    flow = IdempotentRequest(Once, "k-1", REQUEST).commit(context, outcome)
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict", "Message": "busy"}]
    busy = ServiceError("TransactionCanceledException", "busy", {"CancellationReasons": reasons})

    def driven() -> None:
        step = next(flow)
        while True:
            step = flow.send(None) if isinstance(step, Sleep) else flow.throw(busy)

    with pytest.raises(InProgress, match="k-1 is being executed; try again"):
        driven()


def test_any_operation_can_be_part_of_it(written: Bench) -> None:
    player = written.store.create(Player(player_id="p-1", team="red"))
    for _ in range(3):
        written.store.execute_once(Once, "k", {}, lambda: Outcome("scored", Update(player, attr(Player.score).add(1))))
    assert player.score == 1


def test_the_asynchronous_store_awaits_the_work(written: Bench) -> None:
    desk = Desk()
    store = AsyncStore(written.backend, clock=written.clock, table_names=written.names)

    async def work() -> Outcome:
        await asyncio.sleep(0)
        return desk.open()

    async def twice() -> list[Any]:
        return [await store.execute_once(Once, "k-1", REQUEST, work) for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first == second
    assert desk.opened == 1


def test_the_asynchronous_store_says_so_of_work_that_cannot_be_awaited(written: Bench) -> None:
    store = AsyncStore(written.backend, clock=written.clock, table_names=written.names)
    work: Any = Desk().open
    with pytest.raises(
        ModelError, match="an AsyncStore awaits the function that it is given: declare it with async def"
    ):
        asyncio.run(store.execute_once(Once, "k-1", REQUEST, work))


def test_a_digest_does_not_depend_on_the_order_of_members() -> None:
    assert digest({"a": 1, "b": [timedelta(seconds=1)]}) == digest({"b": [timedelta(seconds=1)], "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})


def test_the_record_is_an_item_of_the_table(written: Bench) -> None:
    written.store.execute_once(Once, "k-1", REQUEST, lambda: Outcome({"done": True}))
    (item,) = everything(written, people)
    assert item["PK"] == {"S": "IDEMPOTENCY#k-1"}
    assert item["response"] == {"S": '{"done":true}'}
    assert item["ttl"] == {"N": str(int(written.clock()) + 24 * 3600)}


def test_what_is_no_outcome_is_refused_and_leaves_the_key_free(written: Bench) -> None:
    work: Any = lambda: {"ticket_id": "t-1"}  # noqa: E731
    with pytest.raises(ModelError, match=r"work has to return Outcome\(response, \*operations\), not dict"):
        written.store.execute_once(Once, "k-1", REQUEST, work)
    assert written.store.execute_once(Once, "k-1", REQUEST, lambda: Outcome("done")) == "done"


def test_a_request_and_a_response_have_to_be_json(written: Bench) -> None:
    with pytest.raises(ModelError, match="execute_once: the request has to be JSON"):
        written.store.execute_once(Once, "k-1", object(), lambda: Outcome("done"))
    with pytest.raises(ModelError, match="execute_once: the response has to be JSON"):
        written.store.execute_once(Once, "k-1", REQUEST, lambda: Outcome(object()))


def test_an_answer_keeps_the_order_of_its_members(written: Bench) -> None:
    answer = written.store.execute_once(Once, "k-1", REQUEST, lambda: Outcome({"b": 1, "a": 2}))
    assert list(answer) == ["b", "a"]


def test_a_move_is_made_once(written: Bench) -> None:
    written.store.create(Slot(day=JANUARY.date(), slot_id="s", guest="Ada"))

    def move() -> Outcome:
        later = JANUARY.date() + timedelta(days=1)
        return Outcome(
            "moved",
            Update(Slot.itself(day=JANUARY.date(), slot_id="s"), attr(Slot.day).set(later), attr(Slot.hour).set(12)),
        )

    assert [written.store.execute_once(Once, "k-1", REQUEST, move) for _ in range(2)] == ["moved", "moved"]
    (slot,) = written.store.iterate(Slot)
    assert (slot.day.day, slot.hour, slot.guest) == (2, 12, "Ada")
