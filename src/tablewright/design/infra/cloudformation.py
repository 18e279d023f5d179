"""A design as a CloudFormation template, in JSON.

Parameters: ``Environment`` (by default the table names of the design), ``KmsKeyArn`` if a table is encrypted, and the
capacities if it is provisioned. Outputs: the name and ARN of each table, and the ARN of its stream. Tables are retained
when the stack is deleted.

With policies, there is a managed policy for each role and consumer, and for maintenance, as well. They refer to the
tables, indexes and streams of the stack; the ARN of a stream contains the time of its creation, so it is not known
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tablewright.design import iam
from tablewright.design.design_loading import DesignError
from tablewright.design.infra.table_requests import Deployment, create_table, scaled
from tablewright.design.table_names import bare_name, check_names, design_environment, environment_of, logical_names
from tablewright.model import Design, Table

__all__ = ["TableTemplate", "cloudformation_template"]

_FORMAT = "2010-09-09"
# Limits of CloudFormation for one template.
_MAX_RESOURCES = 500
_MAX_OUTPUTS = 200
_NO_VALUE = {"Ref": "AWS::NoValue"}


def cloudformation_template(
    design: Design, deployment: Deployment, *, policies: bool = False, checkpoints_in: Table | None = None
) -> dict[str, Any]:
    """The template of a design; ``checkpoints_in`` is the table of checkpoints, if it is not one of the design's."""
    check_names(design)
    has_consumers = any(reaction.source == "stream" for reaction in design.reactions)
    builder = TableTemplate(design, deployment, checkpoints_in if policies and has_consumers else None)
    resources: dict[str, Any] = {}
    for table in builder.tables:
        resources.update(builder.table(table))
    if policies:
        resources.update(builder.policies())
    outputs = {name: output for table in builder.tables for name, output in builder.outputs(table)}
    _check_limits(design, len(resources), len(outputs))
    return {
        "AWSTemplateFormatVersion": _FORMAT,
        "Description": f"Tables of {design.name}",
        "Parameters": {**builder.parameters(), **builder.stream_parameters()},
        "Conditions": builder.conditions(),
        "Resources": resources,
        "Outputs": outputs,
    }


def _check_limits(design: Design, resources: int, outputs: int) -> None:
    for many, most, what in ((resources, _MAX_RESOURCES, "resources"), (outputs, _MAX_OUTPUTS, "outputs")):
        if many > most:
            raise DesignError(
                f"the template of {design.name} would have {many:,} {what}, and CloudFormation allows {most}; split "
                "the design, or use --format terraform, cli or boto3"
            )


