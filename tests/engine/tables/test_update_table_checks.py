"""UpdateTable: what is refused, in the service's words and order."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ResourceNotFoundException
from tablewright.engine import Engine
from tests.engine.table_requests import (
    INVALID,
    NEW_IMAGE,
    attributes,
    capacity,
    create,
    describe,
    index_creation,
    index_deletion,
    index_update,
    on_demand,
    provisioned,
    refusal,
    update,
    with_index,
)

NOTHING_TO_DO = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, "
    "MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
    "required"
)


def alone(what: str) -> str:
    return f"{INVALID}{what} must be the only operation in the request"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, NOTHING_TO_DO),
        ({"AttributeDefinitions": attributes("pk")}, NOTHING_TO_DO),
        ({"GlobalSecondaryIndexUpdates": []}, NOTHING_TO_DO),
        ({"OnDemandThroughput": {}, "WarmThroughput": {}}, NOTHING_TO_DO),
        (
            {"MultiRegionConsistency": "STRONG"},
            NOTHING_TO_DO.replace("MultiRegionConsistency, ", ""),
        ),
        (
            {"GlobalSecondaryIndexUpdates": [], "DeletionProtectionEnabled": True},
            INVALID + "List of GlobalSecondaryIndexUpdates is empty",
        ),
        (
            {"SSESpecification": {"Enabled": True}, "DeletionProtectionEnabled": True},
            alone("Server-Side Encryption modification"),
        ),
        (
            {"TableClass": "STANDARD", "DeletionProtectionEnabled": True},
            alone("TableClass modification"),
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 13000}, "DeletionProtectionEnabled": True},
            alone("DeletionProtection modification"),
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 13000}, "StreamSpecification": NEW_IMAGE},
            alone("WarmThroughput"),
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 5}, "StreamSpecification": NEW_IMAGE},
            INVALID + "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
        ),
        (
            {"ProvisionedThroughput": capacity(1, 1), "StreamSpecification": NEW_IMAGE},
            INVALID + "You cannot modify stream status while updating table IOPS",
        ),
        (
            {"ProvisionedThroughput": capacity(1, 1), "GlobalSecondaryIndexUpdates": index_deletion()},
            INVALID + "You cannot create or delete index while updating table IOPS",
        ),
        (
            {"StreamSpecification": NEW_IMAGE, "GlobalSecondaryIndexUpdates": index_deletion()},
            INVALID + "You cannot create or delete index while changing stream status",
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 1}, "GlobalSecondaryIndexUpdates": index_creation()},
            INVALID + "Create global secondary index cannot be specified when updating WarmThroughput",
        ),
        (
            {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": capacity(1, 1)},
            INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"BillingMode": "PROVISIONED"},
            INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            INVALID + "If stream is being enabled then UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {**NEW_IMAGE, "StreamEnabled": False}},
            INVALID + "If stream is being disabled, then UpdateViewType must not be specified",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{}]},
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{**index_deletion()[0], **index_creation()[0]}]},
            INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [*index_deletion(), *index_creation("gsi")]},
            INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: gsi",
        ),
        (
            {"GlobalSecondaryIndexUpdates": index_update(WarmThroughput={})},
            INVALID + "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond "
            "specified for index: gsi",
        ),
        (
            {"GlobalSecondaryIndexUpdates": index_creation()},
            INVALID + "AttributeDefinitions is not specified for index: new",
        ),
        (
            {"AttributeDefinitions": attributes("m"), "GlobalSecondaryIndexUpdates": index_creation()},
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: [n], "
            "AttributeDefinitions: [m]",
        ),
        (
            {
                "AttributeDefinitions": attributes("n"),
                "GlobalSecondaryIndexUpdates": index_creation(Projection={"ProjectionType": "INCLUDE"}),
            },
            INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
            INVALID + "Tablewright does not support ReplicaUpdates",
        ),
    ],
)
def test_a_request_is_refused_before_the_table_is_looked_for(
    engine: Engine, request_: dict[str, Any], message: str
) -> None:
    assert refusal(lambda: update(engine, **request_)) == message


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"ProvisionedThroughput": capacity(1, 1)},
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
            INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            {"GlobalSecondaryIndexUpdates": index_update(ProvisionedThroughput=capacity(1, 1))},
            INVALID + "The only Updates for index: gsi when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput",
        ),
        (
            {"GlobalSecondaryIndexUpdates": index_update()},
            INVALID + "The only Updates for index: gsi when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput",
        ),
        (
            {"GlobalSecondaryIndexUpdates": index_update(WarmThroughput={"ReadUnitsPerSecond": 100})},
            INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for index gsi is lower than current "
            "WarmThroughput, decreasing WarmThroughput is not supported",
        ),
        (
            {
                "AttributeDefinitions": attributes("g"),
                "GlobalSecondaryIndexUpdates": index_creation("gsi", "g"),
            },
            "Attempting to create an index which already exists",
        ),
        (
            {
                "AttributeDefinitions": attributes("n"),
                "GlobalSecondaryIndexUpdates": index_creation(ProvisionedThroughput=capacity(1, 1)),
            },
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when "
            "BillingMode is PAY_PER_REQUEST",
        ),
    ],
)
def test_an_on_demand_table_refuses_in_the_services_words(
    engine: Engine, request_: dict[str, Any], message: str
) -> None:
    create(engine, with_index(on_demand()))
    before = describe(engine)
    assert refusal(lambda: update(engine, **request_)) == message
    assert describe(engine) == before


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 10}},
            INVALID + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table "
            "BillingMode is PROVISIONED",
        ),
        (
            {"GlobalSecondaryIndexUpdates": index_update(OnDemandThroughput={"MaxReadRequestUnits": 10})},
            INVALID + "MaxReadRequestUnits for OnDemandThroughput for index : gsi cannot be specified when "
            "the table BillingMode is PROVISIONED",
        ),
        (
            {
                "AttributeDefinitions": attributes("n"),
                "GlobalSecondaryIndexUpdates": index_creation(),
            },
            INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new",
        ),
    ],
)
def test_a_provisioned_table_refuses_in_the_services_words(
    engine: Engine, request_: dict[str, Any], message: str
) -> None:
    create(engine, with_index(provisioned(), ProvisionedThroughput=capacity(1, 1)))
    assert refusal(lambda: update(engine, **request_)) == message


def test_a_table_that_is_not_there_is_not_found(engine: Engine) -> None:
    message = refusal(lambda: update(engine, ProvisionedThroughput=capacity(1, 1)), ResourceNotFoundException)
    assert message == "Requested resource not found: Table: music not found"
