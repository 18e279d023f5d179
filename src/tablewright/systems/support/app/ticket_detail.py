"""One ticket: what was said and what happened, what can be done, and its context.

Customers see the same ticket through the same calls, which leave out what is not theirs; what they may not do is not
offered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from nicegui import ui

from tablewright.systems.support.app.payload_viewer import attach_payload, view_payload
from tablewright.systems.support.app.rating_dialog import give_feedback
from tablewright.systems.support.app.support_parts import (
    TicketBody,
    folded,
    parsed,
    priority_pill,
    shown_size,
    stars,
    status_pill,
    title_of,
)
from tablewright.systems.support.app.timeline import is_said, said_event
from tablewright.systems.support.model import FOLLOWING, NOTE, Priority, Status
from tablewright.ui.api_calls import Answer, Refused
from tablewright.ui.components import (
    avatar,
    box,
    button,
    fact,
    facts,
    icon,
    link,
    menu,
    menu_item,
    section,
    set_attribute,
    text,
    time,
)
from tablewright.ui.feedback import dialog, guarded, toast
from tablewright.ui.forms import Form, file_button, select
from tablewright.ui.screen_page import Page

__all__ = ["TicketDetail"]

_EVENTS = 40
_FEEDBACK = 10
_OTHERS = 6
_MOST_TEXT = 20_000
_MOST_FILE = 900_000
# Who was asked to help, by these.
_GIVEN = ("assigned", "reassigned", "status_changed")


class TicketDetail:
    """A ticket in two elements: itself, and its context; read again when it changes."""

    def __init__(
        self, page: Page, ticket_id: str, thing: ui.element, context: ui.element, close: Any, *, for_customer: bool
    ) -> None:
        """``close`` draws the way back to the list."""
        self._page = page
        self.ticket_id = ticket_id
        self._for_customer = for_customer
        self._thing = thing
        self._context = context
        self._close = close
        self._ticket: TicketBody = {}
        self._etag: str | None = None
        self._events: list[dict[str, Any]] = []
        self._feedback: list[dict[str, Any]] = []
        self._pages = 1
        self._has_older = False
        # What is drawn; the message that is being written stays.
        self._drawn: tuple[Any, ...] = ()
        self._drawn_context: tuple[Any, ...] = ()
        self._head: ui.element | None = None
        self._talk: ui.element | None = None

    async def load(self) -> None:
        """Read the ticket and draw what is another than before."""
        api = self._page.api
        answer = await api.call("get_ticket", ticket_id=self.ticket_id)
        self._ticket, self._etag = answer.body, answer.etag
        await self._read_events()
        self._feedback = (await api.call("feedback", ticket_id=self.ticket_id, limit=_FEEDBACK)).body["feedback"]
        others = await self._read_others()
        if self._head is None:
            self._begin()
        assert self._head is not None
        assert self._talk is not None
        # One's own change comes by the stream as well; whoever clicks meanwhile must not lose the button.
        drawn = self._ticket, self._etag
        if self._drawn[:2] != drawn:
            self._head.clear()
            with self._head:
                self._draw_head()
        if self._drawn[2:] != (self._events, self._has_older):
            self._talk.clear()
            with self._talk:
                self._draw_conversation()
            # To what was said last; a phone shows all of it, and begins at the top.
            self._page.client.run_javascript(
                f"{{ const talk = getHtmlElement({self._talk.id}); if (talk) talk.parentElement.scrollTop = 1e9; }}"
            )
        self._drawn = *drawn, self._events, self._has_older
        context = self._ticket, self._etag, self._feedback, others, self._helpers()
        if self._drawn_context != context:
            self._context.clear()
            with self._context:
                self._draw_context(others)
            self._drawn_context = context

    async def _read_events(self) -> None:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(self._pages):
            body = (await self._page.api.call("events", ticket_id=self.ticket_id, limit=_EVENTS, cursor=cursor)).body
            found += body["events"]
            cursor = body.get("cursor")
            if cursor is None:
                break
        self._events, self._has_older = found, cursor is not None

    async def _read_others(self) -> list[TicketBody]:
        if self._for_customer:
            return []
        answer = await self._page.api.call("of_customer", customer_id=self._ticket["customer_id"], limit=_OTHERS)
        return [each for each in answer.body["tickets"] if each["ticket_id"] != self.ticket_id]

    def clear(self) -> None:
        self._head = self._talk = None
        self._drawn = self._drawn_context = ()
        self._thing.clear()
        self._context.clear()

    def _begin(self) -> None:
        self._thing.clear()
        with self._thing:
            self._head = box("tw-thing-head", "header")
            with box("tw-thing-body tw-stack", tabindex="0"):
                self._talk = box("tw-stack")
            if self._page.may("send_message"):
                with box("tw-thing-foot"):
                    self._draw_composer()

    # -- the head -------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        t, ticket = self._page.t, self._ticket
        self._close()
        with box("tw-grow tw-stack-tight"):
            with box("tw-row tw-wrap"):
                text(title_of(ticket), "", "h2", dir="auto")
                status_pill(t, ticket)
                priority_pill(t, ticket)
            opened = parsed(ticket["created_at"])
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

    def _draw_conversation(self) -> None:
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
                    time(t, parsed(event["timestamp"]))

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
        kind = "tw-message-note" if is_note else "tw-message-mine" if mine else ""
        side = " tw-message-end" if is_note else ""
        with box(f"tw-message tw-stack-tight {kind}{side}", "article"):
            with box("tw-row"):
                if is_note:
                    icon("lock", "tw-mute")
                text(self._name_of(by), "tw-strong")
                if is_note:
                    text(t("support.note"), "tw-small tw-mute")
                time(t, parsed(at))
            folded(t, content)

    def _name_of(self, user_id: str) -> str:
        return self._page.t("support.you") if user_id == self._page.user_id else user_id

    async def _older(self) -> None:
        self._pages += 1
        await self.load()

    def _draw_composer(self) -> None:
        t, page = self._page.t, self._page
        key, is_note = [uuid4().hex], [False]

        async def send() -> None:
            if not (field.value or "").strip():
                return
            call = "add_note" if is_note[0] else "send_message"
            await page.api.call(call, ticket_id=self.ticket_id, body={"text": field.value}, key=key[0])
            key[0] = uuid4().hex
            field.set_value("")
            await self.load()

        def choose(wanted: bool) -> None:
            is_note[0] = wanted
            # Another request from now on.
            key[0] = uuid4().hex
            for made, value in choices.items():
                set_attribute(made, "aria-pressed", str(value == wanted).lower())
            composer.classes(**{"add" if wanted else "remove": "tw-composer-note"})
            label.set_text(t("support.add_note" if wanted else "support.send"))
            hinted = t("support.write_note" if wanted else "support.write_to_customer")
            field.props["placeholder"] = field.props["aria-label"] = hinted
            field.update()

        with box("tw-composer", data_form=True) as composer:
            hint = t("support.write_to_us" if self._for_customer else "support.write_to_customer")
            field = ui.textarea(placeholder=hint).classes("tw-input")
            field.props(f'borderless dense autogrow rows=2 maxlength={_MOST_TEXT} name=text aria-label="{hint}"')
            with box("tw-row-between"):
                choices: dict[ui.element, bool] = {}
                with box("tw-row"):
                    if page.may("add_note"):
                        for name, value in (("support.to_customer", False), ("support.internal", True)):
                            pressed = str(not value).lower()
                            with box("tw-choice", "button", type="button", aria_pressed=pressed) as made:
                                text(t(name))
                            made.on("click", guarded(lambda value=value: choose(value)), [])  # type: ignore[misc]
                            choices[made] = value
                    else:
                        text("Ctrl ↵", "tw-mute tw-small", aria_hidden="true")
                classes = "tw-btn tw-btn-primary tw-btn-small"
                with box(classes, "button", type="button", data_submit=True) as submit:
                    label = text(t("support.send"))
                submit.on("click", guarded(send, submit), [])

    # -- the context ----------------------------------------------------------------------------------------------

    def _draw_context(self, others: list[TicketBody]) -> None:
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
            fact(t("support.created"), lambda: time(t, parsed(ticket["created_at"])))
            opened, done = parsed(ticket["created_at"]), parsed(ticket["completed_at"])
            if opened is not None and done is not None:
                fact(t("support.resolved_in"), t.span(done - opened))
        if ticket["escalation_reason"]:
            with section(t("support.reason")):
                folded(t, ticket["escalation_reason"])
        self._draw_payload()
        self._draw_feedback()
        if others:
            with section(t("support.others")):
                for each in others:
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
                    button(t("support.view"), lambda: view_payload(page, self.ticket_id), icon_name="eye", small=True)
            else:
                text(t("support.no_payload"), "tw-mute")

            async def attach(name: str, content_type: str, content: bytes) -> None:
                if await attach_payload(page, self.ticket_id, content, has_one=bool(size), seen=self._etag):
                    await self.load()

            file_button(t, t("support.attach"), attach, most=_MOST_FILE)

    def _draw_feedback(self) -> None:
        t, page = self._page.t, self._page
        with section(t("support.feedback")):
            for each in self._feedback:
                with box("tw-stack-tight"):
                    with box("tw-row-between"):
                        stars(t, each["rating"])
                        time(t, parsed(each["submitted_at"]))
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
                            lambda who=who: give_feedback(page, self.ticket_id, who, self.load),  # type: ignore[misc]
                            icon_name="star",
                            small=True,
                        ).style("align-self: flex-start")
            elif self._ticket["customer_id"] != page.user_id and page.may("operator_feedback"):
                button(
                    t("support.rate_help"),
                    lambda: give_feedback(page, self.ticket_id, None, self.load),
                    icon_name="star",
                    small=True,
                ).style("align-self: flex-start")

    def _helpers(self) -> list[str]:
        """Those who worked on it, as far as a customer saw them do so."""
        found: list[str] = [self._ticket["assigned_to"]] if self._ticket["assigned_to"] else []
        for event in self._events:
            if event["event_type"] == "ticket_created":
                # Opened by a program, perhaps.
                continue
            given = event["details"].get("assigned_to") if event["event_type"] in _GIVEN else None
            found += [each for each in (event["author"], given) if isinstance(each, str)]
        return [each for each in dict.fromkeys(found) if each != self._ticket["customer_id"]]

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
            toast(t("support.meanwhile"), bad=True)
        await self.load()

    async def _move(self, status: Status) -> None:
        t, call, before = self._page.t, self._page.api.call, Status(self._ticket["status"])
        body = {"status": status, "expected": before}
        can_undo = before in FOLLOWING[status] and before is not Status.ESCALATED
        await self._change(
            lambda: call("change_status", ticket_id=self.ticket_id, body=body, seen=self._etag),
            t("support.moved", status=t(f"support.{status}")),
            (lambda: self._move(before)) if can_undo else None,
        )

    async def _assign(self, who: str | None) -> None:
        t, call, before = self._page.t, self._page.api.call, self._ticket["assigned_to"]
        if who == self._page.user_id:
            said = t("support.taken")
        else:
            said = t("support.released") if who is None else t("support.assigned_now", who=who)
        await self._change(
            lambda: call("assign", ticket_id=self.ticket_id, body={"assignee": who}, seen=self._etag),
            said,
            lambda: self._assign(before),
        )

    async def _set_priority(self, priority: str) -> None:
        t, call, before = self._page.t, self._page.api.call, self._ticket["priority"]
        await self._change(
            lambda: call("set_priority", ticket_id=self.ticket_id, body={"priority": priority}, seen=self._etag),
            t("support.prioritised", priority=t(f"support.{priority}")),
            lambda: self._set_priority(before),
        )

    def _ask_assignee(self) -> None:
        t = self._page.t

        async def assign(values: dict[str, Any], _: str) -> None:
            await self._assign(values["assignee"])
            made.close()

        with dialog(t("support.assign")) as made:
            form = Form(t, submit=assign, action=t("support.assign"), cancel=made.close)
            form.text("assignee", t("support.who"), most=200, hint=t("support.who_hint"))
            form.end()

    def _ask_engineer(self) -> None:
        """Escalate, or hand an escalation on: engineer and reason, in one write."""
        t, call = self._page.t, self._page.api.call
        is_escalated = self._ticket["status"] == Status.ESCALATED
        title = t("support.hand_on" if is_escalated else "support.escalate")
        body = {"expected": self._ticket["status"]}
        seen = self._etag

        async def escalate(values: dict[str, Any], _: str) -> None:
            try:
                await call("escalate", ticket_id=self.ticket_id, body={**values, **body}, seen=seen)
                toast(t("support.escalated_now", who=values["engineer"]))
            except Refused as error:
                if error.kind != "precondition-failed":
                    raise
                toast(t("support.meanwhile"), bad=True)
            made.close()
            await self.load()

        with dialog(title) as made:
            form = Form(t, submit=escalate, action=title, cancel=made.close)
            form.text("engineer", t("support.engineer"), most=200, hint=t("support.who_hint"))
            form.text("reason", t("support.reason"), lines=True, most=2_000, hint=t("support.reason_hint"))
            form.end()
