"""HTTP and ASGI in step: what an application is given, and what its clients get of what it sends."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.runtime.http.connections import address_of, connected, received, running
from tests.systems.harness import wait_for

MB = 1024 * 1024


class Application:
    """Answers in all the ways there are, and notes what became of those who listened."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.left = threading.Semaphore(0)
        self.goes_on = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = getattr(self, scope["path"].strip("/").partition("/")[0] or "root", self.root)
        await answer(scope, receive, send)

    async def root(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = ("method", "path", "query_string", "raw_path", "scheme", "root_path", "http_version", "type")
        told: dict[str, Any] = {name: _text(scope[name]) for name in names}
        told["headers"] = {_text(name): _text(value) for name, value in scope["headers"]}
        told["has_client"] = scope["client"][0] == "127.0.0.1"
        told["body"] = _text(await Request(scope, receive).body())
        await JSONResponse(told)(scope, receive, send)

    async def length(self, scope: Scope, receive: Receive, send: Send) -> None:
        total = 0
        async for part in Request(scope, receive).stream():
            total += len(part)
        await JSONResponse(total)(scope, receive, send)

    async def empty(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(status_code=204)(scope, receive, send)

    async def parts(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def some() -> AsyncIterator[bytes]:
            for number in range(5):
                yield b"part %d;" % number

        await StreamingResponse(some())(scope, receive, send)

    async def measured(self, scope: Scope, receive: Receive, send: Send) -> None:
        """In parts, of a length that is told."""
        headers = [(b"content-length", b"6")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for last, part in ((False, b"abc"), (False, b""), (True, b"def")):
            await send({"type": "http.response.body", "body": part, "more_body": not last})

    async def unmeasured(self, scope: Scope, receive: Receive, send: Send) -> None:
        """In one part, of no length."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"abc"})

    async def endless(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def ticks() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"tick;"
                    await asyncio.sleep(0.01)
            finally:
                self.left.release()

        await StreamingResponse(ticks())(scope, receive, send)

    async def patient(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Waits until its client is gone."""
        await Request(scope, receive).body()
        assert (await receive())["type"] == "http.disconnect"
        self.left.release()

    async def slow(self, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.to_thread(self.goes_on.wait, 30)
        await Response("slow")(scope, receive, send)

    async def refuses(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers before it has taken anything of the body."""
        await Response("no", 403)(scope, receive, send)

    async def fails(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError("of all things")

    async def breaks(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ends in the middle of its answer."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"abc", "more_body": True})
        raise LookupError("of all things")

    async def says_nothing(self, scope: Scope, receive: Receive, send: Send) -> None:
        return

    async def injects(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"x-name", b"a\r\nx-other: b")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[uvicorn.Server, Application]]:
    application = Application()
    with running(application) as server:
        yield server, application


@pytest.fixture
def server(started: tuple[uvicorn.Server, Application]) -> uvicorn.Server:
    """The server of all tests, once those of the test before have left."""
    server, _ = started
    wait_for(lambda: not server.server_state.tasks and not server.server_state.connections)
    return server


@pytest.fixture
def application(server: uvicorn.Server, started: tuple[uvicorn.Server, Application]) -> Application:
    _, application = started
    application.reset()
    return application


@pytest.fixture
def url(server: uvicorn.Server) -> str:
    return address_of(server)


def raw(url: str, sent: bytes) -> bytes:
    """All that is answered to what is sent, up to the end of the connection."""
    with connected(url) as connection:
        connection.sendall(sent)
        return received(connection)


def test_the_application_receives_the_whole_request(url: str) -> None:
    answer = httpx.post(f"{url}/a%20b/%C3%BC%2Fc?x=%20y&z", content=b"body", headers={"X-Name": "value"}).json()
    assert (answer["method"], answer["type"], answer["scheme"], answer["root_path"]) == ("POST", "http", "http", "")
    assert (answer["path"], answer["raw_path"]) == ("/a b/ü/c", "/a%20b/%C3%BC%2Fc")
    assert (answer["query_string"], answer["body"], answer["http_version"]) == ("x=%20y&z", "body", "1.1")
    assert answer["headers"]["x-name"] == "value"
    assert answer["has_client"]


def test_an_address_may_have_its_host_in_it(url: str) -> None:
    answer = raw(url, b"GET http://example.org/there?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b'"path":"/there"' in answer
    assert b'"query_string":"x=1"' in answer


@pytest.mark.parametrize("size", [0, 1, 70_000, 3 * MB])
def test_a_body_is_taken_whatever_its_framing(url: str, size: int) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(10):
            yield b"x" * (size // 10)

    with httpx.Client(base_url=url, timeout=60) as client:
        for _ in range(3):
            assert client.post("/length", content=b"x" * size).json() == size
            assert client.post("/length", content=parts()).json() == size // 10 * 10


def test_a_body_in_small_pieces_is_put_together(url: str) -> None:
    with connected(url) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\nConnection: close\r\n\r\n" + b"x" * 20:
            connection.sendall(bytes([byte]))
        assert received(connection).endswith(b"\r\n\r\n20")


def test_answers_have_a_date_and_a_length(url: str) -> None:
    answer = httpx.get(url)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["date"].endswith(" GMT")


def test_an_answer_without_content_has_none(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        for _ in range(2):
            answer = client.get("/empty")
            assert (answer.status_code, answer.content) == (204, b"")
            assert "content-length" not in answer.headers
            assert "transfer-encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/parts", "/measured", "/unmeasured", "/empty"])
def test_an_answer_to_head_has_no_body(url: str, path: str) -> None:
    with httpx.Client(base_url=url) as client:
        for _ in range(2):
            assert client.head(path).content == b""
        # Nothing is left over that would be taken for the beginning of this one.
        assert client.get("/parts").text.startswith("part 0;")


def test_an_answer_in_parts_is_put_together(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        for _ in range(3):
            assert client.get("/parts").text == "part 0;part 1;part 2;part 3;part 4;"
            assert client.get("/measured").text == "abcdef"
            assert client.get("/unmeasured").text == "abc"


def test_the_last_answer_says_so_and_the_connection_ends(url: str) -> None:
    answer = raw(url, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b"\r\nconnection: close\r\n" in answer.lower()


def test_a_connection_serves_many_requests(server: uvicorn.Server, url: str) -> None:
    with httpx.Client(base_url=url) as client:
        assert [client.get(path).status_code for path in ("/", "/parts", "/empty", "/") * 5] == [200, 200, 204, 200] * 5
        assert len(server.server_state.connections) == 1


def test_answers_come_in_the_order_of_the_requests(url: str, application: Application) -> None:
    with connected(url) as connection:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.sendall(b"GET /parts HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.sendall(b"GET /measured HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        application.goes_on.set()
        answer = received(connection)
    assert answer.count(b"HTTP/1.1 200") == 3
    assert answer.index(b"slow") < answer.index(b"part 4") < answer.index(b"abcdef")


def test_a_client_may_disconnect_from_an_endless_response(url: str, application: Application) -> None:
    with connected(url) as connection:
        connection.sendall(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
        read = b""
        while read.count(b"tick;") < 3:
            read += connection.recv(65536)
    assert application.left.acquire(timeout=30)


def test_an_application_that_waits_hears_that_its_client_is_gone(
    server: uvicorn.Server, url: str, application: Application
) -> None:
    with connected(url) as connection:
        connection.sendall(b"POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
        wait_for(lambda: server.server_state.tasks)
    assert application.left.acquire(timeout=30)
    wait_for(lambda: not server.server_state.tasks and not server.server_state.connections)


@pytest.mark.parametrize("size", [100, 8 * MB])
def test_an_answer_before_its_request_is_over_arrives(url: str, size: int) -> None:
    with connected(url) as connection:
        connection.sendall(f"POST /refuses HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 403 ")
        # The rest of the body is not taken for a request.
        connection.sendall(b"x" * size)
        connection.sendall(b"GET /measured HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = received(connection)
        assert (answer.count(b"HTTP/1.1 "), answer[-6:]) == (1, b"abcdef")


def test_a_failure_is_an_answer_and_the_next_one_is_not_harmed(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        for path in ("/fails", "/says_nothing"):
            assert client.get(path).status_code == 500
            assert client.get("/measured").text == "abcdef"


def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(url: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{url}/breaks")


def test_a_header_of_several_lines_is_not_sent(url: str) -> None:
    assert b"x-other" not in raw(url, b"GET /injects HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")


def test_a_client_that_waits_for_leave_gets_it(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(b"POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n")
        connection.sendall(b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"abc")
        assert received(connection).endswith(b"\r\n\r\n3")


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n",
        b"POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(url: str, sent: bytes) -> None:
    assert raw(url, sent).startswith(b"HTTP/1.1 400 ")


def test_a_broken_body_ends_what_waits_for_it(server: uvicorn.Server, url: str) -> None:
    with connected(url) as connection:
        connection.sendall(b"POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        wait_for(lambda: server.server_state.tasks)
        connection.sendall(b"zz\r\n")
        assert received(connection).startswith(b"HTTP/1.1 400 ")
    wait_for(lambda: not server.server_state.tasks and not server.server_state.connections)
