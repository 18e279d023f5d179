"""UpdateTable: every setting of a table, what the answer says, and what is described afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.engine.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from tests.engine.table_requests import (
    INVALID,
    Clock,
    attributes,
    capacity,
    create,
    describe,
    index,
    key,
    on_demand,
    provisioned,
    refusal,
    update,
)

NEW_IMAGE = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
NOTHING_TO_DO = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, "
    "MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
    "required"
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(clock=clock, entropy=random.Random(7)) as opened:
        yield opened


def with_index(request: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The table with the global index ``gsi`` over ``g``."""
    return {
        **request,
        "AttributeDefinitions": attributes("pk", "g"),
        "GlobalSecondaryIndexes": [index("gsi", "g", **members)],
    }


def index_update(**members: Any) -> list[dict[str, Any]]:
    return [{"Update": {"IndexName": "gsi", **members}}]


def index_creation(name: str = "new", *names: str, **members: Any) -> list[dict[str, Any]]:
    return [{"Create": index(name, *(names or ("n",)), **members)}]


def index_deletion(name: str = "gsi") -> list[dict[str, Any]]:
    return [{"Delete": {"IndexName": name}}]


# -- throughput ---------------------------------------------------------------------------------------------


def test_new_capacity_is_answered_with_the_old_and_described_with_the_new(engine: Engine, clock: Clock) -> None:
    create(engine, provisioned(5, 5))
    clock.now += 10
    told = update(engine, ProvisionedThroughput=capacity(9, 5))
    assert told["TableStatus"] == "UPDATING"
    assert told["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": clock.now,
        "NumberOfDecreasesToday": 0,
        **capacity(5, 5),
    }
    table = describe(engine)
    assert table["TableStatus"] == "ACTIVE"
    assert table["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": clock.now,
        "NumberOfDecreasesToday": 0,
        **capacity(9, 5),
    }


