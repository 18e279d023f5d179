"""An editor for a value that has members: the fields of a model, the members of a list, a set or a map, by their types.

It looks like the editor of items. A button switches to editing the value as JSON, and back.
"""

from __future__ import annotations

from functools import partial

from nicegui import ui

from tablewright.studio.designs.typed_value import Shape, TypedMember, TypedValue
from tablewright.studio.items.attribute_text import TYPES
from tablewright.studio.views.attribute_editor import ValueEditor, focus_on, tool_button
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, text
from tablewright.ui.forms import select
from tablewright.ui.texts import Texts

__all__ = ["TypedValueEditor"]

_MOST = 100_000
# What JSON has.
_ANY = {kind: TYPES[kind] for kind in ("S", "N", "BOOL", "NULL", "M", "L")}
_LONG = 60


class TypedValueEditor:
    """The editor of one field of a form; ``given`` is its present value as JSON, if it has one."""

    def __init__(self, t: Texts, name: str, label: str, shape: Shape, given: str = "") -> None:
        self._t = t
        self._name = name
        self._label = label
        self._typed = TypedValue(shape)
        # What is typed as JSON; None while it is typed by its members.
        self._json: str | None = None
        if given:
            try:
                self._typed.read(given)
            except ValueError:
                self._json = given
        with box("st-typed"):
            self._place = box("st-edit-place")
            self._switch = box("st-typed-switch")
        self._draw()

    def read(self) -> str:
        """The value as JSON, empty if it was omitted; Refused if it is not valid."""
        if self._json is not None:
            return self._json.strip()
        try:
            return self._typed.json_text()
        except ValueError as error:
            raise Refused(400, "invalid", str(error), {self._name: str(error)}) from None

    # -- drawing ----------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        t = self._t
        self._place.clear()
        self._switch.clear()
        with self._place:
            if self._json is None:
                _ValueEditor(t, self._typed, self._label)
            else:
                made = ui.textarea(value=self._json).classes("tw-input st-typed-json")
                made.props(f"borderless dense spellcheck=false maxlength={_MOST}")
                made.props["aria-label"] = t("designs.as_json", name=self._label)
                made.on_value_change(lambda event: setattr(self, "_json", event.value or ""))
        with self._switch:
            label = t("designs.type_json") if self._json is None else t("designs.type_members")
            button(label, self._change, small=True, kind="quiet", aria_label=f"{label}: {self._label}")

    def _change(self) -> None:
        """Type it in the other way; what was typed stays."""
        if self._json is None:
            self._json = self.read()
        else:
            typed = TypedValue(self._typed.shape)
            if self._json.strip():
                try:
                    typed.read(self._json)
                except ValueError as error:
                    raise Refused(400, "invalid", str(error), {}) from None
            self._typed, self._json = typed, None
        self._draw()


