"""Access to the studio: a token in the address that works once, and a cookie from then on.

    http://127.0.0.1:8081/studio/?token=k3J...  ──▶ spent ──▶ cookie: signed, http-only, same-site ──▶ /studio/
    any other request                           ──▶ Host, Origin, cookie ──▶ the studio

The address with the token is printed in the terminal that started the studio: everyone who can read that terminal may
use it. A used token is worthless, even if it is found in a browser history; another is printed at once. A Host that is
an unknown name is refused: it may be a page of another site that resolves to this machine.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from html import escape
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tablewright.runtime import Caller
from tablewright.ui.identity.browser_guard import BrowserGuard, session_in
from tablewright.ui.identity.session_cookie import Sessions
from tablewright.ui.texts import Texts, language_of, zone_of

__all__ = ["SESSION_HOURS", "OneTimeToken", "StudioAccess", "StudioSignIn"]

_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
_MAX_FORM = 2_000
SESSION_HOURS = 12


class OneTimeToken:
    """The token that admits one browser, once; then it is replaced."""

    def __init__(self, on_spent: Callable[[], None] = lambda: None) -> None:
        """``on_spent`` is called when there is a new token."""
        self.value = secrets.token_urlsafe(24)
        self.on_spent = on_spent

    def spend(self, given: str) -> bool:
        """Whether a token is valid; if so, it is used up."""
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.value.encode()):
            return False
        self.value = secrets.token_urlsafe(24)
        self.on_spent()
        return True


class StudioAccess(BrowserGuard):
    """The ASGI middleware around the studio."""

    def __init__(
        self, app: ASGIApp, sessions: Sessions, token: OneTimeToken, *, user: str, hosts: frozenset[str] = frozenset()
    ) -> None:
        """``hosts`` are the names of the studio, besides addresses and ``localhost``."""
        super().__init__(app, sessions, None)
        self._sessions = sessions
        self._token = token
        self._user = user
        self._hosts = hosts | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._is_known(headers.get("host", "")):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 4403, "reason": "another host"})
                return
            await PlainTextResponse("The studio does not accept requests for this host name.", 421)(
                scope, receive, send
            )
            return
        if scope["type"] == "http" and scope["method"] == "GET":
            query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
            if "token" in query:
                response = self.enter(scope, query.pop("token"), query)
                # The address has the token: it is not stored, and not sent on as a referrer.
                response.headers.update({"cache-control": "no-store", "referrer-policy": "no-referrer"})
                await response(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def enter(self, scope: Scope, token: str, query: dict[str, str]) -> Response:
        """Admit a browser with the token, and redirect others to the page that asks for it."""
        root = scope.get("root_path", "")
        if not self._token.spend(token):
            return RedirectResponse(f"{root}/sign-in?used=1", 303)
        _, cookie = self._sessions.begin(Caller(self._user, None, frozenset()), self._user)
        path = scope["path"] if scope["method"] == "GET" else f"{root}/"
        # Without the token: it is not to stay in the address, and so in what is copied from there.
        response = RedirectResponse(quote(path) + (f"?{urlencode(query)}" if query else ""), 303)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        response.set_cookie(
            self.cookie_name(headers),
            cookie,
            path=f"{root}/",
            httponly=True,
            samesite="lax",
            max_age=SESSION_HOURS * 3600,
        )
        return response

    def cookie_name(self, headers: dict[str, str]) -> str:
        """One for each port, since a browser shares cookies between the ports of a host."""
        found = _HOST.fullmatch(headers.get("host", ""))
        return f"tablewright_studio_{(found and found['port']) or '80'}"

    def _is_known(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].lower()
        if name in self._hosts:
            return True
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


class StudioSignIn:
    """The page that asks for the token, and signing out."""

    def __init__(self, sessions: Sessions, texts: Mapping[str, tuple[str, str]], head: Callable[[str], str]) -> None:
        self._sessions = sessions
        self._texts = texts
        self._head = head
        # Set when both are there: each needs the other.
        self.access: StudioAccess | None = None

    def router(self) -> APIRouter:
        router = APIRouter(include_in_schema=False)
        router.add_api_route("/sign-in", self._ask, methods=["GET"], response_class=Response)
        router.add_api_route("/sign-in", self._enter, methods=["POST"], response_class=Response)
        router.add_api_route("/sign-out", self._leave, methods=["POST"], response_class=Response)
        return router

    async def _ask(self, request: Request) -> Response:
        language = language_of(request.cookies.get("tablewright_language"), request.headers.get("accept-language", ""))
        t = Texts(self._texts, language, zone_of(None))
        root = request.scope.get("root_path", "")
        problem = f'<p class="tw-banner tw-banner-bad" role="alert">{escape(t("studio.token_used"))}</p>'
        return HTMLResponse(
            f"{self._head(language)}<title>{escape(t('studio.title'))} · Tablewright</title><body>"
            f'<main class="tw-signin"><form method="post" action="{escape(root)}/sign-in" '
            'class="tw-signin-box tw-signin-small"><div class="tw-signin-head"><span class="tw-logo">T</span>'
            f'<h1 class="tw-h1">{escape(t("studio.title"))}</h1>'
            f'<p class="tw-mute">{escape(t("studio.token_about"))}</p></div>'
            f"{problem if 'used' in request.query_params else ''}"
            f'<div class="tw-field"><label for="token">{escape(t("studio.token"))}</label>'
            '<input class="tw-plain" id="token" name="token" autocomplete="off" required maxlength="500" autofocus>'
            f'</div><button class="tw-btn tw-btn-primary">{escape(t("shell.sign_in"))}</button></form></main>',
            headers={"Cache-Control": "no-store"},
        )

    async def _enter(self, request: Request) -> Response:
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > _MAX_FORM:
                return PlainTextResponse("This is too long for a token.", 413)
        given = dict(parse_qsl(content.decode("utf-8", "replace"))).get("token", "")
        assert self.access is not None
        # Somebody may paste the whole address.
        return self.access.enter(request.scope, given.rpartition("token=")[2].strip(), {})

    async def _leave(self, request: Request) -> Response:
        session = session_in(request.scope)
        if session is not None:
            await self._sessions.end(session)
        return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in", 303)
