"""AWS Signature Version 4, as DynamoDB checks it.

Two checks, both of a request whose target is known:

- ``check_complete`` checks the form only: it raises DynamoDB's errors for a missing or incomplete signature, and
  accepts every complete one. This is the default of a local database.
- ``Verifier`` knows the secrets (a file in the format of ``~/.aws/credentials``) and makes the service's further
  checks, in its order: date, signed headers, algorithm, credential scope, key id, signature, session token. Host,
  ``Content-Type`` and every ``x-amz-*`` header of a request must be signed, as AWS requires and all SDKs do: an
  intermediary cannot turn a read into a deletion.

A signature is in the ``Authorization`` header or, for presigned requests, in the query string. The payload always takes
part with the hash of the bytes received: a different ``x-amz-content-sha256`` (including ``UNSIGNED-PAYLOAD``, which
DynamoDB does not offer) does not verify.

Secrets stay in ``Credentials`` objects that do not print them, and are compared in constant time.
"""

from __future__ import annotations

import configparser
import hmac
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from tablewright.dynamo import DynamoError
from tablewright.dynamo.signing import (
    ALGORITHM,
    SERVICE,
    TERMINATOR,
    TIMESTAMP,
    canonical_path,
    canonical_request,
    credential_scope,
    payload_hash,
    signature_of_text,
    signing_key,
    string_to_sign,
)
from tablewright.wire.http.messages import Request

_SKEW_SECONDS: Final = 15 * 60
_MAX_PRESIGNED_SECONDS: Final = 7 * 24 * 3600
# The server accepts every region; text that cannot be the name of one is refused.
REGION: Final = re.compile(r"[a-z]{2,}(?:-[a-z]+)+-\d{1,2}|local(?:host)?")
_NO_REGION: Final = "Credential should be scoped to a valid region, not '{}'. "


class AuthenticationError(DynamoError):
    namespace = "com.amazon.coral.service"


class MissingAuthenticationTokenException(AuthenticationError):
    pass


class IncompleteSignatureException(AuthenticationError):
    pass


class InvalidSignatureException(AuthenticationError):
    pass


class UnrecognizedClientException(AuthenticationError):
    pass


class CredentialsFileError(Exception):
    """The credentials file cannot be used; the message is one line and shows no secret."""


@dataclass(frozen=True)
class Credentials:
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def read_credentials(path: Path) -> list[Credentials]:
    """The profiles of a file in the format of ``~/.aws/credentials`` that have keys.

    Profiles without keys (single sign-on, a role to assume) are omitted: they cannot sign requests by themselves.
    """
    parser = configparser.RawConfigParser(default_section="\0none")
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CredentialsFileError(f"cannot read the credentials file {path}: {error.strerror}") from None
    except (configparser.Error, UnicodeDecodeError):
        # The parser's own message quotes the line that it cannot read, which may be a secret.
        raise CredentialsFileError(f"the credentials file {path} is not in the format of ~/.aws/credentials") from None
    found: dict[str, Credentials] = {}
    for name in parser.sections():
        profile = parser[name]
        key_id, secret = profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")
        if not key_id or not secret:
            continue
        credentials = Credentials(key_id, secret, profile.get("aws_session_token") or None)
        if found.setdefault(key_id, credentials) != credentials:
            raise CredentialsFileError(f"the credentials file {path} has two secrets for the key {key_id}")
    if not found:
        raise CredentialsFileError(
            f"the credentials file {path} has no profile with aws_access_key_id and aws_secret_access_key"
        )
    return list(found.values())


@dataclass(frozen=True)
class Signature:
    """The parts of a signature, from the header or the query string of a request."""

    algorithm: str
    credential: str
    signed_headers: str
    signature: str
    date: str
    expires: str | None = None
    security_token: str | None = None
    in_query: bool = False


def check_complete(request: Request) -> None:
    """Accepts every complete signature; raises the service's error for any other request."""
    authorization = request.headers.get(b"authorization")
    if (
        authorization is not None
        and authorization.startswith(b"AWS4-HMAC-SHA256 Credential=")
        # ``in`` makes and drops an exception here: it looks for a number first (CPython 3.11).
        and authorization.find(b", SignedHeaders=") > 0
        and authorization.find(b", Signature=") > 0
        and b"x-amz-date" in request.headers
        and request.url == b"/"
    ):
        return  # the form that all SDKs send; everything else takes the slow path
    signature_of(request)


