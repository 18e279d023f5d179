"""Parts of screens: text, buttons, pills, avatars, cards, facts, menus, tables, and empty, failed and loading states.

    with card(t("tasks.people")):
        pill(t("tasks.HIGH"), "bad")
        button(t("tasks.assign"), assign, kind="primary", icon="plus")

Everything is a plain element with the classes of ``static/design.css``; text is always escaped. An exception of a
button's handler is shown (``feedback.guarded``), and the button is disabled while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Generic, Literal, TypeVar, cast
from zlib import crc32

from nicegui import ui

from tablewright.ui.feedback import Handler, guarded
from tablewright.ui.icons import icon_svg
from tablewright.ui.markup import Markup, draw_markup, open_markup
from tablewright.ui.texts import Texts

__all__ = [
    "Column",
    "Tone",
    "avatar",
    "avatars",
    "banner",
    "box",
    "button",
    "card",
    "empty",
    "fact",
    "facts",
    "failed",
    "figure",
    "icon",
    "link",
    "link_button",
    "loading",
    "menu",
    "menu_item",
    "meter",
    "pill",
    "section",
    "set_attribute",
    "tab_link",
    "table",
    "text",
    "time",
]

T = TypeVar("T")
Tone = Literal["neutral", "info", "good", "warn", "bad", "violet"]
Kind = Literal["plain", "primary", "danger", "quiet"]


def box(classes: str = "", tag: str = "div", **attributes: Any) -> ui.element:
    """An element that contains others; attributes as in HTML, with ``_`` for ``-`` (``aria_label``)."""
    # Markup does what rows do with an element (``markup``).
    made = cast(ui.element, Markup(tag, classes)) if open_markup() else ui.element(tag).classes(classes)
    for name, value in attributes.items():
        if value is not None and value is not False:
            made.props[name.strip("_").replace("_", "-")] = value
    return made


def set_attribute(element: ui.element, name: str, value: Any) -> None:
    """Change an attribute of an element that is shown; None removes it."""
    if element.props.get(name) == value:
        return
    if value is None:
        element.props.pop(name, None)
    else:
        element.props[name] = value
    element.update()


def text(content: object, classes: str = "", tag: str = "span", **attributes: Any) -> ui.label:
    """Text, never HTML; ``.set_text`` changes it."""
    if open_markup():
        made = cast(ui.label, Markup(tag, classes, text=str(content)))
    else:
        made = ui.label(str(content)).classes(classes)
        made.tag = tag
    for name, value in attributes.items():
        made.props[name.strip("_").replace("_", "-")] = value
    return made


def icon(name: str, classes: str = "") -> ui.element:
    if open_markup():
        return cast(ui.element, Markup("span", f"tw-i {classes}", trusted_html=icon_svg(name)))
    made = ui.element("span").classes(f"tw-i {classes}")
    made.props["innerHTML"] = icon_svg(name)
    return made


def button(
    label: str,
    on_click: Handler,
    *,
    kind: Kind = "plain",
    icon_name: str | None = None,
    small: bool = False,
    only_icon: bool = False,
    key: str | None = None,
    classes: str = "",
    **attributes: Any,
) -> ui.element:
    """A button; with ``only_icon``, the label is for screen readers only; ``key`` is a keyboard shortcut."""
    made = box(_button_classes(kind, small, only_icon, classes), "button", type="button", **attributes)
    if only_icon:
        made.props["aria-label"] = made.props["title"] = label
    if key is not None:
        made.props["data-key"] = key
    draw_markup(made, lambda: _button_content(label, icon_name, only_icon))
    made.on("click", guarded(on_click, made), [])
    return made


def link_button(
    label: str, path: str, *, kind: Kind = "plain", icon_name: str | None = None, small: bool = False, **attributes: Any
) -> ui.element:
    """A link that looks like a button."""
    made = box(_button_classes(kind, small, False, ""), "a", href=path, data_go=True, **attributes)
    draw_markup(made, lambda: _button_content(label, icon_name, False))
    return made


def _button_classes(kind: Kind, small: bool, only_icon: bool, more: str) -> str:
    names = ["tw-btn", f"tw-btn-{kind}", more]
    return " ".join([*names, *(["tw-btn-small"] if small else []), *(["tw-btn-icon"] if only_icon else [])])


def _button_content(label: str, icon_name: str | None, only_icon: bool) -> None:
    if icon_name is not None:
        icon(icon_name)
    if not only_icon:
        text(label, "tw-btn-label" if icon_name is not None else "")


def link(label: str, path: str, classes: str = "tw-link") -> ui.element:
    """A link to another view; ``path`` begins with ``/app/``."""
    made = box(classes, "a", href=path, data_go=True)
    draw_markup(made, lambda: text(label))
    return made


def tab_link(label: str, path: str, *, is_current: bool) -> ui.element:
    """One of the tabs above a list or a panel (``tw-list-tabs``), which have addresses of their own."""
    made = box("tw-list-tab", "a", href=path, data_go=True, aria_current="page" if is_current else None)
    draw_markup(made, lambda: text(label))
    return made


def pill(label: str, tone: Tone = "neutral", icon_name: str | None = None) -> ui.element:
    """A status: a colour and a word, never the colour alone."""
    made = box(f"tw-pill tw-tone-{tone}", "span")
    draw_markup(made, lambda: _label(label, icon_name))
    return made


def _label(label: str, icon_name: str | None) -> None:
    if icon_name is not None:
        icon(icon_name)
    text(label)


def avatar(name: str, *, large: bool = False) -> ui.element:
    """A person's initials, in a colour that is always the same for them."""
    words = [
        word for word in name.replace("@", " ").replace(".", " ").replace("-", " ").replace("_", " ").split() if word
    ]
    initials = (words[0][0] + words[1][0] if len(words) > 1 else (words[0][:2] if words else "?")).upper()
    tone = crc32(name.encode("utf-8", "replace")) % 6
    made = box(f"tw-avatar tw-avatar-{tone} {'tw-avatar-large' if large else ''}", "span", title=name)

    def draw() -> None:
        text(initials, aria_hidden="true")
        text(name, "tw-hidden")

    draw_markup(made, draw)
    return made


