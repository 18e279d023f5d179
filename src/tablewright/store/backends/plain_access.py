"""Keys in the environment and a region: who signs, and where requests go, without botocore.

That is what a function of AWS Lambda has, and a program beside ``tablewright serve``. To import botocore and to make a
client takes a third of a second, at every start. Whatever else there is (a profile, a file of the AWS CLI, a proxy, a
variable of AWS that is not known here to change nothing) is botocore's to read; a test compares both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tablewright.store.backends.request_signer import AwsCredentials

__all__ = ["DYNAMODB", "STREAMS", "environment_credentials"]

DYNAMODB, STREAMS = "dynamodb", "dynamodbstreams"

_KEY, _SECRET, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
# Certificates to trust instead of the usual ones.
_BUNDLE = "AWS_CA_BUNDLE"
# Variables of AWS that change neither who signs nor where requests go, when the region is given.
_HARMLESS = frozenset({_KEY, _SECRET, _TOKEN, _BUNDLE, "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV"})
_HARMLESS_PREFIXES = ("AWS_LAMBDA_", "AWS_XRAY_")
_FILES = ("~/.aws/config", "~/.aws/credentials", "~/.boto", "/etc/boto.cfg")
# The regions whose endpoints are below amazonaws.com.
_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d+")
_HOSTS = {DYNAMODB: "dynamodb", STREAMS: "streams.dynamodb"}
_GIVEN = frozenset({"aws_access_key_id", "aws_secret_access_key", "aws_session_token"})


class PlainAccess(NamedTuple):
    """Who signs, for which region, and where requests go, if not to Amazon's endpoint there."""

    credentials: AwsCredentials
    region: str
    endpoint: str | None
    ca_bundle: str | None

    def address(self, service: str) -> str:
        return self.endpoint or f"https://{_HOSTS[service]}.{self.region}.amazonaws.com"


def plain_access(region: str | None, endpoint: str | None, options: Mapping[str, Any]) -> PlainAccess | None:
    """What there is to know of a configuration; None if that is botocore's to say. ``options`` are a client's."""
    if region is None or _REGION.fullmatch(region) is None or not _GIVEN.issuperset(options):
        return None
    if endpoint is not None and not _is_plain(endpoint):
        return None
    credentials = _given(options) if options else environment_credentials()
    if credentials is None or not _is_plain_environment():
        return None
    return PlainAccess(credentials, region, endpoint, os.environ.get(_BUNDLE))


def environment_credentials() -> AwsCredentials | None:
    """The keys in the environment, if that is where botocore would take them from."""
    key, secret = os.environ.get(_KEY), os.environ.get(_SECRET)
    if not key or not secret or not _is_plain_environment():
        return None
    return AwsCredentials(key, secret, os.environ.get(_TOKEN) or None)


def _given(options: Mapping[str, Any]) -> AwsCredentials | None:
    key, secret = options.get("aws_access_key_id"), options.get("aws_secret_access_key")
    return AwsCredentials(key, secret, options.get("aws_session_token")) if key and secret else None


def _is_plain(endpoint: str) -> bool:
    """Whether an endpoint is a scheme, a host and perhaps a port."""
    try:
        url = urlsplit(endpoint)
        port = url.port
    except ValueError:
        return False
    host = url.hostname or ""
    plain = f"{url.scheme}://{host}" + ("" if port is None else f":{port}")
    return url.scheme in ("http", "https") and re.fullmatch(r"[a-z0-9.-]+", host) is not None and endpoint == plain


def _is_plain_environment() -> bool:
    for name in os.environ:
        upper = name.upper()
        if upper.endswith("_PROXY") and upper != "NO_PROXY":
            return False
        if upper.startswith("AWS_") and name not in _HARMLESS and not name.startswith(_HARMLESS_PREFIXES):
            return False
    if _BUNDLE in os.environ and not os.path.isfile(os.environ[_BUNDLE]):
        return False
    return "BOTO_CONFIG" not in os.environ and not any(os.path.exists(os.path.expanduser(file)) for file in _FILES)
