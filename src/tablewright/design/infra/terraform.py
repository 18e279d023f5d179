"""A design as Terraform configuration, in its JSON syntax (``main.tf.json``), for the AWS provider.

The variable ``environment`` is the prefix of the table names; its default gives the names of the design. Names, ARNs
and streams are outputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tablewright.design.infra.table_requests import Deployment, Scaled, create_table, scaled
from tablewright.design.table_names import bare_name, check_names, design_environment, environment_of
from tablewright.model import Design, Table

__all__ = ["terraform_configuration"]

# The version of the provider, and the one that knows index keys of several attributes.
_PROVIDER, _COMPOSITE_KEYS = "5.0", "6.29"
_ACTUAL = {"ReadCapacityUnits": "read_capacity", "WriteCapacityUnits": "write_capacity"}


def terraform_configuration(design: Design, deployment: Deployment) -> dict[str, Any]:
    """The configuration of a design."""
    check_names(design)
    tables = deployment.tables(design)
    labels = _labels(tables)
    resources: dict[str, dict[str, Any]] = {"aws_dynamodb_table": {}}
    outputs: dict[str, Any] = {}
    for table in tables:
        label = labels[table.name]
        resources["aws_dynamodb_table"][label] = _table(table, deployment)
        outputs[f"{label}_name"] = {"value": f"${{aws_dynamodb_table.{label}.name}}"}
        outputs[f"{label}_arn"] = {"value": f"${{aws_dynamodb_table.{label}.arn}}"}
        if table.stream is not None:
            outputs[f"{label}_stream_arn"] = {"value": f"${{aws_dynamodb_table.{label}.stream_arn}}"}
        if deployment.capacity is not None:
            for each in scaled(table):
                name, target, policy = _scaling(table, label, each, deployment)
                resources.setdefault("aws_appautoscaling_target", {})[name] = target
                resources.setdefault("aws_appautoscaling_policy", {})[name] = policy
    asked = deployment.environment
    variables: dict[str, Any] = {
        "environment": {
            "type": "string",
            "default": design_environment(design) if asked is None else asked,
            "description": "Prefix of the table names",
        },
        "region": {"type": "string", "default": deployment.region},
    }
    if any(table.encryption for table in tables):
        variables["kms_key_arn"] = {
            "type": "string",
            "default": deployment.kms_key,
            "nullable": True,
            "description": "KMS key of the tables; null for the AWS managed key",
        }
    composite = any(max(len(index.partition), len(index.sort)) > 1 for table in tables for index in table.indexes)
    version = _COMPOSITE_KEYS if composite else _PROVIDER
    return {
        "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": f">= {version}"}}},
        "provider": {"aws": {"region": "${var.region}"}},
        "variable": variables,
        "resource": resources,
        "output": outputs,
    }


def _labels(tables: Sequence[Table]) -> dict[str, str]:
    found: dict[str, str] = {}
    for table in tables:
        label = re.sub(r"[^a-z0-9]+", "_", _spaced(bare_name(table.name)).lower()).strip("_") or "table"
        label = label if label[0].isalpha() else f"table_{label}"
        while label in found.values():
            label += "_"
        found[table.name] = label
    return found


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)


def _literal(value: Any) -> Any:
    """Escapes text: in Terraform's JSON every string is a template, names of members included."""
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, dict):
        return {_literal(name): _literal(member) for name, member in value.items()}
    return [_literal(member) for member in value] if isinstance(value, list) else value


def _quoted(text: str) -> str:
    """A string inside of an expression."""
    return json.dumps(_literal(text), ensure_ascii=False)


def _in_environment(table: Table, own: str, other: str) -> str:
    """An expression: one string in the design's own environment, another one elsewhere."""
    environment = environment_of(table.name)
    choices = sorted({_quoted(environment), '""'}, reverse=True)
    return f"${{contains([{', '.join(choices)}], var.environment) ? {_quoted(own)} : {other}}}"


