"""The views of the frame itself: what needs attention in each application; the gallery, and search results."""

from __future__ import annotations

from collections.abc import Sequence

from tablewright.store import AnyChange
from tablewright.ui.api_calls import Refused
from tablewright.ui.applications import Application, Waiting
from tablewright.ui.components import box, card, empty, failed, icon, link, link_button, pill, text
from tablewright.ui.feedback import error_text
from tablewright.ui.frame_views.gallery import gallery
from tablewright.ui.frame_views.search_view import search_results
from tablewright.ui.screen_page import Page
from tablewright.ui.shell_texts import texts

__all__ = ["frame_views"]

# How many of the things that wait are shown.
_FIRST = 3

frame_views = Application("", title="shell.product", icon="home", texts=texts)
frame_views.view("/gallery", title="shell.gallery")(gallery)
frame_views.view("/search", title="shell.search_title")(search_results)


@frame_views.view("/", title="shell.start")
async def start(page: Page) -> None:
    """What needs the user's attention, application by application; updated live."""
    t = page.t
    with box("tw-body"):
        text(t("shell.hello", name=page.session.name), "tw-h1", "h2")
        if not page.applications:
            empty(t("shell.no_applications"), t("shell.no_applications_about"), "lock")
            return
        with box("tw-grid-wide"):
            for application in page.applications:
                with box():
                    await _ApplicationCard(page, application).begin()


class _ApplicationCard:
    """The card of one application."""

    def __init__(self, page: Page, application: Application) -> None:
        self._page = page
        self._application = application
        self._slot = box()

    async def begin(self) -> None:
        system = self._page.shell.systems.get(self._application.name)
        if self._application.waiting is not None and system is not None:
            for table in system.tables:
                if table.stream is not None:
                    await self._page.live(table, self._changed)
        await self._draw()

    async def _changed(self, _: Sequence[AnyChange] | None) -> None:
        await self._draw()

    async def _draw(self) -> None:
        page, application = self._page, self._application
        found: Sequence[Waiting] = ()
        problem = ""
        if application.waiting is not None:
            try:
                found = await application.waiting(page)
            except Refused as error:
                problem = error_text(error, page.t)
        self._slot.clear()
        with self._slot, card():
            with box("tw-card-head"):
                with box("tw-row"):
                    with box("tw-avatar tw-avatar-large tw-avatar-0", "span", aria_hidden="true"):
                        icon(application.icon)
                    text(page.t(application.title), "tw-h2", "h3")
                link_button(page.t("shell.open"), page.path_in(application.name, ""), small=True)
            if problem:
                failed(page.t("shell.not_shown"), problem)
            elif not any(each.count for each in found):
                text(page.t("shell.nothing_waits"), "tw-mute", "p")
            with box("tw-stack"):
                for each in found:
                    if each.count:
                        _draw_waiting(page, each)


def _draw_waiting(page: Page, each: Waiting) -> None:
    with box("tw-stack-tight"):
        with box("tw-row-between"):
            link(each.text, each.path)
            pill(page.t.number(each.count), each.tone)
        for thing in each.things[:_FIRST]:
            with box("tw-clip", "a", href=thing.path, data_go=True, data_row=True):
                text(thing.text, "tw-mute")
