"""One ticket: its conversation, actions and clock, the caller's other tickets, and its activity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from nicegui import ui

from tablewright.systems.servicedesk.app.desk_parts import (
    TicketBody,
    caller_name,
    clock_of,
    masked_text,
    priority_pill,
    status_pill,
    title_of,
)
from tablewright.systems.servicedesk.model import FOLLOWING, IN_QUEUE, Priority, Status
from tablewright.ui.components import (
    avatar,
    box,
    button,
    fact,
    facts,
    menu,
    menu_item,
    meter,
    section,
    text,
    time,
)
from tablewright.ui.feedback import toast
from tablewright.ui.forms import select
from tablewright.ui.list_detail.assignee_dialog import ask_assignee
from tablewright.ui.list_detail.conversation import Kind, activity, composer, message
from tablewright.ui.list_detail.detail_panel import DetailPanel, Parts
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["DeskTicket"]

_ACTIVITIES = 20
_OTHERS = 6
_MOST_TEXT = 50_000
_KNOWN_CALLS = ("create_ticket", "add_comment", "change_status", "take", "assign", "set_priority")


class DeskTicket(DetailPanel):
    """A ticket of the desk."""

    ID = "ticket_id"

    def __init__(
        self, page: Page, ticket_id: str, thing: ui.element, context: ui.element, close: Callable[[], object]
    ) -> None:
        super().__init__(page, ticket_id, thing, context, close)
        self._ticket: TicketBody = {}
        self._others: list[TicketBody] = []
        self._audit: list[dict[str, Any]] = []

    async def _read(self) -> Parts:
        api = self._page.api
        answer = await self._call("get_ticket")
        self._ticket, self._etag = answer.body, answer.etag
        others = await api.call("list_tickets", caller=self._ticket["caller_id"], limit=_OTHERS)
        self._others = [each for each in others.body["tickets"] if each["ticket_id"] != self.key]
        if api.may("audit"):
            self._audit = (await self._call("audit", limit=_ACTIVITIES)).body["audit"]
        ticket = self._ticket, self._etag
        return Parts(head=ticket, body=ticket, context=(ticket, self._others, self._audit))

    def _said_meanwhile(self) -> str:
        return self._page.t("desk.meanwhile", number=self._ticket["number"])

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        t, ticket = self._page.t, self._ticket
        self._close()
        with box("tw-grow tw-stack-tight"):
            with box("tw-row tw-wrap"):
                text(title_of(ticket), "", "h2", dir="auto")
                priority_pill(t, ticket)
            opened = parsed_time(ticket["created_at"])
            with box("tw-row tw-wrap tw-mute tw-small"):
                text(ticket["number"], "tw-mono")
                when = t.time(opened) if opened is not None else ""
                text(t("desk.opened_by", who=ticket["created_by"] or "?", when=when))
                text(caller_name(ticket["caller_id"]))
        with box("tw-row tw-wrap"):
            self._draw_actions()

    def _draw_actions(self) -> None:
        t, page, ticket = self._page.t, self._page, self._ticket
        status = Status(ticket["status"])
        if page.may("take") and status in IN_QUEUE and ticket["assignee"] is None:
            button(t("desk.take"), self._take, kind="primary", key="t")
        if page.may("change_status"):
            for following in sorted(FOLLOWING[status]):
                if following is Status.IN_PROGRESS and ticket["assignee"] is None:
                    # Taking it starts it.
                    continue
                button(
                    t(f"desk.to_{following}"),
                    lambda following=following: self._move(following),  # type: ignore[misc]
                    kind="primary" if following is Status.RESOLVED else "plain",
                )
        if page.may("assign") and status in IN_QUEUE:
            with menu(t("desk.assign"), "user"):
                menu_item(t("desk.assign_to"), self._ask_assignee, "users")
                if ticket["assignee"] is not None:
                    menu_item(t("desk.release"), lambda: self._assign(None), "undo")

    def _draw_body(self) -> None:
        t, ticket = self._page.t, self._ticket
        self._message(t("desk.by_caller"), parsed_time(ticket["created_at"]), ticket["issue_description"], mine=False)
        caller = t("desk.by_caller")
        for comment in ticket["comments"]:
            by = comment["added_by"] or caller
            # The voice agent's comments are what the caller said; answers are on the other side.
            mine = by in (self._page.user_id, ticket["assignee"]) or by not in (ticket["created_by"], caller)
            self._message(by, parsed_time(comment["added_at"]), comment["comment_text"], mine=mine)

    def _message(self, by: str, at: datetime | None, content: str, *, mine: bool) -> None:
        message(self._page.t, by, at, lambda: masked_text(self._page.t, content), mine=mine)

    def _draw_foot(self) -> None:
        t = self._page.t
        if not self._page.may("add_comment"):
            return

        async def send(written: str, key: str) -> None:
            answer = await self._call("add_comment", body={"comment_text": written}, key=key)
            if answer.body["masked"]:
                toast(t("desk.masked_kinds", kinds=", ".join(answer.body["masked"])))

        kind = Kind(send, hint=t("desk.comment_hint"), action=t("desk.comment"))
        composer(kind, most=_MOST_TEXT, after=self.load, name="comment_text")

    def _draw_context(self) -> None:
        self._draw_clock()
        self._draw_facts()
        self._draw_others()
        if self._page.may("audit"):
            activity(self._page.t, self._page.t("desk.activity"), self._audit, self._describe)

    def _draw_clock(self) -> None:
        t, clock = self._page.t, clock_of(self._page.t, self._ticket)
        with section(t("desk.first_answer")):
            if clock is not None:
                used, message, tone = clock
                with box("tw-row-between"):
                    text(message, "tw-strong")
                meter(used, t("desk.first_answer"), tone)
            else:
                answered = parsed_time(self._ticket["first_answered_at"])
                text(t("desk.answered", when=t.time(answered)) if answered is not None else "—", "tw-mute")

    def _draw_facts(self) -> None:
        t, page, ticket = self._page.t, self._page, self._ticket
        with section(t("desk.ticket")), facts():
            fact(t("desk.status"), lambda: status_pill(t, ticket))
            if ticket["assignee"] is None:
                fact(t("desk.assignee"), t("desk.nobody"))
            else:
                fact(t("desk.assignee"), self._draw_assignee)
            if page.may("set_priority") and ticket["status"] in IN_QUEUE:
                options = {each.value: t(f"desk.{each}") for each in Priority}
                fact(
                    t("desk.priority"),
                    lambda: select(options, ticket["priority"], self._set_priority, label=t("desk.priority")),
                )
            else:
                fact(t("desk.priority"), lambda: priority_pill(t, ticket))
            fact(t("desk.number"), lambda: text(ticket["number"], "tw-mono"))
            fact(t("desk.created"), lambda: time(t, parsed_time(ticket["created_at"])))

    def _draw_assignee(self) -> None:
        with box("tw-row"):
            avatar(self._ticket["assignee"])
            text(self._ticket["assignee"])

    def _draw_others(self) -> None:
        t = self._page.t
        with section(t("desk.callers_tickets")):
            for each in self._others:
                path = self._page.path(f"/queue/{each['ticket_id']}")
                with box("tw-row-between", "a", href=path, data_go=True):
                    text(title_of(each), "tw-clip tw-link", dir="auto")
                    status_pill(t, each)
            if not self._others:
                text(t("desk.no_others"), "tw-mute")

    def _describe(self, entry: Mapping[str, Any]) -> str:
        """An entry of the audit in words."""
        t, call, changes = self._page.t, entry["call"], entry["changes"]
        key = f"desk.did_{call}" if call in _KNOWN_CALLS else "desk.did_something"
        values = {"who": entry["by"], "what": call or ", ".join(changes), "old": "", "new": ""}
        for name in ("status", "priority"):
            if name in changes:
                values["old"], values["new"] = (t(f"desk.{changes[name][each]}") for each in ("old", "new"))
        if "assignee" in changes and call == "assign":
            values["new"] = changes["assignee"]["new"] or t("desk.nobody")
        return t(key, **values)

    # -- doing ----------------------------------------------------------------------------------------------------

    async def _take(self) -> None:
        message = self._page.t("desk.taken", number=self._ticket["number"])
        await self._change("take", message, undo=lambda: self._assign(None))

    async def _assign(self, who: str | None) -> None:
        t, number, before = self._page.t, self._ticket["number"], self._ticket["assignee"]
        message = t("desk.released", number=number) if who is None else t("desk.assigned", number=number, who=who)
        await self._change("assign", message, body={"assignee": who}, undo=lambda: self._assign(before))

    def _ask_assignee(self) -> None:
        ask_assignee(self._page.t, "desk", self._assign)

    async def _set_priority(self, priority: str) -> None:
        t, before = self._page.t, self._ticket["priority"]
        await self._change(
            "set_priority",
            t("desk.prioritised", number=self._ticket["number"], priority=t(f"desk.{priority}")),
            body={"priority": priority},
            undo=lambda: self._set_priority(before),
        )

    async def _move(self, status: Status) -> None:
        t, before = self._page.t, Status(self._ticket["status"])
        await self._change(
            "change_status",
            t("desk.moved", number=self._ticket["number"], status=t(f"desk.{status}")),
            body={"status": status, "expected": before},
            undo=(lambda: self._move(before)) if before in FOLLOWING[status] else None,
        )
