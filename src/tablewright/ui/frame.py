"""The frame of every screen: the rail with applications, the bar at the top, the content.

    rail    applications that the user may use, the start page, the APIs
    top     title, tabs, whether it is live, search, actions, the user
    content the view

It is drawn once for each browser tab; going to another view changes only what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nicegui import ui

from tablewright.ui.applications import Application, View
from tablewright.ui.components import avatar, box, icon, pill, set_attribute, text
from tablewright.ui.identity.session_cookie import Session
from tablewright.ui.markup import draw_markup
from tablewright.ui.texts import LANGUAGE_NAMES, Texts

__all__ = ["Columns", "Frame"]

_KEYS = (
    ("/", "shell.key_search"),
    ("j", "shell.key_next"),
    ("k", "shell.key_previous"),
    ("Enter", "shell.key_open"),
    ("Esc", "shell.key_back"),
    ("n", "shell.key_new"),
    ("Ctrl Enter", "shell.key_submit"),
    ("b", "shell.key_notices"),
    ("?", "shell.key_help"),
)


class Frame:
    """The frame of one browser tab."""

    # What keys do, for the help: the keys, and the text that says it.
    keys: Sequence[tuple[str, str]] = _KEYS

    def __init__(self, t: Texts, session: Session, root: str, applications: Sequence[Application]) -> None:
        self._t = t
        self._root = root
        self._items: dict[str, ui.element] = {}
        skip = box("tw-skip", "a", href="#tw-content")
        with skip:
            text(t("shell.skip"))
        with box("tw-frame"):
            self._draw_rail(applications)
            with box("tw-main"):
                with box("tw-top", "header"):
                    self._title = text("", "", "h1")
                    self._draw_place()
                    self._tabs = box("tw-tabs", "nav", aria_label=t("shell.views"))
                    self._live = text("", "tw-live")
                    self._live.set_visibility(False)
                    with box("tw-top-end"):
                        self._draw_search()
                        # What can be done on a view, drawn by the view.
                        self.actions = box("tw-row")
                        # For the bell.
                        self.notices = box()
                        self._draw_person(session)
                    box("tw-busy")
                self.content = box("tw-content", "main", id="tw-content", tabindex="-1")
        self._draw_help()

    def show(self, application: Application | None, title: str, views: Sequence[View], view: View | None) -> None:
        """Show which view is open."""
        name = "" if application is None else application.name
        for item_name, item in self._items.items():
            set_attribute(item, "aria-current", "page" if item_name == name else None)
        self._title.set_text(title)
        self._live.set_visibility(False)
        self.actions.clear()
        self._tabs.clear()
        tabs = [each for each in views if each.tab]
        # Without tabs it is no way anywhere.
        has_tabs = application is not None and len(tabs) > 1
        self._tabs.set_visibility(has_tabs)
        if application is not None and has_tabs:
            with self._tabs:
                for each in tabs:
                    path = f"{self._root}/{application.name}{each.paths[0]}".rstrip("/")
                    current = "page" if each is view else None
                    tab = box("tw-tab", "a", href=path, data_go=True, aria_current=current)
                    draw_markup(tab, partial(text, self._t(each.title)))

    def show_live(self, is_live: bool) -> None:
        self._live.set_text(self._t("shell.live" if is_live else "shell.not_live"))
        set_attribute(self._live, "data-state", "on" if is_live else "off")
        self._live.set_visibility(True)

    def _draw_rail(self, applications: Sequence[Application]) -> None:
        with box("tw-rail", "nav", aria_label=self._t("shell.applications")):
            logo = box("tw-logo", "a", href=f"{self._root}/", data_go=True, aria_label=self._t("shell.start"))
            draw_markup(logo, lambda: text("T", aria_hidden="true"))
            self._rail_item("", "home", self._t("shell.start"), f"{self._root}/")
            for each in applications:
                if each.name != "runtime":
                    self._rail_item(each.name, each.icon, self._t(each.title), f"{self._root}/{each.name}")
            box("tw-rail-space")
            for each in applications:
                if each.name == "runtime":
                    self._rail_item(each.name, each.icon, self._t(each.title), f"{self._root}/{each.name}")
            label = self._t("shell.apis")
            draw_markup(box("tw-rail-item", "a", href="/api", aria_label=label), lambda: _rail_content("code", label))

    def _draw_place(self) -> None:
        """Beside the title; the studio says there what it looks at."""

    def _rail_item(self, name: str, icon_name: str, label: str, path: str) -> None:
        item = self._items[name] = box("tw-rail-item", "a", href=path, data_go=True, aria_label=label)
        draw_markup(item, lambda: _rail_content(icon_name, label))

    @property
    def search_label(self) -> str:
        return self._t("shell.search")

    def _draw_search(self) -> None:
        label = self.search_label
        with box("tw-search", "form", role="search"):
            # It has no value of its own here: what is typed is the browser's.
            box(
                "",
                "input",
                type="search",
                name="q",
                placeholder=label,
                aria_label=label,
                autocomplete="off",
                maxlength=200,
            )
            icon("search")
            text("/", "", "kbd", aria_hidden="true")

    def _draw_person(self, session: Session) -> None:
        """The menu of the person; the browser's script presses what is chosen in it (``shell.js``)."""
        draw_markup(box("tw-menu", "details"), lambda: self._draw_menu(session))

    def _draw_menu(self, session: Session) -> None:
        t, caller = self._t, session.caller
        with box("", "summary", aria_label=t("shell.you")):
            avatar(session.name, large=True)
        with box("tw-menu-panel"):
            with box("tw-menu-head"):
                avatar(session.name, large=True)
                with box("tw-stack-tight"):
                    text(session.name, "tw-strong")
                    if caller.email:
                        text(caller.email, "tw-mute tw-small")
                    with box("tw-row tw-wrap").style("gap: 4px"):
                        for role in sorted(caller.roles):
                            pill(role)
            text(t("shell.theme"), "tw-menu-label", "div")
            with box("tw-menu-group"):
                for choice in ("light", "dark", "auto"):
                    with box("tw-choice", "button", type="button", data_theme_choice=choice):
                        text(t(f"shell.{choice}"))
            text(t("shell.language"), "tw-menu-label", "div")
            with box("tw-menu-group"):
                for language in LANGUAGE_NAMES:
                    pressed = str(language == t.language).lower()
                    with box(
                        "tw-choice",
                        "button",
                        type="button",
                        data_language_choice=language,
                        aria_pressed=pressed,
                        lang=language,
                    ):
                        text(LANGUAGE_NAMES[language])
            with box("tw-menu-item", "button", type="button", data_help=True):
                icon("help")
                text(t("shell.help"))
            with box("tw-menu-item", "a", href="/api"):
                icon("code")
                text(t("shell.apis"))
            with (
                box("", "form", method="post", action=f"{self._root}/sign-out"),
                box("tw-menu-item", "button", type="submit"),
            ):
                icon("sign-out")
                text(t("shell.sign_out"))

    def _draw_help(self) -> None:
        draw_markup(box("tw-dialog tw-help", "dialog", aria_label=self._t("shell.help")), self._draw_keys)

    def _draw_keys(self) -> None:
        t = self._t
        text(t("shell.help"), "", "h2")
        with box("tw-keys"):
            for key, about in self.keys:
                with box("tw-row", "span"):
                    for part in key.split():
                        text(part, "", "kbd")
                text(t(about))
        with box("tw-form-foot", "form", method="dialog"), box("tw-btn", "button", type="submit"):
            text(t("shell.close"))


def _rail_content(icon_name: str, label: str) -> None:
    icon(icon_name)
    text(label, "tw-rail-name", aria_hidden="true")


class Columns:
    """The list, the thing and its context, side by side; on a phone one of them, with a back button."""

    def __init__(self, t: Texts, list_path: str) -> None:
        self._t = t
        self._list_path = list_path
        with box("tw-columns") as self.outer:
            self.list = box("tw-col-list", "section", aria_label=t("shell.list"))
            self.thing = box("tw-col-thing", "section")
            self.context = box("tw-col-context", "aside", aria_label=t("shell.open"))

    def show(self, column: str) -> None:
        """Which column a phone shows: ``list`` or ``thing``."""
        set_attribute(self.outer, "data-open", column)

    def back(self) -> None:
        """Draw the button back to the list, which is shown on a phone; Esc presses it."""
        with box(
            "tw-btn tw-btn-icon tw-btn-small tw-back", "a", href=self._list_path, data_go=True, data_back=True
        ) as made:
            made.props["aria-label"] = self._t("shell.back")
            icon("back")
