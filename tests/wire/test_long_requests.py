"""A request that takes long: others are answered meanwhile, its own connection keeps its order, and it ends with its
client."""

from __future__ import annotations

import asyncio
import gc
import gzip
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import orjson
import pytest

from tablewright.dynamo import InternalServerError, ValidationException
from tablewright.engine import Commit, Engine, Outcome, Unfinished
from tablewright.wire import long_requests
from tablewright.wire import server as server_module
from tablewright.wire.endpoint import Endpoint
from tablewright.wire.http.messages import Request
from tablewright.wire.long_requests import LARGE_BODY, LongRequest, LongRequests
from tablewright.wire.server import Server, serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, request

SCAN = b"DynamoDB_20120810.Scan"
PUT = b"DynamoDB_20120810.PutItem"
GET = b"DynamoDB_20120810.GetItem"


class Scanning(Unfinished):
    """A scan that goes on, slice by slice, until the test lets it end."""

    def __init__(self, end: Callable[[], Outcome]) -> None:
        self.beside = None
        self.slices = 0
        self.released = threading.Event()
        self.end = end

    def resume(self) -> Outcome | Unfinished:
        self.slices += 1
        return self.end() if self.released.is_set() else self


class SlicingEngine(FakeEngine):
    """Every scan of it is a ``Scanning``."""

    def __init__(self) -> None:
        super().__init__()
        self.scans: list[Scanning] = []
        self.end: Callable[[], Outcome] = lambda: (b'{"Count":1}', None)

    def begin(self, operation: str, checked: Any, /) -> Outcome | Unfinished:  # type: ignore[override]
        if operation != "Scan":
            return super().begin(operation, checked)
        self.scans.append(Scanning(self.end))
        return self.scans[-1]

    def scan(self, number: int = 0) -> Scanning:
        wait_for(lambda: len(self.scans) > number)
        return self.scans[number]


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("it did not come about within five seconds")


def test_others_are_answered_meanwhile() -> None:
    engine = SlicingEngine()
    with serve_in_thread(engine) as url, Client(url) as scanning, Client(url) as other, Client(url) as third:
        scanning.send(request(b"{}", SCAN))
        engine.scan().slices = 0
        for _ in range(5):
            assert other.ask(request(b'{"n":1}', GET)).body == b'{"n":1}'
        third.send(request(b"{}", SCAN))
        wait_for(lambda: engine.scan(1).slices > 3 and engine.scan().slices > 3)
        engine.scan(1).released.set()
        assert third.receive().body == b'{"Count":1}'
        engine.scan().released.set()
        assert scanning.receive().body == b'{"Count":1}'


def test_requests_behind_it_on_its_connection_keep_their_order() -> None:
    engine = SlicingEngine()
    with serve_in_thread(engine) as url, Client(url) as client:
        client.send(request(b"{}", SCAN) + request(b'{"n":2}', GET))
        engine.scan().released.set()
        assert client.receive().body == b'{"Count":1}'
        assert client.receive().body == b'{"n":2}'


def test_it_ends_when_its_client_leaves() -> None:
    engine = SlicingEngine()
    with serve_in_thread(engine) as url, Client(url) as other:
        with Client(url) as client:
            client.send(request(b"{}", SCAN))
            wait_for(lambda: engine.scan().slices > 0)
        assert other.ask(request(b"{}", GET)).status == 200

        def is_at_rest() -> bool:
            before = engine.scan().slices
            time.sleep(0.05)
            return engine.scan().slices == before

        wait_for(is_at_rest)


def test_what_it_has_written_is_committed_now_and_then() -> None:
    """To commit all of it at its end would take long."""
    engine = SlicingEngine()
    with serve_in_thread(engine) as url, Client(url) as client:
        client.send(request(b"{}", SCAN))
        wait_for(lambda: engine.flushes > 2)
        engine.scan().released.set()
        client.receive()
    assert engine.scan().slices >= 2 * long_requests._SLICES_IN_A_COMMIT


def test_what_it_has_written_is_committed_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for its commit any more, and others may not come for a while."""
    monkeypatch.setattr(long_requests, "_SLICES_IN_A_COMMIT", 1_000_000_000)
    engine = SlicingEngine()
    with serve_in_thread(engine) as url:
        with Client(url) as client:
            client.send(request(b"{}", SCAN))
            wait_for(lambda: engine.scan().slices > 0)
            assert engine.flushes == 0
        wait_for(lambda: engine.flushes > 0)


def test_its_error_is_a_response() -> None:
    def refused() -> Outcome:
        raise ValidationException("not this way")

    engine = SlicingEngine()
    engine.end = refused
    with serve_in_thread(engine) as url, Client(url) as client:
        client.send(request(b"{}", SCAN))
        engine.scan().released.set()
        response = client.receive()
        assert response.status == 400
        assert orjson.loads(response.body)["message"] == "not this way"


@pytest.mark.parametrize("error", [None, InternalServerError("the disk is full")])
def test_its_response_waits_for_the_commit(error: InternalServerError | None) -> None:
    commit = Commit()
    engine = SlicingEngine()
    engine.end = lambda: (b'{"Count":1}', commit)
    engine.open_commit = commit
    engine.flush_error = error
    with serve_in_thread(engine) as url, Client(url) as client:
        client.send(request(b"{}", SCAN))
        engine.scan().released.set()
        assert client.receive().status == (200 if error is None else 500)
        engine.flush_error = None


# -- many at once -------------------------------------------------------------------------------------------


class Iterations:
    """A loop's iterations, and how many slices were done in each."""

    def __init__(self) -> None:
        self.slices: list[int] = []

    def count(self) -> None:
        self.slices[-1] += 1


