"""What a run consumed: by pattern, by table and index, by key, and its bill."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tablewright.design.cost.cost_report import cost_report
from tablewright.design.cost.demand import metered
from tablewright.design.cost.meter_report import run_json, run_report
from tablewright.design.cost.metered_run import RunError, metered_run, read_run
from tablewright.design.cost.monthly_bill import plan_costs
from tablewright.design.cost.prices import load_prices
from tablewright.design.report.html_report import to_html
from tablewright.design.report.report_blocks import to_markdown
from tests.design import models

PRICES = load_prices()


def line(at: float, pattern: str, operation: str, *charges: list[Any], refused: str | None = None) -> str:
    return json.dumps(
        {"at": at, "pattern": pattern, "operation": operation, "refused": refused, "charges": list(charges)}
    )


def units(read: int | str, write: int | str) -> tuple[Decimal, Decimal]:
    return Decimal(read), Decimal(write)


LINES = [
    line(
        100.0, "Order.create", "PutItem", ["Orders", None, "write", "c-1", 2.0], ["Orders", "byShop", "write", "s", 1.0]
    ),
    line(101.0, "Order.create", "PutItem", ["Orders", None, "write", "c-1", 2.0], refused="ConditionalCheckFailed"),
    line(102.0, "Order.by_id", "GetItem", ["Orders", None, "read", "c-2", 0.5]),
    line(103.5, "", "Query", ["Orders", "byShop", "read", "s", 1.5]),
    line(103.5, "", "Scan", ["Orders", None, "read", None, 4.0]),
    line(104.0, "feed.consume", "GetRecords"),
]


@pytest.mark.requirement("X5")
def test_units_are_counted_by_pattern_place_and_key() -> None:
    run = metered_run(LINES)
    assert (run.requests, run.seconds, run.stream_reads) == (6, 4.0, 1)
    assert (run.read, run.write) == units(6, 5)
    assert [(use.pattern, use.calls, use.refused, (use.read, use.write)) for use in run.patterns()] == [
        ("Order.create", 2, 1, units(0, 5)),
        ("Scan Orders", 1, 0, units(4, 0)),
        ("Query Orders/byShop", 1, 0, units("1.5", 0)),
        ("Order.by_id", 1, 0, units("0.5", 0)),
    ]
    assert run.places() == {("Orders", None): units("4.5", 4), ("Orders", "byShop"): units("1.5", 1)}
    assert [(use.place, use.key, (use.read, use.write)) for use in run.keys(2)] == [
        ("Orders", "c-1", units(0, 4)),
        ("Orders/byShop", "s", units("1.5", 1)),
    ]


@pytest.mark.requirement("X5")
def test_the_bill_is_exact() -> None:
    run = metered_run(LINES)
    requests = (5 * Decimal("0.625") + 6 * Decimal("0.125")) / 1_000_000
    assert run.cost(PRICES) == requests + Decimal("0.02") / 100_000
    assert sum(use.cost(PRICES) for use in run.patterns()) == requests


def test_html_and_json_have_the_same_figures() -> None:
    run = metered_run(LINES)
    page = to_html(run_report(run, PRICES, 10, "Metered: <program>"))
    told = run_json(run, PRICES, 10)
    assert Decimal(told["cost"]) == run.cost(PRICES)
    assert [each["pattern"] for each in told["patterns"]] == [use.pattern for use in run.patterns()]
    assert sum(Decimal(each["write_units"]) for each in told["patterns"]) == run.write
    assert all(use.pattern in page for use in run.patterns())
    assert page.count("<svg") == 2
    assert "Metered: &lt;program&gt;" in page


def test_a_run_of_nothing_is_a_page_as_well() -> None:
    run = metered_run([])
    assert run.requests == run.cost(PRICES) == 0
    assert "0 requests" in to_html(run_report(run, PRICES, 10, "Metered"))


@pytest.mark.parametrize("text", ["no json", "{}", "[1]", '{"at": "x"}'])
def test_what_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").write_text(f"{LINES[0]}\n{text}\n")
    with pytest.raises(RunError, match="line 2 is not a request of a metered run"):
        read_run(tmp_path / "run")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read: No such file"):
        read_run(tmp_path / "run")


@pytest.mark.requirement("X5")
def test_a_run_that_stands_for_a_time_is_traffic() -> None:
    run = metered_run(LINES)
    demands = metered(models.design, run, Decimal(10))
    plan = plan_costs(models.design, demands=demands)
    (load, *_) = plan.loads
    # Four write units and four and a half read units of the table in ten seconds.
    assert (load.write, load.read) == (Decimal("0.4"), Decimal("0.45"))
    month = 730 * 3600
    on_demand = plan.bill("on-demand")
    quantity = sum(line.quantity for line in on_demand.lines if line.what == "writes")
    assert quantity == Decimal("0.5") * month


def test_a_plan_of_a_run_does_not_speak_of_what_is_declared() -> None:
    demands = metered(models.design, metered_run(LINES), Decimal(10))
    page = to_markdown(cost_report(plan_costs(models.design, demands=demands)))
    assert "the on-demand cost of the traffic of the metered run" in page
    assert "declared" not in page.partition("## Tables")[0]
    assert "the on-demand cost of the declared traffic" in to_markdown(cost_report(plan_costs(models.design)))
