"""Unique fields: no two items have the same value, whichever way they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tablewright.model import attr
from tablewright.store import AlreadyExists, NotUnique
from tablewright.store.flow.driver import Request
from tests.store.bench import Bench
from tests.store.members import Account, everything, people
from tests.store.models import Call
from tests.store.recording_backend import watched

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
ADA = "ada@example.com"


def in_time(bench: Bench, **after: int) -> datetime:
    return datetime.fromtimestamp(bench.clock(), UTC) + timedelta(**after)


@pytest.fixture
def ada(written: Bench) -> Account:
    return written.store.create(Account(account_id="a-1", email=ADA, handle="ada"))


def test_a_taken_value_is_refused_by_field_and_value(written: Bench, ada: Account) -> None:
    with pytest.raises(NotUnique, match=r"Account: email ada@example\.com is already taken") as refused:
        written.store.create(Account(account_id="a-2", email=ADA))
    assert (refused.value.entity, refused.value.field, refused.value.value) == ("Account", "email", ADA)
    with pytest.raises(NotUnique, match="handle ada is already taken"):
        written.store.put(Account(account_id="a-2", handle="ada"))
    assert written.store.get(Account.by_id(account_id="a-2"), consistent=True) is None


def test_a_call_id_is_unique_in_the_whole_table(written: Bench) -> None:
    written.store.create(Call(user_id="u-1", call_id="c-9", provider_id="p", scheduled_for=JANUARY))
    with pytest.raises(NotUnique, match="call_id c-9 is already taken"):
        written.store.create(Call(user_id="u-2", call_id="c-9", provider_id="p", scheduled_for=JANUARY))


def test_an_item_that_exists_is_that_and_not_a_matter_of_uniqueness(written: Bench, ada: Account) -> None:
    with pytest.raises(AlreadyExists):
        written.store.create(Account(account_id="a-1", email=ADA))


def test_absent_values_do_not_collide(written: Bench) -> None:
    written.store.create(Account(account_id="a-1"))
    written.store.create(Account(account_id="a-2"))
    assert len(everything(written, people)) == 2


def test_the_same_value_in_another_field_does_not_collide(written: Bench, ada: Account) -> None:
    written.store.create(Account(account_id="a-2", email="ada", handle=ADA))


def test_a_put_keeps_changes_and_drops_what_its_item_holds(written: Bench, ada: Account) -> None:
    written.store.put(Account(account_id="a-1", email=ADA, handle="lady"))
    written.store.put(Account(account_id="a-2", handle="ada"))
    written.store.put(Account(account_id="a-1"))
    written.store.put(Account(account_id="a-2", handle="ada", email=ADA))


def test_a_put_over_an_item_that_others_change_frees_what_they_stored(written: Bench, ada: Account) -> None:
    store, backend = watched(written)

    def change_it_then() -> None:
        backend.before["TransactWriteItems"] = lambda: written.store.update(
            ada, attr(Account.email).set("between@example.com")
        )

    backend.before["TransactWriteItems"] = change_it_then
    store.put(Account(account_id="a-1", email="last@example.com"))
    assert backend.operations == ["TransactWriteItems"] * 3
    written.store.create(Account(account_id="a-2", email="between@example.com", handle="ada"))


def test_an_update_hands_the_old_value_back(written: Bench, ada: Account) -> None:
    written.store.update(ada, attr(Account.email).set("new@example.com"))
    bea = written.store.create(Account(account_id="a-2", email=ADA))
    with pytest.raises(NotUnique):
        written.store.update(bea, attr(Account.email).set("new@example.com"))
    assert bea.email == ADA
    written.store.update(Account.by_id(account_id="a-1"), attr(Account.email).set(None))
    written.store.update(Account.by_id(account_id="a-2"), attr(Account.email).set("new@example.com"))


def test_an_update_that_leaves_the_unique_fields_alone_is_one_request(written: Bench, ada: Account) -> None:
    store, backend = watched(written)
    store.update(ada, attr(Account.team).set("red"))
    assert backend.operations == ["UpdateItem"]


def test_an_entity_that_is_wrong_about_its_old_value_leaves_no_guard_behind(written: Bench, ada: Account) -> None:
    stale = ada.model_copy()
    written.store.update(ada, attr(Account.email).set("new@example.com"))
    written.store.update(stale, attr(Account.email).set("newer@example.com"))
    written.store.create(Account(account_id="a-2", email="new@example.com"))


def test_deleting_frees_the_values(written: Bench, ada: Account) -> None:
    assert written.store.delete(ada) is True
    assert everything(written, people) == []
    written.store.create(Account(account_id="a-2", email=ADA))
    assert written.store.delete(Account.by_id(account_id="a-2")) is True
    assert written.store.delete(Account(account_id="a-3", email=ADA)) is False


def test_deleting_a_stale_entity_frees_what_is_stored(written: Bench, ada: Account) -> None:
    stale = ada.model_copy()
    written.store.update(ada, attr(Account.email).set("new@example.com"))
    assert written.store.delete(stale) is True
    assert everything(written, people) == []


def test_the_values_of_an_expired_owner_can_be_taken(written: Bench) -> None:
    written.store.create(Account(account_id="a-1", email=ADA, ttl=in_time(written, hours=1)))
    written.clock.now += 3600
    second = written.store.create(Account(account_id="a-2", email=ADA))
    with pytest.raises(NotUnique):
        written.store.create(Account(account_id="a-3", email=ADA))
    written.store.create(Account(account_id="a-1", handle="again"))
    assert second.email == ADA


def test_an_expired_item_can_be_created_again_with_its_own_values(written: Bench) -> None:
    written.store.create(Account(account_id="a-1", email=ADA, ttl=in_time(written, hours=1)))
    written.clock.now += 3600
    written.store.create(Account(account_id="a-1", email=ADA))
    with pytest.raises(NotUnique):
        written.store.create(Account(account_id="a-2", email=ADA))


def test_a_guard_expires_when_its_owner_does(written: Bench) -> None:
    account = written.store.create(Account(account_id="a-1", email=ADA, ttl=in_time(written, hours=1)))
    written.store.update(account, attr(Account.ttl).set(in_time(written, hours=2)))
    written.clock.now += 3600
    with pytest.raises(NotUnique):
        written.store.create(Account(account_id="a-2", email=ADA))
    written.store.update(account, attr(Account.ttl).set(None))
    written.clock.now += 1_000_000
    with pytest.raises(NotUnique):
        written.store.create(Account(account_id="a-2", email=ADA))
    account.ttl = in_time(written, hours=1)
    written.store.put(account)
    written.clock.now += 3600
    written.store.create(Account(account_id="a-2", email=ADA))


def test_upsert_is_bound_by_uniqueness_too(written: Bench, ada: Account) -> None:
    with pytest.raises(NotUnique):
        written.store.upsert(Account(account_id="a-2", email=ADA))
    written.store.upsert(Account(account_id="a-1", email="new@example.com"))
    written.store.upsert(Account(account_id="a-2", email=ADA, handle="ada"))


@pytest.mark.parametrize("value", ["a#b", "$", " ", "é", "a#b#c", "x" * 500])
def test_any_text_can_be_unique(written: Bench, value: str) -> None:
    written.store.create(Account(account_id="a-1", email=value))
    with pytest.raises(NotUnique):
        written.store.create(Account(account_id="a-2", email=value))
    written.store.create(Account(account_id="a-3", email=value + "#"))


def test_a_guard_that_outlived_its_owner_does_not_keep_him_out(written: Bench, ada: Account) -> None:
    """Somebody deletes the item without the store, and it is created again."""
    key = {name: ada.item()[name] for name in people.key}
    written.backend.call(Request("DeleteItem", {"TableName": written.names[people.name], "Key": key}))
    written.store.create(Account(account_id="a-1", email=ADA, handle="ada"))
