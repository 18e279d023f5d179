"""A store's requests to an endpoint: Amazon DynamoDB, or any other server of its protocol.

    request ─▶ JSON ─▶ signed (aws_access, request_signer) ─▶ exchange (http) ─▶ checksum, JSON ─▶ response
                          ▲                                        │
                          └── clock corrected, credentials renewed ┘

The work is a generator, so that threads and asyncio share it: it yields exchanges, and work that blocks. Requests are
retried here only for two reasons that do not concern the service: the clock is wrong, which the response shows, or the
credentials have expired. All other retries are those of ``flow.retry``.

A response may get lost, so every transaction has a client request token: it is executed once, however often it is sent.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from uuid import uuid4

import orjson

from tablewright.store.backends.aws_access import AwsAccess
from tablewright.store.backends.http.exchange import NOT_CONNECTED, Destination, Exchange, no_response
from tablewright.store.backends.http.loop_pool import LoopPool
from tablewright.store.backends.http.response_reader import HttpResponse
from tablewright.store.backends.http.socket_pool import SocketPool
from tablewright.store.backends.plain_access import DYNAMODB, STREAMS
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request, Response
from tablewright.store.gc_pause import pause_collection, without_collection

_OK = 200
_LARGE_BODY = 64 * 1024
_STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
_PREFIXES = {DYNAMODB: "DynamoDB_20120810.", STREAMS: "DynamoDBStreams_20120810."}

# Errors that a wrong clock leads to, and from how many seconds on it is what is wrong.
_CLOCK_ERRORS = frozenset(
    {"InvalidSignatureException", "RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture", "AuthFailure"}
)
_SKEW_SECONDS = 4 * 60.0
_CREDENTIAL_ERRORS = frozenset(
    {"ExpiredTokenException", "ExpiredToken", "RequestExpired", "UnrecognizedClientException", "InvalidClientTokenId"}
)

# Work that blocks, or a request to be sent.
_Step = Callable[[], Any] | Exchange


class EndpointBackend:
    """Sends requests to an endpoint, from threads and from event loops.

    ``options`` are those of a botocore client, such as ``aws_access_key_id`` and ``config``.
    """

    def __init__(self, region: str | None, endpoint: str | None, options: Mapping[str, Any]) -> None:
        self._access = AwsAccess(region, endpoint, options)
        # How much the clock of the service is ahead of ours.
        self._skew = 0.0
        self._socket_pools: dict[Destination, SocketPool] = {}
        self._loop_pools: dict[tuple[asyncio.AbstractEventLoop, Destination], LoopPool] = {}

    # -- threads and asyncio: what differs between them is here, in pairs -------------------------------------------

    def call(self, request: Request) -> Response:
        steps = self._steps(request)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Exchange):
                    pool = self._socket_pools.get(step.destination) or self._new_socket_pool(step.destination)
                    step = steps.send(pool.exchange(step))
                else:
                    step = steps.send(step() if request.deadline is None else _by_a_thread(step, request.deadline))
        except StopIteration as end:
            response: Response = end.value
            return response

    async def call_async(self, request: Request) -> Response:
        loop = asyncio.get_running_loop()
        steps = self._steps(request)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Exchange):
                    key = loop, step.destination
                    pool = self._loop_pools.get(key) or self._new_loop_pool(*key)
                    found = await pool.exchange(step)
                    if len(found.body) > _LARGE_BODY:
                        pause_collection(loop)
                    step = steps.send(found)
                else:
                    step = steps.send(await _on_a_loop(step, request.deadline))
        except StopIteration as end:
            response: Response = end.value
            return response

    def _new_socket_pool(self, destination: Destination) -> SocketPool:
        return self._socket_pools.setdefault(destination, SocketPool(destination))

    def _new_loop_pool(self, loop: asyncio.AbstractEventLoop, destination: Destination) -> LoopPool:
        for known in [each for each in list(self._loop_pools) if each[0].is_closed()]:
            self._loop_pools.pop(known, None)
        return self._loop_pools.setdefault((loop, destination), LoopPool(destination, loop))

    def close(self) -> None:
        for socket_pool in list(self._socket_pools.values()):
            socket_pool.close()
        for (loop, _), loop_pool in list(self._loop_pools.items()):
            if loop.is_running():
                loop.call_soon_threadsafe(loop_pool.close)
            elif not loop.is_closed():
                loop_pool.close()

    # -- one request ------------------------------------------------------------------------------------------------

    def _steps(self, request: Request) -> Generator[_Step, Any, Response]:
        operation, body = request.operation, request.body
        if operation == "TransactWriteItems" and "ClientRequestToken" not in body:
            # Stored in the request itself, which is the same object when it is retried.
            body["ClientRequestToken"] = uuid4().hex
        service = STREAMS if operation in _STREAM_OPERATIONS else DYNAMODB
        resource = _resource(body)
        access = self._access
        signer = access.signer(service, resource)
        if signer is None:
            signer = yield partial(access.load, service, resource)
        target, content = _PREFIXES[service] + operation, orjson.dumps(body)
        for correction in (True, False):
            data = signer.request(target, content, time.time() + self._skew)
            response = yield Exchange(signer.destination, data, request.deadline, request.hedge_after)
            if response.status == _OK:
                try:
                    return _parsed(response.body)
                except orjson.JSONDecodeError as error:
                    raise no_response(signer.destination, error) from error
            failed = _error(response.status, response.body)
            if not correction:
                break
            if failed.code in _CLOCK_ERRORS and self._learn_clock(response):
                continue
            if failed.code not in _CREDENTIAL_ERRORS:
                break
            signer = yield partial(access.load_renewed, service, resource, signer.credentials)
            if signer is None:
                break
        raise failed

    def _learn_clock(self, response: HttpResponse) -> bool:
        """Take the time from a response; whether ours was so wrong that this is what the service minds."""
        try:
            date = parsedate_to_datetime((response.date or b"").decode("latin-1")).timestamp()
        except (ValueError, OverflowError):
            return False
        skew = date - time.time()
        if abs(skew - self._skew) < _SKEW_SECONDS:
            return False
        self._skew = skew
        return True


def _begun(work: Callable[[], Any]) -> Future[Any]:
    """Work that may take longer than a caller wants to wait, and longer than the program runs."""
    future: Future[Any] = Future()
    # Whoever does not wait for it any more does not stop it.
    future.set_running_or_notify_cancel()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=do, name="tablewright-credentials", daemon=True).start()
    return future


def _by_a_thread(work: Callable[[], Any], deadline: float) -> Any:
    future = _begun(work)
    try:
        return future.result(max(deadline - time.monotonic(), 0.0))
    except TimeoutError:
        if future.done():
            raise
        raise _too_late() from None


async def _on_a_loop(work: Callable[[], Any], deadline: float | None) -> Any:
    future = _begun(work)
    try:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        return await asyncio.wait_for(asyncio.wrap_future(future), left)
    except TimeoutError:
        if future.done() and not future.cancelled():
            raise
        raise _too_late() from None


def _too_late() -> ServiceError:
    return ServiceError(NOT_CONNECTED, "the AWS credentials could not be obtained in time")


def _parsed(body: bytes) -> Response:
    if len(body) > _LARGE_BODY:
        return without_collection(partial(orjson.loads, body))
    result: Response = orjson.loads(body) if body else {}
    return result


def _resource(body: Mapping[str, Any]) -> str:
    """The ARN that a request names a table by, if it does."""
    name = body.get("TableName", "")
    return name if name.startswith("arn:") else ""


def _error(status: int, content: bytes) -> ServiceError:
    """The error in a response; its code is the status if the sender was not DynamoDB."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("__type"), str):
        return ServiceError(str(status), content[:200].decode("utf-8", "replace"))
    code = body.pop("__type").rpartition("#")[2]
    messages = [body.pop(name, None) for name in ("message", "Message")]
    return ServiceError(code, next((text for text in messages if isinstance(text, str)), ""), body)