def signature_of(request: Request) -> Signature:
    """The request's signature, complete but unverified."""
    query = dict(_query_pairs(request))
    authorization = request.headers.get(b"authorization", b"").decode("latin-1")
    if "X-Amz-Algorithm" in query:
        if authorization:
            raise InvalidSignatureException(
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
            )
        return _signature_in_query(query)
    if not authorization.strip().startswith("AWS4-"):
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _signature_in_header(request, authorization)


def region_of(request: Request) -> str | None:
    """The region that a request is signed for; None if its credential has no scope."""
    elements = signature_of(request).credential.split("/")
    return elements[2] if len(elements) >= 5 else None


def check_region(region: str) -> None:
    """Refuses text that cannot be the name of a region."""
    if not REGION.fullmatch(region):
        raise InvalidSignatureException(_NO_REGION.format(region))


def _signature_in_query(query: dict[str, str]) -> Signature:
    names = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")
    missing = [name for name in names if not query.get(name)]
    if missing:
        raise IncompleteSignatureException(
            "".join(f"AWS query-string parameters must include '{name}'. " for name in missing)
            + "Re-examine the query-string parameters."
        )
    return Signature(
        algorithm=query["X-Amz-Algorithm"],
        credential=query["X-Amz-Credential"],
        signed_headers=query["X-Amz-SignedHeaders"],
        signature=query["X-Amz-Signature"],
        date=query["X-Amz-Date"],
        expires=query.get("X-Amz-Expires"),
        security_token=query.get("X-Amz-Security-Token"),
        in_query=True,
    )


def _signature_in_header(request: Request, authorization: str) -> Signature:
    algorithm, *pairs = re.split(r"[, ]+", authorization.strip())
    values: dict[str, str] = {}
    for pair in filter(None, pairs):
        name, equal_sign, value = pair.partition("=")
        if not equal_sign:
            raise IncompleteSignatureException(
                f"'{pair}' not a valid key=value pair (missing equal-sign) in Authorization header: '{authorization}'."
            )
        values[name] = value
    message = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not values.get(name)
    )
    date = request.headers.get(b"x-amz-date") or request.headers.get(b"date")
    if not date:
        message += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if message or not date:
        raise IncompleteSignatureException(f"{message}Authorization={authorization}")
    token = request.headers.get(b"x-amz-security-token")
    return Signature(
        algorithm=algorithm,
        credential=values["Credential"],
        signed_headers=values["SignedHeaders"],
        signature=values["Signature"],
        date=date.decode("latin-1"),
        security_token=token.decode("latin-1") if token is not None else None,
    )


class Verifier:
    """Verifies signatures made with one of ``credentials``."""

    def __init__(self, credentials: Iterable[Credentials], clock: Callable[[], float] = time.time) -> None:
        self._credentials = {entry.access_key_id: entry for entry in credentials}
        self._clock = clock
        self._signing_keys: dict[tuple[str, str, str], bytes] = {}

    def __call__(self, request: Request) -> None:
        signature = signature_of(request)
        date = _parse_date(signature.date)
        self._check_age(date, signature)
        signed_headers = signature.signed_headers.lower().split(";")
        _check_signed_headers(request, signed_headers)
        if signature.algorithm != ALGORITHM:
            raise IncompleteSignatureException(
                f"Unsupported AWS 'algorithm': '{signature.algorithm}' (only {ALGORITHM} for now). "
            )
        key_id, scope_date, region = _check_scope(signature.credential, date)
        credentials = self._credentials.get(key_id)
        if credentials is None:
            raise UnrecognizedClientException("The security token included in the request is invalid.")
        canonical = _canonical_request(request, signature, signed_headers)
        scope = credential_scope(scope_date, region)
        to_sign = string_to_sign(date.strftime(TIMESTAMP), scope, canonical)
        expected = signature_of_text(self._signing_key(credentials, scope_date, region), to_sign)
        if not hmac.compare_digest(expected.encode(), signature.signature.encode()):
            raise InvalidSignatureException(
                "The request signature we calculated does not match the signature you provided."
                " Check your AWS Secret Access Key and signing method."
                " Consult the service documentation for details.\n\n"
                f"The Canonical String for this request should have been\n'{canonical}'\n\n"
                f"The String-to-Sign should have been\n'{to_sign}'\n"
            )
        presented, known = signature.security_token or "", credentials.session_token or ""
        if not hmac.compare_digest(presented.encode(), known.encode()):
            raise UnrecognizedClientException("The security token included in the request is invalid")

    def _check_age(self, date: datetime, signature: Signature) -> None:
        now = datetime.fromtimestamp(int(self._clock()), UTC)
        valid_seconds = _SKEW_SECONDS
        if signature.expires is not None:
            expires = int(signature.expires) if re.fullmatch("[0-9]{1,6}", signature.expires) else 0
            if not 1 <= expires <= _MAX_PRESIGNED_SECONDS:
                raise IncompleteSignatureException(
                    "X-Amz-Expires must be a number of seconds between 1 and"
                    f" {_MAX_PRESIGNED_SECONDS}, got '{signature.expires}'."
                )
            valid_seconds = expires
        text, now_text = date.strftime(TIMESTAMP), now.strftime(TIMESTAMP)
        if (now - date).total_seconds() > valid_seconds:
            earliest = datetime.fromtimestamp(now.timestamp() - valid_seconds, UTC).strftime(TIMESTAMP)
            raise InvalidSignatureException(
                f"Signature expired: {text} is now earlier than {earliest} ({now_text} - {_in_minutes(valid_seconds)})"
            )
        if (date - now).total_seconds() > _SKEW_SECONDS:
            latest = datetime.fromtimestamp(now.timestamp() + _SKEW_SECONDS, UTC).strftime(TIMESTAMP)
            raise InvalidSignatureException(
                f"Signature not yet current: {text} is still later than {latest}"
                f" ({now_text} + {_in_minutes(_SKEW_SECONDS)})"
            )

    def _signing_key(self, credentials: Credentials, date: str, region: str) -> bytes:
        name = (credentials.access_key_id, date, region)
        key = self._signing_keys.get(name)
        if key is None:
            key = signing_key(credentials.secret_access_key, date, region)
            if len(self._signing_keys) >= 256:  # clients choose date and region: bounded, whatever they send
                self._signing_keys.clear()
            self._signing_keys[name] = key
        return key


