"""The guard of the screens: which browser pages may use them, and for which user.

    request, web socket ──▶ from another origin?   refused
                       ──▶ not signed in?         redirected to the sign-in page; a web socket is refused
                       ──▶ screens                 with the session in the scope

A browser sends cookies whichever site made the page, so a request that changes something, and every web socket, must
come from a page of ours: by its ``Origin``, or by ``Sec-Fetch-Site`` where a browser sends no origin.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablewright.ui.identity.session_cookie import SESSION_COOKIE, Session, Sessions

__all__ = ["BrowserGuard", "cookies_in", "session_in"]

# The key of a scope that has the session.
_SESSION = "tablewright.session"
# What can be had without a session, below the root of the screens: the way in, and files that are the same for all.
_OPEN = ("/sign-in", "/static/", "/_nicegui/", "/favicon.ico")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Vue compiles the templates of components in the browser, hence 'unsafe-eval'.
_HEADERS = {
    "content-security-policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; object-src 'none'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]


class BrowserGuard:
    """The ASGI middleware around the screens."""

    def __init__(self, app: ASGIApp, sessions: Sessions, public_url: str | None) -> None:
        self._app = app
        self._sessions = sessions
        self._public_host = urlsplit(public_url or "").netloc.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[str, str] = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        session = self._sessions.read(cookies_in(headers).get(self.cookie_name(headers)))
        if session is not None and await self._sessions.is_over(session):
            session = None
        scope[_SESSION] = session
        is_socket = scope["type"] == "websocket"
        if not self._is_ours(headers, is_strict=is_socket or scope["method"] not in _SAFE_METHODS):
            if is_socket:
                await send({"type": "websocket.close", "code": 4403, "reason": "another origin"})
                return
            await PlainTextResponse("This request comes from another site.", 403)(scope, receive, send)
            return
        if is_socket:
            if session is None:
                await send({"type": "websocket.close", "code": 4401, "reason": "not signed in"})
                return
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW_HEADERS]}
            await send(message)

        if session is None and not path.startswith(_OPEN):
            await self._lead_to_sign_in(scope)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def cookie_name(self, headers: dict[str, str]) -> str:
        """The name of the session cookie."""
        return SESSION_COOKIE

    def _is_ours(self, headers: dict[str, str], *, is_strict: bool) -> bool:
        """Whether a request is from a page of ours; where it is not ``is_strict``, it may also be from no page."""
        origin = headers.get("origin")
        if origin is not None:
            host = urlsplit(origin).netloc.lower()
            return bool(host) and host in (headers.get("host", "").lower(), self._public_host)
        site = headers.get("sec-fetch-site")
        return site in ("same-origin", "none") if is_strict else True

    def _lead_to_sign_in(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Sign in first.", 401)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        query = scope.get("query_string", b"").decode("latin-1")
        wanted = quote(f"{path}?{query}" if query else path, safe="")
        return RedirectResponse(f"{scope.get('root_path', '')}/sign-in?to={wanted}", 303)


def cookies_in(headers: dict[str, str]) -> dict[str, str]:
    """The cookies of a request."""
    try:
        return {name: each.value for name, each in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def session_in(scope: Scope) -> Session | None:
    """The session of a request; None if its user has not signed in."""
    session: Session | None = scope.get(_SESSION)
    return session
