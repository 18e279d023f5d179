"""Editors for attribute values, by type: text, numbers, binary, booleans, maps, lists and sets.

    editor = ItemEditor(t, item, fixed=("pk", "sk"))
    editor.value()         the edited item; ValueError names what is wrong

This draws an ``EditedValue``. Members are added and removed, and those of lists are moved; all are redrawn then, since
the labels of the following members change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

import orjson
from nicegui import ui

from tablewright.dynamo import AttributeValue, Item
from tablewright.studio.items.attribute_text import TYPES
from tablewright.studio.items.edited_value import EditedMember, EditedValue, item_of
from tablewright.ui.components import box, button, text
from tablewright.ui.forms import select
from tablewright.ui.texts import Texts

__all__ = ["AttributeEditor", "ItemEditor", "ValueEditor", "focus_on", "tool_button"]

_LONG = 60


class ValueEditor:
    """One value: its type, of those in ``types``, and an editor of it; ``kind`` is the type of all members of a set."""

    def __init__(
        self,
        t: Texts,
        edited: EditedValue,
        label: str,
        *,
        is_fixed: bool = False,
        kind: str | None = None,
        types: Mapping[str, str] = TYPES,
    ) -> None:
        self._t = t
        self._edited = edited
        self._label = label
        self._is_fixed = is_fixed
        self._kind = kind
        self._types = types
        with box("st-edit-value"):
            if not is_fixed and kind is None:
                chosen = select(types, edited.kind, self._change, label=t("studio.type_of", name=label))
                chosen.classes("st-edit-type")
            self._place = box("st-edit-place")
        self._draw()

    def _change(self, kind: str) -> None:
        self._edited.change(kind)
        self._draw()

    def _draw(self) -> None:
        edited = self._edited
        kind = self._kind or edited.kind
        self._place.clear()
        with self._place:
            if kind == "BOOL":
                flags = {"true": "true", "false": "false"}
                select(flags, edited.flag, partial(setattr, edited, "text"), label=self._label)
            elif kind == "NULL":
                text("null", "tw-mute tw-mono")
            elif self._kind is None and edited.has_members:
                self._draw_members()
            else:
                self._draw_text(kind)

    def _draw_text(self, kind: str) -> None:
        edited = self._edited
        is_long = kind == "S" and (len(edited.text) > _LONG or "\n" in edited.text)
        made = ui.textarea(value=edited.text) if is_long else ui.input(value=edited.text)
        made.classes("tw-input").props("borderless dense")
        made.props["aria-label"] = self._label
        if self._is_fixed:
            made.props("readonly")
        made.on_value_change(lambda event: setattr(edited, "text", event.value or ""))

    # -- members ----------------------------------------------------------------------------------------------------

    def _draw_members(self) -> None:
        edited, t = self._edited, self._t
        with box("st-edit-members"):
            for place in range(len(edited.members)):
                self._draw_member(place)
        button(
            t("studio.add_member"), self._add, icon_name="plus", small=True, kind="quiet", aria_label=self._add_label
        )

    @property
    def _add_label(self) -> str:
        return self._t("studio.add_to", name=self._label)

    def _draw_member(self, place: int) -> None:
        edited, t = self._edited, self._t
        member = edited.members[place]
        label = edited.label_of(self._label, place)
        with box("st-edit-member"):
            if edited.kind == "M":
                name_input(t, member)
            elif edited.kind == "L":
                text(str(place), "st-edit-place-number tw-mute tw-num")
            ValueEditor(t, member.value, label, kind=edited.member_kind, types=self._types)
            with box("tw-row st-edit-tools"):
                if edited.kind == "L":
                    tool_button("up", t("studio.move_up", name=label), partial(self._move, place, -1), place > 0)
                    is_last = place == len(edited.members) - 1
                    tool_button("down", t("studio.move_down", name=label), partial(self._move, place, 1), not is_last)
                tool_button("close", t("studio.remove_named", name=label), partial(self._remove, place))

    def _add(self) -> None:
        self._edited.add()
        self._draw()
        focus_on(self._place, self._edited.label_of(self._label, len(self._edited.members) - 1))

    def _remove(self, place: int) -> None:
        self._edited.remove(place)
        self._draw()
        focus_on(self._place, self._add_label)

    def _move(self, place: int, by: int) -> None:
        target = self._edited.move(place, by)
        self._draw()
        label = self._edited.label_of(self._label, target)
        focus_on(self._place, self._t("studio.move_up" if by < 0 else "studio.move_down", name=label))


class ItemEditor:
    """The attributes of an item; those that are ``fixed`` are read-only."""

    def __init__(self, t: Texts, item: Item, fixed: Collection[str]) -> None:
        self._t = t
        self._members: list[EditedMember] = []
        self._rows = box("st-edit")
        for name, value in item.items():
            self._add(name, value, is_fixed=name in fixed)
        button(t("studio.add_attribute"), lambda: self._add("", {"S": ""}), icon_name="plus", small=True)

    def value(self) -> Item:
        """The edited item; ValueError says what is wrong."""
        return item_of(self._members)

    def _add(self, name: str, value: AttributeValue, *, is_fixed: bool = False) -> None:
        t = self._t
        member = EditedMember(name, EditedValue(value))
        label = name or t("studio.new_attribute")
        with self._rows, box("st-edit-attribute") as row:
            if name:
                text(name, "st-edit-label tw-mono")
            else:
                name_input(t, member)
            ValueEditor(t, member.value, label, is_fixed=is_fixed)
            if not is_fixed:
                button(
                    t("studio.remove_named", name=label),
                    lambda: self._remove(member, row),
                    icon_name="trash",
                    only_icon=True,
                    small=True,
                    kind="quiet",
                )
        self._members.append(member)

    def _remove(self, member: EditedMember, row: ui.element) -> None:
        self._members = [each for each in self._members if each is not member]
        row.delete()


class AttributeEditor:
    """A single attribute: its name, its type, its value."""

    def __init__(self, t: Texts) -> None:
        self._member = EditedMember("", EditedValue({"S": ""}))
        with box("st-edit"), box("st-edit-attribute"):
            name_input(t, self._member)
            ValueEditor(t, self._member.value, t("studio.value"))

    @property
    def name(self) -> str:
        return self._member.name

    def value(self) -> AttributeValue:
        """The edited value; ValueError says what is wrong."""
        return self._member.value.value(self.name)


def tool_button(icon: str, label: str, work: Callable[[], None], is_possible: bool = True) -> None:
    """A button that moves or removes a member."""
    made = button(label, work, icon_name=icon, only_icon=True, small=True, kind="quiet")
    if not is_possible:
        made.props["disabled"] = True


def focus_on(place: ui.element, label: str) -> None:
    """Go on at what has a label, or at the first thing of it, where it has just been drawn.

    So whoever uses keys stays where they were.
    """
    ui.run_javascript(f"st.focus({place.id}, {orjson.dumps(label).decode()})")


def name_input(t: Texts, member: EditedMember) -> None:
    """The input for the name of an attribute."""
    made = ui.input(value=member.name, placeholder=t("studio.name")).classes("tw-input st-edit-name")
    made.props("borderless dense")
    made.props["aria-label"] = t("studio.name")
    made.on_value_change(lambda event: setattr(member, "name", event.value or ""))
