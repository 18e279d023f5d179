"""The synchronous store, consumer and tolerant reader are those that follow from the asynchronous ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.generate_sync import FILES, generated


@pytest.mark.parametrize("source", FILES, ids=lambda source: source.name)
def test_a_generated_file_is_up_to_date(source: Path) -> None:
    assert FILES[source].read_text("utf-8") == generated(source), "run `make generate`"


def test_async_and_await_are_removed_and_names_are_replaced(tmp_path: Path) -> None:
    source = tmp_path / "async_sample.py"
    source.write_text(
        '''"""A sample of ``AsyncStore``, without blocking the event loop."""

from collections.abc import AsyncIterator, Awaitable, Callable


async def each(work: Callable[[], Awaitable[list[int]]]) -> AsyncIterator[int]:
    # Call it with await each(work).
    async for number in await work():
        yield await number + "await this"
'''
    )
    assert generated(source) == (
        '''# Generated from async_sample.py by tools/generate_sync.py. Do not edit it; run `make generate`.
"""A sample of ``Store``, from any number of threads."""

from collections.abc import Callable, Iterator


def each(work: Callable[[], list[int]]) -> Iterator[int]:
    # Call it with each(work).
    for number in work():
        yield number + "await this"
'''
    )
