"""A way to a server on which every byte takes a while: `python -m benchmarks.delayed_way PORT SECONDS`.

It prints the port to connect to instead, and runs until it is stopped. Bytes are held back, and not connections: any
number of them are on the way at the same time, as on a wire that is long.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvloop

from benchmarks.servers import Server


class _End(asyncio.Protocol):
    """One end of a connection through here; what it receives is sent by the other, later."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._other: _End | None = None
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's are not subclasses of it

    def data_received(self, data: bytes) -> None:
        self._loop.call_later(self._seconds, self._forward, data)

    def _forward(self, data: bytes) -> None:
        if self._other is None:
            self._early.append(data)
        elif self._other._transport is not None:
            self._other._transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._other is not None and self._other._transport is not None:
            self._other._transport.close()

    def join(self, other: "_End") -> None:
        self._other, other._other = other, self
        for data in self._early:
            self._forward(data)
        self._early.clear()


class _Entrance(_End):
    def __init__(self, port: int, seconds: float) -> None:
        super().__init__(seconds)
        self._port = port

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._opening = self._loop.create_task(self._open())

    async def _open(self) -> None:
        _, exit_ = await self._loop.create_connection(lambda: _End(self._seconds), "127.0.0.1", self._port)
        self.join(exit_)


async def run(port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Entrance(port, seconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def delayed(server: Server, seconds: float) -> Iterator[Server]:
    """The same server, so many seconds away in each direction."""
    command = [sys.executable, "-m", "benchmarks.delayed_way", str(server.port), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Server(f"{server.name}, {seconds * 1000:g} ms away", int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    uvloop.run(run(int(sys.argv[1]), float(sys.argv[2])))
