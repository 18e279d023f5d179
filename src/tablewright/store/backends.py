"""Where a store runs: the embedded engine, or any endpoint that speaks DynamoDB's protocol.

Requests and responses are DynamoDB's JSON on both. botocore wants and gives bytes where JSON has base64, which is the
only difference; its calls block, so asyncio runs them in threads. Trying again is the store's business, so botocore
does not; an endpoint that cannot be reached is a ServiceError like any other refusal. A transaction whose answer may
get lost on the way has a token, so that it is done once however often it is sent; the engine's does not get lost.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tablewright.engine import DynamoError, Engine
from tablewright.store.errors import ServiceError, StoreError
from tablewright.store.flow.driver import Request, Response

# The code of what the service did not answer at all.
UNREACHABLE = "ConnectionError"


class EmbeddedBackend:
    """An engine in this process. ``owned`` engines are closed with it."""

    def __init__(self, engine: Engine, *, owned: bool) -> None:
        self.engine = engine
        self._owned = owned

    def call(self, request: Request) -> Response:
        try:
            return self.engine.call(request.operation, request.body, pattern=request.pattern)
        except DynamoError as error:
            raise ServiceError(error.code, error.message or "", error.extra) from None

    async def call_async(self, request: Request) -> Response:
        try:
            return await self.engine.call_async(request.operation, request.body, pattern=request.pattern)
        except DynamoError as error:
            raise ServiceError(error.code, error.message or "", error.extra) from None

    def close(self) -> None:
        if self._owned:
            self.engine.close()


class BotocoreBackend:
    """An endpoint, through botocore: Amazon DynamoDB, or anything else that speaks its protocol."""

    def __init__(self, region: str | None, endpoint: str | None, options: Mapping[str, Any]) -> None:
        import botocore.session
        from botocore.config import Config
        from botocore.exceptions import NoRegionError

        session = botocore.session.Session()
        config = Config(retries={"total_max_attempts": 1})
        if options.get("config") is not None:
            config = config.merge(options["config"])
        arguments = {"region_name": region, "endpoint_url": endpoint, **options, "config": config}
        try:
            self._client = session.create_client("dynamodb", **arguments)
        except NoRegionError:
            raise StoreError(
                "no region is known: give one, such as region='eu-west-1', or set AWS_DEFAULT_REGION; an endpoint that"
                " is not Amazon's takes any"
            ) from None
        self._streams = session.create_client("dynamodbstreams", **arguments)

    def call(self, request: Request) -> Response:
        from botocore.exceptions import (
            ClientError,
            ConnectionError,
            CredentialRetrievalError,
            HTTPClientError,
            NoCredentialsError,
            PartialCredentialsError,
        )

        client = self._streams if request.operation in _STREAM_OPERATIONS else self._client
        if request.operation == "TransactWriteItems":
            # Kept in the request, which is the same one when it is sent again.
            request.body.setdefault("ClientRequestToken", uuid4().hex)
        try:
            response = getattr(client, _method(request.operation))(**_to_bytes(request.body))
        except ClientError as error:
            answer = dict(error.response)
            fault = answer.pop("Error", {})
            answer.pop("ResponseMetadata", None)
            message = fault.get("Message") or answer.pop("Message", None) or answer.pop("message", "")
            raise ServiceError(fault.get("Code", ""), message, _to_text(answer)) from None
        except (ConnectionError, HTTPClientError) as error:
            raise ServiceError(UNREACHABLE, str(error)) from error
        except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
            raise ServiceError("UnrecognizedClientException", str(error)) from error
        response.pop("ResponseMetadata", None)
        result: Response = _to_text(response)
        return result

    async def call_async(self, request: Request) -> Response:
        return await asyncio.to_thread(self.call, request)

    def close(self) -> None:
        self._client.close()
        self._streams.close()


_STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})


def _method(operation: str) -> str:
    from botocore import xform_name

    return str(xform_name(operation))


def _to_bytes(value: Any) -> Any:
    """JSON for botocore: binary values as bytes."""
    if isinstance(value, dict):
        return {name: _binary(name, member, b64decode) or _to_bytes(member) for name, member in value.items()}
    return [_to_bytes(member) for member in value] if isinstance(value, list) else value


def _to_text(value: Any) -> Any:
    """JSON from botocore: binary values as base64."""
    if isinstance(value, dict):
        return {name: _binary(name, member, _encode) or _to_text(member) for name, member in value.items()}
    return [_to_text(member) for member in value] if isinstance(value, list) else value


def _encode(content: Any) -> str:
    return b64encode(content.value if hasattr(content, "value") else content).decode()


def _binary(name: str, content: Any, convert: Any) -> Any:
    """A converted B or BS, or None for anything else (a map may have attributes of these names)."""
    if name == "B" and isinstance(content, str | bytes):
        return convert(content)
    if name == "BS" and isinstance(content, list) and all(isinstance(member, str | bytes) for member in content):
        return [convert(member) for member in content]
    return None
