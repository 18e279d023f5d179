"""Keys in the environment and a region: credentials and addresses without botocore.

This is the case in an AWS Lambda function, and in a program that uses ``tablewright serve``. Importing botocore and
creating a client takes a third of a second, at every start. Any other source (a profile, a file of the AWS CLI, a
proxy, a variable of AWS that is not known to be irrelevant) is left to botocore; a test compares both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tablewright.dynamo.credentials import CA_BUNDLE, AwsCredentials, environment_credentials, is_plain_environment

DYNAMODB, STREAMS = "dynamodb", "dynamodbstreams"

# The regions whose endpoints are below amazonaws.com.
_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d+")
_HOSTS = {DYNAMODB: "dynamodb", STREAMS: "streams.dynamodb"}
_GIVEN = frozenset({"aws_access_key_id", "aws_secret_access_key", "aws_session_token"})


class PlainAccess(NamedTuple):
    """The credentials, the region, and the endpoint if it is not Amazon's."""

    credentials: AwsCredentials
    region: str
    endpoint: str | None
    ca_bundle: str | None

    def address(self, service: str) -> str:
        return self.endpoint or f"https://{_HOSTS[service]}.{self.region}.amazonaws.com"


def plain_access(region: str | None, endpoint: str | None, options: Mapping[str, Any]) -> PlainAccess | None:
    """What is known about a configuration; None if it needs botocore. ``options`` are those of a client."""
    if region is None or _REGION.fullmatch(region) is None or not _GIVEN.issuperset(options):
        return None
    if endpoint is not None and not _is_plain(endpoint):
        return None
    credentials = _given(options) if options else environment_credentials()
    if credentials is None or not is_plain_environment():
        return None
    return PlainAccess(credentials, region, endpoint, os.environ.get(CA_BUNDLE))


def _given(options: Mapping[str, Any]) -> AwsCredentials | None:
    key, secret = options.get("aws_access_key_id"), options.get("aws_secret_access_key")
    return AwsCredentials(key, secret, options.get("aws_session_token")) if key and secret else None


def _is_plain(endpoint: str) -> bool:
    """Whether an endpoint is a scheme, a host and an optional port."""
    try:
        url = urlsplit(endpoint)
        port = url.port
    except ValueError:
        return False
    host = url.hostname or ""
    plain = f"{url.scheme}://{host}" + ("" if port is None else f":{port}")
    return url.scheme in ("http", "https") and re.fullmatch(r"[a-z0-9.-]+", host) is not None and endpoint == plain
