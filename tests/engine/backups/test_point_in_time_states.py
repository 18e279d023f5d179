"""Restores against remembered states, over sequences of operations that Hypothesis makes up.

The items are written down whole at random moments, together with the time. Whatever happens afterwards (writes of every
kind, expiry, clock steps, other indexes, recovery off and on again, the engine closed and opened), a restore to such a
moment has exactly those items, in the table and in each index, and so has a read at that moment, without a restore; a
backup has those of the moment it was made.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tablewright.engine import Engine, database
from tablewright.engine.backups import point_in_time
from tablewright.engine.tables import index_backfill
from tests.clocks import Clock
from tests.engine.table_requests import attributes, index, index_creation, index_deletion, key, on_demand

DAY = 24 * 3600.0
Items = dict[str, Any]

names = st.sampled_from(["a", "b", "c", "d", "e"])
groups = st.sampled_from([None, "red", "blue"])
values = st.integers(0, 3)
steps = st.sampled_from([0.0, 0.0, 0.001, 0.4, 1.0, 61.0, 3600.0])


class Machine(RuleBasedStateMachine):
    """A table with everything, its clock, and what it was at some times."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock(1_800_000_000.5)
        self.engine = self._open()
        self.states: list[tuple[float, Items]] = []
        self.backups: list[tuple[str, Items]] = []
        self.recovering = False
        self.restored = 0

    def _open(self) -> Engine:
        engine = Engine.open(self.folder, clock=self.clock, entropy=random.Random(7))
        # Everything happens in the order that Hypothesis says.
        engine._background.stop()
        return engine

    def call(self, operation: str, **request: Any) -> Any:
        return self.engine.call(operation, request)

    def teardown(self) -> None:
        try:
            for time, items in self.known_states():
                self.check_past(time, items)
                self.check_restored("RestoreTableToPointInTime", items, SourceTableName="music", RestoreDateTime=time)
        finally:
            self.engine.close()
            shutil.rmtree(self.folder)

    @initialize()
    def create(self) -> None:
        definition = on_demand(
            AttributeDefinitions=attributes("pk", "sk:N", "g", "n:N"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[index("by-group", "g", "n", Projection={"ProjectionType": "KEYS_ONLY"})],
            LocalSecondaryIndexes=[index("by-number", "pk", "n")],
        )
        self.call("CreateTable", **definition)
        specification = {"AttributeName": "ends", "Enabled": True}
        self.call("UpdateTimeToLive", TableName="music", TimeToLiveSpecification=specification)
        self.switch(True)

    # -- writes ----------------------------------------------------------------------------------------------

    def item(self, name: str, group: str | None, value: int) -> Items:
        item: Items = {"pk": {"S": name}, "sk": {"N": "1"}, "value": {"N": str(value)}}
        if group is not None:
            item |= {"g": {"S": group}, "n": {"N": str(value)}}
        if value == 3:
            item["ends"] = {"N": str(int(self.clock.now) + 30)}
        return item

    @rule(writes=st.lists(st.tuples(names, groups, values), min_size=1, max_size=8))
    def put(self, writes: list[tuple[str, str | None, int]]) -> None:
        for name, group, value in writes:
            self.call("PutItem", TableName="music", Item=self.item(name, group, value))

    @rule(name=names)
    def update(self, name: str) -> None:
        self.call(
            "UpdateItem",
            TableName="music",
            Key={"pk": {"S": name}, "sk": {"N": "1"}},
            UpdateExpression="ADD n :one REMOVE ends",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.call("DeleteItem", TableName="music", Key={"pk": {"S": name}, "sk": {"N": "1"}})

    @rule(chosen=st.lists(names, min_size=2, max_size=4, unique=True), group=groups, value=values)
    def batch(self, chosen: list[str], group: str | None, value: int) -> None:
        puts = [{"PutRequest": {"Item": self.item(name, group, value)}} for name in chosen[1:]]
        deletion = {"DeleteRequest": {"Key": {"pk": {"S": chosen[0]}, "sk": {"N": "1"}}}}
        self.call("BatchWriteItem", RequestItems={"music": [*puts, deletion]})

    @rule(chosen=st.lists(names, min_size=2, max_size=4, unique=True), group=groups, value=values)
    def transact(self, chosen: list[str], group: str | None, value: int) -> None:
        puts = [{"Put": {"TableName": "music", "Item": self.item(name, group, value)}} for name in chosen[1:]]
        deletion = {"Delete": {"TableName": "music", "Key": {"pk": {"S": chosen[0]}, "sk": {"N": "1"}}}}
        self.call("TransactWriteItems", TransactItems=[*puts, deletion])

    @rule(name=names)
    def statement(self, name: str) -> None:
        self.call("ExecuteStatement", Statement=f"DELETE FROM music WHERE pk = '{name}' AND sk = 1")

    @property
    def has_seen_enough(self) -> bool:
        """Whether there is something to lose: what takes states away must not come too often."""
        return len(self.states) > 2

    # -- time ------------------------------------------------------------------------------------------------

    @rule(seconds=steps)
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds

    @precondition(lambda self: self.has_seen_enough)
    @rule()
    def pass_days(self) -> None:
        self.clock.now += 2 * DAY

    @rule()
    def sweep(self) -> None:
        self.engine.sweep()

    @rule()
    def remember(self) -> None:
        """The state at a time is the one after the last change of that time."""
        now = self.clock.now
        self.states = [(time, items) for time, items in self.states if time != now]
        self.states.append((now, self.items("music")))
        # What is written from here on is of another time.
        self.clock.now += 0.001

    # -- settings --------------------------------------------------------------------------------------------

    def switch(self, on: bool, days: int = 3) -> None:
        specification: dict[str, Any] = {"PointInTimeRecoveryEnabled": on}
        if on:
            specification["RecoveryPeriodInDays"] = days
        self.call("UpdateContinuousBackups", TableName="music", PointInTimeRecoverySpecification=specification)
        self.recovering = on

    @precondition(lambda self: self.has_seen_enough)
    @rule()
    def begin_anew(self) -> None:
        self.switch(False)
        self.states = []
        # Recovery begins with a whole second.
        self.clock.now += 1
        self.switch(True)

    @precondition(lambda self: self.has_seen_enough)
    @rule()
    def switch_off(self) -> None:
        self.switch(False)
        self.states = []
        self.clock.now += 1

    @precondition(lambda self: not self.recovering)
    @rule()
    def switch_on(self) -> None:
        # What was remembered since it was switched off is not known.
        self.states = []
        self.switch(True)

    @precondition(lambda self: self.recovering)
    @rule(days=st.sampled_from([1, 3, 35]))
    def change_period(self, days: int) -> None:
        self.switch(True, days)

    @rule()
    def change_indexes(self) -> None:
        present = {each["IndexName"] for each in self.description("music").get("GlobalSecondaryIndexes", ())}
        if "by-value" in present:
            self.call("UpdateTable", TableName="music", GlobalSecondaryIndexUpdates=index_deletion("by-value"))
        else:
            self.call(
                "UpdateTable",
                TableName="music",
                AttributeDefinitions=attributes("value:N"),
                GlobalSecondaryIndexUpdates=index_creation("by-value", "value"),
            )
        self.engine.sweep()

    @rule()
    def reopen(self) -> None:
        self.engine.close()
        self.engine = self._open()

    @precondition(lambda self: self.has_seen_enough)
    @rule()
    def replace_table(self) -> None:
        """Deleted, it leaves a backup if it was recoverable; the next of its name has a history of its own."""
        left = self.items("music")
        self.call("DeleteTable", TableName="music")
        if self.recovering:
            newest = self.call("ListBackups", BackupType="SYSTEM", TableName="music")["BackupSummaries"][-1]
            self.check_backup(newest["BackupArn"], left)
        self.states = []
        self.clock.now += 1
        self.create()

    # -- backups and restores --------------------------------------------------------------------------------

    @rule()
    def back_up(self) -> None:
        arn = self.call("CreateBackup", TableName="music", BackupName="some")["BackupDetails"]["BackupArn"]
        self.backups.append((arn, self.items("music")))

    @precondition(lambda self: self.backups)
    @rule(data=st.data())
    def restore_backup(self, data: st.DataObject) -> None:
        self.check_backup(*data.draw(st.sampled_from(self.backups)))

    @precondition(lambda self: self.backups)
    @rule(data=st.data())
    def delete_backup(self, data: st.DataObject) -> None:
        backup = data.draw(st.sampled_from(self.backups))
        self.backups.remove(backup)
        self.call("DeleteBackup", BackupArn=backup[0])

    def check_backup(self, arn: str, items: Items) -> None:
        self.check_restored("RestoreTableFromBackup", items, BackupArn=arn)

    @precondition(lambda self: self.recovering)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        known = self.known_states()
        if known:
            time, items = data.draw(st.sampled_from(known))
            self.check_restored("RestoreTableToPointInTime", items, SourceTableName="music", RestoreDateTime=time)

    @precondition(lambda self: self.recovering)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        known = self.known_states()
        if known:
            time, items = data.draw(st.sampled_from(known))
            self.check_past(time, items)

    def check_past(self, time: float, items: Items) -> None:
        """What is read at a time, without a restore, is what there was: in the table, and in each index."""
        past = self.engine.at(time)
        found = past.call("Scan", {"TableName": "music"})["Items"]
        assert {item["pk"]["S"]: item for item in found} == items
        description = self.description("music")
        for each in [*description["LocalSecondaryIndexes"], *description.get("GlobalSecondaryIndexes", ())]:
            keys = {element["AttributeName"] for element in each["KeySchema"]}
            held = {pk for pk, item in items.items() if keys <= item.keys()}
            entries = past.call("Scan", {"TableName": "music", "IndexName": each["IndexName"], "Limit": 100})["Items"]
            assert {item["pk"]["S"] for item in entries} == held

    def known_states(self) -> list[tuple[float, Items]]:
        if not self.recovering:
            return []
        earliest = self.window()["EarliestRestorableDateTime"]
        return [state for state in self.states if state[0] >= earliest]

    @precondition(lambda self: self.recovering)
    @rule()
    def restore_latest(self) -> None:
        self.check_restored(
            "RestoreTableToPointInTime", self.items("music"), SourceTableName="music", UseLatestRestorableTime=True
        )

    def window(self) -> dict[str, float]:
        told = self.call("DescribeContinuousBackups", TableName="music")["ContinuousBackupsDescription"]
        window: dict[str, float] = told["PointInTimeRecoveryDescription"]
        return window

    def check_restored(self, operation: str, items: Items, **request: Any) -> None:
        self.restored += 1
        name = f"restored-{self.restored}"
        self.call(operation, TargetTableName=name, **request)
        self.engine.sweep()
        assert self.items(name) == items
        description = self.description(name)
        assert description["TableStatus"] == "ACTIVE"
        for each in [*description["LocalSecondaryIndexes"], *description.get("GlobalSecondaryIndexes", ())]:
            keys = {element["AttributeName"] for element in each["KeySchema"]}
            held = {pk for pk, item in items.items() if keys <= item.keys()}
            found = self.call("Scan", TableName=name, IndexName=each["IndexName"])["Items"]
            assert {item["pk"]["S"] for item in found} == held
        assert self.engine.verify().ok
        self.call("DeleteTable", TableName=name)

    # -- looking ---------------------------------------------------------------------------------------------

    def items(self, table: str) -> Items:
        return {item["pk"]["S"]: item for item in self.call("Scan", TableName=table)["Items"]}

    def description(self, table: str) -> dict[str, Any]:
        described: dict[str, Any] = self.call("DescribeTable", TableName=table)["Table"]
        return described

    @invariant()
    def it_is_whole(self) -> None:
        report = self.engine.verify()
        assert report.ok, report.problems


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that a few items need several of, and places that keys have to share."""
    monkeypatch.setattr(index_backfill, "_CHUNK", 2)
    monkeypatch.setattr(point_in_time, "_TRIMMED_AT_ONCE", 3)
    monkeypatch.setattr(database, "row_id", lambda key: sum(key) % 3 + 1)


@pytest.mark.requirement("X7")
def test_a_restored_table_is_what_the_table_was() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=20,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_restored_table_is_what_the_table_was_in_many_more_cases() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=1500,
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