def test_a_decrease_is_counted_until_midnight(engine: Engine, clock: Clock) -> None:
    create(engine, provisioned(5, 5))
    told = update(engine, ProvisionedThroughput=capacity(4, 4))
    assert told["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    throughput = describe(engine)["ProvisionedThroughput"]
    assert throughput == {
        "LastDecreaseDateTime": clock.now,
        "NumberOfDecreasesToday": 1,
        **capacity(4, 4),
    }
    clock.now += 24 * 3600
    assert describe(engine)["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0


def test_after_four_decreases_there_is_one_an_hour(engine: Engine, clock: Clock) -> None:
    create(engine, provisioned(10, 10))
    for units in (9, 8, 7, 6):
        update(engine, ProvisionedThroughput=capacity(units, units))
    # 2027-01-15, 08:00 UTC.
    clock.now += 60
    assert refusal(lambda: update(engine, ProvisionedThroughput=capacity(5, 7)), LimitExceededException) == (
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. "
        "After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most "
        "once every 3600 seconds. Number of decreases today: 4. "
        "Last decrease at Friday, January 15, 2027 at 8:00:00 AM Coordinated Universal Time. "
        "Next decrease can be made at Friday, January 15, 2027 at 9:00:00 AM Coordinated Universal Time."
    )
    update(engine, ProvisionedThroughput=capacity(7, 7))
    clock.now += 3600
    update(engine, ProvisionedThroughput=capacity(5, 5))


def test_capacity_that_would_not_change_is_refused(engine: Engine) -> None:
    create(engine, with_index(provisioned(5, 6), ProvisionedThroughput=capacity(2, 3)))
    assert refusal(lambda: update(engine, ProvisionedThroughput=capacity(5, 6))) == (
        "The provisioned throughput for the table will not change. The requested value equals the current "
        "value. Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 6. Requested WriteCapacityUnits: 6. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
    message = refusal(
        lambda: update(engine, GlobalSecondaryIndexUpdates=index_update(ProvisionedThroughput=capacity(2, 3)))
    )
    assert message is not None
    assert message.startswith("The provisioned throughput for the index gsi will not change. ")


def test_a_table_stays_as_warm_as_it_ever_was(engine: Engine) -> None:
    create(engine, provisioned(1, 1))
    update(engine, ProvisionedThroughput=capacity(3, 3))
    update(engine, ProvisionedThroughput=capacity(1, 2))
    warm = {"ReadUnitsPerSecond": 3, "WriteUnitsPerSecond": 3, "Status": "ACTIVE"}
    assert describe(engine)["WarmThroughput"] == warm
    told = update(engine, WarmThroughput={"ReadUnitsPerSecond": 50})
    assert told["TableStatus"] == "ACTIVE"
    assert told["WarmThroughput"] == {**warm, "Status": "UPDATING"}
    assert describe(engine)["WarmThroughput"] == {**warm, "ReadUnitsPerSecond": 50}
    assert refusal(lambda: update(engine, WarmThroughput={"WriteUnitsPerSecond": 2})) == (
        INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than current "
        "WarmThroughput, decreasing WarmThroughput is not supported"
    )


def test_capacity_of_an_index_changes_by_itself(engine: Engine, clock: Clock) -> None:
    create(engine, with_index(provisioned(), ProvisionedThroughput=capacity(1, 1)))
    updates = index_update(ProvisionedThroughput=capacity(2, 2))
    told = update(engine, GlobalSecondaryIndexUpdates=updates)
    assert told["TableStatus"] == "ACTIVE"
    (told_index,) = told["GlobalSecondaryIndexes"]
    assert told_index["IndexStatus"] == "UPDATING"
    assert told_index["ProvisionedThroughput"]["ReadCapacityUnits"] == 1
    (described,) = describe(engine)["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "ACTIVE"
    assert described["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": clock.now,
        "NumberOfDecreasesToday": 0,
        **capacity(2, 2),
    }


# -- billing mode -------------------------------------------------------------------------------------------


def test_a_provisioned_table_goes_on_demand_with_its_indexes(engine: Engine, clock: Clock) -> None:
    create(engine, with_index(provisioned(), ProvisionedThroughput=capacity(1, 1)))
    clock.now += 10
    told = update(engine, BillingMode="PAY_PER_REQUEST")
    assert told["TableStatus"] == "UPDATING"
    assert told["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert told["ProvisionedThroughput"]["LastDecreaseDateTime"] == clock.now
    assert told["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    table = describe(engine)
    assert table["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": clock.now,
    }
    assert table["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **capacity(0, 0)}
    assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 12000
    throughput = table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert throughput == {
        "LastDecreaseDateTime": clock.now,
        "NumberOfDecreasesToday": 1,
        **capacity(0, 0),
    }


def test_an_on_demand_table_becomes_provisioned_and_loses_its_ceilings(engine: Engine, clock: Clock) -> None:
    ceilings = {"MaxReadRequestUnits": 10}
    create(engine, with_index(on_demand(OnDemandThroughput=ceilings), OnDemandThroughput=ceilings))
    told = update(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput=capacity(3, 4),
        GlobalSecondaryIndexUpdates=index_update(ProvisionedThroughput=capacity(1, 2)),
    )
    assert told["TableStatus"] == "UPDATING"
    assert told["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    table = describe(engine)
    assert table["BillingModeSummary"] == {
        "BillingMode": "PROVISIONED",
        "LastUpdateToPayPerRequestDateTime": clock.now,
    }
    assert table["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **capacity(3, 4)}
    assert table["WarmThroughput"]["ReadUnitsPerSecond"] == 12000
    (described,) = table["GlobalSecondaryIndexes"]
    assert described["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **capacity(1, 2)}
    assert "OnDemandThroughput" not in table
    assert "OnDemandThroughput" not in described


def test_the_billing_mode_that_is_there_already_changes_nothing(engine: Engine) -> None:
    create(engine, on_demand())
    before = describe(engine)
    assert update(engine, BillingMode="PAY_PER_REQUEST")["TableStatus"] == "UPDATING"
    assert describe(engine) == before


def test_every_index_needs_capacity_when_a_table_becomes_provisioned(engine: Engine) -> None:
    create(engine, with_index(on_demand()))
    message = refusal(lambda: update(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity(1, 1)))
    assert message == INVALID + "ProvisionedThroughput must be specified for index: gsi"


# -- ceilings -----------------------------------------------------------------------------------------------


def test_ceilings_are_changed_one_by_one_and_taken_away_by_minus_one(engine: Engine) -> None:
    create(engine, on_demand())
    update(engine, OnDemandThroughput={"MaxReadRequestUnits": 1000, "MaxWriteRequestUnits": 500})
    told = update(engine, OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert told["TableStatus"] == "ACTIVE"
    assert told["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 500}
    assert describe(engine)["OnDemandThroughput"] == {"MaxWriteRequestUnits": 500}
    update(engine, OnDemandThroughput={"MaxWriteRequestUnits": -1})
    assert "OnDemandThroughput" not in describe(engine)


def test_an_index_has_ceilings_of_its_own(engine: Engine) -> None:
    create(engine, with_index(on_demand()))
    ceilings = {"MaxReadRequestUnits": 70}
    told = update(engine, GlobalSecondaryIndexUpdates=index_update(OnDemandThroughput=ceilings))
    assert told["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    assert describe(engine)["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == ceilings


# -- class, protection, encryption, stream ------------------------------------------------------------------


def test_the_table_class_changes_after_the_answer(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    assert update(engine, TableClass="STANDARD")["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in describe(engine)
    told = update(engine, TableClass="STANDARD_INFREQUENT_ACCESS")
    assert "TableClassSummary" not in told
    assert describe(engine)["TableClassSummary"] == {
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "LastUpdateDateTime": clock.now,
    }


def test_deletion_protection_changes_at_once(engine: Engine) -> None:
    create(engine, on_demand())
    told = update(engine, DeletionProtectionEnabled=True)
    assert (told["TableStatus"], told["DeletionProtectionEnabled"]) == ("ACTIVE", True)
    assert describe(engine)["DeletionProtectionEnabled"] is True


def test_encryption_is_switched_on_changed_and_off(engine: Engine) -> None:
    create(engine, on_demand())
    told = update(engine, SSESpecification={"Enabled": True})
    assert told["SSEDescription"]["Status"] == "UPDATING"
    first = describe(engine)["SSEDescription"]
    assert (first["Status"], first["SSEType"]) == ("ENABLED", "KMS")
    told = update(engine, SSESpecification={"SSEType": "KMS", "KMSMasterKeyId": "mine"})
    assert told["SSEDescription"] == {**first, "Status": "UPDATING"}
    arn = describe(engine)["SSEDescription"]["KMSMasterKeyArn"]
    assert arn == "arn:aws:kms:us-east-1:123456789012:key/mine"
    again = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn}
    assert refusal(lambda: update(engine, SSESpecification=again)) == (
        INVALID + "Table is already encrypted with given KMSMasterKeyId. "
        "Use KMSMasterKeyId parameter if you want to change Master Key"
    )
    update(engine, SSESpecification={"Enabled": False})
    assert "SSEDescription" not in describe(engine)
    message = refusal(lambda: update(engine, SSESpecification={"Enabled": False}))
    assert message == INVALID + "Table is already encrypted by default"


def test_a_stream_is_enabled_and_disabled(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    told = update(engine, StreamSpecification=NEW_IMAGE)
    assert (told["TableStatus"], told["StreamSpecification"]) == ("UPDATING", NEW_IMAGE)
    table = describe(engine)
    assert table["StreamSpecification"] == NEW_IMAGE
    assert table["LatestStreamArn"] == told["LatestStreamArn"]
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}})
    assert engine.verify().stream_records == 1
    assert refusal(lambda: update(engine, StreamSpecification=NEW_IMAGE)) == (
        "Table already has an enabled stream: TableName: music"
    )
    told = update(engine, StreamSpecification={"StreamEnabled": False})
    assert "StreamSpecification" not in told
    table = describe(engine)
    assert "StreamSpecification" not in table
    assert table["LatestStreamArn"] == told["LatestStreamArn"]
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "b"}}})
    assert refusal(lambda: update(engine, StreamSpecification={"StreamEnabled": False})) == (
        "Table has no stream to disable: TableName: music"
    )
    clock.now += 1
    assert update(engine, StreamSpecification=NEW_IMAGE)["LatestStreamArn"] != table["LatestStreamArn"]


# -- indexes ------------------------------------------------------------------------------------------------


def test_an_index_is_added(engine: Engine) -> None:
    create(engine, on_demand())
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}})
    told = update(
        engine,
        AttributeDefinitions=attributes("n:N", "unused"),
        GlobalSecondaryIndexUpdates=index_creation(),
    )
    assert told["TableStatus"] == "UPDATING"
    (told_index,) = told["GlobalSecondaryIndexes"]
    assert (told_index["IndexStatus"], told_index["Backfilling"]) == ("CREATING", False)
    assert (told_index["ItemCount"], told_index["IndexSizeBytes"]) == (0, 0)
    table = describe(engine)
    assert table["AttributeDefinitions"] == attributes("n:N", "pk")
    (described,) = table["GlobalSecondaryIndexes"]
    assert (described["IndexStatus"], described["ItemCount"]) == ("ACTIVE", 1)
    assert "Backfilling" not in described
    found = engine.call(
        "Query",
        {
            "TableName": "music",
            "IndexName": "new",
            "KeyConditionExpression": "n = :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}},
        },
    )
    assert found["Items"] == [{"pk": {"S": "a"}, "n": {"N": "1"}}]


def test_an_attribute_that_is_defined_again_keeps_its_type(engine: Engine) -> None:
    create(engine, with_index(on_demand()))
    update(
        engine,
        AttributeDefinitions=attributes("g:N"),
        GlobalSecondaryIndexUpdates=index_creation("other", "g"),
    )
    assert describe(engine)["AttributeDefinitions"] == attributes("g", "pk")


def test_a_deleted_index_takes_its_attributes_along(engine: Engine) -> None:
    create(engine, with_index(on_demand()))
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "g": {"S": "b"}}})
    told = update(engine, GlobalSecondaryIndexUpdates=index_deletion())
    assert told["TableStatus"] == "UPDATING"
    assert told["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    table = describe(engine)
    assert "GlobalSecondaryIndexes" not in table
    assert table["AttributeDefinitions"] == attributes("pk")
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "g": {"N": "1"}}})
    assert engine.verify().ok


