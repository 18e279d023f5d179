"""``Page``: a browser tab of a signed-in user, as views see it; ``Shell``: what all tabs of a process share.

    async def board(page: Page) -> None:
        t, api = page.t, page.api
        await page.live(task_management, refresh)
        answer = await api.call("list_tasks", status="OPEN")

A view draws into the content of the page. Going to another address (a link, Back, ``page.go``) draws the view of that
address; if it is the same view, and it registered for that (``page.on_navigate``), it is called instead, so that a list
keeps its place while things are opened next to it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlsplit

from nicegui import Client, ui
from nicegui.events import GenericEventArguments
from starlette.types import ASGIApp

from tablewright.model import Table
from tablewright.runtime import System
from tablewright.store import AnyChange
from tablewright.ui.api_calls import Api, Refused, SignedOut
from tablewright.ui.applications import Application, Calls, View
from tablewright.ui.components import empty, failed, link_button
from tablewright.ui.feedback import error_text, guarded, speak
from tablewright.ui.forms import follow_choices
from tablewright.ui.frame import Columns, Frame
from tablewright.ui.identity.browser_guard import session_in
from tablewright.ui.identity.session_cookie import Session, Sessions
from tablewright.ui.live_changes import LiveChanges, OnChange
from tablewright.ui.texts import Texts

__all__ = ["Page", "Shell"]

OnNavigate = Callable[..., Awaitable[None]]
OnText = Callable[[str], Awaitable[object] | object]
OnDrop = Callable[[str, str, str], Awaitable[object]]

# Until a view that could not be drawn is opened again: seconds.
_AGAIN_AFTER = 5.0


@dataclass(slots=True)
class Shell:
    """What all pages of a process share."""

    systems: Mapping[str, System]
    # By name; that of the frame itself has none.
    applications: Mapping[str, Application]
    calls: Mapping[str, Calls]
    texts: Mapping[str, tuple[str, str]]
    sessions: Sessions
    live: LiveChanges
    # The application that has the APIs.
    api: ASGIApp = field(repr=False)

    def applications_of(self, session: Session) -> list[Application]:
        """The applications that a user may use, in order."""
        found = [each for name, each in self.applications.items() if name]
        return [
            each for each in found if self.calls[each.name].may_any(session.caller) and self.views_of(each, session)
        ]

    def views_of(self, application: Application, session: Session) -> list[View]:
        return self.calls[application.name].views_of(application, session.caller)


class Page:
    """A browser tab."""

    def __init__(self, shell: Shell, session: Session, t: Texts, root: str) -> None:
        """``root`` is where the screens are, such as ``/app``."""
        self.shell = shell
        self.session = session
        self.t = t
        self.root = root
        self.client: Client = ui.context.client
        self.applications = shell.applications_of(session)
        self.application: Application = shell.applications[""]
        self.view: View | None = None
        # What is behind the question mark of the address.
        self.query: dict[str, str] = {}
        # NiceGUI's own element around all is a <main>, and so is the content.
        outer = self.client.content.parent_slot
        if outer is not None:
            outer.parent.tag = "div"
        self._frame = self.make_frame()
        self._endings: list[Callable[[], object]] = []
        self._navigate: OnNavigate | None = None
        self._search: OnText | None = None
        self._typed: OnText | None = None
        self._drop: OnDrop | None = None
        self._opening: asyncio.Task[None] | None = None
        speak(t, self.leave)
        unwatch = shell.sessions.watch(session, self.leave)
        self.client.on_connect(self._check_socket)
        self.client.on_delete(unwatch)
        self.client.on_delete(self._end_view)
        ui.on("tw-go", self._went)
        ui.on("tw-search", self._searched)
        ui.on("tw-typed", self._text_typed)
        ui.on("tw-drop", self._dropped)
        follow_choices()

    def make_frame(self) -> Frame:
        """Draw the frame; the studio has a different one."""
        return Frame(self.t, self.session, self.root, self.applications)

    # -- what views use -------------------------------------------------------------------------------------------

    @property
    def api(self) -> Api:
        """The calls of the application that is open."""
        return self.api_of(self.application.name)

    def api_of(self, system: str) -> Api:
        """The calls of any system."""
        return Api(self.shell.api, system, self.shell.calls[system], self.session, self.shell.sessions)

    def may(self, *calls: str) -> bool:
        """Whether to offer actions that need these calls; the service decides when they are made."""
        return self.api.may(*calls)

    @property
    def user_id(self) -> str:
        return self.session.caller.user_id

    @property
    def content(self) -> ui.element:
        return self._frame.content

    @property
    def actions(self) -> ui.element:
        """Where a view draws its actions, in the bar at the top."""
        return self._frame.actions

    @property
    def notices(self) -> ui.element:
        """Where the bell is."""
        return self._frame.notices

    def path(self, path: str, **query: str | None) -> str:
        """The address of a view of the application that is open: ``page.path("/list", status="OPEN")``."""
        return self.path_in(self.application.name, path, **query)

    def path_in(self, application: str, path: str, **query: str | None) -> str:
        """The address of a view of another application."""
        found = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items() if value)
        base = f"{self.root}/{application}{path}" if application else f"{self.root}{path}"
        return f"{base}?{found}" if found else base

    async def go(self, path: str) -> None:
        """Go to an address of the applications."""
        self.client.run_javascript(f"tw.push({json.dumps(path)})")
        await self.open(path)

    def columns(self, list_path: str) -> Columns:
        """Three columns: the list, the thing and its context."""
        return Columns(self.t, list_path)

    def on_navigate(self, handler: OnNavigate) -> None:
        """Call a handler with the path values of another address of the same view, instead of redrawing it."""
        self._navigate = handler

    def on_search(self, handler: OnText, *, typed: OnText | None = None) -> None:
        """Call a handler with what the user searches for, also while they type.

        If it returns True, it has handled the search; otherwise the results of all applications are shown.
        """
        self._search, self._typed = handler, typed

    def on_drop(self, handler: OnDrop) -> None:
        """Call a handler with the dragged card, the lane that it was dropped on, and the version that was seen."""
        self._drop = handler

    async def live(self, table: Table, on_change: OnChange) -> None:
        """Call a function with the changes of a table, as long as this view is open; call this before reading."""

        async def changed(changes: Sequence[AnyChange] | None) -> None:
            if self.client.is_deleted:
                return
            with self.client:
                try:
                    await on_change(changes)
                except SignedOut:
                    self.leave()

        view = self.view
        end = await self.shell.live.subscribe(table, changed, self._following)
        if self.view is view:
            self._endings.append(end)
            self._following(self.shell.live.is_following(table))
        else:
            end()

    def leave(self) -> None:
        """Go to the sign-in page, and return afterwards."""
        with self.client:
            self.client.run_javascript(
                f"tw.leave({json.dumps(self.root)} + '/sign-in?to=' + "
                f"encodeURIComponent((location.pathname + location.search).slice({len(self.root)})))"
            )

    # -- addresses ------------------------------------------------------------------------------------------------

    async def open(self, address: str, *, is_first: bool = False) -> None:
        """Draw the view of an address."""
        task = asyncio.current_task()
        if self._opening is not None and self._opening is not task and not self._opening.done():
            # The user went on before the view was drawn.
            self._opening.cancel()
        self._opening = task
        if await self.shell.sessions.is_over(self.session):
            self.leave()
            return
        parts = urlsplit(address)
        path = parts.path.removeprefix(self.root) or "/"
        query = dict(parse_qsl(parts.query))
        application, rest = self._application_of(path)
        views = [] if application is None else self.shell.views_of(application, self.session)
        found = None if application is None else application.find(rest)
        if application is not None and rest == "/" and found is None and views:
            # The first view that the user may see.
            found = views[0], {}
        title = self.t("shell.product") if application is None else self.t(application.title)
        if application is None or found is None:
            self._begin(self.shell.applications[""], None, query)
            self._frame.show(None, self.t("shell.product"), [], None)
            with self.content:
                self._nothing("shell.not_found")
        elif found[0] not in views:
            self._begin(application, None, query)
            self._frame.show(application, title, views, None)
            with self.content:
                self._nothing("shell.forbidden", "lock")
        else:
            await self._draw(application, *found, query, title, views)
        name = title if found is None or application is None else f"{self.t(found[0].title)} · {title}"
        if not self.client.is_deleted:
            self.client.run_javascript(f"tw.drawn(null, {json.dumps(name)}, {json.dumps(not is_first)})")
        self.client.title = name

    def _application_of(self, path: str) -> tuple[Application | None, str]:
        """The application of a path, if the user may use it, and the rest of the path."""
        name, _, rest = path.removeprefix("/").partition("/")
        for application in self.applications:
            if application.name == name:
                return application, f"/{rest}".rstrip("/") or "/"
        return (None, path) if name in self.shell.applications and name else (self.shell.applications[""], path)

    async def _draw(
        self,
        application: Application,
        view: View,
        values: dict[str, str],
        query: dict[str, str],
        title: str,
        views: Sequence[View],
    ) -> None:
        try:
            if view is self.view and self._navigate is not None:
                self.query = query
                await self._navigate(**values)
                return
            self._begin(application, view, query)
            self._frame.show(application, title, views, view)
            with self.content:
                await view.build(self, **values)
        except SignedOut:
            self.leave()
        except Exception as error:
            self._begin(application, None, query)
            with self.content:
                if isinstance(error, Refused) and error.status in (403, 404):
                    self._nothing("shell.not_found" if error.status == 404 else "shell.forbidden")
                else:
                    address = self._address(application, view, values, query)
                    failed(
                        self.t("shell.not_shown"),
                        error_text(error, self.t),
                        (self.t("shell.again"), lambda: self.open(address)),
                    )
                    if isinstance(error, Refused) and error.status == 503:
                        self._open_later(address)

    def _open_later(self, address: str) -> None:
        """Open a view again that could not be drawn while the database was away, unless the user goes elsewhere."""

        async def work() -> None:
            await asyncio.sleep(_AGAIN_AFTER)
            self._endings.remove(end)
            with self.client:
                await self.open(address)

        task = asyncio.create_task(work())
        end = task.cancel
        self._endings.append(end)

    def _address(
        self, application: Application, view: View, values: Mapping[str, str], query: Mapping[str, str]
    ) -> str:
        path = view.paths[0]
        for each in view.paths:
            if all(f"{{{name}}}" in each for name in values):
                path = each
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return self.path_in(application.name, path, **query)

    def _begin(self, application: Application, view: View | None, query: dict[str, str]) -> None:
        self._end_view()
        self.application, self.view, self.query = application, view, query
        self._navigate = self._search = self._typed = self._drop = None
        self.content.clear()

    def _end_view(self) -> None:
        for end in self._endings:
            end()
        self._endings.clear()

    def _nothing(self, key: str, icon_name: str = "inbox") -> None:
        t = self.t
        empty(
            t(key),
            t(f"{key}_about"),
            icon_name,
            lambda: link_button(t("shell.to_start"), f"{self.root}/", kind="primary"),
        )

    def _check_socket(self) -> None:
        """The web socket has to be of the session that the page was drawn for."""
        environ = self.client.environ or {}
        session = session_in(environ.get("asgi.scope", {}))
        if session is None or session.id != self.session.id:
            self.client.delete()

    # -- what the browser sends -------------------------------------------------------------------------------------

    async def _went(self, event: GenericEventArguments) -> None:
        address = event.args
        if isinstance(address, str) and address.startswith(f"{self.root}/") and len(address) < 8_000:
            await self.open(address)

    async def _searched(self, event: GenericEventArguments) -> None:
        found = str(event.args)[:200].strip()
        if self._search is not None and await self._notices(self._search, found):
            return
        if found:
            await self.go(self.path_in("", "/search", q=found))

    async def _text_typed(self, event: GenericEventArguments) -> None:
        if self._typed is not None:
            await self._notices(self._typed, str(event.args)[:200].strip())

    async def _notices(self, handler: OnText, found: str) -> bool:
        """Hand a text to a view; returns whether the view has handled it."""
        taken = False

        async def handled() -> None:
            nonlocal taken
            # If it raises, the error is shown, and nothing else happens.
            taken = True
            result = handler(found)
            taken = (await result if isinstance(result, Awaitable) else result) is True

        await guarded(handled)()
        return taken

    async def _dropped(self, event: GenericEventArguments) -> None:
        drop, args = self._drop, event.args
        if drop is not None and isinstance(args, dict):
            card, lane, version = (str(args.get(name, "")) for name in ("card", "lane", "version"))
            await guarded(lambda: drop(card, lane, version))()

    def _following(self, is_live: bool) -> None:
        if not self.client.is_deleted:
            self._frame.show_live(is_live)
