"""Health: whether the process is ready, what is failing, what needs attention, and the state of the search indexes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tablewright.ui.admin.records_view import system_title
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Column, Tone, box, button, card, figure, link, pill, table, text
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page

__all__ = ["health"]

_MOST = 100
Body = dict[str, Any]


async def health(page: Page) -> None:
    """Draw the health of the process."""
    view = _Health(page)
    with page.actions:
        button(page.t("admin.refresh"), view.load, icon_name="refresh", key="r")
    await view.load()


class _Health:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._drawn: object = None
        self._body = box("tw-body")

    async def load(self) -> None:
        api = self._page.api
        try:
            is_ready = (await api.call("readyz")).status == 200
        except Refused:
            is_ready = False
        consumers = (await api.call("consumers")).body
        mail = (await api.call("dead_mail", limit=_MOST)).body["dead_letters"]
        unreadable = (await api.call("unreadable")).body
        indexes = (await api.call("search_indexes")).body
        drawn = is_ready, consumers, len(mail), len(unreadable), indexes
        if drawn != self._drawn:
            self._drawn = drawn
            self._draw(is_ready, consumers, len(mail), len(unreadable), indexes)

    def _draw(self, is_ready: bool, consumers: list[Body], mail: int, unreadable: int, indexes: list[Body]) -> None:
        t = self._page.t
        failing = [each["name"] for each in consumers if each["failing"]]
        letters = sum(each["dead_letters"] for each in consumers)
        self._body.clear()
        with self._body:
            with box("tw-grid").style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 200px), 1fr))"):
                note = t("admin.all_well") if is_ready else t.count("admin.some_failing", max(1, len(failing)))
                status = t("admin.ready" if is_ready else "admin.failing")
                figure(t("admin.status"), status, note, "good" if is_ready else "bad")
                self._figure("consumers", len(consumers), len(failing))
                self._figure("dead_letters", letters, letters, "/consumers")
                self._figure("mail", mail, mail)
                self._figure("unreadable", unreadable, unreadable)
            with card(t("admin.search_indexes")):
                table(self._columns(), indexes, caption=t("admin.search_indexes"))

    def _figure(self, name: str, value: int, bad: int, path: str | None = None) -> None:
        t = self._page.t
        with card(), box("tw-stack-tight"):
            link(t(f"admin.{name}"), self._page.path(path or f"/{name}"))
            text(t.number(value), "tw-figure")
            tone: Tone = "bad" if bad else "good"
            with box("tw-row"):
                pill(t("admin.look" if bad else "admin.all_well"), tone)

    def _columns(self) -> list[Column[Body]]:
        t = self._page.t
        return [
            Column(t("admin.system"), lambda each: system_title(self._page, each["system"])),
            Column(t("admin.documents"), lambda each: t.number(each["documents"]), end=True),
            Column(t("admin.behind"), self._draw_behind),
            Column("", self._draw_rebuild, end=True, controls=True),
        ]

    def _draw_behind(self, each: Body) -> object:
        t = self._page.t
        if each["failing"]:
            return pill(t("admin.fails", error=each["failing"]), "bad")
        if each["is_building"]:
            return pill(t("admin.building"), "info")
        return _lag(self._page, each["behind_seconds"])

    def _draw_rebuild(self, each: Body) -> object:
        return button(self._page.t("admin.rebuild"), lambda: self._rebuild(each["system"]), small=True)

    async def _rebuild(self, system: str) -> None:
        await self._page.api.call("rebuild_search_index", system=system)
        toast(self._page.t("admin.rebuilding", name=system_title(self._page, system)))
        await self.load()


def _lag(page: Page, seconds: float) -> object:
    t = page.t
    if seconds == 0:
        return pill(t("admin.up_to_date"), "good")
    return pill(t("admin.behind_by", span=t.span(timedelta(seconds=seconds))), "warn")
