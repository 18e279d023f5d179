"""One connection: framing, order, limits and time-outs, whatever the client sends."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.server import serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, request

PUT = b"DynamoDB_20120810.PutItem"
MB = 1024 * 1024


@contextmanager
def connected(engine: FakeEngine, **limits: float) -> Iterator[Client]:
    """A client of a server with other limits."""
    with serve_in_thread(engine, limits=Limits(**limits)) as url, Client(url) as client:  # type: ignore[arg-type]
        yield client


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = request(b"", length=False, transfer_encoding=b"chunked")
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def test_a_connection_serves_many_requests(http: Client) -> None:
    for number in range(50):
        assert http.ask(request(b'{"Limit":%d}' % number)).body == b'{"Limit":%d}' % number


def test_a_request_may_arrive_byte_by_byte(http: Client) -> None:
    for byte in request(b'{"Limit":1}'):
        http.send(bytes([byte]))
    assert http.receive().body == b'{"Limit":1}'


def test_pipelined_requests_are_answered_in_order(http: Client, engine: FakeEngine) -> None:
    # Every second one waits for a commit; the others are ready before it.
    http.send(
        b"".join(
            request(b'{"n":%d}' % number, PUT if number % 2 else b"DynamoDB_20120810.GetItem") for number in range(200)
        )
    )
    assert [json.loads(http.receive().body)["n"] for _ in range(200)] == list(range(200))
    assert engine.flushes < 100


def test_requests_that_arrive_together_share_a_commit(http: Client, engine: FakeEngine) -> None:
    http.send(b"".join(request(b'{"n":%d}' % number, PUT) for number in range(20)))
    for _ in range(20):
        assert http.receive().status == 200
    # One or two, and some more where 2 ms are soon over: requests take turns.
    assert engine.flushes <= 10


def test_a_write_that_cannot_be_made_durable_is_a_500(http: Client, engine: FakeEngine) -> None:
    engine.flush_error = InternalServerError("disk full")
    assert http.ask(request(b"{}", PUT)).status == 500
    engine.flush_error = None
    assert http.ask(request(b"{}", PUT)).status == 200


def test_a_chunked_body_is_put_together(http: Client) -> None:
    assert http.ask(chunked(b'{"Li', b'mit":', b"42}")).body == b'{"Limit":42}'
    assert http.ask(request()).status == 200


def test_trailers_have_the_bounds_of_a_head(engine: FakeEngine) -> None:
    with connected(engine, head_bytes=1000) as client:
        client.send(chunked(b"{}", end=b"0\r\n" + b"x: y\r\n" * 1000))
        assert client.receive().status == 400


def test_a_trailer_changes_nothing(http: Client, engine: FakeEngine) -> None:
    data = chunked(b"{}", end=b"0\r\nX-Amz-Target: DynamoDB_20120810.DeleteTable\r\n\r\n")
    assert http.ask(data).status == 200
    assert engine.calls == [("ListTables", {})]


def test_expect_100_continue_is_answered_before_the_body(http: Client) -> None:
    body = b'{"Limit":3}'
    head = request(b"", content_length=str(len(body)).encode(), expect=b"100-continue")
    assert http.ask(head).status == 100
    assert http.ask(body).body == body


def test_another_expectation_is_refused(http: Client) -> None:
    assert http.ask(request(expect=b"200-ok")).status == 417
    assert http.closed()


def test_connection_close_is_honoured(http: Client) -> None:
    response = http.ask(request(connection=b"close"))
    assert (response.status, response.headers["connection"]) == (200, "close")
    assert http.closed()


def test_http_1_0_closes_unless_asked_not_to(url: str) -> None:
    old = request().replace(b"HTTP/1.1", b"HTTP/1.0")
    with Client(url) as client:
        assert client.ask(old).status == 200
        assert client.closed()
    with Client(url) as client:
        kept = request(connection=b"keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0")
        assert client.ask(kept).headers["connection"] == "keep-alive"
        assert client.ask(kept).status == 200


def test_a_client_that_half_closes_gets_its_answers(http: Client) -> None:
    http.send(request(b'{"n":1}', PUT) + request(b'{"n":2}', PUT))
    http.socket.shutdown(socket.SHUT_WR)
    assert [http.receive().body, http.receive().body] == [b'{"n":1}', b'{"n":2}']
    assert http.closed()


def test_an_offer_to_upgrade_is_declined(http: Client) -> None:
    offer = request(b'{"n":1}', connection=b"Upgrade", upgrade=b"h2c")
    assert http.ask(offer + request(b'{"n":2}')).body == b'{"n":1}'
    assert http.receive().body == b'{"n":2}'


def test_any_number_of_offers_may_arrive_at_once(http: Client, engine: FakeEngine) -> None:
    engine.answers["GetItem"] = b"{}"
    offer = request(b"", b"DynamoDB_20120810.GetItem", connection=b"Upgrade", upgrade=b"x", content_length=b"2") + b"{}"
    count = 5000
    with ThreadPoolExecutor(1) as sender:
        sending = sender.submit(http.send, offer * count)
        assert {http.receive().status for _ in range(count)} == {200}
        sending.result()


def test_an_offer_of_http_1_0_closes_the_connection(http: Client) -> None:
    offer = request(connection=b"Upgrade", upgrade=b"h2c").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert http.ask(offer).headers["connection"] == "close"


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nbad header\r\n\r\n",
        request(b"{}", length=False, content_length=b"minus"),
        request(b"{}", content_length=b"2, 3"),
        request(b"{}", transfer_encoding=b"chunked"),
        request(b"zz\r\n{}\r\n", length=False, transfer_encoding=b"chunked"),
    ],
    ids=["words", "tls", "http/2", "header", "length", "two lengths", "length and chunked", "chunk size"],
)
def test_what_is_not_http_is_refused(http: Client, engine: FakeEngine, data: bytes) -> None:
    assert http.ask(data).status == 400
    assert http.closed()
    assert engine.calls == []


def test_a_refusal_comes_after_the_answers_still_owed(http: Client) -> None:
    http.send(request(b'{"n":1}', PUT) + b"nonsense\r\n\r\n")
    assert http.receive().body == b'{"n":1}'
    assert http.receive().status == 400
    assert http.closed()


def test_a_body_of_sixteen_megabytes_is_taken(http: Client, engine: FakeEngine) -> None:
    engine.answers["ListTables"] = b"{}"
    body = b'{"x":"' + b"x" * (16 * MB - 8) + b'"}'
    assert len(body) == 16 * MB
    assert http.ask(request(body)).status == 200


def test_a_length_may_begin_with_any_number_of_zeros(url: str, engine: FakeEngine) -> None:
    engine.answers["ListTables"] = b"{}"
    zeros = b"0" * 5000  # more digits than Python reads as a number
    with Client(url) as client:
        assert client.ask(request(b"{}", content_length=zeros + b"2")).status == 200
    with Client(url) as client:
        assert client.ask(request(b"", content_length=zeros + b"16777217")).status == 413


def test_a_larger_body_is_refused(url: str, engine: FakeEngine) -> None:
    with Client(url) as client:  # by its length, before it is sent
        assert client.ask(request(b"", content_length=b"16777217")).status == 413
    with Client(url) as client:  # a client that sends it all the same gets to read the answer
        response = client.ask(request(b"x" * (20 * MB)))
        assert (response.status, response.body) == (413, b"")
        assert response.headers["transfer-encoding"] == "chunked"
    with Client(url) as client:  # and one that does not say how long it is
        assert client.ask(chunked(*[b"x" * MB] * 17)).status == 413
    with Client(url) as client:
        head = request(b"", content_length=b"99999999999999", expect=b"100-continue")
        assert client.ask(head).status == 413
    assert engine.calls == []


def test_a_head_has_limits(url: str) -> None:
    with Client(url) as client:
        assert client.ask(request(x_large=b"x" * 60_000)).status == 200
        assert client.ask(request(x_large=b"x" * 70_000)).status == 400
    with Client(url) as client:
        many: dict[str, bytes | None] = {f"x_{number}": b"x" for number in range(200)}
        assert client.ask(request(b"{}", **many)).status == 400  # type: ignore[arg-type]
    with Client(url) as client:
        assert client.ask(request(path=b"/?" + b"x" * 70_000)).status == 400


def test_a_head_has_the_same_limits_in_pieces(url: str) -> None:
    for sent in (request(path=b"/?" + b"x" * 70_000), request(x_large=b"x" * 70_000)):
        with Client(url) as client:
            client.send(sent[:60_000])
            time.sleep(0.1)
            client.send(sent[60_000:])
            assert client.receive().status == 400


def test_fields_of_one_name_count_one_by_one(url: str) -> None:
    line = b"X-Same: x\r\n"
    with Client(url) as client:
        assert client.ask(request().replace(b"\r\n\r\n", b"\r\n" + 100 * line + b"\r\n")).status == 200
        assert client.ask(request().replace(b"\r\n\r\n", b"\r\n" + 200 * line + b"\r\n")).status == 400


def test_a_head_that_does_not_end_is_bounded_as_one_that_does(url: str) -> None:
    for fields in (
        b"".join(b"X-%d: x\r\n" % number for number in range(200)),
        b"X-Large: %b\r\n" % (b"x" * 70_000) + b"X: x\r\nY",
    ):
        with Client(url) as client:
            client.send(b"POST / HTTP/1.1\r\n" + fields)
            assert client.receive().status == 400


def test_a_small_head_before_a_large_body_is_not_refused(http: Client) -> None:
    body = b'{"text":"%b"}' % (b"x" * 200_000)
    assert http.ask(request(body)).body == body


def test_a_header_without_an_end_is_refused(url: str) -> None:
    with Client(url) as client:
        client.send(b"POST / HTTP/1.1\r\nX-Endless: ")
        with pytest.raises((ConnectionError, TimeoutError, AssertionError)):  # noqa: PT012
            for _ in range(200):
                client.send(b"x" * 10_000)
                time.sleep(0.001)
            raise AssertionError("the server took two megabytes of header")
    with Client(url) as client:
        client.send(b"POST / HTTP/1.1\r\nX-Endless: ")
        for _ in range(40):
            client.send(b"x" * 10_000)
            time.sleep(0.002)
        assert client.receive().status == 400


def test_a_head_that_dribbles_in_times_out(engine: FakeEngine) -> None:
    with connected(engine, head_seconds=0.3, drain_seconds=0.1) as client:
        client.send(b"POST / HTTP/1.1\r\n")
        client.socket.settimeout(0.05)
        response = None
        while response is None:
            with suppress(TimeoutError):
                client.send(b"X-Slow: 1\r\n")
                response = client.receive()
        assert response.status == 408
        client.socket.settimeout(3)
        assert client.closed()


def test_a_body_that_dribbles_in_times_out(engine: FakeEngine) -> None:
    with connected(engine, body_seconds=0.2, drain_seconds=0.1) as client:
        client.send(request(b"", content_length=b"100"))
        client.send(b"{")
        assert client.receive().status == 408
        assert client.closed()
    assert engine.calls == []


def test_an_idle_connection_is_closed(engine: FakeEngine) -> None:
    with connected(engine, idle_seconds=0.2) as client:
        assert client.ask(request()).status == 200
        assert client.closed()
    with connected(engine, idle_seconds=0.2) as client:
        assert client.closed()


def test_a_client_that_does_not_read_is_dropped(engine: FakeEngine) -> None:
    engine.answers["Scan"] = b"x" * MB
    with connected(engine, write_seconds=0.3) as client:
        client.send(request(target=b"DynamoDB_20120810.Scan") * 100)
        time.sleep(1.0)
        # It was not answered a hundred times over into memory, and is gone.
        assert len(engine.calls) < 20
        with pytest.raises(ConnectionError):  # noqa: PT012
            for _ in range(100):
                client.receive()


def test_a_client_that_reads_late_gets_everything(http: Client, engine: FakeEngine) -> None:
    engine.answers["Scan"] = b"x" * MB
    http.send(request(target=b"DynamoDB_20120810.Scan") * 30)
    time.sleep(0.3)
    for _ in range(30):
        assert len(http.receive().body) == MB
    assert http.ask(request()).status == 200


def test_connections_have_a_bound(engine: FakeEngine) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(serve_in_thread(engine, limits=Limits(connections=3)))
        clients = [stack.enter_context(Client(url)) for _ in range(3)]
        for client in clients:
            assert client.ask(request()).status == 200
        extra = stack.enter_context(Client(url))
        assert extra.receive().status == 503
        assert extra.closed()
        clients[0].socket.close()
        time.sleep(0.1)
        assert stack.enter_context(Client(url)).ask(request()).status == 200


def test_a_tunnel_is_refused_once(url: str) -> None:
    with Client(url) as client:
        client.socket.sendall(request(b"", method=b"CONNECT", path=b"elsewhere:80"))
        received = b""
        while chunk := client.socket.recv(65536):
            received += chunk
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(b"HTTP/1.1 404 ")
