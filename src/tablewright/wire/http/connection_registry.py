"""The open connections of a server: their number, their memory, and the timer that checks their deadlines.

Connections have no timers of their own: while there are any, all are checked every ``Limits.tick_seconds``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Final

from tablewright.wire.http.connection import Connection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.http.memory_budget import MemoryBudget, release_free_memory

_WORTH_RELEASING: Final = 16 * 1024 * 1024
# How many times: transport buffers, and what threads free, become free only later.
_RELEASES: Final = 3
# How long the pipelined requests of all connections together may take in one iteration of the event loop.
_TURNS_SECONDS: Final = 0.002


class ConnectionRegistry:
    """The host of connections (``connection.ConnectionHost``)."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.stopping = False
        self.now = 0.0
        self.received = MemoryBudget(limits.received_bytes, limits.allowance_bytes)
        self.unsent = MemoryBudget(limits.unsent_bytes, limits.allowance_bytes)
        self._connections: set[Connection] = set()
        self._rejected: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._releases = 0
        # Those with requests that wait for their turn.
        self._turns: deque[Connection] = deque()
        self._gives_turns = False

    def connection_opened(self, connection: Connection) -> bool:
        """Whether the connection is within the limit; one beyond it gets a 503, and far beyond it is dropped."""
        if self._timer is None:
            self._tick(asyncio.get_running_loop())
        if len(self._connections) < self.limits.connections and not self.stopping:
            self._connections.add(connection)
            return True
        self._rejected.add(connection)
        if len(self._rejected) > self.limits.connections:
            connection.abort()
        return False

    def connection_closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._rejected.discard(connection)

    def take_turn(self, connection: Connection) -> None:
        """Have a connection continue with a request that had to wait, in turn with others."""
        self._turns.append(connection)
        if not self._gives_turns:
            self._gives_turns = True
            asyncio.get_running_loop().call_soon(self._give_turns)

    def _give_turns(self) -> None:
        until = perf_counter() + _TURNS_SECONDS
        while self._turns:
            self._turns.popleft().turn()
            if perf_counter() > until:
                break
        self._gives_turns = bool(self._turns)
        if self._gives_turns:
            asyncio.get_running_loop().call_soon(self._give_turns)

    def abort_all(self) -> None:
        """Closes all connections at once, without sending the rest."""
        for connection in [*self._connections, *self._rejected]:
            connection.abort()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Checks the deadlines again, as long as there are connections, and releases memory."""
        self._timer = None
        if self._has_freed_much():
            self._releases = _RELEASES
        if self._releases:
            self._releases -= 1
            release_free_memory()
        if self._connections or self._rejected or self._releases or self._will_free_much():
            self._tick(loop)

    def _will_free_much(self) -> bool:
        """Whether there is memory to release later, although there is no connection any more."""
        return False

    def _has_freed_much(self) -> bool:
        """Whether connections had much memory, and have it no longer."""
        freed = False
        for budget in (self.received, self.unsent):
            if budget.most > _WORTH_RELEASING and budget.used < budget.most // 4:
                budget.most = budget.used
                freed = True
        return freed

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self.now = loop.time()
        for connection in [*self._connections, *self._rejected]:
            connection.check_time(self.now)
        self._timer = loop.call_later(self.limits.tick_seconds, self._sweep, loop)
