"""The bell in the bar at the top: what needs the user's attention in all applications, and what of it is new.

    streams ──▶ does it concern this user? ──▶ application.waiting and notices, with their rights ──▶ notices, less
                                               those read ──▶ count

A notice is a thing that needs attention, as an application reports for the start page (``Waiting`` that ``notifies``);
or one that another person wrote about (``StoredNotices``), which the application reads (``Application.thing_of``). It
is new until the user reads it: opens it from here, or marks all as read. Read notices are stored (``ReadNotices``), so
they are known in all browsers, and after a restart.

None of this delays a view: it starts once the page is shown, and the list is drawn when it is opened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from weakref import WeakSet

from nicegui import background_tasks
from nicegui.events import GenericEventArguments

from tablewright.runtime.identity.read_notices import ReadNotices
from tablewright.runtime.identity.stored_notices import StoredNotices
from tablewright.store import AnyChange, Change
from tablewright.ui.api_calls import Refused, SignedOut
from tablewright.ui.applications import Application, Thing
from tablewright.ui.components import box, button, icon, set_attribute, text
from tablewright.ui.feedback import guarded
from tablewright.ui.frame_views.paced_refresh import PacedRefresh, Turns
from tablewright.ui.live_changes import OnChange, TooManyViews
from tablewright.ui.screen_page import Page

__all__ = ["Notices"]

_SHOWN = 30
_LONGEST = 3_600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Notice:
    id: str
    application: Application
    about: str
    text: str
    path: str


class Notices:
    """The bells of a process."""

    def __init__(self, read: ReadNotices, stored: StoredNotices) -> None:
        self._read = read
        self._stored = stored
        self._turns = Turns()
        self._bells: WeakSet[_Bell] = WeakSet()

    def add(self, page: Page) -> None:
        """Give a page its bell."""
        self._bells.add(_Bell(page, self._read, self._stored, self._turns, self._mark_read_elsewhere))

    def _mark_read_elsewhere(self, source: _Bell, read: frozenset[str]) -> None:
        """Somebody has read something: their other windows show it."""
        for bell in tuple(self._bells):
            if bell is not source and bell.user_id == source.user_id:
                bell.show(read)


class _Bell:
    def __init__(
        self,
        page: Page,
        read: ReadNotices,
        stored: StoredNotices,
        turns: Turns,
        on_read: Callable[[_Bell, frozenset[str]], None],
    ) -> None:
        self._page = page
        self._looks = PacedRefresh(turns)
        self._store = read
        self._stored = stored
        # What others wrote about, by application and id, as it was read; None where it is not shown.
        self._things: dict[tuple[str, str], Thing | None] = {}
        self._on_read = on_read
        self.user_id = page.user_id
        self._sources = [each for each in page.applications if each.waiting is not None]
        self._found: dict[str, list[_Notice]] = {}
        # Ids of what each application watches for this person; none while it is asked.
        self._watched: dict[str, frozenset[str]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._read: frozenset[str] = frozenset()
        self._has_begun = False
        self._is_open = False
        self._shown: object = None
        t = page.t
        with page.notices, box("tw-menu tw-bell", "details") as outer:
            with box(
                "tw-btn tw-btn-icon", "summary", aria_label=t("shell.notices"), title=t("shell.notices"), data_key="b"
            ) as self._summary:
                icon("bell")
                self._count = text("", "tw-bell-count", aria_hidden="true")
                self._count.set_visibility(False)
            self._panel = box("tw-menu-panel tw-bell-panel")
        outer.on("toggle", self._toggled, js_handler="(event) => emit(event.target.open)")
        page.client.on_connect(self._begin)
        page.client.on_delete(self._end)

    async def _begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        page = self._page
        for application in self._sources:
            system = page.shell.systems.get(application.name)
            for table in () if system is None else system.tables:
                if table.stream is not None and not page.client.is_deleted:
                    try:
                        end = await page.shell.live.subscribe(table, self._changed_in(application))
                    except TooManyViews:
                        break
                    page.client.on_delete(end)
        try:
            self._read = await self._store.of(self.user_id)
            for application in self._sources:
                await self._look(application)
        except SignedOut:
            page.leave()

    def _changed_in(self, application: Application) -> OnChange:
        async def changed(changes: Sequence[AnyChange] | None) -> None:
            if self._is_concerned(application, changes):
                await self._looks.ask(application.name, look)

        async def look() -> None:
            if not self._page.client.is_deleted:
                try:
                    await self._look(application)
                except SignedOut:
                    self._page.leave()

        return changed

    def _is_concerned(self, application: Application, changes: Sequence[AnyChange] | None) -> bool:
        """Whether changes may be of what waits for this person; where that is not known, they may."""
        concerns, watched = application.concerns, self._watched.get(application.name)
        if changes is None or concerns is None or watched is None:
            return True
        return any(
            not isinstance(each, Change) or concerns(self._page, watched, each.before, each.after) for each in changes
        )

    async def _look(self, application: Application) -> None:
        """Ask an application what waits."""
        page = self._page
        # Until it has answered, every change counts.
        self._watched.pop(application.name, None)
        assert application.waiting is not None
        with page.client:
            try:
                written_about = await self._written_about(application)
                groups = await application.waiting(page)
            except SignedOut:
                raise
            except Exception as error:
                # Its previous notices stay; the other applications are not affected.
                if not isinstance(error, Refused):
                    _log.warning("the notices of an application could not be read", exc_info=error)
                return
        self._watched[application.name] = frozenset(id_ for group in groups for id_ in group.watched)
        self._look_later(application, min((each.until for each in groups if each.until is not None), default=None))
        found: dict[str, _Notice] = {}
        waiting_things = [(group.text, thing) for group in groups if group.notifies for thing in group.things]
        for about, thing in [*written_about, *waiting_things]:
            id_ = sha256(f"{thing.path.partition('?')[0]} {thing.stamp}".encode()).hexdigest()[:16]
            found.setdefault(id_, _Notice(id_, application, about, thing.text, thing.path))
        self._found[application.name] = [*found.values()]
        if len(self._found) == len(self._sources):
            waiting = {each.id for each in self._all}
            if not self._read <= waiting:
                self._read = await self._store.keep(self.user_id, waiting)
        self.show(self._read)

    def _look_later(self, application: Application, at: datetime | None) -> None:
        """Look again when what waits changes because time goes on."""
        timer = self._timers.pop(application.name, None)
        if timer is not None:
            timer.cancel()
        if at is not None and not self._page.client.is_deleted:
            # A moment later it is over; and a clock may be turned.
            wait = min(max(0.0, (at - datetime.now(UTC)).total_seconds()) + 1.0, _LONGEST)
            look = self._changed_in(application)
            self._timers[application.name] = asyncio.get_running_loop().call_later(
                wait, lambda: background_tasks.create(look(None), name="what waits")
            )

    def _end(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    async def _written_about(self, application: Application) -> list[tuple[str, Thing]]:
        """The things of an application that others wrote about, with who did; each thing is read once."""
        found: list[tuple[str, Thing]] = []
        if application.thing_of is not None:
            for notice in await self._stored.of(self.user_id, application.name):
                key = application.name, notice.thing_id
                if key not in self._things:
                    try:
                        self._things[key] = await application.thing_of(self._page, notice.thing_id)
                    except Refused as error:
                        if error.status not in (403, 404):
                            raise
                        self._things[key] = None
                thing = self._things[key]
                if thing is not None:
                    about = self._page.t("shell.notice_wrote", who=notice.by)
                    found.append((about, replace(thing, stamp=f"notice {notice.notice_id}")))
        return found

    @property
    def _all(self) -> list[_Notice]:
        return [each for application in self._sources for each in self._found.get(application.name, ())]

    def show(self, read: frozenset[str]) -> None:
        """Draw what differs from what is drawn."""
        page, t = self._page, self._page.t
        self._read = read
        if page.client.is_deleted:
            return
        new = [each for each in self._all if each.id not in read]
        state = [each.id for each in new], [each.id for each in self._all], self._is_open
        if state == self._shown:
            return
        self._shown = state
        label = t.count("shell.notices_new", len(new)) if new else t("shell.notices")
        with page.client:
            set_attribute(self._summary, "aria-label", label)
            set_attribute(self._summary, "title", label)
            self._count.set_text("99+" if len(new) > 99 else t.number(len(new)))
            self._count.set_visibility(bool(new))
            self._panel.clear()
            if self._is_open:
                with self._panel:
                    self._draw(new)

    def _draw(self, new: Sequence[_Notice]) -> None:
        t = self._page.t
        with box("tw-row-between tw-bell-head"):
            text(t("shell.notices"), "tw-strong", "h2")
            if new:
                button(t("shell.notices_read"), lambda: self._mark([each.id for each in new]), small=True)
        if not self._all:
            text(t("shell.notices_none"), "tw-mute tw-bell-none", "p")
        ordered = [*new, *(each for each in self._all if each.id in self._read)]
        for each in ordered[:_SHOWN]:
            is_new = each.id not in self._read
            with box(
                "tw-menu-item tw-bell-item", "a", href=each.path, data_go=True, data_row=True, data_new=is_new or None
            ) as item:
                icon(each.application.icon)
                with box("tw-stack-tight tw-bell-text"):
                    text(each.text, "tw-clip")
                    text(f"{t(each.application.title)} · {each.about}", "tw-mute tw-small tw-clip")
                if is_new:
                    text(t("shell.notice_new"), "tw-bell-dot")
            if is_new:
                item.on("click", guarded(partial(self._mark, [each.id])), [])

    async def _mark(self, ids: Sequence[str]) -> None:
        read = await self._store.add(self.user_id, ids)
        self.show(read)
        self._on_read(self, read)

    async def _toggled(self, event: GenericEventArguments) -> None:
        self._is_open = event.args is True
        self.show(self._read)
