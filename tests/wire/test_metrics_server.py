"""The metrics of a server: what they count, and where they can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tablewright.dynamo import InternalServerError, ValidationException
from tablewright.engine import Engine
from tablewright.wire import server as server_module
from tablewright.wire.endpoint import EngineLike
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.request_metrics import RequestMetrics, family
from tablewright.wire.server import Server, serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, Response, request

PUT = b"DynamoDB_20120810.PutItem"
GET = b"DynamoDB_20120810.GetItem"
Figure = Callable[..., float | None]


@contextmanager
def measured(engine: EngineLike, limits: Limits | None = None) -> Iterator[tuple[str, str]]:
    """A server with metrics: its URL, and that of the metrics."""
    servers: list[Server] = []

    class Measured(Server):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options, metrics=("127.0.0.1", 0))
            servers.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_module, "Server", Measured)
        with serve_in_thread(engine, limits=limits) as url:
            assert servers[0].metrics_server is not None
            yield url, servers[0].metrics_server.url


def get(
    url: str, path: bytes = b"/metrics", *, host: bytes = b"localhost:8000", origin: bytes | None = None
) -> Response:
    data = request(b"", None, method=b"GET", path=path, authorization=None, host=host, origin=origin)
    with Client(url) as client:
        return client.ask(data)


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """All samples, by their name and labels, as Prometheus' own library reads them."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for each in text_string_to_metric_families(text)
        for sample in each.samples
    }


def figure(url: str, name: str, **labels: str) -> float | None:
    return samples(get(url).body.decode()).get((name, frozenset(labels.items())))


def test_requests_are_counted_by_operation_and_status(engine: FakeEngine) -> None:
    engine.answers["Scan"] = ValidationException("no")
    with measured(engine) as (url, metrics), Client(url) as client:
        for data in (
            request(b"{}", PUT),
            request(b"{}", PUT),
            request(b"{}", GET),
            request(target=b"DynamoDB_20120810.Scan"),
            request(target=b"Nothing"),
            request(b'{"x":"' + b"x" * 300_000 + b'"}', GET),
        ):
            client.ask(data)
        engine.flush_error = InternalServerError("the disk is full")
        client.ask(request(b"{}", PUT))
        engine.flush_error = None
        # In the midst of others: the writes wait for a commit, and the reads wait for them.
        client.send((request(b"{}", PUT) + request(b"{}", GET)) * 10)
        for _ in range(20):
            client.receive()
        count = "tablewright_requests_total"
        assert figure(metrics, count, operation="PutItem", status="200") == 12
        assert figure(metrics, count, operation="PutItem", status="500") == 1
        assert figure(metrics, count, operation="GetItem", status="200") == 12
        assert figure(metrics, count, operation="Scan", status="400") == 1
        assert figure(metrics, count, operation="other", status="400") == 1
        assert figure(metrics, "tablewright_request_seconds_count", operation="GetItem") == 12
        assert figure(metrics, "tablewright_request_seconds_bucket", operation="GetItem", le="+Inf") == 12
        seconds = figure(metrics, "tablewright_request_seconds_sum", operation="PutItem")
        assert seconds is not None
        assert 0 < seconds < 60


