"""A conversation: messages, the composer that sends them, and what happened in between.

    message(t, "ada", written_at, lambda: text(content), mine=True)
    composer(Kind(send, hint=t("tasks.write_comment"), action=t("tasks.comment")), most=10_000, after=self.load)
    activity(t, t("tasks.activity"), entries, in_words)

A message is sent once, however often the button is pressed or the connection breaks: ``send`` gets the text and an
idempotency key, which stays the same until the message is accepted. If it is refused, the error is shown and the text
stays.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from nicegui import ui

from tablewright.ui.components import box, icon, section, set_attribute, text, time
from tablewright.ui.feedback import guarded
from tablewright.ui.texts import Texts, parsed_time

__all__ = ["Kind", "activity", "composer", "message"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of message that a user can write: a reply, or a note."""

    send: Callable[[str, str], Awaitable[object]]
    hint: str
    action: str
    # Where there are several: what the button that chooses it says, and classes of the composer meanwhile.
    label: str = ""
    classes: str = ""


def message(
    t: Texts, by: str, at: datetime | None, content: Callable[[], object], *, mine: bool, note: str = ""
) -> None:
    """A message; those of the user's own side are aligned to the end. ``note`` marks it as internal."""
    kind = "tw-message-note tw-message-end" if note else "tw-message-mine" if mine else ""
    with box(f"tw-message tw-stack-tight {kind}", "article"):
        with box("tw-row"):
            if note:
                icon("lock", "tw-mute")
            text(by, "tw-strong")
            if note:
                text(note, "tw-small tw-mute")
            time(t, at)
        content()


def composer(*kinds: Kind, most: int, after: Callable[[], Awaitable[object]], name: str = "text") -> None:
    """The field for a new message, of the first kind unless another is chosen; Ctrl-Enter sends it.

    ``after`` shows what was sent.
    """
    chosen, key = kinds[0], uuid4().hex

    async def send() -> None:
        nonlocal key
        if not (field.value or "").strip():
            return
        await chosen.send(field.value, key)
        key = uuid4().hex
        field.set_value("")
        await after()

    def choose(kind: Kind) -> None:
        nonlocal chosen, key
        before, chosen = chosen, kind
        # Another request from now on.
        key = uuid4().hex
        for each, made in choices:
            set_attribute(made, "aria-pressed", str(each is kind).lower())
        outer.classes(remove=before.classes, add=kind.classes)
        label.set_text(kind.action)
        field.props["placeholder"] = field.props["aria-label"] = kind.hint
        field.update()

    with box("tw-thing-foot"), box("tw-composer", data_form=True) as outer:
        field = ui.textarea(placeholder=chosen.hint).classes("tw-input")
        field.props(f"borderless dense autogrow rows=2 maxlength={most} name={name}")
        field.props["aria-label"] = chosen.hint
        with box("tw-row-between"):
            with box("tw-row"):
                choices = [(kind, _choice(kind, kind is chosen, choose)) for kind in kinds if len(kinds) > 1]
                if not choices:
                    text("Ctrl ↵", "tw-mute tw-small", aria_hidden="true")
            classes = "tw-btn tw-btn-primary tw-btn-small"
            with box(classes, "button", type="button", data_submit=True) as submit:
                label = text(chosen.action)
            submit.on("click", guarded(send, submit), [])


def _choice(kind: Kind, is_chosen: bool, choose: Callable[[Kind], object]) -> ui.element:
    with box("tw-choice", "button", type="button", aria_pressed=str(is_chosen).lower()) as made:
        text(kind.label)
    made.on("click", guarded(lambda: choose(kind)), [])
    return made


def activity(
    t: Texts,
    title: str,
    entries: Sequence[Mapping[str, Any]],
    in_words: Callable[[Mapping[str, Any]], str],
    nothing: str = "",
) -> None:
    """The audit of a thing, one entry per line."""
    with section(title):
        for entry in entries:
            with box("tw-row tw-small"):
                icon("activity", "tw-mute")
                text(in_words(entry), "tw-grow")
                time(t, parsed_time(entry["at"]))
        if not entries and nothing:
            text(nothing, "tw-mute")