def test_an_index_may_be_made_again_under_its_old_name(engine: Engine) -> None:
    create(engine, with_index(on_demand()))
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "g": {"S": "b"}}})
    update(engine, GlobalSecondaryIndexUpdates=index_deletion())
    update(
        engine,
        AttributeDefinitions=attributes("g"),
        GlobalSecondaryIndexUpdates=index_creation("gsi", "g"),
    )
    assert describe(engine)["GlobalSecondaryIndexes"][0]["ItemCount"] == 1
    assert engine.verify().ok


def test_a_protected_table_may_lose_an_index(engine: Engine) -> None:
    create(engine, with_index(on_demand(DeletionProtectionEnabled=True)))
    update(engine, GlobalSecondaryIndexUpdates=index_deletion())
    assert "GlobalSecondaryIndexes" not in describe(engine)


def test_an_index_may_be_created_along_with_a_billing_mode_and_the_update_of_another(engine: Engine) -> None:
    create(engine, with_index(provisioned(), ProvisionedThroughput=capacity(1, 1)))
    update(
        engine,
        AttributeDefinitions=attributes("n"),
        GlobalSecondaryIndexUpdates=[
            *index_creation(ProvisionedThroughput=capacity(1, 1)),
            *index_update(ProvisionedThroughput=capacity(2, 2)),
        ],
    )
    assert [i["IndexStatus"] for i in describe(engine)["GlobalSecondaryIndexes"]] == ["ACTIVE", "ACTIVE"]
    update(
        engine,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=attributes("m"),
        GlobalSecondaryIndexUpdates=index_creation("third", "m"),
    )
    assert len(describe(engine)["GlobalSecondaryIndexes"]) == 3


