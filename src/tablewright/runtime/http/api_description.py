"""What an application's OpenAPI document adds to FastAPI's: problems, tokens, conditions, examples.

problems      every refusal is one (RFC 9457), in place of FastAPI's errors
tokens        which calls need one
conditions    304, 412 and the ETag of routes with conditional requests
examples      a response for each call, made of the examples of its fields
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from pydantic.warnings import UnsupportedFieldAttributeWarning

from tablewright.runtime.http.conditional_requests import IF_MATCH, IF_NONE_MATCH
from tablewright.runtime.http.problems import Problem, documented

__all__ = ["describe"]

# What only a caller with a token may get.
_OF_TOKENS = frozenset({"401", "403"})
_TEXTS = {
    "uuid": "33567ee8-f182-4f8a-b03e-2f1515915471",
    "date": "2026-02-09",
    "date-time": "2026-02-09T12:20:25.343883Z",
}
# Deeper than any response is.
_MAX_DEPTH = 12

Schema = Mapping[str, Any]


def describe(app: FastAPI, common: Sequence[int], *, public: Collection[tuple[str, str]] = ()) -> None:
    """Complete the OpenAPI document of an application.

    ``common`` are the statuses that every route may respond with; ``public`` are the methods and paths of the calls
    that need no token.
    """
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            with warnings.catch_warnings():
                # FastAPI ignores it where it makes a field; an ``ApiModel`` is built later, here.
                warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)
                description = made()
            schemas = description.setdefault("components", {}).setdefault("schemas", {})
            schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(schema.pop("$defs", {}))
            schemas["Problem"] = schema
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            for path, operations in description["paths"].items():
                for method, operation in operations.items():
                    needs_token = (method.upper(), path) not in public
                    _describe_title(operation)
                    _describe_conditions(operation)
                    _describe_problems(operation, common, needs_token=needs_token)
                    _describe_examples(description, operation)
            bearer = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            description["components"]["securitySchemes"] = {"bearer": bearer}
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _describe_title(operation: dict[str, Any]) -> None:
    """What a call does, in the words of its description, where FastAPI has the name of a function."""
    described = str(operation.get("description") or operation.get("summary") or "")
    operation["summary"] = re.split(r"[;:]|[.,](?=\s|$)|\s\(", described, maxsplit=1)[0].strip()


def _describe_problems(operation: dict[str, Any], common: Sequence[int], *, needs_token: bool) -> None:
    shared = {str(status): response for status, response in documented(*common).items()}
    if needs_token:
        operation["security"] = [{"bearer": []}]
    else:
        shared = {status: response for status, response in shared.items() if status not in _OF_TOKENS}
    # But for FastAPI's own 422, what a route says of a status holds.
    own = {status: response for status, response in operation["responses"].items() if status != "422"}
    operation["responses"] = {**own, **{status: shared[status] for status in shared if status not in own}}


def _describe_conditions(operation: dict[str, Any]) -> None:
    """What follows from the headers of conditional requests: 304 or 412, and the ETag of the response."""
    headers = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "header"}
    if not headers & {IF_MATCH, IF_NONE_MATCH}:
        return
    responses = operation["responses"]
    tag = {"description": "for If-Match and If-None-Match", "schema": {"type": "string"}}
    for status, response in responses.items():
        if status.startswith("2") and "content" in response:
            response["headers"] = {"ETag": tag}
    if IF_NONE_MATCH in headers:
        responses["304"] = {"description": "Not modified: the caller has this version", "headers": {"ETag": tag}}
    if IF_MATCH in headers:
        responses |= {str(status): response for status, response in documented(412).items()}


# -- examples -------------------------------------------------------------------------------------------------------


def _describe_examples(api: Schema, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json") if status.startswith("2") else None
        if content is not None and "example" not in content and "examples" not in content:
            content["example"] = _example(api, content["schema"], "")


def _example(api: Schema, schema: Schema, name: str, depth: int = 0) -> Any:
    """A value of a schema: what it says itself is an example, or is made of what its parts say."""
    while "$ref" in schema:
        found: Any = api
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    if schema.get("examples"):
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _example(api, schema[key][0], name, depth)
    match schema.get("type"):
        case "object" if depth < _MAX_DEPTH:
            members = schema.get("properties", {})
            return {member: _example(api, inner, member, depth + 1) for member, inner in members.items()}
        case "array" if depth < _MAX_DEPTH and name != "unreadable":
            return [_example(api, schema.get("items", {}), name.removesuffix("s"), depth + 1)]
        case "array":
            return []
        case "string":
            return _TEXTS.get(schema.get("format", ""), _text(name))
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "null":
            return None
    return {}


def _text(name: str) -> str:
    """A text for a field without an example, by its name: ``ticket-1`` for ``ticket_id``."""
    for ending in ("_id", "Id"):
        if name.endswith(ending):
            return f"{name.removesuffix(ending)}-1"
    return name.replace("_", " ")
