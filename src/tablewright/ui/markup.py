"""Markup: what does not change by itself, such as a row of a list, as HTML in one element.

    made = box(role="listitem")
    draw_markup(made, lambda: draw_row(task))

A list of a hundred rows is some two thousand elements, each of which the server keeps, sends and remembers, and the
browser makes and looks at again with every change of the page. So what is drawn inside of ``draw_markup`` by ``box``,
``text`` and all that is made of them becomes one text of HTML. It takes what rows need: children, attributes, styles.
What has a handler, or changes by itself, is an element of its own and cannot be in it. Text is text, whatever is in it:
everything is escaped here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from html import escape
from typing import Any

from nicegui import ui

__all__ = ["Markup", "draw_markup", "open_markup"]

_VOID = frozenset({"br", "hr", "img", "input"})

_open: ContextVar[Markup | None] = ContextVar("tablewright_markup", default=None)


class Markup:
    """An element as HTML, with what rows do to elements."""

    __slots__ = ("_children", "_classes", "_content", "_styles", "_tag", "_token", "props")

    def __init__(self, tag: str, classes: str = "", *, text: str = "", trusted_html: str = "") -> None:
        """``trusted_html`` is put in as it is, such as an icon; never a value."""
        self._tag = tag
        self._classes = classes
        self._styles: list[str] = []
        self._content = trusted_html or escape(text, quote=False)
        self._children: list[Markup] = []
        self._token: Token[Markup | None] | None = None
        self.props: dict[str, Any] = {}
        outer = _open.get()
        if outer is not None:
            outer._children.append(self)

    def __enter__(self) -> Markup:
        self._token = _open.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _open.reset(self._token)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"markup has no {name}: draw what changes, or has a handler, as an element of its own")

    def style(self, style: str) -> Markup:
        self._styles.append(style)
        return self

    def html(self) -> str:
        parts: list[str] = []
        self._render(parts)
        return "".join(parts)

    def inner_html(self) -> str:
        parts = [self._content]
        for child in self._children:
            child._render(parts)
        return "".join(parts)

    def _render(self, parts: list[str]) -> None:
        parts.append(f"<{self._tag}")
        classes = " ".join(self._classes.split())
        if classes:
            parts.append(f' class="{escape(classes)}"')
        if self._styles:
            parts.append(f' style="{escape("; ".join(self._styles))}"')
        for name, value in self.props.items():
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            parts.append(f' {name}="{escape(shown)}"')
        parts.append(">")
        if self._tag not in _VOID:
            parts.append(self._content)
            for child in self._children:
                child._render(parts)
            parts.append(f"</{self._tag}>")


def open_markup() -> Markup | None:
    """What is being drawn as HTML, if something is."""
    return _open.get()


def draw_markup(element: ui.element, draw: Callable[[], object]) -> None:
    """Have an element show what is drawn, in place of what it showed; it has no elements in it."""
    if isinstance(element, Markup):
        with element:
            draw()
        return
    token = _open.set(None)
    try:
        with Markup("div") as root:
            draw()
    finally:
        _open.reset(token)
    element.props["innerHTML"] = root.inner_html()
