"""One ticket: the conversation, what can be done, its clock, the caller's other tickets, and what happened to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tablewright.systems.servicedesk.app.desk_parts import (
    TicketBody,
    caller_name,
    clock_of,
    masked_text,
    parsed,
    priority_pill,
    status_pill,
)
from tablewright.systems.servicedesk.model import FOLLOWING, IN_QUEUE, Priority, Status
from tablewright.ui.api_calls import Answer, Refused
from tablewright.ui.components import (
    avatar,
    box,
    button,
    fact,
    facts,
    icon,
    menu,
    menu_item,
    meter,
    section,
    text,
    time,
)
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form, select
from tablewright.ui.screen_page import Page

__all__ = ["DeskTicket"]

_ACTIVITIES = 20
_OTHERS = 6
_KNOWN_CALLS = ("create_ticket", "add_comment", "change_status", "take", "assign", "set_priority")


class DeskTicket:
    """A ticket in two elements: itself, and its context; read again when it changes."""

    def __init__(self, page: Page, ticket_id: str, thing: ui.element, context: ui.element, close: Any) -> None:
        """``close`` draws the way back to the list."""
        self._page = page
        self.ticket_id = ticket_id
        self._thing = thing
        self._context = context
        self._close = close
        self._ticket: TicketBody = {}
        self._etag: str | None = None
        # The parts of the thing that are drawn anew; the comment that is being written stays.
        self._shown: tuple[Any, ...] = ()
        self._head: ui.element | None = None
        self._talk: ui.element | None = None

    async def load(self) -> None:
        """Read the ticket and draw it."""
        page, api = self._page, self._page.api
        answer = await api.call("get_ticket", ticket_id=self.ticket_id)
        self._ticket, self._etag = answer.body, answer.etag
        others = await api.call("list_tickets", caller=self._ticket["caller_id"], limit=_OTHERS)
        audit: list[dict[str, Any]] = []
        if api.may("audit"):
            audit = (await api.call("audit", ticket_id=self.ticket_id, limit=_ACTIVITIES)).body["audit"]
        shown = (answer.etag, others.body, audit)
        if self._head is None:
            self._begin()
        elif shown == self._shown:
            # One's own change comes by the stream as well; whoever clicks meanwhile must not lose the button.
            return
        self._shown = shown
        assert self._head is not None
        assert self._talk is not None
        self._head.clear()
        with self._head:
            self._draw_head()
        self._talk.clear()
        with self._talk:
            self._draw_conversation()
        self._context.clear()
        with self._context:
            self._draw_clock()
            self._draw_facts()
            self._draw_others([each for each in others.body["tickets"] if each["ticket_id"] != self.ticket_id])
            if page.may("audit"):
                self._draw_activity(audit)

    def clear(self) -> None:
        self._head = self._talk = None
        self._thing.clear()
        self._context.clear()

    def _begin(self) -> None:
        self._thing.clear()
        with self._thing:
            self._head = box("tw-thing-head", "header")
            with box("tw-thing-body tw-stack", tabindex="0"):
                self._talk = box("tw-stack")
            if self._page.may("add_comment"):
                with box("tw-thing-foot"):
                    self._draw_composer()

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        t, ticket = self._page.t, self._ticket
        self._close()
        with box("tw-grow tw-stack-tight"):
            with box("tw-row tw-wrap"):
                text(ticket["issue_description"].splitlines()[0] if ticket["issue_description"] else "", "", "h2")
                priority_pill(t, ticket)
            opened = parsed(ticket["created_at"])
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
                    # Whoever takes it starts it.
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

    def _draw_conversation(self) -> None:
        t, ticket = self._page.t, self._ticket
        self._message(t("desk.by_caller"), parsed(ticket["created_at"]), ticket["issue_description"], mine=False)
        caller = t("desk.by_caller")
        for comment in ticket["comments"]:
            by = comment["added_by"] or caller
            # What the voice agent notes is what the caller said; answers stand on the other side.
            mine = by in (self._page.user_id, ticket["assignee"]) or by not in (ticket["created_by"], caller)
            self._message(by, parsed(comment["added_at"]), comment["comment_text"], mine=mine)

    def _message(self, by: str, at: Any, content: str, *, mine: bool) -> None:
        with box(f"tw-message {'tw-message-mine' if mine else ''}", "article"):
            with box("tw-row"):
                text(by, "tw-strong")
                time(self._page.t, at)
            masked_text(self._page.t, content)

    def _draw_composer(self) -> None:
        t = self._page.t

        async def send(values: dict[str, Any], key: str) -> None:
            body = {"comment_text": values["comment_text"]}
            answer = await self._page.api.call("add_comment", ticket_id=self.ticket_id, body=body, key=key)
            written.value = ""
            if answer.body["masked"]:
                toast(t("desk.masked_kinds", kinds=", ".join(answer.body["masked"])))
            await self.load()

        with box("tw-composer"):
            form = Form(t, submit=send, action=t("desk.comment"))
            written = form.text("comment_text", t("desk.comment_hint"), lines=True, most=50_000)
            written.props("rows=2 autogrow")
            form.end()

    def _draw_clock(self) -> None:
        t, clock = self._page.t, clock_of(self._page.t, self._ticket)
        with section(t("desk.first_answer")):
            if clock is not None:
                used, said, tone = clock
                with box("tw-row-between"):
                    text(said, "tw-strong")
                meter(used, t("desk.first_answer"), tone)
            else:
                answered = parsed(self._ticket["first_answered_at"])
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
            fact(t("desk.created"), lambda: time(t, parsed(ticket["created_at"])))

    def _draw_assignee(self) -> None:
        with box("tw-row"):
            avatar(self._ticket["assignee"])
            text(self._ticket["assignee"])

    def _draw_others(self, others: list[TicketBody]) -> None:
        t = self._page.t
        with section(t("desk.callers_tickets")):
            for each in others:
                path = self._page.path(f"/queue/{each['ticket_id']}")
                with box("tw-row-between", "a", href=path, data_go=True):
                    text(each["issue_description"], "tw-clip tw-link")
                    status_pill(t, each)
            if not others:
                text(t("desk.no_others"), "tw-mute")

    def _draw_activity(self, audit: list[dict[str, Any]]) -> None:
        t = self._page.t
        with section(t("desk.activity")):
            for entry in audit:
                with box("tw-row tw-small"):
                    icon("activity", "tw-mute")
                    text(self._said(entry), "tw-grow")
                    time(t, parsed(entry["at"]))

    def _said(self, entry: dict[str, Any]) -> str:
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

    async def _change(self, work: Callable[[], Awaitable[Answer]], said: str, undo: Any = None) -> None:
        """Change the ticket as it was seen; if somebody was faster, say so and show the latest."""
        t = self._page.t
        try:
            await work()
            toast(said, undo=None if undo is None else (t("shell.undo"), undo))
        except Refused as error:
            if not error.is_conflict:
                raise
            toast(t("desk.meanwhile", number=self._ticket["number"]), bad=True)
        await self.load()

    async def _take(self) -> None:
        call, number = self._page.api.call, self._ticket["number"]
        await self._change(
            lambda: call("take", ticket_id=self.ticket_id, seen=self._etag),
            self._page.t("desk.taken", number=number),
            lambda: self._assign(None),
        )

    async def _assign(self, who: str | None) -> None:
        t, call, number, before = self._page.t, self._page.api.call, self._ticket["number"], self._ticket["assignee"]
        said = t("desk.released", number=number) if who is None else t("desk.assigned", number=number, who=who)
        await self._change(
            lambda: call("assign", ticket_id=self.ticket_id, body={"assignee": who}, seen=self._etag),
            said,
            lambda: self._assign(before),
        )

    def _ask_assignee(self) -> None:
        t = self._page.t

        async def assign(values: dict[str, Any], _: str) -> None:
            await self._assign(values["assignee"])
            made.close()

        with dialog(t("desk.assign")) as made:
            form = Form(t, submit=assign, action=t("desk.assign"), cancel=made.close)
            form.text("assignee", t("desk.who"), most=200, hint=t("desk.who_hint"))
            form.end()

    async def _set_priority(self, priority: str) -> None:
        t, call, before = self._page.t, self._page.api.call, self._ticket["priority"]
        await self._change(
            lambda: call("set_priority", ticket_id=self.ticket_id, body={"priority": priority}, seen=self._etag),
            t("desk.prioritised", number=self._ticket["number"], priority=t(f"desk.{priority}")),
            lambda: self._set_priority(before),
        )

    async def _move(self, status: Status) -> None:
        t, call, before = self._page.t, self._page.api.call, Status(self._ticket["status"])
        body = {"status": status, "expected": before}
        await self._change(
            lambda: call("change_status", ticket_id=self.ticket_id, body=body, seen=self._etag),
            t("desk.moved", number=self._ticket["number"], status=t(f"desk.{status}")),
            (lambda: self._move(before)) if before in FOLLOWING[status] else None,
        )
