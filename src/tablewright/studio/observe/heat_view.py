"""Hot keys and cost: what an engine consumes while metering is on: by second, by key, by pattern, and its cost.

Metering is off until it is turned on here; it then runs for all windows of this studio (``engine_meter``). An endpoint
does its own metering: its figures are in CloudWatch.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import Any

from nicegui import ui

from tablewright.design import place_text
from tablewright.design.cost import MONTH_HOURS, HeatOfKey, MeteredHeat, PatternUse, load_prices, on_demand
from tablewright.dynamo.limits import MAX_PARTITION_READ_UNITS, MAX_PARTITION_WRITE_UNITS
from tablewright.engine import Engine
from tablewright.studio.observe.engine_meter import heat_of, start_metering, stop_metering
from tablewright.studio.observe.result_parts import line_chart
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import units_text
from tablewright.ui.components import Column, box, button, empty, figure, meter, pill, table, text

__all__ = ["heat_view"]

_EVERY = 1.0
_SECONDS = 120
_KEYS = 12
_MONTH_SECONDS = MONTH_HOURS * 3600
_RECENT_SECONDS = 60


async def heat_view(page: StudioPage) -> None:
    await page.look_at("")
    t = page.t
    engine = page.database.engine
    if engine is None:
        empty(t("observe.no_meter"), t("observe.no_meter_about"), "activity")
        return
    _Heat(page, engine).begin()


class _Heat:
    """The view in one browser tab."""

    def __init__(self, page: StudioPage, engine: Engine) -> None:
        self._page = page
        self._engine = engine
        self._drawn: object = None
        self._body = box("tw-body st-heat")

    def begin(self) -> None:
        self._draw()
        ui.timer(_EVERY, self._draw)

    # -- metering ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        start_metering(self._engine)
        self._draw()

    def _stop(self) -> None:
        stop_metering(self._engine)
        self._draw()

    # -- drawing ----------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Draw, if there is anything new."""
        heat = heat_of(self._engine)
        state = None if heat is None else (heat.requests, heat.last)
        if (heat is not None, state) == self._drawn:
            return
        self._drawn = heat is not None, state
        self._body.clear()
        with self._body:
            if heat is None:
                t = self._page.t
                empty(
                    t("observe.not_metered"),
                    t("observe.not_metered_about"),
                    "activity",
                    lambda: button(t("observe.start_metering"), self._start, kind="primary", icon_name="play"),
                )
            else:
                self._draw_heat(heat)

    def _draw_heat(self, heat: MeteredHeat) -> None:
        t = self._page.t
        prices = load_prices()
        read, write = heat.spent
        seconds = max(1.0, (heat.last or 0.0) - (heat.first or 0.0))
        spent = on_demand(prices, read, write)
        monthly = spent * Decimal(_MONTH_SECONDS) / Decimal(str(seconds))
        with box("tw-row tw-wrap"):
            pill(t("observe.metering"), "good", "activity")
            text(t("observe.metered_for", span=_span(seconds)), "tw-mute tw-small")
            box("st-grow")
            button(t("observe.stop_metering"), self._stop, icon_name="stop", small=True)
        with box("st-figures-4"):
            figure(t("observe.requests"), t.number(heat.requests))
            figure(t("observe.read_units"), units_text(float(read)))
            figure(t("observe.write_units"), units_text(float(write)))
            figure(t("observe.bill"), f"${spent:.4f}", t("observe.a_month", dollars=f"${monthly:,.2f}"))
        self._draw_seconds(heat)
        self._draw_keys(heat, seconds)
        self._draw_patterns(heat, spent)
        self._draw_provisioning(heat, seconds)

    def _draw_seconds(self, heat: MeteredHeat) -> None:
        t = self._page.t
        by_second = {each.second: each.places for each in heat.seconds(_SECONDS)}
        last = max(by_second, default=0)
        reads, writes = [], []
        for second in range(last - _SECONDS + 1, last + 1):
            places = by_second.get(second, {})
            reads.append(sum(read for read, _ in places.values()))
            writes.append(sum(write for _, write in places.values()))
        with box("tw-card"):
            text(t("observe.each_second"), "tw-h2", "h2")
            line_chart(
                [
                    (t("observe.read_units"), "--tw-info-fill", reads),
                    (t("observe.write_units"), "--tw-warn-fill", writes),
                ],
                t("observe.each_second"),
            )

    def _draw_keys(self, heat: MeteredHeat, seconds: float) -> None:
        t = self._page.t
        span = min(seconds, 2.0 * _RECENT_SECONDS)

        def share(key: HeatOfKey) -> float:
            read, write = key.read / span, key.write / span
            return max(read / MAX_PARTITION_READ_UNITS, write / MAX_PARTITION_WRITE_UNITS)

        def shown_heat(key: HeatOfKey) -> object:
            part = share(key)
            tone: Any = "bad" if part > 0.8 else "warn" if part > 0.3 else "info"
            return meter(part, t("observe.partition_share", percent=f"{100 * part:.1f}"), tone)

        columns: list[Column[HeatOfKey]] = [
            Column(t("observe.key"), lambda key: text(key.key, "tw-mono tw-strong tw-clip")),
            Column(t("observe.place"), lambda key: text(key.place, "tw-mono")),
            Column(t("observe.read_units"), lambda key: units_text(key.read), end=True),
            Column(t("observe.write_units"), lambda key: units_text(key.write), end=True),
            Column(t("observe.of_partition"), shown_heat),
        ]
        with box("tw-card"):
            text(t("observe.hot_keys"), "tw-h2", "h2")
            text(t("observe.hot_keys_about"), "tw-mute tw-small", "p")
            table(columns, heat.keys("recent", _KEYS), caption=t("observe.hot_keys"))

    def _draw_patterns(self, heat: MeteredHeat, spent: Decimal) -> None:
        t = self._page.t
        prices = load_prices()
        columns: list[Column[PatternUse]] = [
            Column(t("observe.pattern"), lambda use: text(use.pattern, "tw-mono tw-strong")),
            Column(t("observe.requests"), lambda use: t.number(use.calls), end=True),
            Column(t("observe.read_units"), lambda use: units_text(float(use.read)), end=True),
            Column(t("observe.write_units"), lambda use: units_text(float(use.write)), end=True),
            Column(t("observe.bill"), lambda use: f"${use.cost(prices):.6f}", end=True),
            Column(
                t("observe.part"),
                lambda use: meter(
                    float(use.cost(prices) / spent) if spent else 0.0,
                    f"{100 * float(use.cost(prices) / spent) if spent else 0:.0f} %",
                ),
            ),
        ]
        with box("tw-card"):
            text(t("observe.bill_by_pattern"), "tw-h2", "h2")
            table(columns, heat.patterns()[:50], caption=t("observe.bill_by_pattern"))

    def _draw_provisioning(self, heat: MeteredHeat, seconds: float) -> None:
        """What each table and index would cost a month: on demand as it goes on, provisioned for its busiest second."""
        t = self._page.t
        prices = load_prices()
        totals: dict[Any, list[Decimal]] = {}
        for use in heat.patterns():
            for place, (read, write) in use.places.items():
                known = totals.setdefault(place, [Decimal(0), Decimal(0)])
                known[0] += read
                known[1] += write
        rows = []
        for place, peak in heat.peaks().items():
            used = totals.get(place, [Decimal(0), Decimal(0)])
            monthly = on_demand(prices, *used) * Decimal(_MONTH_SECONDS) / Decimal(str(seconds))
            units = [Decimal(str(each)).to_integral_value(ROUND_CEILING) for each in peak]
            standard = prices.standard
            provisioned = (units[0] * standard.read_unit_hour + units[1] * standard.write_unit_hour) * MONTH_HOURS
            rows.append((place, units, monthly, provisioned))
        columns: list[Column[Any]] = [
            Column(t("observe.place"), lambda row: text(place_text(*row[0]), "tw-mono tw-strong")),
            Column(t("observe.busiest"), lambda row: f"{row[1][0]} / {row[1][1]}", end=True),
            Column(t("studio.on_demand"), lambda row: f"${row[2]:,.2f}", end=True),
            Column(t("observe.provisioned_for"), lambda row: f"${row[3]:,.2f}", end=True),
            Column(
                t("observe.cheaper"),
                lambda row: (
                    pill(t("studio.on_demand"), "info") if row[2] <= row[3] else pill(t("observe.provision"), "good")
                ),
            ),
        ]
        with box("tw-card"):
            text(t("observe.provisioning"), "tw-h2", "h2")
            text(t("observe.provisioning_about"), "tw-mute tw-small", "p")
            table(columns, sorted(rows, key=lambda row: -row[2]), caption=t("observe.provisioning"))


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
