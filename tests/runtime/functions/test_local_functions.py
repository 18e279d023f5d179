"""Functions in processes of their own, behind Lambda's runtime interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.runtime.functions.http_events import http_event, http_response
from tablewright.runtime.functions.local_functions import FunctionFailed, LocalFunctions
from tablewright.systems import NAMES

pytestmark = pytest.mark.requirement("SH3")

API = "tablewright.runtime.functions.api_function.handler"
CALLS = {"TABLEWRIGHT_MEMORY": "true", "TABLEWRIGHT_SYSTEM": "tablewright.systems.calls.calls_system:system"}
HANDLERS = """
import sys
def echo(event, context):
    return {"event": event, "id": context.aws_request_id, "left": context.get_remaining_time_in_millis()}
def fail(event, context):
    raise ValueError(event["why"])
def loaded(event, context):
    import tablewright.runtime.functions.api_function
    return sorted(sys.modules)
def started(event, context):
    import gc
    import tablewright.runtime.functions.api_function
    from tablewright.runtime.http.deferred_routes import DeferredRoute
    gc.unfreeze()
    routes = [each for each in gc.get_objects() if isinstance(each, DeferredRoute)]
    made = [each for each in routes if "dependant" in vars(each)]
    return {"collects": gc.isenabled(), "routes": len(routes), "made": len(made)}
