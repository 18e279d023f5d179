"""Who signs, and where requests go: credentials, endpoint rules, proxies, and clocks that are wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from botocore.config import Config

from tablewright.engine import Engine
from tablewright.store.backends import aws_access, endpoint_backend
from tablewright.store.backends.aws_access import AwsAccess
from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.backends.http.exchange import NOT_CONNECTED
from tablewright.store.backends.plain_access import DYNAMODB, STREAMS
from tablewright.store.backends.request_signer import RequestSigner
from tablewright.store.errors import StoreError
from tablewright.store.flow.driver import Request
from tablewright.wire import Verifier, serve_in_thread
from tablewright.wire.sigv4 import Credentials
from tests.store.backends.faces import LIST, Face, call, connected, failure
from tests.store.backends.scripted_server import Authority, Peer, answering, response, scripted

__all__ = ["call"]

KEYS = {"aws_access_key_id": "AKIAONE", "aws_secret_access_key": "secret"}


# -- endpoint rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "options", "service", "resource", "host", "signed_for"),
    [
        ("eu-west-1", {}, DYNAMODB, "", "dynamodb.eu-west-1.amazonaws.com", "eu-west-1"),
        ("eu-west-1", {}, STREAMS, "", "streams.dynamodb.eu-west-1.amazonaws.com", "eu-west-1"),
        ("cn-north-1", {}, DYNAMODB, "", "dynamodb.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        (
            "us-east-1",
            {"config": Config(use_fips_endpoint=True)},
            DYNAMODB,
            "",
            "dynamodb-fips.us-east-1.amazonaws.com",
            "us-east-1",
        ),
        (
            "us-east-1",
            {"config": Config(use_dualstack_endpoint=True)},
            DYNAMODB,
            "",
            "dynamodb.us-east-1.api.aws",
            "us-east-1",
        ),
        (
            "us-east-1",
            {"aws_account_id": "123456789012"},
            DYNAMODB,
            "",
            "123456789012.ddb.us-east-1.amazonaws.com",
            "us-east-1",
        ),
        (
            "us-east-1",
            {"aws_account_id": "123456789012"},
            DYNAMODB,
            "arn:aws:dynamodb:us-east-1:222222222222:table/Rows",
            "222222222222.ddb.us-east-1.amazonaws.com",
            "us-east-1",
        ),
        (
            "us-east-1",
            {"aws_account_id": "123456789012", "config": Config(account_id_endpoint_mode="disabled")},
            DYNAMODB,
            "",
            "dynamodb.us-east-1.amazonaws.com",
            "us-east-1",
        ),
        ("us-east-1", {"use_ssl": False}, DYNAMODB, "", "dynamodb.us-east-1.amazonaws.com", "us-east-1"),
    ],
)
def test_requests_go_where_botocore_would_send_them(
    region: str, options: dict[str, Any], service: str, resource: str, host: str, signed_for: str
) -> None:
    signer = AwsAccess(region, None, {**KEYS, **options}).load(service, resource)
    assert signer.destination.host == host
    secure = options.get("use_ssl", True)
    assert (signer.destination.port, signer.destination.tls is not None) == ((443, True) if secure else (80, False))
    data = signer.request("t", b"", time.time())
    assert f"\r\nHost: {host}\r\n".encode() in data
    assert f"/{signed_for}/dynamodb/aws4_request".encode() in data


def test_the_endpoint_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8123/base")
    signer = AwsAccess("us-east-1", None, KEYS).load(DYNAMODB, "")
    assert (signer.destination.host, signer.destination.port) == ("127.0.0.1", 8123)
    assert signer.request("t", b"", 0).startswith(b"POST /base HTTP/1.1\r\nHost: 127.0.0.1:8123\r\n")


def test_bounds_are_ours_unless_the_caller_has_others() -> None:
    ours = AwsAccess("us-east-1", None, KEYS).load(DYNAMODB, "").destination
    assert (ours.connect_seconds, ours.response_seconds, ours.max_connections) == (5.0, 30.0, 100)
    config = Config(connect_timeout=1, max_pool_connections=7, tcp_keepalive=True)
    given = AwsAccess("us-east-1", None, {**KEYS, "config": config}).load(DYNAMODB, "").destination
    assert (given.connect_seconds, given.response_seconds, given.max_connections) == (1.0, 30.0, 7)
    assert given.tcp_keepalive


# -- proxies ----------------------------------------------------------------------------------------------------------


def tunnelling(seen: list[bytes], port: int) -> Any:
    """A proxy that makes a tunnel to a port of this machine, whatever it is asked for."""
    import select
    import socket
    import ssl

    def script(peer: Peer) -> None:
        seen.append(peer.read_head())
        client = peer.connection
        with socket.create_connection(("127.0.0.1", port)) as other:
            peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            # In one thread: until Python 3.13, two must not use a TLS connection at once.
            while True:
                has_more = isinstance(client, ssl.SSLSocket) and client.pending() > 0
                ready = [client] if has_more else select.select([client, other], [], [], 10)[0]
                for source in ready:
                    data = source.recv(65536)
                    if not data:
                        return
                    (other if source is client else client).sendall(data)
                if not ready:
                    return

    return script


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.mark.parametrize("proxy_scheme", ["http", "https"])
def test_tls_goes_through_the_tunnel_of_a_proxy(call: Face, authority: Authority, proxy_scheme: str) -> None:
    seen: list[bytes] = []
    proxy_tls = authority.server_context() if proxy_scheme == "https" else None
    with (
        scripted(answering(response(b'{"TableNames":["a"]}')), tls=authority.server_context()) as server,
        scripted(tunnelling(seen, server.port), tls=proxy_tls) as proxy,
    ):
        address = f"{proxy_scheme}://user:pa%20ss@127.0.0.1:{proxy.port}"
        backend = connected(
            server.port, scheme="https", verify=str(authority.bundle), config={"proxies": {"https": address}}
        )
        assert [call(backend) for _ in range(3)] == [{"TableNames": ["a"]}] * 3
        assert proxy.connections == 1
        backend.close()
    assert seen[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic dXNlcjpwYSBzcw==" in seen[0]


def test_a_proxy_that_refuses(call: Face, authority: Authority) -> None:
    def refusing(peer: Peer) -> None:
        peer.read_head()
        peer.send(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    for script, words in ((refusing, "407"), (lambda peer: peer.read_head() and None, "did not respond to CONNECT")):
        with scripted(script) as proxy:
            config = {"proxies": {"https": f"http://127.0.0.1:{proxy.port}"}}
            backend = connected(1, scheme="https", config=config)
            failed = failure(call, backend)
            assert (failed.code, words in failed.message) == (NOT_CONNECTED, True)
            backend.close()


def test_a_plain_endpoint_is_asked_through_a_proxy(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[bytes] = []

    def script(peer: Peer) -> None:
        while True:
            heads.append(peer.read_request()[0])
            peer.send(response(b'{"TableNames":["a"]}'))

    with scripted(script) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:word@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "other.example")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("http_proxy", raising=False)
        backend = EndpointBackend("us-east-1", "http://db.example:8000", KEYS)
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()
        monkeypatch.setenv("NO_PROXY", "db.example")
        assert AwsAccess("us-east-1", "http://db.example:8000", KEYS).load(DYNAMODB, "").destination.proxy is None
    assert heads[0].startswith(b"POST http://db.example:8000/ HTTP/1.1\r\nHost: db.example:8000\r\n")
    assert b"Proxy-Authorization: Basic " in heads[0]


# -- clocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-3600.0, 3600.0, 86_400.0 * 400])
def test_a_wrong_clock_is_learnt_from_the_response(call: Face, monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    verifier = Verifier([Credentials("AKIAONE", "secret")])
    shifted = SimpleNamespace(time=lambda: time.time() + wrong, monotonic=time.monotonic)
    monkeypatch.setattr(endpoint_backend, "time", shifted)
    with Engine.open() as engine, serve_in_thread(engine, authenticate=verifier) as url:
        backend = EndpointBackend("us-east-1", url, KEYS)
        assert [call(backend) for _ in range(2)] == [{"TableNames": []}] * 2
        assert abs(backend._skew + wrong) < 5
        backend.close()


def test_a_signature_that_is_wrong_at_the_right_time_is_an_error(call: Face) -> None:
    verifier = Verifier([Credentials("AKIAONE", "another")])
    with Engine.open() as engine, serve_in_thread(engine, authenticate=verifier) as url:
        backend = EndpointBackend("us-east-1", url, KEYS)
        assert failure(call, backend).code == "InvalidSignatureException"
        backend.close()


# -- credentials that expire ------------------------------------------------------------------------------------------


class Rotation:
    """Credentials as a container gets them: each time they are asked for, the next ones."""

    def __init__(self, seconds: float) -> None:
        self.given = 0
        self.seconds = seconds

    def next(self) -> dict[str, Any]:
        self.given += 1
        expiration = datetime.now(UTC) + timedelta(seconds=self.seconds)
        return {
            "AccessKeyId": f"AKIA{self.given}",
            "SecretAccessKey": "secret",
            "Token": f"token{self.given}",
            "Expiration": expiration.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


@contextmanager
def container_credentials(rotation: Rotation, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = orjson.dumps(rotation.next())
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.server_port}/")
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def known(*numbers: int) -> Verifier:
    return Verifier([Credentials(f"AKIA{number}", "secret", f"token{number}") for number in numbers])


def test_credentials_that_the_service_rejects_are_loaded_anew(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although botocore's clock says that they are valid for hours."""
    rotation = Rotation(7200.0)
    with container_credentials(rotation, monkeypatch), Engine.open() as engine:
        with serve_in_thread(engine, authenticate=known(1)) as url:
            backend = EndpointBackend("us-east-1", url, {})
            assert [call(backend) for _ in range(3)] == [{"TableNames": []}] * 3
            assert rotation.given == 1
        backend.close()
        with serve_in_thread(engine, authenticate=known(3)) as url:
            backend = EndpointBackend("us-east-1", url, {})
            assert rotation.given == 2
            assert call(backend) == {"TableNames": []}
            assert rotation.given == 3
            backend.close()


