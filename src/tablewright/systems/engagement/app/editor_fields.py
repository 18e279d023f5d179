"""Fields of the program editor: each writes into the body that is put, and shows the problems of its path in it.

    fields = EditorFields(t, on_edit)
    fields.text(model, "modelId", ("scoringModels", 0, "modelId"), t("engagement.model_id"))
    fields.show([{"field": "scoringModels.0.modelId", "message": "unknown model ..."}])

A problem is shown at its field; without such a field, at the nearest part around it, or at the top.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from tablewright.ui.components import banner, box, set_attribute, text
from tablewright.ui.forms import select
from tablewright.ui.texts import Texts

__all__ = ["EditorFields", "Place", "as_json", "as_names", "as_number", "as_tables"]

Place = tuple[str | int, ...]
"""The path of a field in the body."""
Read = Callable[[str], Any]


class NotReadable(ValueError):
    """The input has a form that cannot be sent."""


class EditorFields:
    """The fields of an editor, by path."""

    def __init__(self, t: Texts, on_edit: Callable[[], object], top: ui.element) -> None:
        self._t = t
        self._on_edit = on_edit
        self._top = top
        self._errors: dict[str, tuple[ui.element, ui.label]] = {}
        # Input that cannot be sent, by path.
        self.unreadable: dict[str, str] = {}

    def clear(self) -> None:
        """Remove all fields, before they are drawn again."""
        self._errors.clear()
        self.unreadable.clear()

    def forget(self, *place: str | int) -> None:
        """Remove the fields below a path."""
        start = ".".join(map(str, place)) + "."
        for known in [each for each in self._errors if each.startswith(start)]:
            del self._errors[known]
        for known in [each for each in self.unreadable if each.startswith(start)]:
            del self.unreadable[known]

    def text(
        self,
        into: dict[str, Any],
        place: Place,
        label: str,
        *,
        value: str | None = None,
        read: Read | None = None,
        lines: bool = False,
        code: bool = False,
        hint: str = "",
        wide: bool = False,
        optional: bool = False,
        most: int | None = None,
    ) -> ui.element:
        """A text; ``read`` converts it to a value; an empty ``optional`` one is left out."""
        name = str(place[-1])
        path = ".".join(map(str, place))
        control = f"tw-{uuid4().hex[:10]}"
        with box(f"tw-field {'tw-wide' if wide or lines else ''}") as outer:
            text(label, "", "label", **{"for": control})
            shown = _shown(into.get(name)) if value is None else value
            made = (
                ui.textarea(value=shown, on_change=lambda event: changed(event))
                if lines
                else ui.input(value=shown, on_change=lambda event: changed(event))
            )
            made.classes(f"tw-input {'tw-code' if code else ''}")
            made.props(f'borderless dense debounce=250 for="{control}" name="{path}"')
            if lines:
                made.props("autogrow")
            if most is not None:
                made.props(f"maxlength={most}")
            if hint:
                text(hint, "tw-field-hint")
            error = text("", "tw-field-error", aria_live="polite")
        self._errors[path] = outer, error

        def changed(event: ValueChangeEventArguments[Any]) -> object:
            given = str(event.value or "")
            self.unreadable.pop(path, None)
            if optional and not given.strip():
                into.pop(name, None)
            else:
                try:
                    into[name] = given if read is None else read(given)
                except NotReadable:
                    self.unreadable[path] = self._t("engagement.not_json")
            return self._on_edit()

        return outer

    def choice(
        self,
        into: dict[str, Any],
        place: Place,
        label: str,
        options: dict[str, str],
        on_change: Callable[[str], object],
    ) -> None:
        path, control = ".".join(map(str, place)), f"tw-{uuid4().hex[:10]}"
        with box("tw-field") as outer:
            text(label, "", "label", **{"for": control})
            select(options, str(into.get(str(place[-1])) or ""), on_change, id_=control, name=path)
            error = text("", "tw-field-error", aria_live="polite")
        self._errors[path] = outer, error

    def part(self, place: Place) -> None:
        """The element for problems of a part as a whole, in the element that is open."""
        with box("tw-part-error") as outer:
            error = text("", "tw-field-error", aria_live="polite")
        self._errors[".".join(map(str, place))] = outer, error

    def show(self, problems: Sequence[dict[str, str]]) -> int:
        """Show these problems only; returns their number."""
        found: dict[str, str] = dict(self.unreadable)
        rest: list[str] = []
        for each in problems:
            place = self._nearest(each["field"])
            if place is None:
                rest.append(each["message"])
            else:
                found.setdefault(place, each["message"])
        for path, (outer, error) in self._errors.items():
            message = found.get(path, "")
            message = message[:1].upper() + message[1:]
            if error.text != message:
                error.set_text(message)
                if message:
                    outer.classes("tw-invalid")
                else:
                    outer.classes(remove="tw-invalid")
        self._top.clear()
        for message in rest:
            with self._top:
                banner(message[:1].upper() + message[1:], "bad")
        set_attribute(self._top, "data-problems", str(len(found) + len(rest)))
        return len(found) + len(rest)

    def _nearest(self, field: str) -> str | None:
        steps = field.split(".")
        for length in range(len(steps), 0, -1):
            if ".".join(steps[:length]) in self._errors:
                return ".".join(steps[:length])
        return None


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def as_number(given: str) -> Any:
    """A number if it is one; otherwise the text as typed, for the service to report."""
    try:
        found = float(given)
    except ValueError:
        return given
    return int(found) if found.is_integer() and "." not in given else found


def as_names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def as_tables(given: str) -> dict[str, str]:
    """``customers = customers.csv``, one per line."""
    pairs = (line.partition("=") for line in given.splitlines() if line.strip())
    return {name.strip(): file.strip() for name, _, file in pairs}


def as_json(given: str) -> Any:
    try:
        return json.loads(given)
    except ValueError:
        raise NotReadable from None
