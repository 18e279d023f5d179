"""What was in a batch that the disk refused has not happened, and nobody is told otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ConditionalCheckFailedException, InternalServerError, ResourceNotFoundException
from tablewright.engine import Engine
from tests.engine.storage.disk import Disk, Waiter, create, definition, keys, put, putting


def test_a_table_that_was_created_in_a_refused_batch_is_not_there(engine: Engine) -> None:
    disk = Disk(engine)
    waiter = Waiter(engine, "CreateTable", definition("others"))
    disk.refuse("COMMIT")
    engine.flush()
    disk.recover()
    assert waiter.was_refused
    with pytest.raises(ResourceNotFoundException):
        engine.call("DescribeTable", {"TableName": "others"})
    with pytest.raises(ResourceNotFoundException):
        put(engine, "one", table="others")
    create(engine, "others")
    put(engine, "one", table="others")
    assert engine.verify().ok


def test_a_table_that_was_deleted_in_a_refused_batch_is_still_there(engine: Engine) -> None:
    disk = Disk(engine)
    waiter = Waiter(engine, "DeleteTable", {"TableName": "things"})
    disk.refuse("COMMIT")
    engine.flush()
    disk.recover()
    assert waiter.was_refused
    assert keys(engine) == {"before"}
    put(engine, "after")
    assert engine.verify().ok


@pytest.mark.parametrize(
    ("operation", "request_members"),
    [
        ("UpdateTimeToLive", {"TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True}}),
        ("UpdateTable", {"StreamSpecification": {"StreamEnabled": False}}),
        ("UpdateTable", {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-kind"}}]}),
    ],
)
def test_a_change_of_a_table_in_a_refused_batch_did_not_happen(
    engine: Engine, operation: str, request_members: dict[str, Any]
) -> None:
    before = engine.call("DescribeTable", {"TableName": "things"})
    disk = Disk(engine)
    waiter = Waiter(engine, operation, {"TableName": "things", **request_members})
    disk.refuse("COMMIT")
    engine.flush()
    disk.recover()
    assert waiter.was_refused
    assert engine.call("DescribeTable", {"TableName": "things"}) == before
    put(engine, "after")
    assert engine.verify().ok


def test_a_condition_that_failed_on_a_lost_write_is_not_reported(engine: Engine) -> None:
    """What is not on disk has not happened, and a failed condition says that it has."""
    disk = Disk(engine)
    writer = Waiter(engine, "PutItem", putting("new"))
    disk.refuse("COMMIT")
    claim = {**putting("new"), "ConditionExpression": "attribute_not_exists(pk)"}
    with pytest.raises(InternalServerError):
        engine.call("PutItem", claim)
    assert writer.was_refused
    disk.recover()
    engine.call("PutItem", claim)
    assert keys(engine) == {"before", "new"}


def test_a_failed_condition_is_reported_once_its_cause_is_durable(engine: Engine) -> None:
    writer = Waiter(engine, "PutItem", putting("new"))
    request = {**putting("new"), "ConditionExpression": "attribute_not_exists(pk)"}
    with pytest.raises(ConditionalCheckFailedException) as failed:
        engine.execute("PutItem", request)
    assert failed.value.commit is not None
    assert not failed.value.commit.done
    with pytest.raises(ConditionalCheckFailedException):
        engine.call("PutItem", request)
    assert writer.told == [None]
