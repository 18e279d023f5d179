"""Listens on an address and accepts connections, many of them in an iteration of the event loop.

uvloop's own servers accept one connection in an iteration: while many connections are busy, and iterations are long,
those that follow would wait for a second and more.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from typing import Any, Final

_BACKLOG: Final = 512
# Between them, connections that are open already have their turn.
_ACCEPTED_AT_ONCE: Final = 64
# Of the process or the system. They last, and the socket stays readable.
_OUT_OF_RESOURCES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_SECONDS: Final = 1.0
# As ::1, which localhost has, where there is no IPv6.
_NOT_HERE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)

_log = logging.getLogger("tablewright.server")


class Listener:
    """``protocol`` makes the protocol of each connection."""

    def __init__(self, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._protocol = protocol
        self._sockets: list[socket.socket] = []
        self._connecting: set[asyncio.Task[Any]] = set()
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}

    async def listen(self, host: str, port: int) -> list[str]:
        """Listens on every address of the host, on the same port; returns the addresses, or raises OSError."""
        self._loop = asyncio.get_running_loop()
        found = await self._loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        missing: OSError | None = None
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                at = (address[0], self.port, *address[2:]) if self._sockets else address
                try:
                    self._sockets.append(socket.create_server(at, family=family, backlog=_BACKLOG))
                except OSError as error:
                    if error.errno not in _NOT_HERE:
                        raise
                    missing = error
            if missing is not None and not self._sockets:
                raise missing
        except OSError:
            self.close()
            raise
        for listening in self._sockets:
            listening.setblocking(False)
            self._loop.add_reader(listening, self._accept, listening)
        return [listening.getsockname()[0] for listening in self._sockets]

    @property
    def port(self) -> int:
        port: int = self._sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Accepts no more connections."""
        for pause in self._pauses.values():
            pause.cancel()
        self._pauses.clear()
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        self._sockets.clear()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                _log.error("connections have to wait, since none can be accepted: %s", error)
                self._loop.remove_reader(listening)
                self._pauses[listening] = self._loop.call_later(_PAUSE_SECONDS, self._resume, listening)
                return
            accepted.setblocking(False)
            connecting = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, accepted))
            self._connecting.add(connecting)
            connecting.add_done_callback(self._connecting.discard)

    def _resume(self, listening: socket.socket) -> None:
        del self._pauses[listening]
        self._loop.add_reader(listening, self._accept, listening)