def test_a_table_has_twenty_global_indexes(engine: Engine) -> None:
    create(engine, on_demand(GlobalSecondaryIndexes=[index(f"gsi{n}", "pk") for n in range(20)]))
    message = refusal(
        lambda: update(
            engine,
            AttributeDefinitions=attributes("n"),
            GlobalSecondaryIndexUpdates=index_creation(),
        ),
        LimitExceededException,
    )
    assert message == ("Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20")


@pytest.mark.parametrize(
    "updates",
    [
        [*index_creation("one", "n"), *index_creation("two", "n")],
        [*index_creation("one", "n"), *index_deletion()],
    ],
)
def test_one_index_is_created_or_deleted_at_a_time(engine: Engine, updates: list[dict[str, Any]]) -> None:
    create(engine, with_index(on_demand()))
    message = refusal(
        lambda: update(engine, AttributeDefinitions=attributes("n"), GlobalSecondaryIndexUpdates=updates),
        LimitExceededException,
    )
    assert message == ONE_AT_A_TIME


@pytest.mark.parametrize(
    "updates",
    [
        index_deletion("ghost"),
        [{"Update": {"IndexName": "ghost", "WarmThroughput": {"ReadUnitsPerSecond": 1}}}],
    ],
)
def test_an_index_that_is_not_there_is_not_found(engine: Engine, updates: list[dict[str, Any]]) -> None:
    create(engine, with_index(on_demand()))
    message = refusal(lambda: update(engine, GlobalSecondaryIndexUpdates=updates), ResourceNotFoundException)
    assert message == "Requested resource not found: Index ghost for table music"


