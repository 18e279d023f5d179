"""The gallery: every part of the design language in every state, for authors of screens, and for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from tablewright.ui.api_calls import Refused
from tablewright.ui.charts.funnel import Step, funnel
from tablewright.ui.charts.svg_charts import Bar, Series, bar_list, line_chart
from tablewright.ui.components import (
    Column,
    Tone,
    avatar,
    avatars,
    banner,
    box,
    button,
    card,
    empty,
    fact,
    facts,
    failed,
    figure,
    icon,
    link,
    link_button,
    loading,
    menu,
    menu_item,
    meter,
    pill,
    section,
    table,
    text,
    time,
)
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import confirm, dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.icons import ICONS
from tablewright.ui.screen_page import Page

__all__ = ["gallery"]

_TONES: tuple[Tone, ...] = ("neutral", "info", "good", "warn", "bad", "violet")
_NUMBERS = [f"Number {number}" for number in range(1, 61)]


async def gallery(page: Page) -> None:
    """Draw everything."""
    with page.actions:
        button("New thing", lambda: toast("There is a new thing"), kind="primary", icon_name="plus", key="n")
    with box("tw-body"):
        with box("tw-grid-wide"):
            _buttons()
            _pills_and_people(page)
            _facts(page)
            _form(page)
            await _list(page)
            _conversation()
            _charts()
            _states()
        with box("tw-grid"):
            figure("Open tickets", "1,284", "6 % since yesterday", "bad")
            figure("Resolution time", "3 h 12 min", "18 min less", "good")
            figure("Satisfaction", "4.4 / 5", "412 ratings", "info")
        with _card("Table"):
            _table(page)
        with _card("Funnel"):
            filtered = Step("Eligibility", 7_300, note="-2,700 the rule is not met")
            funnel(page.t, [Step("Read", 10_000), filtered, Step("E-mail", 5_100, "good"), Step("Push", 0, "good")])
        with _card("Board"), box("tw-board").style("padding: 0; height: 260px"):
            _board()
        with _card("Icons"), box("tw-row tw-wrap").style("gap: 14px; font-size: 18px"):
            for name in ICONS:
                with box(title=name):
                    icon(name)


@contextmanager
def _card(title: str) -> Iterator[None]:
    with card(title), box("tw-stack"):
        yield


def _buttons() -> None:
    async def slow() -> None:
        await asyncio.sleep(1)
        toast("Done")

    async def ask() -> None:
        if await confirm("Delete the program?", "Its candidates go with it, and do not come back.", "Delete"):
            toast("Deleted")

    def refuse() -> None:
        raise Refused(409, "conflict", "task t-9 is CLOSED; it cannot be changed", {})

    def break_() -> None:
        raise RuntimeError("what a programmer did")

    def open_dialog() -> None:
        with dialog("A dialog") as made:
            text("Escape closes it.", "tw-mute", "p")
            with box("tw-form-foot"):
                button("Close", made.close)

    with _card("Buttons, toasts, dialogs"):
        with box("tw-row tw-wrap"):
            button("Primary", slow, kind="primary")
            button("Plain", lambda: toast("Saved"))
            button("With icon", lambda: toast("Assigned to Grace"), icon_name="user")
            button("Danger", ask, kind="danger", icon_name="trash")
            button("Quiet", lambda: None, kind="quiet")
            button("Only an icon", lambda: None, icon_name="edit", only_icon=True)
            link_button("A link", "/app/gallery", small=True)
            with menu("More"):
                menu_item("Reassign", lambda: toast("Reassigned"), "user")
                menu_item("Download", lambda: None, "download")
        with box("tw-row tw-wrap"):
            button("Undo", lambda: toast("Moved to Completed", undo=("Undo", lambda: toast("Moved back"))), small=True)
            button("Refused", refuse, small=True)
            button("Broken", break_, small=True)
            button("Dialog", open_dialog, small=True)
        banner("Someone else changed it meanwhile. You now see the latest version.")
        banner("The mail server does not accept messages.", "warn")


def _pills_and_people(page: Page) -> None:
    with _card("Status, people, time"):
        with box("tw-row tw-wrap"):
            for tone in _TONES:
                pill(tone, tone)
            pill("due tomorrow", "warn", "clock")
        with box("tw-row"):
            avatar("Ada Lovelace", large=True)
            avatar("grace")
            avatars(["linus", "grace", "ada", "alan", "joan"])
            time(page.t, datetime.now(UTC) - timedelta(minutes=5))
            text("TK-4F7-2", "tw-mono")
        meter(0.7, "First answer due", "warn")
        meter(0.35, "Run", "info")
        with box("tw-row"):
            text("A ", "")
            link("link", "/app/gallery")
            text("serial hidden", "tw-masked")


def _facts(page: Page) -> None:
    with _card("What is known of a thing"), box("tw-stack"):
        with section("Ticket"), facts():
            fact("Assignee", "Sam R.")
            fact("Priority", lambda: pill("urgent", "bad"))
            fact("Opened", lambda: time(page.t, datetime.now(UTC) - timedelta(hours=3)))
        with section("Activity"):
            text("14:04 status by Sam R.", "tw-small")


def _form(page: Page) -> None:
    async def submit(values: dict[str, Any], key: str) -> None:
        if not values["title"]:
            raise Refused(422, "invalid-request", "", {"title": "String should have at least 1 character"})
        toast(f"Created {values['title']}")

    with _card("Form"):
        form = Form(page.t, submit=submit, action="Create")
        form.text("title", "Title", most=200, hint="One line")
        form.text("description", "Description", lines=True)
        form.choice("priority", "Priority", {"LOW": "Low", "MEDIUM": "Medium", "HIGH": "High"}, value="MEDIUM")
        form.text("due", "Due", kind="date")
        form.choices("groups", "Groups", {"Members": "Members", "Admins": "Admins"}, value=("Members",))
        form.end()


async def _list(page: Page) -> None:
    async def read(cursor: str | None) -> tuple[list[str], str | None]:
        first = int(cursor or 0)
        return _NUMBERS[first : first + 20], str(first + 20) if first + 20 < len(_NUMBERS) else None

    def row(item: str) -> None:
        with box("tw-item", "a", href="/app/gallery", data_go=True, data_row=True):
            with box("tw-row-between"):
                text(item, "tw-item-title")
                text("2 min", "tw-mute tw-small")
            text("A row of a list that is read page by page", "tw-mute tw-clip")

    with _card("List"), box().style("height: 300px; overflow: auto; margin: 0 -18px -18px"):
        items = DataList(page.t, read=read, key=str, row=row, nothing=lambda: empty("Nothing"))
        await items.load()


def _conversation() -> None:
    def message(classes: str, who: str, what: str) -> None:
        with box(f"tw-message {classes}"):
            with box("tw-row"):
                text(who, "tw-strong")
                text("14:02", "tw-mute tw-small")
            text(what, "tw-pre", "p")

    with _card("Conversation"):
        message("", "Caller", "Since the update this morning it wants a key. <b>This is not bold.</b>")
        message("tw-message-mine", "Sam R.", "The recovery key is on its way. שלום, and some right-to-left.")
        message("tw-message-note", "Internal note", "Third call this week.")
        text("Sam R. took the ticket · 14:04", "tw-event")


def _charts() -> None:
    with _card("Charts"):
        places = [f"{hour}:00" for hour in range(8, 20)]
        opened = Series("opened", "accent", [2, 5, 9, 8, 6, 7, 11, 9, 8, 5, 4, 1])
        solved = Series("solved", "good", [0, 3, 4, 7, 7, 6, 8, 9, 9, 7, 5, 3])
        line_chart("Tickets by hour: 75 opened, 68 solved", places, [opened, solved], table_label="As a table", every=3)
        bar_list("By status", [Bar("new", 412, "412"), Bar("ready", 9_120, "9,120", "good", "/app/gallery")])


def _states() -> None:
    with _card("States"), box("tw-grid"):
        empty("No tasks yet", "Create the first one, and assign it to someone.", "tasks", _action)
        failed("This could not be shown", "The database cannot be reached.", ("Try again", lambda: toast("Trying")))
        loading(3)


def _action() -> object:
    return button("New task", lambda: None, kind="primary", small=True)


def _table(page: Page) -> None:
    rows = [
        ("tkt_8841", "2 h 41 min", "eng_7", 31),
        ("tkt_8836", "2 h 02 min", None, 28),
        ("tkt_8790", "1 h 15 min", "eng_2", 19),
    ]
    shown: Callable[[Any], object] = lambda row: pill("nobody", "warn") if row[2] is None else row[2]  # noqa: E731
    columns: list[Column[Any]] = [
        Column("ticket", lambda row: text(row[0], "tw-mono")),
        Column("since", lambda row: row[1]),
        Column("engineer", shown),
        Column("closed", lambda row: page.t.number(row[3]), end=True),
    ]
    table(columns, rows, caption="Oldest escalations", path=lambda row: "/app/gallery")


def _board() -> None:
    for lane, titles in (("Open", ["Rotate signing keys before the audit", "Italian texts"]), ("In progress", [])):
        with box("tw-lane", data_lane=lane):
            with box("tw-lane-head"):
                text(lane)
                text(len(titles), "tw-mute")
            with box("tw-lane-cards"):
                for title in titles:
                    with box(
                        "tw-tile", "a", href="/app/gallery", draggable="true", data_card=title, data_onto="In progress"
                    ):
                        text(title, "tw-tile-title")
                        with box("tw-row"):
                            pill("HIGH", "bad")
                        with box("tw-tile-foot"):
                            with box("tw-tile-mark", "span"):
                                icon("comment")
                                text("3")
                            avatars(["grace", "linus"])
