"""One ticket: its messages and events, actions and context.

Customers see the same ticket through the same calls, which leave out what they may not see; actions that they may not
take are not offered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from tablewright.systems.support.app.payload_viewer import attach_payload, view_payload
from tablewright.systems.support.app.rating_dialog import give_feedback
from tablewright.systems.support.app.support_parts import (
    TicketBody,
    folded,
    priority_pill,
    shown_size,
    stars,
    status_pill,
    title_of,
)
from tablewright.systems.support.app.timeline import is_said, said_event
from tablewright.systems.support.model import FOLLOWING, NOTE, Priority, Status
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import (
    avatar,
    box,
    button,
    fact,
    facts,
    link,
    menu,
    menu_item,
    section,
    text,
    time,
)
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form, file_button, select
from tablewright.ui.list_detail.assignee_dialog import ask_assignee
from tablewright.ui.list_detail.conversation import Kind, composer, message
from tablewright.ui.list_detail.detail_panel import DetailPanel, Parts
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["TicketDetail"]

_EVENTS = 40
_FEEDBACK = 10
_OTHERS = 6
_MOST_TEXT = 20_000
_MOST_FILE = 900_000
# Events that assign a person.
_GIVEN = ("assigned", "reassigned", "status_changed")


class TicketDetail(DetailPanel):
    """A ticket, for staff or for its customer."""

    ID = "ticket_id"

    def __init__(
        self,
        page: Page,
        ticket_id: str,
        thing: ui.element,
        context: ui.element,
        close: Callable[[], object],
        *,
        for_customer: bool,
    ) -> None:
        super().__init__(page, ticket_id, thing, context, close)
        self._for_customer = for_customer
        self._ticket: TicketBody = {}
        self._events: list[dict[str, Any]] = []
        self._feedback: list[dict[str, Any]] = []
        self._others: list[TicketBody] = []
        self._pages = 1
        self._has_older = False

    async def _read(self) -> Parts:
        answer = await self._call("get_ticket")
        self._ticket, self._etag = answer.body, answer.etag
        await self._read_events()
        self._feedback = (await self._call("feedback", limit=_FEEDBACK)).body["feedback"]
        self._others = await self._read_others()
        ticket = self._ticket, self._etag
        return Parts(
            head=ticket,
            body=(self._events, self._has_older),
            context=(ticket, self._feedback, self._others, self._helpers()),
        )

    async def _read_events(self) -> None:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(self._pages):
            body = (await self._call("events", limit=_EVENTS, cursor=cursor)).body
            found += body["events"]
            cursor = body.get("cursor")
            if cursor is None:
                break
        self._events, self._has_older = found, cursor is not None

    async def _read_others(self) -> list[TicketBody]:
        if self._for_customer:
            return []
        answer = await self._page.api.call("of_customer", customer_id=self._ticket["customer_id"], limit=_OTHERS)
        return [each for each in answer.body["tickets"] if each["ticket_id"] != self.key]

    def _said_meanwhile(self) -> str:
        return self._page.t("support.meanwhile")

    # -- the head -------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        t, ticket = self._page.t, self._ticket
        self._close()
        with box("tw-grow tw-stack-tight"):
            with box("tw-row tw-wrap"):
                text(title_of(ticket), "", "h2", dir="auto")
                status_pill(t, ticket)
                priority_pill(t, ticket)
            opened = parsed_time(ticket["created_at"])
            with box("tw-row tw-wrap tw-mute tw-small"):
                text(ticket["ticket_id"][:12], "tw-mono", title=ticket["ticket_id"])
                if not self._for_customer:
                    text(ticket["customer_id"])
                if opened is not None:
                    text(t("support.opened_when", when=t.time(opened)))
        with box("tw-row tw-wrap"):
            self._draw_actions()

    def _draw_actions(self) -> None:
        t, page, ticket = self._page.t, self._page, self._ticket
        status = Status(ticket["status"])
        if page.may("assign") and status is not Status.READY and ticket["assigned_to"] is None:
            button(t("support.take"), lambda: self._assign(page.user_id), kind="primary", key="t")
        if page.may("change_status"):
            for following in sorted(FOLLOWING[status] - {Status.ESCALATED}):
                button(
                    t(f"support.to_{following}"),
                    lambda following=following: self._move(following),  # type: ignore[misc]
                    kind="primary" if following is Status.READY else "plain",
                )
        if page.may("escalate") and (status is Status.ESCALATED or Status.ESCALATED in FOLLOWING[status]):
            key = "support.hand_on" if status is Status.ESCALATED else "support.escalate"
            button(t(key), self._ask_engineer, key="e")
        if page.may("assign"):
            with menu(t("support.assign"), "user"):
                menu_item(t("support.assign_to"), self._ask_assignee, "users")
                if ticket["assigned_to"] is not None:
                    menu_item(t("support.release"), lambda: self._assign(None), "undo")

    # -- the conversation -----------------------------------------------------------------------------------------

    def _draw_body(self) -> None:
        t, ticket = self._page.t, self._ticket
        if self._has_older:
            button(t("support.older"), self._older, kind="quiet", small=True).style("align-self: center")
        else:
            self._message(ticket["customer_id"], ticket["created_at"], ticket["symptom_text"], mine=self._for_customer)
        for event in reversed(self._events):
            if is_said(event):
                self._draw_said(event)
            elif event["event_type"] != "ticket_created":
                with box("tw-event tw-row"):
                    text(said_event(t, event, for_customer=self._for_customer), dir="auto")
                    time(t, parsed_time(event["timestamp"]))
        # Scroll to the latest message; a phone shows the whole page, and starts at the top.
        body = ui.context.slot.parent.id
        self._page.client.run_javascript(
            f"{{ const talk = getHtmlElement({body}); if (talk) talk.parentElement.scrollTop = 1e9; }}"
        )

    def _draw_said(self, event: dict[str, Any]) -> None:
        is_of_customer = event["author"] == self._ticket["customer_id"]
        self._message(
            event["author"] or "?",
            event["timestamp"],
            str(event["details"].get("text", "")),
            mine=is_of_customer == self._for_customer,
            is_note=event["event_type"] == NOTE,
        )

    def _message(self, by: str, at: str | None, content: str, *, mine: bool, is_note: bool = False) -> None:
        t = self._page.t
        note = t("support.note") if is_note else ""
        message(t, self._name_of(by), parsed_time(at), lambda: folded(t, content), mine=mine, note=note)

    def _name_of(self, user_id: str) -> str:
        return self._page.t("support.you") if user_id == self._page.user_id else user_id

    async def _older(self) -> None:
        self._pages += 1
        await self.load()

    def _draw_foot(self) -> None:
        t = self._page.t
        if not self._page.may("send_message"):
            return

        def kind(call: str, label: str, hint: str, action: str, classes: str = "") -> Kind:
            async def send(written: str, key: str) -> None:
                await self._call(call, body={"text": written}, key=key)

            return Kind(send, t(f"support.{hint}"), t(f"support.{action}"), t(f"support.{label}"), classes)

        kinds = [
            kind("send_message", "to_customer", "write_to_us" if self._for_customer else "write_to_customer", "send")
        ]
        if self._page.may("add_note"):
            kinds.append(kind("add_note", "internal", "write_note", "add_note", "tw-composer-note"))
        composer(*kinds, most=_MOST_TEXT, after=self.load)

    # -- the context ----------------------------------------------------------------------------------------------

    def _draw_context(self) -> None:
        t, page, ticket = self._page.t, self._page, self._ticket
        with section(t("support.ticket")), facts():
            fact(t("support.status"), lambda: status_pill(t, ticket))
            fact(t("support.assignee"), self._draw_assignee)
            if page.may("set_priority"):
                options = {each.value: t(f"support.{each}") for each in Priority}
                fact(
                    t("support.priority"),
                    lambda: select(options, ticket["priority"], self._set_priority, label=t("support.priority")),
                )
            else:
                fact(t("support.priority"), lambda: priority_pill(t, ticket))
            if not self._for_customer:
                path = page.path("/inbox", customer=ticket["customer_id"])
                fact(t("support.customer"), lambda: link(ticket["customer_id"], path))
            fact(t("support.created"), lambda: time(t, parsed_time(ticket["created_at"])))
            opened, done = parsed_time(ticket["created_at"]), parsed_time(ticket["completed_at"])
            if opened is not None and done is not None:
                fact(t("support.resolved_in"), t.span(done - opened))
        if ticket["escalation_reason"]:
            with section(t("support.reason")):
                folded(t, ticket["escalation_reason"])
        self._draw_payload()
        self._draw_feedback()
        if self._others:
            with section(t("support.others")):
                for each in self._others:
                    href = page.path(f"/inbox/{each['ticket_id']}")
                    with box("tw-row-between", "a", href=href, data_go=True):
                        text(title_of(each), "tw-clip tw-link", dir="auto")
                        status_pill(t, each)

    def _draw_assignee(self) -> None:
        who = self._ticket["assigned_to"]
        if who is None:
            text(self._page.t("support.nobody"))
            return
        with box("tw-row"):
            avatar(who)
            if self._for_customer:
                text(who)
            else:
                link(who, self._page.path("/inbox", engineer=who))

    def _draw_payload(self) -> None:
        t, page, size = self._page.t, self._page, self._ticket["data_size"]
        with section(t("support.payload")):
            if size:
                with box("tw-row-between"):
                    text(shown_size(t, size), "tw-strong")
                    button(t("support.view"), lambda: view_payload(page, self.key), icon_name="eye", small=True)
            else:
                text(t("support.no_payload"), "tw-mute")

            async def attach(name: str, content_type: str, content: bytes) -> None:
                if await attach_payload(page, self.key, content, has_one=bool(size), seen=self._etag):
                    await self.load()

            file_button(t, t("support.attach"), attach, most=_MOST_FILE)

    def _draw_feedback(self) -> None:
        t, page = self._page.t, self._page
        with section(t("support.feedback")):
            for each in self._feedback:
                with box("tw-stack-tight"):
                    with box("tw-row-between"):
                        stars(t, each["rating"])
                        time(t, parsed_time(each["submitted_at"]))
                    about = each["about"]
                    by = self._name_of(each["given_by"])
                    key = "support.rated_ticket" if about is None else "support.rated_who"
                    text(t(key, by=by, who=self._name_of(about or "")), "tw-mute tw-small")
                    if each["comment"]:
                        folded(t, each["comment"])
            if not self._feedback:
                text(t("support.no_feedback"), "tw-mute")
            if not page.may("give_feedback"):
                return
            if self._for_customer:
                rated = {each["about"] for each in self._feedback}
                for who in self._helpers():
                    if who not in rated:
                        button(
                            t("support.rate_who", who=who),
                            lambda who=who: give_feedback(page, self.key, who, self.load),  # type: ignore[misc]
                            icon_name="star",
                            small=True,
                        ).style("align-self: flex-start")
            elif self._ticket["customer_id"] != page.user_id and page.may("operator_feedback"):
                button(
                    t("support.rate_help"),
                    lambda: give_feedback(page, self.key, None, self.load),
                    icon_name="star",
                    small=True,
                ).style("align-self: flex-start")

    def _helpers(self) -> list[str]:
        """The people who worked on it, as far as a customer can see."""
        found: list[str] = [self._ticket["assigned_to"]] if self._ticket["assigned_to"] else []
        for event in self._events:
            if event["event_type"] == "ticket_created":
                # Opened by a program, perhaps.
                continue
            given = event["details"].get("assigned_to") if event["event_type"] in _GIVEN else None
            found += [each for each in (event["author"], given) if isinstance(each, str)]
        return [each for each in dict.fromkeys(found) if each != self._ticket["customer_id"]]

    # -- doing ----------------------------------------------------------------------------------------------------

    async def _move(self, status: Status) -> None:
        t, before = self._page.t, Status(self._ticket["status"])
        can_undo = before in FOLLOWING[status] and before is not Status.ESCALATED
        await self._change(
            "change_status",
            t("support.moved", status=t(f"support.{status}")),
            body={"status": status, "expected": before},
            undo=(lambda: self._move(before)) if can_undo else None,
        )

    async def _assign(self, who: str | None) -> None:
        t, before = self._page.t, self._ticket["assigned_to"]
        if who == self._page.user_id:
            message = t("support.taken")
        else:
            message = t("support.released") if who is None else t("support.assigned_now", who=who)
        await self._change("assign", message, body={"assignee": who}, undo=lambda: self._assign(before))

    async def _set_priority(self, priority: str) -> None:
        t, before = self._page.t, self._ticket["priority"]
        await self._change(
            "set_priority",
            t("support.prioritised", priority=t(f"support.{priority}")),
            body={"priority": priority},
            undo=lambda: self._set_priority(before),
        )

    def _ask_assignee(self) -> None:
        ask_assignee(self._page.t, "support", self._assign)

    def _ask_engineer(self) -> None:
        """Escalate, or reassign an escalated ticket: engineer and reason, in one write."""
        t = self._page.t
        is_escalated = self._ticket["status"] == Status.ESCALATED
        title = t("support.hand_on" if is_escalated else "support.escalate")
        body = {"expected": self._ticket["status"]}
        seen = self._etag

        async def escalate(values: dict[str, Any], _: str) -> None:
            try:
                await self._call("escalate", body={**values, **body}, seen=seen)
                toast(t("support.escalated_now", who=values["engineer"]))
            except Refused as error:
                if error.kind != "precondition-failed":
                    raise
                toast(self._said_meanwhile(), bad=True)
            made.close()
            await self.load()

        with dialog(title) as made:
            form = Form(t, submit=escalate, action=title, cancel=made.close)
            form.text("engineer", t("support.engineer"), most=200, hint=t("support.who_hint"))
            form.text("reason", t("support.reason"), lines=True, most=2_000, hint=t("support.reason_hint"))
            form.end()
