"""The benchmarks measure what they say: the load generator counts answers, the page keeps its other parts."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks import load, report, workload
from benchmarks.report import Section

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"


def test_the_generator_counts_complete_answers() -> None:
    def in_two_pieces(connection: socket.socket) -> None:
        connection.sendall(OK[:20])
        connection.sendall(OK[20:])

    with stub(in_two_pieces) as (port, served):
        result = load.run(load.Load(port, [[b"ping"]] * 2, seconds=0.2, warm_up=0))
    assert not result.failed
    assert 0 < result.answered <= len(served)
    assert 0 < result.p50 <= result.p99


def test_the_generator_connects_again_when_the_server_closes() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")

    def answer_and_close(connection: socket.socket) -> None:
        connection.sendall(closing)
        connection.close()

    with stub(answer_and_close) as (port, _):
        result = load.run(load.Load(port, [[b"ping"]], seconds=0.2, warm_up=0))
    assert not result.failed
    assert result.answered > 1


def test_the_generator_reports_failures() -> None:
    with stub(lambda connection: connection.sendall(REFUSED)) as (port, _):
        result = load.run(load.Load(port, [[b"ping"]], seconds=0.1, warm_up=0))
    assert result.failed
    assert result.first_failure == REFUSED.decode()


@contextmanager
def stub(answer: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers whatever arrives on a connection."""
    served: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            while connection.fileno() >= 0 and (data := connection.recv(1024)):
                served.append(data)
                answer(connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], served
        listener.shutdown(socket.SHUT_RDWR)


def test_a_part_measured_again_replaces_itself_only(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    order = ["a", "b"]
    for part, figure in [("b", "1/s"), ("a", "2/s"), ("b", "3/s")]:
        report.write(Section(part, f"Part {part}", ["a note"], ["", "rate"], [["get", figure]]), order, page)
    text = page.read_text()
    assert [line for line in text.splitlines() if line.startswith("| get")] == [
        "| get | 2/s |",
        "| get | 3/s |",
    ]
    assert text.index("## Part a") < text.index("## Part b")


def test_the_page_begins_with_what_its_words_mean() -> None:
    assert report.PAGE.read_text("utf-8").startswith(report.INTRODUCTION)


@pytest.mark.parametrize("size", [1_000, 50_000])
def test_an_index_query_answers_ten_items(size: int) -> None:
    groups = [workload.group(n) for n in range(size)]
    assert {groups.count(group) for group in set(groups[:100])} == {10}


def test_a_batch_holds_25_items_and_the_last_one_the_rest() -> None:
    sizes = [len(batch["RequestItems"][workload.TABLE]) for batch in workload.batches(60)]
    assert sizes == [25, 25, 10]


@pytest.mark.parametrize("operation", ["put", "transact"])
def test_every_write_of_a_cycle_changes_its_items(operation: str) -> None:
    items: dict[str, workload.Json] = {}
    name, requests = workload.cycle(operation, range(100), 50, seed=1)
    for request in requests * 2:
        puts = [request] if name == "PutItem" else [action["Put"] for action in request["TransactItems"]]
        for put in puts:
            identity = put["Item"]["sk"]["S"]
            assert items.get(identity) != put["Item"]
            items[identity] = put["Item"]
