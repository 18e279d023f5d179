"""Transactions: several writes, all of them or none, and the reason of each that stood in the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tablewright.model import attr
from tablewright.store import (
    Absent,
    AlreadyExists,
    Cancelled,
    Check,
    ConditionFailed,
    Conflict,
    Create,
    Delete,
    LimitExceeded,
    NotFound,
    NotUnique,
    Put,
    ServiceError,
    Update,
    VersionConflict,
)
from tablewright.store.context import Context
from tablewright.store.flow.driver import Request, Response, Sleep
from tablewright.store.write.transaction import transact
from tests.store.bench import Bench
from tests.store.flows import drive
from tests.store.members import Account, Document, Line, Player, Slot, everything, people
from tests.store.models import Call, CallStatus, Event, Ticket, TicketStatus

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)


def test_several_entities_are_written_at_once(written: Bench) -> None:
    store = written.store
    ticket = store.create(Ticket(ticket_id="t-1", customer_id="c-1", opened_at=JANUARY))
    document = store.create(Document(document_id="d-1"))
    account = store.create(Account(account_id="a-1", email="a"))
    call = Call(user_id="u-1", call_id="c-1", provider_id="p-1", scheduled_for=JANUARY)
    store.transact(
        Update(
            ticket,
            attr(Ticket.status).set(TicketStatus.ESCALATED),
            attr(Ticket.escalated_at).set(JANUARY),
            expect=attr(Ticket.status) == TicketStatus.OPEN,
        ),
        Create(Event(ticket_id="t-1", at=JANUARY, sequence=1, text="status_changed")),
        Create(call),
        Put(Player(player_id="p-1", team="red")),
        Check(document, attr(Document.text) == ""),
        Absent(Player.by_id(player_id="p-2")),
        Delete(account),
    )
    assert ticket.status is TicketStatus.ESCALATED
    assert call.version == 1
    assert store.query(Ticket.escalated()).items == [ticket]
    assert store.get(Account.by_id(account_id="a-1"), consistent=True) is None


def test_each_action_has_its_own_reason_and_nothing_is_written(written: Bench) -> None:
    store = written.store
    player = store.create(Player(player_id="p-1", team="red"))
    store.create(Account(account_id="a-1", email="a"))
    document = store.create(Document(document_id="d-1"))
    store.update(Document.by_id(document_id="d-1"), attr(Document.text).set("newer"))
    before = everything(written, people)
    with pytest.raises(Cancelled, match="action 2: Player player_id p-1 already exists") as refused:
        store.transact(
            Create(Player(player_id="p-9", team="red")),
            Create(Player(player_id="p-1", team="red")),
            Update(document, attr(Document.text).set("mine")),
            Create(Account(account_id="a-2", email="a")),
            Delete(Player.by_id(player_id="p-8"), expect=attr(Player.team) == "red"),
            Check(Player.by_id(player_id="p-7")),
            Absent(Account.by_id(account_id="a-1")),
        )
    kinds = [type(reason) for reason in refused.value.reasons]
    assert kinds == [type(None), AlreadyExists, VersionConflict, NotUnique, NotFound, NotFound, AlreadyExists]
    with pytest.raises(Cancelled) as refused:
        store.transact(Check(player, attr(Player.score) == 1), Check(player.model_copy(update={"player_id": "p-6"})))
    assert [type(reason) for reason in refused.value.reasons] == [ConditionFailed, NotFound]
    assert everything(written, people) == before
    assert document.version == 1


def test_a_unique_value_can_be_handed_over_within_a_transaction(written: Bench) -> None:
    one = written.store.create(Account(account_id="a-1", email="x"))
    two = written.store.create(Account(account_id="a-2", email="y"))
    written.store.transact(Update(one, attr(Account.email).set("y")), Update(two, attr(Account.email).set("x")))
    assert (one.email, two.email) == ("y", "x")
    written.store.transact(Delete(one), Create(Account(account_id="a-3", email="y")))


def test_two_cannot_take_one_unique_value_in_a_transaction(written: Bench) -> None:
    with pytest.raises(Cancelled) as refused:
        written.store.transact(
            Create(Account(account_id="a-1", email="x")), Create(Account(account_id="a-2", email="x"))
        )
    assert [type(reason) for reason in refused.value.reasons] == [type(None), NotUnique]


def test_a_move_can_be_part_of_a_transaction(written: Bench) -> None:
    call = written.store.create(Call(user_id="u-1", call_id="c-1", provider_id="p-1", scheduled_for=JANUARY))
    player = written.store.create(Player(player_id="p-1", team="red"))
    written.store.transact(
        Update(
            call, attr(Call.scheduled_for).set(JANUARY + timedelta(days=1)), attr(Call.status).set(CallStatus.COMPLETED)
        ),
        Update(player, attr(Player.score).add(1), attr(Player.team).set("blue")),
    )
    assert written.store.get(Call.by_id(call_id="c-1")) == call
    assert (player.score, player.team) == (1, "blue")


def test_numbers_are_drawn_in_the_order_of_the_actions(written: Bench) -> None:
    lines = [Line(order_id="o-1", text=text) for text in ("a", "b", "c")]
    other = Line(order_id="o-2")
    written.store.transact(*map(Create, [*lines, other]))
    assert [line.number for line in lines] == [1, 2, 3]
    assert other.number == 1


def test_a_cancelled_transaction_uses_no_number_up(written: Bench) -> None:
    line = Line(order_id="o-1")
    with pytest.raises(Cancelled):
        written.store.transact(Create(line), Check(Player.by_id(player_id="p-1")))
    assert line.number == 0
    assert written.store.create(line).number == 1


def test_updates_by_lookup_read_what_they_need(written: Bench) -> None:
    written.store.create(Player(player_id="p-1", team="red", score=3))
    written.store.create(Account(account_id="a-1", email="x", team="red"))
    written.store.transact(
        Update(Player.by_id(player_id="p-1"), attr(Player.score).add(2)),
        Update(Account.of_team(team="red"), attr(Account.email).set("y")),
    )
    assert [player.score for player in written.store.query(Player.of_team(team="red")).items] == [5]


def test_what_a_read_finds_out_is_the_reason_of_its_action(written: Bench) -> None:
    with pytest.raises(Cancelled, match="action 2: Account team red does not exist") as refused:
        written.store.transact(
            Create(Player(player_id="p-1", team="red")),
            Update(Account.of_team(team="red"), attr(Account.email).set("y")),
        )
    assert [type(reason) for reason in refused.value.reasons] == [type(None), NotFound]


def test_more_than_a_hundred_actions_are_refused_before_they_are_sent(written: Bench) -> None:
    with pytest.raises(LimitExceeded, match="at most 100 actions; this has 101"):
        written.store.transact(*[Create(Player(player_id=f"p-{n}", team="red")) for n in range(101)])
    with pytest.raises(LimitExceeded, match="this has 60 and 60 guards of unique values"):
        written.store.transact(*[Create(Account(account_id=f"a-{n}", email=f"{n}")) for n in range(60)])
    written.store.transact(*[Create(Player(player_id=f"p-{n}", team="red")) for n in range(100)])
    assert len(everything(written, people)) == 100


def test_nothing_to_do_is_nothing_done(written: Bench) -> None:
    written.store.transact()


# -- step by step ---------------------------------------------------------------------------------------------------


def cancelled(*codes: str) -> ServiceError:
    reasons = [{"Code": code} for code in codes]
    return ServiceError("TransactionCanceledException", "cancelled", {"CancellationReasons": reasons})


def two_creations() -> Any:
    return transact(Context(), Create(Document(document_id="d-1")), Create(Player(player_id="p-1", team="red")))


def test_conflicts_are_tried_again_with_the_same_request() -> None:
    flow = two_creations()
    first = next(flow)
    assert isinstance(first, Request)
    assert isinstance(flow.throw(cancelled("TransactionConflict", "None")), Sleep)
    second = flow.send(None)
    assert second is first
    with pytest.raises(StopIteration):
        flow.send({})


def test_persistent_conflicts_are_reported() -> None:
    requests: list[Request] = []

    def conflict(request: Request) -> Response:
        requests.append(request)
        raise cancelled("TransactionConflict", "None")

    with pytest.raises(Cancelled) as refused:
        drive(two_creations(), conflict)
    assert len(requests) == 8
    assert [type(reason) for reason in refused.value.reasons] == [Conflict, type(None)]


def test_a_flow_that_is_stopped_leaves_entities_as_they_were() -> None:
    document = Document(document_id="d-1")
    flow = transact(Context(), Create(document), Create(Player(player_id="p-1", team="red")))
    next(flow)
    flow.close()
    assert document.version == 0


def test_two_actions_on_one_item_are_refused_by_number(written: Bench) -> None:
    player = written.store.create(Player(player_id="p-1", team="red"))
    told = (
        "a transaction can write an item only once, but actions 2 and 3 are of the same Player; combine them into one"
    )
    with pytest.raises(LimitExceeded, match=told):
        written.store.transact(
            Create(Player(player_id="p-2", team="red")),
            Update(player, attr(Player.score).set(1)),
            Delete(Player.by_id(player_id="p-1")),
        )
    assert len(everything(written, people)) == 1


def test_a_key_that_is_too_long_is_refused_with_the_limits(written: Bench) -> None:
    told = "a key is too long: a partition key has at most 2048 bytes, and a sort key 1024"
    with pytest.raises(LimitExceeded, match=told):
        written.store.create(Player(player_id="p" * 3000, team="red"))
    with pytest.raises(LimitExceeded, match=told):
        written.store.create(Slot(day=JANUARY.date(), slot_id="s" * 1500))
