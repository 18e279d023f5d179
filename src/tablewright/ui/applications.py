"""Applications: their screens, the addresses of these, and who may see them.

    app = Application("tasks", icon="tasks", texts=texts)

    @app.view("/board", title="tasks.board", tab=True, needs=["list_tasks"])
    async def board(page: Page) -> None: ...

    @app.view("/list", "/list/{task_id}", title="tasks.list", tab=True)
    async def task_list(page: Page, task_id: str = "") -> None: ...

A view is a function that draws; its addresses are below ``/app/<name>``. It is offered to users who may make the calls
that it ``needs``, by the same declarations that authorise the calls themselves. This module does not depend on how
screens are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote

from tablewright.runtime import Call, Caller, allowed
from tablewright.ui.texts import Catalogue

__all__ = ["Application", "Calls", "Thing", "View", "Waiting"]

Build = Callable[..., Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Thing:
    """One of the things that need a user's attention."""

    text: str
    path: str
    # Another one makes a new notice of it: the day it was assigned, how many comments it has.
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Things that need a user's attention, for the start page and the bell: how many, and where to find them."""

    text: str
    count: int
    path: str
    tone: Literal["neutral", "info", "good", "warn", "bad", "violet"] = "neutral"
    # The start page shows the first few.
    things: Sequence[Thing] = ()
    # Whether they are this person's own, so that the bell tells of each.
    notifies: bool = False
    # Ids of the things whose changes may change this, for `Application.concerns`.
    watched: Collection[str] = ()
    # When this changes by itself, because time goes on.
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A screen: the paths that lead to it, and the function that draws it."""

    paths: tuple[str, ...]
    title: str
    tab: bool
    needs: tuple[str, ...]
    build: Build
    _patterns: tuple[re.Pattern[str], ...] = field(repr=False, default=())

    def match(self, path: str) -> dict[str, str] | None:
        """The values in a path, if it leads here."""
        for pattern in self._patterns:
            found = pattern.fullmatch(path)
            if found is not None:
                return {name: unquote(value) for name, value in found.groupdict().items()}
        return None


class Application:
    """The screens of a system, or of something else, such as the runtime."""

    def __init__(self, name: str, *, title: str, icon: str, texts: Catalogue) -> None:
        """``name`` is that of the system whose calls the screens make, ``title`` the key of a text."""
        self.name = name
        self.title = title
        self.icon = icon
        self.texts = texts
        self.views: list[View] = []
        # Pending work, for the start page and the bell.
        self.waiting: Callable[..., Awaitable[Sequence[Waiting]]] | None = None
        # Whether a change may affect a person's pending work, given the page, the ids that `waiting` watched last, and
        # the entity before and after. Called for each page and change, so it reads nothing. None: every change may.
        self.concerns: Callable[..., bool] | None = None
        # The thing with an id that another person wrote about, for the bell; Refused if the user may not see it.
        self.thing_of: Callable[..., Awaitable[Thing]] | None = None
        # Where results of the system's call `search` lead, by their kind: {"task": "/list/{task_id}"}. Of several
        # paths, the first whose view the user may see is used.
        self.search: Mapping[str, str | Sequence[str]] = {}

    def view(self, *paths: str, title: str, tab: bool = False, needs: Iterable[str] = ()) -> Callable[[Build], Build]:
        """Register a function as a view: ``tab`` puts it into the bar at the top, ``needs`` are names of calls."""
        if not paths or not all(path.startswith("/") for path in paths):
            raise ValueError("a view needs a path that starts with a slash")

        def add(build: Build) -> Build:
            patterns = tuple(re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))) for path in paths)
            self.views.append(View(paths, title, tab, tuple(needs), build, patterns))
            return build

        return add

    def find(self, path: str) -> tuple[View, dict[str, str]] | None:
        """The view that a path leads to, and the values in the path."""
        for view in self.views:
            found = view.match(path)
            if found is not None:
                return view, found
        return None


class Calls:
    """The calls of one system by name, and who may make them."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._calls: Mapping[str, Call] = {call.name: call for call in calls}

    def __getitem__(self, name: str) -> Call:
        return self._calls[name]

    def has(self, name: str) -> bool:
        return name in self._calls

    def may(self, caller: Caller, *names: str) -> bool:
        """Whether a user may make all of some calls; an unknown name is an error."""
        return all(allowed(caller, self._calls[name]) for name in names)

    def may_any(self, caller: Caller) -> bool:
        """Whether there is a call that is not open to all, and that a user may make."""
        return any(allowed(caller, call) for call in self._calls.values() if not call.is_open)

    def views_of(self, application: Application, caller: Caller) -> list[View]:
        """The views that are offered to a user, in order; the addresses of others are refused too."""
        return [view for view in application.views if self.may(caller, *view.needs)]


def check(application: Application, calls: Calls, texts: Mapping[str, Any]) -> None:
    """Check that what a view names exists: an error when the process starts, not when the view is opened."""
    for key in (application.title, *(view.title for view in application.views)):
        if key not in texts:
            raise ValueError(f"{application.name}: there is no text {key}")
    if application.search and not calls.has("search"):
        raise ValueError(f"{application.name}: it links the results of a search, but there is no call search")
    for view in application.views:
        for name in view.needs:
            try:
                calls[name]
            except KeyError:
                raise ValueError(
                    f"{application.name}: {view.paths[0]} needs the call {name}, which does not exist"
                ) from None
