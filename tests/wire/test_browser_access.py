"""No web page can use a local server, unless it is told to let it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tablewright.wire.browser_access import BrowserAccess, ForbiddenRequest, parse_origin
from tablewright.wire.http.messages import Request
from tablewright.wire.server import serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, request

APP = b"https://app.example"
EXPOSED = "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"


def preflight(origin: bytes) -> bytes:
    return request(
        b"",
        None,
        method=b"OPTIONS",
        origin=origin,
        authorization=None,
        access_control_request_headers=b"x-amz-target",
        access_control_request_method=b"POST",
    )


@pytest.fixture
def open_to_app(engine: FakeEngine) -> Iterator[Client]:
    with serve_in_thread(engine, cors=["https://app.example", "null"]) as url, Client(url) as client:
        yield client


# -- origins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [APP, b"null", b"http://localhost:8000", b"", b"*", b"https://app.example,x"])
def test_by_default_no_page_may_use_the_server(http: Client, engine: FakeEngine, origin: bytes) -> None:
    for data in (
        request(origin=origin),
        preflight(origin),
        request(b"", None, method=b"GET", origin=origin),
        request(b"{", content_type=b"text/plain", origin=origin),
    ):
        response = http.ask(data)
        assert response.status == 403
        assert not [name for name in response.headers if name.startswith("access-control")]
        refusal = json.loads(response.body)
        assert refusal["__type"] == "com.amazon.coral.service#AccessDeniedException"
        assert f"Web pages of {origin.decode()} may not use this server" in refusal["Message"]
        assert "--cors" in refusal["Message"]
    assert engine.calls == []


def test_a_preflight_of_an_allowed_page_is_granted(open_to_app: Client) -> None:
    response = open_to_app.ask(preflight(APP))
    assert (response.status, response.body) == (200, b"")
    assert response.headers["access-control-allow-origin"] == "https://app.example"
    assert response.headers["access-control-allow-headers"] == "x-amz-target"
    assert response.headers["access-control-allow-methods"] == "POST"
    assert response.headers["access-control-max-age"] == "172800"
    assert response.headers["vary"] == "Origin"


@pytest.mark.parametrize("origin", [APP, b"null"])
def test_an_allowed_page_may_read_every_answer(open_to_app: Client, origin: bytes) -> None:
    for data in (request(origin=origin), request(b"{", origin=origin), request(method=b"PUT", origin=origin)):
        headers = open_to_app.ask(data).headers
        assert headers["access-control-allow-origin"] == origin.decode()
        assert headers["access-control-expose-headers"] == EXPOSED
        assert headers["vary"] == "Origin"
    assert not [name for name in open_to_app.ask(request()).headers if name.startswith("access-control")]


def test_other_pages_stay_out(open_to_app: Client, engine: FakeEngine) -> None:
    for origin in (b"https://app.example.org", b"http://app.example", b"https://app.example:8443"):
        assert open_to_app.ask(request(origin=origin)).status == 403
    assert engine.calls == []


def test_a_star_is_for_all_pages(engine: FakeEngine) -> None:
    with serve_in_thread(engine, cors=["*"]) as url, Client(url) as client:
        headers = client.ask(request(origin=APP)).headers
        assert headers["access-control-allow-origin"] == "*"
        assert headers["access-control-expose-headers"] == EXPOSED
        assert "vary" not in headers


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("http://localhost:3000", "http://localhost:3000"),
        ("HTTPS://App.Example/", "https://app.example"),
        ("https://app.example:443", "https://app.example"),
        ("http://app.example:443", "http://app.example:443"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ("null", "null"),
        ("*", "*"),
    ],
)
def test_an_origin_is_taken_as_browsers_send_it(text: str, origin: str) -> None:
    assert parse_origin(text) == origin


@pytest.mark.parametrize(
    "text", ["", "localhost:3000", "app.example", "http://", "http://a/path", "http://a b", "http://a:b", "http://*.a"]
)
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as http://localhost:3000"):
        parse_origin(text)


# -- host names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        b"localhost",
        b"LOCALHOST:8000",
        b"localhost.",
        b"dynamodb.localhost:4567",
        b"127.0.0.1",
        b"127.0.0.1:8000",
        b"127.8.8.8:1",
        b"[::1]:8000",
        b"[::1]",
        b"::1",
    ],
)
def test_on_loopback_names_of_this_machine_are_answered_to(http: Client, host: bytes) -> None:
    assert http.ask(request(host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        b"rebound.example",
        b"rebound.example:8000",
        b"localhost.example",
        b"127.0.0.1.example:8000",
        b"notlocalhost",
        b"10.0.0.1:8000",
        b"0.0.0.0:8000",
        b"[::2]:8000",
        b"[::1",
        b"[::1:8000",
        b"[127.0.0.1",
        b"[::1]x",
        b"[::1].example",
        b"[]",
        b"localhost@rebound.example",
        b"",
        b"\xff",
    ],
)
def test_on_loopback_other_names_are_refused(http: Client, engine: FakeEngine, host: bytes) -> None:
    for data in (request(host=host), request(b"", None, method=b"GET", host=host)):
        response = http.ask(data)
        assert response.status == 403
        assert "does not accept the host name" in json.loads(response.body)["Message"]
    assert engine.calls == []


def test_the_name_it_listens_on_is_answered_to() -> None:
    access = BrowserAccess()
    access.on_loopback("Db.Local")
    access.check(with_host(b"db.local:8000"))
    with pytest.raises(ForbiddenRequest):
        access.check(with_host(b"other.local:8000"))


def test_elsewhere_any_name_is_answered_to(engine: FakeEngine) -> None:
    # Containers reach each other by the names of their services.
    with serve_in_thread(engine, host="0.0.0.0") as url, Client(url) as client:
        assert client.ask(request(host=b"database:8000")).status == 200


def test_names_that_were_checked_do_not_pile_up() -> None:
    access = BrowserAccess()
    access.on_loopback("127.0.0.1")
    for port in range(3000):
        access.check(with_host(b"localhost:%d" % port))
    assert len(access._known_hosts) <= 1000


def with_host(host: bytes) -> Request:
    made = Request()
    made.headers[b"host"] = host
    return made
