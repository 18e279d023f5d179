"""``tablewright plan``: capacity and cost of a design, for people, machines and browsers."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tablewright.design.cost.monthly_bill import CostOptions, plan_costs
from tablewright.design.cost.prices import load_prices
from tests.cli.commands import called, error_line, json_output
from tests.design import models

DESIGN = """\
from tablewright.model import Design, Entity, Get, Table, ItemWrite, Traffic, Volume, Write

table = Table("things", "pk")

class Thing(Entity, table=table):
    pk: str

    @Get()
    def by_id(self, pk: str) -> None: ...

design = Design(
    "Things", tables=[table], writes=[Write("put", ItemWrite(Thing, "put"))],
    volume={Thing: Volume(items=1000, size=200)}, traffic={"put": TRAFFIC},
)
"""


def written(folder: Path, traffic: str = "Traffic(per_second=1)") -> Path:
    path = folder / "things.py"
    path.write_text(DESIGN.replace("TRAFFIC", traffic))
    return path


@pytest.mark.requirement("X5")
def test_machines_get_every_bill(tmp_path: Path) -> None:
    by_name = {each["design"]: each for each in json_output("plan", "tests.design.models", "--json")}
    plan = plan_costs(models.design)
    assert [bill["total"] for bill in by_name["Orders"]["bills"]] == [str(bill.total) for bill in plan.bills]
    assert by_name["Orders, bare"]["patterns"] == []


@pytest.mark.requirement("X5")
def test_people_get_tables(tmp_path: Path) -> None:
    done = called("plan", str(written(tmp_path)))
    assert done.returncode == 0, done.stderr
    for heading in (
        "Access patterns",
        "Tables and indexes",
        "Billing modes",
        "On-demand bill",
        "Break-even",
        "Item size",
    ):
        assert heading in done.stdout
    # A write a second for 730 hours, at $0.625 a million.
    assert "$1.64" in done.stdout


def test_a_key_that_is_too_hot_is_a_finding(tmp_path: Path) -> None:
    path = written(tmp_path, "Traffic(per_second=10, peak=5000, hottest=0.5)")
    done = called("plan", str(path))
    assert done.returncode == 1
    assert "too hot" in done.stdout
    assert "pk=sharded(..., 3)" in done.stdout
    (plan,) = json_output("plan", str(path), "--json", status=1)
    assert plan["hot_keys"][0]["needed"] == 3


def test_options_are_taken(tmp_path: Path) -> None:
    path = str(written(tmp_path, "Traffic(per_second=100)"))
    (plan,) = json_output("plan", path, "--json", "--target-utilization", "50", "--no-free-tier", "--backups", "2")
    (autoscaled,) = [
        bill for bill in plan["bills"] if (bill["mode"], bill["table_class"]) == ("autoscaling", "Standard")
    ]
    assert {line["what"]: line["quantity"] for line in autoscaled["lines"]}["writes"] == str(200 * 730)
    assert all(line["table"] for line in autoscaled["lines"])
    assert "backups" in {line["what"] for line in autoscaled["lines"]}


def test_another_price_list_can_be_given(tmp_path: Path) -> None:
    prices = json.loads(load_prices().model_dump_json())
    prices["standard"]["million_writes"] = 100
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    (plan,) = json_output("plan", str(written(tmp_path)), "--json", "--prices", str(tmp_path / "prices.json"))
    assert Decimal(plan["patterns"][0]["monthly"]) == Decimal("262.80")


def test_a_page_can_be_written(tmp_path: Path) -> None:
    assert called("plan", str(written(tmp_path)), "--html", str(tmp_path / "plan.html")).returncode == 0
    page = (tmp_path / "plan.html").read_text()
    assert "<h1>Things: capacity and cost</h1>" in page
    several = called("plan", "tests.design.models", "--html", str(tmp_path / "both.html"))
    assert several.returncode == 0
    assert "<h2" in (tmp_path / "both.html").read_text()


def test_usage_errors_are_reported_in_one_line(tmp_path: Path) -> None:
    path = str(written(tmp_path))
    assert "there is no module 'nowhere'" in error_line("plan", "nowhere")
    assert "--target-utilization must be a percentage from 20 to 90" in error_line(
        "plan", path, "--target-utilization", "10"
    )
    assert "--backups must be 0 or more" in error_line("plan", path, "--backups", "-1")
    assert "the price list none.json cannot be read" in error_line("plan", path, "--prices", "none.json")
    assert "--period needs a metered run: add --metered FILE" in error_line("plan", path, "--period", "1h")
    assert "such as 15m, not 'soon'" in error_line("plan", path, "--period", "soon")
    assert "none.jsonl cannot be read" in error_line("plan", path, "--metered", "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    assert "add --period TIME" in error_line("plan", path, "--metered", str(tmp_path / "empty.jsonl"))


def test_the_options_of_a_plan_are_those_of_the_command() -> None:
    assert CostOptions() == CostOptions(target_utilization=70, free_tier=True, backups=0)


@pytest.mark.requirement("X5")
def test_a_terminal_gets_no_source_of_diagrams() -> None:
    done = called("plan", "tests.design.models")
    assert done.returncode == 0, done.stderr
    assert "pie showData" not in done.stdout
