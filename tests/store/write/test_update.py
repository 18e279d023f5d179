"""Updates: some fields, and every key attribute that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tablewright.model import FieldChange, ModelError, attr, present
from tablewright.store import (
    ConditionFailed,
    Conflict,
    LimitExceeded,
    NotFound,
    ReadRequired,
    VersionConflict,
)
from tablewright.store.context import Context
from tablewright.store.flow.driver import Request, Response
from tablewright.store.write.planning.executor import MAX_PLAN_ATTEMPTS
from tablewright.store.write.update import update
from tests.store.bench import Bench
from tests.store.flows import drive
from tests.store.members import Account, Address, Document, Person, Player, Token, Visit, everything, people
from tests.store.models import Call, CallStatus, Ticket, TicketStatus
from tests.store.recording_backend import watched

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
BY_ID = Player.by_id(player_id="p-1")


@pytest.fixture
def player(written: Bench) -> Player:
    return written.store.put(
        Player(
            player_id="p-1",
            team="red",
            score=5,
            name="Ada",
            address=Address(city="Rome", postal_code="00100"),
            tags={"fast"},
            log=["joined"],
            stats={"goals": 1},
        )
    )


def stored(bench: Bench) -> Player:
    found = bench.store.get(BY_ID, consistent=True)
    assert found is not None
    return found


# -- kinds of changes -----------------------------------------------------------------------------------------------


def test_fields_are_set_and_the_entity_is_brought_up_to_date(written: Bench, player: Player) -> None:
    same = written.store.update(player, attr(Player.name).set("Bea"), attr(Player.team).set("blue"))
    assert same is player
    assert (player.name, player.team) == ("Bea", "blue")
    assert stored(written) == player


def test_none_and_empty_sets_remove_what_was_stored(written: Bench, player: Player) -> None:
    written.store.update(player, attr(Player.address).set(None), attr(Player.tags).set(set()))
    (item,) = everything(written, people)
    assert "address" not in item
    assert "tags" not in item
    assert stored(written).tags == set()


def test_numbers_lists_sets_and_maps_are_changed_in_place(written: Bench, player: Player) -> None:
    changed = written.store.update(
        BY_ID,
        attr(Player.stats["goals"]).add(2),
        attr(Player.tags).add({"tall"}),
        attr(Player.log).append("scored", "left"),
        attr(Player.stats["fouls"]).set(1),
        attr(present(Player.address).postal_code).set("00199"),
    )
    assert changed.stats == {"goals": 3, "fouls": 1}
    assert changed.tags == {"fast", "tall"}
    assert changed.log == ["joined", "scored", "left"]
    assert changed.address == Address(city="Rome", postal_code="00199")
    changed = written.store.update(
        BY_ID,
        attr(Player.tags).discard({"fast", "slow"}),
        attr(Player.log[0]).remove(),
        attr(Player.stats["goals"]).remove(),
    )
    assert changed.tags == {"tall"}
    assert changed.log == ["scored", "left"]
    assert changed.stats == {"fouls": 1}


def test_nested_values_are_stored_as_their_model_says(written: Bench, player: Player) -> None:
    written.store.update(
        BY_ID, attr(present(Player.address).since).set(JANUARY), attr(present(Player.address).postal_code).set("1")
    )
    (item,) = everything(written, people)
    assert item["address"]["M"]["since"] == {"N": "1767225600000"}
    assert item["address"]["M"]["zip"] == {"S": "1"}


def test_appending_to_a_list_that_is_not_there_makes_it(written: Bench, player: Player) -> None:
    written.store.update(BY_ID, attr(Player.log).remove())
    assert written.store.update(BY_ID, attr(Player.log).append("first")).log == ["first"]


# For values of other types than are declared.
anything: Any = Player


@pytest.mark.parametrize(
    "change",
    [
        attr(anything.score).set("many"),
        attr(anything.address.city).set(7),
        attr(anything.log).append(1.5),
    ],
)
def test_values_are_validated_before_anything_is_written(written: Bench, player: Player, change: FieldChange) -> None:
    for target in (player, BY_ID):
        with pytest.raises(ValueError, match="validation error"):
            written.store.update(target, change)
    assert stored(written) == player


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: attr(anything.address.street).set("x"), "Address has no field 'street'"),
        (lambda: attr(anything.log[-1]).set("x"), "is not a path"),
        (lambda: attr(anything.stats[""]).set(1), "a path cannot name a key that is empty"),
        (lambda: attr(Player.updated_at).set(JANUARY), "updated_at is set by the store"),
        (lambda: attr(Player.tags).add(set()), "expected a value of type"),
        (lambda: "name", r"an update takes changes, such as attr\(Player.x\).set\(1\), not 'name'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    written: Bench, player: Player, change: Callable[[], Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        written.store.update(BY_ID, change())


def test_a_field_that_is_not_there_is_refused(written: Bench, player: Player) -> None:
    with pytest.raises(AttributeError, match="shoe"):
        written.store.update(BY_ID, attr(anything.shoe).set(1))
    with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
        written.store.update(BY_ID, name="Bea")  # type: ignore[call-arg]


def test_the_stamp_of_change_moves_and_that_of_creation_stays(written: Bench, player: Player) -> None:
    created = player.created_at
    written.clock.now += 30
    written.store.update(player, attr(Player.name).set("Bea"))
    assert player.created_at == created
    assert player.updated_at == datetime.fromtimestamp(written.clock(), UTC)


def test_a_path_through_what_is_not_there_is_refused_with_what_to_do(written: Bench, player: Player) -> None:
    written.store.update(BY_ID, attr(Player.address).remove())
    told = "Player player_id p-1: address.postal_code cannot be set, because address does not exist; set address as a"
    for target in (player, BY_ID):
        with pytest.raises(ConditionFailed, match=told):
            written.store.update(target, attr(present(Player.address).postal_code).set("1"))


def test_growth_past_the_limit_loses_nothing(written: Bench, player: Player) -> None:
    with pytest.raises(LimitExceeded, match="400 KB"):
        written.store.update(BY_ID, attr(Player.log).append("x" * 410_000))
    assert stored(written).log == ["joined"]


# -- existence, conditions, versions --------------------------------------------------------------------------------


def test_an_update_creates_nothing(written: Bench) -> None:
    with pytest.raises(NotFound, match="Player player_id p-1 does not exist"):
        written.store.update(BY_ID, attr(Player.log).append("ghost"))
    with pytest.raises(NotFound):
        written.store.update(BY_ID, attr(Player.team).set("blue"), attr(Player.score).set(1))
    with pytest.raises(NotFound):
        written.store.update(Account.of_team(team="red"), attr(Account.email).set("x"))
    assert everything(written, people) == []


def test_an_expired_item_cannot_be_updated(written: Bench) -> None:
    token = written.store.create(Token(token_id="k-1"))
    written.clock.now += 3600
    with pytest.raises(NotFound):
        written.store.update(Token.by_id(token_id="k-1"), attr(Token.uses).add(1))
    with pytest.raises(VersionConflict, match="the item no longer exists"):
        written.store.update(token, attr(Token.uses).add(1))


def test_a_change_of_the_expiry_is_a_change_like_others(written: Bench) -> None:
    token = written.store.create(Token(token_id="k-1"))
    assert token.ttl is not None
    written.store.update(token, attr(Token.ttl).set(token.ttl + timedelta(hours=5)))
    written.clock.now += 4 * 3600
    assert written.store.get(Token.by_id(token_id="k-1"), consistent=True) == token
    written.store.update(token, attr(Token.ttl).set(None))
    written.clock.now += 1_000_000
    assert written.store.get(Token.by_id(token_id="k-1"), consistent=True) == token


def test_an_update_under_a_condition_of_the_caller(written: Bench) -> None:
    call = Call(user_id="u-1", call_id="c-1", provider_id="p-1", scheduled_for=JANUARY)
    written.store.create(call)
    written.store.update(
        call, attr(Call.status).set(CallStatus.COMPLETED), expect=attr(Call.status) == CallStatus.SCHEDULED
    )
    with pytest.raises(ConditionFailed, match="status = SCHEDULED does not hold: status is COMPLETED"):
        written.store.update(
            call, attr(Call.status).set(CallStatus.COMPLETED), expect=attr(Call.status) == CallStatus.SCHEDULED
        )
    written.store.update(
        call, attr(Call.minutes).set(3), expect=attr(Call.status).is_in(*CallStatus) & (attr(Call.notes) == [])
    )


def test_the_version_is_checked_and_counted(written: Bench) -> None:
    document = written.store.create(Document(document_id="d-1"))
    other = written.store.get(Document.by_id(document_id="d-1"), consistent=True)
    assert other is not None
    assert written.store.update(document, attr(Document.text).set("mine")).version == 2
    with pytest.raises(VersionConflict, match="Document document_id d-1: expected version 1, found 2"):
        written.store.update(other, attr(Document.text).set("theirs"))
    assert written.store.update(Document.by_id(document_id="d-1"), attr(Document.text).set("any")).version == 3


# -- keys follow ----------------------------------------------------------------------------------------------------


def test_an_index_key_follows_a_change_of_any_of_its_fields(written: Bench, player: Player) -> None:
    written.store.update(player, attr(Player.score).set(9))
    written.store.update(BY_ID, attr(Player.team).set("blue"))
    assert [found.score for found in written.store.query(Player.of_team(team="blue")).items] == [9]
    assert written.store.query(Player.of_team(team="red")).items == []


def test_an_index_entry_comes_and_goes_with_the_state(written: Bench) -> None:
    ticket = Ticket(ticket_id="t-1", customer_id="c-1", opened_at=JANUARY)
    written.store.create(ticket)
    written.store.update(
        ticket, attr(Ticket.status).set(TicketStatus.ESCALATED), attr(Ticket.escalated_at).set(JANUARY)
    )
    assert written.store.query(Ticket.escalated()).items == [ticket]
    written.store.update(Ticket.by_id(ticket_id="t-1"), attr(Ticket.status).set(TicketStatus.CLOSED))
    assert written.store.query(Ticket.escalated()).items == []
    assert len(written.store.query(Ticket.by_status(status=TicketStatus.CLOSED)).items) == 1


def test_a_removed_field_takes_its_index_entry_away(written: Bench, player: Player) -> None:
    written.store.update(BY_ID, attr(Player.address).remove())
    (item,) = everything(written, people)
    assert "GSI2SK" not in item
    written.store.update(BY_ID, attr(Player.address).set(Address(city="Oslo")))
    written.store.update(BY_ID, attr(present(Player.address).city).set("Bergen"))
    (item,) = everything(written, people)
    assert item["GSI2SK"] == {"S": "Ada#Bergen"}


def test_arithmetic_on_a_field_that_feeds_a_key(written: Bench, player: Player) -> None:
    assert written.store.update(BY_ID, attr(Player.score).add(10)).score == 15
    assert written.store.update(player, attr(Player.score).add(-3)).score == 12
    (item,) = everything(written, people)
    assert item["GSI1SK"] == {"S": "000012#p-1"}


def test_arithmetic_that_makes_no_key_is_refused(written: Bench, player: Player) -> None:
    with pytest.raises(ValueError, match="score"):
        written.store.update(BY_ID, attr(Player.score).add(-30))
    assert stored(written).score == 5


def test_a_stale_entity_does_not_leave_a_stale_key(written: Bench, player: Player) -> None:
    """Without a version, the last writer of each field wins, and the keys are those of what is stored."""
    old = player.model_copy()
    written.store.update(player, attr(Player.team).set("blue"), attr(Player.score).set(8))
    written.store.update(old, attr(Player.name).set("Bea"), attr(Player.active).set(False))
    assert (old.team, old.score, old.name) == ("blue", 8, "Bea")
    written.store.update(player.model_copy(update={"score": 1}), attr(Player.name).set("Cia"))
    assert stored(written).score == 8


def test_a_change_that_feeds_no_key_is_one_request(written: Bench, player: Player) -> None:
    store, backend = watched(written)
    store.update(BY_ID, attr(Player.log).append("x"), attr(Player.active).set(False))
    store.update(player, attr(Player.log).append("y"))
    assert backend.operations == ["UpdateItem", "UpdateItem"]


def test_a_key_whose_fields_are_all_given_needs_no_read(written: Bench, player: Player) -> None:
    store, backend = watched(written, strict=True)
    store.update(BY_ID, attr(Player.score).set(3))
    store.update(player, attr(Player.score).add(1))
    assert backend.operations == ["UpdateItem", "UpdateItem", "UpdateItem"]


def test_what_is_needed_is_read_and_must_not_have_changed(written: Bench, player: Player) -> None:
    store, backend = watched(written)
    backend.before["UpdateItem"] = lambda: written.store.update(BY_ID, attr(present(Player.address).city).set("Oslo"))
    store.update(BY_ID, attr(Player.name).set("Bea"))
    assert backend.operations == ["GetItem", "UpdateItem", "UpdateItem"]
    (item,) = everything(written, people)
    assert item["GSI2SK"] == {"S": "Bea#Oslo"}


def test_a_write_that_others_always_outrun_is_given_up(written: Bench, player: Player) -> None:
    context = Context(clock=written.clock, table_names=written.names)
    writes = 0

    def outrun(request: Request) -> Response:
        nonlocal writes
        if request.operation == "UpdateItem":
            writes += 1
            written.store.update(BY_ID, attr(present(Player.address).city).set(f"city {writes}"))
        return written.backend.call(request)

    with pytest.raises(Conflict, match="the item was not written: it kept changing"):
        drive(update(context, BY_ID, attr(Player.name).set("Bea")), outrun)
    assert writes == MAX_PLAN_ATTEMPTS
    assert stored(written).name == "Ada"


def test_an_item_that_goes_away_in_the_meantime_is_not_made_again(written: Bench, player: Player) -> None:
    store, backend = watched(written)
    backend.before["UpdateItem"] = lambda: written.store.delete(BY_ID)
    with pytest.raises(NotFound):
        store.update(BY_ID, attr(Player.name).set("Bea"))
    assert everything(written, people) == []


def test_a_key_that_has_only_the_day_does_not_tell_the_time(written: Bench) -> None:
    written.store.create(Visit(at=JANUARY + timedelta(hours=9), visitor="ada"))
    that_day = Visit.itself(at=JANUARY + timedelta(hours=15), visitor="ada")
    assert written.store.update(that_day, attr(Visit.room).set("7")).at == JANUARY + timedelta(hours=9)


def test_a_strict_store_refuses_to_read(written: Bench, player: Player) -> None:
    store, backend = watched(written, strict=True)
    with pytest.raises(ReadRequired, match="Player player_id p-1: this write has to read address first"):
        store.update(BY_ID, attr(Player.name).set("Bea"))
    with pytest.raises(ReadRequired):
        store.update(BY_ID, attr(Player.score).add(1))
    with pytest.raises(ReadRequired):
        store.delete(Account.of_team(team="red"))
    assert backend.operations == []


def test_an_update_by_an_index_is_of_the_item_that_was_looked_up(written: Bench) -> None:
    written.store.create(Account(account_id="a-1", team="red"))
    assert written.store.update(Account.of_team(team="red"), attr(Account.handle).set("ada")).account_id == "a-1"
    store, backend = watched(written)
    backend.before["UpdateItem"] = lambda: written.store.update(
        Account.by_id(account_id="a-1"), attr(Account.team).set("blue")
    )
    with pytest.raises(NotFound):
        store.update(Account.of_team(team="red"), attr(Account.ttl).set(None))


# -- older schema versions --------------------------------------------------------------------------------------------

OLD_PERSON = {
    "PK": {"S": "PERSON#1"},
    "SK": {"S": "META"},
    "kind": {"S": "Person"},
    "person_id": {"S": "1"},
    "fullName": {"S": "Ada Byron"},
    "GSI1PK": {"S": "NAME#Byron"},
    "GSI1SK": {"S": "Ada#1"},
}


@pytest.mark.parametrize("by", ["lookup", "entity"])
def test_an_update_of_an_older_shape_makes_it_a_new_one(written: Bench, by: str) -> None:
    written.save_item(people, OLD_PERSON)
    person = written.store.get(Person.by_id(person_id="1"), consistent=True)
    assert person is not None
    target = person if by == "entity" else Person.by_id(person_id="1")
    updated = written.store.update(target, attr(Person.last).set("Lovelace"), attr(Person.badge).set("b-1"))
    assert (updated.first, updated.last) == ("Ada", "Lovelace")
    (item,) = [item for item in everything(written, people) if not people.is_internal(item)]
    assert "fullName" not in item
    assert item["GSI1PK"] == {"S": "NAME#Lovelace"}
    written.store.update(target, attr(Person.first).set("Augusta"))
    written.store.delete(Person.by_id(person_id="1"))
    assert everything(written, people) == []


def test_an_older_shape_is_put_over_and_deleted(written: Bench) -> None:
    written.save_item(people, OLD_PERSON)
    written.store.put(Person(person_id="1", first="Ada", last="King", badge="b-1"))
    written.store.delete(Person.by_id(person_id="1"))
    written.save_item(people, OLD_PERSON)
    person = written.store.get(Person.by_id(person_id="1"), consistent=True)
    assert person is not None
    assert written.store.delete(person) is True
    assert everything(written, people) == []
