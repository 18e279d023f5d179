"""Logs and traces of a ticket, of any size: some lines at a time, long ones truncated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, text
from tablewright.ui.feedback import confirm, dialog, toast
from tablewright.ui.screen_page import Page

__all__ = ["Extract", "attach_payload", "extract", "view_payload"]

LINES = 100
# Longer lines are truncated.
WIDTH = 400


@dataclass(frozen=True, slots=True)
class Extract:
    """Some lines of a text: the number of the first, the lines, the total number, and how many were truncated."""

    first: int
    lines: Sequence[str]
    total: int
    folded: int


def extract(content: str, page: int) -> Extract:
    """A page of a text; the last one if there are fewer."""
    lines = content.split("\n")
    last = max(0, (len(lines) - 1) // LINES)
    start = min(max(page, 0), last) * LINES
    found = lines[start : start + LINES]
    shown = [line if len(line) <= WIDTH else f"{line[:WIDTH]}… (+{len(line) - WIDTH})" for line in found]
    return Extract(start + 1, shown, len(lines), sum(len(line) > WIDTH for line in found))


async def view_payload(page: Page, ticket_id: str) -> None:
    """Show the payload of a ticket in a dialog; what is not on the screen stays on the server."""
    t = page.t

    async def read(number: int) -> Extract:
        # Read again for each page: an open dialog holds nothing.
        answer = await page.api.call("get_data", ticket_id=ticket_id)
        return extract(answer.body["data"], number)

    async def show(number: int) -> None:
        found = await read(number)
        at[0] = (found.first - 1) // LINES
        last = found.first + len(found.lines) - 1
        lines = t("support.lines", first=t.number(found.first), last=t.number(last), total=t.number(found.total))
        where.set_text(f"{lines} · {t('support.folded', number=found.folded)}" if found.folded else lines)
        body.clear()
        with body:
            text("\n".join(f"{found.first + place}".rjust(6) for place in range(len(found.lines))), "tw-lines-numbers")
            text("\n".join(found.lines), "tw-lines-text", dir="auto")

    at = [0]
    first = await read(0)
    with dialog(t("support.payload")) as made:
        made.props("full-width")
        where = text("", "tw-mute tw-small", aria_live="polite")
        body = box("tw-lines", tabindex="0", role="region", aria_label=t("support.payload"))
        with box("tw-form-foot"):
            if first.total > LINES:
                button(t("support.earlier"), lambda: show(at[0] - 1))
                button(t("support.later"), lambda: show(at[0] + 1))
                button(t("support.to_end"), lambda: show(first.total // LINES))
            button(t("shell.close"), made.close, kind="primary")
    await show(0)


async def attach_payload(page: Page, ticket_id: str, content: bytes, *, has_one: bool, seen: str | None) -> bool:
    """Replace the payload of a ticket by a file; returns whether that was done."""
    t = page.t
    if has_one and not await confirm(t("support.replace"), t("support.replace_about"), t("support.attach")):
        return False
    # As text, whatever it is: invalid bytes are shown as replacement characters.
    body = {"data": content.decode("utf-8", "replace").replace("\x00", "�")}
    try:
        await page.api.call("put_data", ticket_id=ticket_id, body=body, seen=seen)
    except Refused as error:
        if not error.is_conflict:
            raise
        toast(t("support.meanwhile"), bad=True)
        return True
    toast(t("support.attached"))
    return True
