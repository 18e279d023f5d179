"""Signing in and out.

    GET  /sign-in             in development the demo people, with their roles; otherwise a link to the issuer
    POST /sign-in             development: sign in as one of them
    GET  /sign-in/begin       to the issuer's page (``openid_client``)
    GET  /sign-in/callback    back from it
    POST /sign-out

Demo people are offered by the same rules as tokens (``html_pages.is_private``): in development, at a loopback address,
not through a proxy. Pages are plain HTML: users who have not signed in have nothing running here.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from urllib.parse import parse_qs, urlencode, urlsplit

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tablewright.runtime import Caller, DemoUser, Runtime, ServiceProblem, System
from tablewright.runtime.http.html_pages import demo_admin, is_private
from tablewright.store import StoreError
from tablewright.ui.icons import icon_svg
from tablewright.ui.identity.browser_guard import session_in
from tablewright.ui.identity.openid_client import ATTEMPT_SECONDS, OpenIdClient
from tablewright.ui.identity.session_cookie import SESSION_COOKIE, Sessions, SessionTooLarge, Signer
from tablewright.ui.texts import Texts, language_of, zone_of

__all__ = ["SignIn"]

_ATTEMPT_COOKIE = "tablewright_sign_in"
_MAX_FORM = 4_096

_log = logging.getLogger(__name__)


class SignIn:
    """The routes for signing in and out."""

    def __init__(
        self,
        runtime: Runtime,
        systems: Sequence[System],
        sessions: Sessions,
        texts: Mapping[str, tuple[str, str]],
        head: Callable[[str], str],
        root: str,
    ) -> None:
        """``head`` returns the head of an HTML page in a language."""
        self._runtime = runtime
        self._sessions = sessions
        self._texts = texts
        self._head = head
        self._root = root
        self._people = {} if runtime.issuer is None else _people(systems)
        # Those that mean something here: a token may have any number of others.
        self._known = frozenset(role.name for system in systems for role in system.roles) | {"runtime:Admins"}
        self._openid = None if runtime.issuer is not None else self._client(runtime)
        self._is_secure = (runtime.public_url or "").startswith("https:")

    def router(self) -> APIRouter:
        router = APIRouter(include_in_schema=False)
        routes: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/sign-in", self._page),
            ("POST", "/sign-in", self._choose),
            ("GET", "/sign-in/begin", self._begin),
            ("GET", "/sign-in/callback", self._come_back),
            ("POST", "/sign-out", self._sign_out),
        ]
        for method, path, endpoint in routes:
            router.add_api_route(path, endpoint, methods=[method], response_class=Response)
        return router

    # -- routes ---------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        to = _inside(request.query_params.get("to", "/"))
        if session_in(request.scope) is not None:
            return RedirectResponse(self._root + to, 303)
        t = self._texts_of(request)
        if self._runtime.issuer is None and self._openid is None:
            return self._closed(t, "shell.sign_in_no_url")
        if self._runtime.issuer is None:
            begin = f"{self._root}/sign-in/begin?{urlencode({'to': to})}"
            body = (
                f'<p class="tw-mute">{escape(t("shell.sign_in_about"))}</p>'
                f'<a class="tw-btn tw-btn-primary" href="{escape(begin)}">{escape(t("shell.sign_in_with"))}</a>'
            )
            return self._html(t, t("shell.sign_in"), body, small=True)
        if not is_private(self._runtime, request):
            return self._closed(t, "shell.sign_in_closed")
        cards = "".join(_person_card(user, to, self._root) for user in self._people.values())
        about = f'<p class="tw-mute">{escape(t("shell.sign_in_demo"))}</p>'
        return self._html(t, t("shell.sign_in_as"), about, below=f'<div class="tw-people">{cards}</div>')

    async def _choose(self, request: Request) -> Response:
        form = await _form(request)
        user = self._people.get(form.get("user", ""))
        if user is None or not is_private(self._runtime, request):
            t = self._texts_of(request)
            return self._failed(t, t("shell.sign_in_closed"), 403)
        caller = await self._noted(Caller(user.user_id, user.email, frozenset(role.name for role in user.roles)))
        return await self._signed_in(request, caller, user.user_id, form.get("to", "/"))

    async def _begin(self, request: Request) -> Response:
        t = self._texts_of(request)
        if self._openid is None:
            return RedirectResponse(f"{self._root}/sign-in", 303)
        self._limit(request)
        try:
            url, cookie = await self._openid.begin(_inside(request.query_params.get("to", "/")))
        except ServiceProblem as error:
            return self._failed(t, str(error), 503)
        response = RedirectResponse(url, 303)
        # Lax: it has to come along when the issuer sends the browser back.
        response.set_cookie(
            _ATTEMPT_COOKIE,
            cookie,
            max_age=ATTEMPT_SECONDS,
            path=f"{self._root}/sign-in",
            httponly=True,
            samesite="lax",
            secure=self._is_secure,
        )
        return response

    async def _come_back(self, request: Request) -> Response:
        t = self._texts_of(request)
        if self._openid is None:
            return RedirectResponse(f"{self._root}/sign-in", 303)
        self._limit(request)
        try:
            found = await self._openid.finish(dict(request.query_params), request.cookies.get(_ATTEMPT_COOKIE))
            await self._runtime.deny_list.check(found.caller.user_id)
        except ServiceProblem as error:
            return self._failed(t, str(error), 403)
        roles = found.caller.roles & self._known
        caller = await self._noted(Caller(found.caller.user_id, found.caller.email, roles))
        response = await self._signed_in(request, caller, found.name, found.to)
        response.delete_cookie(_ATTEMPT_COOKIE, path=f"{self._root}/sign-in")
        return response

    async def _sign_out(self, request: Request) -> Response:
        session = session_in(request.scope)
        if session is not None:
            try:
                await self._sessions.end(session)
            except StoreError as error:
                _log.warning("sign-out failed", exc_info=error)
                t = self._texts_of(request)
                return self._failed(t, t("shell.sign_out_failed"), 503)
        elsewhere = None
        if self._openid is not None and self._runtime.public_url is not None:
            elsewhere = await self._openid.sign_out_url(f"{self._runtime.public_url.rstrip('/')}{self._root}/sign-in")
        if elsewhere is not None and urlsplit(elsewhere).scheme in ("http", "https"):
            # Not a redirect of the form itself: the policy of our pages has forms stay here.
            head = f'<meta http-equiv="refresh" content="0; url={escape(elsewhere)}">'
            response: Response = HTMLResponse(f"<!doctype html><html lang=en>{head}<title>…</title>")
        else:
            response = RedirectResponse(f"{self._root}/sign-in", 303)
        response.delete_cookie(SESSION_COOKIE, path="/")
        return response

    # -- parts of them ---------------------------------------------------------------------------------------------

    def _client(self, runtime: Runtime) -> OpenIdClient | None:
        settings = runtime.settings
        if settings.issuer is None or settings.audience is None or runtime.public_url is None:
            return None
        secret = settings.client_secret
        return OpenIdClient(
            settings.issuer,
            settings.audience,
            None if secret is None else secret.get_secret_value(),
            settings.sign_in_scopes,
            f"{runtime.public_url.rstrip('/')}{self._root}/sign-in/callback",
            runtime.verifier,
            Signer(runtime.session_secret, "sign-in", runtime.clock),
            runtime.clock,
        )

    def _limit(self, request: Request) -> None:
        self._runtime.limit.take(f"address {request.client.host if request.client else ''}")

    async def _noted(self, caller: Caller) -> Caller:
        """Somebody who is among the people from now on."""
        try:
            await self._runtime.people.signed_in(caller)
        except StoreError as error:
            # Nobody has to wait outside for that.
            _log.warning("a sign-in was not recorded", exc_info=error)
        return caller

    async def _signed_in(self, request: Request, caller: Caller, name: str, to: str) -> Response:
        try:
            session, cookie = self._sessions.begin(caller, name)
        except SessionTooLarge as error:
            return self._failed(self._texts_of(request), str(error), 400)
        before = session_in(request.scope)
        if before is not None:
            try:
                await self._sessions.end(before)
            except StoreError as error:
                _log.warning("sign-out failed", exc_info=error)
        response = RedirectResponse(self._root + _inside(to), 303)
        response.set_cookie(
            SESSION_COOKIE,
            cookie,
            max_age=max(1, int(session.expires - self._runtime.clock())),
            path="/",
            httponly=True,
            samesite="lax",
            secure=self._is_secure,
        )
        return response

    def _texts_of(self, request: Request) -> Texts:
        language = language_of(request.cookies.get("tablewright_language"), request.headers.get("accept-language", ""))
        return Texts(self._texts, language, zone_of(request.cookies.get("tablewright_zone")))

    def _closed(self, t: Texts, key: str) -> Response:
        return self._html(t, t("shell.sign_in"), f'<p class="tw-mute">{escape(t(key))}</p>', small=True)

    def _failed(self, t: Texts, reason: str, status: int) -> Response:
        body = (
            f'<p class="tw-banner tw-banner-bad" role="alert">{icon_svg("alert")}<span>{escape(reason)}</span></p>'
            f'<a class="tw-btn" href="{self._root}/sign-in">{escape(t("shell.again"))}</a>'
        )
        return self._html(t, t("shell.sign_in_failed"), body, small=True, status=status)

    def _html(
        self, t: Texts, title: str, body: str, *, below: str = "", small: bool = False, status: int = 200
    ) -> Response:
        page = (
            f'{self._head(t.language)}<title>{escape(title)} · Tablewright</title><body><main class="tw-signin">'
            f'<div class="tw-signin-box {"tw-signin-small" if small else ""}"><div class="tw-signin-head">'
            f'<span class="tw-logo" aria-hidden="true">T</span><h1 class="tw-h1">{escape(title)}</h1>{body}</div>'
            f"{below}</div></main></body></html>"
        )
        return HTMLResponse(page, status)


def _people(systems: Sequence[System]) -> dict[str, DemoUser]:
    """The demo people of all systems; a person of several systems has the roles of all."""
    found: dict[str, DemoUser] = {}
    # Who may do everything comes first.
    for user in [demo_admin(systems), *(user for system in systems for user in system.demo_users)]:
        before = found.get(user.user_id)
        if before is not None:
            roles = tuple(dict.fromkeys((*before.roles, *user.roles)))
            about = f"{before.about}; {user.about}"
            user = DemoUser(user.user_id, roles, about, before.email or user.email)
        found[user.user_id] = user
    return found


def _person_card(user: DemoUser, to: str, root: str) -> str:
    roles = "".join(f'<span class="tw-pill">{escape(role.name)}</span>' for role in user.roles)
    initials = escape(user.user_id[:2].upper())
    return (
        f'<form method="post" action="{root}/sign-in"><input type="hidden" name="to" value="{escape(to)}">'
        f'<button class="tw-person" type="submit" name="user" value="{escape(user.user_id)}">'
        f'<span class="tw-avatar tw-avatar-large tw-avatar-0" aria-hidden="true">{initials}</span>'
        f'<span class="tw-grow"><span class="tw-strong">{escape(user.user_id)}</span><br>'
        f'<span class="tw-mute tw-small">{escape(user.about)}</span><span class="tw-person-roles">{roles}</span></span>'
        f"</button></form>"
    )


def _inside(to: str) -> str:
    """A path below our own root; anything else, such as another site, is the start page."""
    is_plain = (
        to.startswith("/") and not to.startswith(("//", "/\\", "/sign-")) and to.isprintable() and len(to) < 2_000
    )
    return to if is_plain and "\\" not in to else "/"


async def _form(request: Request) -> dict[str, str]:
    body = await request.body()
    fields = parse_qs(body[:_MAX_FORM].decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20)
    return {name: values[0] for name, values in fields.items()}
