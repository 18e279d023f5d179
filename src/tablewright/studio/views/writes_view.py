"""The writes of this studio since it was started: who, when and what, without values."""

from __future__ import annotations

from tablewright.studio.studio_database import LoggedWrite
from tablewright.studio.studio_page import StudioPage
from tablewright.ui.components import Column, box, empty, pill, table, text, time

__all__ = ["writes_view"]


async def writes_view(page: StudioPage) -> None:
    t = page.t
    await page.look_at("")
    with box("tw-body"):
        text(t("studio.writes"), "tw-h1", "h2")
        text(t("studio.writes_about"), "tw-mute", "p")
        if not page.database.writes:
            empty(t("studio.no_writes"), t("studio.read_only_about") if not page.may_write else "", "list")
            return
        columns: list[Column[LoggedWrite]] = [
            Column(t("studio.when"), lambda each: time(t, each.at)),
            Column(t("studio.who"), lambda each: each.who),
            Column(t("studio.operation"), lambda each: each.operation),
            Column(t("studio.table"), lambda each: each.table),
            Column(t("studio.what"), lambda each: each.about),
            Column(
                t("studio.outcome"),
                lambda each: pill(t("studio.done"), "good") if each.refused is None else pill(each.refused, "bad"),
            ),
        ]
        table(columns, list(reversed(page.database.writes)), caption=t("studio.writes"))
