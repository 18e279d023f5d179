"""UpdateTable.

A change is made on two copies of the table's description: ``stored``, which replaces it, and ``response``, which is
returned. Most changes are complete at once, but the response is the one that the service returns while it is still
working: UPDATING, and often the previous values. Nothing is written until the whole request has passed its checks.

    check_update ──▶ find the table ──▶ changes to stored and response ──▶ SQL tables, stream, description
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from tablewright.dynamo import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from tablewright.dynamo.limits import MAX_GLOBAL_INDEXES
from tablewright.engine.database import Database
from tablewright.engine.discarded_tables import discard
from tablewright.engine.slices import Steps
from tablewright.engine.storage import sql_schema
from tablewright.engine.streams import shards
from tablewright.engine.tables import index_backfill
from tablewright.engine.tables.table_checks import (
    MAX_CAPACITY,
    ON_DEMAND,
    PROVISIONED,
    check_account_limits,
    check_new_warm_throughput,
    check_on_demand_throughput,
    check_projected_total,
    invalid,
    key_names,
)
from tablewright.engine.tables.table_description import (
    asks_for_encryption,
    billing_mode,
    encryption_description,
    moment,
    new_global_index,
    once_counted,
    sorted_definitions,
    with_figures,
)
from tablewright.engine.tables.table_operations import find_changeable_table
from tablewright.engine.tables.table_schema import Table
from tablewright.engine.tables.throughput import (
    change_capacity,
    change_ceilings,
    change_warm_throughput,
    set_capacity,
    switch_to_on_demand,
    switch_to_provisioned,
)
from tablewright.engine.tables.update_table_checks import check_not_redefined, check_update, without_empty

_MAX_INDEX_UPDATES = 5
_ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


@dataclass(slots=True)
class _Change:
    """A table under change: its request, and the two descriptions."""

    db: Database
    table: Table
    request: Mapping[str, Any]
    now: float
    stored: dict[str, Any]
    response: dict[str, Any]
    # The billing mode before and after.
    current: str
    billing: str
    created: str | None = None
    deleted: str | None = None


def update_table(db: Database, request: dict[str, Any]) -> Steps:
    request = without_empty(request)
    check_update(request)
    yield from once_counted(db, lambda: _checked(db, request).table)
    return {"TableDescription": _apply(_checked(db, request))}


def _checked(db: Database, request: dict[str, Any]) -> _Change:
    table = find_changeable_table(db, request["TableName"])
    current = billing_mode(table.description)
    change = _Change(
        db=db,
        table=table,
        request=request,
        now=moment(db),
        stored=deepcopy(table.description),
        response=deepcopy(table.description),
        current=current,
        billing=request.get("BillingMode", current),
    )
    _change_billing(change)
    _change_ceilings(change)
    _change_indexes(change)
    _change_warm_throughput(change)
    _change_class(change)
    _change_protection(change)
    _change_encryption(change)
    _check_stream(change)
    check_account_limits(request, db.region)
    return change


# -- throughput ----------------------------------------------------------------------------------------------


def _change_billing(change: _Change) -> None:
    stored, response = change.stored, change.response
    wanted = change.request.get("ProvisionedThroughput")
    if wanted is not None and change.billing == ON_DEMAND:
        raise invalid(
            f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is {ON_DEMAND}"
        )
    if wanted is None and "BillingMode" not in change.request:
        return
    response["TableStatus"] = "UPDATING"
    if change.billing == ON_DEMAND:
        if change.current == PROVISIONED:
            switch_to_on_demand(stored, response, change.now)
    elif change.current == ON_DEMAND:
        _check_every_index_has_capacity(change)
        switch_to_provisioned(stored, response, wanted or {}, change.now)
    else:
        change_capacity(stored, response, wanted or {}, change.now)


def _check_every_index_has_capacity(change: _Change) -> None:
    given = {
        update["Update"]["IndexName"]
        for update in change.request.get("GlobalSecondaryIndexUpdates", ())
        if "ProvisionedThroughput" in update.get("Update", ())
    }
    missing = [name for name in _global_indexes(change.stored) if name not in given]
    if missing:
        raise invalid(f"ProvisionedThroughput must be specified for index: {','.join(missing)}")


def _change_ceilings(change: _Change) -> None:
    wanted = change.request.get("OnDemandThroughput")
    if wanted is not None:
        check_on_demand_throughput(wanted, change.billing, update=True)
        change_ceilings(change.stored, change.response, wanted)


def _change_warm_throughput(change: _Change) -> None:
    wanted = change.request.get("WarmThroughput")
    if wanted is not None:
        change_warm_throughput(change.stored, change.response, wanted)


# -- indexes -------------------------------------------------------------------------------------------------


def _global_indexes(description: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {index["IndexName"]: index for index in description.get("GlobalSecondaryIndexes", ())}


def _change_indexes(change: _Change) -> None:
    updates = change.request.get("GlobalSecondaryIndexUpdates", ())
    if len(updates) > _MAX_INDEX_UPDATES or sum("Update" not in update for update in updates) > 1:
        raise LimitExceededException(_ONE_AT_A_TIME)
    for update in updates:
        if "Update" in update:
            _update_index(change, update["Update"])
        elif "Create" in update:
            _create_index(change, update["Create"])
        else:
            _delete_index(change, update["Delete"]["IndexName"])


def _find_index(change: _Change, name: str, action: str) -> dict[str, Any]:
    index = _global_indexes(change.stored).get(name)
    if index is not None:
        return index
    if name in change.table.indexes:
        raise ValidationException(f"Cannot {action} an index that is not a GlobalSecondaryIndex: {name}")
    raise ResourceNotFoundException(f"Requested resource not found: Index {name} for table {change.table.name}")


def _update_index(change: _Change, action: Mapping[str, Any]) -> None:
    name = action["IndexName"]
    capacity = action.get("ProvisionedThroughput")
    if capacity is not None and max(capacity.values()) > MAX_CAPACITY:
        raise ValidationException(
            "This operation cannot be performed with given input values. "
            "Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
        )
    stored = _find_index(change, name, "update")
    response = _global_indexes(change.response)[name]
    if stored["IndexStatus"] != "ACTIVE":
        raise ResourceInUseException(
            "Attempt to change a resource which is still in use: Index is being created. "
            f"Table: {change.table.name} Index: {name}"
        )
    ceilings, warm = action.get("OnDemandThroughput"), action.get("WarmThroughput")
    if change.billing == ON_DEMAND and (capacity is not None or not (ceilings or warm)):
        raise invalid(
            f"The only Updates for index: {name} when TableThroughputMode is {ON_DEMAND} can be to "
            "OnDemandThroughput, WarmThroughput"
        )
    check_on_demand_throughput(ceilings, change.billing, name, update=True)
    if capacity is None and not warm and change.billing == PROVISIONED:
        raise invalid(f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}")
    check_account_limits(action, change.db.region, name)
    if capacity is not None:
        response["IndexStatus"] = "UPDATING"
        if change.current == ON_DEMAND:
            set_capacity(stored, capacity)
            set_capacity(response, capacity)
        else:
            change_capacity(stored, response, capacity, change.now)
    if ceilings:
        response["IndexStatus"] = "UPDATING"
        change_ceilings(stored, response, ceilings)
    if warm:
        change_warm_throughput(stored, response, warm)


def _create_index(change: _Change, action: Mapping[str, Any]) -> None:
    name, stored = action["IndexName"], change.stored
    existing = _global_indexes(stored)
    if name in change.table.indexes:
        raise ValidationException("Attempting to create an index which already exists")
    _check_no_other_at_work(existing, name)
    if len(existing) >= MAX_GLOBAL_INDEXES:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
            f"{MAX_GLOBAL_INDEXES}"
        )
    if change.billing == ON_DEMAND:
        if "ProvisionedThroughput" in action:
            raise invalid(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: "
                f"{name} when BillingMode is {ON_DEMAND}"
            )
    elif "ProvisionedThroughput" not in action:
        raise invalid(f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}")
    check_on_demand_throughput(action.get("OnDemandThroughput"), change.billing, name)
    check_new_warm_throughput(action, change.billing, name)
    check_projected_total([*existing.values(), *stored.get("LocalSecondaryIndexes", ()), action])
    check_account_limits(action, change.db.region, name)

    check_not_redefined(stored, action, change.request["AttributeDefinitions"])

    index = new_global_index(change.table.arn, action, change.billing)
    defined = {definition["AttributeName"] for definition in stored["AttributeDefinitions"]}
    added = {
        definition["AttributeName"]: definition
        for definition in change.request["AttributeDefinitions"]
        if definition["AttributeName"] not in defined and definition["AttributeName"] in key_names(action["KeySchema"])
    }
    for description, backfilling in ((stored, True), (change.response, False)):
        description["AttributeDefinitions"] = sorted_definitions(
            [*description["AttributeDefinitions"], *added.values()]
        )
        description.setdefault("GlobalSecondaryIndexes", []).append(
            {**deepcopy(index), "IndexStatus": "CREATING", "Backfilling": backfilling}
        )
    change.response["TableStatus"] = "UPDATING"
    change.created = name


def _delete_index(change: _Change, name: str) -> None:
    _find_index(change, name, "delete")
    stored, response = change.stored, change.response
    _check_no_other_at_work(_global_indexes(stored), name)
    left = [index for index in stored["GlobalSecondaryIndexes"] if index["IndexName"] != name]
    if left:
        stored["GlobalSecondaryIndexes"] = left
    else:
        del stored["GlobalSecondaryIndexes"]
    # Attributes that were defined for this index's key only go with it.
    holders = [stored, *left, *stored.get("LocalSecondaryIndexes", ())]
    used = {attribute for holder in holders for attribute in key_names(holder["KeySchema"])}
    stored["AttributeDefinitions"] = [
        definition for definition in stored["AttributeDefinitions"] if definition["AttributeName"] in used
    ]
    response["TableStatus"] = "UPDATING"
    index = _global_indexes(response)[name]
    index["IndexStatus"] = "DELETING"
    index.pop("Backfilling", None)
    change.deleted = name


def _check_no_other_at_work(indexes: Mapping[str, Mapping[str, Any]], name: str) -> None:
    if any(index["IndexStatus"] == "CREATING" for other, index in indexes.items() if other != name):
        raise LimitExceededException(_ONE_AT_A_TIME)


# -- other settings ------------------------------------------------------------------------------------------------


def _change_class(change: _Change) -> None:
    wanted = change.request.get("TableClass")
    if wanted is None:
        return
    change.response["TableStatus"] = "UPDATING"
    summary = change.stored.get("TableClassSummary", {"TableClass": "STANDARD"})
    if wanted != summary["TableClass"]:
        change.stored["TableClassSummary"] = {"TableClass": wanted, "LastUpdateDateTime": change.now}


def _change_protection(change: _Change) -> None:
    for description in (change.stored, change.response):
        description["DeletionProtectionEnabled"] = change.request.get(
            "DeletionProtectionEnabled", description["DeletionProtectionEnabled"]
        )


def _change_encryption(change: _Change) -> None:
    if "SSESpecification" not in change.request:
        return
    specification = change.request["SSESpecification"]
    current = change.stored.get("SSEDescription")
    if asks_for_encryption(specification):
        wanted = encryption_description(change.db, specification)
        if current is not None and specification.get("KMSMasterKeyId") == current["KMSMasterKeyArn"]:
            raise invalid(
                "Table is already encrypted with given KMSMasterKeyId. "
                "Use KMSMasterKeyId parameter if you want to change Master Key"
            )
        change.stored["SSEDescription"] = wanted
        change.response["SSEDescription"] = {**(current or wanted), "Status": "UPDATING"}
    elif current is None:
        raise invalid("Table is already encrypted by default")
    else:
        del change.stored["SSEDescription"]
        change.response["SSEDescription"] = {**current, "Status": "UPDATING"}


def _check_stream(change: _Change) -> None:
    specification = change.request.get("StreamSpecification")
    if specification is None:
        return
    name, has_stream = change.table.name, change.table.stream is not None
    if specification["StreamEnabled"] and has_stream:
        raise ValidationException(f"Table already has an enabled stream: TableName: {name}")
    if not specification["StreamEnabled"] and not has_stream:
        raise ValidationException(f"Table has no stream to disable: TableName: {name}")


# -- applying it --------------------------------------------------------------------------------------------


def _apply(change: _Change) -> dict[str, Any]:
    db, before = change.db, change.table
    numbers, next_index = dict(before.index_numbers), before.next_index
    if change.created is not None:
        db.storage.check_room()
        numbers[change.created] = next_index
        next_index += 1
    if change.deleted is not None:
        del numbers[change.deleted]
    table = replace(before, description=change.stored, index_numbers=numbers, next_index=next_index)
    # First the description: a rollback is noticed by a changed row.
    db.save_table(table)
    if "StreamSpecification" in change.request:
        table = _apply_stream(change, table)
    if change.deleted is not None:
        index = before.indexes[change.deleted]
        index_backfill.forget(db, index)
        discard(db, index.rows)
    if change.created is not None:
        db.storage.write()(sql_schema.index_table(table.indexes[change.created].rows))
    answer = with_figures(db, table, change.response)
    if change.created is not None:
        index_backfill.begin(db, table, change.created)
    return answer


def _apply_stream(change: _Change, table: Table) -> Table:
    specification = change.request["StreamSpecification"]
    change.response["TableStatus"] = "UPDATING"
    if specification["StreamEnabled"]:
        shards.enable_stream(change.db, table, specification["StreamViewType"])
    else:
        shards.disable_stream(change.db, table)
    table = replace(table)
    change.db.save_table(table)
    for member in ("StreamSpecification", "LatestStreamArn", "LatestStreamLabel"):
        change.response.pop(member, None)
        if member in table.description:
            change.response[member] = table.description[member]
    return table
