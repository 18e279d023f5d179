"""UpdateContinuousBackups, DescribeContinuousBackups and RestoreTableToPointInTime: which time gives which state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablewright.dynamo import (
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
)
from tablewright.engine import Engine
from tablewright.engine.backups import point_in_time
from tests.clocks import Clock
from tests.engine.table_requests import INVALID, attributes, create, index, on_demand, refusal, update

NOW = 1_800_000_000.0
DAY = 24 * 3600.0


def switch(engine: Engine, on: bool = True, **members: Any) -> dict[str, Any]:
    request = {
        "TableName": "music",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": on, **members},
    }
    told: dict[str, Any] = engine.call("UpdateContinuousBackups", request)["ContinuousBackupsDescription"]
    return told


def window(engine: Engine) -> tuple[float, float]:
    told = engine.call("DescribeContinuousBackups", {"TableName": "music"})["ContinuousBackupsDescription"]
    point_in_time = told["PointInTimeRecoveryDescription"]
    return point_in_time["EarliestRestorableDateTime"], point_in_time["LatestRestorableDateTime"]


def put(engine: Engine, name: str, value: int) -> None:
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": name}, "value": {"N": str(value)}}})


def delete(engine: Engine, name: str) -> None:
    engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": name}}})


def items(engine: Engine, table: str) -> dict[str, int]:
    found = engine.call("Scan", {"TableName": table})["Items"]
    return {item["pk"]["S"]: int(item["value"]["N"]) for item in found}


@pytest.fixture
def at(engine: Engine) -> Callable[[float | None], dict[str, int]]:
    """The items of the table at a time (None: the latest), by way of a restored table."""

    def restored(time: float | None) -> dict[str, int]:
        when: dict[str, Any] = {"UseLatestRestorableTime": True} if time is None else {"RestoreDateTime": time}
        request = {"SourceTableName": "music", "TargetTableName": "restored", **when}
        engine.call("RestoreTableToPointInTime", request)
        engine.sweep()
        found = items(engine, "restored")
        engine.call("DeleteTable", {"TableName": "restored"})
        return found

    return restored


At = Callable[[float | None], dict[str, int]]


# -- the setting ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_recovery_is_switched_on_and_off(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    clock.now = NOW + 0.25
    on = {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": 35,
            "EarliestRestorableDateTime": NOW,
            "LatestRestorableDateTime": NOW + 0.25,
        },
    }
    off = {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }

    def described() -> dict[str, Any]:
        return engine.call("DescribeContinuousBackups", {"TableName": "music"})

    assert switch(engine, False) == off
    assert switch(engine) == on
    assert described() == {"ContinuousBackupsDescription": on}
    assert switch(engine, False) == off
    assert described() == {"ContinuousBackupsDescription": off}
    assert engine.verify().ok


def test_the_recovery_period_is_35_days_by_default(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    for asked, days in (({"RecoveryPeriodInDays": 1}, 1), ({"RecoveryPeriodInDays": 14}, 14), ({}, 35)):
        assert switch(engine, True, **asked)["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == days
    for wrong, bound in ((0, "greater than or equal to 1"), (36, "less than or equal to 35")):
        message = refusal(lambda wrong=wrong: switch(engine, RecoveryPeriodInDays=wrong))  # type: ignore[misc]
        assert message == (
            f"1 validation error detected: Value '{wrong}' at "
            "'pointInTimeRecoverySpecification.recoveryPeriodInDays' failed to satisfy constraint: "
            f"Member must have value {bound}"
        )


def test_the_window_moves_with_the_clock(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    switch(engine, RecoveryPeriodInDays=2)
    clock.now = NOW + DAY
    assert window(engine) == (NOW, NOW + DAY)
    clock.now = NOW + 3 * DAY
    assert window(engine) == (NOW + DAY, NOW + 3 * DAY)


def test_both_ends_of_the_window_can_be_restored_to(engine: Engine, clock: Clock, at: At) -> None:
    engine._background.stop()
    create(engine, on_demand())
    switch(engine, RecoveryPeriodInDays=1)
    for fraction in range(1, 60):
        clock.now = NOW + 3 * DAY + fraction + fraction / 7001
        for end in window(engine):
            assert at(end) == {}


def test_a_table_that_is_not_there(engine: Engine) -> None:
    assert refusal(lambda: switch(engine), TableNotFoundException) == "Table not found: music"


# -- which state ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_a_time_gives_the_items_of_that_time(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    put(engine, "before", 0)
    put(engine, "changed", 0)
    switch(engine)
    clock.now = NOW + 10
    put(engine, "changed", 1)
    put(engine, "made", 1)
    clock.now = NOW + 20
    put(engine, "changed", 2)
    delete(engine, "made")
    delete(engine, "before")
    clock.now = NOW + 30
    put(engine, "made", 3)
    clock.now = NOW + 40
    first = {"before": 0, "changed": 0}
    second = {"before": 0, "changed": 1, "made": 1}
    assert at(NOW) == at(NOW + 9.999) == first
    assert at(NOW + 10) == at(NOW + 19) == second
    assert at(NOW + 20) == {"changed": 2}
    assert at(NOW + 30) == at(NOW + 40) == at(None) == {"changed": 2, "made": 3}


def test_changes_of_one_instant_are_taken_together(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    switch(engine)
    for value in range(5):
        put(engine, "one", value)
    delete(engine, "one")
    put(engine, "two", 1)
    clock.now = NOW + 1
    put(engine, "one", 9)
    assert at(NOW) == {"two": 1}


def test_a_transaction_is_in_a_state_as_a_whole(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    switch(engine)
    # A clock that is later whenever it is looked at.
    ticking = iter(range(1, 1000))
    engine._database.clock = lambda: NOW + next(ticking)
    puts = [{"TableName": "music", "Item": {"pk": {"S": str(n)}, "value": {"N": "1"}}} for n in range(5)]
    engine.call("TransactWriteItems", {"TransactItems": [{"Put": each} for each in puts]})
    last = next(ticking)
    clock.now = NOW + 2000
    engine._database.clock = clock
    assert {len(at(NOW + second)) for second in range(last)} == {0, 5}


def test_expired_items_are_there_until_they_were_deleted(engine: Engine, clock: Clock, at: At) -> None:
    engine._background.stop()
    create(engine, on_demand())
    switch(engine)
    specification = {"AttributeName": "ends", "Enabled": True}
    engine.call("UpdateTimeToLive", {"TableName": "music", "TimeToLiveSpecification": specification})
    item = {"pk": {"S": "short"}, "value": {"N": "1"}, "ends": {"N": str(int(NOW) + 10)}}
    engine.call("PutItem", {"TableName": "music", "Item": item})
    clock.now = NOW + 60
    engine.sweep()
    assert at(NOW + 59) == {"short": 1}
    assert at(NOW + 60) == {}


def test_settings_are_those_of_now_and_items_those_of_then(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    switch(engine)
    put(engine, "one", 1)
    clock.now = NOW + 10
    update(
        engine,
        AttributeDefinitions=attributes("value:N"),
        GlobalSecondaryIndexUpdates=[{"Create": index("by-value", "value")}],
    )
    delete(engine, "one")
    request = {"SourceTableName": "music", "TargetTableName": "restored", "RestoreDateTime": NOW + 1}
    engine.call("RestoreTableToPointInTime", request)
    assert engine.call("Scan", {"TableName": "restored", "IndexName": "by-value"})["Count"] == 1


# -- the history ---------------------------------------------------------------------------------------------


def test_recovery_switched_off_and_on_begins_anew(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    switch(engine)
    put(engine, "one", 1)
    clock.now = NOW + 10
    switch(engine, False)
    put(engine, "one", 2)
    clock.now = NOW + 20
    switch(engine)
    clock.now = NOW + 30
    put(engine, "one", 3)
    assert window(engine) == (NOW + 20, NOW + 30)
    assert at(NOW + 20) == {"one": 2}
    assert refusal(lambda: at(NOW + 19), InvalidRestoreTimeException)


def test_a_table_made_again_has_a_history_of_its_own(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    switch(engine)
    put(engine, "old", 1)
    engine.call("DeleteTable", {"TableName": "music"})
    clock.now = NOW + 10
    create(engine, on_demand())
    unavailable = "Point in time recovery is not enabled for table 'music'"
    assert refusal(lambda: at(NOW), PointInTimeRecoveryUnavailableException) == unavailable
    switch(engine)
    put(engine, "new", 1)
    assert at(NOW + 10) == {"new": 1}
    assert refusal(lambda: at(NOW), InvalidRestoreTimeException)


def test_what_is_older_than_the_period_is_forgotten(
    engine: Engine, clock: Clock, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(point_in_time, "_TRIMMED_AT_ONCE", 7)
    engine._background.stop()
    create(engine, on_demand())
    switch(engine, RecoveryPeriodInDays=1)
    for hour in range(48):
        clock.now = NOW + hour * 3600
        put(engine, f"{hour % 5}", hour)
    clock.now = NOW + 48 * 3600
    assert engine.verify().history_records == 48
    expected = at(NOW + 24 * 3600)
    engine.sweep()
    # The change of the first hour is the last that is never undone again.
    assert engine.verify().history_records == 23
    assert window(engine)[0] == NOW + 24 * 3600
    assert at(NOW + 24 * 3600) == expected
    # Nothing that is gone comes back with a longer period.
    switch(engine, RecoveryPeriodInDays=35)
    assert window(engine)[0] == NOW + 24 * 3600
    assert at(NOW + 47 * 3600) == items(engine, "music")
    assert refusal(lambda: at(NOW + 23 * 3600), InvalidRestoreTimeException)


def test_a_clock_that_was_set_back_makes_up_no_states(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    switch(engine)
    clock.now = NOW + 100
    put(engine, "one", 1)
    clock.now = NOW + 200
    put(engine, "two", 2)
    clock.now = NOW + 50
    assert at(None) == {"one": 1, "two": 2}
    put(engine, "three", 3)
    clock.now = NOW + 60
    # The last time that it was so late, all three were there.
    assert at(NOW + 55) == at(None) == {"one": 1, "two": 2, "three": 3}
    assert at(NOW + 49) == {}
    clock.now = NOW - 1000
    put(engine, "four", 4)
    assert window(engine) == (NOW, NOW)
    assert at(None) == {"one": 1, "two": 2, "three": 3, "four": 4}


def test_a_clock_that_ran_ahead_for_a_while_costs_no_more_than_the_history(
    engine: Engine, clock: Clock, at: At
) -> None:
    engine._background.stop()
    create(engine, on_demand())
    switch(engine)
    clock.now = NOW + 10
    put(engine, "one", 1)
    clock.now = NOW + 1000 * DAY
    engine.sweep()
    clock.now = NOW + 20
    put(engine, "one", 2)
    clock.now = NOW + 30
    assert window(engine) == (NOW + 10, NOW + 30)
    assert at(NOW + 15) == {"one": 1}
    assert at(NOW + 25) == {"one": 2}


def test_a_change_that_changes_nothing_is_not_remembered(engine: Engine) -> None:
    create(engine, on_demand())
    switch(engine)
    put(engine, "one", 1)
    put(engine, "one", 1)
    delete(engine, "nothing")
    assert engine.verify().history_records == 1


# -- refusals ------------------------------------------------------------------------------------------------


def test_times_outside_of_the_window_are_refused(engine: Engine, clock: Clock, at: At) -> None:
    create(engine, on_demand())
    clock.now = NOW + 10
    switch(engine)
    message = (
        "An invalid restore time was specified. RestoreDateTime must be between EarliestRestorableDateTime and "
        "LatestRestorableDateTime."
    )
    for time in (NOW + 9.9, NOW + 10.1, 0, -1, 10**400):
        assert refusal(lambda time=time: at(time), InvalidRestoreTimeException) == message  # type: ignore[misc]
    assert at(NOW + 10) == {}


def test_source_and_time_of_a_restore_are_given_exactly_once(engine: Engine) -> None:
    create(engine, on_demand())
    switch(engine)

    def message(**members: Any) -> str | None:
        return refusal(lambda: engine.call("RestoreTableToPointInTime", {"TargetTableName": "new", **members}))

    when = {"UseLatestRestorableTime": True}
    arn = "arn:aws:dynamodb:us-east-1:123456789012:table/music"
    source = f"{INVALID}Exactly one of SourceTableName and SourceTableArn must be specified"
    assert message(**when) == message(SourceTableName="music", SourceTableArn=arn, **when) == source
    time = f"{INVALID}Exactly one of RestoreDateTime and UseLatestRestorableTime must be specified"
    for wrong in ({}, {"UseLatestRestorableTime": False}, {**when, "RestoreDateTime": NOW}):
        assert message(SourceTableName="music", **wrong) == time
    request = {
        "SourceTableArn": arn,
        "TargetTableName": "new",
        "UseLatestRestorableTime": False,
        "RestoreDateTime": NOW,
    }
    assert engine.call("RestoreTableToPointInTime", request)["TableDescription"]["TableName"] == "new"


def test_without_recovery_there_is_nothing_to_restore(engine: Engine, at: At) -> None:
    assert refusal(lambda: at(None), TableNotFoundException) == "Table not found: music"
    create(engine, on_demand())
    message = "Point in time recovery is not enabled for table 'music'"
    assert refusal(lambda: at(None), PointInTimeRecoveryUnavailableException) == message
