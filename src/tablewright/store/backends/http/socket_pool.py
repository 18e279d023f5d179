"""The connections of threads to one destination: blocking sockets, kept open between requests.

A thread takes the connection that was used last, or opens one; at most ``max_connections`` are in use, and further
threads wait. A connection that the endpoint has closed meanwhile, or that was idle for long, is not used again: a
request sent into a closed connection may or may not have been executed, which cannot be determined.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

from tablewright.store.backends.http.addresses import NEXT_AFTER, Address, numeric_addresses
from tablewright.store.backends.http.channel import Channel, TunnelError
from tablewright.store.backends.http.exchange import Destination, Exchange, HedgeBudget, no_response, not_connected
from tablewright.store.backends.http.response_reader import BrokenResponseError, HttpResponse, ResponseReader
from tablewright.store.errors import ServiceError

MAX_IDLE_SECONDS = 30.0
_RECEIVE_SIZE = 64 * 1024
# A socket with a time-out of 0 would not block at all.
_SHORTEST = 0.001


class SocketConnection:
    """One connection: opened when it is made, closed by whatever goes wrong."""

    __slots__ = ("_channel", "_destination", "_poll", "_reader", "_socket", "idle_since")

    def __init__(self, destination: Destination, until: float) -> None:
        self._destination = destination
        self._channel = Channel()
        self._reader = ResponseReader()
        self.idle_since = 0.0
        try:
            self._socket = _connect(destination.address, min(time.monotonic() + destination.connect_seconds, until))
        except OSError as error:
            raise not_connected(destination, error) from error
        try:
            self._open(min(time.monotonic() + destination.connect_seconds, until))
        except (OSError, TunnelError) as error:
            self.close()
            raise not_connected(destination, error) from error
        except BaseException:
            self.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def _open(self, until: float) -> None:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._destination.tcp_keepalive:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        opening = self._channel.opening(self._destination)
        data = next(opening, None)
        while data is not None:
            self._socket.settimeout(_left(until))
            self._socket.sendall(data)
            self._socket.settimeout(_left(until))
            try:
                data = opening.send(self._socket.recv(_RECEIVE_SIZE))
            except StopIteration:
                return

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent: nothing has come since the last response, not even the end."""
        return time.monotonic() - self.idle_since < MAX_IDLE_SECONDS and not self._poll.poll(0)

    def send(self, data: bytes, until: float) -> None:
        try:
            self._socket.settimeout(_left(until))
            self._socket.sendall(self._channel.seal(data) if self._channel.layers else data)
        except OSError as error:
            # Part of it may have arrived, which is not a request yet.
            raise not_connected(self._destination, error) from error

    def receive(self, until: float) -> HttpResponse:
        try:
            return self._receive(until)
        except (OSError, BrokenResponseError) as error:
            raise no_response(self._destination, error) from error

    def _receive(self, until: float) -> HttpResponse:
        reader, channel, receive = self._reader, self._channel, self._socket.recv
        while True:
            self._socket.settimeout(_left(until))
            data = receive(_RECEIVE_SIZE)
            if not data:
                response = reader.end()
                if response is None:
                    raise BrokenResponseError("the connection was closed")
                return response
            if channel.layers:
                data = channel.unseal(data)
                if not data:
                    continue
            response = reader.feed(data)
            if response is not None:
                return response

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        if self.fileno() >= 0:
            self._reader.close()
            self._socket.close()


