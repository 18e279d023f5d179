"""Routes whose work is laid out when they are declared.

FastAPI finds out for every request what a route needs, keeps two stacks of things to close for it, and parses its
content type as mail: together more than the engine's part of most requests. The routes of a system need little of that:
parameters, one body of JSON, and dependencies that are plain coroutines. For those, ``Route`` does the same in fewer
steps, with FastAPI's own fields and validation; any other route is left to FastAPI, and so is the description of all.

    router = Router(tags=["tickets"])       an APIRouter with such routes
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_body_to_args, request_params_to_args
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from pydantic_core import PydanticUndefined
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send


class Route(APIRoute):
    """A route in as few steps as it needs."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        app = _app(self)
        if app is not None:
            self.app = app


class Router(APIRouter):
    """A router of such routes."""

    def __init__(self, *, tags: Sequence[str] = ()) -> None:
        super().__init__(tags=list(tags), route_class=Route)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a function is to be called with."""

    call: Callable[..., Any]
    request_name: str | None
    path: list[Any]
    query: list[Any]
    header: list[Any]
    # Dependencies: the argument that each is for, and its plan.
    needs: tuple[tuple[str | None, _Plan], ...]

    async def arguments(
        self, request: Request, known: dict[Callable[..., Any], Any], errors: list[Any]
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, plan in self.needs:
            if plan.call not in known:
                given = await plan.arguments(request, known, errors)
                if errors:
                    continue
                known[plan.call] = await plan.call(**given)
            if name is not None:
                values[name] = known[plan.call]
        if self.path:
            _take(values, errors, request_params_to_args(self.path, request.path_params))
        if self.query:
            _take(values, errors, request_params_to_args(self.query, request.query_params))
        if self.header:
            _take(values, errors, request_params_to_args(self.header, request.headers))
        if self.request_name is not None:
            values[self.request_name] = request
        return values


def _take(values: dict[str, Any], errors: list[Any], found: tuple[dict[str, Any], list[Any]]) -> None:
    values.update(found[0])
    errors += found[1]


def _plan(dependant: Dependant) -> _Plan | None:
    """The plan of a function, unless it needs something out of the ordinary."""
    call = dependant.call
    if not inspect.iscoroutinefunction(call):
        return None
    unusual = (
        dependant.cookie_params,
        dependant.websocket_param_name,
        dependant.http_connection_param_name,
        dependant.response_param_name,
        dependant.background_tasks_param_name,
        dependant.security_scopes_param_name,
    )
    if any(unusual):
        return None
    needs = []
    for need in dependant.dependencies:
        plan = _plan(need)
        if plan is None or need.body_params or not need.use_cache:
            return None
        needs.append((need.name, plan))
    fields = dependant.path_params, dependant.query_params, dependant.header_params
    return _Plan(call, dependant.request_param_name, *fields, tuple(needs))


def _app(route: APIRoute) -> ASGIApp | None:
    plan = _plan(route.dependant)
    body_fields = route.dependant.body_params
    plain = len(body_fields) <= 1 and not any(isinstance(field.field_info, Form) for field in body_fields)
    if plan is None or not plain or getattr(route, "_embed_body_fields", False) or route.response_model_exclude_none:
        return None
    status = 200 if route.status_code is None else route.status_code
    if route.response_model is None:
        dump: Callable[..., bytes] | None = None
    else:
        dump = TypeAdapter(route.response_model).dump_json

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        errors: list[Any] = []
        # The caller is among these: nothing is read of a body that comes from nobody.
        values = await plan.arguments(request, {}, errors)
        if body_fields:
            body = await _body(request)
            found = await request_body_to_args(body_fields=body_fields, received_body=body, embed_body_fields=False)
            _take(values, errors, found)
        if errors:
            raise RequestValidationError(errors)
        answer = await plan.call(**values)
        if not isinstance(answer, Response):
            if dump is not None:
                answer = Response(dump(answer, by_alias=True), status, media_type="application/json")
            else:
                answer = Response(status_code=status) if answer is None else JSONResponse(answer, status)
        await answer(scope, receive, send)

    return app


async def _body(request: Request) -> Any:
    """The body as JSON, which it has to say that it is: curl, for one, says that it is a form unless it is told."""
    content = await request.body()
    if not content:
        return PydanticUndefined
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not kind.startswith("application/") or not (kind == "application/json" or kind.endswith("+json")):
        raise HTTPException(415, "send JSON, and say so: Content-Type: application/json")
    try:
        return _decoder.decode(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is no JSON") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_decoder = json.JSONDecoder(parse_constant=_no_number)
