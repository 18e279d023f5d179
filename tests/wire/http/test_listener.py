"""The listener: many connections at once, running out of descriptors, addresses."""

import asyncio
import os
import resource
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tablewright import event_loops
from tablewright.wire.http import listener as listener_module
from tablewright.wire.http.listener import Listener

LOOPS = pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, event_loops.new_event_loop], ids=["asyncio", "own"]
)


class Opened(asyncio.Protocol):
    """Notes in which iteration of the event loop each connection was opened."""

    def __init__(self, iteration: list[int], opened: list[int]) -> None:
        self.iteration = iteration
        self.opened = opened

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.opened.append(self.iteration[0])
        assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        transport.close()


@LOOPS
def test_a_burst_of_connections_is_accepted_in_few_iterations_of_the_loop(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    iteration, opened = [0], list[int]()

    async def run() -> None:
        listener = Listener(lambda: Opened(iteration, opened))
        await listener.listen("127.0.0.1", 0)
        with ExitStack() as clients:
            for _ in range(250):
                clients.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
            while len(opened) < 250 and iteration[0] < 10_000:
                await asyncio.sleep(0)
                iteration[0] += 1
        listener.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())
    assert len(opened) == 250
    # Not all in one, so that those that are open have their turn.
    assert 2 <= opened[-1] - opened[0] <= 20


@LOOPS
def test_without_descriptors_connections_wait_and_are_accepted_later(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[int] = []
    monkeypatch.setattr(listener_module, "_PAUSE_SECONDS", 0.05)

    async def run() -> None:
        listener = Listener(lambda: Opened([0], opened))
        await listener.listen("127.0.0.1", 0)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        with ExitStack() as clients:
            for _ in range(5):
                clients.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
            # The lowest number that is free would be the next one.
            free = os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
            try:
                while not caplog.records:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.3)  # several pauses
                assert not opened
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            async with asyncio.timeout(20):
                while len(opened) < 5:
                    await asyncio.sleep(0.01)
        listener.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())
    assert [record.getMessage() for record in caplog.records if record.name == "tablewright.wire"] == [
        "new connections cannot be accepted for now: [Errno 24] Too many open files"
    ]


def test_a_closed_listener_has_released_its_port() -> None:
    async def run() -> None:
        first, second = Listener(asyncio.Protocol), Listener(asyncio.Protocol)
        assert await first.listen("127.0.0.1", 0) == ["127.0.0.1"]
        port = first.port
        with pytest.raises(OSError, match="Address already in use"):
            await second.listen("127.0.0.1", port)
        first.close()
        await second.listen("127.0.0.1", port)
        assert second.port == port
        second.close()

    asyncio.run(run())


def test_all_addresses_of_a_host_are_listened_on_with_the_same_port() -> None:
    async def run() -> None:
        listener = Listener(asyncio.Protocol)
        addresses = await listener.listen("", 0)
        assert "0.0.0.0" in addresses
        for address in addresses:
            target = "127.0.0.1" if address == "0.0.0.0" else "::1"
            socket.create_connection((target, listener.port)).close()
        listener.close()

    asyncio.run(run())