def _table(table: Table, deployment: Deployment) -> dict[str, Any]:
    request = _literal(create_table(table, table.name, deployment))
    found: dict[str, Any] = {
        "name": _in_environment(table, table.name, json.dumps(f"${{var.environment}}-{bare_name(table.name)}")),
        "billing_mode": request["BillingMode"],
        "hash_key": _literal(table.partition),
    }
    if table.sort is not None:
        found["range_key"] = _literal(table.sort)
    if deployment.capacity is not None:
        found.update(read_capacity=deployment.capacity.read, write_capacity=deployment.capacity.write)
    found["attribute"] = [
        {"name": each["AttributeName"], "type": each["AttributeType"]} for each in request["AttributeDefinitions"]
    ]
    for member, block in (
        ("GlobalSecondaryIndexes", "global_secondary_index"),
        ("LocalSecondaryIndexes", "local_secondary_index"),
    ):
        if member in request:
            found[block] = [_index(each, block) for each in request[member]]
    if table.stream is not None:
        found.update(stream_enabled=True, stream_view_type=table.stream)
    if table.ttl is not None:
        found["ttl"] = {"attribute_name": _literal(table.ttl), "enabled": True}
    if table.point_in_time_recovery:
        found["point_in_time_recovery"] = {"enabled": True}
    if table.encryption:
        found["server_side_encryption"] = {"enabled": True, "kms_key_arn": "${var.kms_key_arn}"}
    if table.deletion_protection:
        found["deletion_protection_enabled"] = True
    if table.tags:
        found["tags"] = {
            _literal(key): _in_environment(table, value, "var.environment") if key == "Environment" else _literal(value)
            for key, value in table.tags.items()
        }
    if deployment.capacity is not None:
        # Scaling changes these, and Terraform must not change them back.
        found["lifecycle"] = {"ignore_changes": ["read_capacity", "write_capacity"]}
        if any(index.is_global for index in table.indexes):
            found["lifecycle"]["ignore_changes"].append("global_secondary_index")
    return found


def _index(definition: dict[str, Any], block: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": definition["IndexName"]}
    by_kind: dict[str, list[str]] = {"HASH": [], "RANGE": []}
    for each in definition["KeySchema"]:
        by_kind[each["KeyType"]].append(each["AttributeName"])
    if any(len(names) > 1 for names in by_kind.values()):
        # A key of several attributes has a form of its own.
        found["key_schema"] = [
            {"attribute_name": each["AttributeName"], "key_type": each["KeyType"]} for each in definition["KeySchema"]
        ]
    else:
        if block == "global_secondary_index":
            found["hash_key"] = by_kind["HASH"][0]
        if by_kind["RANGE"]:
            found["range_key"] = by_kind["RANGE"][0]
    found["projection_type"] = definition["Projection"]["ProjectionType"]
    if "NonKeyAttributes" in definition["Projection"]:
        found["non_key_attributes"] = definition["Projection"]["NonKeyAttributes"]
    for unit, value in definition.get("ProvisionedThroughput", {}).items():
        found[_ACTUAL[unit]] = value
    return found


def _scaling(
    table: Table, label: str, each: Scaled, deployment: Deployment
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    capacity = deployment.capacity
    assert capacity is not None
    position = "" if each.index is None else f"_index_{list(table.indexes).index(each.index) + 1}"
    name = f"{label}{position}_{each.kind.lower()}"
    reads = each.kind == "Read"
    target = {
        "service_namespace": "dynamodb",
        "resource_id": each.resource(f"${{aws_dynamodb_table.{label}.name}}"),
        "scalable_dimension": each.dimension,
        "min_capacity": capacity.read if reads else capacity.write,
        "max_capacity": capacity.max_read if reads else capacity.max_write,
    }
    place = f"aws_appautoscaling_target.{name}"
    policy = {
        "name": name,
        "policy_type": "TargetTrackingScaling",
        "resource_id": f"${{{place}.resource_id}}",
        "scalable_dimension": f"${{{place}.scalable_dimension}}",
        "service_namespace": f"${{{place}.service_namespace}}",
        "target_tracking_scaling_policy_configuration": {
            "predefined_metric_specification": {"predefined_metric_type": each.metric},
            "target_value": capacity.target_utilization,
        },
    }
    return name, target, policy
