"""Problem details (RFC 9457): the HTTP response to every error.

    {"type": "/problems/not-found", "title": "Not found", "status": 404, "detail": "there is no ticket t-9",
     "request_id": "..."}

``type`` is stable and has a page of its own; ``detail`` is for people. No response shows a stack trace: an unexpected
error is logged with the request's id, which is in the response as well.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from tablewright.runtime.errors import ServiceProblem, TooManyRequests, Unauthenticated
from tablewright.runtime.http.conditional_requests import NotModified
from tablewright.runtime.http.json_values import ApiModel
from tablewright.runtime.parameter_texts import message_of
from tablewright.store import (
    AlreadyExists,
    BlobLost,
    Cancelled,
    ConditionFailed,
    Conflict,
    InProgress,
    InvalidCursor,
    KeyMismatch,
    LimitExceeded,
    NotFound,
    NotUnique,
    ServiceError,
    StoreError,
)

MEDIA_TYPE = "application/problem+json"

# What there is to do about a payload that is lost.
_PAYLOAD_LOST = (
    "is missing from the object store, or is damaged there; restore it from a backup of the object store, or write it "
    "again"
)

# Every kind of problem: its status, and its title.
KINDS: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request cannot be read"),
    "invalid-cursor": (400, "The cursor is not valid for this list"),
    "invalid": (400, "The request does not fit the stored data"),
    "unauthenticated": (401, "A valid bearer token is required"),
    "forbidden": (403, "The caller is not allowed to do this"),
    "not-found": (404, "Not found"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "timeout": (408, "The request did not arrive in time"),
    "conflict": (409, "The request conflicts with the current state"),
    "already-exists": (409, "The resource already exists"),
    "in-progress": (409, "The same request is in progress"),
    "payload-lost": (410, "A part of the resource is missing from the object store, or is damaged there"),
    "precondition-failed": (412, "The resource has changed since it was read"),
    "too-large": (413, "The request is too large"),
    "unsupported-media-type": (415, "The content type of the body is not supported"),
    "invalid-request": (422, "Fields of the request are missing or invalid"),
    "idempotency-mismatch": (422, "The idempotency key was used for another request"),
    "too-many-requests": (429, "The caller has sent too many requests"),
    "internal": (500, "Internal error"),
    "not-offered": (501, "This deployment does not offer this feature"),
    "unavailable": (503, "The service, or one that it depends on, is unavailable"),
}

_STORE_KINDS: tuple[tuple[type[StoreError], str], ...] = (
    (NotFound, "not-found"),
    (AlreadyExists, "already-exists"),
    (NotUnique, "already-exists"),
    (KeyMismatch, "idempotency-mismatch"),
    (InProgress, "in-progress"),
    (Conflict, "conflict"),
    (ConditionFailed, "conflict"),
    (InvalidCursor, "invalid-cursor"),
    (LimitExceeded, "too-large"),
)
_HTTP_KINDS = {
    404: "not-found",
    405: "method-not-allowed",
    408: "timeout",
    413: "too-large",
    415: "unsupported-media-type",
}

_log = logging.getLogger(__name__)


class FieldProblem(ApiModel):
    """An invalid field of a request."""

    field: str = Field(description="its location: body.title, query.limit", examples=["body.title"])
    message: str = Field(examples=["Field required"])


class Problem(ApiModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/not-found"])
    title: str
    status: int
    detail: str
    request_id: str | None = None
    field: str | None = Field(None, description="the field that conflicts with the stored data", examples=["userId"])
    errors: list[FieldProblem] | None = Field(None, description="the invalid fields of the request")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may respond with, for OpenAPI: ``responses=documented(404, 409)``."""
    return {
        status: {
            "description": "; ".join(title for code, title in KINDS.values() if code == status),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def problem(kind: str, detail: str, request_id: str | None = None, **more: Any) -> JSONResponse:
    """A response with problem details; ``more`` are further members."""
    status, title = KINDS[kind]
    body = {"type": f"/problems/{kind}", "title": title, "status": status, "detail": detail, **more}
    if request_id is not None:
        body["request_id"] = request_id
    return JSONResponse(body, status, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make an application respond to every exception with a problem."""
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)


async def response_to(request: Request, error: Exception) -> Response:
    """The response to an exception."""
    handler = next(_HANDLERS[kind] for kind in type(error).__mro__ if kind in _HANDLERS)
    return await handler(request, error)


def request_id(request: Request) -> str | None:
    found: str | None = request.scope.get("state", {}).get("request_id")
    return found


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceProblem)
    kind = error.kind if error.kind in KINDS else type(error).kind
    response = problem(kind, str(error), request_id(request), **error.details)
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def _store_failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, StoreError)
    if isinstance(error, Cancelled):
        error = next((reason for reason in error.reasons if reason is not None), error)
    for known, kind in _STORE_KINDS:
        if isinstance(error, known):
            return problem(kind, str(error), request_id(request))
    if isinstance(error, BlobLost):
        _log.error("a payload is lost", extra={"blob": error.blob, "request_id": request_id(request)})
        # Not its own text, which says where blobs are kept.
        detail = f"{error.field} of {error.entity} {error.key} {_PAYLOAD_LOST}"
        return problem("payload-lost", detail, request_id(request), field=error.field)
    if isinstance(error, ServiceError) and error.code != "ValidationException":
        _log.warning("the database is unavailable", extra={"code": error.code, "request_id": request_id(request)})
        response = problem("unavailable", "the database cannot be reached or is busy; try again", request_id(request))
        response.headers["Retry-After"] = "1"
        return response
    return await _unexpected(request, error)


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(member.get("type") == "json_invalid" for member in found):
        return problem("malformed", "the body is not valid JSON", request_id(request))
    errors = [
        {"field": ".".join(str(step) for step in member["loc"]), "message": message_of(member)} for member in found
    ]
    detail = "; ".join(f"{member['field']}: {member['message']}" for member in errors[:5])
    return problem("invalid-request", detail, request_id(request), errors=errors[:100])


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _HTTP_KINDS.get(error.status_code, "malformed" if error.status_code < 500 else "internal")
    response = problem(kind, str(error.detail), request_id(request))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        # Starlette names the methods of the first route that matches the path.
        matching = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
        methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
        if "GET" in methods:
            # As the gate answers it.
            methods.add("HEAD")
        if methods:
            response.headers["Allow"] = ", ".join(sorted(methods))
    return response


async def _not_modified(request: Request, error: Exception) -> Response:
    return Response(status_code=304)


async def _gone(request: Request, error: Exception) -> Response:
    """The client has disconnected before its response. For the log and the metrics, with the status that nginx uses."""
    return Response(status_code=499)


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("request failed", exc_info=error, extra={"request_id": request_id(request)})
    return problem(
        "internal", "an unexpected error occurred; find it in the log by this request id", request_id(request)
    )


_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    ServiceProblem: _refused,
    StoreError: _store_failed,
    RequestValidationError: _invalid_request,
    HTTPException: _http,
    NotModified: _not_modified,
    ClientDisconnect: _gone,
    Exception: _unexpected,
}