# -- refusals -----------------------------------------------------------------------------------------------


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


def test_local_indexes_cannot_be_changed(engine: Engine) -> None:
    create(
        engine,
        on_demand(
            AttributeDefinitions=attributes("pk", "sk"),
            KeySchema=key("pk", "sk"),
            LocalSecondaryIndexes=[index("lsi", "pk", "sk")],
        ),
    )
    message = refusal(lambda: update(engine, GlobalSecondaryIndexUpdates=index_deletion("lsi")))
    assert message == "Cannot delete an index that is not a GlobalSecondaryIndex: lsi"


def test_a_table_that_is_not_there_is_not_found(engine: Engine) -> None:
    message = refusal(lambda: update(engine, ProvisionedThroughput=capacity(1, 1)), ResourceNotFoundException)
    assert message == "Requested resource not found: Table: music not found"


def test_a_table_whose_index_is_being_built_is_in_use(engine: Engine) -> None:
    engine._maintenance.stop()  # the index is built when the test says so
    create(engine, on_demand())
    for number in range(600):
        item = {"pk": {"S": str(number)}, "n": {"S": "x"}}
        engine.call("PutItem", {"TableName": "music", "Item": item})
    update(engine, AttributeDefinitions=attributes("n"), GlobalSecondaryIndexUpdates=index_creation())
    assert describe(engine)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    message = refusal(lambda: engine.call("DeleteTable", {"TableName": "music"}), ResourceInUseException)
    assert message == (
        "Attempt to change a resource which is still in use: "
        "Cannot delete table while indexes are being created, updated, or deleted."
    )
    engine.sweep()
    engine.call("DeleteTable", {"TableName": "music"})
