"""Editors for attribute values, by their type: text, numbers, binary, booleans; maps, lists and sets as what they are.

    editor = ItemEditor(t, item, fixed=("pk", "sk"))
    editor.value()         the item that was typed; ValueError names what is wrong

An editor keeps its value as text, so that nothing that was typed is lost when its type is changed back and forth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from nicegui import ui

from tablewright.dynamo import AttributeValue, Item
from tablewright.studio.items.attribute_text import TYPES, type_of, value_of
from tablewright.ui.components import box, button, text
from tablewright.ui.forms import select
from tablewright.ui.texts import Texts

__all__ = ["ItemEditor"]

_LONG = 60


class ValueEditor:
    """One value: its type, and an editor of that type."""

    def __init__(self, t: Texts, value: AttributeValue, label: str, *, is_fixed: bool = False) -> None:
        self._t = t
        self._label = label
        self._is_fixed = is_fixed
        self._kind = type_of(value)
        self._text = ""
        # Name and editor; lists, since names change while they are typed.
        self._members: list[list[Any]] = []
        self._take(value)
        with box("st-edit-value"):
            if not is_fixed:
                select(TYPES, self._kind, self._change, label=t("studio.type_of", name=label)).classes("st-edit-type")
            self._place = box("st-edit-place")
        self._draw()

    def value(self) -> AttributeValue:
        """What was typed; ValueError says what is wrong with it."""
        kind = self._kind
        if kind == "M":
            return {"M": _named(self._members)}
        if kind == "L":
            return {"L": [each.value() for _, each in self._members]}
        if kind in ("SS", "NS", "BS"):
            members = [next(iter(each.value().values())) for _, each in self._members]
            if not members or len(set(members)) < len(members):
                raise ValueError(f"{self._label}: a set has members, and each of them once")
            return {kind: members}
        try:
            return value_of(self._text, kind)
        except ValueError as error:
            raise ValueError(f"{self._label}: {error}") from None

    def _take(self, value: AttributeValue) -> None:
        content = value[self._kind]
        if self._kind in ("S", "N", "B"):
            self._text = content
        elif self._kind == "BOOL":
            self._text = str(content).lower()
        # Members get their editors when they are drawn.
        self._content = content

    def _change(self, kind: str) -> None:
        self._kind = kind
        if kind == "BOOL" and self._text not in ("true", "false"):
            self._text = "false"
        self._content = {"M": {}, "L": [], "SS": [""], "NS": ["0"], "BS": [""]}.get(kind)
        self._draw()

    def _draw(self) -> None:
        self._place.clear()
        self._members = []
        kind = self._kind
        with self._place:
            if kind == "BOOL":
                select(
                    {"true": "true", "false": "false"},
                    self._text,
                    lambda chosen: setattr(self, "_text", chosen),
                    label=self._label,
                )
            elif kind == "NULL":
                text("null", "tw-mute tw-mono")
            elif kind in ("S", "N", "B"):
                self._draw_text()
            else:
                self._draw_members()

    def _draw_text(self) -> None:
        is_long = self._kind == "S" and (len(self._text) > _LONG or "\n" in self._text)
        made = ui.textarea(value=self._text) if is_long else ui.input(value=self._text)
        made.classes("tw-input").props(f'borderless dense aria-label="{self._label.replace(chr(34), chr(39))}"')
        if self._is_fixed:
            made.props("readonly")
        made.on_value_change(lambda event: setattr(self, "_text", event.value or ""))

    def _draw_members(self) -> None:
        content: Any = self._content
        pairs = list(content.items()) if self._kind == "M" else [("", each) for each in content]
        if self._kind in ("SS", "NS", "BS"):
            pairs = [("", {self._kind[0]: each}) for _, each in pairs]
        rows = box("st-edit-members")
        for name, value in pairs:
            self._add(rows, name, value)

        def add() -> None:
            self._add(rows, "", {self._kind[0]: ""} if self._kind in ("SS", "NS", "BS") else {"S": ""})

        button(self._t("studio.add_member"), add, icon_name="plus", small=True, kind="quiet")

    def _add(self, rows: ui.element, name: str, value: AttributeValue) -> None:
        is_set = self._kind in ("SS", "NS", "BS")
        member: list[Any] = [name, None]
        with rows, box("st-edit-member") as row:
            label = f"{self._label}.{name}" if name else f"{self._label}[{len(self._members)}]"
            if self._kind == "M":
                field = ui.input(value=name, placeholder=self._t("studio.name")).classes("tw-input st-edit-name")
                field.props(f'borderless dense aria-label="{self._t("studio.name")}"')
                field.on_value_change(lambda event: member.__setitem__(0, event.value or ""))
            editor = _Member if is_set else ValueEditor
            member[1] = editor(self._t, value, label)
            button(
                self._t("studio.remove"),
                lambda: self._remove(member, row),
                icon_name="close",
                only_icon=True,
                small=True,
                kind="quiet",
            )
        self._members.append(member)

    def _remove(self, member: list[Any], row: ui.element) -> None:
        self._members = [each for each in self._members if each is not member]
        row.delete()


class _Member(ValueEditor):
    """A member of a set: its type is that of the set."""

    def __init__(self, t: Texts, value: AttributeValue, label: str) -> None:
        self._t = t
        self._label = label
        self._is_fixed = False
        self._kind = type_of(value)
        self._members = []
        self._take(value)
        self._place = box("st-edit-place")
        self._draw()


class ItemEditor:
    """The attributes of an item; those that are ``fixed`` are shown and not changed."""

    def __init__(
        self, t: Texts, item: Item, fixed: Collection[str], on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._t = t
        self._members: list[list[Any]] = []
        self._rows = box("st-edit")
        for name, value in item.items():
            self._add(name, value, is_fixed=name in fixed)
        button(t("studio.add_attribute"), lambda: self._add("", {"S": ""}), icon_name="plus", small=True)

    def value(self) -> Item:
        """The item that was typed; ValueError says what is wrong."""
        return _named(self._members)

    def _add(self, name: str, value: AttributeValue, *, is_fixed: bool = False) -> None:
        member: list[Any] = [name, None]
        with self._rows, box("st-edit-attribute") as row:
            if is_fixed or name:
                text(name, "st-edit-label tw-mono")
            else:
                field = ui.input(placeholder=self._t("studio.name")).classes("tw-input st-edit-name")
                field.props(f'borderless dense aria-label="{self._t("studio.name")}"')
                field.on_value_change(lambda event: member.__setitem__(0, event.value or ""))
            member[1] = ValueEditor(self._t, value, name or self._t("studio.new_attribute"), is_fixed=is_fixed)
            if not is_fixed:
                button(
                    self._t("studio.remove"),
                    lambda: self._remove(member, row),
                    icon_name="trash",
                    only_icon=True,
                    small=True,
                    kind="quiet",
                )
        self._members.append(member)

    def _remove(self, member: list[Any], row: ui.element) -> None:
        self._members = [each for each in self._members if each is not member]
        row.delete()


def _named(members: Any) -> dict[str, AttributeValue]:
    names = [name for name, _ in members]
    if len(set(names)) < len(names) or "" in names:
        raise ValueError("every attribute has a name, and no two the same")
    return {name: each.value() for name, each in members}
