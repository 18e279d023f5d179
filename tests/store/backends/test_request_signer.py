"""Requests are signed as botocore signs them, and as our own server verifies them."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo.credentials import AwsCredentials
from tablewright.store.backends.http.exchange import Destination, Proxy
from tablewright.store.backends.request_signer import RequestSigner

DESTINATION = Destination("127.0.0.1", 8000, None, None, 1.0, 1.0, 1, False)

ascii_text = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
paths = st.text("abcXYZ019-_.~/%+=&;:@!$'()*,", max_size=30).map(lambda text: "/" + text.strip("/").replace("..", "x"))


def headers_of(data: bytes) -> dict[str, str]:
    lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


@given(
    access_key=st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=4, max_size=40),
    secret=ascii_text,
    token=st.none() | ascii_text,
    region=st.sampled_from(["us-east-1", "eu-west-1", "us-gov-west-1", "localhost"]),
    host=st.sampled_from(["dynamodb.eu-west-1.amazonaws.com", "127.0.0.1:8000", "[::1]:8000"]),
    path=paths,
    target=st.sampled_from(["DynamoDB_20120810.GetItem", "DynamoDBStreams_20120810.GetRecords"]),
    body=st.binary(max_size=200),
    now=st.integers(0, 4_000_000_000),
)
def test_the_signature_is_the_one_that_botocore_makes(
    access_key: str,
    secret: str,
    token: str | None,
    region: str,
    host: str,
    path: str,
    target: str,
    body: bytes,
    now: int,
) -> None:
    url = f"http://{host}{path}"
    if urlsplit(url).path != path or "/./" in f"{path}/":
        return  # not a path that an endpoint can have
    signer = RequestSigner(DESTINATION, host, path, region, AwsCredentials(access_key, secret, token))
    ours = headers_of(signer.request(target, body, now + 0.7))
    headers = {"Content-Type": ours["content-type"], "X-Amz-Target": target}
    request = AWSRequest("POST", url, headers, body)
    with patch("botocore.auth.get_current_datetime", lambda: datetime.fromtimestamp(now, UTC)):
        SigV4Auth(Credentials(access_key, secret, token), "dynamodb", region).add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]
    assert ours["x-amz-date"] == request.headers["X-Amz-Date"]
    assert ours["host"] == host
    assert ours.get("x-amz-security-token") == token
    assert int(ours["content-length"]) == len(body)


def test_the_time_of_each_request_counts() -> None:
    signer = RequestSigner(DESTINATION, "a", "/", "us-east-1", AwsCredentials("AKIA", "secret"))
    days = [headers_of(signer.request("t", b"", now))["x-amz-date"] for now in (86_399.9, 86_400.0, 86_400.2)]
    assert days == ["19700101T235959Z", "19700102T000000Z", "19700102T000000Z"]


@pytest.mark.parametrize(("tls", "line"), [(False, b"POST http://h/ HTTP/1.1"), (True, b"POST / HTTP/1.1")])
def test_a_proxy_of_a_plain_endpoint_is_sent_the_whole_address(tls: bool, line: bytes) -> None:
    import ssl

    proxy = Proxy("proxy", 3128, None, b"Proxy-Authorization: Basic eDp5\r\n")
    destination = Destination("h", 80, ssl.create_default_context() if tls else None, proxy, 1.0, 1.0, 1, False)
    data = RequestSigner(destination, "h", "/", "us-east-1", AwsCredentials("AKIA", "s")).request("t", b"", 0)
    assert data.startswith(line)
    assert (b"Proxy-Authorization" in data) is not tls


def test_secrets_are_not_printed() -> None:
    assert "hush" not in repr(AwsCredentials("AKIA", "hush", "hush"))
    assert "hush" not in repr(Proxy("proxy", 1, None, b"hush"))
