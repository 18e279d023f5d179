"""A metered run as a report for people, and as JSON for programs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tablewright.design.cost.metered_run import KeyUse, MeteredRun, PatternUse, on_demand
from tablewright.design.cost.prices import Prices
from tablewright.design.place_names import place_text
from tablewright.design.report.charts import Bar, bar_chart
from tablewright.design.report.number_format import exact_money, percent, units_text
from tablewright.design.report.report_blocks import Block, DesignReport, Drawing, Grid, Heading, Text

__all__ = ["run_json", "run_report"]

_MILLION = Decimal(1_000_000)


def run_report(run: MeteredRun, prices: Prices, most_keys: int, title: str) -> DesignReport:
    """The report of a run."""
    blocks: list[Block] = [
        Text(
            f"{run.requests:,} requests in {run.seconds:,.1f} s consumed {units_text(run.read)} read units and "
            f"{units_text(run.write)} write units. On demand that costs {exact_money(run.cost(prices))} "
            f"({prices.region}, {prices.date})."
        )
    ]
    patterns = run.patterns()
    if patterns:
        blocks += [Heading("Access patterns"), _pattern_grid(patterns, prices)]
        blocks.append(
            Drawing(
                bar_chart(
                    "Cost by access pattern",
                    [Bar(use.pattern, float(use.cost(prices)), exact_money(use.cost(prices))) for use in patterns[:20]],
                ),
                "The most expensive access patterns of the run.",
            )
        )
        blocks += [Heading("Tables and indexes"), _place_grid(run, prices)]
    keys = run.keys(most_keys)
    if keys:
        blocks += [
            Heading("Hottest keys"),
            Grid(
                ["table or index", "partition key", "read", "write", "share"],
                [
                    [use.place, f"`{use.key}`", units_text(use.read), units_text(use.write), percent(_share(run, use))]
                    for use in keys
                ],
                ["read", "write", "share"],
            ),
            Drawing(
                bar_chart(
                    "Units by partition key",
                    [
                        Bar(f"{use.place}  {use.key}", float(use.read + use.write), units_text(use.read + use.write))
                        for use in keys
                    ],
                ),
                "The hottest partition keys of the run, by read and write units.",
            ),
        ]
    return DesignReport(title, blocks)


def _pattern_grid(patterns: list[PatternUse], prices: Prices) -> Grid:
    return Grid(
        ["pattern", "requests", "failed", "read", "write", "units per request", "cost", "cost per million"],
        [
            [
                use.pattern,
                f"{use.calls:,}",
                f"{use.refused:,}" if use.refused else "-",
                units_text(use.read),
                units_text(use.write),
                units_text((use.read + use.write) / use.calls),
                exact_money(use.cost(prices)),
                exact_money(use.cost(prices) * _MILLION / use.calls),
            ]
            for use in patterns
        ],
        ["requests", "failed", "read", "write", "units per request", "cost", "cost per million"],
    )


def _place_grid(run: MeteredRun, prices: Prices) -> Grid:
    return Grid(
        ["table or index", "read", "write", "cost"],
        [
            [place_text(*place), units_text(read), units_text(write), exact_money(on_demand(prices, read, write))]
            for place, (read, write) in run.places().items()
        ],
        ["read", "write", "cost"],
    )


def _share(run: MeteredRun, use: KeyUse) -> Decimal:
    """The share that a key has of what its table or index consumed."""
    read, write = run.places()[use.table, use.index]
    return (use.read + use.write) / (read + write)


def run_json(run: MeteredRun, prices: Prices, most_keys: int) -> dict[str, Any]:
    """The report as JSON; units and costs are exact numbers, as text."""
    return {
        "requests": run.requests,
        "seconds": round(run.seconds, 3),
        "read_units": str(run.read),
        "write_units": str(run.write),
        "stream_reads": run.stream_reads,
        "cost": str(run.cost(prices)),
        "prices": {"region": prices.region, "date": prices.date.isoformat(), "currency": prices.currency},
        "patterns": [
            {
                "pattern": use.pattern,
                "requests": use.calls,
                "refused": use.refused,
                "read_units": str(use.read),
                "write_units": str(use.write),
                "cost": str(use.cost(prices)),
                "places": {
                    place_text(*place): {"read_units": str(read), "write_units": str(write)}
                    for place, (read, write) in use.places.items()
                },
            }
            for use in run.patterns()
        ],
        "keys": [
            {
                "table": use.table,
                "index": use.index,
                "key": use.key,
                "read_units": str(use.read),
                "write_units": str(use.write),
            }
            for use in run.keys(most_keys)
        ],
    }
