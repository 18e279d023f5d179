"""The short way to a route.

FastAPI tries route after route for every request, finds out each time what the route needs, keeps two stacks of things
to close for it, and passes the answer through several layers: together more than the engine's part of most requests.
The routes of a system need little of that: parameters, one body of JSON, and dependencies that are plain coroutines.
``ShortWay`` works out once what each of those needs, with FastAPI's own fields and validation, and finds it by the
steps of the address. Everything else is left to FastAPI: other routes, which come after these, addresses and methods
that are not there, and the description of all.

    app = ShortWay(FastAPI(routes=router.routes))       an ASGI application that answers as the one inside it
    app = ShortWay(..., {service_of: service})          the same, with dependencies whose values never change
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
from fastapi import FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_body_to_args, request_params_to_args
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import is_typeddict

from tablewright.runtime.http import problems

__all__ = ["ShortWay"]

_JSON = (b"content-type", b"application/json")
_ABSENT: Any = object()


class ShortWay:
    """An application whose ordinary routes are reached without a detour."""

    def __init__(self, app: FastAPI, constant: Mapping[Callable[..., Any], Any] = MappingProxyType({})) -> None:
        self._app = app
        # By method, number of steps and first step: routes in the order of their declaration.
        self._routes: dict[tuple[str, int, str], list[_Laid]] = {}
        for route in app.routes:
            laid = _laid(route, constant) if isinstance(route, APIRoute) else None
            if laid is not None:
                for method in laid.route.methods or ():
                    key = method, len(laid.steps), laid.steps[0]
                    self._routes.setdefault(key, []).append(laid)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        laid = self._find(scope) if scope["type"] == "http" else None
        if laid is None:
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app
        scope["route"] = laid.route
        request = Request(scope, receive)
        try:
            answer = await laid.answer(request)
        except Exception as error:
            answer = await problems.answer_to(request, error)
        if isinstance(answer, bytes):
            headers = [(b"content-length", b"%d" % len(answer)), _JSON]
            await send({"type": "http.response.start", "status": laid.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer})
            return
        try:
            await answer(scope, receive, send)
        except Exception as error:
            # Part of it is on its way, so there is no other answer; it is logged as any.
            await problems.answer_to(request, error)
            raise

    def _find(self, scope: Scope) -> _Laid | None:
        """The first route that an address fits; its parameters are left in the scope."""
        _, *steps = scope["path"].removeprefix(scope.get("root_path", "")).split("/")
        for laid in self._routes.get((scope["method"], len(steps), steps[0]) if steps else ("", 0, ""), ()):
            for place, text in laid.fixed:
                if steps[place] != text:
                    break
            else:
                parameters = {name: steps[place] for place, name in laid.named}
                if "" not in parameters.values():
                    scope["path_params"] = parameters
                    return laid
        return None


# -- what a route needs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Laid:
    """A route that was worked out."""

    route: APIRoute
    status: int
    steps: list[str]
    # Places of the address that must have a text, and of those that are parameters.
    fixed: tuple[tuple[int, str], ...]
    named: tuple[tuple[int, str], ...]
    plan: _Plan
    body: Any
    dump: Callable[[Any], bytes] | None

    async def answer(self, request: Request) -> bytes | Response:
        errors: list[Any] = []
        # The caller is among these: nothing is read of a body that comes from nobody.
        values = await self.plan.arguments(request, {}, errors)
        if self.body is not None:
            await _take_body(self.body, request, values, errors)
        if errors:
            raise RequestValidationError(errors)
        answer = await self.plan.call(**values)
        if isinstance(answer, Response):
            return answer
        if self.dump is not None:
            return self.dump(answer)
        return Response(status_code=self.status) if answer is None else JSONResponse(answer, self.status)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a function is to be called with."""

    call: Callable[..., Any]
    # Arguments that are the same each time.
    constant: dict[str, Any]
    request_name: str | None
    fields: tuple[_Fields, ...]
    # Dependencies: the argument that each is for, and its plan.
    needs: tuple[tuple[str | None, _Plan], ...]

    async def arguments(
        self, request: Request, known: dict[Callable[..., Any], Any], errors: list[Any]
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, plan in self.needs:
            found = known.get(plan.call, _ABSENT)
            if found is _ABSENT:
                given = await plan.arguments(request, known, errors) if plan.needs else plan.own({}, request, errors)
                if errors:
                    continue
                found = known[plan.call] = await plan.call(**given)
            if name is not None:
                values[name] = found
        return self.own(values, request, errors)

    def own(self, values: dict[str, Any], request: Request, errors: list[Any]) -> dict[str, Any]:
        """The arguments beside those that dependencies give."""
        values.update(self.constant)
        for fields in self.fields:
            fields.take(request, values, errors)
        if self.request_name is not None:
            values[self.request_name] = request
        return values


def _laid(route: APIRoute, constant: Mapping[Callable[..., Any], Any]) -> _Laid | None:
    """What a route needs, unless that is something out of the ordinary."""
    steps = route.path.split("/")[1:]
    named = tuple((place, step[1:-1]) for place, step in enumerate(steps) if step.startswith("{"))
    fixed = tuple((place, step) for place, step in enumerate(steps) if place and not step.startswith("{"))
    is_plain = route.path_format == route.path and all(
        step[:1] + step[-1:] == "{}" or "{" not in step for step in steps
    )
    plan, fields = _plan(route.dependant, constant), route.dependant.body_params
    if plan is None or not is_plain or "{" in steps[0] or route.response_model_exclude_none:
        return None
    if len(fields) > 1 or getattr(route, "_embed_body_fields", False):
        return None
    if any(isinstance(field.field_info, Form) for field in fields):
        return None
    status = 200 if route.status_code is None else route.status_code
    return _Laid(route, status, steps, fixed, named, plan, fields[0] if fields else None, _writer(route.response_model))


def _writer(model: Any) -> Callable[[Any], bytes] | None:
    """What makes JSON of an answer; None where there is no model of it.

    An answer that is a ``TypedDict`` is written as it is: whoever made it made what is shown.
    """
    if model is None:
        return None
    if is_typeddict(model):
        return partial(orjson.dumps, option=orjson.OPT_UTC_Z)
    return partial(TypeAdapter(model).serializer.to_json, by_alias=True)


def _plan(dependant: Dependant, constant: Mapping[Callable[..., Any], Any]) -> _Plan | None:
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
    same, needs = {}, []
    for need in dependant.dependencies:
        if need.name is not None and need.call is not None and need.call in constant:
            same[need.name] = constant[need.call]
            continue
        plan = _plan(need, constant)
        if plan is None or need.body_params or not need.use_cache:
            return None
        needs.append((need.name, plan))
    places: list[tuple[type[_Fields], list[Any]]] = [
        (_PathFields, dependant.path_params),
        (_QueryFields, dependant.query_params),
        (_HeaderFields, dependant.header_params),
    ]
    fields = tuple(kind(declared) for kind, declared in places if declared)
    return _Plan(call, same, dependant.request_param_name, fields, tuple(needs))


# -- parameters -----------------------------------------------------------------------------------------------------


class _Fields:
    """Parameters from one place of a request."""

    def __init__(self, declared: list[Any]) -> None:
        self._declared = declared
        self.names = [field.alias for field in declared]
        self._plain = [
            (field.name, field.alias, field._type_adapter.validator.validate_python, field.get_default())
            for field in declared
        ]
        self._are_plain = all(_is_plain(field) for field in declared)

    def take(self, request: Request, values: dict[str, Any], errors: list[Any]) -> None:
        if not (self._are_plain and self._take_plain(self.given(request), values)):
            # FastAPI takes any other, and says what is wrong.
            found, wrong = request_params_to_args(self._declared, self.all_given(request))
            values.update(found)
            errors += wrong

    def _take_plain(self, given: Mapping[str, str], values: dict[str, Any]) -> bool:
        try:
            for name, alias, validate, default in self._plain:
                text = given.get(alias)
                if text is not None:
                    values[name] = validate(text)
                elif default is PydanticUndefined:
                    return False
                else:
                    values[name] = default
        except ValidationError:
            return False
        return True

    def given(self, request: Request) -> Mapping[str, str]:
        """What a request has, by name; of several of a name, the one that counts."""
        raise NotImplementedError

    def all_given(self, request: Request) -> Any:
        """The same as FastAPI takes it."""
        raise NotImplementedError


class _PathFields(_Fields):
    def given(self, request: Request) -> Mapping[str, str]:
        return request.path_params

    def all_given(self, request: Request) -> Any:
        return request.path_params


class _QueryFields(_Fields):
    def given(self, request: Request) -> Mapping[str, str]:
        text = request.scope["query_string"].decode("latin-1")
        if "%" in text or "+" in text:
            return dict(parse_qsl(text, keep_blank_values=True))
        # Nothing is written otherwise than it is meant.
        pairs = [part.partition("=") for part in text.split("&") if part]
        return {name: value for name, _, value in pairs}

    def all_given(self, request: Request) -> Any:
        return request.query_params


class _HeaderFields(_Fields):
    def __init__(self, declared: list[Any]) -> None:
        super().__init__(declared)
        self._names = {name.lower().encode("latin-1"): name for name in self.names}

    def given(self, request: Request) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for name, value in request.scope["headers"]:
            if name in self._names:
                found.setdefault(self._names[name], value.decode("latin-1"))
        return found

    def all_given(self, request: Request) -> Any:
        return request.headers


def _is_plain(field: Any) -> bool:
    """Whether a parameter is one text that is validated by itself."""
    info, default = field.field_info, field.get_default()
    if info.validate_default or field.config is not None or info.validation_alias not in (None, field.alias):
        return False
    return _is_scalar(info.annotation) and (default is PydanticUndefined or _is_scalar(type(default)))


def _is_scalar(annotation: Any) -> bool:
    kind = get_origin(annotation)
    if kind is Annotated:
        return _is_scalar(get_args(annotation)[0])
    if kind in (Union, UnionType):
        return all(_is_scalar(choice) for choice in get_args(annotation))
    if kind is Literal:
        return True
    return isinstance(annotation, type) and issubclass(annotation, str | int | float | date | UUID | Enum | NoneType)


# -- the body -------------------------------------------------------------------------------------------------------


async def _take_body(field: Any, request: Request, values: dict[str, Any], errors: list[Any]) -> None:
    content = await _content(request)
    body = _parsed(content, request.scope["headers"]) if content else PydanticUndefined
    if body is not PydanticUndefined:
        try:
            values[field.name] = field._type_adapter.validator.validate_python(body)
            return
        except ValidationError:
            pass
    found, wrong = await request_body_to_args(body_fields=[field], received_body=body, embed_body_fields=False)
    values.update(found)
    errors += wrong


async def _content(request: Request) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _parsed(content: bytes, headers: Iterable[tuple[bytes, bytes]]) -> Any:
    """The body as JSON, which it has to say that it is: curl, for one, says that it is a form unless it is told."""
    told = next((value for name, value in headers if name == b"content-type"), b"")
    kind = told.partition(b";")[0].strip().lower()
    if not kind.startswith(b"application/") or not (kind == b"application/json" or kind.endswith(b"+json")):
        raise HTTPException(415, "send JSON, and say so: Content-Type: application/json")
    try:
        return _decoder.decode(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is no JSON") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_decoder = json.JSONDecoder(parse_constant=_no_number)
