"""CloudFormation templates: cfn-lint has nothing to say, and what they resolve to is the model."""

import json
from functools import cache
from typing import Any

import pytest
from cfnlint.api import lint  # type: ignore[import-untyped]
from cfnlint.core import get_rules  # type: ignore[import-untyped]

from tablewright.design.design_loading import DesignError
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.design.infra.cloudformation import cloudformation_template
from tablewright.design.infra.table_requests import Deployment, ProvisionedCapacity, create_table, requests
from tablewright.design.table_names import table_name
from tablewright.model import Design, Entity, Get, Table, schema_of
from tests.design import models
from tests.design.infra.secrets_design import SAFE
from tests.design.subjects import CHECKPOINT_TABLE, DESIGNS

PROVISIONED = Deployment(capacity=ProvisionedCapacity(5, 5, 50, 50))


def complaints(content: dict[str, Any]) -> list[str]:
    """What cfn-lint says, by the rules that it has when it is run as it is."""
    return [str(match) for match in lint(json.dumps(content), rules(), ["us-east-1", "eu-west-1"])]


@cache
def rules() -> Any:
    return get_rules([], [], [])


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", DESIGNS)
def test_cfn_lint_has_nothing_to_say(name: str) -> None:
    assert (
        complaints(cloudformation_template(DESIGNS[name], Deployment(), policies=True, checkpoints_in=CHECKPOINT_TABLE))
        == []
    )


@pytest.mark.requirement("X3")
def test_cfn_lint_has_nothing_to_say_about_provisioned_tables_with_all_settings() -> None:
    assert complaints(cloudformation_template(SAFE, PROVISIONED)) == []
    assert (
        complaints(cloudformation_template(models.design, PROVISIONED, policies=True, checkpoints_in=CHECKPOINT_TABLE))
        == []
    )


def test_cfn_lint_would_have_something_to_say() -> None:
    broken = cloudformation_template(SAFE, Deployment())
    broken["Resources"]["SecretsTable"]["Properties"]["BillingMode"] = "FREE"
    assert complaints(broken) != []


# -- what a template resolves to ------------------------------------------------------------------------------------


class Resolver:
    """Evaluates the functions that the templates use."""

    def __init__(self, content: dict[str, Any], **given: Any) -> None:
        self.content = content
        self.parameters = {name: each["Default"] for name, each in content["Parameters"].items()} | given

    def value(self, part: Any) -> Any:
        if isinstance(part, list):
            return [value for each in part if (value := self.value(each)) is not None]
        if not isinstance(part, dict):
            return part
        if len(part) == 1:
            ((name, argument),) = part.items()
            if name == "Ref":
                return None if argument == "AWS::NoValue" else self.parameters.get(argument, f"<{argument}>")
            if name == "Fn::If":
                return self.value(argument[1] if self.holds(self.content["Conditions"][argument[0]]) else argument[2])
            if name == "Fn::Sub" and isinstance(argument, list):
                text, values = argument
                return Resolver(self.content, **self.parameters, **self.value(values)).value({"Fn::Sub": text})
            if name == "Fn::Sub":
                for parameter, value in self.parameters.items():
                    argument = argument.replace(f"${{{parameter}}}", str(value))
                return argument
            if name == "Fn::GetAtt":
                return f"<{'.'.join(argument)}>"
        resolved = {name: self.value(each) for name, each in part.items()}
        return {name: each for name, each in resolved.items() if each is not None}

    def holds(self, condition: dict[str, Any]) -> bool:
        ((name, argument),) = condition.items()
        if name == "Fn::Equals":
            return bool(self.value(argument[0]) == self.value(argument[1]))
        if name == "Fn::Not":
            return not self.holds(argument[0])
        assert name == "Fn::Or"
        return any(map(self.holds, argument))

    def properties(self, resource: str) -> dict[str, Any]:
        found: dict[str, Any] = self.value(self.content["Resources"][resource]["Properties"])
        return found


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("environment", [None, "dev", "qa-2"])
@pytest.mark.parametrize("name", DESIGNS)
def test_tables_are_those_of_the_model(name: str, environment: str | None) -> None:
    design = DESIGNS[name]
    content = cloudformation_template(design, Deployment())
    resolver = Resolver(content, **({} if environment is None else {"Environment": environment}))
    tables = [
        resolver.properties(key) for key, each in content["Resources"].items() if each["Type"] == "AWS::DynamoDB::Table"
    ]
    for table, properties in zip(design.all_tables, tables, strict=True):
        deployment = Deployment(environment=environment)
        request = create_table(table, table_name(table, environment), deployment)
        for member in (
            "TableName",
            "BillingMode",
            "AttributeDefinitions",
            "KeySchema",
            "GlobalSecondaryIndexes",
            "LocalSecondaryIndexes",
            "Tags",
            "DeletionProtectionEnabled",
        ):
            assert properties.get(member) == request.get(member), member
        assert properties.get("TimeToLiveSpecification", {}).get("AttributeName") == table.ttl
        assert properties.get("StreamSpecification", {}).get("StreamViewType") == table.stream
        recovery = properties.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled", False)
        assert recovery == table.point_in_time_recovery


