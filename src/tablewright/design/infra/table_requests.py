"""What a design is made of in an account: tables, with the requests that make them.

    requests(design, Deployment(environment="dev"))     CreateTable, UpdateTimeToLive, ..., in their order

``cloudformation``, ``terraform``, ``aws_cli`` and ``boto3_script`` write the same down, each in its own language.

An environment is part of a table's name. Where the name begins with one (``poc-itsm-tickets``), another takes its
place (``dev-itsm-tickets``); where it does not (``Candidates``), one is put before it (``dev-Candidates``). Without
one, names are as the design has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.design.design_loading import DesignError
from tablewright.model import Design, Index, Table

__all__ = ["Capacity", "Deployment", "Request", "bare_name", "environment_of", "requests", "table_name"]

DEFAULT_REGION = "us-east-1"
_ENVIRONMENTS = ("poc", "dev", "development", "test", "qa", "uat", "staging", "stage", "demo", "preprod", "prod")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+){1,3}-[0-9]{1,2}")
_KMS_KEY = re.compile(r"arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[A-Za-z0-9/_-]+")
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Capacity:
    """Provisioned capacity of each table and index, and how far it is scaled, towards ``target`` percent of use."""

    read: int
    write: int
    max_read: int
    max_write: int
    target: int = 70

    def __post_init__(self) -> None:
        for least, most, what in ((self.read, self.max_read, "read"), (self.write, self.max_write, "write")):
            if not 1 <= least <= most:
                raise DesignError(f"{what} capacity is at least 1, and scaled to no less than that: {least} to {most}")
        if not 20 <= self.target <= 90:
            raise DesignError(f"the target of scaling is from 20 to 90 percent, not {self.target}")


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where and how a design is set up; without capacity, tables are paid on demand."""

    environment: str | None = None
    region: str = DEFAULT_REGION
    capacity: Capacity | None = None
    # The key that encrypts tables for which the design asks for encryption; without one, Amazon's for the account.
    kms_key: str | None = None

    def __post_init__(self) -> None:
        check_place(self.region, self.environment)
        if self.kms_key is not None and not _KMS_KEY.fullmatch(self.kms_key):
            raise DesignError(
                "a key is named by its ARN, such as arn:aws:kms:us-east-1:123456789012:key/..., not "
                f"{self.kms_key!r}; aws kms describe-key tells it"
            )


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a service, in its own shape."""

    service: str
    operation: str
    body: dict[str, Any]


# -- names ----------------------------------------------------------------------------------------------------------


def environment_of(name: str) -> str:
    """The environment that a table's name begins with; empty where it begins with none."""
    first, dash, _ = name.partition("-")
    return first if dash and first.lower() in _ENVIRONMENTS else ""


def bare_name(name: str) -> str:
    """A table's name without its environment."""
    environment = environment_of(name)
    return name[len(environment) + 1 :] if environment else name


def table_name(table: Table, environment: str | None) -> str:
    """The name of a table in an environment; None: the one that the design says."""
    if environment is None or environment == environment_of(table.name):
        return table.name
    name = f"{environment}-{bare_name(table.name)}"
    if len(name) > _LONGEST_NAME:
        raise DesignError(
            f"a name of a table has at most {_LONGEST_NAME} characters, and {name} more; shorten one part"
        )
    return name


def check_place(region: str, environment: str | None) -> None:
    """Refuses what is no region, and no word that a name can begin with."""
    if not _REGION.fullmatch(region):
        raise DesignError(f"a region is one of Amazon's, such as us-east-1 or eu-central-1, not {region!r}")
    if environment is not None and not _ENVIRONMENT.fullmatch(environment):
        raise DesignError(f"an environment is a word such as dev or prod, not {environment!r}")


def check_names(design: Design) -> None:
    """Refuses tables that would have the same name in another environment."""
    found: dict[str, str] = {}
    for table in design.tables:
        other = found.setdefault(bare_name(table.name), table.name)
        if other != table.name:
            raise DesignError(
                f"{design.name}: {other} and {table.name} would have the same name in another environment; rename one "
                "of them, as what they begin with is taken for an environment"
            )


def design_environment(design: Design) -> str:
    """The environment that the design's own names are of; empty where they are of none, or of several."""
    found = {environment_of(table.name) for table in design.tables}
    return found.pop() if len(found) == 1 else ""


def logical_names(tables: Sequence[Table]) -> dict[str, str]:
    """A name of letters and digits for each table, by the table's name."""
    found: dict[str, str] = {}
    for table in tables:
        words = re.findall(r"[A-Za-z0-9]+", bare_name(table.name))
        name = "".join(word[0].upper() + word[1:] for word in words) or "Table"
        while name in found.values():
            name += "X"
        found[table.name] = name
    return found


# -- requests -------------------------------------------------------------------------------------------------------


def requests(design: Design, deployment: Deployment) -> list[Request]:
    """What makes the tables of a design, in order: each table is there before what is asked of it further."""
    if deployment.environment is not None:
        check_names(design)
    return [request for table in design.tables for request in table_requests(table, deployment)]


def table_requests(table: Table, deployment: Deployment) -> Iterator[Request]:
    name = table_name(table, deployment.environment)
    yield Request("dynamodb", "CreateTable", create_table(table, name, deployment))
    if table.ttl is not None:
        specification = {"AttributeName": table.ttl, "Enabled": True}
        yield Request("dynamodb", "UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification})
    if table.point_in_time_recovery:
        body = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
        yield Request("dynamodb", "UpdateContinuousBackups", body)
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
    """The tags of a table; one that names the environment follows it."""
    tags = dict(table.tags)
    if "Environment" in tags and environment is not None and environment != environment_of(table.name):
        tags["Environment"] = environment
    return tags


# -- scaling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scaled:
    """Something whose capacity is scaled: the reads or the writes of a table or an index."""

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
    """All that has a capacity of its own: the table and its global indexes."""
    owners = [None, *(index for index in table.indexes if index.is_global)]
    return [Scaled(index, kind) for index in owners for kind in ("Read", "Write")]


def _scaling(table: Table, name: str, capacity: Capacity) -> Iterator[Request]:
    service = "application-autoscaling"
    for each in scaled(table):
        place = {
            "ServiceNamespace": "dynamodb",
            "ResourceId": each.resource(name),
            "ScalableDimension": each.dimension,
        }
        reads = each.kind == "Read"
        yield Request(
            service,
            "RegisterScalableTarget",
            {
                **place,
                "MinCapacity": capacity.read if reads else capacity.write,
                "MaxCapacity": capacity.max_read if reads else capacity.max_write,
            },
        )
        yield Request(
            service,
            "PutScalingPolicy",
            {
                "PolicyName": f"{each.resource(name)}-{each.kind.lower()}",
                **place,
                "PolicyType": "TargetTrackingScaling",
                "TargetTrackingScalingPolicyConfiguration": {
                    "PredefinedMetricSpecification": {"PredefinedMetricType": each.metric},
                    "TargetValue": float(capacity.target),
                },
            },
        )
