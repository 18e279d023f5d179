"""UpdateTable: global indexes are added and taken away, one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from tablewright.engine import Engine
from tests.engine.table_requests import (
    attributes,
    capacity,
    create,
    describe,
    index,
    index_creation,
    index_deletion,
    index_update,
    key,
    on_demand,
    provisioned,
    refusal,
    update,
    with_index,
)

ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


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


@pytest.mark.parametrize(
    ("defined", "key", "existing", "new"),
    [
        (["g:N"], "g", "key{g:S:HASH}", "key{g:N:HASH}"),
        (["pk:B"], "pk", "key{pk:S:HASH}", "key{pk:B:HASH}"),
        (
            ["x", "g:N"],
            "x, g",
            "key{g:S:HASH}",
            "key{x:S:HASH}, SchemaElement: key{g:N:RANGE}",
        ),
    ],
)
def test_an_index_does_not_give_an_attribute_another_type(
    engine: Engine, defined: list[str], key: str, existing: str, new: str
) -> None:
    create(engine, with_index(on_demand()))
    with pytest.raises(ValidationException) as caught:
        update(
            engine,
            AttributeDefinitions=attributes(*defined),
            GlobalSecondaryIndexUpdates=index_creation("other", *key.split(", ")),
        )
    assert caught.value.message == (
        "One or more parameter values were invalid: Attributes cannot be redefined. Please check that your attribute "
        "has the same type as previously defined. "
        f"Existing schema: Schema:[SchemaElement: {existing}] New schema: Schema:[SchemaElement: {new}]"
    )


def test_another_attribute_that_is_defined_again_keeps_its_type(engine: Engine) -> None:
    create(engine, with_index(on_demand()))
    update(
        engine,
        AttributeDefinitions=attributes("pk:N", "x"),
        GlobalSecondaryIndexUpdates=index_creation("other", "x"),
    )
    assert describe(engine)["AttributeDefinitions"] == attributes("g", "pk", "x")


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


def test_a_table_whose_index_is_being_built_is_in_use(engine: Engine) -> None:
    engine._background.stop()  # the index is built when the test says so
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
