"""boto3 and botocore in this process, on an engine, without a socket.

    client(engine)          a DynamoDB client            resource(engine)   boto3's resource
    streams_client(engine)  a DynamoDB Streams client    patch(engine)      for code that makes its own

The objects are botocore's and boto3's own, unmodified: they are connected through two of botocore's events.
``before-call`` may answer a call before it becomes an HTTP request (botocore's Stubber works that way); parameter
validation, serialization, the resource layer, waiters, paginators and exceptions are unchanged, and neither a
signature nor an HTTP message is made, since nothing would read them. An error that botocore would retry takes the long
way, by ``before-send``, which has its retries and backoff.

A call returns when its writes are durable, as everywhere else.
"""

from __future__ import annotations

import io
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

import botocore.session
import orjson
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.config import Config
from botocore.parsers import create_parser

from tablewright.dynamo import DynamoError, InternalServerError
from tablewright.engine import Commit
from tablewright.wire.endpoint import EngineLike
from tablewright.wire.http.messages import http_date, next_request_id
from tablewright.wire.operation_targets import OPERATION_BY_TARGET, WITHOUT_OUTPUT
from tablewright.wire.response_parsing import Parser, parser_for

__all__ = ["client", "patch", "resource", "streams_client"]

_REGION: Final = "us-east-1"
_SERVICES: Final = ("dynamodb", "dynamodbstreams")
_EVENT_SERVICES: Final = ("dynamodb", "dynamodb-streams")

# The errors of DynamoDB that botocore's retry handlers know, besides every 5xx.
_RETRIED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)

_session_lock = threading.Lock()
_botocore_session: Any = None
_boto3_session: Any = None


def client(engine: EngineLike, **kwargs: Any) -> Any:
    """A botocore DynamoDB client on ``engine``; keyword arguments as for ``boto3.client``."""
    return _client("dynamodb", engine, kwargs)


def streams_client(engine: EngineLike, **kwargs: Any) -> Any:
    """A botocore DynamoDB Streams client on ``engine``; keyword arguments as for ``boto3.client``."""
    return _client("dynamodbstreams", engine, kwargs)


def resource(engine: EngineLike, **kwargs: Any) -> Any:
    """boto3's DynamoDB resource on ``engine``; keyword arguments as for ``boto3.resource``."""
    global _boto3_session
    try:
        import boto3.session
    except ImportError:
        raise ImportError(
            "tablewright.wire.boto.resource needs boto3, which is not installed: pip install 'tablewright[boto3]'"
        ) from None
    with _session_lock:
        if _boto3_session is None:
            _boto3_session = boto3.session.Session(botocore_session=_session())
        made = _boto3_session.resource("dynamodb", **_with_defaults(engine, kwargs))
    _bind(made.meta.client, _Transport(engine))
    return made


@contextmanager
def patch(engine: EngineLike) -> Iterator[None]:
    """Every DynamoDB and DynamoDB Streams client of botocore uses ``engine`` inside this context.

    That applies to clients created inside and before, in every thread. Credentials and a region are supplied if the
    environment has none. Contexts nest: the innermost engine is used.
    """
    with _environment(_region(engine)):
        _patches.enter(engine)
        try:
            yield
        finally:
            _patches.leave()


def _client(service: str, engine: EngineLike, kwargs: dict[str, Any]) -> Any:
    with _session_lock:
        made = _session().create_client(service, **_with_defaults(engine, kwargs))
    _bind(made, _Transport(engine))
    return made


def _session() -> Any:
    """One session for all: it caches the service model, which takes longest to load."""
    global _botocore_session
    if _botocore_session is None:
        _botocore_session = botocore.session.Session()
    return _botocore_session


def _with_defaults(engine: EngineLike, kwargs: dict[str, Any]) -> dict[str, Any]:
    # Unsigned and with a fixed user agent: nothing reads either, and botocore would make both for every call.
    config = Config(signature_version=UNSIGNED, user_agent="tablewright")
    if kwargs.get("config") is not None:
        config = config.merge(kwargs["config"])
    return {
        "region_name": _region(engine),
        "aws_access_key_id": "tablewright",
        "aws_secret_access_key": "tablewright",
        **kwargs,
        "config": config,
    }


def _region(engine: EngineLike) -> str:
    """The region of an engine that has one."""
    region: str = getattr(engine, "region", _REGION)
    return region


def _bind(made: Any, transport: _Transport) -> None:
    for service in _EVENT_SERVICES:
        made.meta.events.register_first(f"before-call.{service}", transport.before_call)
        made.meta.events.register_first(f"before-send.{service}", transport.before_send)