class TableTemplate:
    """The parts of a template that are about tables, and how others refer to them."""

    def __init__(
        self, design: Design, deployment: Deployment, checkpoints_in: Table | None, *, is_named: bool = False
    ) -> None:
        """``is_named``: the parameter Environment is never empty, so every name begins with it."""
        self.design = design
        self.checkpoints_in = checkpoints_in
        self.deployment = deployment
        self.tables = deployment.tables(design)
        self.names = logical_names(self.tables)
        self.encrypted = any(table.encryption for table in self.tables)
        self.environment = design_environment(design)
        self._is_named = is_named
        # Those whose streams ``arn`` was asked for, by parameter.
        self._others: dict[str, Table] = {}

    def logical_id(self, table: Table) -> str:
        return f"{self.names[table.name]}Table"

    # -- parameters and conditions ------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        asked = self.deployment.environment
        found: dict[str, Any] = {
            "Environment": {
                "Type": "String",
                "Default": self.environment if asked is None else asked,
                "AllowedPattern": "^([A-Za-z0-9][A-Za-z0-9_.-]*)?$",
                "ConstraintDescription": "a word such as dev or prod",
                "Description": "Prefix of the table names"
                + ("" if self.environment else "; empty for the names of the design"),
            }
        }
        if self.encrypted:
            found["KmsKeyArn"] = {
                "Type": "String",
                "Default": self.deployment.kms_key or "",
                "Description": "KMS key of the tables; empty for the AWS managed key",
            }
        capacity = self.deployment.capacity
        if capacity is not None:
            numbers = {
                "ReadCapacity": (capacity.read, "Read units of each table and index"),
                "WriteCapacity": (capacity.write, "Write units of each table and index"),
                "MaxReadCapacity": (capacity.max_read, "Maximum read units of each table and index"),
                "MaxWriteCapacity": (capacity.max_write, "Maximum write units of each table and index"),
                "TargetUtilization": (capacity.target_utilization, "Target utilization of autoscaling, in percent"),
            }
            for name, (value, description) in numbers.items():
                found[name] = {"Type": "Number", "Default": value, "MinValue": 1, "Description": description}
            found["TargetUtilization"].update(MinValue=20, MaxValue=90)
        return found

    def stream_parameters(self) -> dict[str, Any]:
        """The streams of other stacks that ``arn`` has referred to so far."""
        return {
            name: {
                "Type": "String",
                "AllowedPattern": "^arn:.+/stream/.+$",
                "Description": f"ARN of the stream of {bare_name(table.name)}, an output of the stack that has it",
            }
            for name, table in self._others.items()
        }

    def conditions(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        unnamed = {"Fn::Equals": [{"Ref": "Environment"}, ""]}
        tables = [*self.design.all_tables, *([] if self.checkpoints_in is None else [self.checkpoints_in])]
        if self._is_named:
            tables = []
        for prefix in dict.fromkeys(environment_of(table.name) for table in tables):
            same = {"Fn::Equals": [{"Ref": "Environment"}, prefix]}
            found[_is_own(prefix)] = {"Fn::Or": [same, unnamed]} if prefix else unnamed
        if self.encrypted:
            found["HasKmsKey"] = {"Fn::Not": [{"Fn::Equals": [{"Ref": "KmsKeyArn"}, ""]}]}
        return found

    def name(self, table: Table) -> dict[str, Any]:
        return self._in_environment(table, table.name, {"Fn::Sub": f"${{Environment}}-{bare_name(table.name)}"})

    def _in_environment(self, table: Table, own: Any, other: Any) -> dict[str, Any]:
        return other if self._is_named else {"Fn::If": [_is_own(environment_of(table.name)), own, other]}

    # -- tables -------------------------------------------------------------------------------------------------

    def table(self, table: Table) -> Iterator[tuple[str, Any]]:
        request = create_table(table, table.name, self.deployment)
        properties: dict[str, Any] = {
            "TableName": self.name(table),
            "BillingMode": request["BillingMode"],
            "AttributeDefinitions": request["AttributeDefinitions"],
            "KeySchema": request["KeySchema"],
        }
        throughput = {
            "ReadCapacityUnits": {"Ref": "ReadCapacity"},
            "WriteCapacityUnits": {"Ref": "WriteCapacity"},
        }
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            if member in request:
                properties[member] = request[member]
        if self.deployment.capacity is not None:
            properties["ProvisionedThroughput"] = throughput
            for index in properties.get("GlobalSecondaryIndexes", ()):
                index["ProvisionedThroughput"] = throughput
        if table.stream is not None:
            properties["StreamSpecification"] = {"StreamViewType": table.stream}
        if table.ttl is not None:
            properties["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
        if table.point_in_time_recovery:
            properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
        if table.encryption:
            properties["SSESpecification"] = {
                "SSEEnabled": True,
                "SSEType": "KMS",
                "KMSMasterKeyId": {"Fn::If": ["HasKmsKey", {"Ref": "KmsKeyArn"}, _NO_VALUE]},
            }
        if table.deletion_protection:
            properties["DeletionProtectionEnabled"] = True
        if table.tags:
            properties["Tags"] = [
                {"Key": key, "Value": self._tag(table, key, value)} for key, value in table.tags.items()
            ]
        yield (
            self.logical_id(table),
            {
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Properties": properties,
            },
        )
        if self.deployment.capacity is not None:
            yield from self._scaling(table)

    def _tag(self, table: Table, key: str, value: str) -> Any:
        return self._in_environment(table, value, {"Ref": "Environment"}) if key == "Environment" else value

    def _scaling(self, table: Table) -> Iterator[tuple[str, Any]]:
        owner = self.logical_id(table)
        for each in scaled(table):
            position = "" if each.index is None else f"Index{list(table.indexes).index(each.index) + 1}"
            name = f"{self.names[table.name]}{position}{each.kind}"
            yield (
                f"{name}Target",
                {
                    "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
                    "Properties": {
                        "ServiceNamespace": "dynamodb",
                        "ResourceId": {"Fn::Sub": each.resource(f"${{{owner}}}")},
                        "ScalableDimension": each.dimension,
                        "MinCapacity": {"Ref": f"{each.kind}Capacity"},
                        "MaxCapacity": {"Ref": f"Max{each.kind}Capacity"},
                    },
                },
            )
            yield (
                f"{name}Scaling",
                {
                    "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
                    "Properties": {
                        "PolicyName": f"{name}Scaling",
                        "PolicyType": "TargetTrackingScaling",
                        "ScalingTargetId": {"Ref": f"{name}Target"},
                        "TargetTrackingScalingPolicyConfiguration": {
                            "PredefinedMetricSpecification": {"PredefinedMetricType": each.metric},
                            "TargetValue": {"Ref": "TargetUtilization"},
                        },
                    },
                },
            )

    def outputs(self, table: Table) -> Iterator[tuple[str, Any]]:
        owner, name = self.logical_id(table), self.names[table.name]
        values: dict[str, tuple[Any, str]] = {
            "Name": ({"Ref": owner}, "Name"),
            "Arn": ({"Fn::GetAtt": [owner, "Arn"]}, "ARN"),
        }
        if table.stream is not None:
            values["StreamArn"] = ({"Fn::GetAtt": [owner, "StreamArn"]}, "ARN of the stream")
        for suffix, (value, what) in values.items():
            yield (
                f"{name}{suffix}",
                {
                    "Description": f"{what} of table {bare_name(table.name)}",
                    "Value": value,
                    "Export": {"Name": {"Fn::Sub": f"${{AWS::StackName}}-{name}{suffix}"}},
                },
            )

    # -- policies -----------------------------------------------------------------------------------------------

    def policies(self) -> Iterator[tuple[str, Any]]:
        used: set[str] = set()
        for role, grants in self._grants().items():
            if not grants:
                # IAM refuses a policy without statements.
                continue
            words = "".join(word[0].upper() + word[1:] for word in iam.words(role))
            while words in used:
                words += "X"
            used.add(words)
            yield (
                f"{words}Policy",
                {
                    "Type": "AWS::IAM::ManagedPolicy",
                    "Properties": {
                        "Description": self.policy_description(f"Permissions of {role} in {self.design.name}"),
                        "PolicyDocument": iam.document(grants, self.arn),
                    },
                },
            )

    @staticmethod
    def policy_description(text: str) -> str:
        """A text with only what IAM allows in the description of a policy."""
        return text.encode("latin-1", "replace").decode("latin-1")

    def _grants(self) -> dict[str, list[iam.Grant]]:
        return {
            **iam.all_grants(self.design, self.checkpoints_in),
            **iam.all_grants(self.design, self.checkpoints_in, [iam.MAINTENANCE]),
        }

    def arn(self, resource: iam.Resource) -> Mapping[str, Any]:
        if resource.table.name not in self.names:
            if resource.stream:
                name = f"{logical_names([resource.table])[resource.table.name]}StreamArn"
                self._others[name] = resource.table
                return {"Ref": name}
            text = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}"
            if resource.index is not None:
                text += f"/index/{resource.index}"
            return {"Fn::Sub": [text, {"Name": self.name(resource.table)}]}
        owner = self.logical_id(resource.table)
        if resource.stream:
            return {"Fn::GetAtt": [owner, "StreamArn"]}
        if resource.index is not None:
            return {"Fn::Sub": f"${{{owner}.Arn}}/index/{resource.index}"}
        return {"Fn::GetAtt": [owner, "Arn"]}


def _is_own(environment: str) -> str:
    return f"Is{''.join(character for character in environment.title() if character.isalnum())}" + (
        "" if environment else "Unnamed"
    )
