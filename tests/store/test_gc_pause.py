"""While many objects are made no garbage is looked for; then it is as the program has it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from tablewright.store.gc_pause import pause_collection, resume_collection, without_collection


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    before = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_it_is_as_before_afterwards(is_enabled: bool) -> None:
    (gc.enable if is_enabled else gc.disable)()
    assert without_collection(gc.isenabled) is False
    assert gc.isenabled() is is_enabled
    with pytest.raises(ZeroDivisionError):
        without_collection(lambda: 1 // 0)
    assert gc.isenabled() is is_enabled


def test_a_pause_ends_when_the_page_is_done_with() -> None:
    async def paused() -> None:
        pause_collection(asyncio.get_running_loop())
        assert not gc.isenabled()
        resume_collection()
        assert gc.isenabled()

    asyncio.run(paused())


def test_a_pause_ends_soon_if_no_page_is_awaited() -> None:
    async def paused() -> None:
        pause_collection(asyncio.get_running_loop())
        for _ in range(10):
            await asyncio.sleep(0)
        assert gc.isenabled()

    asyncio.run(paused())


def test_what_the_program_has_turned_off_stays_off() -> None:
    async def paused() -> None:
        gc.disable()
        pause_collection(asyncio.get_running_loop())
        resume_collection()
        await asyncio.sleep(0.01)
        assert not gc.isenabled()

    asyncio.run(paused())
