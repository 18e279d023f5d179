"""The account: DescribeLimits and DescribeEndpoints."""

from __future__ import annotations

from typing import Any

from tablewright.engine.database import Database
from tablewright.engine.tables.table_checks import TABLE_CAPACITY

_ACCOUNT_CAPACITY = 80_000
_ENDPOINT_MINUTES = 1440


def describe_limits(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    return {
        "AccountMaxReadCapacityUnits": _ACCOUNT_CAPACITY,
        "AccountMaxWriteCapacityUnits": _ACCOUNT_CAPACITY,
        "TableMaxReadCapacityUnits": TABLE_CAPACITY,
        "TableMaxWriteCapacityUnits": TABLE_CAPACITY,
    }


def describe_endpoints(db: Database, request: dict[str, Any]) -> dict[str, Any]:
    return {
        "Endpoints": [{"Address": f"dynamodb.{db.region}.amazonaws.com", "CachePeriodInMinutes": _ENDPOINT_MINUTES}]
    }