"""
# As a stack has it: Amazon DynamoDB, keys of the function's role, mail, events and large values.
DEPLOYED = {
    "TABLEWRIGHT_SYSTEM": "tablewright.systems.calls.calls_system:system",
    "TABLEWRIGHT_MODE": "production",
    "TABLEWRIGHT_REGION": "us-east-1",
    "TABLEWRIGHT_ISSUER": "https://issuer.example.org",
    "TABLEWRIGHT_AUDIENCE": "client",
    "TABLEWRIGHT_MASTER_SECRET": "0" * 64,
    "TABLEWRIGHT_SES": "true",
    "TABLEWRIGHT_EVENT_BUS": "bus",
    "TABLEWRIGHT_BLOB_BUCKET": "bucket",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
# What a function has no use for; importing it would take longer than most requests.
UNWANTED = (
    "nicegui",
    "uvicorn",
    "duckdb",
    "rich",
    "boto3",
    "jinja2",
    "tablewright.ui",
    "tablewright.cli",
    "tablewright.wire",
)
# The same of one that is deployed: its clients are made when something is to be sent, tokens may not come, its tables
# are elsewhere, and consumers, mail, searches and what admins do are for other functions, or for few requests.
UNWANTED_DEPLOYED = (
    "botocore",
    "httpx",
    "jwt",
    "cryptography",
    "cronsim",
    "phonenumbers",
    "smtplib",
    "sqlite3",
    "tablewright.engine.engine",
    "tablewright.runtime.background.consumer_threads",
    "tablewright.runtime.admin.admin_routes",
    "tablewright.runtime.http.application",
    "tablewright.runtime.mail.event_mail",
    "tablewright.runtime.mail.mail_transport",
    "tablewright.runtime.privacy.privacy",
    "tablewright.runtime.search.search",
    "tablewright.store.maintenance.verify_repair",
    "tablewright.store.streams.consumer",
    "tablewright.store.switch.switched_backend",
)
# What the start of some systems needs of it all the same: Engagement has its deliveries at hand, and checks schedules.
NEEDED = {
    "engagement": {
        "cronsim",
        "smtplib",
        "tablewright.runtime.mail.event_mail",
        "tablewright.runtime.mail.mail_transport",
    }
}


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalFunctions]:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with LocalFunctions() as functions:
        yield functions


def test_a_function_is_called_again_and_again_by_the_same_process(functions: LocalFunctions) -> None:
    functions.add("echo", "handlers.echo", {})
    first = functions.call("echo", {"a": [1, "ä"]}, seconds=20)
    second = functions.call("echo", {}, seconds=20)
    assert first["event"] == {"a": [1, "ä"]}
    assert 0 < first["left"] <= 20_000
    assert first["id"] != second["id"]


def test_what_a_handler_raises_reaches_the_caller_and_the_next_call_is_answered(functions: LocalFunctions) -> None:
    functions.add("fail", "handlers.fail", {})
    for why in ("once", "again"):
        with pytest.raises(FunctionFailed, match=f"ValueError: {why}"):
            functions.call("fail", {"why": why})


def test_a_handler_that_cannot_be_imported_is_reported(functions: LocalFunctions) -> None:
    functions.add("none", "handlers_that_are_not_there.handler", {})
    with pytest.raises(FunctionFailed, match="handlers_that_are_not_there"):
        functions.call("none", {})


def test_an_api_function_answers_and_says_what_it_lacks(functions: LocalFunctions) -> None:
    functions.add("api", API, CALLS)
    event = http_event("GET", "/healthz", "", [("host", "localhost")], b"")
    status, headers, body = http_response(functions.call("api", event))
    assert (status, body) == (200, b'{"status":"ok"}')
    assert dict(headers)["cache-control"] == "no-store"
    # A body that came in chunks has no length; it is bounded all the same.
    large = http_event("POST", "/calls/calls", "", [("content-type", "application/json")], b"x" * 1_100_000)
    status, _, _ = http_response(functions.call("api", large))
    assert status == 413
    status, _, body = http_response(functions.call("api", http_event("GET", "/calls/calls/1", "", [], b"")))
    assert status == 401
    assert b"/problems/" in body
    functions.add("lost", API, {})
    with pytest.raises(FunctionFailed, match="TABLEWRIGHT_SYSTEM"):
        functions.call("lost", event)


@pytest.mark.parametrize("path", ["/calls/calls", "/runtime/consumers"])
def test_a_function_answers_browsers_of_other_origins_itself(path: str, functions: LocalFunctions) -> None:
    """The HTTP API hands on what a browser asks before its request."""
    functions.add("api", API, {**CALLS, "TABLEWRIGHT_CORS_ORIGINS": "https://a.example.org,https://b.example.org"})
    asked = [("host", "localhost"), ("access-control-request-method", "GET")]
    for origin, told in (("https://b.example.org", "https://b.example.org"), ("https://c.example.org", None)):
        event = http_event("OPTIONS", path, "", [*asked, ("origin", origin)], b"")
        _, headers, _ = http_response(functions.call("api", event))
        assert dict(headers).get("access-control-allow-origin") == told


@pytest.mark.requirement("SH2")
def test_a_function_imports_nothing_that_it_has_no_use_for(functions: LocalFunctions) -> None:
    functions.add("loaded", "handlers.loaded", CALLS)
    modules = set(functions.call("loaded", {}))
    assert "fastapi" in modules
    assert modules & set(UNWANTED) == set()


@pytest.mark.requirement("SH2")
@pytest.mark.parametrize("system", NAMES)
def test_a_deployed_function_starts_without_what_it_may_not_need(
    system: str, functions: LocalFunctions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys and region are in the environment."""
    for name in list(os.environ):
        if name.upper().startswith("AWS_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    place = {"TABLEWRIGHT_SYSTEM": f"tablewright.systems.{system}.{system}_system:system"}
    functions.add("loaded", "handlers.loaded", {**DEPLOYED, **place, "HOME": str(tmp_path)})
    loaded = functions.call("loaded", {}, seconds=60)
    assert f"tablewright.systems.{system}.service" in loaded or f"tablewright.systems.{system}.platform" in loaded
    assert [name for name in loaded if name.partition(".")[0] in UNWANTED] == []
    assert set(loaded) & set(UNWANTED_DEPLOYED) - NEEDED.get(system, set()) == set()


@pytest.mark.requirement("SH2")
def test_routes_are_not_made_before_they_are_requested(functions: LocalFunctions) -> None:
    functions.add("started", "handlers.started", CALLS)
    started = functions.call("started", {})
    assert started["collects"]
    assert started["routes"] > 20
    assert started["made"] == 0
