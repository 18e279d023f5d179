"""Consumers: how far each is behind, what it waits for or fails with, and its dead letters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tablewright.ui.components import Tone, box, button, empty, pill, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["consumers"]

_PAGE = 20
Body = dict[str, Any]


async def consumers(page: Page, name: str = "") -> None:
    """Draw the consumers, and the dead letters of one."""
    view = _Consumers(page)
    page.on_navigate(view.show)
    with page.actions:
        button(page.t("admin.refresh"), view.load, icon_name="refresh", key="r")
    await view.load()
    await view.show(name)


class _Consumers:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._name = ""
        self._columns = page.columns(page.path("/consumers"))
        with self._columns.list, box("tw-col-scroll", tabindex="0"):
            self._list: DataList[Body] = DataList(
                page.t,
                read=self._read,
                key=lambda each: str(each["name"]),
                row=self._draw_row,
                nothing=lambda: empty(page.t("admin.consumers")),
            )

    async def load(self) -> None:
        await self._list.refresh()
        if self._name:
            await self.show(self._name)

    async def _read(self, _: str | None) -> tuple[list[Body], str | None]:
        return (await self._page.api.call("consumers")).body, None

    def _draw_row(self, each: Body) -> None:
        t, page = self._page.t, self._page
        current = "true" if each["name"] == self._name else None
        path = page.path(f"/consumers/{each['name']}")
        with box("tw-item", "a", href=path, data_go=True, data_row=True, aria_current=current):
            with box("tw-row-between"):
                text(each["name"], "tw-item-title tw-clip")
                if each["dead_letters"]:
                    pill(t.number(each["dead_letters"]), "bad", "alert")
            with box("tw-row tw-wrap"):
                label, tone = _state(page, each)
                pill(label, tone)

    async def show(self, name: str = "") -> None:
        t = self._page.t
        before, self._name = self._name, name
        for each in {before, name} - {""}:
            self._list.redraw(each)
        thing = self._columns.thing
        self._columns.show("thing" if name else "list")
        thing.clear()
        if not name:
            with thing:
                empty(t("admin.choose_consumer"), t("admin.choose_consumer_about"), "activity")
            return
        with thing:
            with box("tw-thing-head"):
                self._columns.back()
                text(name, "tw-h1", "h2")
            body = box("tw-body")
        with body:
            letters: DataList[Body] = DataList(
                t,
                read=self._read_letters,
                key=lambda each: str(each["sequence"]),
                row=lambda each: self._draw_letter(each, letters),
                nothing=lambda: empty(t("admin.no_dead_letters"), t("admin.no_dead_letters_about"), "check"),
                classes="tw-stack",
                controls=True,
            )
            await letters.load()

    async def _read_letters(self, cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await self._page.api.call("dead_letters", name=self._name, limit=_PAGE, cursor=cursor)
        return answer.body["dead_letters"], answer.body["cursor"]

    def _draw_letter(self, each: Body, letters: DataList[Body]) -> None:
        t = self._page.t

        async def replay() -> None:
            await self._page.api.call("replay", name=self._name, sequence=each["sequence"])
            letters.remove(each["sequence"])
            toast(t("admin.replayed"))
            await self._list.refresh()

        with box("tw-card tw-stack"):
            with box("tw-row-between"):
                with box("tw-row tw-wrap"):
                    pill(t.count("admin.attempts", each["attempts"]), "warn")
                    time(t, parsed_time(each["failed_at"]))
                button(t("admin.replay"), replay, icon_name="refresh", small=True)
            text(each["error"], "tw-strong tw-break", "p")
            with box("", "details"):
                text(t("admin.record"), "tw-link", "summary")
                text(each["record"], "tw-break tw-small", "pre", tabindex="0").style("white-space: pre-wrap")


def _state(page: Page, each: Body) -> tuple[str, Tone]:
    t = page.t
    if each["failing"]:
        return t("admin.fails", error=each["failing"]), "bad"
    if each["waiting"]:
        return t("admin.waits", reason=each["waiting"]), "warn"
    if each["behind_seconds"]:
        return t("admin.behind_by", span=t.span(timedelta(seconds=each["behind_seconds"]))), "warn"
    return t("admin.works"), "good"
