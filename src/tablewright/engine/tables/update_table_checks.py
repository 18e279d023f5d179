"""The rules of an UpdateTable request on its own, before the table is read.

UpdateTable makes one change at a time. Encryption, table class, deletion protection and warm throughput each need a
separate request; a stream or an index cannot change together with the provisioned throughput. What can be combined: a
billing mode with the throughput that it needs, with ceilings for on-demand use or with a stream, and index updates with
most of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tablewright.dynamo import ValidationException
from tablewright.engine.tables.table_checks import (
    ON_DEMAND,
    PROVISIONED,
    Definition,
    check_capacity_bounds,
    check_defined,
    check_encryption,
    check_global_index,
    check_stream,
    invalid,
    key_names,
)

_CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "TableClass",
)
# The service's own list, with members that no request has.
_NAMED_CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "UpdateStreamEnabled",
    "GlobalSecondaryIndexUpdates",
    "SSESpecification",
    "ReplicaUpdates",
    "MultiAccountReplicaReady",
    "ReplicaTransitRoleArn",
    "MultiRegionConsistency",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "TableClass",
)
_NOT_SUPPORTED = (
    "ReplicaUpdates",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
    "VectorIndexUpdates",
)
# In the order in which they are named when there are several.
_ALONE = (
    ("SSESpecification", "Server-Side Encryption modification"),
    ("TableClass", "TableClass modification"),
    ("DeletionProtectionEnabled", "DeletionProtection modification"),
)
_ACTIONS = ("Update", "Create", "Delete")


def without_empty(request: dict[str, Any]) -> dict[str, Any]:
    """The request without throughputs that have no members."""
    return {
        member: value
        for member, value in request.items()
        if value != {} or member not in ("OnDemandThroughput", "WarmThroughput")
    }


def check_update(request: Definition) -> None:
    for member in _NOT_SUPPORTED:
        if member in request:
            raise invalid(f"Tablewright does not support {member}")
    updates = request.get("GlobalSecondaryIndexUpdates")
    changes = [member for member in _CHANGES if member in request and request[member] != []]
    if not changes:
        *listed, last = (member for member in _NAMED_CHANGES if member not in request or member in _CHANGES)
        raise ValidationException(f"At least one of {', '.join(listed)} or {last} is required")
    if updates == []:
        raise invalid("List of GlobalSecondaryIndexUpdates is empty")
    _check_actions(updates or ())
    creates = [update["Create"] for update in updates or () if "Create" in update]
    deletes = [update["Delete"] for update in updates or () if "Delete" in update]
    _check_combination(changes, request, bool(creates), bool(deletes))
    _check_billing(request)
    check_stream(
        request.get("StreamSpecification"),
        required="If stream is being enabled then UpdateViewType is required",
        refused="If stream is being disabled, then UpdateViewType must not be specified",
    )
    check_encryption(request.get("SSESpecification"))
    for index in creates:
        _check_created_index(index, request.get("AttributeDefinitions"))


def _check_combination(changes: list[str], request: Definition, creates: bool, deletes: bool) -> None:
    several = len(changes) > 1
    for member, what in _ALONE:
        if several and member in changes:
            raise invalid(f"{what} must be the only operation in the request")
    stream, throughput = "StreamSpecification" in changes, "ProvisionedThroughput" in changes
    if "OnDemandThroughput" in changes and (stream or "WarmThroughput" in changes):
        raise invalid("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")
    if "WarmThroughput" in changes:
        if creates:
            raise invalid("Create global secondary index cannot be specified when updating WarmThroughput")
        if deletes or any(c not in ("WarmThroughput", "GlobalSecondaryIndexUpdates") for c in changes):
            raise invalid("WarmThroughput must be the only operation in the request")
    if stream and (throughput or request.get("BillingMode") == PROVISIONED):
        raise invalid("You cannot modify stream status while updating table IOPS")
    if creates or deletes:
        if throughput:
            raise invalid("You cannot create or delete index while updating table IOPS")
        if stream:
            raise invalid("You cannot create or delete index while changing stream status")


def _check_actions(updates: Iterable[Definition]) -> None:
    seen: set[str] = set()
    for update in updates:
        actions = [action for action in _ACTIONS if action in update]
        if not actions:
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(actions) > 1:
            raise invalid("Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
        action = update[actions[0]]
        name = action["IndexName"]
        if name in seen:
            raise invalid(f"Only one global secondary index update per index is allowed simultaneously. Index: {name}")
        seen.add(name)
        if actions == ["Update"] and action.get("WarmThroughput") == {}:
            raise invalid(
                "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond "
                f"specified for index: {name}"
            )


def _check_billing(request: Definition) -> None:
    throughput, billing = request.get("ProvisionedThroughput"), request.get("BillingMode")
    if billing == ON_DEMAND and throughput is not None:
        raise invalid(f"ProvisionedThroughput cannot be specified when BillingMode is {ON_DEMAND}")
    if billing == PROVISIONED and throughput is None:
        raise invalid(f"ProvisionedThroughput must be specified when BillingMode is {PROVISIONED}")
    if throughput is not None:
        check_capacity_bounds(throughput)


def _check_created_index(index: Definition, definitions: Iterable[Definition] | None) -> None:
    """A new index's key attributes are defined in the request, even those that the table has already."""
    if not definitions:
        raise invalid(f"AttributeDefinitions is not specified for index: {index['IndexName']}")
    check_defined(key_names(index["KeySchema"]), [definition["AttributeName"] for definition in definitions])
    check_global_index(index)


def check_not_redefined(stored: Definition, index: Definition, definitions: Iterable[Definition]) -> None:
    """A new index's key attributes keep their present types. (Other definitions are not checked.)"""
    known = {definition["AttributeName"]: definition["AttributeType"] for definition in stored["AttributeDefinitions"]}
    given = {definition["AttributeName"]: definition["AttributeType"] for definition in definitions}
    for name in key_names(index["KeySchema"]):
        if name in known and given[name] != known[name]:
            holders = [stored, *stored.get("GlobalSecondaryIndexes", ()), *stored.get("LocalSecondaryIndexes", ())]
            existing = next(holder["KeySchema"] for holder in holders if name in key_names(holder["KeySchema"]))
            raise invalid(
                "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
                f"defined. Existing schema: {_shown(existing, known)} New schema: {_shown(index['KeySchema'], given)}"
            )


def _shown(key: Iterable[Definition], types: Mapping[str, str]) -> str:
    elements = (f"key{{{e['AttributeName']}:{types[e['AttributeName']]}:{e['KeyType']}}}" for e in key)
    return f"Schema:[{', '.join(f'SchemaElement: {element}' for element in elements)}]"