class _ValueEditor:
    """One value and what it has in it."""

    def __init__(self, t: Texts, typed: TypedValue, label: str) -> None:
        self._t = t
        self._typed = typed
        self._label = label
        self._place = box("st-edit-place")
        self._draw()

    def _draw(self) -> None:
        typed = self._typed
        self._place.clear()
        with self._place:
            match typed.shape.kind:
                case "choice":
                    options = {} if typed.shape.is_required and typed.text else {"": "·"}
                    options |= {each: each for each in typed.shape.choices}
                    select(options, typed.text, partial(setattr, typed, "text"), label=self._label)
                case "text":
                    self._draw_text()
                case "any" if typed.is_given:
                    ValueEditor(self._t, typed.any, self._label, types=_ANY)
                    self._draw_leave_out()
                case _ if not typed.is_given:
                    label = self._t("designs.give", name=self._label)
                    button(
                        self._t("studio.add_member"),
                        self._give,
                        icon_name="plus",
                        small=True,
                        kind="quiet",
                        aria_label=label,
                    )
                case "model" | "one of":
                    self._draw_fields()
                case _:
                    self._draw_members()

    def _draw_text(self) -> None:
        typed = self._typed
        is_long = len(typed.text) > _LONG or "\n" in typed.text
        made = ui.textarea(value=typed.text) if is_long else ui.input(value=typed.text)
        made.classes("tw-input").props(f"borderless dense maxlength={_MOST}")
        made.props["aria-label"] = self._label
        made.props["placeholder"] = typed.shape.name
        made.on_value_change(lambda event: setattr(typed, "text", event.value or ""))

    def _draw_fields(self) -> None:
        alternatives = self._typed.shape.alternatives
        if alternatives:
            options = {str(place): each.name for place, each in enumerate(alternatives)}
            label = self._t("studio.type_of", name=self._label)
            select(options, str(self._typed.alternative), self._choose, label=label)
        with box("st-edit-members st-typed-fields"):
            for name, each in self._typed.fields.items():
                label = f"{self._label}.{name}"
                is_optional = not each.shape.is_required
                with box("st-typed-field"):
                    with box("tw-row"):
                        text(name, "tw-small tw-strong", title=each.shape.name)
                        if is_optional:
                            text(self._t("designs.optional"), "tw-mute tw-small")
                    _ValueEditor(self._t, each, label)
        self._draw_leave_out()

    def _draw_members(self) -> None:
        typed, t = self._typed, self._t
        with box("st-edit-members"):
            for place, member in enumerate(typed.members):
                self._draw_member(place, member)
        with box("tw-row"):
            label = t("studio.add_to", name=self._label)
            button(t("studio.add_member"), self._add, icon_name="plus", small=True, kind="quiet", aria_label=label)
            self._draw_leave_out()

    def _draw_leave_out(self) -> None:
        if not self._typed.shape.is_required:
            label = self._t("designs.leave_out", name=self._label)
            button(label, self._leave_out, icon_name="close", only_icon=True, small=True, kind="quiet")

    def _draw_member(self, place: int, member: TypedMember) -> None:
        t, typed = self._t, self._typed
        label = self._label_of(place)
        is_list = typed.shape.kind == "list"
        with box("st-edit-member"):
            if is_list:
                text(str(place), "st-edit-place-number tw-mute tw-num")
            else:
                made = ui.input(value=member.name, placeholder=t("studio.name")).classes("tw-input st-edit-name")
                made.props("borderless dense")
                made.props["aria-label"] = t("designs.name_of", name=label)
                made.on_value_change(lambda event: setattr(member, "name", event.value or ""))
            with box("st-edit-value"):
                _ValueEditor(t, member.value, label)
            with box("tw-row st-edit-tools"):
                if is_list:
                    tool_button("up", t("studio.move_up", name=label), partial(self._move, place, -1), place > 0)
                    is_last = place == len(typed.members) - 1
                    tool_button("down", t("studio.move_down", name=label), partial(self._move, place, 1), not is_last)
                tool_button("close", t("studio.remove_named", name=label), partial(self._remove, place))

    def _label_of(self, place: int) -> str:
        return f"{self._label}[{place}]"

    # -- changes ----------------------------------------------------------------------------------------------------

    def _choose(self, alternative: str) -> None:
        self._typed.choose(int(alternative))
        self._draw()

    def _give(self) -> None:
        typed = self._typed
        typed.give()
        if typed.shape.kind in ("list", "map") and not typed.members:
            typed.add()
        self._draw()
        first = self._label_of(0) if typed.members else f"{self._label}.{next(iter(typed.fields), '')}"
        focus_on(self._place, first)

    def _leave_out(self) -> None:
        self._typed.leave_out()
        self._draw()
        focus_on(self._place, self._t("designs.give", name=self._label))

    def _add(self) -> None:
        self._typed.add()
        self._draw()
        focus_on(self._place, self._label_of(len(self._typed.members) - 1))

    def _remove(self, place: int) -> None:
        self._typed.remove(place)
        self._draw()
        focus_on(self._place, self._t("studio.add_to", name=self._label))

    def _move(self, place: int, by: int) -> None:
        target = self._typed.move(place, by)
        self._draw()
        focus_on(self._place, self._t("studio.move_up" if by < 0 else "studio.move_down", name=self._label_of(target)))
