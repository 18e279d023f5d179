"""The views of the studio, in the order of the side bar."""

from __future__ import annotations

from tablewright.studio.designs.design_view import design_view
from tablewright.studio.designs.patterns_view import patterns_view
from tablewright.studio.observe.console_view import console_view
from tablewright.studio.observe.heat_view import heat_view
from tablewright.studio.observe.sql_view import sql_view
from tablewright.studio.observe.streams_view import streams_view
from tablewright.studio.observe.time_view import time_view
from tablewright.studio.studio_view import StudioView
from tablewright.studio.views.items_view import items_view
from tablewright.studio.views.single_table_view import single_table_view
from tablewright.studio.views.tables_view import tables_view
from tablewright.studio.views.writes_view import writes_view

__all__ = ["HIDDEN_VIEWS", "VIEWS"]

VIEWS: tuple[StudioView, ...] = (
    StudioView(("/tables", "/tables/{table}"), "studio.tables", "database", tables_view, "t"),
    StudioView(("/items", "/items/{table}"), "studio.items", "table", items_view, "i"),
    StudioView(("/picture", "/picture/{table}"), "studio.single_table", "blocks", single_table_view, "s"),
    StudioView(("/patterns", "/patterns/{design}/{pattern}"), "designs.patterns", "play", patterns_view, "p"),
    StudioView(("/sql",), "observe.sql", "code", sql_view, "q"),
    StudioView(("/streams", "/streams/{table}"), "observe.streams", "activity", streams_view, "r"),
    StudioView(("/time", "/time/{table}"), "observe.time", "clock", time_view, "m"),
    StudioView(("/heat",), "observe.heat", "chart", heat_view, "h"),
    StudioView(("/console",), "observe.console", "bolt", console_view, "c"),
    StudioView(("/design", "/design/{design}"), "designs.design", "flag", design_view, "d"),
)

HIDDEN_VIEWS: tuple[StudioView, ...] = (StudioView(("/writes",), "studio.writes", "list", writes_view),)
"""Views that have an address and no place in the side bar."""
