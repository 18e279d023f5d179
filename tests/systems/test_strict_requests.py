"""What OpenAPI says of a request holds: another JSON type, a value out of bounds, a blank text are refused by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tablewright.runtime.parameter_texts import message_of
from tablewright.systems import NAMES, load
from tests.systems.harness import Served, serving
from tests.systems.openapi_values import Place, example, is_bounded, places, violations

# What may be as large as a request.
UNBOUNDED = {"data"}


@pytest.fixture(scope="module", params=NAMES)
def described(request: pytest.FixtureRequest) -> Iterator[tuple[Served, str, dict[str, Any]]]:
    name: str = request.param
    with serving(load(name), memory=True, rate_limit=100_000, rate_burst=100_000) as served:
        client = served.client()
        yield served, name, client.get(f"/{name}/openapi.json").json()


def client_of(served: Served, name: str) -> httpx.Client:
    roles = [role.name for system in served.systems for role in system.roles]
    return served.client("everybody", *roles, email="all@example.org", path=f"/{name}")


def bodies(api: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation with a JSON body, and the schema of that."""
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                yield method, path, content["schema"]


def fields_of(answer: httpx.Response) -> list[str]:
    return [error["field"] for error in answer.json().get("errors", ())] if answer.status_code == 422 else []


def patterns(described: Any) -> Iterator[str]:
    """Every pattern in a description."""
    if isinstance(described, dict):
        if isinstance(found := described.get("pattern"), str):
            yield found
        described = list(described.values())
    if isinstance(described, list):
        for each in described:
            yield from patterns(each)


@pytest.mark.requirement("X2")
def test_no_error_shows_a_pattern(described: tuple[Served, str, dict[str, Any]]) -> None:
    _, _, api = described
    found = set(patterns(api))
    assert found
    for pattern in found:
        words = message_of({"type": "string_pattern_mismatch", "msg": "", "ctx": {"pattern": pattern}})
        assert words, f"declare what is told of {pattern}, with matching(...)"


def test_validation_errors_have_readable_messages(described: tuple[Served, str, dict[str, Any]]) -> None:
    served, name, api = described
    client = client_of(served, name)
    for method, path, schema in bodies(api):
        whole = example(api, schema)
        for place in places(api, schema, whole):
            for wrong in violations(api, place):
                body = json.dumps(place.replaced(whole, wrong))
                headers = {**JSON, "If-Match": "5", "Idempotency-Key": "a key"}
                answer = client.request(method, address(path), content=body, headers=headers)
                for shown in ("should match pattern", "Value error", "items after validation"):
                    assert shown not in answer.text, answer.text


@pytest.mark.requirement("X2")
def test_every_field_of_every_body_is_what_the_description_says(
    described: tuple[Served, str, dict[str, Any]],
) -> None:
    served, name, api = described
    client, accepted = client_of(served, name), []
    for method, path, schema in bodies(api):
        whole = example(api, schema)
        for place in places(api, schema, whole):
            for wrong in violations(api, place):
                answer = client.request(
                    method, address(path), content=json.dumps(place.replaced(whole, wrong)), headers=JSON
                )
                if not any(place.is_at(field) for field in fields_of(answer)):
                    accepted.append(
                        f"{method.upper()} {path}: {place.name} = {json.dumps(wrong)[:60]}: {answer.text[:200]}"
                    )
    assert accepted == [], "\n".join(accepted)


@pytest.mark.requirement("X2")
def test_the_example_of_every_body_is_valid(described: tuple[Served, str, dict[str, Any]]) -> None:
    served, name, api = described
    client = client_of(served, name)
    for method, path, schema in bodies(api):
        answer = client.request(method, address(path), json=example(api, schema))
        assert not [field for field in fields_of(answer) if field.startswith("body")], (method, path, answer.text)


@pytest.mark.requirement("X2")
def test_every_query_parameter_is_what_the_description_says(described: tuple[Served, str, dict[str, Any]]) -> None:
    served, name, api = described
    client, accepted = client_of(served, name), []
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            if path.endswith("/live"):
                continue
            for parameter in operation.get("parameters", ()):
                if parameter["in"] != "query":
                    continue
                place = Place(("query", parameter["name"]), parameter["schema"])
                for wrong in violations(api, place, as_text=True):
                    answer = client.request(method, address(path), params={parameter["name"]: wrong})
                    if place.name not in fields_of(answer):
                        accepted.append(f"{method.upper()} {path}: {place.name} = {wrong[:60]!r}: {answer.text[:120]}")
    assert accepted == [], "\n".join(accepted)


JSON = {"Content-Type": "application/json"}


def address(path: str) -> str:
    """A path with something in place of its parameters."""
    steps = ["33567ee8-f182-4f8a-b03e-2f1515915471" if step.startswith("{") else step for step in path.split("/")]
    return "/".join(steps)


@pytest.mark.requirement("X2")
def test_every_field_of_a_request_has_bounds(described: tuple[Served, str, dict[str, Any]]) -> None:
    _, _, api = described
    found = [place for _, _, schema in bodies(api) for place in places(api, schema, example(api, schema))]
    for methods in api["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                found.append(Place((parameter["in"], parameter["name"]), parameter["schema"]))
    assert [place.name for place in found if place.steps[-1] not in UNBOUNDED and not is_bounded(api, place)] == []
