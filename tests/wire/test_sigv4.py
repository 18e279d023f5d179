"""Signatures made by botocore, verified; and what is wrong with any other."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotocoreCredentials
from botocore.exceptions import ClientError

from tablewright.wire import endpoint, sigv4
from tablewright.wire.http.messages import Request
from tablewright.wire.server import serve_in_thread
from tablewright.wire.sigv4 import (
    Credentials,
    CredentialsFileError,
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
    UnrecognizedClientException,
    Verifier,
    check_complete,
    read_credentials,
)
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client
from tests.wire.raw_http import request as raw_request

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
KEY = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BODY = b'{"TableName":"music"}'


@pytest.fixture
def verify() -> Verifier:
    return Verifier([Credentials(KEY, SECRET), Credentials("TEMP", "temp", "tok/en+==")], NOW.timestamp)


class _QueryAuth(SigV4QueryAuth):  # type: ignore[misc]
    """Presigns a request that keeps its body, which botocore itself does for forms only."""

    def _modify_request_before_signing(self, request: Any) -> None:
        body, request.data = request.data, None
        super()._modify_request_before_signing(request)
        request.data = body

    def payload(self, request: Any) -> str:
        return hashlib.sha256(request.data).hexdigest()


def signed(
    *,
    key: str = KEY,
    secret: str = SECRET,
    token: str | None = None,
    at: datetime = NOW,
    body: bytes = BODY,
    url: str = "http://localhost:8000/",
    region: str = "us-east-1",
    service: str = "dynamodb",
    expires: int | None = None,
    **headers: str,
) -> Request:
    """A request as botocore signs it, as the server reads it."""
    made = AWSRequest(
        "POST",
        url,
        {"X-Amz-Target": "DynamoDB_20120810.DescribeTable", "Host": "localhost:8000"}
        | {name.replace("_", "-"): value for name, value in headers.items()},
        body,
    )
    credentials = BotocoreCredentials(key, secret, token)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.auth.get_current_datetime", lambda: at.replace(tzinfo=None))
        if expires is None:
            SigV4Auth(credentials, service, region).add_auth(made)
        else:
            _QueryAuth(credentials, service, region, expires=expires).add_auth(made)
    prepared = made.prepare()
    request = Request()
    request.method = b"POST"
    request.url = b"/" + prepared.url.split("/", 3)[3].encode()
    request.headers = {
        name.lower().encode(): value if isinstance(value, bytes) else str(value).encode()
        for name, value in prepared.headers.items()
    }
    request.body = body
    return request


def test_what_botocore_signs_verifies(verify: Verifier) -> None:
    verify(signed())
    verify(signed(region="eu-central-1"))
    verify(signed(key="TEMP", secret="temp", token="tok/en+=="))
    verify(signed(x_spaced="  a   b  ", content_type="application/x-amz-json-1.0"))
    verify(signed(url="http://localhost:8000/?b=2&a=x%20y&a=%2F&empty="))
    verify(signed(body=b""))


def test_a_presigned_request_verifies(verify: Verifier) -> None:
    verify(signed(expires=60))
    verify(signed(key="TEMP", secret="temp", token="tok/en+==", expires=60))


def refusal(verify: Verifier, request: Request) -> str:
    with pytest.raises(sigv4.AuthenticationError) as caught:
        verify(request)
    assert caught.value.status == 400
    return f"{caught.value.body()['__type']}: {caught.value.message}"


def test_an_unknown_key_is_not_recognized(verify: Verifier) -> None:
    assert refusal(verify, signed(key="OTHER")) == (
        "com.amazon.coral.service#UnrecognizedClientException: The security token included in the request is invalid."
    )


def test_a_wrong_session_token_is_not_recognized(verify: Verifier) -> None:
    for request in (
        signed(key="TEMP", secret="temp", token="other"),
        signed(key="TEMP", secret="temp"),
        signed(token="extra"),
    ):
        with pytest.raises(UnrecognizedClientException, match=r"is invalid$"):
            verify(request)


def test_a_wrong_signature_shows_what_should_have_been_signed(verify: Verifier) -> None:
    request = signed(secret="wrong")
    digest = hashlib.sha256(BODY).hexdigest()
    canonical = (
        "POST\n/\n\nhost:localhost:8000\nx-amz-date:20260504T120000Z\n"
        "x-amz-target:DynamoDB_20120810.DescribeTable\n\nhost;x-amz-date;x-amz-target\n" + digest
    )
    message = refusal(verify, request)
    assert message == (
        "com.amazon.coral.service#InvalidSignatureException: The request signature we calculated does not"
        " match the signature you provided. Check your AWS Secret Access Key and signing method."
        " Consult the service documentation for details.\n\n"
        f"The Canonical String for this request should have been\n'{canonical}'\n\n"
        "The String-to-Sign should have been\n'AWS4-HMAC-SHA256\n20260504T120000Z\n"
        f"20260504/us-east-1/dynamodb/aws4_request\n{hashlib.sha256(canonical.encode()).hexdigest()}'\n"
    )
    assert SECRET not in message


def test_nothing_that_was_signed_may_change(verify: Verifier) -> None:
    def changed(**attributes: Any) -> Request:
        request = signed()
        for name, value in attributes.items():
            setattr(request, name, value)
        return request

    original = signed()
    for request in (
        changed(body=b'{"TableName":"other"}'),
        changed(method=b"PUT"),
        changed(url=b"/?x=1"),
        changed(headers=original.headers | {b"x-amz-target": b"DynamoDB_20120810.DeleteTable"}),
        changed(headers=original.headers | {b"host": b"elsewhere"}),
    ):
        with pytest.raises(InvalidSignatureException, match="does not match"):
            verify(request)


def test_an_unsigned_payload_does_not_verify(verify: Verifier) -> None:
    verify(signed(X_Amz_Content_SHA256=hashlib.sha256(BODY).hexdigest()))
    with pytest.raises(InvalidSignatureException, match="does not match"):
        verify(signed(X_Amz_Content_SHA256="UNSIGNED-PAYLOAD"))


def test_a_signature_is_good_for_fifteen_minutes_either_way(verify: Verifier) -> None:
    for at in (datetime(2026, 5, 4, 11, 45, tzinfo=UTC), datetime(2026, 5, 4, 12, 15, tzinfo=UTC)):
        verify(signed(at=at))
    assert refusal(verify, signed(at=datetime(2026, 5, 4, 11, 44, 59, tzinfo=UTC))) == (
        "com.amazon.coral.service#InvalidSignatureException: Signature expired: 20260504T114459Z is now"
        " earlier than 20260504T114500Z (20260504T120000Z - 15 min.)"
    )
    assert refusal(verify, signed(at=datetime(2026, 5, 4, 12, 15, 1, tzinfo=UTC))) == (
        "com.amazon.coral.service#InvalidSignatureException: Signature not yet current: 20260504T121501Z is"
        " still later than 20260504T121500Z (20260504T120000Z + 15 min.)"
    )


def test_a_presigned_request_is_good_for_as_long_as_it_says(verify: Verifier) -> None:
    at = datetime(2026, 5, 4, 10, 0, tzinfo=UTC)
    verify(signed(at=at, expires=7200))
    with pytest.raises(InvalidSignatureException, match=r"Signature expired: .* - 119 min\.\)"):
        verify(signed(at=at, expires=7140))
    for expires in (b"0", b"700000", b"soon", b"9" * 5000):
        request = signed(expires=60)
        request.url = request.url.replace(b"X-Amz-Expires=60", b"X-Amz-Expires=" + expires)
        with pytest.raises(IncompleteSignatureException, match="X-Amz-Expires"):
            verify(request)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"AWS4-HMAC-SHA256", b"AWS4-HMAC-SHA25", "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25'"
            " (only AWS4-HMAC-SHA256 for now). "),
        (b"/us-east-1/", b"/", "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/"
            "region/service/term, got 'AKIDEXAMPLE/20260504/dynamodb/aws4_request'"),
        (b"/us-east-1/", b"/c/", "Credential should be scoped to a valid region, not 'c'. "),
        (b"/dynamodb/", b"/s3/", "Credential should be scoped to correct service: 'dynamodb'. "),
        (b"aws4_request", b"e",
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'e'. "),
        (b"/20260504/", b"/b/", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version"
            " of date from HTTP: 'b' != '20260504', from '20260504T120000Z'."),
        (b"host;", b"", "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_named(verify: Verifier, old: bytes, new: bytes, message: str) -> None:
    request = signed()
    authorization = request.headers[b"authorization"]
    assert old in authorization
    request.headers[b"authorization"] = authorization.replace(old, new)
    assert refusal(verify, request).partition(": ")[2] == message


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b"x-amz-target", "'x-amz-target'"),
        (b"x-amz-date", "'x-amz-date'"),
        (b"x-amz-security-token", "'x-amz-security-token'"),
        (b"x-amz-anything", "'x-amz-anything'"),
        (b"content-type", "'Content-Type'"),
    ],
)
def test_what_decides_about_a_request_must_be_signed(verify: Verifier, header: bytes, name: str) -> None:
    everything = {"key": "TEMP", "secret": "temp", "token": "tok/en+==", "Content_Type": "application/x-amz-json-1.0"}
    request = signed(**everything, X_Amz_Anything="x")  # type: ignore[arg-type]
    verify(request)
    authorization = request.headers[b"authorization"]
    request.headers[b"authorization"] = re.sub(rb"%b;|;%b(?=,)" % (header, header), b"", authorization)
    assert request.headers[b"authorization"] != authorization
    assert refusal(verify, request) == (
        f"com.amazon.coral.service#InvalidSignatureException: {name} must be a 'SignedHeader' in the AWS Authorization."
    )


def test_a_header_that_was_added_on_the_way_is_refused(verify: Verifier) -> None:
    for request in (signed(), signed(expires=60)):
        request.headers[b"x-amz-security-token"] = b"added"
        with pytest.raises(InvalidSignatureException, match="'x-amz-security-token' must be a 'SignedHeader'"):
            verify(request)
        del request.headers[b"x-amz-security-token"]
        verify(request)
        request.headers[b"x-amzn-trace-id"] = request.headers[b"user-agent"] = b"added by a proxy"
        verify(request)


def test_a_date_is_in_either_of_two_formats(verify: Verifier) -> None:
    # The last of them would be a date if the year 9999 had one more day.
    for date in ("201", "Fri, 31 Dec 9999 23:59:59 -2359"):
        request = signed()
        request.headers[b"x-amz-date"] = date.encode()
        assert refusal(verify, request) == (
            "com.amazon.coral.service#IncompleteSignatureException: Date must be in ISO-8601 'basic format'."
            f" Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
        )
    request = signed()
    del request.headers[b"x-amz-date"]
    request.headers[b"date"] = b"Mon, 04 May 2026 12:00:00 GMT"
    with pytest.raises(InvalidSignatureException, match="does not match"):
        verify(request)  # read as a date, though not what was signed


def unsigned(authorization: str | None = None, url: bytes = b"/", date: bool = True) -> Request:
    request = Request()
    request.method, request.url = b"POST", url
    request.headers = {b"host": b"localhost"}
    if authorization is not None:
        request.headers[b"authorization"] = authorization.encode()
    if date:
        request.headers[b"x-amz-date"] = b"20260504T120000Z"
    return request


COMPLETE = "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=c"


def test_any_complete_signature_passes_by_default() -> None:
    check_complete(signed(key="whoever", secret="whatever", at=datetime(2001, 1, 1, tzinfo=UTC)))
    check_complete(unsigned(COMPLETE))
    check_complete(unsigned("AWS4-HMAC-SHA256 Credential=a,SignedHeaders=b,Signature=c"))
    check_complete(signed(expires=60))


@pytest.mark.parametrize("authorization", [None, "", "hello", "Basic Zm9v", "Bearer AWS4-HMAC-SHA256"])
def test_a_request_without_a_signature_is_refused(authorization: str | None) -> None:
    with pytest.raises(MissingAuthenticationTokenException, match=r"^Missing.*: Request is missing"):
        check_complete(unsigned(authorization))


def test_missing_parts_of_the_header_are_all_named() -> None:
    with pytest.raises(IncompleteSignatureException) as caught:
        check_complete(unsigned("AWS4-HMAC-SHA256", date=False))
    assert caught.value.message == (
        "Authorization header requires 'Credential' parameter."
        " Authorization header requires 'Signature' parameter."
        " Authorization header requires 'SignedHeaders' parameter."
        " Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        " Authorization=AWS4-HMAC-SHA256"
    )
    with pytest.raises(IncompleteSignatureException, match=r"'SignedHeaders' parameter\. Authorization=AWS4-H"):
        check_complete(unsigned("AWS4-HMAC-SHA256 Credential=a, Signature=c"))


def test_a_part_without_a_value_is_named() -> None:
    authorization = "AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders"
    with pytest.raises(IncompleteSignatureException) as caught:
        check_complete(unsigned(authorization))
    assert caught.value.message == (
        f"'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: '{authorization}'."
    )


def test_missing_parts_of_the_query_are_all_named() -> None:
    with pytest.raises(IncompleteSignatureException) as caught:
        check_complete(unsigned(url=b"/?X-Amz-Algorithm=&X-Amz-Credential=a"))
    assert caught.value.message == (
        "AWS query-string parameters must include 'X-Amz-Algorithm'."
        " AWS query-string parameters must include 'X-Amz-Signature'."
        " AWS query-string parameters must include 'X-Amz-SignedHeaders'."
        " AWS query-string parameters must include 'X-Amz-Date'."
        " Re-examine the query-string parameters."
    )


def test_a_request_is_signed_in_one_place_only() -> None:
    with pytest.raises(InvalidSignatureException, match="Found both 'X-Amz-Algorithm' as a query-string param"):
        check_complete(unsigned(COMPLETE, url=b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256"))


@pytest.mark.parametrize(
    "hostile",
    [b"\xff\xfe", b"Credential=" + b"/" * 9000, b"Credential=\xe9/1/2/3/4", b"=,=,=", b" " * 9000],
)
def test_hostile_signatures_get_an_answer(verify: Verifier, hostile: bytes) -> None:
    request = signed()
    request.headers[b"authorization"] = b"AWS4-HMAC-SHA256 " + hostile
    refusal(verify, request)
    request = signed(expires=60)
    request.url = b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-SignedHeaders=host%3B%E2%82%AC&" + (
        b"&".join(b"X-Amz-%b=%b" % (name, hostile) for name in (b"Credential", b"Signature", b"Date"))
    )
    refusal(verify, request)


# -- the credentials file --------------------------------------------------------------------------


def test_the_file_is_in_the_format_of_the_aws_tools(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
        "[session]\naws_access_key_id=TEMP\naws_secret_access_key=100%\naws_session_token=token\n"
    )
    assert read_credentials(file) == [Credentials(KEY, SECRET), Credentials("TEMP", "100%", "token")]


def test_profiles_without_keys_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[company]\nsso_session = company\nsso_role_name = developer\n"
        "[role]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = default\n"
        f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
        "[half]\naws_access_key_id = OTHER\n"
    )
    assert read_credentials(file) == [Credentials(KEY, SECRET)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no profile with aws_access_key_id"),
        ("aws_secret_access_key = hidden", "is not in the format"),
        ("[a]\naws_secret_access_key hidden", "is not in the format"),
        ("[a]\naws_secret_access_key = hidden", "has no profile with aws_access_key_id"),
        (
            "[a]\naws_access_key_id=k\naws_secret_access_key=hidden\n"
            "[b]\naws_access_key_id=k\naws_secret_access_key=hidden too",
            "two secrets for the key k",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_explained_without_its_secrets(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "credentials"
    file.write_text(text)
    with pytest.raises(CredentialsFileError, match=message) as caught:
        read_credentials(file)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(CredentialsFileError, match="cannot read"):
        read_credentials(tmp_path / "missing")


def test_secrets_do_not_print() -> None:
    assert "hidden" not in repr(Credentials("key", "hidden", "hidden"))


# -- over the wire ---------------------------------------------------------------------------------


@pytest.fixture
def guarded() -> Iterator[str]:
    with serve_in_thread(FakeEngine(), authenticate=Verifier([Credentials(KEY, SECRET)])) as url:
        yield url


def test_a_client_with_the_right_secret_gets_in_and_others_do_not(guarded: str) -> None:
    def list_tables(secret: str, key: str = KEY) -> Any:
        client = boto3.client(
            "dynamodb",
            endpoint_url=guarded,
            region_name="us-east-1",
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            config=Config(retries={"max_attempts": 0}),
        )
        return client.list_tables(Limit=5)

    assert list_tables(SECRET)["ResponseMetadata"]["HTTPStatusCode"] == 200
    with pytest.raises(ClientError, match=r"\(InvalidSignatureException\).*does not match"):
        list_tables("wrong")
    with pytest.raises(ClientError, match=r"\(UnrecognizedClientException\)"):
        list_tables(SECRET, "OTHER")


@pytest.mark.parametrize(
    "request_",
    [
        raw_request(b"{", authorization=None),
        raw_request(gzip.compress(b" " * (64 << 20)), authorization=None, content_encoding=b"gzip"),
        raw_request(b"nonsense", authorization=None, content_encoding=b"gzip"),
    ],
    ids=["not JSON", "a bomb", "not compressed"],
)
def test_the_body_of_a_stranger_is_not_read(guarded: str, request_: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("the body was read")

    monkeypatch.setattr(endpoint, "decompress", read)
    monkeypatch.setattr("tablewright.wire.endpoint.orjson.loads", read)
    with Client(guarded) as client:
        response = client.ask(request_)
        assert (response.status, json.loads(response.body)) == (
            400,
            {
                "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
                "message": "Request is missing Authentication Token",
            },
        )
        # What is no operation is told so before anything else.
        unknown = request_.replace(b".ListTables", b".Nothing")
        assert b"UnknownOperationException" in client.ask(unknown).body
