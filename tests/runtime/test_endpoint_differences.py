"""What a start on an endpoint finds out, and says, before it makes tables there."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.runtime.http.application import prepare
from tablewright.runtime.settings import Settings, SettingsError
from tablewright.runtime.system import Runtime
from tablewright.systems import NAMES, load
from tablewright.wire import serve_in_thread
from tests import settings_files
from tests.runtime.partial_endpoint import ALTERNATOR_LACKS, Answer, error, partial_endpoint

pytestmark = pytest.mark.requirement("SH7")

WARNINGS = "tablewright.runtime.endpoint_differences"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        yield engine


@pytest.fixture
def server(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    with serve_in_thread(engine) as url:
        yield url


def tables_of(engine: Engine) -> list[str]:
    return list(engine.call("ListTables", {})["TableNames"])


def start(url: str, *names: str, times: int = 1, **settings: Any) -> None:
    """What a start does before it serves, as often as it does it."""
    systems = [system for name in names for system in load(name)]

    async def prepared() -> None:
        for _ in range(times):
            await prepare(runtime, systems)

    given = {"memory": True, "endpoint": url, "region": "us-east-1", **settings}
    runtime = Runtime.open(Settings.model_validate(given), systems)
    try:
        asyncio.run(prepared())
    finally:
        runtime.close()


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.message for record in caplog.records if record.name == WARNINGS and record.levelno >= logging.WARNING
    ]


def test_nothing_is_named_of_an_endpoint_that_has_everything(
    server: str, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    start(server, *NAMES)
    assert warnings_of(caplog) == []
    assert "tablewright-events" in tables_of(engine)


@pytest.mark.parametrize("deleted", [("tablewright-internal", "tablewright-events"), ("tablewright-events",)])
def test_internal_tables_are_created_beside_tables_that_exist(
    server: str, engine: Engine, deleted: Sequence[str]
) -> None:
    start(server, "tasks")
    whole = tables_of(engine)
    for name in deleted:
        engine.call("DeleteTable", {"TableName": name})
    start(server, "tasks")
    assert tables_of(engine) == whole


def test_an_endpoint_without_transactions_is_named_before_tables_are_made(
    server: str, engine: Engine, tmp_path: Path
) -> None:
    text = (settings_files.FOLDER / "scylladb-alternator.env").read_text("utf-8")
    with partial_endpoint(server, ALTERNATOR_LACKS) as (url, _):
        done = subprocess.run(
            [sys.executable, "-m", "tablewright", "up", "--system", "support", "--endpoint", url, "--port", "0"],
            env={**os.environ, **settings_files.variables_of(text), "TABLEWRIGHT_DATA": str(tmp_path / "data")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=90,
        )
    assert tables_of(engine) == []
    assert done.returncode == 2, done.stderr
    assert "the endpoint has no transactions (TransactWriteItems)" in done.stderr
    assert "tablewright check" in done.stderr
    # What it could do without is named too.
    assert done.stderr.count("the endpoint has no point-in-time recovery (DescribeContinuousBackups)") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("lacking", "named"),
    [
        (["TransactWriteItems"], ["no transactions (TransactWriteItems)"]),
        (["ListStreams", "DescribeStream"], ["no streams (ListStreams)"]),
        (["TransactWriteItems", "ListStreams"], ["no transactions", "no streams"]),
    ],
)
def test_what_systems_cannot_work_without_is_refused_before_tables_are_made(
    server: str, engine: Engine, lacking: Sequence[str], named: Sequence[str]
) -> None:
    with partial_endpoint(server, lacking) as (url, _), pytest.raises(SettingsError) as refused:
        start(url, "tasks", "calls")
    assert all(each in str(refused.value) for each in named)
    assert "Tasks and Calls cannot run there" in str(refused.value)
    assert tables_of(engine) == []


def test_each_difference_that_systems_can_live_with_is_one_warning_with_what_to_do(
    server: str, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    lacking = ["DescribeTimeToLive", "UpdateTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource"]
    with partial_endpoint(server, lacking) as (url, _):
        # Tables are compared by each start, and a start prepares twice where there may be demo data.
        start(url, "servicedesk", "support", times=2, ensure_tables=True)
    time_to_live, recovery, tags = warnings_of(caplog)
    assert time_to_live.startswith(
        "the endpoint has no time to live (DescribeTimeToLive): expired items of Service Desk and Sup"
    )
    assert "delete them yourself" in time_to_live
    assert recovery.startswith(
        "the endpoint has no point-in-time recovery (DescribeContinuousBackups): tables of Support"
    )
    assert "back them up" in recovery
    assert tags.startswith(
        "the endpoint has no tags (ListTagsOfResource): tables of Service Desk and Support are not tagged"
    )
    assert "tablewright-events" in tables_of(engine)


def test_what_no_table_of_the_systems_needs_is_not_named(server: str, caplog: pytest.LogCaptureFixture) -> None:
    with partial_endpoint(server, ["DescribeContinuousBackups", "ListTagsOfResource"]) as (url, asked):
        start(url, "calls")
    assert warnings_of(caplog) == []
    assert "ListTagsOfResource" not in asked


def isolated_as(policy: str) -> Answer:
    """ScyllaDB's configuration, which it shows as a table."""

    def answer(operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if operation != "Query" or body["TableName"] != ".scylla.alternator.system.config":
            return None
        assert body["ExpressionAttributeValues"] == {":name": {"S": "alternator_write_isolation"}}
        return 200, {"Items": [{"name": {"S": "alternator_write_isolation"}, "value": {"S": policy}}], "Count": 1}

    return answer


@pytest.mark.parametrize(
    ("policy", "warning", "refusal"),
    [
        ("always_use_lwt", "", ""),
        ('"always"', "", ""),
        ("only_rmw_uses_lwt", "isolates only writes with a condition", ""),
        ("unsafe_rmw", "", "does not isolate writes with a condition"),
        ('"forbid_rmw"', "", "or refuses them"),
    ],
)
def test_the_isolation_of_writes_is_read_from_the_configuration_of_scylladb(
    server: str, engine: Engine, caplog: pytest.LogCaptureFixture, policy: str, warning: str, refusal: str
) -> None:
    said = ""
    with partial_endpoint(server, answer=isolated_as(policy)) as (url, _):
        try:
            start(url, "calls")
        except SettingsError as error:
            said = str(error)
    named = "".join(warnings_of(caplog))
    assert (warning in named, refusal in said) == (True, True)
    assert bool(warning) == bool(named)
    assert bool(refusal) == bool(said) == (not tables_of(engine))
    if named or said:
        assert "set alternator_write_isolation: always_use_lwt" in named + said


def test_a_lower_limit_of_transactions_is_named(server: str, caplog: pytest.LogCaptureFixture) -> None:
    def small(operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if not operation.startswith("Transact") or len(body["TransactItems"]) <= 25:
            return None
        return error(
            "ValidationException",
            "1 validation error detected: Value '[...]' at 'transactItems' failed to satisfy constraint: "
            "Member must have length less than or equal to 25",
        )

    with partial_endpoint(server, answer=small) as (url, _):
        start(url, "calls")
    (warning,) = warnings_of(caplog)
    assert "fewer actions than DynamoDB's 100" in warning


def test_a_denied_probe_is_not_reported_as_a_difference(server: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is denied is not missing."""
    asked = {"DescribeTimeToLive", "ListStreams", "TransactWriteItems", "TransactGetItems"}

    def denied(operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if operation not in asked:
            return None
        asked.remove(operation)
        return error("AccessDeniedException", "not authorized")

    with partial_endpoint(server, answer=denied) as (url, _):
        start(url, "calls")
    assert warnings_of(caplog) == []
    assert not asked


def test_tables_that_are_there_are_used_with_no_more_than_the_policies_allow(server: str) -> None:
    start(server, "calls")
    with partial_endpoint(server) as (url, asked):
        start(url, "calls")
    # Scan is of the table of events, by maintenance.
    assert set(asked) <= {"GetItem", "Query", "Scan"}
