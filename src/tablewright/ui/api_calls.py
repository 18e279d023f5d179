"""Calls of the APIs, made by screens for the signed-in user.

    api = page.api                                        of the application that is open; page.apis["tasks"] of another
    task = await api.call("get_task", taskId="t-1")       task.body, task.etag
    await api.call("change_status", taskId="t-1", body={"status": "OPEN"}, seen=task.etag)
    api.may("create_task")                                whether to offer it

A call is a request to the API in this process, by its name: it is validated, authorised, limited, audited and logged
like a request of a program. It needs no token, since the request carries the caller itself, in a place that no outside
request can set. A refusal raises ``Refused`` with the message and the fields of the problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlencode
from uuid import uuid4

import orjson
from starlette.types import ASGIApp, Message, Scope

from tablewright.runtime.http.dependencies import SIGNED_IN
from tablewright.ui.applications import Calls
from tablewright.ui.identity.session_cookie import Session, Sessions

__all__ = ["Api", "ApiResponse", "Refused", "SignedOut"]

_PARAMETER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """The response to a call: its JSON (or bytes), and its entity tag."""

    status: int
    body: Any
    etag: str | None = None
    content_type: str = ""


class Refused(Exception):
    """A call that was refused: the kind and message of the problem, and the messages about single fields, by name."""

    def __init__(self, status: int, kind: str, detail: str, fields: Mapping[str, str]) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.fields = fields

    @property
    def is_conflict(self) -> bool:
        """Whether a concurrent change came first, or the state has changed since it was seen."""
        return self.kind in ("conflict", "precondition-failed")


class SignedOut(Exception):
    """The session has ended; nothing is sent."""


@dataclass(slots=True)
class Api:
    """The calls of one system, for one session."""

    app: ASGIApp = field(repr=False)
    system: str
    calls: Calls = field(repr=False)
    session: Session
    sessions: Sessions = field(repr=False)

    def may(self, *names: str) -> bool:
        """Whether this user's roles allow these calls; the service decides about each one when it is made."""
        return self.calls.may(self.session.caller, *names)

    async def call(
        self,
        name: str,
        /,
        *,
        body: Any = None,
        content: bytes | None = None,
        content_type: str = "application/json",
        seen: str | None = None,
        key: str | None = None,
        **parameters: Any,
    ) -> ApiResponse:
        """Make a call; its parameters go into the path or the query, by their names in the API.

        ``seen`` is the entity tag of what is to be changed, ``key`` an idempotency key. Raises Refused or SignedOut.
        """
        if await self.sessions.is_over(self.session):
            raise SignedOut
        call = self.calls[name]
        path, query = _address(call.path, parameters)
        # The runtime's own paths begin with its name.
        raw = path if self.system == "runtime" else f"/{self.system}{path}"
        headers = [(b"host", b"localhost"), (b"x-request-id", uuid4().hex.encode())]
        if body is not None:
            content = orjson.dumps(body)
        if content is not None:
            headers += [(b"content-type", content_type.encode()), (b"content-length", str(len(content)).encode())]
        if seen is not None:
            headers.append((b"if-match", seen.encode()))
        if key is not None:
            headers.append((b"idempotency-key", key.encode()))
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": call.method,
            "scheme": "http",
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 0),
            "server": ("localhost", 80),
            SIGNED_IN: self.session.signed or self.session.caller,
        }
        return _answer(*await _exchange(self.app, scope, content or b""))


def _address(template: str, parameters: Mapping[str, Any]) -> tuple[str, str]:
    left = {name: value for name, value in parameters.items() if value is not None}
    path = _PARAMETER.sub(lambda found: quote(str(left.pop(found[1])), safe=""), template)
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in left.items()}
    return path, urlencode(texts, doseq=True)


async def _exchange(app: ASGIApp, scope: Scope, content: bytes) -> tuple[int, Mapping[bytes, bytes], bytes]:
    parts: list[bytes] = []
    status, headers = 500, {}
    is_sent = False

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent:
            return {"type": "http.disconnect"}
        is_sent = True
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], dict(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, headers, b"".join(parts)


def _answer(status: int, headers: Mapping[bytes, bytes], content: bytes) -> ApiResponse:
    kind = headers.get(b"content-type", b"").decode("latin-1")
    body = orjson.loads(content) if content and "json" in kind else content or None
    if status >= 400:
        problem = body if isinstance(body, dict) else {}
        raise Refused(
            status,
            str(problem.get("type", "")).rpartition("/")[2],
            str(problem.get("detail") or f"HTTP {status}"),
            _fields(problem),
        )
    etag = headers.get(b"etag")
    return ApiResponse(status, body, None if etag is None else etag.decode("latin-1"), kind)


def _fields(problem: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with which field of the body: ``body.title`` is the field ``title``."""
    found = {
        str(each["field"]).split(".")[1]: each["message"]
        for each in problem.get("errors") or ()
        if "." in each["field"]
    }
    if problem.get("field"):
        found[str(problem["field"])] = str(problem.get("detail", ""))
    return found