class CountedScan(Unfinished):
    """A scan of so many slices, each of which is counted."""

    def __init__(self, slices: int, iterations: Iterations) -> None:
        self.beside = None
        self._left = slices
        self._iterations = iterations

    def resume(self) -> Outcome | Unfinished:
        self._iterations.count()
        self._left -= 1
        return self if self._left > 0 else (b"{}", None)


class CountingEngine(FakeEngine):
    """Scans take slices; everything else takes none."""

    def __init__(self, slices: int) -> None:
        super().__init__()
        self.iterations = Iterations()
        self._slices = slices

    def begin(self, operation: str, checked: Any, /) -> Outcome | Unfinished:  # type: ignore[override]
        if operation != "Scan":
            return super().begin(operation, checked)
        return CountedScan(self._slices, self.iterations).resume()


def arrive(engine: CountingEngine, operations: list[bytes]) -> tuple[list[int], list[int]]:
    """Requests that arrive in one iteration: gives the slices of each iteration, and the one that each ended in."""
    ended = [-1] * len(operations)

    async def run() -> None:
        requests = LongRequests()
        endpoint = Endpoint(engine, may_begin=requests.may_begin)
        engine.iterations.slices.append(0)
        for number, target in enumerate(operations):
            outcome = endpoint.respond(asked(target))

            def replied(_: object, number: int = number) -> None:
                ended[number] = len(engine.iterations.slices) - 1

            if isinstance(outcome, LongRequest):
                requests.add(outcome, replied, lambda: True)
            else:
                replied(outcome)
        while -1 in ended:
            engine.iterations.slices.append(0)
            await asyncio.sleep(0)

    asyncio.run(run())
    return engine.iterations.slices, ended


def asked(target: bytes) -> Request:
    incoming = Request()
    incoming.method, incoming.url, incoming.body = b"POST", b"/", b"{}"
    incoming.headers = {
        b"x-amz-target": target,
        b"content-type": b"application/x-amz-json-1.0",
        b"authorization": b"AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, "
        b"SignedHeaders=host, Signature=0",
        b"x-amz-date": b"20260101T000000Z",
    }
    return incoming


@pytest.mark.parametrize("count", [60, 300])
def test_of_many_that_arrive_at_once_few_have_a_slice_in_each_iteration(count: int) -> None:
    slices, ended = arrive(CountingEngine(3), [SCAN] * count)
    assert slices[0] == long_requests.FIRST_SLICES
    # Those in line, and one of those in turn.
    assert max(slices) <= long_requests.FIRST_SLICES + 1
    assert sum(slices) == 3 * count
    assert ended == sorted(ended)


@pytest.mark.parametrize("count", [60, 300])
def test_what_takes_no_slices_is_done_at_once_in_the_middle_of_them(count: int) -> None:
    _, ended = arrive(CountingEngine(3), [*[SCAN] * count, GET, PUT])
    assert ended[-2:] == [0, 0]


def test_those_who_need_one_slice_only_do_not_count() -> None:
    """Most queries do, and none of them is put off."""
    slices, ended = arrive(CountingEngine(1), [SCAN] * 60)
    assert (slices, set(ended)) == ([60], {0})


def test_a_waiting_request_waits_for_few_slices_of_others() -> None:
    """Each gets its first slice before anyone who came earlier has all of theirs."""
    count = 60
    slices, ended = arrive(CountingEngine(1000), [*[SCAN] * count])
    first = [number for number, total in enumerate(slices) if total > 1]
    assert len(first) <= count / long_requests.FIRST_SLICES + 1
    assert min(ended) > max(first)


def large(number: int) -> bytes:
    return orjson.dumps({"n": number, "text": "x" * LARGE_BODY})


def test_a_large_body_is_read_beside_the_others_and_answered_in_order() -> None:
    engine = FakeEngine()
    with serve_in_thread(engine) as url, Client(url) as client:
        client.send(request(large(1), GET) + request(b'{"n":2}', GET) + request(large(3), PUT))
        assert client.receive().body == large(1)
        assert client.receive().body == b'{"n":2}'
        assert client.receive().body == large(3)
        squeezed = gzip.compress(large(4))
        assert client.ask(request(squeezed, GET, content_encoding=b"gzip")).body == large(4)
        assert client.ask(request(b"[" * LARGE_BODY + b"]", GET)).status == 400


