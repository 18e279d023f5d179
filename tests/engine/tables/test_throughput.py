"""UpdateTable: capacity, billing mode and ceilings, of a table and of its indexes."""

from __future__ import annotations

from tablewright.dynamo import LimitExceededException
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import (
    INVALID,
    capacity,
    create,
    describe,
    index_update,
    on_demand,
    provisioned,
    refusal,
    update,
    with_index,
)


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
