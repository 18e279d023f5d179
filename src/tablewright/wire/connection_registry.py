"""The connections of a server: how many there may be, and the time by which they are measured.

Nobody has a timer of their own: while anybody is there, all are looked at every now and then (``Limits.tick_seconds``).
"""

from __future__ import annotations

import asyncio

from tablewright.wire.connection import Connection
from tablewright.wire.connection_limits import Limits


class Clients:
    """What connections belong to (``connection.Host``)."""

    def __init__(self, limits: Limits, connections: set[Connection] | None = None) -> None:
        self.limits = limits
        self.stopping = False
        self.now = 0.0
        self._connections: set[Connection] = set() if connections is None else connections
        self._turned_away: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None

    def joined(self, connection: Connection) -> bool:
        """Whether there is room for it; one too many is told so, far too many are dropped unheard."""
        if self._timer is None:
            self._tick(asyncio.get_running_loop())
        if len(self._connections) < self.limits.connections and not self.stopping:
            self._connections.add(connection)
            return True
        self._turned_away.add(connection)
        if len(self._turned_away) > self.limits.connections:
            connection.abort()
        return False

    def left(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._turned_away.discard(connection)

    def hurry(self) -> None:
        """Ends all connections at once."""
        for connection in [*self._connections, *self._turned_away]:
            connection.abort()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Looks at the time of everybody, as long as there is anybody."""
        self._timer = None
        if self._connections or self._turned_away:
            self._tick(loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self.now = loop.time()
        for connection in [*self._connections, *self._turned_away]:
            connection.check_time(self.now)
        self._timer = loop.call_later(self.limits.tick_seconds, self._sweep, loop)
