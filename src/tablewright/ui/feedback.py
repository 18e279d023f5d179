"""Feedback: toasts with undo, dialogs, and confirmations where undo is impossible.

    toast(t("tasks.moved"), undo=(t("shell.undo"), move_back))       done, and can be undone
    if await confirm(t("..."), t("..."), t("...")): ...              only where undo is impossible

``guarded`` is around every handler: for a refused call it shows the message of the problem, an ended session leads to
the sign-in page, and any other error is logged and shown as an internal error.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from nicegui import Client, ui
from nicegui.events import GenericEventArguments

from tablewright.ui.api_calls import Refused, SignedOut
from tablewright.ui.texts import Texts

__all__ = ["Handler", "confirm", "dialog", "error_text", "guarded", "problem", "toast"]

Handler = Callable[[], Awaitable[object] | object]

_SHOWN_FOR = 6.0
_MOST = 4

_log = logging.getLogger(__name__)


class _Voice:
    """Where the toasts of a page are, and in which words."""

    def __init__(self, region: ui.element, t: Texts, leave: Callable[[], None]) -> None:
        self.region = region
        self.t = t
        self.leave = leave
        self.shown: list[ui.element] = []


_voices: WeakKeyDictionary[Client, _Voice] = WeakKeyDictionary()


def speak(t: Texts, leave: Callable[[], None]) -> None:
    """Prepare the page that is being drawn for toasts; ``leave`` goes to the sign-in page."""
    region = ui.element("div").classes("tw-toasts").props('role="status" aria-live="polite"')
    client = ui.context.client
    _voices[client] = _Voice(region, t, leave)
    # It refers to its page, and so to the client: a weak key alone would keep both.
    client.on_delete(lambda: _voices.pop(client, None))


def toast(message: str, *, undo: tuple[str, Handler] | None = None, bad: bool = False) -> None:
    """Show a message for some seconds, optionally with an undo button."""
    voice = _voices.get(ui.context.client)
    if voice is None:
        # The browser has gone.
        return
    while len(voice.shown) >= _MOST:
        voice.shown.pop(0).delete()
    with voice.region:
        made = ui.element("div").classes(f"tw-toast {'tw-toast-bad' if bad else ''}")
    voice.shown.append(made)

    def end() -> None:
        if made in voice.shown:
            voice.shown.remove(made)
            made.delete()

    with made:
        ui.label(message)
        if undo is not None:
            label, take_back = undo
            back = ui.element("button").classes("tw-toast-undo").props('type="button"')
            with back:
                ui.label(label)

            async def undone() -> None:
                end()
                await _run(take_back)

            back.on("click", guarded(undone), [])
        ui.timer(_SHOWN_FOR, end, once=True)


def problem(error: Exception) -> None:
    """Show what went wrong with a user's action."""
    voice = _voices[ui.context.client]
    if isinstance(error, SignedOut):
        voice.leave()
        return
    toast(error_text(error, voice.t), bad=True)


def error_text(error: Exception, t: Texts) -> str:
    """The message of an error, for people."""
    if isinstance(error, Refused):
        if error.kind == "precondition-failed":
            return t("shell.changed_meanwhile")
        if error.status == 429:
            return t("shell.too_fast")
        return error.detail[:1].upper() + error.detail[1:]
    _log.error("a screen failed", exc_info=error)
    return t("shell.our_fault")


def guarded(handler: Handler, control: ui.element | None = None) -> Callable[..., Awaitable[None]]:
    """A handler that shows its errors, and disables its control while it runs."""

    async def handle(*_: GenericEventArguments) -> None:
        client = ui.context.client
        if control is not None:
            if control.props.get("disabled"):
                return
            control.props["disabled"] = True
            control.update()
        try:
            # In the page as a whole: where the control is may be drawn again meanwhile.
            with client:
                await _run(handler)
        except Exception as error:
            if not client.is_deleted:
                with client:
                    problem(error)
        finally:
            if control is not None and not control.is_deleted:
                control.props.pop("disabled", None)
                control.update()

    return handle


async def _run(handler: Handler) -> None:
    result = handler()
    if inspect.isawaitable(result):
        await result


@contextmanager
def dialog(title: str) -> Iterator[ui.dialog]:
    """A dialog to draw into; it is open at once, ``.close()`` ends it.

    It belongs to the page: redrawing a view does not affect it.
    """
    with (
        ui.context.client,
        # It has the role of a dialog by itself, and no name.
        ui.dialog(value=True).props(f'aria-label="{_attribute(title)}"') as made,
        ui.element("div").classes("tw-dialog"),
    ):
        heading = ui.label(title)
        heading.tag = "h2"
        yield made
    made.on("hide", made.delete)


async def confirm(title: str, about: str, action: str) -> bool:
    """Ask for confirmation of an action that cannot be undone."""
    t = _voices[ui.context.client].t
    with (
        ui.context.client,
        ui.dialog().props(f'aria-label="{_attribute(title)}"') as made,
        ui.element("div")
        .classes("tw-dialog")
        .props(f'role="alertdialog" aria-modal="true" aria-label="{_attribute(title)}"'),
    ):
        heading = ui.label(title)
        heading.tag = "h2"
        ui.label(about).classes("tw-mute")
        with ui.element("div").classes("tw-form-foot"):
            for label, answer, kind in ((t("shell.cancel"), False, "plain"), (action, True, "danger")):
                with ui.element("button").classes(f"tw-btn tw-btn-{kind}").props('type="button"') as each:
                    ui.label(label)
                each.on("click", lambda _, answer=answer: made.submit(answer), [])
    result = await made
    made.delete()
    return bool(result)


def _attribute(value: str) -> str:
    return value.replace("\\", " ").replace('"', "'")
