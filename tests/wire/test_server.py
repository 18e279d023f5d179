"""The server as a whole: start, stop, threads."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import threading
import time
from contextlib import ExitStack

import pytest

from tablewright.event_loops import new_event_loop
from tablewright.wire import server as server_module
from tablewright.wire.server import Server, serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, request

PUT = b"DynamoDB_20120810.PutItem"


def test_a_stopped_server_has_flushed_and_listens_no_more(engine: FakeEngine) -> None:
    with serve_in_thread(engine) as url, Client(url) as client:
        assert client.ask(request(b"{}", PUT)).status == 200
    flushes = engine.flushes
    assert flushes >= 2
    with pytest.raises(ConnectionError):
        Client(url)


def test_a_request_under_way_is_answered_before_the_server_stops(engine: FakeEngine) -> None:
    answers = []
    with serve_in_thread(engine) as url:
        client = Client(url)
        data = request(b'{"n":1}', PUT)
        client.send(data[:-3])
        time.sleep(0.1)

        def finish() -> None:
            time.sleep(0.3)
            answers.append(client.ask(data[-3:]))

        thread = threading.Thread(target=finish)
        thread.start()
    thread.join()
    assert answers[0].body == b'{"n":1}'
    assert answers[0].headers["connection"] == "close"
    client.socket.close()


def test_a_commit_that_another_thread_makes_releases_the_answer() -> None:
    class SlowEngine(FakeEngine):
        """Its flush leaves the work to a thread, as when another thread commits at the same time."""

        def flush(self) -> None:
            commit, self.open_commit = self.open_commit, None
            if commit is not None:
                threading.Timer(0.05, commit.finish, [None]).start()

    with serve_in_thread(SlowEngine()) as url, Client(url) as client:
        client.send(request(b'{"n":1}', PUT) + request(b'{"n":2}'))
        assert client.receive().body == b'{"n":1}'
        assert client.receive().body == b'{"n":2}'


def test_an_address_in_use_is_an_oserror(engine: FakeEngine) -> None:
    with serve_in_thread(engine) as url, pytest.raises(OSError, match="in use"):  # noqa: SIM117
        with serve_in_thread(engine, port=int(url.rpartition(":")[2])):
            pass


def test_a_server_that_cannot_listen_leaves_no_metrics_behind(engine: FakeEngine) -> None:
    async def scenario(taken: int) -> None:
        server = Server(engine, port=taken, metrics=("127.0.0.1", 0))
        with pytest.raises(OSError, match="in use"):
            await server.start()
        assert server.metrics_server is not None
        with pytest.raises(ConnectionError):
            Client(server.metrics_server.url)

    with socket.create_server(("127.0.0.1", 0)) as taken, asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(scenario(taken.getsockname()[1]))


def test_a_part_of_a_head_does_not_delay_the_stop(engine: FakeEngine) -> None:
    with ExitStack() as clients:
        with serve_in_thread(engine) as url:
            answered, new = clients.enter_context(Client(url)), clients.enter_context(Client(url))
            assert answered.ask(request()).status == 200
            for each in (answered, new):
                each.send(b"POST / HTTP/1.1\r\nHost: a")
            time.sleep(0.1)
            began = time.monotonic()
        assert time.monotonic() - began < 3
        assert answered.closed()
        assert new.closed()


def test_connections_are_bounded_by_the_descriptors_of_the_process(engine: FakeEngine) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/dev/fd"))
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 70, hard))
        try:
            url = stack.enter_context(serve_in_thread(engine))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        clients = [stack.enter_context(Client(url)) for _ in range(40)]
        assert clients[0].ask(request()).status == 200
        assert clients[-1].receive().status == 503


def test_it_runs_on_asyncio_s_own_loop_as_well(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "new_event_loop", asyncio.new_event_loop)
    with serve_in_thread(engine) as url, Client(url) as client:
        client.send(request(b'{"n":1}', PUT) + request(b'{"n":2}'))
        assert [client.receive().body, client.receive().body] == [b'{"n":1}', b'{"n":2}']
        assert client.ask(b"nonsense\r\n\r\n").status == 400
        assert client.closed()


def test_a_second_stop_signal_does_not_wait(engine: FakeEngine) -> None:
    async def scenario() -> None:
        server = Server(engine)
        await server.start()
        _, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(request()[:-1])
        await asyncio.sleep(0.1)
        # It would wait for longer than the test may take.
        stopping = asyncio.create_task(server.stop(3600))
        await asyncio.sleep(0.1)
        assert not stopping.done()
        server.abort_all()
        await stopping
        writer.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(scenario())


def test_ipv6_addresses_make_valid_urls(engine: FakeEngine) -> None:
    with serve_in_thread(engine, host="::1") as url:
        assert url.startswith("http://[::1]:")
        with Client(url) as client:
            assert client.ask(request()).status == 200
