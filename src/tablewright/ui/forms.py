"""Forms: fields with labels, and the API's error message for each of them.

    form = Form(t, submit=create, action=t("tasks.create"))
    form.text("title", t("tasks.title"), most=200)
    form.choice("priority", t("tasks.priority"), {"LOW": t("tasks.LOW"), ...}, value="MEDIUM")
    form.end()

    async def create(values: dict[str, Any], key: str) -> None:
        await api.call("create_task", body=values, key=key)

The names of the fields are those of the request's body, so that the errors of a problem (RFC 9457) are shown at their
fields. ``key`` is an idempotency key, which stays the same until the form is accepted: a second click, or a retry after
a broken connection, does nothing twice. Ctrl-Enter submits.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from nicegui import Client, ui
from nicegui.events import GenericEventArguments, UploadEventArguments

from tablewright.ui.api_calls import Refused
from tablewright.ui.components import banner, box, button, set_attribute, text
from tablewright.ui.feedback import Handler, guarded, toast
from tablewright.ui.texts import Texts

__all__ = ["Form", "file_button", "follow_choices", "select"]

Submit = Callable[[dict[str, Any], str], Awaitable[object]]
OnFile = Callable[[str, str, bytes], Awaitable[object]]

# How the API says that there is nothing in a field.
_MISSING = ("String should have at least 1 character", "Field required", "List should have at least 1 item")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,50}/[A-Za-z0-9!#$&^_.+-]{1,49}")


class _Field:
    """A field: its control's value, and the place for what is wrong with it."""

    def __init__(self, outer: ui.element, error: ui.label, read: Callable[[], Any], control: ui.element) -> None:
        self.outer = outer
        self.error = error
        self.read = read
        self.control = control


class Control:
    """The interface by which a form reads a custom control."""

    read: Callable[[], Any] = staticmethod(lambda: None)


