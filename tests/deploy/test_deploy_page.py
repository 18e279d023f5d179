"""docs/deploy.md: its costs are those of the plans, and what it says of upgrades and removal is so of the stacks."""

from __future__ import annotations

from collections import Counter

import pytest

from tablewright.systems import NAMES
from tests.deploy.stacks import of_type, stack
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
def test_every_parameter_without_a_default_of_a_container_is_explained(name: str) -> None:
    section = PAGE.partition("## Containers")[2].partition("\n## ")[0]
    parameters = stack(name, True).template["Parameters"]
    needed = [each for each, about in parameters.items() if "Default" not in about]
    assert [each for each in needed if f"{each}=" not in section and f"`{each}`" not in section] == []
    # The image that the page builds is for the processor that the stack takes by default.
    assert f"oci-archive:build/desk/image-{parameters['ImageArchitecture']['Default']}.tar" in section


@pytest.mark.parametrize("container", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_defaults_are_for_what_is_built_by_default(name: str, container: bool) -> None:
    parameters = stack(name, container).template["Parameters"]
    if "CodeKey" in parameters:
        assert f"build/tasks/functions-{parameters['Architecture']['Default']}.zip" in PAGE
    else:
        assert "Architecture" not in parameters


def test_only_the_stacks_that_the_page_names_read_the_events_by_two_functions() -> None:
    readers = {
        name: Counter(
            source["EventSourceArn"]["Fn::GetAtt"][0]
            for source in of_type(stack(name).template, "AWS::Lambda::EventSourceMapping").values()
        )
        for name in NAMES
    }
    assert {many for each in readers.values() for many in each.values()} <= {1, 2}
    assert [name for name, each in readers.items() if each["TablewrightEventsTable"] == 2] == ["calls", "tasks"]
    assert "The stacks of Tasks and Calls have two functions each on `tablewright-events`" in PAGE


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
