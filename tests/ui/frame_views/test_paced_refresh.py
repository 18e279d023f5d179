"""What many open pages read because of one change is bounded, and none of them misses it."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tablewright.ui.frame_views.paced_refresh import PacedRefresh, Turns

pytestmark = pytest.mark.requirement("AP2")

APART = 0.001


def test_a_hundred_pages_look_once_each_and_one_after_the_other_at_what_changed_in_three_tables() -> None:
    async def story() -> None:
        turns, looked = Turns(APART), []

        async def look(page: int) -> None:
            looked.append((page, asyncio.get_running_loop().time()))

        pages = [PacedRefresh(turns) for _ in range(100)]
        # A ticket, the metrics that count it, and the trends.
        asked = [each.ask("support", partial(look, number)) for _ in range(3) for number, each in enumerate(pages)]
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*asked)
        assert sorted(page for page, _ in looked) == [*range(100)]
        assert looked[-1][1] - began > 90 * APART

    asyncio.run(story())


def test_what_changes_while_a_page_looks_is_seen_by_its_next_look() -> None:
    async def story() -> None:
        state, seen = 1, []
        page = PacedRefresh(Turns(APART), pause=0.01)

        async def look() -> None:
            seen.append(state)
            await asyncio.sleep(0.02)

        first = asyncio.create_task(page.ask("tasks", look))
        while not seen:
            await asyncio.sleep(0)
        state = 2
        await asyncio.gather(*(page.ask("tasks", look) for _ in range(10)))
        await first
        assert seen == [1, 2]

    asyncio.run(story())
