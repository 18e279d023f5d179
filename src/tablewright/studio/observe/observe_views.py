"""The views of this folder, in the order of the side."""

from __future__ import annotations

from tablewright.studio.observe.console_view import console_view
from tablewright.studio.observe.heat_view import heat_view
from tablewright.studio.observe.sql_view import sql_view
from tablewright.studio.observe.streams_view import streams_view
from tablewright.studio.observe.time_view import time_view
from tablewright.studio.studio_view import StudioView

__all__ = ["OBSERVE_VIEWS"]

OBSERVE_VIEWS: tuple[StudioView, ...] = (
    StudioView(("/sql",), "observe.sql", "code", sql_view),
    StudioView(("/streams", "/streams/{table}"), "observe.streams", "activity", streams_view),
    StudioView(("/time", "/time/{table}"), "observe.time", "clock", time_view),
    StudioView(("/heat",), "observe.heat", "chart", heat_view),
    StudioView(("/console",), "observe.console", "bolt", console_view),
)