def avatars(names: Sequence[str], most: int = 3) -> ui.element:
    """Some people, side by side, and the number of others if there are more."""
    made = box("tw-avatars", "span")

    def draw() -> None:
        for name in names[:most]:
            avatar(name)
        if len(names) > most:
            text(f"+{len(names) - most}", "tw-avatar tw-avatar-5", title=", ".join(names[most:]))

    draw_markup(made, draw)
    return made


def time(t: Texts, value: datetime | None, classes: str = "tw-mute tw-small") -> ui.label:
    """A time in everyday form; in full as a tooltip."""
    return text("" if value is None else t.ago(value), classes, "time", title="" if value is None else t.exact(value))


@contextmanager
def card(title: str | None = None, classes: str = "") -> Iterator[ui.element]:
    """A card; its content is drawn below its title."""
    with box(f"tw-card {classes}", "section") as made:
        if title is not None:
            with box("tw-card-head"):
                text(title, "", "h2")
        yield made


@contextmanager
def section(title: str) -> Iterator[ui.element]:
    """A part of a context column."""
    with box("tw-stack", "section") as made:
        text(title, "tw-section-title", "h3")
        yield made


@contextmanager
def facts() -> Iterator[ui.element]:
    """Names and values of a thing: ``with facts(): fact("Priority", lambda: pill(...))``."""
    with box("tw-facts", "dl") as made:
        yield made


def fact(name: str, value: str | Callable[[], object]) -> None:
    text(name, "", "dt")
    with box("", "dd"):
        if callable(value):
            value()
        else:
            text(value)


def figure(label: str, value: str, note: str = "", tone: Tone = "neutral") -> ui.element:
    """A key figure, in a card of its own."""
    with card() as made, box("tw-stack-tight"):
        text(label, "tw-mute")
        text(value, "tw-figure")
        if note:
            with box("tw-row"):
                pill(note, tone)
    return made


def meter(part: float, label: str, tone: Tone = "info") -> ui.element:
    """How much of something is done, or used: ``part`` is between 0 and 1."""
    percent = round(100 * min(1.0, max(0.0, part)))
    made = box(
        f"tw-meter tw-meter-{tone}",
        role="progressbar",
        aria_label=label,
        aria_valuenow=percent,
        aria_valuemin=0,
        aria_valuemax=100,
    )
    with made:
        box().style(f"width: {percent}%")
    return made


