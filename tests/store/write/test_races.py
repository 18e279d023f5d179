"""Races: whatever two writers are after, one of them gets it, each time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier

import pytest

from tablewright.model import attr
from tablewright.store import (
    AlreadyExists,
    Create,
    NotUnique,
    Outcome,
    StoreError,
    VersionConflict,
)
from tests.store.bench import Bench
from tests.store.members import Account, Document, Line, Once, Player, Slot, assert_in_step, everything, people
from tests.store.models import Call, calls, desk

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
WON = "won"

Attempt = Callable[[], object]


@pytest.fixture(params=[300, pytest.param(1000, marks=pytest.mark.slow)])
def rounds(request: pytest.FixtureRequest) -> int:
    count: int = request.param
    return count


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that take turns so often that their requests come between each other."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    with ThreadPoolExecutor(8) as pool:
        yield pool
    sys.setswitchinterval(interval)


@pytest.fixture
def bench(embedded: Bench) -> Iterator[Bench]:
    embedded.create(people)
    yield embedded
    assert_in_step(embedded, people, calls, desk)


def raced(pool: ThreadPoolExecutor, *attempts: Attempt) -> list[str]:
    """Try all at once; how each of them fared."""
    start = Barrier(len(attempts))

    def tried(attempt: Attempt) -> str:
        start.wait()
        try:
            attempt()
        except StoreError as error:
            return type(error).__name__
        return WON

    return sorted(pool.map(tried, attempts))


def losing(*errors: type[StoreError]) -> set[str]:
    return {error.__name__ for error in errors}


def assert_one_winner(results: list[str], losers: set[str]) -> None:
    assert results.count(WON) == 1, results
    assert set(results) - {WON} <= losers, results


def test_one_of_two_writers_of_a_version_wins(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    store = bench.store
    document = store.create(Document(document_id="d-1"))
    for number in range(rounds):
        mine, theirs = document.model_copy(update={"text": f"mine {number}"}), document.model_copy()
        results = raced(
            pool, partial(store.put, mine), partial(store.update, theirs, attr(Document.text).set("theirs"))
        )
        assert_one_winner(results, losing(VersionConflict))
        found = store.get(Document.by_id(document_id="d-1"), consistent=True)
        assert found is not None
        assert found.version == document.version + 1
        document = found


def test_one_of_two_claimants_of_a_unique_value_wins(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    store = bench.store
    idle = store.create(Account(account_id="idle"))
    for number in range(rounds):
        email = f"{number}@example.com"
        results = raced(
            pool,
            partial(store.create, Account(account_id=f"a-{number}", email=email)),
            partial(store.update, idle.model_copy(), attr(Account.email).set(email)),
        )
        assert_one_winner(results, losing(NotUnique))


def test_one_of_two_calls_with_one_id_is_created(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    store = bench.store

    def create(user: str, number: int) -> object:
        return store.create(Call(user_id=user, call_id=f"c-{number}", provider_id="p", scheduled_for=JANUARY))

    for number in range(rounds):
        results = raced(pool, partial(create, "u-1", number), partial(create, "u-2", number))
        assert_one_winner(results, losing(NotUnique))


def test_one_of_two_requests_with_one_key_is_carried_out(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    store = bench.store
    # Two threads append to a list without losing anything; they would not add to a number so.
    done: list[str] = []

    def request(key: str, player: str) -> object:
        def work() -> Outcome:
            return Outcome(player, Create(Player(player_id=player, team=key)))

        answer = store.execute_once(Once, key, {}, work)
        if answer == player:
            done.append(key)
        return answer

    for number in range(rounds):
        key = f"k-{number}"
        results = raced(pool, partial(request, key, f"{key}-a"), partial(request, key, f"{key}-b"))
        assert results == [WON, WON]
        assert done.count(key) == 1
        assert len(store.query(Player.of_team(team=key)).items) == 1


def test_one_of_two_moves_of_a_versioned_item_wins(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    store = bench.store
    call = store.create(Call(user_id="u-1", call_id="c-1", provider_id="p", scheduled_for=JANUARY))
    for number in range(1, rounds + 1):
        results = raced(
            pool,
            partial(store.update, call.model_copy(), attr(Call.scheduled_for).set(JANUARY + timedelta(hours=number))),
            partial(
                store.update,
                call.model_copy(),
                attr(Call.user_id).set(f"u-{number + 1}"),
                attr(Call.minutes).set(number),
            ),
        )
        assert_one_winner(results, losing(VersionConflict))
        (item,) = [item for item in everything(bench, calls) if not calls.is_internal(item)]
        call = Call.of(item)
        assert call.version == number + 1


def test_one_of_two_moves_to_one_place_wins(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    store = bench.store
    day = JANUARY.date()
    for number in range(rounds):
        one = store.create(Slot(day=day, slot_id=f"{number}", guest=f"{number}"))
        two = store.create(Slot(day=day + timedelta(days=1), slot_id=f"{number}", hour=10))
        to_goal = attr(Slot.day).set(day + timedelta(days=2))
        results = raced(pool, partial(store.update, one, to_goal), partial(store.update, two, to_goal))
        assert_one_winner(results, losing(AlreadyExists))


def test_a_move_and_an_update_lose_nothing(bench: Bench, pool: ThreadPoolExecutor, rounds: int) -> None:
    """Without a version both succeed, or the update finds the item gone; it is never half done."""
    store = bench.store
    day = JANUARY.date()
    for number in range(rounds):
        slot = store.create(Slot(day=day, slot_id=f"{number}"))
        itself = Slot.itself(day=day, slot_id=f"{number}")
        goal = day + timedelta(days=1)
        results = raced(
            pool,
            partial(store.update, slot, attr(Slot.day).set(goal)),
            partial(store.update, itself, attr(Slot.hour).set(17)),
        )
        moved = store.get(Slot.itself(day=goal, slot_id=f"{number}"), consistent=True)
        assert moved is not None
        assert store.get(itself, consistent=True) is None
        assert moved.hour == (17 if results == [WON, WON] else 9)


def test_changes_that_feed_a_key_from_all_sides_add_up(bench: Bench, pool: ThreadPoolExecutor) -> None:
    store = bench.store
    store.create(Player(player_id="p-1", team="red"))

    def score(number: int) -> None:
        store.update(Player.by_id(player_id="p-1"), attr(Player.score).add(1), attr(Player.log).append(f"{number}"))

    list(pool.map(score, range(40)))
    (player,) = store.query(Player.of_team(team="red")).items
    assert player.score == 40
    assert sorted(player.log, key=int) == [f"{number}" for number in range(40)]


def test_numbers_have_neither_gaps_nor_doubles(bench: Bench, pool: ThreadPoolExecutor) -> None:
    store = bench.store
    list(pool.map(lambda _: store.create(Line(order_id="o-1")), range(60)))
    lines = store.query(Line.of_order(order_id="o-1"), consistent=True).items
    assert [line.number for line in lines] == list(range(1, 61))


def test_a_hundred_concurrent_appends_are_all_kept(bench: Bench, pool: ThreadPoolExecutor) -> None:
    store = bench.store
    store.create(Player(player_id="p-1", team="red"))
    lookup = Player.by_id(player_id="p-1")
    list(pool.map(lambda n: store.update(lookup, attr(Player.log).append(f"{n}")), range(100)))
    player = store.get(lookup, consistent=True)
    assert player is not None
    assert sorted(map(int, player.log)) == list(range(100))
