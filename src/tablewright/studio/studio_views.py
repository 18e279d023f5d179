"""The views of the studio, in the order of the side."""

from __future__ import annotations

from tablewright.studio.designs.design_view import design_view
from tablewright.studio.designs.patterns_view import patterns_view
from tablewright.studio.observe.observe_views import OBSERVE_VIEWS
from tablewright.studio.studio_view import StudioView
from tablewright.studio.views.items_view import items_view
from tablewright.studio.views.single_table_view import single_table_view
from tablewright.studio.views.tables_view import tables_view
from tablewright.studio.views.writes_view import writes_view

__all__ = ["HIDDEN_VIEWS", "VIEWS"]

VIEWS: tuple[StudioView, ...] = (
    StudioView(("/tables", "/tables/{table}"), "studio.tables", "database", tables_view),
    StudioView(("/items", "/items/{table}"), "studio.items", "table", items_view),
    StudioView(("/picture", "/picture/{table}"), "studio.single_table", "blocks", single_table_view),
    StudioView(("/patterns", "/patterns/{design}/{pattern}"), "designs.patterns", "play", patterns_view),
    *OBSERVE_VIEWS,
    StudioView(("/design", "/design/{design}"), "designs.design", "flag", design_view),
)

HIDDEN_VIEWS: tuple[StudioView, ...] = (StudioView(("/writes",), "studio.writes", "list", writes_view),)
"""Views that have an address and no place at the side."""
