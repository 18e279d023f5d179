"""Terraform configuration: its blocks and arguments are those of the provider, and say what the model says."""

import re
from typing import Any

import pytest

from tablewright.design.infra.table_requests import Deployment, ProvisionedCapacity
from tablewright.design.infra.terraform import terraform_configuration
from tablewright.design.table_names import table_name
from tablewright.model import Design, Entity, GlobalIndex, Index, Table
from tests.design.infra.secrets_design import SAFE
from tests.design.subjects import DESIGNS

# The arguments of the provider's resources, as its documentation lists them.
TABLE = {
    *("name", "billing_mode", "hash_key", "range_key", "read_capacity", "write_capacity", "attribute", "ttl", "tags"),
    *("global_secondary_index", "local_secondary_index", "stream_enabled", "stream_view_type", "lifecycle"),
    *("point_in_time_recovery", "server_side_encryption", "deletion_protection_enabled"),
}
INDEX = {
    *("name", "hash_key", "range_key", "projection_type", "non_key_attributes", "read_capacity", "write_capacity"),
    "key_schema",
}
TARGET = {"service_namespace", "resource_id", "scalable_dimension", "min_capacity", "max_capacity"}
POLICY = {
    *("name", "policy_type", "resource_id", "scalable_dimension", "service_namespace"),
    "target_tracking_scaling_policy_configuration",
}


def evaluated(expression: str, environment: str) -> str:
    """The value of the one kind of expression that names are written in."""
    match = re.fullmatch(r'\$\{contains\(\[(.*?)\], var\.environment\) \? "(.*?)" : (.*)\}', expression)
    assert match is not None, expression
    if environment in re.findall(r'"(.*?)"', match[1]):
        return match[2]
    other = match[3].strip('"')
    return environment if other == "var.environment" else other.replace("${var.environment}", environment)


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("capacity", [None, ProvisionedCapacity(5, 5, 50, 50)], ids=["on demand", "provisioned"])
@pytest.mark.parametrize("name", DESIGNS)
def test_tables_are_those_of_the_model(name: str, capacity: ProvisionedCapacity | None) -> None:
    design = DESIGNS[name]
    content = terraform_configuration(design, Deployment(capacity=capacity))
    tables: dict[str, dict[str, Any]] = content["resource"]["aws_dynamodb_table"]
    default = content["variable"]["environment"]["default"]
    for table, block in zip(design.all_tables, tables.values(), strict=True):
        assert set(block) <= TABLE
        assert evaluated(block["name"], default) == table.name
        assert evaluated(block["name"], "") == table.name
        assert evaluated(block["name"], "dev") == table_name(table, "dev")
        assert (block["hash_key"], block.get("range_key")) == (table.partition, table.sort)
        assert [each["name"] for each in block["attribute"]] == list(table.key_attributes)
        assert block.get("ttl", {}).get("attribute_name") == table.ttl
        assert block.get("stream_view_type") == table.stream
        assert block.get("point_in_time_recovery", {"enabled": False})["enabled"] == table.point_in_time_recovery
        for kind, is_global in (("global_secondary_index", True), ("local_secondary_index", False)):
            found = block.get(kind, [])
            assert all(set(index) <= INDEX for index in found)
            expected = [index.name for index in table.indexes if index.is_global is is_global]
            assert [index["name"] for index in found] == expected


@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_referred_to_is_there(name: str) -> None:
    content = terraform_configuration(DESIGNS[name], Deployment(capacity=ProvisionedCapacity(5, 5, 50, 50)))
    known = {f"{kind}.{label}" for kind, blocks in content["resource"].items() for label in blocks}
    known |= {f"var.{label}" for label in content["variable"]}
    referred = set(re.findall(r"\b(var\.\w+|aws_\w+\.\w+)", str(content["resource"]) + str(content["output"])))
    assert referred <= known
    assert all(re.fullmatch(r"[a-z_]\w*", label) for blocks in content["resource"].values() for label in blocks)


def test_scaling_is_of_tables_and_global_indexes() -> None:
    resources = terraform_configuration(DESIGNS["seed: calls"], Deployment(capacity=ProvisionedCapacity(5, 6, 50, 60)))[
        "resource"
    ]
    targets, policies = resources["aws_appautoscaling_target"], resources["aws_appautoscaling_policy"]
    assert len(targets) == len(policies) == 8
    assert all(set(each) == TARGET for each in targets.values())
    assert all(set(each) == POLICY for each in policies.values())
    assert targets["calls_write"]["max_capacity"] == 60
    assert resources["aws_dynamodb_table"]["calls"]["lifecycle"]["ignore_changes"] == [
        "read_capacity",
        "write_capacity",
        "global_secondary_index",
    ]


def test_all_settings_are_there() -> None:
    content = terraform_configuration(
        SAFE, Deployment(kms_key="arn:aws:kms:us-east-1:123456789012:key/k", environment="prod")
    )
    (table,) = content["resource"]["aws_dynamodb_table"].values()
    assert table["server_side_encryption"] == {"enabled": True, "kms_key_arn": "${var.kms_key_arn}"}
    assert content["variable"]["kms_key_arn"]["default"] == "arn:aws:kms:us-east-1:123456789012:key/k"
    assert table["deletion_protection_enabled"] is True
    assert evaluated(table["tags"]["Environment"], "prod") == "prod"
    assert table["tags"]["Application"] == "safe"
    assert content["variable"]["environment"]["default"] == "prod"
    assert set(content["output"]) == {"secrets_name", "secrets_arn", "secrets_stream_arn"}


def test_a_key_of_several_attributes_has_its_own_form() -> None:
    table = Table("Orders", "id", indexes=[GlobalIndex("byRegion", ["tenant", "region"], "day")])

    class Order(Entity, table=table):
        id: str
        tenant: str
        region: str
        day: str

    (block,) = terraform_configuration(Design("Orders", tables=[table]), Deployment())["resource"][
        "aws_dynamodb_table"
    ].values()
    (index,) = block["global_secondary_index"]
    assert index["key_schema"] == [
        {"attribute_name": "tenant", "key_type": "HASH"},
        {"attribute_name": "region", "key_type": "HASH"},
        {"attribute_name": "day", "key_type": "RANGE"},
    ]
    assert "hash_key" not in index


def test_what_looks_like_an_expression_is_text() -> None:
    """In Terraform's JSON every text is a template, in which $${ and %%{ stand for themselves."""
    tags = {"Environment": "prod ${x}", "Cost ${of}": "50 %{ off } and $5"}
    table = Table("prod-orders", "${id}", tags=tags, ttl="%{ttl}")
    (block,) = terraform_configuration(Design("Orders", tables=[table]), Deployment())["resource"][
        "aws_dynamodb_table"
    ].values()
    assert block["hash_key"] == block["attribute"][0]["name"] == "$${id}"
    assert block["ttl"]["attribute_name"] == "%%{ttl}"
    assert block["tags"]["Cost $${of}"] == "50 %%{ off } and $5"
    assert evaluated(block["tags"]["Environment"], "prod") == "prod $${x}"


@pytest.mark.parametrize(
    ("index", "version"),
    [(GlobalIndex("one", "a", "b"), ">= 5.0"), (GlobalIndex("one", ["a", "b"]), ">= 6.29")],
    ids=["one attribute", "several"],
)
def test_keys_of_several_attributes_need_a_provider_that_knows_them(index: Index, version: str) -> None:
    content = terraform_configuration(Design("Rows", tables=[Table("rows", "id", indexes=[index])]), Deployment())
    assert content["terraform"]["required_providers"]["aws"]["version"] == version