class BesideEngine(SlicingEngine):
    """A scan of it has something to do beside its slices."""

    def begin(self, operation: str, checked: Any, /) -> Outcome | Unfinished:  # type: ignore[override]
        outcome = super().begin(operation, checked)
        if isinstance(outcome, Scanning):
            outcome.beside = self.work
        return outcome

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []
        self.go_on = threading.Event()

    def work(self) -> None:
        self.threads.append(threading.get_ident())
        assert not gc.isenabled()
        assert self.go_on.wait(10)
        self.scans[0].beside = None
        self.scans[0].released.set()


def test_work_of_the_engine_outside_of_slices_blocks_no_other_request() -> None:
    engine = BesideEngine()
    with serve_in_thread(engine) as url, Client(url) as scanning, Client(url) as other:
        scanning.send(request(b"{}", SCAN))
        engine.scan()
        assert other.ask(request(b'{"n":2}', GET)).body == b'{"n":2}'
        engine.go_on.set()
        assert scanning.receive().body == b'{"Count":1}'
    assert len(engine.threads) == 1
    assert gc.isenabled()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_as_before_once_large_bodies_are_read(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with serve_in_thread(FakeEngine()) as url, Client(url) as client:
            assert client.ask(request(large(1), GET)).status == 200
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_large_bodies_beyond_the_bound_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_requests, "MAX_WAITING_BYTES", LARGE_BODY)
    with serve_in_thread(FakeEngine()) as url, Client(url) as client:
        assert client.ask(request(large(1), GET)).status == 503
        assert client.ask(request(b'{"n":2}', GET)).status == 200


def test_few_bodies_are_parsed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_requests, "_MAX_PARSED_BYTES", 2 * LARGE_BODY + 100)
    engine = SlicingEngine()
    with serve_in_thread(engine) as url, ExitStack() as clients:
        scanning = [clients.enter_context(Client(url)) for _ in range(5)]
        for client in scanning:
            client.send(request(large(0), SCAN))
        engine.scan(1)
        time.sleep(0.1)
        assert len(engine.scans) == 2
        # The first one is done, and another one leaves: there is room for the next ones.
        engine.scan().released.set()
        engine.scan(2)
        for client in scanning[1:]:
            client.reset()
        assert Client(url).ask(request(large(7), GET)).body == large(7)


def test_slices_are_done_for_few_requests_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_requests, "MAX_IN_TURN", 2)
    engine = SlicingEngine()
    with serve_in_thread(engine) as url, ExitStack() as clients:
        scanning = [clients.enter_context(Client(url)) for _ in range(4)]
        for number, client in enumerate(scanning):
            client.send(request(b"{}", SCAN))
            engine.scan(number)
        wait_for(lambda: engine.scan().slices > 5 and engine.scan(1).slices > 5)
        assert (engine.scan(2).slices, engine.scan(3).slices) == (0, 0)
        for scan in (3, 2, 1, 0):
            engine.scan(scan).released.set()
        assert [client.receive().status for client in scanning] == [200] * 4


def test_a_page_for_which_there_is_no_room_any_more_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Server] = []

    class Seen(Server):
        async def start(self) -> None:
            servers.append(self)
            await super().start()

    monkeypatch.setattr(server_module, "Server", Seen)
    engine = SlicingEngine()
    engine.end = lambda: (b"x" * 100_000, None)
    with serve_in_thread(engine) as url, Client(url) as client, Client(url) as small:
        client.send(request(b"{}", SCAN))
        engine.scan()
        # There was room when it began; since then, others have taken it.
        servers[0].unsent.limit = -1
        engine.scan().released.set()
        assert client.receive().status == 503
        servers[0].unsent.limit = 0
        assert small.ask(request(b"{}", GET)).status == 200


def test_a_large_item_is_stored_and_a_wrong_one_refused() -> None:
    table = {
        "TableName": "rows",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    item = {"pk": {"S": "a"}, "text": {"S": "x" * 300_000}}
    with Engine.open() as engine, serve_in_thread(engine) as url, Client(url) as client:
        engine.call("CreateTable", table)
        put = request(orjson.dumps({"TableName": "rows", "Item": item}), PUT)
        assert client.ask(put).status == 200
        assert engine.call("GetItem", {"TableName": "rows", "Key": {"pk": {"S": "a"}}})["Item"] == item
        wrong = request(orjson.dumps({"TableName": "rows", "Item": {**item, "n": {"N": "x"}}}), PUT)
        assert client.ask(wrong).status == 400
        missing = request(orjson.dumps({"TableName": "row", "Item": item}), PUT)
        assert orjson.loads(client.ask(missing).body)["__type"].endswith("ResourceNotFoundException")