class Form:
    """A form in the element that is open when it is created."""

    def __init__(self, t: Texts, *, submit: Submit, action: str, cancel: Handler | None = None) -> None:
        self._t = t
        self._submit = submit
        self._action = action
        self._cancel = cancel
        self._key = uuid4().hex
        self._fields: dict[str, _Field] = {}
        self._box = box("tw-form", data_form=True)
        with self._box:
            self._problem = box("", role="alert")

    @contextmanager
    def part(self, title: str) -> Iterator[None]:
        """A titled part of the form; fields that are added within belong to it."""
        outer = self._box
        with outer, box("tw-form tw-form-part", role="group", aria_label=title) as made:
            text(title, "tw-section-title tw-form-title", "h3")
            self._box = made
            try:
                yield
            finally:
                self._box = outer

    def text(
        self,
        name: str,
        label: str,
        *,
        value: str = "",
        lines: bool = False,
        kind: str = "text",
        most: int | None = None,
        hint: str = "",
        empty_is_none: bool = False,
    ) -> ui.input | ui.textarea:
        """A text field, or with ``kind`` a date, a time, a number or a mail address, as in HTML."""
        with self._field(name, label, hint) as (outer, error, control_id):
            made = ui.textarea(value=value) if lines else ui.input(value=value)
            made.classes("tw-input").props(f'borderless dense for="{control_id}" name="{name}"')
            if not lines and kind != "text":
                made.props(f"type={kind}")
            if most is not None:
                made.props(f"maxlength={most}")
            if not self._fields:
                # The first field of a dialog gets the focus; elsewhere this has no effect.
                made.props("data-autofocus")

        def read() -> Any:
            found = made.value or ""
            return None if empty_is_none and not found else found

        self._fields[name] = _Field(outer, error, read, made)
        return made

    def choice(
        self, name: str, label: str, options: Mapping[str, str], *, value: str | None = None, hint: str = ""
    ) -> None:
        """One of some values, shown by their labels."""
        chosen = [value if value is not None else next(iter(options), "")]
        with self._field(name, label, hint) as (outer, error, control_id):
            made = select(options, chosen[0], lambda new: chosen.__setitem__(0, new), id_=control_id, name=name)
        self._fields[name] = _Field(outer, error, lambda: chosen[0] or None, made)

    def choices(self, name: str, label: str, options: Mapping[str, str], *, value: tuple[str, ...] = ()) -> None:
        """Any of some values."""
        chosen = set(value)
        outer = box("tw-field", "fieldset").style("border: 0; padding: 0; margin: 0")
        with outer:
            text(label, "tw-strong tw-small", "legend")
            with box("tw-row tw-wrap"):
                for option, shown in options.items():
                    with box("tw-choice", "button", type="button", aria_pressed=str(option in chosen).lower()) as made:
                        text(shown)

                    def toggle(_: Any, option: str = option, made: ui.element = made) -> None:
                        chosen.symmetric_difference_update({option})
                        set_attribute(made, "aria-pressed", str(option in chosen).lower())

                    made.on("click", toggle, [])
            error = text("", "tw-field-error")
        outer.move(self._box)
        self._fields[name] = _Field(outer, error, lambda: [each for each in options if each in chosen], outer)

    @contextmanager
    def control(self, name: str, label: str, *, hint: str = "") -> Iterator[Control]:
        """A custom control, which is drawn within, and whose ``read`` returns its value."""
        with self._field(name, label, hint) as (outer, error, _):
            outer.classes("tw-field-wide")
            outer.props["role"], outer.props["aria-label"] = "group", label
            made = Control()
            yield made
        self._fields[name] = _Field(outer, error, lambda: made.read(), outer)

    def end(self) -> None:
        """Draw the buttons."""
        with self._box, box("tw-form-foot"):
            if self._cancel is not None:
                button(self._t("shell.cancel"), self._cancel)
            button(self._action, self.submit, kind="primary", data_submit=True)

    def _field(self, name: str, label: str, hint: str) -> Any:
        return _FieldBox(self._box, name, label, hint)

    @property
    def values(self) -> dict[str, Any]:
        return {name: field.read() for name, field in self._fields.items()}

    async def submit(self) -> None:
        """Submit the form; errors are shown at their fields, and no input is lost."""
        self._problem.clear()
        for field in self._fields.values():
            field.error.set_text("")
            field.outer.classes(remove="tw-invalid")
        try:
            await self._submit(self.values, self._key)
        except Refused as error:
            left = self._show(error)
            if left:
                with self._problem:
                    banner(left, "bad")
            return
        self._key = uuid4().hex

    def _show(self, error: Refused) -> str:
        """Show what is about fields at the fields; the rest of it."""
        unknown = [message for name, message in error.fields.items() if name not in self._fields]
        for name, message in error.fields.items():
            field = self._fields.get(name)
            if field is not None:
                # In words of the reader, where it is what most people meet.
                is_missing = message.startswith(_MISSING)
                field.error.set_text(self._t("shell.required") if is_missing else _sentence(message))
                field.outer.classes("tw-invalid")
        first = next((self._fields[name] for name in self._fields if name in error.fields), None)
        if first is not None:
            # A long form has its button far below.
            ui.run_javascript(f"getHtmlElement({first.outer.id})?.scrollIntoView({{block: 'nearest'}})")
        if error.fields:
            return "; ".join(unknown)
        return self._t("shell.changed_meanwhile") if error.kind == "precondition-failed" else _sentence(error.detail)


class _FieldBox:
    """Label, control, hint and error of a field, as a context that the control is drawn in."""

    def __init__(self, form: ui.element, name: str, label: str, hint: str) -> None:
        self._form = form
        self._id = f"tw-{name}-{uuid4().hex[:8]}"
        self._label = label
        self._hint = hint

    def __enter__(self) -> tuple[ui.element, ui.label, str]:
        with self._form:
            self._outer = box("tw-field")
        with self._outer:
            text(self._label, "", "label", **{"for": self._id})
            self._slot = box()
            if self._hint:
                text(self._hint, "tw-field-hint")
            error = text("", "tw-field-error", aria_live="polite")
        self._slot.__enter__()
        return self._outer, error, self._id

    def __exit__(self, *_: object) -> None:
        self._slot.__exit__()


