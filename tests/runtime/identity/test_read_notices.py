"""Which notices somebody has read: kept while they wait, by all processes."""

from __future__ import annotations

import asyncio

import pytest

from tablewright.runtime.identity.read_notices import KEPT_FOR_DAYS, NoticesOfPerson, ReadNotices
from tests.runtime.identity.internal_store import NOW, opened

pytestmark = pytest.mark.requirement("AP2")


def test_what_is_read_stays_read_until_it_waits_no_longer() -> None:
    async def story() -> None:
        notices = ReadNotices(await opened())
        assert await notices.of("ada") == frozenset()
        assert await notices.add("ada", ["a", "b"]) == {"a", "b"}
        assert await notices.add("ada", ["b", "c"]) == {"a", "b", "c"}
        assert await notices.keep("ada", {"b", "z"}) == {"b"}
        assert await notices.of("ada") == {"b"}
        assert await notices.of("grace") == frozenset()

    asyncio.run(story())


def test_of_several_windows_at_once_none_forgets_what_another_has_read() -> None:
    async def story() -> None:
        store = await opened()
        await asyncio.gather(*(ReadNotices(store).add("ada", [name]) for name in "abcd"))
        assert await ReadNotices(store).of("ada") == frozenset("abcd")

    asyncio.run(story())


@pytest.mark.requirement("AP10")
def test_they_are_kept_as_long_as_is_declared_and_bounded() -> None:
    async def story() -> None:
        store = await opened()
        await ReadNotices(store).add("ada", [str(number) for number in range(3_000)])
        found = await store.get(NoticesOfPerson.of_user("ada"))
        assert found is not None
        assert found.ttl is not None
        assert (found.ttl - NOW).days == KEPT_FOR_DAYS
        assert len(found.read) == 1_000

    asyncio.run(story())
