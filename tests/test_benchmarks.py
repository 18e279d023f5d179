"""The benchmarks measure what they say.

The load generator counts answers, the page keeps its other parts, and those who are compared do the same work.
"""

import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks import (
    delayed_way,
    dynamodb_local,
    load,
    orders,
    over_http,
    over_http_256,
    packages,
    postgres,
    relocation,
    remote_targets,
    report,
    servers,
    services_postgres,
    store,
    store_targets,
    studio,
    workload,
)
from benchmarks.report import Section
from benchmarks.store_targets import Place, Target
from tablewright import Engine
from tablewright.store import Store
from tablewright.store.flow.driver import Request
from tablewright.wire import serve_in_thread

ROOT = Path(__file__).resolve().parent.parent
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


@pytest.mark.parametrize("operation", ["get", "transact"])
@pytest.mark.parametrize("connections", [over_http.CONNECTIONS, over_http_256.CONNECTIONS])
def test_each_connection_has_items_of_its_own(operation: str, connections: int) -> None:
    server = servers.Server("any", 0)
    cycles = over_http.requests(server, operation, seed=0, connections=connections)
    assert len(cycles) == connections
    assert all(cycles)
    first, second = set(cycles[0]), set(cycles[1])
    assert first.isdisjoint(second)


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


def test_transactions_fill_a_table_as_batches_do() -> None:
    batches = [put["PutRequest"] for batch in workload.batches(130) for put in batch["RequestItems"][workload.TABLE]]
    transactions = [action["Put"] for request in workload.transactions(130) for action in request["TransactItems"]]
    assert [put["Item"] for put in transactions] == [put["Item"] for put in batches]


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


# -- the part `remote` ----------------------------------------------------------------------------------------------


