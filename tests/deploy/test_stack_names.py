"""Names of the user's in a stack: two never become one, and each has only what AWS allows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tablewright.cli import main
from tablewright.deploy import check_stack, design_stack, system_stack
from tablewright.design import DesignError
from tablewright.design.infra import Deployment, cloudformation_template
from tablewright.model import Design, Entity, Get, GlobalIndex, Query, Table
from tests.deploy.stacks import needs, of_type

pytestmark = pytest.mark.requirement("SH1")

orders = Table(
    "StackNames", "PK", indexes=[GlobalIndex("by-x", "x"), GlobalIndex("by.x", "y"), GlobalIndex("_._", "z")]
)


class Order(Entity, table=orders):
    PK: str
    x: str
    y: str
    z: str

    @Get()
    def by_key(self, PK: str) -> None: ...

    @Query(index="by-x")
    def by_x(self, x: str) -> None: ...


def of_roles(roles: Sequence[str], name: str = "Shop") -> Design:
    return Design(name, tables=[orders], roles={role: ["Order.by_key"] for role in roles})


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            ["read-only", "read_only"],
            "the policy of the role read-only and the policy of the role read_only would both",
        ),
        (
            ["alarms"],
            "AWS::SNS::TopicPolicy of the stack itself and the policy of the role alarms would both be Alarms",
        ),
        (["管理"], "'管理' has no letter from A to Z"),
    ],
)
def test_names_of_roles_that_would_become_one_are_refused(roles: Sequence[str], message: str) -> None:
    with pytest.raises(DesignError, match=message) as refused:
        design_stack(of_roles(roles), Deployment())
    assert "rename" in str(refused.value)


def test_schedules_whose_names_would_become_one_are_refused() -> None:
    tasks = needs("tasks")
    first = tasks.schedules[0]
    same = [
        replace(first, function=replace(first.function, name=f"{name} schedule", work=name)) for name in ("a.b", "a-b")
    ]
    with pytest.raises(DesignError, match=r"the a\.b schedule and the a-b schedule would both be ABScheduleFailures"):
        system_stack(replace(tasks, schedules=same), Deployment())


def test_each_index_has_alarms_of_its_own() -> None:
    template = design_stack(of_roles(["api"]), Deployment()).template
    watched = [
        {each["Name"]: each["Value"] for each in alarm["Dimensions"]}.get("GlobalSecondaryIndexName")
        for alarm in of_type(template, "AWS::CloudWatch::Alarm").values()
        if alarm["MetricName"] == "ReadThrottleEvents"
    ]
    assert sorted(each for each in watched if each is not None) == ["_._", "by-x", "by.x"]


def test_tags_and_descriptions_have_only_what_aws_allows() -> None:
    design = of_roles(["api"], "Q&A <shop>: 東京")
    template = design_stack(design, Deployment()).template
    (table,) = of_type(template, "AWS::DynamoDB::Table").values()
    assert {"Key": "Application", "Value": "Q A shop : 東京"} in table["Tags"]
    assert check_stack(template) == []
    for each in (template, cloudformation_template(design, Deployment())):
        for policy in of_type(each, "AWS::IAM::ManagedPolicy").values():
            policy["Description"].encode("latin-1")


@pytest.mark.parametrize(
    ("name", "shown"), [("Q&A <shop>", "q-a-shop"), ("3 Shops", "stack-3-shops"), ("東京", "stack")]
)
def test_the_suggested_name_of_a_stack_is_one(
    name: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.py"
    path.write_text(
        f"from tablewright.model import Design, Table\ndesign = Design({name!r}, tables=[Table('Orders', 'PK')])\n"
    )
    assert main(["deploy", str(path), "--out", str(tmp_path / "made")]) == 0
    (suggested,) = re.findall(r"--stack-name (.*) \\\n", capsys.readouterr().out)
    assert suggested == shown
