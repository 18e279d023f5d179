"""Clients of AWS services other than DynamoDB, and which of their errors are retried.

Errors that a person can fix (a missing permission, a bus that does not exist) are retried too, so nothing is lost
because of them. Only an invalid request is not retried.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tablewright.store import Unavailable

# What other packages use.
__all__ = [
    "client",
    "transient",
]

# Together less than half a minute, so that a claim does not expire during a call.
_CONNECT_TIMEOUT = 5
_READ_TIMEOUT = 8
_ATTEMPTS = 2

# Error codes of a request that is invalid.
_INVALID = frozenset({"ValidationException", "ValidationError", "InvalidParameterValue", "MessageRejected"})


def client(service: str, region: str | None, endpoint: str | None = None) -> Any:
    """A botocore client with timeouts and few retries; consumers retry."""
    import botocore.session
    from botocore.config import Config

    retries = {"total_max_attempts": _ATTEMPTS}
    config = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries=retries)
    session = botocore.session.Session()
    return session.create_client(service, region_name=region, endpoint_url=endpoint, config=config)


def client_problem(region: str | None, endpoint: str | None) -> str | None:
    """Why a client cannot be created; None if it can."""
    if endpoint is not None and not is_endpoint(endpoint):
        return "give the endpoint of AWS services as http://host:port or https://host"
    if region is None:
        import botocore.session

        if botocore.session.Session().get_config_variable("region") is None:
            return "SES and EventBridge need a region: set AWS_DEFAULT_REGION"
    return None


def is_endpoint(text: str) -> bool:
    """Whether a text is the URL of a service."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@contextmanager
def transient(service: str) -> Iterator[None]:
    """Turn retryable errors of a service into Unavailable, so that a consumer waits."""
    from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

    try:
        yield
    except ParamValidationError:
        raise
    except BotoCoreError as error:
        raise Unavailable(f"{service} cannot be reached ({type(error).__name__})") from error
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _INVALID:
            raise
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        raise Unavailable(f"{service} responded with {code or status}") from error
