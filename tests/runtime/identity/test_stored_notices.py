"""Notices of what others wrote: for those who are concerned, kept as long as is declared, and bounded when read."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tablewright.runtime.identity.stored_notices import KEPT_FOR_DAYS, MOST_PEOPLE, Notice, StoredNotices, notify
from tests.runtime.identity.internal_store import NOW, opened

pytestmark = pytest.mark.requirement("AP2")


def test_each_person_concerned_is_notified_once_except_the_author() -> None:
    notices = notify("tasks", "t-1", ["ada", None, "grace", "ada", "linus"], by="grace", at=NOW)
    assert [each.entity.user_id for each in notices if isinstance(each.entity, Notice)] == ["ada", "linus"]
    assert len(notify("tasks", "t-1", map(str, range(500)), by="grace", at=NOW)) == MOST_PEOPLE


@pytest.mark.requirement("AP10")
def test_the_latest_about_each_thing_is_found_by_person_and_system_and_is_not_kept_for_ever() -> None:
    async def story() -> None:
        store = await opened()
        for number in range(60):
            at = NOW + timedelta(seconds=number)
            await store.transact(*notify("tasks", f"t-{number % 25}", ["ada", "grace"], by=f"b-{number}", at=at))
        await store.transact(*notify("support", "s-1", ["ada"], by="grace", at=NOW))
        found = await StoredNotices(store).of("ada", "tasks")
        assert [(each.thing_id, each.by) for each in found[:2]] == [("t-9", "b-59"), ("t-8", "b-58")]
        assert len(found) == 20
        assert len({each.thing_id for each in found}) == 20
        assert [each.thing_id for each in await StoredNotices(store).of("ada", "support")] == ["s-1"]
        assert await StoredNotices(store).of("linus", "tasks") == []
        assert found[0].ttl is not None
        assert (found[0].ttl - NOW).days == KEPT_FOR_DAYS

    asyncio.run(story())
