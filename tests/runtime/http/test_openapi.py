"""Every answer is one that the description tells of, whatever is sent, and none is an accident of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tablewright.systems import NAMES, load
from tests.systems.harness import Served, serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def explore(name: str, examples: int) -> None:
    systems = load(name)
    everything = [role.name for system in systems for role in system.roles]
    with serving(systems, memory=True) as served:
        headers = {"Authorization": f"Bearer {served.token('everybody', *everything, email='all@example.org')}"}
        url = f"{served.url}/{name}/openapi.json"
        schema = schemathesis.openapi.from_url(url, config=SchemathesisConfig())
        operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
        assert operations
        for operation in operations:

            @given(case=operation.as_strategy())
            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.explicit, Phase.generate],
            )
            def check(case: Case[Any]) -> None:
                # A stream of events does not end by itself.
                if case.path.endswith("/live"):
                    return
                case.call_and_validate(headers=headers, checks=CHECKS, timeout=10)

            check()


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_sent_the_answer_is_in_the_description(name: str) -> None:
    explore(name, examples=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_sent_the_answer_is_in_the_description_at_length(name: str) -> None:
    explore(name, examples=250)


# -- what the description says --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described() -> Iterator[tuple[Served, dict[str, dict[str, Any]]]]:
    """The descriptions of all systems, and of the runtime."""
    with serving(load(), memory=True) as served:
        client = served.client()
        yield served, {name: client.get(f"/{name}/openapi.json").json() for name in (*NAMES, "runtime")}


def operations_of(api: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


@pytest.mark.parametrize("name", [*NAMES, "runtime"])
def test_every_response_has_an_example_that_its_schema_allows(
    described: tuple[Served, dict[str, dict[str, Any]]], name: str
) -> None:
    api = described[1][name]
    for call, operation in operations_of(api):
        for status, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json")
            if status.startswith("2") and content is not None:
                whole = {**content["schema"], "components": api["components"]}
                jsonschema.validate(content["example"], whole, jsonschema.Draft202012Validator)
                assert content["example"] not in ({}, [], None), call


def test_the_runtime_is_described(described: tuple[Served, dict[str, dict[str, Any]]]) -> None:
    served, found = described
    calls = dict(operations_of(found["runtime"]))
    assert {"GET /healthz", "GET /readyz", "GET /metrics", "GET /runtime/consumers"} <= set(calls)
    assert all(operation.get("summary") and operation.get("description") for operation in calls.values())
    open_calls = {call for call, operation in calls.items() if "security" not in operation}
    assert open_calls == {"GET /healthz", "GET /readyz", "GET /metrics"}
    assert not {"401", "403"} & set(calls["GET /healthz"]["responses"])
    client = served.client()
    assert client.get("/runtime", follow_redirects=True).headers["content-type"].startswith("text/html")
    ready = client.get("/readyz")
    jsonschema.validate(
        ready.json(), {"$ref": "#/components/schemas/Readiness", "components": found["runtime"]["components"]}
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_call_is_described_in_words(described: tuple[Served, dict[str, dict[str, Any]]], name: str) -> None:
    for call, operation in operations_of(described[1][name]):
        assert operation.get("description"), call
        assert operation.get("tags"), call
