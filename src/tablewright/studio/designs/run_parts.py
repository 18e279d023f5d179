"""Parts for drawing runs of patterns and writes: their requests, their units, and earlier runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from typing import Protocol, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

import orjson
from nicegui import Client, ui

from tablewright.model import Design
from tablewright.studio.designs.pattern_runs import RecordedRequest
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block, units_text
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Tone, banner, box, fact, icon, pill, section, text
from tablewright.ui.texts import Texts

__all__ = ["back_to_list", "draw_history", "draw_requests", "draw_units", "outcome", "remember", "run_address"]

_KEPT = 30
_SHOWN = 12
_T = TypeVar("_T")


class Run(Protocol):
    """A pattern or a write that was run."""

    call: str
    milliseconds: float
    requests: list[RecordedRequest]

    @property
    def units(self) -> float: ...


# What was run in a browser tab, the last first: its address with it.
_history: WeakKeyDictionary[Client, deque[tuple[Run, str]]] = WeakKeyDictionary()


def back_to_list(page: StudioPage) -> None:
    """The button back to the list, which is shown on a phone; Esc presses it."""
    classes = "tw-btn tw-btn-icon tw-btn-small tw-back"
    with box(classes, "a", href=page.path("/patterns"), data_go=True, data_back=True) as made:
        made.props["aria-label"] = page.t("shell.back")
        icon("back")


def run_address(page: StudioPage, design: Design, name: str, **values: str) -> str:
    """The address of a pattern or a write, with the typed values."""
    return page.path(f"/patterns/{quote(design.name, safe='')}/{quote(name, safe='')}", **values)


async def outcome(work: Awaitable[_T], place: ui.element) -> _T | None:
    """The result of a run; None if it is refused, and then the error is shown in its place.

    Errors of single fields are raised: the form shows them at the fields.
    """
    try:
        return await work
    except Refused as error:
        place.clear()
        if error.fields:
            raise
        with place:
            banner(error.detail, "bad")
        return None


def remember(page: StudioPage, run: Run, address: str) -> None:
    _history.setdefault(page.client, deque(maxlen=_KEPT)).appendleft((run, address))


def draw_units(t: Texts, units: float, planned: float) -> None:
    """The consumed units compared with those that the design plans, as a fact."""
    tone: Tone = "good" if units <= planned else "warn"
    words = t("designs.units_against", units=units_text(units), planned=units_text(planned))
    fact(t("designs.units"), lambda: pill(words, tone))


def draw_requests(page: StudioPage, run: Run) -> None:
    """The Python call, and every request that it made."""
    t = page.t
    with section(t("designs.as_python")):
        code_block(run.call, t)
    with section(t.count("designs.requests", len(run.requests))):
        for each in run.requests[:_SHOWN]:
            body = orjson.dumps(each.body, option=orjson.OPT_INDENT_2).decode()
            code_block(f"{each.operation} {body}", t)


def draw_history(page: StudioPage) -> None:
    """Earlier runs, with addresses that include the typed values."""
    t = page.t
    before = list(_history.get(page.client, ()))[1:]
    if not before:
        return
    with section(t("designs.history")), box("tw-stack-tight"):
        for run, address in before:
            with box("tw-row"):
                with box("tw-link tw-mono tw-clip", "a", href=address, data_go=True):
                    text(run.call.partition("(")[2].rstrip(")"))
                text(f"{units_text(run.units)} · {run.milliseconds:.0f} ms", "tw-mute tw-small")
