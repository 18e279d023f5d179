"""The frame of the studio: views and tables at the side, the bar at the top, the content.

On a phone the views are a bar at the bottom, and tables are listed in their view.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from urllib.parse import quote

from tablewright.studio.studio_database import StudioDatabase
from tablewright.studio.studio_view import StudioView
from tablewright.ui.applications import Application, View
from tablewright.ui.components import box, icon, pill, set_attribute, text
from tablewright.ui.frame import Frame
from tablewright.ui.identity.session_cookie import Session
from tablewright.ui.texts import LANGUAGES, Texts

__all__ = ["StudioFrame"]

_LANGUAGE_NAMES = {"en": "English", "it": "Italiano"}


_KEYS = (
    ("/", "studio.key_go_to"),
    ("j", "shell.key_next"),
    ("k", "shell.key_previous"),
    ("Enter", "shell.key_open"),
    ("Esc", "shell.key_back"),
    ("]", "studio.key_next_page"),
    ("[", "studio.key_previous_page"),
    ("Home", "studio.first_page"),
    ("w", "studio.key_conditions"),
    ("n", "studio.key_new"),
    ("e", "studio.key_edit"),
    ("d", "studio.key_duplicate"),
    ("Delete", "studio.key_delete"),
    ("x", "studio.key_choose"),
    ("E", "studio.key_edit_many"),
    ("Ctrl Enter", "studio.key_run"),
    ("?", "shell.key_help"),
)


class StudioFrame(Frame):
    """The frame of one browser tab of the studio."""

    def __init__(
        self, t: Texts, session: Session, root: str, database: StudioDatabase, views: Sequence[StudioView]
    ) -> None:
        self._database = database
        self._views = views
        self._table = ""
        self._tables: list[str] = []
        keys = [*_KEYS, *((f"g {view.key}", view.title) for view in views)]
        # In two columns, one after the other.
        half = (len(keys) + 1) // 2
        self.keys = [each for pair in zip_longest(keys[:half], keys[half:]) for each in pair if each is not None]
        super().__init__(t, session, root, ())

    def show(self, application: Application | None, title: str, views: Sequence[View], view: View | None) -> None:
        super().show(application, self._t("studio.title") if view is None else self._t(view.title), (), view)
        for each in self._views:
            is_open = view is not None and view.title == each.title
            set_attribute(self._items[each.title], "aria-current", "page" if is_open else None)
        self._side_tables.client.run_javascript("st.showView()")

    def show_tables(self, tables: Sequence[str], table: str) -> None:
        """List the tables, and mark the one that the views are about."""
        if (list(tables), table) == (self._tables, self._table):
            return
        self._tables, self._table = list(tables), table
        for view in self._views:
            set_attribute(self._items[view.title], "href", self._root + view.path_of(table))
        self._side_tables.clear()
        with self._side_tables:
            for name in tables:
                current = "true" if name == table else None
                href = f"{self._root}/tables/{quote(name, safe='')}"
                with box("st-side-item", "a", href=href, data_go=True, aria_current=current, title=name):
                    icon("database")
                    text(name, "tw-clip")

    def _draw_rail(self, applications: Sequence[Application]) -> None:
        t = self._t
        with box("st-side", "nav", aria_label=t("studio.views")):
            with box("st-side-head", "a", href=f"{self._root}/", data_go=True):
                text("T", "tw-logo", aria_hidden="true")
                text(t("studio.title"), "tw-strong")
            text(t("studio.views"), "tw-section-title st-side-title", "div")
            for view in self._views:
                href = self._root + view.path_of("")
                with box("st-side-item st-side-view", "a", href=href, data_go=True, data_goto=view.key) as item:
                    item.props["title"] = f"{t(view.title)} (g {view.key})"
                    icon(view.icon)
                    text(t(view.title), "tw-clip")
                self._items[view.title] = item
            text(t("studio.tables"), "tw-section-title st-side-title st-side-tables", "div")
            self._side_tables = box("st-side-tables st-side-scroll")

    def _draw_place(self) -> None:
        """What is looked at, and whether it may be changed: always in sight."""
        with box("tw-row st-where"):
            text(self._database.name, "st-place tw-mono tw-clip", title=self._database.name)
            if self._database.may_write:
                pill(self._t("studio.writable"), "warn")
            else:
                pill(self._t("studio.read_only"), "good")

    @property
    def search_label(self) -> str:
        return self._t("studio.go_to")

    def _draw_person(self, session: Session) -> None:
        t = self._t
        with box("tw-menu", "details"):
            with box("tw-btn tw-btn-icon", "summary", aria_label=t("studio.settings")):
                icon("settings")
            with box("tw-menu-panel"):
                self._draw_choices("shell.theme", "theme", ("light", "dark", "auto"))
                self._draw_choices("shell.language", "language", LANGUAGES)
                with box("tw-menu-item", "a", href=f"{self._root}/writes", data_go=True):
                    icon("list")
                    text(t("studio.writes"))
                with box("tw-menu-item", "button", type="button", data_help=True):
                    icon("help")
                    text(t("shell.help"))
                with (
                    box("", "form", method="post", action=f"{self._root}/sign-out"),
                    box("tw-menu-item", "button", type="submit"),
                ):
                    icon("sign-out")
                    text(t("shell.sign_out"))

    def _draw_choices(self, label: str, name: str, choices: Sequence[str]) -> None:
        text(self._t(label), "tw-menu-label", "div")
        with box("tw-menu-group"):
            for choice in choices:
                with box("tw-choice", "button", type="button") as made:
                    made.props[f"data-{name}-choice"] = choice
                    if name == "language":
                        made.props["aria-pressed"] = str(choice == self._t.language).lower()
                    text(_LANGUAGE_NAMES.get(choice) or self._t(f"shell.{choice}"))
