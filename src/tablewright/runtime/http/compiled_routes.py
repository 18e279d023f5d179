"""Compiled routes: what an endpoint needs is computed once, at its first request, and not for every request.

FastAPI tries one route after the other, solves the tree of dependencies again for each request, and passes the response
through several layers: together more than the database's part of most requests. The routes of a system need little of
that: path, query and header parameters, one JSON body, and dependencies that are coroutines. ``CompiledRoutes`` reads
the signatures of such endpoints as FastAPI does, validates with Pydantic, and finds a route by the steps of its path.
FastAPI handles everything else: other routes (which come after these), unknown paths and methods, and OpenAPI.

    app = CompiledRoutes(FastAPI(routes=router.routes))     an ASGI application with the responses of the one inside it

    /tickets/{ticket_id} ──▶ Route: steps ──▶ Call: dependencies, parameters ──▶ body ──▶ endpoint ──▶ JSON

Two differences are intended. Dependencies run before the body is read, so nothing is read for a caller without a token.
And values are not coerced: FastAPI reads ``true`` or ``"5"`` as a number, ``1`` as a flag and ``0`` as a date; here
they are refused.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
from fastapi import FastAPI, Request, params
from fastapi.datastructures import DefaultPlaceholder
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import is_typeddict

from tablewright.runtime.http import problems
from tablewright.runtime.parameter_texts import NotWritten, exact

__all__ = ["CompiledRoutes"]

_JSON = (b"content-type", b"application/json")
_REQUIRED: Any = object()


class CompiledRoutes:
    """An application whose ordinary routes are compiled, in front of the FastAPI application with all routes."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        # By method, number of steps and first step: routes in the order of their declaration.
        self._routes: dict[tuple[str, int, str], list[_Path]] = {}
        for route in app.routes:
            path = _path(route) if isinstance(route, APIRoute) else None
            if path is not None:
                for method in path.route.methods or ():
                    key = method, len(path.steps), path.steps[0]
                    self._routes.setdefault(key, []).append(path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._find(scope) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app
        scope["route"] = route.route
        request = Request(scope, receive)
        try:
            response = await route.respond(request)
        except Exception as error:
            response = await problems.response_to(request, error)
        if isinstance(response, bytes):
            headers = [(b"content-length", b"%d" % len(response)), _JSON]
            await send({"type": "http.response.start", "status": route.status, "headers": headers})
            await send({"type": "http.response.body", "body": response})
            return
        try:
            await response(scope, receive, send)
        except Exception as error:
            # Part of it has been sent, so there is no other response; it is logged as any.
            await problems.response_to(request, error)
            raise

    def _find(self, scope: Scope) -> _Route | None:
        """The first route that a path matches; its parameters are left in the scope."""
        _, *steps = scope["path"].removeprefix(scope.get("root_path", "")).split("/")
        for path in self._routes.get((scope["method"], len(steps), steps[0]) if steps else ("", 0, ""), ()):
            for place, text in path.fixed:
                if steps[place] != text:
                    break
            else:
                parameters = {name: steps[place] for place, name in path.named}
                if "" not in parameters.values() and path.compiled is not None:
                    scope["path_params"] = parameters
                    return path.compiled
        return None


@dataclass(frozen=True)
class _Path:
    """The path of a route, which is compiled when it is first requested, as most routes of a process never are."""

    route: APIRoute
    steps: list[str]
    # Steps of the path that must have a text, and those that are parameters.
    fixed: tuple[tuple[int, str], ...]
    named: tuple[tuple[int, str], ...]

    @cached_property
    def compiled(self) -> _Route | None:
        """None if the route is left to FastAPI."""
        route = self.route
        if not isinstance(route.response_class, DefaultPlaceholder) or route.response_model_exclude_none:
            return None
        try:
            call = _Call(route.endpoint, frozenset(name for _, name in self.named))
        except _Uncommon:
            return None
        status = 200 if route.status_code is None else route.status_code
        return _Route(route, status, call, _serializer(route.response_model))


@dataclass(frozen=True, slots=True)
class _Route:
    """A compiled route."""

    route: APIRoute
    status: int
    call: _Call
    serialize: Callable[[Any], bytes] | None

    async def respond(self, request: Request) -> bytes | Response:
        errors: list[Any] = []
        values = await self.call.arguments(request, {}, errors)
        if self.call.body is not None:
            await _read_body(*self.call.body, request, values, errors)
        if errors:
            raise RequestValidationError(errors)
        result = await self.call.function(**values)
        if isinstance(result, Response):
            return result
        if self.serialize is not None:
            return self.serialize(result)
        return Response(status_code=self.status) if result is None else JSONResponse(result, self.status)


class _Uncommon(Exception):
    """A route needs something that is left to FastAPI."""


def _path(route: APIRoute) -> _Path | None:
    """None if the path is left to FastAPI."""
    steps = route.path.split("/")[1:]
    named = tuple((place, step[1:-1]) for place, step in enumerate(steps) if step.startswith("{"))
    fixed = tuple((place, step) for place, step in enumerate(steps) if place and not step.startswith("{"))
    has_plain_path = all("{" not in step or (step[0] + step[-1] == "{}" and ":" not in step) for step in steps)
    if not has_plain_path or "{" in steps[0] or route.dependencies:
        return None
    return _Path(route, steps, fixed, named)


def _serializer(model: Any) -> Callable[[Any], bytes] | None:
    """Makes JSON of what an endpoint returns; a ``TypedDict`` is written as it is, without being validated first."""
    if model is None:
        return None
    if is_typeddict(model):
        return partial(orjson.dumps, option=orjson.OPT_UTC_Z)
    return partial(TypeAdapter(model).dump_json, by_alias=True)


# -- what a function is called with ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter that is one text of the request."""

    name: str
    alias: str
    validate: Callable[[Any], Any]
    default: Any


class _Call:
    """An endpoint or a dependency, and the arguments that it needs."""

    def __init__(self, function: Any, path: frozenset[str]) -> None:
        if not inspect.iscoroutinefunction(function):
            raise _Uncommon
        self.function: Callable[..., Any] = function
        self.body: tuple[str, TypeAdapter[Any]] | None = None
        self._request: str | None = None
        self._needs: list[tuple[str, _Call]] = []
        self._path: list[_Parameter] = []
        self._query: list[_Parameter] = []
        self._headers: list[_Parameter] = []
        try:
            hints = get_type_hints(inspect.unwrap(function), include_extras=True)
            parameters = inspect.signature(function).parameters
            for name, parameter in parameters.items():
                default = _REQUIRED if parameter.default is parameter.empty else parameter.default
                self._add(name, hints[name], default, path)
        except (NameError, TypeError, KeyError):
            raise _Uncommon from None
        self._header_names = {header.alias.lower().encode("latin-1"): header.alias for header in self._headers}

    def _add(self, name: str, hint: Any, default: Any, path: frozenset[str]) -> None:
        kind, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        # As FastAPI takes the last one.
        marker = next((each for each in reversed(metadata) if isinstance(each, FieldInfo | params.Depends)), None)
        if isinstance(default, FieldInfo | params.Depends):
            raise _Uncommon
        if isinstance(marker, params.Depends):
            need = _Call(marker.dependency, path) if marker.use_cache else None
            if need is None or need.body is not None:
                raise _Uncommon
            self._needs.append((name, need))
        elif kind in (Request, HTTPConnection):
            self._request = name
        elif marker is None and isinstance(kind, type) and issubclass(kind, BaseModel):
            if self.body is not None or default is not _REQUIRED:
                raise _Uncommon
            self.body = name, TypeAdapter(kind)
        else:
            self._add_parameter(name, kind, metadata, marker, default, path)

    def _add_parameter(
        self, name: str, kind: Any, metadata: list[Any], marker: FieldInfo | None, default: Any, path: frozenset[str]
    ) -> None:
        if not (_is_scalar(kind) and (default is _REQUIRED or _is_scalar(type(default)))):
            raise _Uncommon
        # What bounds the value; the marker itself would also say where it comes from.
        constraints = [each for each in metadata if each is not marker] + ([] if marker is None else marker.metadata)
        adapter = TypeAdapter(Annotated[(kind, *constraints)] if constraints else kind)
        validate = exact(kind, adapter)
        alias = name if marker is None or marker.alias is None else marker.alias
        if alias in path:
            self._path.append(_Parameter(name, alias, validate, default))
        elif isinstance(marker, params.Header):
            header = name.replace("_", "-") if alias == name else alias
            self._headers.append(_Parameter(name, header, validate, default))
        elif marker is None or isinstance(marker, params.Query):
            self._query.append(_Parameter(name, alias, validate, default))
        else:
            raise _Uncommon

    async def arguments(
        self, request: Request, known: dict[Callable[..., Any], Any], errors: list[Any]
    ) -> dict[str, Any]:
        """The arguments but for the body; ``known`` has the dependencies that were called for this request."""
        values: dict[str, Any] = {}
        for name, call in self._needs:
            if call.function not in known:
                given = await call.arguments(request, known, errors)
                if errors:
                    continue
                known[call.function] = await call.function(**given)
            values[name] = known[call.function]
        if self._path:
            _take(self._path, request.path_params, "path", values, errors)
        if self._query:
            query = request.scope["query_string"].decode("latin-1")
            _take(self._query, dict(parse_qsl(query, keep_blank_values=True)) if query else {}, "query", values, errors)
        if self._headers:
            _take(self._headers, self._given_headers(request), "header", values, errors)
        if self._request is not None:
            values[self._request] = request
        return values

    def _given_headers(self, request: Request) -> dict[str, str]:
        """Of several headers of one name, the first."""
        found: dict[str, str] = {}
        for name, value in request.scope["headers"]:
            if name in self._header_names:
                found.setdefault(self._header_names[name], value.decode("latin-1"))
        return found


def _take(
    parameters: Iterable[_Parameter],
    given: Mapping[str, str],
    place: str,
    values: dict[str, Any],
    errors: list[Any],
) -> None:
    for parameter in parameters:
        text = given.get(parameter.alias)
        if text is not None:
            try:
                values[parameter.name] = parameter.validate(text)
            except ValidationError as error:
                errors += _located(error, place, parameter.alias)
            except NotWritten as error:
                errors.append({"type": "written", "loc": (place, parameter.alias), "msg": str(error), "input": text})
        elif parameter.default is _REQUIRED:
            errors.append(_missing(place, parameter.alias))
        else:
            values[parameter.name] = parameter.default


def _is_scalar(annotation: Any) -> bool:
    """Whether a value of a type is written as one text."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_scalar(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return all(_is_scalar(choice) for choice in get_args(annotation))
    if origin is Literal:
        return True
    return isinstance(annotation, type) and issubclass(annotation, str | int | float | date | UUID | Enum | NoneType)


# -- the body -------------------------------------------------------------------------------------------------------


async def _read_body(
    name: str, adapter: TypeAdapter[Any], request: Request, values: dict[str, Any], errors: list[Any]
) -> None:
    content = await _content(request)
    if not content:
        errors.append(_missing("body"))
        return
    _check_json(content, request.scope["headers"])
    try:
        # Strict: true is no number, and "5" is none either.
        values[name] = adapter.validate_json(content, strict=True)
    except ValidationError as error:
        found = _located(error, "body")
        if any(each["type"] == "json_invalid" for each in found):
            # JSON can escape half of a character, which Pydantic's reader takes for no JSON, and nothing can store.
            place = _half_character(_decoded(content), ("body",))
            found = [{"type": "unicode", "loc": place, "msg": "it is not valid Unicode", "input": None}]
        errors += found


async def _content(request: Request) -> bytes:
    """``request.body()`` without its generators: most bodies are one message."""
    parts: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _check_json(content: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """The body is JSON, as its content type has to say: without one, curl says that it is a form."""
    media_type = next((value for name, value in headers if name == b"content-type"), b"")
    media_type = media_type.partition(b";")[0].strip().lower()
    if not media_type.startswith(b"application/") or not media_type.endswith((b"/json", b"+json")):
        raise HTTPException(415, "send JSON, with the header Content-Type: application/json")
    # Pydantic reads these as numbers.
    if b"NaN" in content or b"Infinity" in content:
        _decoded(content)


def _decoded(content: bytes) -> Any:
    try:
        return _decoder.decode(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not valid JSON") from None


def _half_character(value: Any, place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where a value has text that is not valid Unicode; the place of the value itself if that is not found."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        try:
            json.dumps(member, ensure_ascii=False).encode()
        except (UnicodeEncodeError, RecursionError):
            return _half_character(member, (*place, name))
    return place


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not valid in JSON")


_decoder = json.JSONDecoder(parse_constant=_not_a_number)


# -- errors, as FastAPI has them ------------------------------------------------------------------------------------


def _missing(*place: str) -> dict[str, Any]:
    return {"type": "missing", "loc": place, "msg": "Field required", "input": None}


def _located(error: ValidationError, *place: str) -> list[dict[str, Any]]:
    return [{**each, "loc": (*place, *each["loc"])} for each in error.errors(include_url=False)]
