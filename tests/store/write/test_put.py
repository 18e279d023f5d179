"""Whole items: put, create, upsert, delete, and many at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, assert_type

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    ConditionFailed,
    Conflict,
    LimitExceeded,
    NotFound,
    Store,
    VersionConflict,
)
from tablewright.store.context import Context
from tablewright.store.flow.driver import Request, Response, Sleep
from tablewright.store.flow.retry import MAX_REQUEST_ATTEMPTS
from tablewright.store.write.batch_write import write_many
from tests.store.bench import Bench
from tests.store.flows import drive
from tests.store.members import Account, Document, Line, Player, Token, everything, people
from tests.store.models import Call, CallStatus, Session, Ticket, TicketStatus

if TYPE_CHECKING:

    def types(store: Store, player: Player) -> None:
        assert_type(store.put(player), Player)
        assert_type(store.create(player), Player)
        assert_type(store.upsert(player), Player)
        assert_type(store.update(player, attr(Player.name).set("Ada")), Player)
        assert_type(store.update(Player.by_id(player_id="p-1"), attr(Player.name).set("Ada")), Player)
        assert_type(store.delete(player), bool)

    async def asynchronous_types(store: AsyncStore, player: Player) -> None:
        assert_type(await store.create(player), Player)
        assert_type(await store.update(player, attr(Player.name).set("Ada")), Player)
        assert_type(await store.update(Player.by_id(player_id="p-1"), attr(Player.name).set("Ada")), Player)
        assert_type(await store.delete(Player.by_id(player_id="p-1")), bool)


JANUARY = datetime(2026, 1, 1, tzinfo=UTC)


def a_player(number: int = 1, **fields: object) -> Player:
    return Player.model_validate({"player_id": f"p-{number}", "team": "red", **fields})


# -- put ------------------------------------------------------------------------------------------------------------


def test_a_put_item_can_be_read_by_its_key_and_by_its_indexes(written: Bench) -> None:
    player = written.store.put(a_player(score=7, tags={"fast"}, log=["joined"]))
    assert written.store.get(Player.by_id(player_id="p-1"), consistent=True) == player
    assert written.store.query(Player.of_team(team="red")).items == [player]


def test_the_last_put_wins(written: Bench) -> None:
    written.store.put(a_player(score=1, name="first"))
    second = written.store.put(a_player(score=2, team="blue"))
    assert written.store.get(Player.by_id(player_id="p-1"), consistent=True) == second
    assert written.store.query(Player.of_team(team="red")).items == []


def test_put_stamps_creation_and_change(written: Bench) -> None:
    player = written.store.put(a_player())
    assert player.created_at == player.updated_at == datetime.fromtimestamp(written.clock(), UTC)
    written.clock.now += 60
    written.store.put(player)
    assert player.updated_at is not None
    assert player.created_at is not None
    assert player.updated_at - player.created_at == timedelta(seconds=60)


def test_unknown_attributes_survive_a_read_and_a_put(written: Bench) -> None:
    item = a_player(score=1).item()
    written.save_item(people, {**item, "shirt": {"N": "9"}})
    player = written.store.get(Player.by_id(player_id="p-1"), consistent=True)
    assert player is not None
    written.store.put(player)
    (stored,) = everything(written, people)
    assert stored["shirt"] == {"N": "9"}


def test_an_expiry_that_was_not_given_is_filled_in(written: Bench) -> None:
    token = written.store.put(Token(token_id="k-1"))
    assert token.ttl == datetime.fromtimestamp(written.clock(), UTC) + timedelta(hours=1)
    chosen = written.store.put(Token(token_id="k-2", ttl=JANUARY + timedelta(days=1000)))
    assert chosen.ttl == JANUARY + timedelta(days=1000)


def test_an_item_past_the_limit_is_refused_in_plain_words(written: Bench) -> None:
    with pytest.raises(LimitExceeded, match="400 KB"):
        written.store.put(a_player(name="n" * 410_000))


# -- versions -------------------------------------------------------------------------------------------------------


def test_every_put_counts_the_version_up(written: Bench) -> None:
    document = Document(document_id="d-1")
    assert [written.store.put(document).version for _ in range(3)] == [1, 2, 3]


def test_a_put_over_another_version_is_refused_and_changes_nothing(written: Bench) -> None:
    mine = written.store.put(Document(document_id="d-1", text="one"))
    theirs = written.store.get(Document.by_id(document_id="d-1"), consistent=True)
    assert theirs is not None
    theirs.text = "two"
    written.store.put(theirs)
    mine.text = "three"
    with pytest.raises(VersionConflict, match="expected version 1, found 2") as refused:
        written.store.put(mine)
    assert (refused.value.expected, refused.value.found) == (1, 2)
    assert mine.version == 1
    assert written.store.get(Document.by_id(document_id="d-1"), consistent=True) == theirs


def test_a_new_entity_cannot_be_put_over_a_versioned_item(written: Bench) -> None:
    written.store.put(Document(document_id="d-1"))
    with pytest.raises(VersionConflict, match="expected version 0, found 1"):
        written.store.put(Document(document_id="d-1"))


def test_a_put_over_an_item_that_is_gone_is_refused(written: Bench) -> None:
    document = written.store.put(Document(document_id="d-1"))
    written.store.delete(Document.by_id(document_id="d-1"))
    with pytest.raises(VersionConflict, match="expected version 1, the item no longer exists"):
        written.store.put(document)


def test_an_item_from_before_there_were_versions_can_be_written(written: Bench) -> None:
    written.save_item(people, {name: v for name, v in Document(document_id="d-1").item().items() if name != "version"})
    document = written.store.get(Document.by_id(document_id="d-1"), consistent=True)
    assert document is not None
    assert document.version == 0
    assert written.store.put(document).version == 1


def test_an_expired_version_is_as_good_as_gone(written: Bench) -> None:
    token = written.store.put(Token(token_id="k-1"))
    written.clock.now += 3601
    with pytest.raises(VersionConflict, match="the item no longer exists"):
        written.store.put(token)
    assert written.store.put(Token(token_id="k-1")).version == 1


# -- create ---------------------------------------------------------------------------------------------------------


def test_create_refuses_an_item_that_exists(written: Bench) -> None:
    written.store.create(a_player(name="first"))
    with pytest.raises(AlreadyExists, match="Player player_id p-1 already exists"):
        written.store.create(a_player(name="second"))
    found = written.store.get(Player.by_id(player_id="p-1"), consistent=True)
    assert found is not None
    assert found.name == "first"


def test_create_over_an_expired_item_succeeds(written: Bench) -> None:
    written.store.create(Token(token_id="k-1", uses=5))
    with pytest.raises(AlreadyExists):
        written.store.create(Token(token_id="k-1"))
    written.clock.now += 3600
    assert written.store.create(Token(token_id="k-1")).uses == 0


def test_a_refused_entity_is_left_as_it_was(written: Bench) -> None:
    written.store.create(Document(document_id="d-1"))
    second = Document(document_id="d-1")
    with pytest.raises(AlreadyExists):
        written.store.create(second)
    assert second.version == 0


# -- numbers --------------------------------------------------------------------------------------------------------


def test_created_items_are_numbered_within_their_group(written: Bench) -> None:
    store = written.store
    assert [store.create(Line(order_id="a")).number for _ in range(3)] == [1, 2, 3]
    assert store.create(Line(order_id="b")).number == 1
    assert [line.number for line in store.query(Line.of_order(order_id="a"), consistent=True).items] == [1, 2, 3]


def test_a_number_stays_when_the_item_is_written_again(written: Bench) -> None:
    line = written.store.put(Line(order_id="a"))
    line.text = "changed"
    assert written.store.put(line).number == 1
    assert written.store.update(line, attr(Line.text).set("again")).number == 1


# -- upsert ---------------------------------------------------------------------------------------------------------


def test_upsert_creates_what_is_not_there(written: Bench) -> None:
    player = written.store.upsert(a_player(score=3))
    assert written.store.get(Player.by_id(player_id="p-1"), consistent=True) == player


def test_upsert_sets_the_fields_of_what_is_there_and_keeps_the_rest(written: Bench) -> None:
    first = written.store.create(a_player(score=3, name="Ada"))
    item = first.item()
    written.save_item(people, {**item, "shirt": {"N": "9"}})
    written.clock.now += 60
    second = written.store.upsert(a_player(score=4, team="blue"))
    assert (second.score, second.team, second.name) == (4, "blue", "")
    assert second.created_at == first.created_at
    assert second.updated_at != first.updated_at
    (stored,) = everything(written, people)
    assert stored["shirt"] == {"N": "9"}


def test_upsert_of_an_entity_that_was_never_read_goes_over_any_version(written: Bench) -> None:
    written.store.put(Document(document_id="d-1", text="one"))
    assert written.store.upsert(Document(document_id="d-1", text="two")).version == 2
    stale = Document(document_id="d-1", text="three", version=1)
    with pytest.raises(VersionConflict, match="expected version 1, found 2"):
        written.store.upsert(stale)


def test_upsert_over_an_expired_item_begins_anew(written: Bench) -> None:
    written.store.create(Token(token_id="k-1", uses=5))
    written.clock.now += 3601
    token = written.store.upsert(Token(token_id="k-1"))
    assert (token.uses, token.version) == (0, 1)


# -- delete ---------------------------------------------------------------------------------------------------------


def test_delete_says_whether_there_was_something(written: Bench) -> None:
    player = written.store.put(a_player())
    assert written.store.delete(player) is True
    assert written.store.delete(player) is False
    assert written.store.delete(Player.by_id(player_id="p-1")) is False
    assert everything(written, people) == []


def test_delete_by_an_index(written: Bench) -> None:
    written.store.put(Account(account_id="a-1", team="red"))
    assert written.store.delete(Account.of_team(team="red")) is True
    assert written.store.delete(Account.of_team(team="red")) is False
    assert everything(written, people) == []


def test_a_versioned_item_is_deleted_only_in_the_version_that_was_read(written: Bench) -> None:
    document = written.store.put(Document(document_id="d-1"))
    written.store.update(Document.by_id(document_id="d-1"), attr(Document.text).set("newer"))
    with pytest.raises(VersionConflict, match="expected version 1, found 2"):
        written.store.delete(document)
    assert written.store.get(Document.by_id(document_id="d-1"), consistent=True) is not None


def test_delete_under_a_condition(written: Bench) -> None:
    player = written.store.put(a_player(score=1))
    with pytest.raises(ConditionFailed, match="score = 2 does not hold: score is 1"):
        written.store.delete(player, expect=attr(Player.score) == 2)
    assert written.store.delete(player, expect=attr(Player.score).is_in(1, 2)) is True
    with pytest.raises(NotFound):
        written.store.delete(player, expect=attr(Player.score) == 1)


# -- many at once ---------------------------------------------------------------------------------------------------


def test_any_number_of_items_is_written_and_deleted(written: Bench) -> None:
    store = written.store
    players = [a_player(number, score=number) for number in range(60)]
    tickets = [Ticket(ticket_id=f"t-{n}", customer_id="c", opened_at=JANUARY) for n in range(10)]
    store.write_many([*players, *tickets])
    assert len(store.query(Player.of_team(team="red")).items) == 60
    assert all(player.updated_at is not None for player in players)
    assert len(store.query(Ticket.by_status(status=TicketStatus.OPEN)).items) == 10
    store.write_many(delete=[*players[:30], Player.by_id(player_id="p-59"), *tickets])
    assert len(store.query(Player.of_team(team="red")).items) == 29


def test_of_several_writes_of_one_item_the_last_one_counts(written: Bench) -> None:
    written.store.write_many([a_player(name="one"), a_player(name="two")])
    found = written.store.get(Player.by_id(player_id="p-1"), consistent=True)
    assert found is not None
    assert found.name == "two"


@pytest.mark.parametrize(
    ("entity", "what"),
    [
        (Document(document_id="d-1"), "a version"),
        (Account(account_id="a-1"), "unique fields"),
        (Line(order_id="o-1"), "numbered fields"),
    ],
)
def test_a_batch_refuses_what_it_cannot_check(embedded: Bench, entity: Document, what: str) -> None:
    with pytest.raises(ModelError, match=f"has {what}, which a batch cannot check"):
        embedded.store.write_many([entity])


def test_what_was_not_processed_is_sent_again() -> None:
    flow = write_many(Context(), [a_player(number) for number in range(30)])
    request = next(flow)
    assert isinstance(request, Request)
    first = request.body["RequestItems"]["people"]
    assert isinstance(flow.send({"UnprocessedItems": {"people": first[20:]}}), Sleep)
    request = flow.send(None)
    assert isinstance(request, Request)
    second = request.body["RequestItems"]["people"]
    assert second[:5] == first[20:]
    assert len(second) == 10
    with pytest.raises(StopIteration):
        flow.send({"UnprocessedItems": {}})


def test_a_service_that_processes_nothing_is_given_up_on() -> None:
    requests: list[Request] = []

    def process_nothing(request: Request) -> Response:
        requests.append(request)
        return {"UnprocessedItems": request.body["RequestItems"]}

    with pytest.raises(Conflict, match="throttling: 1 items were not written"):
        drive(write_many(Context(), [a_player()]), process_nothing)
    assert len(requests) == MAX_REQUEST_ATTEMPTS


def test_sessions_expire_unseen(written: Bench) -> None:
    written.store.create(Session(session_id="s-1", user_id="u-1"))
    written.clock.now += 24 * 3600
    assert written.store.get(Session.by_id(session_id="s-1"), consistent=True) is None
    assert written.store.query(Session.of_user(user_id="u-1")).items == []
    written.store.create(Session(session_id="s-1", user_id="u-2"))


# -- without blocking -----------------------------------------------------------------------------------------------


async def _written_asynchronously(store: AsyncStore) -> None:
    call = Call(user_id="u-1", call_id="c-1", provider_id="p-1", scheduled_for=JANUARY)
    await store.create(call)
    await store.update(call, attr(Call.status).set(CallStatus.COMPLETED))
    await store.update(call, attr(Call.scheduled_for).set(JANUARY + timedelta(days=1)))
    await store.put(call)
    assert call.version == 4
    page = await store.query(Call.completed(user_id="u-1"))
    assert page.items == [call]
    await store.upsert(call)
    await store.write_many([Ticket(ticket_id="t-1", customer_id="c", opened_at=JANUARY)])
    assert await store.delete(call) is True


def test_the_asynchronous_store_writes_as_well(written: Bench) -> None:
    import asyncio

    store = AsyncStore(written.backend, clock=written.clock, table_names=written.names)
    asyncio.run(_written_asynchronously(store))


def test_a_store_of_its_own_keeps_what_was_written(tmp_path: object) -> None:
    with Store.open(str(tmp_path)) as store:
        store.ensure_tables(people)
        store.create(Account(account_id="a-1", email="a@example.com"))
    with Store.open(str(tmp_path)) as store:
        assert store.get(Account.by_id(account_id="a-1")) is not None
