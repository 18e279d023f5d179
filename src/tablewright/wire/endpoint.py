"""What DynamoDB's endpoint does with one request, from the checks on its form to the engine's response.

The checks come in the service's order, and each has its response:

1. a web page that may not use the server gets 403; for one that may, its preflight (``OPTIONS`` with ``Origin``) is
   granted; ``GET /`` is a health check: 200, or 503 and what is wrong;
2. anything but a JSON ``POST /`` gets 404 and an XML stub;
3. a body that is not JSON, then an unknown target, then a missing or incomplete signature, then an empty body, get 400
   and the name of the error, the first and last without a message; if signatures are verified, that comes before the
   body is read at all, so that a request without a valid one costs no more than a hash;
4. everything else goes to the engine, and its error or response is sent unchanged.

A response that depends on writes still to be committed is returned with its ``Commit``; the caller sends it when that
is durable. A request that takes long is returned as a ``LongRequest``, for the caller to continue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from time import thread_time
from typing import Any, Final, Protocol

import orjson

from tablewright.dynamo import DynamoError, InternalServerError, SerializationException, UnknownOperationException
from tablewright.engine import Commit, Outcome, StorageFigures, Unfinished
from tablewright.engine.large_documents import LargeDocument
from tablewright.engine.slices import IS_LARGE, slice_end
from tablewright.wire.browser_access import BrowserAccess, ForbiddenRequest, preflight_headers
from tablewright.wire.http.connection_limits import MAX_BODY_BYTES
from tablewright.wire.http.messages import (
    JSON,
    JSON_1_0,
    RENDERED_AT_ONCE,
    BodyTooLarge,
    Request,
    decompress,
    render,
    render_health,
    render_in_pieces,
)
from tablewright.wire.long_requests import LARGE_BODY, LongRequest, Reply
from tablewright.wire.operation_targets import MAY_TAKE_LONG, OF_ITEMS, OPERATION_BY_TARGET, WITHOUT_OUTPUT
from tablewright.wire.regional_engines import RegionalEngines
from tablewright.wire.sigv4 import check_complete

_NOT_FOUND: Final = b"<UnknownOperationException/>\n"
_NOTHING: Final = b"{}"
_INTERNAL_MESSAGE: Final = "Internal server error"

# A step of a request: it returns the outcome, or the next step.
_Work = Callable[..., Any]
_Loads = Callable[[bytes | bytearray], Any]

_log = logging.getLogger("tablewright.wire")


class EngineLike(Protocol):
    """The part of the engine that the wire needs."""

    def execute(self, operation: str, request: Any, /) -> Outcome: ...

    def check(self, operation: str, request: Any, /) -> Any: ...

    def begin(self, operation: str, checked: Any, /) -> Outcome | Unfinished: ...

    @property
    def flush_takes_long(self) -> bool: ...

    def flush(self) -> None: ...

    def problems(self) -> list[str]: ...

    def when_failed(self, callback: Callable[[str], None], /) -> None: ...

    def meter(self, sink: Callable[[dict[str, Any]], None], /) -> None: ...

    def storage_figures(self) -> StorageFigures: ...


Prepared = tuple[EngineLike, str, Any, bytes]
"""A request that an engine can begin: with the operation, its input, and the content type of the response."""


@dataclass(frozen=True, slots=True)
class Replied:
    """A request that needs no further step, except for the rest of a long one."""

    reply: Reply | LongRequest


class Endpoint:
    """An engine as DynamoDB's endpoint; ``authenticate`` raises for a request that it refuses.

    Without it every complete signature is accepted. ``may_begin`` says whether a request that may take long, with a
    body of some size, can be prepared, and have its first slice, at once.
    """

    def __init__(
        self,
        engine: EngineLike | RegionalEngines,
        authenticate: Callable[[Request], None] | None = None,
        browser_access: BrowserAccess | None = None,
        may_begin: Callable[[int], bool] = lambda size: True,
    ) -> None:
        if isinstance(engine, RegionalEngines):
            self._engine_of: Callable[[Request], EngineLike] = engine.engine_of
        else:
            self._engine_of = lambda request: engine
        self._problems = engine.problems
        self._authenticate = authenticate
        self._may_begin = may_begin
        self._check_access = (browser_access or BrowserAccess()).check

    def respond(self, request: Request) -> Reply | LongRequest:
        """The rendered response, and the commit it has to wait for; or the remaining work. Does not raise.

        These are the three steps of a request; for many requests, each can be done for all of them (``arrivals``).
        """
        prepared = self.prepare(request)
        if isinstance(prepared, Replied):
            return prepared.reply
        outcome = self.begin(request, prepared)
        return outcome.reply if isinstance(outcome, Replied) else self.render(request, prepared, outcome)

    def prepare(self, request: Request) -> Prepared | Replied:
        """A well-formed request, ready for the engine. Does not raise."""
        try:
            self._check_access(request)
        except ForbiddenRequest as error:
            return Replied((render(request, error.status, orjson.dumps(error.body()), JSON_1_0), None))
        if request.method != b"POST" or request.url != b"/":
            response = self._respond_outside_api(request)
            if response is not None:
                return Replied((response, None))
        headers = request.headers
        content_type = headers.get(b"content-type", b"")
        if content_type != JSON_1_0:
            content_type = content_type.partition(b";")[0].strip().lower()
            if content_type not in (JSON, JSON_1_0):
                if request.body:
                    return Replied((render(request, 404, _NOT_FOUND), None))
                content_type = JSON
        if len(request.body) > LARGE_BODY or b"content-encoding" in headers:
            # With its own body: the connection does not keep it.
            held, document = copy(request), LargeDocument()
            large = LongRequest(
                lambda: self._staged(held, content_type, self._prepared, held, document),
                len(held.body),
                free=document.free,
            )
            return Replied(large)
        if not self._may_begin(len(request.body)) and headers.get(b"x-amz-target") in MAY_TAKE_LONG:
            # Unparsed, since there may be many of them.
            later, size = copy(request), len(request.body)
            return Replied(LongRequest(lambda: self._staged(later, content_type, self._begun, later), small_size=size))
        try:
            engine, operation, checked = self._checked(request)
        except Exception as error:
            return Replied(self._failed(request, content_type, error))
        return engine, operation, checked, content_type

    def begin(self, request: Request, prepared: Prepared) -> Outcome | Replied:
        """The engine's response to a request, or the endpoint's if it refuses it. Does not raise."""
        engine, operation, checked, content_type = prepared
        try:
            outcome = engine.begin(operation, checked)
        except Exception as error:
            return Replied(self._failed(request, content_type, error))
        if type(outcome) is tuple:
            return outcome
        return Replied(self._unfinished(request, content_type, outcome))

    def render(self, request: Request, prepared: Prepared, outcome: Outcome) -> Reply | LongRequest:
        """The response of a request that the engine has answered. Does not raise."""
        _, operation, _, content_type = prepared
        body, commit = outcome
        if body == _NOTHING and operation in WITHOUT_OUTPUT:
            body = b""
        if len(body) <= RENDERED_AT_ONCE:
            return render(request, 200, body, content_type), commit
        return _reply(request, 200, body, content_type, commit)

    def _begun(self, request: Request) -> Any:
        engine, operation, checked = self._checked(request)
        return engine.begin(operation, checked)

    def _checked(self, request: Request, loads: _Loads = orjson.loads) -> tuple[EngineLike, str, Any]:
        """The engine, the operation and its input, once signature and shape are checked."""
        if self._authenticate is None:
            document = _parse(request, loads)
            operation = _operation(request)
            check_complete(request)
        else:
            operation = _operation(request)
            self._authenticate(request)
            document = _parse(request, loads)
        if not request.body:
            raise SerializationException
        engine = self._engine_of(request)
        return engine, operation, engine.check(operation, document)

    def _prepared(self, request: Request, document: LargeDocument) -> _Work:
        engine, operation, checked = self._checked(request, document.parse)
        if operation in OF_ITEMS:
            checked[IS_LARGE] = True

        def begin() -> Any:
            outcome = engine.begin(operation, checked)
            if operation not in OF_ITEMS:
                document.keep()
            return outcome

        return begin

    def _staged(self, request: Request, content_type: bytes, work: _Work, *arguments: Any) -> Reply | LongRequest:
        """Do some of the work for a request: returns the reply, or the request with the remaining work."""
        try:
            outcome = work(*arguments)
            if type(outcome) is tuple:
                body, commit = outcome
                if body == _NOTHING and _operation(request) in WITHOUT_OUTPUT:
                    body = b""
                return _reply(request, 200, body, content_type, commit)
        except Exception as error:
            return self._failed(request, content_type, error)
        return self._unfinished(request, content_type, outcome)

    def _unfinished(self, request: Request, content_type: bytes, outcome: Any) -> LongRequest:
        """A request with the remaining work."""
        following, beside = outcome, None
        if isinstance(outcome, Unfinished):
            following, beside = outcome.resume, outcome.beside
        return LongRequest(
            lambda: self._staged(request, content_type, following),
            has_begun=True,
            small_size=len(request.body),
            beside=beside,
        )

    def _failed(self, request: Request, content_type: bytes, error: Exception) -> Reply | LongRequest:
        """The response to a request that was refused, or failed unexpectedly."""
        if isinstance(error, DynamoError):
            return _reply(request, error.status, orjson.dumps(error.body()), content_type, error.commit)
        if isinstance(error, BodyTooLarge):
            return render(request, 413, b""), None
        target = request.headers.get(b"x-amz-target", b"").decode("latin-1")
        _log.error("%s failed", target, exc_info=error)
        return self.failure_response(request), None

    @staticmethod
    def failure_response(request: Request, cause: BaseException | None = None) -> bytes:
        """The response to a request that failed in the engine, or whose write could not be made durable."""
        error = cause if isinstance(cause, DynamoError) else InternalServerError(_INTERNAL_MESSAGE)
        content_type = JSON_1_0 if request.headers.get(b"content-type") == JSON_1_0 else JSON
        return render(request, error.status, orjson.dumps(error.body()), content_type)

    def _respond_outside_api(self, request: Request) -> bytes | None:
        """The response to a request that is not a plain ``POST /``, or None if it is an API call after all."""
        if not request.url.startswith(b"/"):
            request.url = _origin_form(request.url)
        path = request.url.partition(b"?")[0]
        headers = request.headers
        if request.method == b"OPTIONS" and b"origin" in headers:
            return render(request, 200, b"", None, preflight_headers(request), checksum=False)
        if path == b"/" and request.method == b"GET":
            return render_health(request, self._problems())
        if path != b"/" or request.method != b"POST":
            return render(request, 404, _NOT_FOUND)
        return None


def _reply(
    request: Request, status: int, body: bytes, content_type: bytes, commit: Commit | None
) -> Reply | LongRequest:
    """The rendered response; a large one takes some more slices."""
    if len(body) <= RENDERED_AT_ONCE:
        return render(request, status, body, content_type), commit
    pieces = render_in_pieces(request, status, body, content_type)

    def next_piece() -> Reply | LongRequest:
        until = slice_end()
        try:
            while thread_time() < until:
                next(pieces)
        except StopIteration as done:
            return done.value, commit
        return LongRequest(next_piece, has_begun=True)

    return next_piece()


def _operation(request: Request) -> str:
    operation = OPERATION_BY_TARGET.get(request.headers.get(b"x-amz-target", b""))
    if operation is None:
        raise UnknownOperationException
    return operation


def _parse(request: Request, loads: _Loads) -> Any:
    body = request.body
    if b"content-encoding" in request.headers:
        try:
            body = decompress(body, request.headers[b"content-encoding"], MAX_BODY_BYTES)
        except ValueError:
            raise SerializationException from None
    if not body:
        return None
    try:
        return loads(body)
    except orjson.JSONDecodeError:
        raise SerializationException from None


def _origin_form(url: bytes) -> bytes:
    """``http://host/path`` as a proxy would request it, as ``/path``; other forms are invalid here."""
    _, separator, rest = url.partition(b"://")
    if not separator:
        return b"/" if url.startswith(b"?") else b"*"
    _, slash, path = rest.partition(b"/")
    return slash + path or b"/"
