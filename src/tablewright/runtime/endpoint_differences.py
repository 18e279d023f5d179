"""Features of DynamoDB that an endpoint lacks, found before tables are created, with requests that change nothing.

    a request for each capability that some table needs ──▶ UnknownOperationException: the endpoint lacks it
                                                            any other response: it has it, or does not allow it

    transactions, streams, isolated writes                 required: SettingsError, before there is a table
    time to live, recovery, tags, 100 actions              not required: one warning in the log for each

``tablewright check`` tests much more, in tables of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.model import Table
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.settings import SettingsError
from tablewright.runtime.system import Runtime, System
from tablewright.store import Request, ServiceError

__all__ = ["EndpointDifference", "check_differences", "differences_of"]

_PATTERN = "differences"
_ADVICE = "`tablewright check --endpoint URL DESIGN` prints everything that it cannot do for a design"
# DynamoDB has room for so many actions in a transaction.
_ACTIONS = 100
# No table of a system has this name.
_NO_TABLE = "tablewright-no-such-table"
# ScyllaDB shows its configuration as a table; no other endpoint has one of this name.
_SCYLLA_CONFIGURATION = ".scylla.alternator.system.config"
_ISOLATION = "alternator_write_isolation"
_ISOLATED = ("a", "always", "always_use_lwt")
_ISOLATED_IF_CONDITIONAL = ("o", "only_rmw_uses_lwt")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EndpointDifference:
    """A feature that an endpoint lacks, or implements differently: what that means, and what to do."""

    text: str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class _Capability:
    """A capability: which tables need it, and a request that reads, or is refused whatever there is."""

    name: str
    operation: str
    body: Callable[[str], dict[str, Any]]
    needed_by: Callable[[Table], object]
    # What follows where it is missing; ``{}`` stands for the systems.
    consequence: str
    is_required: bool = False


_CAPABILITIES = (
    _Capability(
        "transactions",
        "TransactWriteItems",
        # Refused by an endpoint that knows the operation.
        lambda table: {"TransactItems": []},
        lambda table: True,
        ", which idempotent requests, events and consumers need: {} cannot run there",
        is_required=True,
    ),
    _Capability(
        "streams",
        "ListStreams",
        lambda table: {"TableName": table, "Limit": 1},
        lambda table: table.stream,
        ", which consumers, live views and search read: {} cannot run there",
        is_required=True,
    ),
    _Capability(
        "time to live",
        "DescribeTimeToLive",
        lambda table: {"TableName": table},
        lambda table: table.ttl,
        ": expired items of {} are not returned, but stay in the tables; delete them yourself from time to time",
    ),
    _Capability(
        "point-in-time recovery",
        "DescribeContinuousBackups",
        lambda table: {"TableName": table},
        lambda table: table.point_in_time_recovery,
        ": tables of {} cannot be restored to an earlier moment; back them up with the endpoint's own tools, or with "
        "`tablewright copy`",
    ),
    _Capability(
        "tags",
        "ListTagsOfResource",
        lambda table: {"ResourceArn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"},
        lambda table: table.tags,
        ": tables of {} are not tagged; label them with the endpoint's own tools if you need to",
    ),
)


async def check_differences(runtime: Runtime, systems: Sequence[System]) -> None:
    """Log what an endpoint lacks; SettingsError if systems cannot work without it."""
    found = await differences_of(runtime, systems)
    for difference in found:
        if not difference.is_required:
            _log.warning(difference.text)
    required = [difference.text for difference in found if difference.is_required]
    if required:
        raise SettingsError(f"{'; '.join(required)}; use another endpoint, or change its configuration; {_ADVICE}")


async def differences_of(runtime: Runtime, systems: Sequence[System]) -> list[EndpointDifference]:
    """What an endpoint lacks of what the tables of the systems need."""
    found = await asyncio.gather(
        *(_missing(runtime, systems, capability) for capability in _CAPABILITIES),
        _isolation(runtime),
        _large_transactions(runtime),
    )
    return [difference for difference in found if difference is not None]


async def _missing(runtime: Runtime, systems: Sequence[System], capability: _Capability) -> EndpointDifference | None:
    titles = [
        system.title
        for system in systems
        if any(capability.needed_by(table) for table in (events_table, internal_table, *system.design.all_tables))
    ]
    if not titles:
        return None
    error = await _error(runtime, capability.operation, capability.body(runtime.store.context.name_of(internal_table)))
    if error is None or not error.is_missing_operation:
        return None
    text = (
        f"the endpoint has no {capability.name} ({capability.operation}){capability.consequence.format(_all(titles))}"
    )
    return EndpointDifference(text, capability.is_required)


async def _isolation(runtime: Runtime) -> EndpointDifference | None:
    """How ScyllaDB isolates writes, if the endpoint is that: a setting without a default."""
    body = {
        "TableName": _SCYLLA_CONFIGURATION,
        "KeyConditionExpression": "#name = :name",
        "ExpressionAttributeNames": {"#name": "name"},
        "ExpressionAttributeValues": {":name": {"S": _ISOLATION}},
    }
    try:
        response = await runtime.store.backend.call_async(Request("Query", body, _PATTERN))
        setting = str(response["Items"][0]["value"]["S"]).strip('"')
    except (ServiceError, LookupError, TypeError):
        return None
    if setting in _ISOLATED:
        return None
    advice = f"set {_ISOLATION}: always_use_lwt"
    if setting in _ISOLATED_IF_CONDITIONAL:
        return EndpointDifference(
            f"the endpoint isolates only writes with a condition ({_ISOLATION}: {setting}): one without a condition "
            f"may be lost if another writes the same item at the same time; {advice}"
        )
    return EndpointDifference(
        f"the endpoint does not isolate writes with a condition from each other, or refuses them ({_ISOLATION}: "
        f"{setting}): {advice}",
        is_required=True,
    )


async def _large_transactions(runtime: Runtime) -> EndpointDifference | None:
    """Whether there is room for as many actions as DynamoDB has, by a transaction that reads from no table."""
    keys = [{"PK": {"S": str(number)}, "SK": {"S": "-"}} for number in range(_ACTIONS)]
    body = {"TransactItems": [{"Get": {"TableName": _NO_TABLE, "Key": key}} for key in keys]}
    error = await _error(runtime, "TransactGetItems", body)
    # As DynamoDB says it of its own limit.
    if error is None or error.code != "ValidationException" or "less than or equal to" not in error.message:
        return None
    return EndpointDifference(
        f"transactions of the endpoint allow fewer actions than DynamoDB's {_ACTIONS}: larger writes are refused; use "
        f"a newer version of the endpoint"
    )


async def _error(runtime: Runtime, operation: str, body: dict[str, Any]) -> ServiceError | None:
    """The error of a request, or None. A failed connection is no difference: the next request reports it."""
    try:
        await runtime.store.backend.call_async(Request(operation, body, _PATTERN))
    except ServiceError as error:
        return error
    return None


def _all(titles: Sequence[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
