"""The keys that sign requests, and where a program finds them in its environment, as every program on AWS does."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

__all__ = ["CA_BUNDLE", "AwsCredentials", "environment_credentials", "is_plain_environment"]

# Certificates to trust instead of the usual ones.
CA_BUNDLE = "AWS_CA_BUNDLE"

_KEY, _SECRET, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
# Variables of AWS that change neither the keys nor the endpoint, if the region is given.
_HARMLESS = frozenset({_KEY, _SECRET, _TOKEN, CA_BUNDLE, "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV"})
_HARMLESS_PREFIXES = ("AWS_LAMBDA_", "AWS_XRAY_")
_FILES = ("~/.aws/config", "~/.aws/credentials", "~/.boto", "/etc/boto.cfg")


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def environment_credentials() -> AwsCredentials | None:
    """The keys in the environment, if they are the only source; None if another source may provide them."""
    key, secret = os.environ.get(_KEY), os.environ.get(_SECRET)
    if not key or not secret or not is_plain_environment():
        return None
    return AwsCredentials(key, secret, os.environ.get(_TOKEN) or None)


def is_plain_environment() -> bool:
    """Whether variables and files specify only keys and a region: no profile, no endpoint, no proxy."""
    for name in os.environ:
        upper = name.upper()
        if upper.endswith("_PROXY") and upper != "NO_PROXY":
            return False
        if upper.startswith("AWS_") and name not in _HARMLESS and not name.startswith(_HARMLESS_PREFIXES):
            return False
    if CA_BUNDLE in os.environ and not os.path.isfile(os.environ[CA_BUNDLE]):
        return False
    return "BOTO_CONFIG" not in os.environ and not any(os.path.exists(os.path.expanduser(file)) for file in _FILES)
