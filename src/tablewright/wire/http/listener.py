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

from tablewright.listening import bind_all

_BACKLOG: Final = 512
# Between two batches, connections that are already open get their turn.
_ACCEPTED_AT_ONCE: Final = 64
# Errors for a limit of the process or the system. They persist, and the listening socket stays readable meanwhile.
_OUT_OF_RESOURCES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_SECONDS: Final = 1.0

_log = logging.getLogger("tablewright.wire")


class Listener:
    """``protocol`` makes the protocol of each connection."""

    def __init__(self, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._protocol = protocol
        self._sockets: list[socket.socket] = []
        self._connecting: set[asyncio.Task[Any]] = set()
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        self._has_warned = False

    async def listen(self, host: str, port: int) -> list[str]:
        """Listens on the addresses of the host, on the same port; returns them, or raises OSError."""
        self._loop = asyncio.get_running_loop()
        self._sockets = await asyncio.to_thread(bind_all, host, port)
        try:
            for listening in self._sockets:
                listening.listen(_BACKLOG)
                listening.setblocking(False)
                self._loop.add_reader(listening, self._accept, listening)
        except OSError:
            self.close()
            raise
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
            except BlockingIOError:
                self._has_warned = False
                return
            except (InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                if not self._has_warned:
                    _log.error("new connections cannot be accepted for now: %s", error)
                    self._has_warned = True
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
        self._accept(listening)
