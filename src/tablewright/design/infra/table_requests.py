"""The requests that create the tables of a design in an AWS account.

    requests(design, Deployment(environment="dev"))     CreateTable, UpdateTimeToLive, ..., in their order

``cloudformation``, ``terraform``, ``aws_cli`` and ``boto3_script`` express the same, each in its own language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tablewright.design.design_loading import DesignError
from tablewright.design.table_names import check_names, check_place, environment_of, table_name
from tablewright.model import Design, Index, Table

__all__ = [
    "DEFAULT_REGION",
    "AwsRequest",
    "Deployment",
    "ProvisionedCapacity",
    "Scaled",
    "create_table",
    "requests",
    "scaled",
    "table_requests",
    "tags_of",
]

DEFAULT_REGION = "us-east-1"
_KMS_KEY = re.compile(r"arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[A-Za-z0-9/_-]+")


@dataclass(frozen=True, slots=True)
class ProvisionedCapacity:
    """Provisioned capacity of each table and index, and the maximum and target utilization of autoscaling."""

    read: int
    write: int
    max_read: int
    max_write: int
    target_utilization: int = 70

    def __post_init__(self) -> None:
        for least, most, what in ((self.read, self.max_read, "read"), (self.write, self.max_write, "write")):
            if not 1 <= least <= most:
                raise DesignError(f"{what} capacity must be at least 1, and its maximum no less: {least} to {most}")
        if not 20 <= self.target_utilization <= 90:
            raise DesignError(f"the target utilization must be from 20 to 90 percent, not {self.target_utilization}")


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where and how a design is deployed; without capacity, tables are billed on demand."""

    environment: str | None = None
    region: str = DEFAULT_REGION
    capacity: ProvisionedCapacity | None = None
    # The KMS key of tables that the design declares as encrypted; None for the AWS managed key.
    kms_key: str | None = None
    # Whether the internal tables are created as well: not where another design has created them, which may share them.
    internal_tables: bool = True

    def __post_init__(self) -> None:
        check_place(self.region, self.environment)
        if self.kms_key is not None and not _KMS_KEY.fullmatch(self.kms_key):
            raise DesignError(
                f"{self.kms_key!r} is not the ARN of a KMS key, such as arn:aws:kms:us-east-1:123456789012:key/...; "
                "aws kms describe-key prints it"
            )

    def tables(self, design: Design) -> tuple[Table, ...]:
        """The tables of a design that are created."""
        return design.all_tables if self.internal_tables else design.tables


@dataclass(frozen=True, slots=True)
class AwsRequest:
    """A request to an AWS service, as its API expects it."""

    service: str
    operation: str
    body: dict[str, Any]


# -- requests -------------------------------------------------------------------------------------------------------


def requests(design: Design, deployment: Deployment) -> list[AwsRequest]:
    """The requests that create the tables of a design, in order."""
    if deployment.environment is not None:
        check_names(design)
    return [request for table in deployment.tables(design) for request in table_requests(table, deployment)]


def table_requests(table: Table, deployment: Deployment) -> Iterator[AwsRequest]:
    name = table_name(table, deployment.environment)
    yield AwsRequest("dynamodb", "CreateTable", create_table(table, name, deployment))
    if table.ttl is not None:
        specification = {"AttributeName": table.ttl, "Enabled": True}
        yield AwsRequest("dynamodb", "UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification})
    if table.point_in_time_recovery:
        body = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
        yield AwsRequest("dynamodb", "UpdateContinuousBackups", body)
    if deployment.capacity is not None:
        yield from _scaling(table, name, deployment.capacity)


def create_table(table: Table, name: str, deployment: Deployment) -> dict[str, Any]:
    """The CreateTable request of a deployment."""
    request = table.create_request(name)
    if deployment.capacity is not None:
        request["BillingMode"] = "PROVISIONED"
        throughput = {
            "ReadCapacityUnits": deployment.capacity.read,
            "WriteCapacityUnits": deployment.capacity.write,
        }
        request["ProvisionedThroughput"] = throughput
        for index in request.get("GlobalSecondaryIndexes", ()):
            index["ProvisionedThroughput"] = dict(throughput)
    if table.encryption:
        request["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"}
        if deployment.kms_key is not None:
            request["SSESpecification"]["KMSMasterKeyId"] = deployment.kms_key
    tags = tags_of(table, deployment.environment)
    if tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return request


def tags_of(table: Table, environment: str | None) -> dict[str, str]:
    """The tags of a table; the tag ``Environment`` has the environment."""
    tags = dict(table.tags)
    if "Environment" in tags and environment is not None and environment != environment_of(table.name):
        tags["Environment"] = environment
    return tags


# -- scaling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scaled:
    """A scalable target: the read or write capacity of a table or an index."""

    index: Index | None
    kind: str

    @property
    def dimension(self) -> str:
        return f"dynamodb:{'table' if self.index is None else 'index'}:{self.kind}CapacityUnits"

    @property
    def metric(self) -> str:
        return f"DynamoDB{self.kind}CapacityUtilization"

    def resource(self, table_name: str) -> str:
        return f"table/{table_name}" + ("" if self.index is None else f"/index/{self.index.name}")


def scaled(table: Table) -> list[Scaled]:
    """Everything with capacity of its own: the table and its global indexes."""
    owners = [None, *(index for index in table.indexes if index.is_global)]
    return [Scaled(index, kind) for index in owners for kind in ("Read", "Write")]


def _scaling(table: Table, name: str, capacity: ProvisionedCapacity) -> Iterator[AwsRequest]:
    service = "application-autoscaling"
    for each in scaled(table):
        place = {
            "ServiceNamespace": "dynamodb",
            "ResourceId": each.resource(name),
            "ScalableDimension": each.dimension,
        }
        reads = each.kind == "Read"
        yield AwsRequest(
            service,
            "RegisterScalableTarget",
            {
                **place,
                "MinCapacity": capacity.read if reads else capacity.write,
                "MaxCapacity": capacity.max_read if reads else capacity.max_write,
            },
        )
        yield AwsRequest(
            service,
            "PutScalingPolicy",
            {
                "PolicyName": f"{each.resource(name)}-{each.kind.lower()}",
                **place,
                "PolicyType": "TargetTrackingScaling",
                "TargetTrackingScalingPolicyConfiguration": {
                    "PredefinedMetricSpecification": {"PredefinedMetricType": each.metric},
                    "TargetValue": float(capacity.target_utilization),
                },
            },
        )
