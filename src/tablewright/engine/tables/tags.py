"""Tags of tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tablewright.dynamo import AccessDeniedException, ResourceNotFoundException, ValidationException
from tablewright.engine.database import Database
from tablewright.engine.tables.table_checks import (
    check_tag_count,
    check_tag_key,
    invalid,
    merged_tags,
)
from tablewright.engine.tables.table_schema import Table

_OTHER_SERVICE = re.compile(r"arn:[^:]+:(?!dynamodb:)[^:]+:[^:]*:[^:]*:.")
_ARN = re.compile(r"arn:[^:]+:dynamodb:([^:]*):([^:]*):table/([^/]+)(?:/(stream|index)/.+)?", re.ASCII)


def tag_resource(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    arn = _checked_arn(db, request)
    tags = _member(request, "Tags")
    if not tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    merged_tags({}, tags)
    table = _tagged_table(db, arn)
    _set_tags(db, table, merged_tags(table.tags, tags))
    return {}


def untag_resource(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    arn = _checked_arn(db, request)
    keys = _member(request, "TagKeys")
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    for key in keys:
        check_tag_key(key)
    check_tag_count(keys)
    table = _tagged_table(db, arn)
    _set_tags(db, table, {key: value for key, value in table.tags.items() if key not in keys})
    return {}


def list_tags_of_resource(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    """All tags: the limit of 50 is so low that the service never pages them."""
    table = _tagged_table(db, _checked_arn(db, request))
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}


def _set_tags(db: Database, table: Table, tags: dict[str, str]) -> None:
    if tags != table.tags:
        db.save_table(replace(table, tags=tags))


def _member(request: dict[str, Any], name: str) -> list[Any]:
    if name not in request:
        member = name[0].lower() + name[1:]
        raise ValidationException(
            f"1 validation error detected: Value null at '{member}' failed to satisfy constraint: "
            "Member must not be null"
        )
    given: list[Any] = request[name]
    return given


def _checked_arn(db: Database, request: dict[str, Any]) -> str:
    arn: str = request.get("ResourceArn", "")
    if not arn:
        raise ValidationException("Invalid TableArn")
    if not arn.startswith("arn:"):
        raise invalid(f"ARNs must start with 'arn:': {arn}")
    if _OTHER_SERVICE.match(arn):
        # Permission is checked before the value.
        raise AccessDeniedException("Access is denied")
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise invalid(f"Provided Arn is not a DynamoDB resource arn: {arn}")
    region, account, _, kind = parts.groups()
    if kind == "index":
        raise invalid(f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}")
    if account != db.account:
        raise AccessDeniedException("Access is denied")
    if region != db.region:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    return arn


def _tagged_table(db: Database, arn: str) -> Table:
    table = db.tables.get(arn.rpartition(":table/")[2])
    if table is None:
        raise ResourceNotFoundException(f"Requested resource not found: ResourceArn: {arn} not found")
    return table