def test_latency_is_until_the_response_is_durable(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    flush = engine.flush

    def slow_flush() -> None:
        time.sleep(0.06)
        flush()

    monkeypatch.setattr(engine, "flush", slow_flush)
    with measured(engine) as (url, metrics), Client(url) as client:
        client.ask(request(b"{}", PUT))
        assert figure(metrics, "tablewright_request_seconds_bucket", operation="PutItem", le="0.05") == 0
        assert figure(metrics, "tablewright_request_seconds_count", operation="PutItem") == 1


def test_refusals_are_counted(engine: FakeEngine) -> None:
    with measured(engine, Limits(connections=2)) as (url, metrics):
        with Client(url) as client:
            assert client.ask(request(host=b"rebound.example")).status == 403
            assert client.ask(b"nonsense\r\n\r\n").status == 400
        with Client(url) as one, Client(url) as other, Client(url) as third:
            assert one.ask(request()).status == 200
            assert other.ask(request()).status == 200
            assert third.receive().status == 503
        for status in ("403", "400", "503"):
            assert figure(metrics, "tablewright_refusals_total", status=status) == 1


def test_the_state_of_the_server_is_there(engine: FakeEngine) -> None:
    with measured(engine) as (url, metrics), Client(url) as client:
        client.send(request(b"", content_length=b"1000000") + b"x" * 500_000)
        deadline = time.monotonic() + 5
        while figure(metrics, "tablewright_received_bytes") != 500_000 - 65_536:
            assert time.monotonic() < deadline
        assert figure(metrics, "tablewright_connections") == 1
        assert figure(metrics, "tablewright_log_bytes") == 1234567
        assert figure(metrics, "tablewright_database_bytes") == 4096
        assert figure(metrics, "tablewright_checkpoints_total") == 3
        assert figure(metrics, "tablewright_healthy") == 1
        engine.troubles = ["the disk is full"]
        assert figure(metrics, "tablewright_healthy") == 0
        assert figure(metrics, "tablewright_unsent_bytes") == 0
        assert figure(metrics, "tablewright_long_requests") == 0
        assert figure(metrics, "tablewright_responses_waiting") == 0
        assert get(metrics, b"/").body == b"unhealthy: the disk is full"


def test_units_are_counted_by_table_and_index(tmp_path: Path) -> None:
    table = {
        "TableName": "rows",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "kind")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-kind",
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    with Engine.open(tmp_path) as engine, measured(engine) as (url, metrics), Client(url) as client:
        engine.call("CreateTable", table)
        item = {"pk": {"S": "a"}, "kind": {"S": "k"}, "text": {"S": "x" * 1500}}
        response = client.ask(request(orjson.dumps({"TableName": "rows", "Item": item}), PUT))
        assert response.body == b"{}"
        client.ask(request(orjson.dumps({"TableName": "rows", "Key": {"pk": {"S": "a"}}}), GET))
        name = "tablewright_consumed_capacity_units_total"
        assert figure(metrics, name, table="rows", index="", kind="write") == 2
        assert figure(metrics, name, table="rows", index="by-kind", kind="write") == 2
        assert figure(metrics, name, table="rows", index="", kind="read") == 0.5
        log = figure(metrics, "tablewright_log_bytes")
        assert log is not None
        assert log > 4096


def test_web_pages_and_other_paths_get_nothing(engine: FakeEngine) -> None:
    with measured(engine) as (_, metrics):
        assert get(metrics, origin=b"https://app.example").status == 403
        assert get(metrics, host=b"rebound.example").status == 403
        assert get(metrics, b"/other").status == 404
        with Client(metrics) as client:
            assert client.ask(request()).status == 404
        assert get(metrics, b"/").body == b"healthy: localhost:8000"


def test_without_them_nothing_is_measured(engine: FakeEngine) -> None:
    with serve_in_thread(engine):
        assert not hasattr(engine, "sink")


def test_names_of_tables_cannot_break_the_text() -> None:
    name = 'a"b\\c\nd'
    assert samples(family("x_total", "counter", "x", [("", {"table": name}, 1.5)])) == {
        ("x_total", frozenset({("table", name)})): 1.5
    }


def test_a_histogram_adds_up() -> None:
    metrics = RequestMetrics()
    for seconds in (0.0001, 0.0005, 0.3, 99.0):
        metrics.responded("Query", 200, seconds)
    found = samples("".join(metrics.families()))

    def upto(bound: str) -> float:
        return found["tablewright_request_seconds_bucket", frozenset({("operation", "Query"), ("le", bound)})]

    assert [upto(bound) for bound in ("0.0005", "0.001", "0.25", "0.5", "10.0", "+Inf")] == [2, 2, 2, 3, 3, 4]
    total = found["tablewright_request_seconds_sum", frozenset({("operation", "Query")})]
    assert total == pytest.approx(99.3006)