def _check_signed_headers(request: Request, signed_headers: list[str]) -> None:
    signed = set(signed_headers)
    present = [name.decode("latin-1") for name in request.headers]
    if "host" not in signed:
        unsigned = ["'Host' or ':authority'"]
    elif "content-type" in present and "content-type" not in signed:
        unsigned = ["'Content-Type'"]
    else:
        unsigned = [f"'{name}'" for name in present if name.startswith("x-amz-") and name not in signed]
    if unsigned:
        raise InvalidSignatureException(f"{unsigned[0]} must be a 'SignedHeader' in the AWS Authorization.")


def _in_minutes(seconds: int) -> str:
    return f"{seconds // 60} min." if seconds % 60 == 0 else f"{seconds} sec."


def _parse_date(text: str) -> datetime:
    try:
        return datetime.strptime(text, TIMESTAMP).replace(tzinfo=UTC)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):  # a date of the year 9999 may be out of range in another zone
        raise IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None


def _check_scope(credential: str, date: datetime) -> tuple[str, str, str]:
    """Key id, date and region of a credential whose scope fits the request."""
    elements = credential.rstrip("/").split("/")
    if len(elements) != 5:
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements,"
            f" e.g. keyid/date/region/service/term, got '{credential}'"
        )
    key_id, scope_date, region, service, terminator = elements
    day = date.strftime("%Y%m%d")
    message = ""
    if not REGION.fullmatch(region):
        message += _NO_REGION.format(region)
    if service != SERVICE:
        message += f"Credential should be scoped to correct service: '{SERVICE}'. "
    if terminator != TERMINATOR:
        message += f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. "
    if scope_date != day:
        message += (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP:"
            f" '{scope_date}' != '{day}', from '{date.strftime(TIMESTAMP)}'."
        )
    if message:
        raise InvalidSignatureException(message)
    return key_id, scope_date, region


def _canonical_request(request: Request, signature: Signature, signed_headers: list[str]) -> str:
    path, _, _ = request.url.decode("latin-1").partition("?")
    pairs = sorted(
        (_encode(name), _encode(value))
        for name, value in _query_pairs(request)
        if not (signature.in_query and name == "X-Amz-Signature")
    )
    headers = ((name, request.headers.get(name.encode(), b"").decode("utf-8", "replace")) for name in signed_headers)
    return canonical_request(
        request.method.decode("latin-1"),
        canonical_path(path),
        "&".join(f"{name}={value}" for name, value in pairs),
        headers,
        ";".join(signed_headers),
        payload_hash(request.body),
    )


def _encode(text: str) -> str:
    return quote(text, safe="~")


def _query_pairs(request: Request) -> list[tuple[str, str]]:
    _, _, query = request.url.partition(b"?")
    if not query:
        return []
    parts = (part.partition("=") for part in query.decode("latin-1").split("&") if part)
    return [(unquote(name), unquote(value)) for name, _, value in parts]
