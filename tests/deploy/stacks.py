"""Stacks of the systems, made once for all tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml
from cfnlint.api import lint  # type: ignore[import-untyped]
from cfnlint.core import get_rules  # type: ignore[import-untyped]

from tablewright.deploy import BuiltStack, SystemNeeds, needs_of, system_stack
from tablewright.design.infra import Deployment
from tablewright.systems import load

REGIONS = ["us-east-1", "eu-west-1"]


@cache
def needs(name: str) -> SystemNeeds:
    (system,) = load(name)
    return needs_of(system, f"tablewright.systems.{name}.{name}_system:system")


@cache
def stack(name: str, container: bool = False, internal_tables: bool = True) -> BuiltStack:
    deployment = Deployment(environment="dev", internal_tables=internal_tables)
    return system_stack(needs(name), deployment, container=container)


@cache
def _rules() -> Any:
    return get_rules([], [], [])


def complaints(text: str) -> list[str]:
    """What cfn-lint says about a template."""
    return [str(match) for match in lint(text, _rules(), REGIONS)]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types here
    """YAML with the short forms of CloudFormation's functions."""


def _long(loader: Any, suffix: str, node: Any) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt":
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _long)


def read_yaml(text: str) -> Any:
    """A template as CloudFormation reads it."""
    return yaml.load(text, _Loader)


def of_type(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The properties of all resources of a type."""
    return {name: each["Properties"] for name, each in template["Resources"].items() if each["Type"] == kind}


def statements(template: dict[str, Any], role: str) -> list[dict[str, Any]]:
    (policy,) = template["Resources"][role]["Properties"]["Policies"]
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def actions(template: dict[str, Any], role: str) -> set[str]:
    return {action for each in statements(template, role) for action in each["Action"]}


def variables(template: dict[str, Any]) -> dict[str, Any]:
    """The variables of the container, or of the API's function, as if every condition held."""
    tasks = of_type(template, "AWS::ECS::TaskDefinition")
    if not tasks:
        found: dict[str, Any] = template["Resources"]["ApiFunction"]["Properties"]["Environment"]["Variables"]
        return found
    listed = tasks["ContainerTask"]["ContainerDefinitions"][0]["Environment"]
    chosen = [each["Fn::If"][1] if "Fn::If" in each else each for each in listed]
    return {each["Name"]: each["Value"] for each in chosen}