@contextmanager
def menu(label: str, icon_name: str = "more", classes: str = "tw-btn tw-btn-icon") -> Iterator[ui.element]:
    """A menu behind a button; it closes automatically."""
    with box("tw-menu", "details"):
        with box(classes, "summary", aria_label=label, title=label):
            icon(icon_name)
        with box("tw-menu-panel") as panel:
            yield panel


def menu_item(label: str, on_click: Handler, icon_name: str | None = None) -> ui.element:
    made = box("tw-menu-item", "button", type="button")
    draw_markup(made, lambda: _label(label, icon_name))
    made.on("click", guarded(on_click, made), [])
    return made


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table: its title, and what it shows of a row, as text or drawn.

    ``controls`` if it has buttons or fields.
    """

    title: str
    show: Callable[[T], object]
    end: bool = False
    controls: bool = False


def table(
    columns: Sequence[Column[T]], rows: Sequence[T], *, caption: str, path: Callable[[T], str] | None = None
) -> ui.element:
    """A table of rows that fit on a page; on a phone each row is a card. ``path`` makes a link of the first column."""
    with box("tw-table-box") as made, box("tw-table tw-table-cards", "table"):
        text(caption, "tw-hidden", "caption")
        draw_markup(box("", "thead"), lambda: _head(columns))
        with box("", "tbody"):
            for row in rows:
                with box("", "tr"):
                    for number, column in enumerate(columns):
                        cell = box("tw-end tw-num" if column.end else "", "td", data_label=column.title)
                        leads_to = path(row) if number == 0 and path is not None else None
                        if column.controls:
                            with cell:
                                _cell(column, row, leads_to)
                        else:
                            draw_markup(cell, partial(_cell, column, row, leads_to))
    return made


def _head(columns: Sequence[Column[Any]]) -> None:
    with box("", "tr"):
        for column in columns:
            if column.title:
                text(column.title, "tw-end" if column.end else "", "th", scope="col")
            else:
                box("", "td")


def _cell(column: Column[T], row: T, path: str | None) -> None:
    if path is None:
        _shown(column, row)
    else:
        with box("tw-link", "a", href=path, data_go=True, data_row=True):
            _shown(column, row)


def _shown(column: Column[T], row: T) -> None:
    # What draws itself returns its element, which is there already.
    found = column.show(row)
    if not isinstance(found, ui.element | Markup):
        text("" if found is None else found)


def banner(message: str, tone: Literal["info", "warn", "bad"] = "info") -> ui.element:
    with box(f"tw-banner tw-banner-{tone}", role="status") as made:
        icon("alert" if tone != "info" else "help")
        text(message)
    return made


def empty(
    title: str, about: str = "", icon_name: str = "inbox", action: Callable[[], object] | None = None
) -> ui.element:
    """An empty state: what would be here, and what to do."""
    with box("tw-state") as made:
        with box("tw-state-icon"):
            icon(icon_name)
        text(title, "tw-state-title", "p")
        if about:
            text(about, "", "p")
        if action is not None:
            action()
    return made


def failed(title: str, about: str, retry: tuple[str, Handler] | None = None) -> ui.element:
    """A failed state: why something could not be shown, and how to try again."""
    with box("tw-state tw-state-bad", role="alert") as made:
        with box("tw-state-icon"):
            icon("alert")
        text(title, "tw-state-title", "p")
        text(about, "", "p")
        if retry is not None:
            button(retry[0], retry[1], icon_name="refresh")
    return made


def loading(rows: int = 4) -> ui.element:
    """A placeholder for content that is loading."""
    widths = ("72%", "48%", "86%", "60%", "38%")
    made = box("tw-body", aria_busy="true")

    def draw() -> None:
        for number in range(rows):
            with box("tw-stack-tight"):
                box("tw-skeleton").style(f"width: {widths[number % 5]}")
                box("tw-skeleton").style(f"width: {widths[(number + 2) % 5]}; opacity: .6")

    draw_markup(made, draw)
    return made
