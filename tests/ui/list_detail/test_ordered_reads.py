"""Of reads that overlap, what is shown is of the last; and whoever asks gets what was so after they asked."""

from __future__ import annotations

import asyncio

import pytest

from tablewright.ui.list_detail.ordered_reads import OrderedReads

pytestmark = pytest.mark.requirement("AP2")


def test_an_older_read_never_ends_after_a_newer_one_and_those_who_wait_share_one() -> None:
    async def story() -> None:
        state, began, drawn = 1, 0, []
        go_on = asyncio.Event()

        async def read() -> int:
            nonlocal began
            began += 1
            found = state
            # The first read takes longer than all that follows.
            if began == 1:
                await go_on.wait()
            drawn.append(found)
            return found

        load = OrderedReads(read)
        first = asyncio.create_task(load())
        await asyncio.sleep(0)
        state = 2
        later = [asyncio.create_task(load()) for _ in range(5)]
        await asyncio.sleep(0)
        state = 3
        go_on.set()
        assert await first == 1
        assert await asyncio.gather(*later) == [3] * 5
        assert drawn == [1, 3]
        assert await load() == 3
        assert began == 3

    asyncio.run(story())


def test_who_waits_for_a_read_that_fails_or_is_given_up_reads_for_himself() -> None:
    async def story() -> None:
        answers = [asyncio.Event(), ValueError("away"), "there"]
        began = 0

        async def read() -> str:
            nonlocal began
            found, began = answers[began], began + 1
            if isinstance(found, asyncio.Event):
                await found.wait()
            if isinstance(found, Exception):
                raise found
            return str(found)

        load = OrderedReads(read)
        tasks = [asyncio.create_task(load()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert isinstance(found[1], ValueError)
        assert found[2] == "there"

    asyncio.run(story())
