"""Clients of AWS services other than DynamoDB, and their failures that pass.

What a person can put right (a missing permission, a bus that is not there) passes as well: nothing is given up because
of it. Only a request that is itself wrong stays wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tablewright.store import Unavailable

# Together less than half a minute, so that whoever holds a claim meanwhile keeps it.
_CONNECT_TIMEOUT = 5
_READ_TIMEOUT = 8
_ATTEMPTS = 2

# Answers that say that the request is wrong.
_WRONG = frozenset({"ValidationException", "ValidationError", "InvalidParameterValue", "MessageRejected"})


def client(service: str, region: str | None, endpoint: str | None = None) -> Any:
    """A botocore client with time-outs; what fails for a moment is tried again by its caller."""
    import botocore.session
    from botocore.config import Config

    retries = {"total_max_attempts": _ATTEMPTS}
    config = Config(connect_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, retries=retries)
    session = botocore.session.Session()
    return session.create_client(service, region_name=region, endpoint_url=endpoint, config=config)


def problem_with(region: str | None, endpoint: str | None) -> str | None:
    """What would keep a client from being made, if anything."""
    import botocore.session

    if endpoint is not None and not is_endpoint(endpoint):
        return "the endpoint of AWS services is given as http://host:port or https://host"
    if region is None and botocore.session.Session().get_config_variable("region") is None:
        return "SES and EventBridge are in a region: set AWS_DEFAULT_REGION"
    return None


def is_endpoint(text: str) -> bool:
    """Whether something is the address of a service."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@contextmanager
def passing(service: str) -> Iterator[None]:
    """Turns failures of a service that will pass into Unavailable, so that a consumer waits instead of giving up."""
    from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

    try:
        yield
    except ParamValidationError:
        raise
    except BotoCoreError as error:
        raise Unavailable(f"{service} cannot be reached ({type(error).__name__})") from error
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _WRONG:
            raise
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        raise Unavailable(f"{service} answered {code or status}") from error
