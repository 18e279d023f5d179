"""Markup: static content, such as a row of a list, as HTML in one element.

    made = box(role="listitem")
    draw_markup(made, lambda: draw_row(task))

A list of a hundred rows is some two thousand elements, each of which the server stores and sends, and the browser
creates and checks again with every change of the page. So everything that ``box``, ``text`` and functions built on them
draw inside of ``draw_markup`` becomes one string of HTML. It supports what rows need: children, attributes, styles. An
element that has a handler, or changes on its own, cannot be part of it. All text is escaped here.
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
    """An element as HTML, with the methods that rows use."""

    __slots__ = ("_children", "_classes", "_content", "_styles", "_tag", "_token", "props")

    def __init__(self, tag: str, classes: str = "", *, text: str = "", trusted_html: str = "") -> None:
        """``trusted_html``, such as an icon, is inserted unescaped; never pass a value."""
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
        raise AttributeError(
            f"markup has no {name}: draw content that changes or has a handler as an element of its own"
        )

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
    """The HTML element that is being drawn, if any."""
    return _open.get()


def draw_markup(element: ui.element, draw: Callable[[], object]) -> None:
    """Replace the content of an element, which has no child elements, with what is drawn."""
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