def test_credentials_are_renewed_in_the_background_before_they_expire(
    call: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    # botocore renews what expires within a quarter of an hour, and is looked at every minute.
    monkeypatch.setattr(aws_access, "_CHECK_SECONDS", 0.0)
    rotation = Rotation(720.0)
    with (
        container_credentials(rotation, monkeypatch),
        Engine.open() as engine,
        serve_in_thread(engine, authenticate=known(*range(1, 500))) as url,
    ):
        backend = EndpointBackend("us-east-1", url, {})
        first = rotation.given
        for _ in range(200):
            assert call(backend) == {"TableNames": []}
            if rotation.given > first + 1:
                break
            time.sleep(0.01)
        assert rotation.given > first + 1
        backend.close()


def test_without_credentials_it_says_so(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    backend = EndpointBackend("us-east-1", "http://127.0.0.1:1", {})
    failed = failure(call, backend)
    assert failed.code == "NoCredentials"
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE" in failed.message
    backend.close()


def test_keys_that_were_given_are_not_replaced_by_others(call: Face) -> None:
    with Engine.open() as engine, serve_in_thread(engine, authenticate=known(1)) as url:
        backend = EndpointBackend("us-east-1", url, KEYS)
        assert failure(call, backend).code == "UnrecognizedClientException"
        backend.close()


def test_an_unsupported_proxy_setting_is_refused(tmp_path: Path) -> None:
    config = Config(proxies={"https": "http://127.0.0.1:1"}, proxies_config={"proxy_use_forwarding_for_https": True})
    with pytest.raises(StoreError, match="proxy_use_forwarding_for_https is not supported"):
        EndpointBackend("us-east-1", "https://127.0.0.1:1", {**KEYS, "config": config}).call(LIST)


def test_a_configuration_that_botocore_cannot_use_is_an_error_of_the_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    (tmp_path / "config").write_text("[profile broken]\nsso_session = missing\nsso_account_id = 1\nsso_role_name = r\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "broken")
    with pytest.raises(StoreError, match="sso-session does not exist"):
        EndpointBackend("us-east-1", "http://127.0.0.1:1", {})


def test_credentials_that_are_not_there_in_time_are_an_error_by_the_deadline(
    call: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = threading.Event()
    with Engine.open() as engine, serve_in_thread(engine) as url:
        backend = EndpointBackend("us-east-1", url, KEYS)
        load = backend._access.load

        def slowly(service: str, resource: str) -> RequestSigner:
            given.wait(10)
            return load(service, resource)

        monkeypatch.setattr(backend._access, "load", slowly)
        began = time.monotonic()
        failed = failure(call, backend, Request("ListTables", {}, deadline=began + 0.2))
        took = time.monotonic() - began
        given.set()
        assert failed.code == NOT_CONNECTED
        assert failed.message == "the AWS credentials could not be obtained in time"
        assert took < 8
        assert call(backend) == {"TableNames": []}
        backend.close()
