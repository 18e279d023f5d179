"""A store's requests to an endpoint, through botocore.

botocore takes and gives bytes where DynamoDB's JSON has base64; that is the only conversion. Its calls block, so
asyncio runs them in threads. The store does the retries, so botocore does none; an endpoint that cannot be reached is a
ServiceError like any other. A response may get lost on the way, so every transaction has a client request token: it is
executed once, however often it is sent.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tablewright.store.errors import ServiceError, StoreError
from tablewright.store.flow.driver import Request, Response

# The code of a request that got no response at all.
UNREACHABLE = "ConnectionError"


class BotocoreBackend:
    """Sends requests to an endpoint through botocore: Amazon DynamoDB, or anything else that speaks its protocol.

    ``options`` are those of a botocore client, such as ``aws_access_key_id`` and ``config``.
    """

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
                "no region is configured: pass one, such as region='eu-west-1', or set AWS_DEFAULT_REGION; endpoints "
                "other than Amazon's accept any region"
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
            # Stored in the request itself, which is the same object when it is retried.
            request.body.setdefault("ClientRequestToken", uuid4().hex)
        try:
            response = getattr(client, _method(request.operation))(**_to_bytes(request.body))
        except ClientError as error:
            body = dict(error.response)
            fault = body.pop("Error", {})
            body.pop("ResponseMetadata", None)
            message = fault.get("Message") or body.pop("Message", None) or body.pop("message", "")
            raise ServiceError(fault.get("Code", ""), message, _to_text(body)) from None
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
