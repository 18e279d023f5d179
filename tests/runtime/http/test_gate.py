"""What every request passes through: ids, limits, problems, measures, logs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from uuid import UUID, uuid4

import httpx
import pytest

from tablewright.engine import Engine
from tablewright.runtime import logs
from tablewright.runtime.errors import TooManyRequests
from tablewright.runtime.http.rate_limit import RateLimit
from tablewright.store import AlreadyExists
from tablewright.systems import load
from tablewright.systems.servicedesk.model import Ticket
from tablewright.wire import serve_in_thread
from tests.systems.harness import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(load("servicedesk"), memory=True, max_body=200_000) as served:
        yield served


@pytest.fixture
def agent(served: Served) -> httpx.Client:
    return served.client("agent", "Agents", path="/servicedesk")


def test_a_request_id_is_taken_over_or_made(agent: httpx.Client) -> None:
    kept = agent.get(f"/tickets/{uuid4()}", headers={"X-Request-Id": "call-7"})
    assert kept.headers["x-request-id"] == kept.json()["request_id"] == "call-7"
    for odd in ("a b", "x" * 65, 'quote"'):
        made = agent.get(f"/tickets/{uuid4()}", headers={"X-Request-Id": odd}).headers["x-request-id"]
        assert made != odd
        assert len(made) == 32


def test_validation_errors_name_the_field(agent: httpx.Client) -> None:
    answer = agent.post("/tickets", json={"caller_id": "", "surprise": 1})
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "/problems/invalid-request"
    fields = {error["field"] for error in problem["errors"]}
    assert fields == {"body.caller_id", "body.issue_description", "body.surprise"}


def test_a_body_that_is_not_json_is_refused(agent: httpx.Client) -> None:
    answer = agent.post("/tickets", content=b"{", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/malformed")


def test_unknown_addresses_and_methods_are_problems_too(served: Served) -> None:
    client = served.client()
    assert client.get("/nowhere").json()["type"] == "/problems/not-found"
    answer = client.delete("/servicedesk/tickets")
    assert (answer.status_code, answer.json()["type"]) == (405, "/problems/method-not-allowed")
    assert answer.headers["allow"] == "GET, HEAD, POST"
    assert client.put(f"/servicedesk/tickets/{uuid4()}").headers["allow"] == "GET, HEAD, PATCH"
    assert client.post("/healthz").headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/servicedesk", "/servicedesk/"])
def test_the_name_of_a_system_leads_to_its_page_and_to_no_other_host(served: Served, path: str) -> None:
    client = served.client()
    answer = client.get(path, headers={"Host": "example.org"})
    assert answer.status_code == 307
    assert answer.headers["location"] in ("servicedesk/docs", "docs")
    page = client.get(path, follow_redirects=True)
    assert (page.status_code, page.url.path) == (200, "/servicedesk/docs")
    assert client.post(path).json()["type"] == "/problems/method-not-allowed"


def test_every_kind_of_problem_has_a_page(served: Served) -> None:
    client = served.client()
    answer = client.get("/nowhere")
    page = client.get(answer.json()["type"])
    assert page.status_code == 200
    assert "Not found" in page.text


def test_a_body_that_is_too_large_is_refused_before_it_is_read(served: Served, agent: httpx.Client) -> None:
    answer = agent.post("/tickets", json={"caller_id": "c", "issue_description": "x" * 300_000})
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_a_body_without_a_length_is_counted_as_it_comes(agent: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 10_000

    answer = agent.post("/tickets", content=chunks(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_browsers_of_other_sites_get_nothing_unless_they_are_named(served: Served) -> None:
    preflight = {"Origin": "https://site.example", "Access-Control-Request-Method": "POST"}
    assert (
        "access-control-allow-origin" not in served.client().options("/servicedesk/tickets", headers=preflight).headers
    )
    with serving(load("servicedesk"), memory=True, cors_origins=["https://site.example"]) as open_one:
        answer = open_one.client().options("/servicedesk/tickets", headers=preflight)
        assert answer.headers["access-control-allow-origin"] == "https://site.example"
        other = open_one.client().options("/servicedesk/tickets", headers={**preflight, "Origin": "https://x.example"})
        assert "access-control-allow-origin" not in other.headers


def test_a_rate_limited_caller_gets_429_with_retry_after() -> None:
    with serving(load("servicedesk"), memory=True, rate_limit=0.5, rate_burst=3) as served:
        eager, other = served.client("a", "Agents", path="/servicedesk"), served.client("b", "Agents")
        answers = [eager.get(f"/tickets/{uuid4()}") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [404, 404, 404, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 2
        assert other.get(f"/servicedesk/tickets/{uuid4()}").status_code == 404


def test_the_bucket_of_a_caller_fills_again() -> None:
    now = 0.0
    limit = RateLimit(2.0, 2, clock=lambda: now)
    limit.take("a")
    limit.take("a")
    with pytest.raises(TooManyRequests) as refused:
        limit.take("a")
    assert refused.value.retry_after == 0.5
    now = 0.5
    limit.take("a")
    with pytest.raises(TooManyRequests):
        limit.take("a")


@pytest.mark.requirement("X6")
def test_metrics_count_requests_capacity_conditions_and_errors(served: Served, agent: httpx.Client) -> None:
    ticket = agent.post("/tickets", json={"caller_id": "c", "issue_description": "no sound"}).json()
    agent.get(f"/tickets/{ticket['ticket_id']}")
    store = served.runtime.sync_store
    stored = store.get(Ticket.by_id(ticket_id=UUID(ticket["ticket_id"])))
    assert stored is not None
    with pytest.raises(AlreadyExists):
        store.create(stored)
    text = served.client().get("/metrics").text
    assert 'http_requests_total{method="POST",route="/tickets",status="201",system="servicedesk"}' in text
    assert served.client().get("/servicedesk/no/such/path").status_code == 404
    text = served.client().get("/metrics").text
    assert 'http_requests_total{method="GET",route="unmatched",status="404",system="servicedesk"}' in text
    capacity = (
        'dynamodb_consumed_capacity_units_total{operation="PutItem",pattern="Ticket.create",table="poc-itsm-tickets"}'
    )
    assert capacity in text
    assert 'dynamodb_conditional_check_failed_total{operation="PutItem"} ' in text
    for name in (
        "dynamodb_user_errors",
        "dynamodb_system_errors",
        "dynamodb_throttled_requests",
        "dynamodb_request_seconds",
    ):
        assert f"# TYPE {name}" in text


@pytest.mark.requirement("X6")
def test_health_and_readiness(served: Served) -> None:
    client = served.client()
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready", "failing": {}}


@pytest.mark.requirement("X6")
def test_a_process_whose_background_work_has_ended_is_not_ready(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(served.runtime.search), "has_ended", True)
    answer = served.client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "failing", "failing": {"search": "ended"}})


@pytest.mark.requirement("X6")
def test_readiness_says_when_the_database_is_gone() -> None:
    with ExitStack() as database:
        engine = database.enter_context(Engine.open())
        url = database.enter_context(serve_in_thread(engine))
        with serving(load("servicedesk"), endpoint=url) as served:
            assert served.client().get("/readyz").status_code == 200
            database.close()
            answer = served.client().get("/readyz")
            assert answer.status_code == 503
            assert answer.json()["failing"]["database"] == "unreachable"


@pytest.mark.requirement("X6")
def test_logs_are_lines_of_json_without_personal_data() -> None:
    stream = StringIO()
    before, level = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        logs.set_up("INFO", stream)
        with serving(load("servicedesk"), memory=True) as served:
            agent = served.client("agent-007", "Agents", email="bond@example.org", path="/servicedesk")
            agent.post("/tickets", json={"caller_id": "+39 333 1234567", "issue_description": "my password is hunter2"})
            agent.get("/tickets", params={"caller": "+39 333 1234567"})
            agent.get("/tickets/not-a-uuid-hunter2")
    finally:
        logging.getLogger().handlers[:] = before
        logging.getLogger().setLevel(level)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    assert [(line["route"], line["status"]) for line in requests] == [
        ("/tickets", 201),
        ("/tickets", 200),
        ("/tickets/{ticket_id}", 422),
    ]
    for secret in ("333 1234567", "3331234567", "333%20", "hunter2", "bond", "Bearer", "agent-007"):
        assert secret not in stream.getvalue()


def test_the_start_tells_how_many_things_about_tables_it_changed(caplog: pytest.LogCaptureFixture) -> None:
    """And not of those that the endpoint does not support, which are there after every start."""

    def told() -> list[int]:
        found = [record for record in caplog.records if "tables were updated" in record.message]
        caplog.clear()
        return [record.__dict__["count"] for record in found]

    with Engine.open() as engine, serve_in_thread(engine) as url, caplog.at_level(logging.INFO):
        with serving(load("support"), endpoint=url):
            assert [count > 4 for count in told()] == [True]
        with serving(load("support"), endpoint=url):
            assert told() == []


def test_an_exception_is_logged_without_its_text() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), None)
    try:
        raise ValueError("hunter2")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    line = json.loads(logs.JsonFormatter().format(record))
    assert line["error"] == "ValueError"
    assert "test_gate.py" in line["raised_at"][0]
    assert "hunter2" not in json.dumps(line)


# -- HEAD, and caches -----------------------------------------------------------------------------------------------


def test_head_is_answered_as_get_without_the_body(served: Served, agent: httpx.Client) -> None:
    made = agent.post("/tickets", json={"caller_id": "c", "issue_description": "no sound"}).json()
    for client, path in (
        (agent, f"/tickets/{made['ticket_id']}"),
        (agent, "/tickets?caller=c"),
        (agent, f"/tickets/{uuid4()}"),
        (agent, "/openapi.json"),
        (agent, "/docs"),
        (served.client(), "/"),
        (served.client(), "/healthz"),
        (served.client(), "/servicedesk/tickets?caller=c"),
        (served.client(), "/nowhere"),
    ):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        for name in ("content-type", "content-length", "etag", "cache-control"):
            if name != "content-length" or got.status_code == 200:
                assert head.headers.get(name) == got.headers.get(name), (path, name)


def test_a_connection_is_good_for_more_after_head(agent: httpx.Client) -> None:
    for _ in range(3):
        assert agent.head("/tickets?caller=c").status_code == 200
        assert agent.get("/tickets?caller=c").status_code == 200


def test_head_of_what_only_changes_is_not_allowed(agent: httpx.Client) -> None:
    answer = agent.head(f"/tickets/{uuid4()}/comments")
    assert answer.status_code == 405
    refused = agent.put("/tickets?caller=c")
    assert refused.headers["Allow"] == "GET, HEAD, POST"


def test_head_of_a_stream_ends() -> None:
    with serving(load("support"), memory=True) as served:
        client = served.client("op", "Operators", "Admins", path="/support")
        answer = client.head("/metrics/live", timeout=10)
        assert (answer.status_code, answer.content) == (200, b"")
        assert client.get("/metrics").status_code == 200


def test_head_is_counted_as_head(served: Served) -> None:
    client = served.client()
    client.head("/systems.json")
    labels = {"system": "", "route": "/systems.json", "method": "HEAD", "status": "200"}
    assert served.runtime.metrics.registry.get_sample_value("http_requests_total", labels) == 1.0


def test_nothing_is_kept_by_caches(served: Served, agent: httpx.Client) -> None:
    for client, path in (
        (agent, "/tickets?caller=c"),
        (agent, f"/tickets/{uuid4()}"),
        (served.client(), "/"),
        (served.client(), "/tokens.json"),
    ):
        assert client.get(path).headers.get_list("cache-control") == ["no-store"]
