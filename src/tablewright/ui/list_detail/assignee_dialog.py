"""The dialog that asks for the person who is to work on a thing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tablewright.ui.feedback import dialog
from tablewright.ui.forms import Form
from tablewright.ui.texts import Texts

__all__ = ["ask_assignee"]


def ask_assignee(t: Texts, prefix: str, assign: Callable[[str], Awaitable[None]]) -> None:
    """Ask, and call ``assign``; ``prefix`` is that of the texts ``assign``, ``who`` and ``who_hint``."""

    async def submit(values: dict[str, Any], _: str) -> None:
        await assign(values["assignee"])
        made.close()

    with dialog(t(f"{prefix}.assign")) as made:
        form = Form(t, submit=submit, action=t(f"{prefix}.assign"), cancel=made.close)
        form.text("assignee", t(f"{prefix}.who"), most=200, hint=t(f"{prefix}.who_hint"))
        form.end()
