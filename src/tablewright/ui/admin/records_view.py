"""Events of the systems as they happen, mail that was refused, and items that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.runtime.internal_tables import events_table
from tablewright.store import AnyChange
from tablewright.ui.components import Column, box, button, card, empty, pill, table, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["events", "refused_mail", "system_title", "unreadable_items"]

_PAGE = 50
Body = dict[str, Any]


def system_title(page: Page, name: str) -> str:
    """The title of a system."""
    system = page.shell.systems.get(name)
    if system is not None:
        return system.title
    return page.t("admin.title") if name == "runtime" else name


async def events(page: Page) -> None:
    """The events of a system, newest first."""
    t, systems = page.t, list(page.shell.systems)
    source = page.query.get("source", "")
    source = source if source in systems else ("tasks" if "tasks" in systems else (systems or [""])[0])

    async def read(cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await page.api.call("events", source=source, limit=_PAGE, cursor=cursor)
        return answer.body["events"], answer.body["cursor"]

    def draw(each: Body) -> None:
        with box("tw-item"):
            with box("tw-row-between"):
                text(each["type"], "tw-item-title")
                time(t, parsed_time(each["at"]))
            details = ", ".join(f"{name}: {value}" for name, value in each["detail"].items())
            text(details, "tw-mute tw-small tw-break")

    with box("tw-body tw-body-narrow"):
        with box("tw-row tw-wrap", "nav", aria_label=t("admin.system")):
            for name in systems:
                current = "page" if name == source else None
                with box("tw-tab", "a", href=page.path("/events", source=name), data_go=True, aria_current=current):
                    text(system_title(page, name))
        with card():
            found: DataList[Body] = DataList(
                t,
                read=read,
                key=lambda each: str(each["event_id"]),
                row=draw,
                nothing=lambda: empty(t("admin.no_events"), t("admin.no_events_about"), "activity"),
            )

        async def changed(_: Sequence[AnyChange] | None) -> None:
            await found.refresh()

        await page.live(events_table, changed)
        await found.load()


async def refused_mail(page: Page) -> None:
    """Mail that a server has permanently refused; it can be sent again."""
    t = page.t
    body = box("tw-body")
    cursor = page.query.get("cursor")

    async def load() -> None:
        answer = (await page.api.call("dead_mail", limit=_PAGE, cursor=cursor)).body
        body.clear()
        with body:
            if answer["dead_letters"]:
                table(columns, answer["dead_letters"], caption=t("admin.mail"))
            else:
                empty(t("admin.no_mail"), t("admin.no_mail_about"), "mail")
            if answer["cursor"]:
                with box("tw-more"), box("tw-btn", "a", href=page.path("/mail", cursor=answer["cursor"]), data_go=True):
                    text(t("shell.more"))

    async def send(each: Body) -> None:
        await page.api.call("replay_mail", id=each["id"])
        toast(t("admin.sent", who=each["recipient"]))
        await load()

    columns: list[Column[Body]] = [
        Column(t("admin.recipient"), lambda each: each["recipient"]),
        Column(t("admin.subject"), lambda each: each["subject"]),
        Column(t("admin.reason"), lambda each: each["reason"] or ""),
        Column(t("admin.failed_at"), lambda each: time(t, parsed_time(each["failed_at"]))),
        Column("", lambda each: button(t("admin.send_again"), lambda: send(each), small=True), end=True, controls=True),
    ]
    await load()


async def unreadable_items(page: Page) -> None:
    """Items of all systems that are not valid as their entity, as far as this process has read them."""
    t = page.t
    found = (await page.api.call("unreadable")).body
    with box("tw-body"):
        if not found:
            empty(t("admin.no_unreadable"), t("admin.no_unreadable_about"), "check")
            return
        columns: list[Column[Body]] = [
            Column(t("admin.system"), lambda each: pill(system_title(page, each["system"]))),
            Column(t("admin.entity"), lambda each: each["entity"]),
            Column(t("admin.item"), lambda each: text(each["key"], "tw-break")),
            Column(t("admin.wrong"), lambda each: text(each["reason"], "tw-break")),
            Column(t("admin.met"), lambda each: time(t, parsed_time(each["latest"]))),
        ]
        table(columns, found, caption=t("admin.unreadable"))
