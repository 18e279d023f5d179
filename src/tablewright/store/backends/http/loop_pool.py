"""The connections of an event loop to one destination, kept open between requests.

A task takes the connection that was used last, or opens one; at most ``max_connections`` are in use, and further tasks
wait in turn. A connection that the endpoint has closed meanwhile, or that was idle for long, is not used again.
If an exchange ends early (an error, a timeout, a cancelled task), its connection is closed, since the response may
still arrive.
"""

from __future__ import annotations

import asyncio
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from tablewright.store.backends.http.addresses import NEXT_AFTER, Address, numeric_addresses
from tablewright.store.backends.http.channel import Channel, Opening, TunnelError
from tablewright.store.backends.http.exchange import Destination, Exchange, HedgeBudget, no_response, not_connected
from tablewright.store.backends.http.response_reader import BrokenResponseError, HttpResponse, ResponseReader

MAX_IDLE_SECONDS = 30.0


class LoopConnection(asyncio.Protocol):
    """One connection: first it is opened, then there is one exchange after the other."""

    def __init__(self, pool: LoopPool) -> None:
        self._pool = pool
        self._loop = pool.loop
        self._channel = Channel()
        self._reader = ResponseReader()
        self._transport: asyncio.Transport | None = None
        self._opening: Opening | None = None
        # What a task waits for: None when the connection is open, or a response.
        self._waiter: asyncio.Future[HttpResponse | None] | None = None
        self._until = self._timer_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._poll = select.poll()
        self.idle_since = 0.0

    # -- a task's side ----------------------------------------------------------------------------------------------

    def open(self, destination: Destination, until: float) -> asyncio.Future[HttpResponse | None]:
        """Say what goes before the first request."""
        waiter = self._begin(until)
        if destination.tcp_keepalive and self._transport is not None:
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        opening = self._opening = self._channel.opening(destination)
        self._advance(lambda: next(opening))
        return waiter

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent: nothing has come since the last response that the loop has not yet read."""
        return self._loop.time() - self.idle_since < MAX_IDLE_SECONDS and not self._poll.poll(0)

    def send(self, data: bytes, until: float) -> asyncio.Future[HttpResponse | None]:
        """Send a request; the future is its response."""
        waiter = self._begin(until)
        if self._transport is None:
            waiter.set_exception(TunnelError("the connection was closed"))
        else:
            self._transport.write(self._channel.seal(data) if self._channel.layers else data)
        return waiter

    def _begin(self, until: float) -> asyncio.Future[HttpResponse | None]:
        self._waiter = waiter = self._loop.create_future()
        self._until = until
        # A timer that goes off too early is set again, which is cheaper than one for each request.
        if self._timer is None or self._timer_at > until:
            self._set_timer()
        return waiter

    def abort(self) -> None:
        """Close it at once."""
        self._waiter = None
        self._drop_timer()
        if self._transport is not None:
            self._transport.abort()

    # -- time -------------------------------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        self._drop_timer()
        self._timer_at = self._until
        self._timer = self._loop.call_at(self._until, self._on_timer)

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() < self._until:
            self._set_timer()
        else:
            self._fail(TimeoutError())

    # -- the transport's side ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not subclasses of it
        self._poll.register(transport.get_extra_info("socket"), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        opening = self._opening
        if opening is not None:
            self._advance(lambda: opening.send(data))
            return
        try:
            if self._channel.layers:
                data = self._channel.unseal(data)
                if not data:
                    return
            if self._waiter is None:
                raise BrokenResponseError("the endpoint sent a response without a request")
            response = self._reader.feed(data)
        except (OSError, BrokenResponseError) as error:
            self._fail(error)
            return
        if response is not None:
            self._finish(response)

    def eof_received(self) -> None:
        """The transport closes itself then."""
        opening = self._opening
        if opening is not None:
            self._advance(lambda: opening.send(b""))
            return
        if self._waiter is None:
            return
        try:
            response = self._reader.end()
        except BrokenResponseError as error:
            self._fail(error)
            return
        if response is not None:
            self._finish(response)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(exc or BrokenResponseError("the connection was closed"))
        self._drop_timer()
        self._reader.close()
        self._pool.lost(self)

    def _advance(self, step: Callable[[], bytes]) -> None:
        """Do the next step of opening, and send what it says."""
        try:
            data = step()
        except StopIteration:
            self._opening = None
            self._finish(None)
        except (OSError, TunnelError) as error:
            self._fail(error)
        else:
            if data and self._transport is not None:
                self._transport.write(data)

    def _finish(self, response: HttpResponse | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(response)

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        if self._transport is not None:
            self._transport.abort()


def _abort_connected(task: asyncio.Task[LoopConnection]) -> None:
    """A connection that is no longer needed when it is open."""
    if not task.cancelled() and task.exception() is None:
        task.result().abort()


class LoopPool:
    """Sends requests to one destination, from any number of tasks of one event loop."""

    def __init__(self, destination: Destination, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._destination = destination
        self._idle: list[LoopConnection] = []
        # How many more connections may be in use, and those who wait for one of them.
        self._free = destination.max_connections
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._hedges = HedgeBudget()
        self._closed = False

    async def exchange(self, exchange: Exchange) -> HttpResponse:
        until = self.loop.time() + self._destination.response_seconds
        if exchange.deadline is not None:
            until = min(until, self.loop.time() + exchange.deadline - time.monotonic())
        if exchange.hedge_after is not None:
            return await self._hedged(exchange.data, until, exchange.hedge_after)
        return await self._exchange(exchange.data, until)

    async def _hedged(self, data: bytes, until: float, hedge_after: float) -> HttpResponse:
        """The first of two responses; the second request is sent only if there is none after a while."""
        self._hedges.asked()
        tasks = {asyncio.ensure_future(self._exchange(data, until))}
        try:
            pending = (await asyncio.wait(tasks, timeout=hedge_after))[1]
            if pending and self._hedges.take():
                tasks.add(asyncio.ensure_future(self._exchange(data, until)))
            pending = tasks
            while True:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                answered = [task for task in done if task.exception() is None]
                if answered or not pending:
                    return (answered or list(done))[0].result()
        finally:
            for task in tasks:
                task.cancel()

    async def _exchange(self, data: bytes, until: float) -> HttpResponse:
        if self._free:
            self._free -= 1
        else:
            await self._wait_turn(until)
        connection: LoopConnection | None = None
        response: HttpResponse | None = None
        try:
            connection = self._idle_connection() or await self._open(until)
            response = await connection.send(data, until)
        except TunnelError as error:
            raise not_connected(self._destination, error) from error
        except (OSError, BrokenResponseError) as error:
            raise no_response(self._destination, error) from error
        finally:
            if connection is not None:
                if response is not None and response.keep_alive and not self._closed:
                    connection.idle_since = self.loop.time()
                    self._idle.append(connection)
                else:
                    connection.abort()
            self._pass_turn()
        assert response is not None
        return response

    def _idle_connection(self) -> LoopConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    async def _open(self, until: float) -> LoopConnection:
        destination, loop = self._destination, self.loop
        connection: LoopConnection | None = None
        try:
            async with asyncio.timeout_at(min(until, loop.time() + destination.connect_seconds)):
                connection = await self._connected(*destination.address)
            await connection.open(destination, min(until, loop.time() + destination.connect_seconds))
        except (OSError, TunnelError, BrokenResponseError) as error:
            if connection is not None:
                connection.abort()
            raise not_connected(destination, error) from error
        except BaseException:
            if connection is not None:
                connection.abort()
            raise
        return connection

    async def _connected(self, host: str, port: int) -> LoopConnection:
        """A connection to one of the addresses of a host."""
        loop = self.loop
        found = numeric_addresses(host, port) or await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if len(found) == 1:
            return await self._connected_to(found[0])
        waiting = list(found)
        trying: set[asyncio.Task[LoopConnection]] = set()
        refused: BaseException = OSError("the host name has no address")
        try:
            while waiting or trying:
                if waiting:
                    trying.add(loop.create_task(self._connected_to(waiting.pop(0))))
                done, trying = await asyncio.wait(
                    trying, timeout=NEXT_AFTER if waiting else None, return_when=asyncio.FIRST_COMPLETED
                )
                # All but one of those that succeed at the same time are too many.
                connected = [task.result() for task in done if task.exception() is None]
                for each in connected[1:]:
                    each.abort()
                if connected:
                    return connected[0]
                for task in done:
                    refused = task.exception() or refused
        finally:
            for task in trying:
                task.cancel()
                task.add_done_callback(_abort_connected)
        raise refused

    async def _connected_to(self, address: Address) -> LoopConnection:
        family, _, _, _, (host, port, *_) = address
        _, connection = await self.loop.create_connection(lambda: LoopConnection(self), host, port, family=family)
        return connection

    async def _wait_turn(self, until: float) -> None:
        turn: asyncio.Future[None] = self.loop.create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout_at(until):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                # It had come already.
                self._pass_turn()
            else:
                self._waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise not_connected(self._destination, "all connections are in use") from None
            raise

    def _pass_turn(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def lost(self, connection: LoopConnection) -> None:
        """Forget a connection that was closed."""
        if connection in self._idle:
            self._idle.remove(connection)

    def close(self) -> None:
        """Close what is idle; what is in use is closed after its response."""
        self._closed = True
        while self._idle:
            self._idle.pop().abort()
