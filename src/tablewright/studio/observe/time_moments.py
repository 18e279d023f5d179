"""The moments of the view of time: the one that is shown, and the later one that it is compared with.

    as of  2026-11-18 09:00:00 UTC   -1 day -1 h -1 min +1 min ...      compared with  now   [Another time]
    ├──────────●──────────────────────────────────────────────────┤

A moment is chosen by typing, a slider or steps; each choice has its own address, and so is a state of the view.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from tablewright.studio.observe.past_reads import exact_time, moment_in
from tablewright.studio.studio_page import StudioPage
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, link_button, pill, text
from tablewright.ui.feedback import guarded

__all__ = ["Moments", "moment_input", "moment_of"]

_STEPS = (
    *(("observe.day_back", -86_400.0), ("observe.hour_back", -3600.0), ("observe.minute_back", -60.0)),
    *(("observe.minute_on", 60.0), ("observe.hour_on", 3600.0), ("observe.day_on", 86_400.0)),
)
# What a view that names no moment is of: so long ago.
_AGO = 3600.0
_UTC = " UTC"
# The part before the thumb, while it is moved.
_FOLLOW = "this.style.setProperty('--part', 100 * (this.value - this.min) / (this.max - this.min) + '%')"


def moment_of(typed: str) -> float:
    """Parse a time in UTC; ValueError if it is not valid."""
    found = datetime.fromisoformat(typed.strip().removesuffix(_UTC))
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def moment_input(label: str, moment: float | None) -> ui.input:
    """An input for a moment, in UTC."""
    made = ui.input(value="" if moment is None else exact_time(moment).removesuffix(_UTC))
    made.classes("tw-input st-moment-input tw-num")
    made.props(f'borderless dense maxlength=40 placeholder="2026-01-31 12:00:00" aria-label="{label}"')
    return made


class Moments:
    """The two moments of a view, within the recovery window; ``address`` returns the address of another state."""

    def __init__(self, page: StudioPage, address: Callable[..., str]) -> None:
        self._page = page
        self._address = address
        self.earliest = self.latest = 0.0

    def look(self, recovery: dict[str, Any]) -> None:
        """Update the recovery window, whose end keeps moving."""
        self.earliest = float(recovery["EarliestRestorableDateTime"])
        self.latest = float(recovery["LatestRestorableDateTime"])

    @property
    def at(self) -> float:
        """The moment that is shown."""
        found = self._moment("at")
        return max(self.earliest, self.latest - _AGO) if found is None else found

    @property
    def until(self) -> float | None:
        """The moment that it is compared with; None for now."""
        found = self._moment("until")
        return None if found is None else max(found, self.at)

    @property
    def end(self) -> float:
        """The same, with now as a time."""
        return self.latest if self.until is None else self.until

    def _moment(self, name: str) -> float | None:
        with suppress(ValueError):
            found = moment_in(self._page.query, name)
            return None if found is None else self._within(found)
        return None

    def _within(self, moment: float) -> float:
        return min(max(moment, self.earliest), self.latest)

    # -- drawing ----------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        t, until = self._page.t, self.until
        self._draw_moment("at", t("observe.as_of"), self.at)
        if until is not None:
            self._draw_moment("until", t("observe.compared_with"), until)
        with box("tw-row tw-small tw-mute st-time-row"):
            text(exact_time(self.earliest), "tw-num", title=t("observe.earliest"))
            box("st-spacer")
            text(exact_time(self.latest), "tw-num", title=t("observe.latest"))
        if until is None:
            with box("tw-row tw-wrap"):
                text(t("observe.compared_with"), "tw-mute tw-small")
                pill(t("observe.now"), "good")
                path = self._to("until", self.latest)
                link_button(t("observe.another_moment"), path, icon_name="clock", small=True)

    def _draw_moment(self, name: str, label: str, moment: float) -> None:
        t = self._page.t
        with box("tw-stack-tight", role="group", aria_label=label):
            with box("tw-row tw-wrap st-time-row"):
                text(label, "tw-mute tw-small st-moment-label")
                typed = moment_input(f"{label} (UTC)", moment)
                text("UTC", "tw-mute tw-small")
                box("st-grow")
                for step, seconds in _STEPS:
                    link_button(t(step), self._to(name, moment + seconds), small=True)
                if name == "until":
                    link_button(t("observe.latest_time"), self._address(until=None, after=None, more=None), small=True)
                else:
                    link_button(t("observe.latest_time"), self._to("at", self.latest), small=True)
            slider = box(
                "st-slider",
                "input",
                type="range",
                min=f"{self.earliest:.3f}",
                max=f"{self.latest:.3f}",
                step="any",
                value=f"{moment:.3f}",
                aria_label=label,
                aria_valuetext=exact_time(moment),
                style=f"--part: {100 * (moment - self.earliest) / max(self.latest - self.earliest, 0.001):.2f}%",
                oninput=_FOLLOW,
            )

        async def go() -> None:
            try:
                found = moment_of(typed.value or "")
            except ValueError:
                raise Refused(400, "moment", t("observe.no_moment"), {}) from None
            await self._page.go(self._to(name, found))

        async def slid(event: GenericEventArguments) -> None:
            await guarded(lambda: self._slide(name, str(event.args)[:100]))()

        typed.on("keydown.enter", guarded(go), [])
        slider.on("change", slid, js_handler="(event) => emit(event.target.value)")

    async def _slide(self, name: str, value: str) -> None:
        with suppress(ValueError):
            await self._page.go(self._to(name, float(value)))

    def _to(self, name: str, moment: float) -> str:
        """The address of another moment; what is compared is never before what it is compared with."""
        moment = self._within(moment)
        changes = {name: f"{moment:.3f}", "after": None, "more": None}
        if name == "until" and moment < self.at:
            changes["at"] = changes["until"]
        elif name == "at" and self.until is not None and moment > self.until:
            changes["until"] = changes["at"]
        return self._address(**changes)