class _Transport:
    """Answers the calls of botocore clients from an engine."""

    def __init__(self, engine: EngineLike) -> None:
        self._engine = engine
        self._parsers: dict[str, Parser] = {}

    def before_call(self, model: Any, params: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]] | None:
        """The response and what the client returns for it; None if botocore might retry."""
        status, body, code = self._execute(model.name, params["body"])
        if status >= 500 or code in _RETRIED:
            return None
        headers = _headers(body)
        if code is None:
            parse = self._parsers.get(model.name)
            if parse is None:
                parse = self._parsers[model.name] = parser_for(model.output_shape)
            parsed = parse(orjson.loads(body) if body else {})
        else:
            parsed = _parse_error(model, status, body, headers)
        parsed["ResponseMetadata"] = {
            "RequestId": headers["x-amzn-requestid"],
            "HTTPStatusCode": status,
            "HTTPHeaders": headers,
            "RetryAttempts": 0,
        }
        return AWSResponse(params["url"], status, headers, _Raw(body)), parsed

    def before_send(self, request: Any, **_: Any) -> Any:
        target = request.headers["X-Amz-Target"]
        operation = OPERATION_BY_TARGET.get(target if isinstance(target, bytes) else target.encode(), "")
        status, body, _code = self._execute(operation, request.body)
        return AWSResponse(request.url, status, _headers(body), _Raw(body))

    def _execute(self, operation: str, request: bytes) -> tuple[int, bytes, str | None]:
        """Status, body and, for an error, its code."""
        try:
            try:
                body, commit = self._engine.execute(operation, orjson.loads(request))
            except DynamoError as error:
                if error.commit is not None:
                    _wait_durable(self._engine, error.commit)
                raise
            if commit is not None:
                _wait_durable(self._engine, commit)
        except DynamoError as error:
            return error.status, orjson.dumps(error.body()), error.code
        return 200, b"" if operation in WITHOUT_OUTPUT else body, None


def _wait_durable(engine: EngineLike, commit: Commit) -> None:
    """Returns once the commit is durable; raises if it failed."""
    outcome: list[BaseException | None] = []
    done = threading.Event()

    def durable(error: BaseException | None) -> None:
        outcome.append(error)
        done.set()

    commit.when_durable(durable)
    engine.flush()
    done.wait()
    if outcome[0] is not None:
        if isinstance(outcome[0], DynamoError):
            raise outcome[0]
        raise InternalServerError("Internal server error") from outcome[0]


class _Raw(io.BytesIO):
    """A body as urllib3 would pass it to botocore."""

    def stream(self, amt: int = 65536, decode_content: bool | None = None) -> Iterator[bytes]:
        yield self.read()


def _headers(body: bytes) -> dict[str, str]:
    return {
        "server": "Server",
        "date": http_date().decode(),
        "content-type": "application/x-amz-json-1.0",
        "content-length": str(len(body)),
        "connection": "keep-alive",
        "x-amzn-requestid": next_request_id().decode(),
        "x-amz-crc32": str(zlib.crc32(body)),
    }


_error_parser = create_parser("json")


def _parse_error(model: Any, status: int, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    response = {"status_code": status, "body": body, "headers": headers}
    parsed: dict[str, Any] = _error_parser.parse(response, model.output_shape)
    shape = model.service_model.shape_for_error_code(parsed["Error"]["Code"])
    if shape is not None:
        parsed.update(_error_parser.parse(response, shape))
    return parsed


class _Patches:
    """The engines of the open ``patch`` contexts, and the clients that are redirected to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[_Transport] = []
        self._led: WeakSet[Any] = WeakSet()
        self._original: Callable[..., Any] = BaseClient._make_api_call

    def enter(self, engine: EngineLike) -> None:
        with self._lock:
            self._open.append(_Transport(engine))
            if len(self._open) > 1:
                return
            original = self._original = BaseClient._make_api_call

            def make_api_call(made: Any, operation_name: str, api_params: Any) -> Any:
                if made not in self._led and made.meta.service_model.service_name in _SERVICES:
                    self._redirect(made)
                return original(made, operation_name, api_params)

            BaseClient._make_api_call = make_api_call

    def leave(self) -> None:
        with self._lock:
            self._open.pop()
            if self._open:
                return
            BaseClient._make_api_call = self._original
            for made in self._led:
                for service in _EVENT_SERVICES:
                    made.meta.events.unregister(f"before-call.{service}", self._before_call)
                    made.meta.events.unregister(f"before-send.{service}", self._before_send)
                    made.meta.events.unregister(f"choose-signer.{service}", _unsigned)
            self._led.clear()

    def _redirect(self, made: Any) -> None:
        with self._lock:
            if made in self._led:
                return
            for service in _EVENT_SERVICES:
                made.meta.events.register(f"before-call.{service}", self._before_call)
                made.meta.events.register(f"before-send.{service}", self._before_send)
                made.meta.events.register(f"choose-signer.{service}", _unsigned)
            self._led.add(made)

    def _before_call(self, **event: Any) -> Any:
        return self._open[-1].before_call(**event)

    def _before_send(self, **event: Any) -> Any:
        return self._open[-1].before_send(**event)


def _unsigned(**_: Any) -> Any:
    return UNSIGNED


_patches = _Patches()


@contextmanager
def _environment(region: str) -> Iterator[None]:
    """Credentials and a region for clients created inside.

    boto3's default session is put aside meanwhile: one created inside would keep the supplied ones.
    """
    supplied: dict[str, str] = {}
    if "AWS_ACCESS_KEY_ID" not in os.environ:
        supplied |= {"AWS_ACCESS_KEY_ID": "tablewright", "AWS_SECRET_ACCESS_KEY": "tablewright"}
    if botocore.session.Session().get_config_variable("region") is None:
        supplied["AWS_DEFAULT_REGION"] = region
    if supplied:
        os.environ.update(supplied)
    try:
        import boto3
    except ImportError:
        boto3 = None
    default_session = getattr(boto3, "DEFAULT_SESSION", None)
    if boto3 is not None and supplied:
        boto3.DEFAULT_SESSION = None
    try:
        yield
    finally:
        for name in supplied:
            os.environ.pop(name, None)
        if boto3 is not None and supplied:
            boto3.DEFAULT_SESSION = default_session
