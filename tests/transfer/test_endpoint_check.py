"""``tablewright check``: what an endpoint can do is found out, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from tablewright.design import load
from tablewright.engine import Engine
from tablewright.store import EmbeddedBackend, Request, Response, ServiceError
from tablewright.transfer import CAPABILITIES, EndpointReport, check_endpoint, needs_of
from tablewright.transfer.acceptance import table_probes
from tablewright.wire import serve_in_thread
from tests.cli.commands import ROOT, error_line, run
from tests.store.endpoints import moto_url

pytestmark = pytest.mark.requirement("SH7")


class Lacking:
    """A backend on the engine that refuses, or changes, the answers to some requests."""

    def __init__(self, engine: Engine, *operations: str, **changed: dict[str, object]) -> None:
        self._inner = EmbeddedBackend(engine, owned=False)
        self._operations, self._changed = operations, changed

    def call(self, request: Request) -> Response:
        raise NotImplementedError

    async def call_async(self, request: Request) -> Response:
        if request.operation in self._operations:
            raise ServiceError("UnknownOperationException", "")
        response = await self._inner.call_async(request)
        return {**response, **self._changed.get(request.operation, {})}

    def close(self) -> None:
        pass


def checked(engine: Engine, *operations: str, **changed: dict[str, object]) -> EndpointReport:
    report = asyncio.run(check_endpoint(Lacking(engine, *operations, **changed)))
    assert [result.name for result in report.results] == list(CAPABILITIES)
    assert report.left_over == []
    assert engine.call("ListTables", {})["TableNames"] == []
    return report


def test_our_server_can_do_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        status, out, _ = run(capsys, "check", "--endpoint", url, "tablewright.systems.support")
        assert engine.call("ListTables", {})["TableNames"] == []
        assert engine.call("ListBackups", {})["BackupSummaries"] == []
    expected = [f"yes      {name}" for name in CAPABILITIES]
    assert out.splitlines() == [*expected, "", "Support:", "  everything that it needs is supported"]
    assert status == 0


def test_a_missing_operation_is_reported_with_what_needs_it() -> None:
    with Engine.open() as engine:
        report = checked(engine, "TransactWriteItems", "UpdateTimeToLive")
    lacking = report.lacking
    assert {name: result.outcome for name, result in lacking.items()} == {
        "transactions": "no",
        "transactions once by token": "no",
        "transactions of 100 actions and 4 MB": "no",
        "isolation of transactions": "no",
        "time to live": "no",
        "the store": "no",
    }
    assert lacking["time to live"].detail == "UnknownOperationException"
    (design,) = load("tablewright.systems.support")
    needs = needs_of(design)
    assert "transactions" in needs["write create ticket"]
    assert any("time to live" in each for name, each in needs.items() if name.startswith("table "))
    assert all(each in CAPABILITIES for part in needs.values() for each in part)


def test_a_second_check_has_the_same_results() -> None:
    """An endpoint knows the token of a transaction for ten minutes, whichever tables it was for."""
    with Engine.open() as engine:
        assert [checked(engine).lacking for _ in range(2)] == [{}, {}]


def test_a_response_that_differs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_probes, "_INDEX_SECONDS", 0.1)
    with Engine.open() as engine:
        report = checked(engine, PutItem={"ConsumedCapacity": {"CapacityUnits": 2.0}}, Query={"Items": []})
    lacking = report.lacking
    assert lacking["consumed capacity"].detail == "a small put consumes 2.0 units"
    assert {lacking[name].outcome for name in ("queries", "local indexes", "consumed capacity")} == {"differs"}


def test_what_cannot_be_deleted_is_named() -> None:
    with Engine.open() as engine:
        report = asyncio.run(check_endpoint(Lacking(engine, "DeleteTable")))
        assert sorted(report.left_over) == sorted(engine.call("ListTables", {})["TableNames"])
        assert report.left_over


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_tables_are_deleted_after_an_interruption(number: signal.Signals) -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        process = subprocess.Popen(
            [sys.executable, "-m", "tablewright", "check", "--endpoint", url],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        until = time.monotonic() + 60
        while len(engine.call("ListTables", {})["TableNames"]) < 2:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert engine.call("ListTables", {})["TableNames"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--endpoint", "./data"), "./data is not an endpoint; use http://host:port, aws, or aws:eu-west-1"),
        (("--endpoint", "http://127.0.0.1:1"), "127.0.0.1:1"),
        (("--endpoint", "http://127.0.0.1:1", "no_such_design"), "there is no module 'no_such_design'"),
    ],
)
def test_mistakes_are_reported_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in error_line("check", *arguments)


@pytest.mark.slow
def test_what_moto_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    with moto_url() as url:
        status, out, _ = run(capsys, "check", "--endpoint", url)
    differing = [line for line in out.splitlines() if not line.startswith("yes")]
    assert status == 1
    assert any(line.startswith("differs  transactions once by token") for line in differing)
    assert "yes      the store" in out


def test_an_unreachable_address_is_reported_at_once() -> None:
    """Nothing is tried again: a pause would be waited for."""
    attempts = 0

    class Absent(Lacking):
        async def call_async(self, request: Request) -> Response:
            nonlocal attempts
            attempts += 1
            raise ServiceError("NotConnected", "127.0.0.1:1 cannot be reached")

    with Engine.open() as engine, pytest.raises(ServiceError, match="cannot be reached"):
        asyncio.run(check_endpoint(Absent(engine)))
    assert attempts == 1