def test_all_settings_of_a_table_are_in_the_template() -> None:
    content = cloudformation_template(SAFE, Deployment())
    properties = Resolver(content).properties("SecretsTable")
    assert properties["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert properties["DeletionProtectionEnabled"] is True
    with_key = Resolver(content, KmsKeyArn="arn:aws:kms:us-east-1:1:key/k", Environment="prod").properties(
        "SecretsTable"
    )
    assert with_key["SSESpecification"]["KMSMasterKeyId"] == "arn:aws:kms:us-east-1:1:key/k"
    assert with_key["TableName"] == "prod-Secrets"
    assert with_key["Tags"] == [{"Key": "Environment", "Value": "prod"}, {"Key": "Application", "Value": "safe"}]


def test_an_environment_that_is_asked_for_is_the_default() -> None:
    content = cloudformation_template(SAFE, Deployment(environment="prod"))
    assert Resolver(content).properties("SecretsTable")["TableName"] == "prod-Secrets"
    assert Resolver(content, Environment="").properties("SecretsTable")["TableName"] == "Secrets"


def test_tables_of_several_environments_keep_their_names_by_default() -> None:
    design = Design("Mixed", tables=[Table("prod-a1", "id"), Table("poc-b1", "id"), Table("c01", "id")])
    content = cloudformation_template(design, Deployment())
    assert complaints(content) == []
    names = {key: Resolver(content).properties(key)["TableName"] for key in content["Resources"]}
    assert names == {"A1Table": "prod-a1", "B1Table": "poc-b1", "C01Table": "c01"}
    in_prod = {key: Resolver(content, Environment="prod").properties(key)["TableName"] for key in content["Resources"]}
    assert in_prod == {"A1Table": "prod-a1", "B1Table": "prod-b1", "C01Table": "prod-c01"}


def test_tables_outlive_their_stack() -> None:
    table = cloudformation_template(SAFE, Deployment())["Resources"]["SecretsTable"]
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


@pytest.mark.requirement("X3")
def test_names_and_arns_are_exported() -> None:
    outputs = cloudformation_template(SAFE, Deployment())["Outputs"]
    assert {name: each["Value"] for name, each in outputs.items()} == {
        "SecretsName": {"Ref": "SecretsTable"},
        "SecretsArn": {"Fn::GetAtt": ["SecretsTable", "Arn"]},
        "SecretsStreamArn": {"Fn::GetAtt": ["SecretsTable", "StreamArn"]},
    }
    assert outputs["SecretsArn"]["Export"] == {"Name": {"Fn::Sub": "${AWS::StackName}-SecretsArn"}}


def test_capacity_is_a_parameter() -> None:
    content = cloudformation_template(SAFE, PROVISIONED)
    properties = Resolver(content, ReadCapacity=7).properties("SecretsTable")
    assert properties["ProvisionedThroughput"] == {"ReadCapacityUnits": 7, "WriteCapacityUnits": 5}
    scaled = Resolver(content, MaxReadCapacity=70).properties("SecretsReadTarget")
    assert (scaled["MinCapacity"], scaled["MaxCapacity"], scaled["ResourceId"]) == (5, 70, "table/${SecretsTable}")
    # A local index has no capacity of its own.
    assert [key for key in content["Resources"] if key.endswith("Target")] == [
        "SecretsReadTarget",
        "SecretsWriteTarget",
    ]


@pytest.mark.requirement("X3")
def test_policies_in_the_template_name_the_very_resources() -> None:
    content = cloudformation_template(models.design, Deployment(), policies=True, checkpoints_in=CHECKPOINT_TABLE)
    policy = Resolver(content).value(content["Resources"]["ConsumerPolicy"]["Properties"]["PolicyDocument"])
    assert "*" not in json.dumps(policy)
    assert is_allowed(policy, "dynamodb:GetRecords", "<OrdersTable.StreamArn>")
    assert not is_allowed(policy, "dynamodb:GetRecords", "<OrdersTable.Arn>")
    api = Resolver(content).value(content["Resources"]["ApiPolicy"]["Properties"]["PolicyDocument"])
    assert is_allowed(api, "dynamodb:PutItem", "<OrdersTable.Arn>")
    assert not is_allowed(api, "dynamodb:DeleteItem", "<OrdersTable.Arn>")


def test_checkpoints_in_an_external_table_are_referred_to_by_its_arn() -> None:
    content = cloudformation_template(
        models.design, Deployment(), policies=True, checkpoints_in=Table("poc-notes", "PK", "SK")
    )
    assert complaints(content) == []
    statements = content["Resources"]["ConsumerPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    (text, values), *others = [
        resource["Fn::Sub"]
        for statement in statements
        for resource in statement["Resource"]
        if "${Name}" in str(resource)
    ]
    assert others == []
    assert text == "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}"
    assert Resolver(content).value(values["Name"]) == "poc-notes"
    assert Resolver(content, Environment="dev").value(values["Name"]) == "dev-notes"


def many(number: int, **settings: Any) -> Design:
    tables = [Table(f"table-{each}", "id", **settings) for each in range(number)]
    return Design("Many", tables=tables)


def test_a_template_has_no_more_than_cloudformation_takes() -> None:
    assert len(cloudformation_template(many(100), Deployment())["Outputs"]) == 200
    with pytest.raises(DesignError, match="would have 202 outputs, and CloudFormation allows 200; split the design"):
        cloudformation_template(many(101), Deployment())
    with pytest.raises(DesignError, match="would have 505 resources, and CloudFormation allows 500"):
        cloudformation_template(many(101), Deployment(capacity=ProvisionedCapacity(5, 5, 50, 50)))


def test_roles_that_are_called_alike_have_a_policy_each() -> None:
    class Order(Entity, table=Table("orders", "id")):
        id: str

        @Get()
        def by_id(self, id: str) -> None: ...

    roles = {"api v1": ["Order.by_id"], "api-v1": ["Order.by_id"]}
    design = Design("Orders", tables=[schema_of(Order).table], roles=roles)
    resources = cloudformation_template(design, Deployment(), policies=True)["Resources"]
    assert [name for name in resources if name.endswith("Policy")] == [
        "ApiV1Policy",
        "ApiV1XPolicy",
        "MaintenancePolicy",
    ]


def test_a_role_that_may_do_nothing_has_no_policy_and_the_others_have() -> None:
    class Order(Entity, table=Table("orders", "id")):
        id: str

        @Get()
        def by_id(self, id: str) -> None: ...

    roles = {"nobody": [], "api": ["Order.by_id"]}
    design = Design("Orders", tables=[schema_of(Order).table], roles=roles)
    resources = cloudformation_template(design, Deployment(), policies=True)["Resources"]
    assert [name for name in resources if name.endswith("Policy")] == ["ApiPolicy", "MaintenancePolicy"]


def test_tables_that_are_distinct_by_the_environment_alone_are_refused() -> None:
    design = Design("Orders", tables=[Table("dev-orders", "id"), Table("prod-orders", "id")])
    with pytest.raises(DesignError, match="dev-orders and prod-orders would have the same name in another environment"):
        cloudformation_template(design, Deployment())
    assert [request.body["TableName"] for request in requests(design, Deployment())] == ["dev-orders", "prod-orders"]
    with pytest.raises(DesignError, match="would have the same name in another environment"):
        requests(design, Deployment(environment="test"))