def select(
    options: Mapping[str, str],
    value: str | None,
    on_change: Callable[[str], Awaitable[object] | object],
    *,
    id_: str | None = None,
    name: str | None = None,
    label: str | None = None,
) -> ui.element:
    """The browser's own select element; ``on_change`` gets the chosen value.

    A choice that is made while the previous one is being handled is handled after it; of several, only the latest. It
    may arrive after the list was redrawn and this element is gone, so it is received by the page, which lasts as long
    as the browser tab.
    """
    token = _Choice(options, on_change).token
    made = box("tw-select", "select", id=id_, name=name, aria_label=label)
    with made:
        for option, shown in options.items():
            text(shown, "", "option", value=option, **({"selected": True} if option == value else {}))

    made.on("change", js_handler=f"(event) => emitEvent('{_CHOSEN}', ['{token}', event.target.value])")
    return made


_CHOSEN = "tw-chosen"
# How many lists of a page are remembered: those that are drawn, and those that were drawn a moment ago.
_REMEMBERED = 500
_choices: WeakKeyDictionary[Client, OrderedDict[str, _Choice]] = WeakKeyDictionary()


class _Choice:
    """What is chosen from a list: one choice after the other, and of those that wait the latest."""

    def __init__(self, options: Mapping[str, str], on_change: Callable[[str], Awaitable[object] | object]) -> None:
        self._options = frozenset(options)
        self._on_change = on_change
        self._next: str | None = None
        self._is_busy = False
        self.token = uuid4().hex
        client = ui.context.client
        if client.is_deleted:
            return
        known = _choices.setdefault(client, OrderedDict())
        known[self.token] = self
        if len(known) > _REMEMBERED:
            known.popitem(last=False)

    async def chosen(self, value: str) -> None:
        if value not in self._options:
            return
        self._next = value
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._next is not None:
                value, self._next = self._next, None
                await guarded(partial(self._on_change, value))()
        finally:
            self._is_busy = False


def follow_choices() -> None:
    """Prepare the page that is being drawn for select elements; they are discarded with it."""
    client = ui.context.client
    # They refer to the page, and so to the client: a weak key alone would keep both.
    client.on_delete(lambda: _choices.pop(client, None))

    async def chosen(event: GenericEventArguments) -> None:
        match event.args:
            case [str(token), str(value)]:
                known = _choices.get(ui.context.client)
                if known is not None and token in known:
                    await known[token].chosen(value)

    ui.on(_CHOSEN, chosen)


def file_button(t: Texts, label: str, on_file: OnFile, *, most: int) -> ui.element:
    """A button that uploads a file up to a maximum size: ``on_file(name, content_type, content)``."""

    async def sent(event: UploadEventArguments) -> None:
        file = event.file
        # A name, never a path.
        name = file.name.replace("/", "_").replace("\\", "_")[-200:]
        content_type = (
            file.content_type if _MEDIA_TYPE.fullmatch(file.content_type or "") else "application/octet-stream"
        )
        content = await file.read()
        await guarded(lambda: on_file(name, content_type, content))()

    def refuse() -> None:
        toast(t("shell.too_large", size=t.number(most // 1000)), bad=True)

    # Not by its visibility: what cannot be seen takes no files.
    upload = ui.upload(on_upload=sent, auto_upload=True, max_file_size=most).style("display: none")
    upload.on("rejected", guarded(refuse), [])
    made = button(label, lambda: upload.run_method("pickFiles"), icon_name="clip", small=True)
    return made.style("align-self: flex-start")


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]