def test_a_delayed_way_takes_its_time_in_both_directions_and_carries_requests_side_by_side() -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        near = servers.Server("near", int(url.rpartition(":")[2]))
        with delayed_way.delayed(near, 0.05) as far:
            connections = [http.client.HTTPConnection("127.0.0.1", far.port) for _ in range(8)]
            for connection in connections:
                far.call(connection, "ListTables", {})
            started = time.perf_counter()
            threads = [
                threading.Thread(target=far.call, args=(connection, "ListTables", {})) for connection in connections
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert time.perf_counter() - started >= 0.1
            for connection in connections:
                connection.close()


def test_the_store_of_the_part_remote_reads_and_writes_orders() -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url, Store.on(engine) as filled:
        filled.ensure_tables(orders.orders)
        filled.write_many(orders.order(n) for n in range(30))
        target = remote_targets.StoreTarget(url, 4)
        assert target.rate("get", 30, 0.05, 1) > 0
        assert target.rate("put", 30, 0.05, 1) > 0
        assert target.scan_rate() > 0
        target.stop()
        assert {each.revision for each in filled.iterate(orders.Order)} == {2}


# -- the part `relocation` ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.requirement("SH6")
def test_a_relocation_is_measured_and_loses_no_write(tmp_path: Path) -> None:
    figures = relocation.run(tmp_path, 200)
    assert list(figures) == [*relocation.RATES, *relocation.TIMES]
    assert all(value > 0 for values in figures.values() for value in values)


def test_the_longest_hold_of_all_rounds_decides() -> None:
    figures = {name: [0.5, 0.6, 1.2] for name in [*relocation.RATES, *relocation.TIMES]}
    rows = {row[0]: row[1:] for row in relocation.section(figures, 3).rows}
    assert rows[relocation.CUT] == ["0.60 s", "1.20 s", "≤ 1 s", "**missed**"]
    assert rows[relocation.LAG] == ["0.60 s", "1.20 s", "", ""]


# -- the parts in a browser: `studio`, `screens` ---------------------------------------------------------------------

STUDIO = "from benchmarks import studio; print(studio.measured(3_000, 1).render())"
SCREENS = "from benchmarks import screens; print(screens.measured(300, 1).render())"


def run_part(part: str, **settings: str) -> str:
    """In a process of its own: Playwright has one event loop in a thread."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} | settings
    command = [sys.executable, "-c", part]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout


def test_without_a_browser_these_parts_say_that_it_is_missing(tmp_path: Path) -> None:
    shown = run_part(f"{STUDIO}; {SCREENS}", PATH=str(tmp_path), PLAYWRIGHT_BROWSERS_PATH=str(tmp_path))
    assert shown.count("not measured here: no Chromium starts; `playwright install chromium` gets one") == 2


@pytest.mark.slow
@pytest.mark.requirement("ST2")
def test_the_studio_is_measured_in_a_browser() -> None:
    shown = run_part(STUDIO)
    if "not measured here" in shown:
        pytest.skip(shown)
    assert [name for name in studio.FIGURES if re.search(rf"{name} \| [1-9]\d* ms \| [1-9]\d* ms", shown)] == [
        *studio.FIGURES
    ]


@pytest.mark.slow
@pytest.mark.requirement("AP2")
def test_the_first_screens_are_measured_in_a_browser() -> None:
    shown = run_part(SCREENS)
    if "not measured here" in shown:
        pytest.skip(shown)
    assert len(re.findall(r"^\| [A-Z].*: .* \| \d+ ms \| \d+ ms \|", shown, re.MULTILINE)) == 5


# -- the part `store` -----------------------------------------------------------------------------------------------

EMBEDDED = [store_targets.StoreTarget, store_targets.EngineTarget]
CLIENTS = [
    store_targets.StoreTarget,
    store_targets.Boto3Target,
    store_targets.PynamodbTarget,
    store_targets.PydynoxTarget,
]


@pytest.fixture
def server() -> Iterator[tuple[Engine, Place]]:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        yield engine, Place(url)


def made(kind: type[Target], place: Place) -> Target:
    """A target with forty orders."""
    packages.activate()
    if kind is store_targets.PydynoxTarget:
        pytest.importorskip("pydynox", reason="pydynox is installed by `make bench`")
    target = kind(place)
    target.fill(40)
    return target


def stored(engine: Engine, n: int) -> Any:
    return engine.call("GetItem", {"TableName": orders.orders.name, "Key": orders.key(n)}).get("Item")


@pytest.mark.parametrize("kind", CLIENTS)
def test_all_clients_put_the_same_item(kind: type[Target], server: tuple[Engine, Place]) -> None:
    engine, place = server
    target = made(kind, place)
    target.put(7, 3)()
    target.close()
    assert stored(engine, 7) == orders.order(7, 3).item()


@pytest.mark.parametrize("kind", CLIENTS)
def test_all_clients_read_what_they_are_asked_for(kind: type[Target], server: tuple[Engine, Place]) -> None:
    target = made(kind, server[1])
    one, ten = target.get(7)(), target.query(23)()
    target.close()
    assert number_of(one) == 7
    assert [number_of(each) for each in items_of(ten)] == list(range(20, 30))


@pytest.mark.parametrize("kind", EMBEDDED)
def test_embedded_targets_read_what_they_are_asked_for(kind: type[Target], tmp_path: Path) -> None:
    for place in (Place(), Place(folder=tmp_path)):
        target = made(kind, place)
        target.put(7, 3)()
        assert number_of(target.get(7)()) == 7
        assert [number_of(each) for each in items_of(target.query(23)())] == list(range(20, 30))
        assert target.engine is not None
        assert stored(target.engine, 7) == orders.order(7, 3).item()
        target.close()


def number_of(answer: Any) -> int:
    """The number of an order, whatever a target gives for it."""
    item = answer.get("Item", answer) if isinstance(answer, dict) else answer
    return int(item["number"]["N"] if isinstance(item, dict) else item.number)


def items_of(answer: Any) -> list[Any]:
    if isinstance(answer, list):
        return answer
    return list(answer["Items"] if isinstance(answer, dict) else answer.items)


def test_the_engine_is_called_with_the_requests_of_the_store() -> None:
    asked: list[Request] = []
    target = made(store_targets.StoreTarget, Place())
    backend = target.store.backend

    class Listening:
        def call(self, request: Request) -> Any:
            asked.append(request)
            return backend.call(request)

    target.store.backend = Listening()  # type: ignore[assignment]
    sent = made(store_targets.EngineTarget, Place())
    for operation in store.OPERATIONS:
        asked.clear()
        for call in target.calls(operation, 40, seed=1):
            call()
        replayed = [call.args for call in sent.calls(operation, 40, seed=1)]  # type: ignore[attr-defined]
        assert [(request.operation, request.body) for request in asked] == replayed
        assert len(asked) == (80 if operation == "put" else 40)
    backend.close()
    sent.close()


def test_parts_import_nothing_of_what_they_measure() -> None:
    """The process of the part `scale` is weighed, and imports the modules of all parts."""
    program = "import sys, benchmarks.__main__; print(sorted(name for name in sys.modules if 'tablewright' in name))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_awaited_calls_are_made() -> None:
    target = made(store_targets.AsyncStoreTarget, Place())
    assert target.run(target.calls("put", 40, seed=1), 0.05) > 0
    assert target.engine is not None
    assert {stored(target.engine, n)["revision"]["N"] for n in range(40)} != {"0"}
    target.close()


def test_every_put_of_a_cycle_changes_its_order() -> None:
    target = made(store_targets.EngineTarget, Place())
    assert target.engine is not None
    puts = [call.args[1]["Item"] for call in target.calls("put", 40, seed=1)]  # type: ignore[attr-defined]
    target.close()
    for n in range(40):
        revisions = [put for put in puts * 2 if put["number"] == {"N": str(n)}]
        assert len(revisions) == 4
        assert all(before != after for before, after in pairwise(revisions))


def test_the_fastest_peer_of_each_row_counts() -> None:
    rates = {
        "get": {
            store.FOLDER: [100.0, 160.0],
            store.MEMORY: [200.0, 320.0],
            store.ASYNC: [50.0, 80.0],
            store.ENGINE: [500.0, 800.0],
            store.ENDPOINT: [10.0, 16.0],
            store.PYNAMODB: [5.0, 8.0],
            "boto3 with one": [2.0, 3.2],
            "boto3 with two": [10.0, 16.0],
        }
    }
    rows = [[row[0], row[2].partition(":")[0], *row[3:]] for row in store.section(rates).rows]
    assert rows == [
        ["get, data folder", "boto3 with two", "10×", "15×", "**missed**"],  # noqa: RUF001
        ["get, memory", "boto3 with two", "20×", "15×", "reached"],  # noqa: RUF001
        ["get, AsyncStore, memory", "boto3 with two", "5.00×", "15×", "**missed**"],  # noqa: RUF001
        ["get, memory: cost", "engine.call", "2.50", "≤ 2", "**missed**"],
        ["get, own server", "PynamoDB", "2.00×", "", ""],  # noqa: RUF001
    ]


def test_without_postgresql_the_comparison_says_that_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "find", lambda: None)
    section = services_postgres.measure(0.1, 1)
    assert section.rows == []
    assert "not measured here: PostgreSQL (on Debian: apt-get install postgresql) is missing" in section.notes


# -- DynamoDB Local -------------------------------------------------------------------------------------------------


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Puts a program of a few lines of shell on a path that has nothing else, before an empty cache."""
    bin = tmp_path / "bin"
    bin.mkdir()
    monkeypatch.setenv("PATH", str(bin))
    monkeypatch.setattr(dynamodb_local, "CACHE", tmp_path / "cache")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")

    def install(name: str, script: str) -> None:
        (bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin / name).chmod(0o755)

    return install


def test_without_java_or_maven_dynamodb_local_says_so(toolchain: Callable[[str, str], None]) -> None:
    with pytest.raises(dynamodb_local.NotHereError, match="java is not installed"):
        dynamodb_local.command()
    toolchain("java", "true")
    with pytest.raises(dynamodb_local.NotHereError, match="mvn, which fetches it, is not installed"):
        dynamodb_local.command()


def test_a_fetch_that_fails_leaves_nothing_behind(toolchain: Callable[[str, str], None], tmp_path: Path) -> None:
    toolchain("java", "true")
    toolchain("mvn", "echo no such artifact; exit 1")
    with pytest.raises(dynamodb_local.NotHereError, match="Maven could not fetch it: no such artifact"):
        dynamodb_local.command()
    assert list((tmp_path / "cache").iterdir()) == []


def test_dynamodb_local_is_fetched_once(toolchain: Callable[[str, str], None], tmp_path: Path) -> None:
    toolchain("java", "true")
    # The last argument is the folder to fill.
    toolchain("mvn", 'for last; do :; done; /bin/mkdir "${last#*=}"; echo jar > "${last#*=}/DynamoDBLocal.jar"')
    in_memory = dynamodb_local.command()
    toolchain("mvn", "exit 1")
    on_file = dynamodb_local.command(tmp_path / "data")
    (libraries,) = (tmp_path / "cache").iterdir()
    assert (libraries / "DynamoDBLocal.jar").exists()
    assert str(libraries / "*") in in_memory
    assert "-inMemory" in in_memory
    assert on_file[on_file.index("-dbPath") + 1] == str(tmp_path / "data")
    assert (tmp_path / "data").is_dir()


def test_a_server_is_waited_for_until_it_has_done_what_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 20, 39, 40])
    monkeypatch.setattr(servers, "_processor_ticks", lambda pid: next(ticks))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    servers.Server("moto", 1, 1).wait_until_quiet()
    assert next(ticks, None) is None
