"""The plan of a search before it runs: a query or a scan, on which index, and its cost."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache

from nicegui import ui

from tablewright.design.cost import load_prices, on_demand
from tablewright.studio.items.item_search import ItemPlan
from tablewright.studio.studio_parts import counted_units
from tablewright.ui.components import pill, text
from tablewright.ui.texts import Texts

__all__ = ["draw_verdict"]


@cache
def _read_price() -> Decimal:
    """The price of a read unit on demand."""
    return on_demand(load_prices(), Decimal(1), Decimal(0))


def draw_verdict(t: Texts, place: ui.element, planned: Callable[[], ItemPlan]) -> None:
    """Show a plan; or, if it raises ValueError, what was not understood."""
    place.clear()
    with place:
        try:
            found = planned()
        except ValueError as error:
            pill(t("studio.not_understood"), "bad")
            text(str(error), "tw-mute tw-small")
            return
        where = found.place.index or t("studio.the_table")
        label = t("studio.scan_of" if found.is_scan else "studio.query_of", place=where)
        pill(label, "warn" if found.is_scan and found.is_filtered else "info")
        price = found.page_units * float(_read_price())
        cost = t(
            "studio.cost_most" if found.is_most else "studio.cost",
            units=counted_units(t, found.page_units),
            price=f"{price:.7f}",
        )
        if found.all_units is not None:
            cost += " · " + t("studio.cost_all", units=counted_units(t, found.all_units))
        if found.is_unknown:
            cost += " · " + t("studio.cost_unknown")
        text(cost, "tw-mute tw-small")