def _connect(address: tuple[str, int], until: float) -> socket.socket:
    """A socket that is connected to one of the addresses of a host."""
    waiting: Sequence[Address] = _resolve(address, until)
    connecting: dict[int, socket.socket] = {}
    poll = select.poll()
    refused: OSError = OSError("the host name has no address")
    try:
        while waiting or connecting:
            if waiting:
                family, kind, protocol, _, resolved = waiting[0]
                waiting = waiting[1:]
                trying = socket.socket(family, kind, protocol)
                connecting[trying.fileno()] = trying
                trying.setblocking(False)
                if (reason := trying.connect_ex(resolved)) not in (0, errno.EINPROGRESS):
                    refused = OSError(reason, os.strerror(reason))
                    connecting.pop(trying.fileno()).close()
                    continue
                poll.register(trying, select.POLLOUT)
            for number, _ in poll.poll(1000 * (min(NEXT_AFTER, _left(until)) if waiting else _left(until))):
                trying = connecting.pop(number)
                poll.unregister(number)
                if not (reason := trying.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
                    return trying
                refused = OSError(reason, os.strerror(reason))
                trying.close()
            if time.monotonic() >= until:
                raise TimeoutError
    finally:
        for left in connecting.values():
            left.close()
    raise refused


def _resolve(address: tuple[str, int], until: float) -> Sequence[Address]:
    """The addresses of a host. The system's resolver has no timeout, so a thread waits for it."""
    host, port = address
    if numeric := numeric_addresses(host, port):
        return numeric
    found: SimpleQueue[Sequence[Address] | OSError] = SimpleQueue()

    def resolve() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.put(error)

    threading.Thread(target=resolve, name="tablewright-resolve", daemon=True).start()
    try:
        result = found.get(timeout=_left(until))
    except Empty:
        raise TimeoutError from None
    if isinstance(result, OSError):
        raise result
    return result


class SocketPool:
    """Sends requests to one destination, from any number of threads."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._idle: list[SocketConnection] = []
        # One for each connection that may be in use.
        self._permits: SimpleQueue[None] = SimpleQueue()
        for _ in range(destination.max_connections):
            self._permits.put(None)
        self._hedges = HedgeBudget()
        self._closed = False
        _pools.add(self)

    def exchange(self, exchange: Exchange) -> HttpResponse:
        until = time.monotonic() + self._destination.response_seconds
        if exchange.deadline is not None:
            until = min(until, exchange.deadline)
        try:
            self._permits.get(timeout=_left(until))
        except Empty:
            raise not_connected(self._destination, "all connections are in use") from None
        try:
            connection = self._connection(until)
            response: HttpResponse | None = None
            try:
                connection.send(exchange.data, until)
                if exchange.hedge_after is not None and self._is_slow(connection, exchange.hedge_after):
                    response = self._hedged(connection, exchange.data, until)
                if response is None:
                    response = connection.receive(until)
            finally:
                self._keep(connection, response)
            return response
        finally:
            self._permits.put(None)

    def _is_slow(self, connection: SocketConnection, seconds: float) -> bool:
        self._hedges.asked()
        return not _readable([connection], seconds) and self._hedges.take()

    def _hedged(self, first: SocketConnection, data: bytes, until: float) -> HttpResponse | None:
        """The response of a second connection, if it arrives before that of the first; the first is closed then."""
        try:
            self._permits.get_nowait()
        except Empty:
            return None
        try:
            second = self._connection(until)
            response: HttpResponse | None = None
            try:
                second.send(data, until)
                if first not in _readable([first, second], _left(until)):
                    response = second.receive(until)
                    first.close()
            finally:
                self._keep(second, response)
            return response
        except ServiceError:
            # There is still the first.
            return None
        finally:
            self._permits.put(None)

    def _keep(self, connection: SocketConnection, response: HttpResponse | None) -> None:
        if response is not None and response.keep_alive and not self._closed and connection.fileno() >= 0:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.close()

    def _connection(self, until: float) -> SocketConnection:
        with suppress(IndexError):  # until there are none
            while True:
                connection = self._idle.pop()
                if connection.is_usable:
                    return connection
                connection.close()
        return SocketConnection(self._destination, until)

    def close(self) -> None:
        """Close what is idle; what is in use is closed after its response."""
        self._closed = True
        with suppress(IndexError):  # until there are none
            while True:
                self._idle.pop().close()

    def forget(self) -> None:
        """Leave the connections to the process that this one was forked from."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()


def _readable(connections: list[SocketConnection], seconds: float) -> list[SocketConnection]:
    """Those of some connections that something has come on, after so many seconds at most."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    ready = {number for number, _ in poll.poll(seconds * 1000)}
    return [connection for connection in connections if connection.fileno() in ready]


def _left(until: float) -> float:
    return max(until - time.monotonic(), _SHORTEST)


_pools: weakref.WeakSet[SocketPool] = weakref.WeakSet()


def _forget_all() -> None:
    for pool in _pools:
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
