"""docs/deploy.md: its costs are those of the plans, and what it says of upgrades and removal is so of the stacks."""

from __future__ import annotations

import pytest

from tablewright.systems import NAMES
from tests.deploy.stacks import stack
from tools import deploy_costs

pytestmark = pytest.mark.requirement("SH4")
PAGE = deploy_costs.PAGE.read_text("utf-8")


def test_the_costs_are_those_of_the_plans_and_the_stacks() -> None:
    assert deploy_costs.updated(PAGE) == PAGE, "run `make docs`"
    for name in NAMES:
        (row,) = [
            line for line in deploy_costs.render().splitlines() if line.lower().replace(" ", "").startswith(f"|{name}|")
        ]
        assert "$0.00" not in row


def test_the_page_goes_from_an_empty_account_to_removal() -> None:
    headings = [line for line in PAGE.splitlines() if line.startswith("## ")]
    wanted = ["From an empty account to running", "What it costs a month", "Upgrades", "Rollback", "Removal"]
    assert [each for each in headings if each.removeprefix("## ") in wanted] == [f"## {each}" for each in wanted]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_without_a_default_is_given_in_the_first_deployment(name: str) -> None:
    step = PAGE.partition("4. Create the stack.")[2].partition("5. ")[0]
    needed = [each for each, about in stack(name).template["Parameters"].items() if "Default" not in about]
    assert [each for each in needed if f"{each}=" not in step] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_has_data_in_it_outlives_the_stack_and_nothing_else_does(name: str) -> None:
    kept = {
        each["Type"] for each in stack(name).template["Resources"].values() if each.get("DeletionPolicy") == "Retain"
    }
    data = {
        "AWS::DynamoDB::Table",
        "AWS::S3::Bucket",
        "AWS::Cognito::UserPool",
        "AWS::SecretsManager::Secret",
        "AWS::KMS::Key",
        # Others may send from it.
        "AWS::SES::EmailIdentity",
    }
    assert kept <= data
    assert "AWS::DynamoDB::Table" in kept
