"""Upgrades, as docs/deploy.md has them: the gate, one index at a time, the way back, and the removal of the stack."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tablewright.cli import main
from tablewright.deploy import stack_steps
from tablewright.design import DesignError
from tablewright.dynamo import DynamoError
from tablewright.engine import Engine
from tests.deploy.moto_account import PARAMETERS, client, known_part, moto_server
from tests.deploy.shop_versions import version
from tests.deploy.stacks import complaints, read_yaml

pytestmark = pytest.mark.requirement("SH4")

BY_SHOP, BY_DAY, BY_STATE = ("byShop", "shop", "order"), ("byDay", "day", "order"), ("byState", "state", "day")
TABLE = "OrdersTable"


def deploy(design: str, out: Path, *options: str) -> int:
    return main(["deploy", design, "--environment", "dev", "--out", str(out), *options])


def templates(folder: Path) -> list[dict[str, Any]]:
    """What is deployed, in order."""
    files = [*sorted(folder.glob("step-*.yaml")), folder / "template.yaml"]
    return [read_yaml(file.read_text("utf-8")) for file in files]


def properties(template: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"][TABLE]["Properties"]
    return found


def indexes(template: dict[str, Any]) -> list[str]:
    return [each["IndexName"] for each in properties(template).get("GlobalSecondaryIndexes", ())]


@pytest.fixture
def upgrade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """A version with one index, and what leads to one with two others."""
    assert deploy(version(tmp_path, "old", [BY_SHOP]), tmp_path / "one") == 0
    new = version(tmp_path, "new", [BY_DAY, BY_STATE])
    assert deploy(new, tmp_path / "two", "--after", str(tmp_path / "one")) == 0
    told = capsys.readouterr().out
    assert "first, with the programs that are running, one after the other: step-1.yaml, step-2.yaml\n" in told
    assert "first, with the new programs, one after the other: step-3.yaml\n" in told
    return [*templates(tmp_path / "one"), *templates(tmp_path / "two")]


def test_each_step_has_one_index_more_or_less_and_ends_in_the_new_version(upgrade: list[dict[str, Any]]) -> None:
    assert [indexes(each) for each in upgrade] == [
        ["byShop"],
        ["byShop", "byDay"],
        ["byShop", "byDay", "byState"],
        ["byDay", "byState", "byShop"],
        ["byDay", "byState"],
    ]


def test_a_table_takes_each_step_there_and_back_and_refuses_all_of_them_at_once(upgrade: list[dict[str, Any]]) -> None:
    def request(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        had, has = indexes(before), indexes(after)
        described = {each["IndexName"]: each for each in properties(after).get("GlobalSecondaryIndexes", ())}
        changes = [{"Create": described[name]} for name in has if name not in had]
        changes += [{"Delete": {"IndexName": name}} for name in had if name not in has]
        return {
            "TableName": "Orders",
            "AttributeDefinitions": properties(after)["AttributeDefinitions"],
            "GlobalSecondaryIndexUpdates": changes,
        }

    created = {name: properties(upgrade[0])[name] for name in ("AttributeDefinitions", "KeySchema", "BillingMode")}
    created["GlobalSecondaryIndexes"] = properties(upgrade[0])["GlobalSecondaryIndexes"]
    with Engine.open() as engine:
        engine.call("CreateTable", {"TableName": "Orders", **created})
        with pytest.raises(DynamoError, match="Subscriber limit exceeded"):
            engine.call("UpdateTable", request(upgrade[0], upgrade[-1]))
        back = stack_steps(upgrade[-1], upgrade[0])
        for way in (upgrade, [upgrade[-1], *back.first, *back.then, upgrade[0]]):
            for before, after in pairwise(way):
                if {*indexes(before)} != {*indexes(after)}:
                    engine.call("UpdateTable", request(before, after))
            table = engine.call("DescribeTable", {"TableName": "Orders"})["Table"]
            assert {each["IndexName"] for each in table["GlobalSecondaryIndexes"]} == {*indexes(way[-1])}


@pytest.mark.slow
def test_cfn_lint_has_nothing_to_say_about_a_step(tmp_path: Path, upgrade: list[dict[str, Any]]) -> None:
    assert upgrade
    for step in sorted((tmp_path / "two").glob("step-*.yaml")):
        assert complaints(step.read_text("utf-8")) == []


@pytest.mark.slow
def test_what_has_data_stays_when_the_stack_is_removed(upgrade: list[dict[str, Any]]) -> None:
    """moto creates and deletes stacks; it updates no table in one."""
    with moto_server() as url:
        stacks, tables = client(url, "cloudformation"), client(url, "dynamodb")
        given = [{"ParameterKey": "AlarmMail", "ParameterValue": PARAMETERS["AlarmMail"]}]
        stacks.create_stack(StackName="shop", TemplateBody=json.dumps(known_part(upgrade[0])), Parameters=given)
        key = {"customer": {"S": "c-1"}, "order": {"S": "o-1"}}
        tables.put_item(TableName="dev-Orders", Item={**key, "shop": {"S": "s-1"}})
        topics = client(url, "sns")
        assert topics.list_topics()["Topics"] != []
        stacks.delete_stack(StackName="shop")
        assert topics.list_topics()["Topics"] == []
        assert tables.get_item(TableName="dev-Orders", Key=key)["Item"]["shop"] == {"S": "s-1"}
        assert client(url, "kms").list_keys()["Keys"] != []


def test_what_would_strand_data_is_refused_until_it_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(version(tmp_path, "old", [BY_SHOP], read="byShop"), tmp_path / "one") == 0
    new, after = version(tmp_path, "new", []), ("--after", str(tmp_path / "one"))
    assert deploy(new, tmp_path / "two", *after) == 2
    message = capsys.readouterr().err
    assert "Orders.byShop: index removed, which Order.byshop used (unsafe)" in message
    assert "tablewright diff" in message
    assert not (tmp_path / "two").exists()
    # The command that it names.
    assert main(["diff", str(tmp_path / "one" / "design.json"), new]) == 1
    assert deploy(new, tmp_path / "two", *after, "--accept", "Orders.nothing") == 2
    assert deploy(new, tmp_path / "two", *after, "--accept", "Orders.byShop") == 0
    assert [indexes(each) for each in templates(tmp_path / "two")] == [["byShop"], []]


def test_what_cloudformation_would_replace_or_cannot_change_is_refused_whatever_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(version(tmp_path, "old", [BY_SHOP]), tmp_path / "one") == 0
    after = ("--after", str(tmp_path / "one"))
    assert deploy(version(tmp_path, "other_index", [("byShop", "day", "order")]), tmp_path / "two", *after) == 2
    assert "index byShop of OrdersTable has another key" in capsys.readouterr().err
    (old,) = templates(tmp_path / "one")
    assert deploy(version(tmp_path, "other_key", [BY_SHOP], partition="buyer"), tmp_path / "three") == 0
    (other,) = templates(tmp_path / "three")
    with pytest.raises(DesignError, match="would be replaced by an empty table, as its key changes"):
        stack_steps(old, other)


@pytest.mark.parametrize("form", [(), ("--container",)], ids=["functions", "container"])
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            [],
            ["--no-internal-tables"],
            "TablewrightEventsTable and TablewrightInternalTable, which no stack would manage",
        ),
        (["--no-internal-tables"], [], "another stack; add --no-internal-tables"),
    ],
    ids=["dropped", "added"],
)
def test_an_upgrade_neither_drops_the_internal_tables_nor_adds_those_of_another_stack(
    form: tuple[str, ...],
    before: list[str],
    after: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert deploy("tasks", tmp_path / "one", *form, *before) == 0
    assert deploy("tasks", tmp_path / "two", *form, *after, "--after", str(tmp_path / "one")) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "two").exists()
    assert deploy("tasks", tmp_path / "two", *form, *before, "--after", str(tmp_path / "one")) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--after", "nowhere"], "cannot be read"),
        (["--accept", "Orders"], "add --after"),
        (["--after", "two"], "choose another one"),
        (["--after", "snapshot"], "was not written by tablewright deploy"),
    ],
)
def test_mistakes_are_reported(
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    new = version(tmp_path, "new", [BY_SHOP])
    (tmp_path / "snapshot").mkdir()
    main(["diff", "--snapshot", new])
    (tmp_path / "snapshot" / "design.json").write_text(capsys.readouterr().out)
    assert deploy(new, Path("two"), *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--environment", "prod"], "of the environment dev, and this one would be of prod; add --environment dev"),
        (["--region", "us-east-1"], "of the region eu-west-1, and this one would be of us-east-1; add --region"),
    ],
)
def test_a_version_of_another_environment_or_region_is_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = version(tmp_path, "old", [BY_SHOP])
    place = ["--environment", "dev", "--region", "eu-west-1"]
    assert deploy(old, tmp_path / "one", *place) == 0
    after = ["--after", str(tmp_path / "one")]
    assert deploy(old, tmp_path / "two", *place, *options, *after) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "two").exists()
    assert deploy(old, tmp_path / "two", *place, *after) == 0


def test_without_further_indexes_there_is_one_step(tmp_path: Path) -> None:
    old = version(tmp_path, "old", [BY_SHOP])
    assert deploy(old, tmp_path / "one") == 0
    assert deploy(old, tmp_path / "two", "--after", str(tmp_path / "one")) == 0
    assert [file.name for file in (tmp_path / "two").iterdir() if file.name.startswith("step")] == []
