"""What the functions share: the system that the environment names, opened when the process starts.

Later calls of a process find everything open. Some things do not work in a function: endless responses end at once, and
no thread runs between two calls, as the process is frozen then.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from tablewright.dynamo.credentials import AwsCredentials, environment_credentials
from tablewright.dynamo.signing import (
    ALGORITHM,
    TIMESTAMP,
    canonical_request,
    credential_scope,
    payload_hash,
    signature_of_text,
    signing_key,
    string_to_sign,
)
from tablewright.runtime.errors import ServiceUnavailable
from tablewright.runtime.logs import set_up
from tablewright.runtime.settings import PREFIX, Settings, SettingsError
from tablewright.runtime.system import Runtime, System

_SECRET_WITHIN = 5.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FunctionProcess:
    """A system in a function."""

    system: System
    runtime: Runtime
    service: Any


def variable(name: str) -> str:
    """An environment variable that the stack sets for every function of its kind."""
    value = os.environ.get(PREFIX + name)
    if not value:
        raise SettingsError(f"a function needs {PREFIX}{name}, which `tablewright deploy` writes into its stack")
    return value


@cache
def process() -> FunctionProcess:
    """The system of this process, opened on first use."""
    module, _, name = variable("SYSTEM").partition(":")
    system: System = getattr(import_module(module), name or "system")
    secret_id, region = os.environ.get(f"{PREFIX}SECRET_ID"), os.environ.get(f"{PREFIX}REGION")
    given: dict[str, Any] = {}
    if secret_id:
        given["master_secret"] = secret(secret_id, region or "us-east-1", os.environ.get(f"{PREFIX}AWS_ENDPOINT"))
    settings = Settings(**given)
    set_up(settings.log_level)
    # It would log paths, which have personal data in them.
    logging.getLogger("mangum").setLevel(logging.ERROR)
    runtime = Runtime.open(settings, [system], is_function=True)
    runtime.stopping.set()
    return FunctionProcess(system, runtime, system.service(runtime))


def secret(secret_id: str, region: str, endpoint: str | None = None) -> str:
    """A secret of Secrets Manager, by one request: creating a whole client would take longer."""
    url = endpoint or f"https://secretsmanager.{region}.amazonaws.com"
    body = json.dumps({"SecretId": secret_id}).encode()
    status, answer = _post(url, body, _signed(urlsplit(url).netloc, body, region))
    if status != 200 or "SecretString" not in answer:
        raise ServiceUnavailable(f"the secret cannot be read: {answer.get('__type', status)}")
    return str(answer["SecretString"])


def _signed(host: str, body: bytes, region: str) -> dict[str, str]:
    """The headers of a request for a secret, with its signature."""
    credentials = environment_credentials() or _botocore_credentials()
    timestamp = datetime.now(UTC).strftime(TIMESTAMP)
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": host,
        "x-amz-date": timestamp,
        "x-amz-target": "secretsmanager.GetSecretValue",
    }
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = ";".join(sorted(headers))
    scope = credential_scope(timestamp[:8], region, "secretsmanager")
    request = canonical_request("POST", "/", "", sorted(headers.items()), names, payload_hash(body))
    key = signing_key(credentials.secret_key, timestamp[:8], region, "secretsmanager")
    signature = signature_of_text(key, string_to_sign(timestamp, scope, request))
    signed = f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": signed}


def _botocore_credentials() -> AwsCredentials:
    from botocore.session import Session

    found = Session().get_credentials()
    if found is None:
        raise ServiceUnavailable("the secret cannot be read: there are no AWS credentials")
    frozen = found.get_frozen_credentials()
    return AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token)


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SECRET_WITHIN)
    try:
        connection.request("POST", "/", body, dict(headers))
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise ServiceUnavailable(f"the secret cannot be read: {type(error).__name__}") from error
    finally:
        connection.close()
    try:
        answer = json.loads(content)
    except ValueError:
        answer = {}
    return response.status, answer if isinstance(answer, dict) else {}
