"""Two servers in this process, and a relocation that runs beside a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from tablewright.engine import Engine
from tablewright.transfer import Relocation, RelocationEvent, RelocationOptions, open_relocation
from tablewright.wire import serve_in_thread


@dataclass(frozen=True, slots=True)
class Places:
    engines: tuple[Engine, Engine]
    urls: tuple[str, str]


@contextmanager
def served_places() -> Iterator[Places]:
    with ExitStack() as stack:
        engines = stack.enter_context(Engine.open()), stack.enter_context(Engine.open())
        first, second = (stack.enter_context(serve_in_thread(engine)) for engine in engines)
        yield Places(engines, (first, second))


@asynccontextmanager
async def running(places: Places, told: list[str]) -> AsyncIterator[Relocation]:
    """A relocation that runs beside what is tested."""

    def tell(event: RelocationEvent) -> None:
        if event.kind == "step":
            told.append(event.text)

    async with open_relocation(*places.urls) as worker, open_relocation(*places.urls) as asking:
        work = asyncio.ensure_future(worker.run(RelocationOptions(segments=2), tell))
        try:
            while not told:
                await asyncio.wait([work], timeout=0.02)
                if work.done():
                    await work
            yield asking
        finally:
            work.cancel()
            await asyncio.wait([work])
