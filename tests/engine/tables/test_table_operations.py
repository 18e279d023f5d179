"""CreateTable, DescribeTable, ListTables and DeleteTable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import (
    AccessDeniedException,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import (
    INVALID,
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

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/music"


# -- creation -----------------------------------------------------------------------------------------------


def test_a_table_is_answered_as_creating_and_then_described_as_active(engine: Engine, clock: Clock) -> None:
    told = create(engine, on_demand())
    assert told["TableStatus"] == "CREATING"
    assert told["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert "WarmThroughput" not in told
    table = describe(engine)
    assert table == {
        "AttributeDefinitions": attributes("pk"),
        "TableName": "music",
        "KeySchema": key("pk"),
        "TableStatus": "ACTIVE",
        "CreationDateTime": clock.now,
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **capacity(0, 0)},
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": ARN,
        "TableId": told["TableId"],
        "BillingModeSummary": {
            "BillingMode": "PAY_PER_REQUEST",
            "LastUpdateToPayPerRequestDateTime": clock.now,
        },
        "TableThroughputModeSummary": {
            "TableThroughputMode": "PAY_PER_REQUEST",
            "LastUpdateToPayPerRequestDateTime": clock.now,
        },
        "DeletionProtectionEnabled": False,
        "WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
    }


def test_a_provisioned_table_has_no_billing_mode_summary_and_is_as_warm_as_its_capacity(
    engine: Engine,
) -> None:
    create(engine, provisioned(7, 3))
    table = describe(engine)
    assert "BillingModeSummary" not in table
    assert table["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **capacity(7, 3)}
    assert table["WarmThroughput"] == {"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 3, "Status": "ACTIVE"}


def test_indexes_are_described_in_the_order_given_with_sorted_attributes(engine: Engine) -> None:
    include = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["z", "a"]}
    told = create(
        engine,
        on_demand(
            AttributeDefinitions=attributes("z", "sk", "pk", "b:N"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[index("second", "z", "b"), index("first", "b", Projection=include)],
            LocalSecondaryIndexes=[index("local", "pk", "z")],
        ),
    )
    assert [i["IndexStatus"] for i in told["GlobalSecondaryIndexes"]] == ["CREATING", "CREATING"]
    table = describe(engine)
    assert [d["AttributeName"] for d in table["AttributeDefinitions"]] == ["b", "pk", "sk", "z"]
    second, first = table["GlobalSecondaryIndexes"]
    assert second == {
        "IndexName": "second",
        "KeySchema": key("z", "b"),
        "Projection": {"ProjectionType": "ALL"},
        "IndexStatus": "ACTIVE",
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **capacity(0, 0)},
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "IndexArn": f"{ARN}/index/second",
        "WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
    }
    assert first["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "z"]}
    assert table["LocalSecondaryIndexes"] == [
        {
            "IndexName": "local",
            "KeySchema": key("pk", "z"),
            "Projection": {"ProjectionType": "ALL"},
            "IndexSizeBytes": 0,
            "ItemCount": 0,
            "IndexArn": f"{ARN}/index/local",
        }
    ]


def test_settings_given_at_creation_are_described(engine: Engine) -> None:
    create(
        engine,
        on_demand(
            DeletionProtectionEnabled=True,
            TableClass="STANDARD_INFREQUENT_ACCESS",
            OnDemandThroughput={"MaxReadRequestUnits": 100},
            WarmThroughput={"ReadUnitsPerSecond": 13000},
            SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"},
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
            Tags=[{"Key": "team", "Value": "sound"}],
        ),
    )
    table = describe(engine)
    assert table["DeletionProtectionEnabled"] is True
    assert table["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert table["OnDemandThroughput"] == {"MaxReadRequestUnits": 100}
    assert table["WarmThroughput"] == {
        "ReadUnitsPerSecond": 13000,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }
    assert table["SSEDescription"] == {
        "Status": "ENABLED",
        "SSEType": "KMS",
        "KMSMasterKeyArn": "arn:aws:kms:us-east-1:123456789012:alias/mine",
    }
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert table["LatestStreamArn"] == f"{ARN}/stream/{table['LatestStreamLabel']}"
    tags = engine.call("ListTagsOfResource", {"ResourceArn": ARN})
    assert tags == {"Tags": [{"Key": "team", "Value": "sound"}]}


def test_a_global_index_may_have_four_hash_and_four_range_attributes(engine: Engine) -> None:
    parts = ["h1", "h2", "h3", "h4", "r1", "r2", "r3", "r4"]
    schema = key(*(f"{name}:{'HASH' if name[0] == 'h' else 'RANGE'}" for name in parts))
    wide = {**index("wide", "h1"), "KeySchema": schema}
    create(engine, on_demand(AttributeDefinitions=attributes("pk", *parts), GlobalSecondaryIndexes=[wide]))
    assert describe(engine)["GlobalSecondaryIndexes"][0]["KeySchema"] == schema
    item = {name: {"S": "x"} for name in ["pk", *parts]}
    engine.call("PutItem", {"TableName": "music", "Item": item})
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "y"}, "h1": {"S": "x"}}})
    assert describe(engine)["GlobalSecondaryIndexes"][0]["ItemCount"] == 1


def test_a_table_of_that_name_is_already_there(engine: Engine) -> None:
    create(engine, on_demand())
    message = refusal(lambda: create(engine, provisioned()), ResourceInUseException)
    assert message == "Table already exists: music"


def test_what_is_wrong_with_a_definition_comes_before_the_table_that_is_there(engine: Engine) -> None:
    create(engine, on_demand())
    assert refusal(lambda: create(engine, on_demand(KeySchema=key("pk:RANGE")))) == (
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
    )


def test_an_account_has_2500_tables(engine: Engine) -> None:
    for number in range(2500):
        create(engine, on_demand(TableName=f"t{number:04}"))
    assert refusal(lambda: create(engine, on_demand()), LimitExceededException) == (
        "Subscriber limit exceeded: There is a limit of 2500 tables per subscriber"
    )


def test_a_table_survives_a_restart_as_it_was(tmp_path: Path) -> None:
    request = on_demand(
        AttributeDefinitions=attributes("pk", "g"),
        GlobalSecondaryIndexes=[index("by-g", "g")],
        Tags=[{"Key": "a", "Value": "b"}],
    )
    with Engine.open(tmp_path) as engine:
        create(engine, request)
        before = describe(engine)
    with Engine.open(tmp_path) as engine:
        assert describe(engine) == before
        assert engine.call("ListTagsOfResource", {"ResourceArn": ARN})["Tags"] == request["Tags"]


# -- what a definition must be ------------------------------------------------------------------------------

HASH_FIRST = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"
NOT_DEFINED = INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
SAME_NAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
WIDE = attributes("pk", *"abcdefghij")


def gsi(*names: str, **members: Any) -> dict[str, Any]:
    """On-demand table with an index over those attributes, each defined once."""
    defined = dict.fromkeys(["pk", *(name.partition(":")[0] for name in names)])
    return on_demand(
        AttributeDefinitions=attributes(*defined), GlobalSecondaryIndexes=[index("gsi", *names, **members)]
    )


def lsi(*names: str, **members: Any) -> dict[str, Any]:
    defined = dict.fromkeys(["pk", "sk", *names])
    return on_demand(
        AttributeDefinitions=attributes(*defined),
        KeySchema=key("pk", "sk"),
        LocalSecondaryIndexes=[index("lsi", *names, **members)],
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            on_demand(ProvisionedThroughput=capacity(1, 1)),
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            on_demand(BillingMode="PROVISIONED"),
            INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            provisioned(1, 1_000_000_000_001),
            "Given value 1000000000001 for WriteCapacityUnits is out of bounds",
        ),
        (on_demand(AttributeDefinitions=[]), NO_DEFINITION),
        (on_demand(KeySchema=key("pk", "pk")), NO_DEFINITION),
        (on_demand(KeySchema=key("pk", "pk"), AttributeDefinitions=attributes("pk", "sk")), SAME_NAME),
        (on_demand(AttributeDefinitions=attributes("pk", "pk:N")), "Attribute Name is duplicated: pk"),
        (on_demand(KeySchema=key("PK")), NOT_DEFINED + "Keys: [PK], AttributeDefinitions: [pk]"),
        (on_demand(KeySchema=key("pk:RANGE")), HASH_FIRST),
        (
            on_demand(KeySchema=key("pk", "sk:HASH"), AttributeDefinitions=attributes("pk", "sk")),
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            on_demand(AttributeDefinitions=attributes("pk", "more")),
            INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined "
            "in AttributeDefinitions",
        ),
        # The order of names is that of the service's hash tables.
        (
            on_demand(
                AttributeDefinitions=attributes("pk", "sk", "a", "b", "c"),
                KeySchema=key("pk", "sk"),
                GlobalSecondaryIndexes=[index("gsi", "a", Projection={})],
            ),
            INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [sk, a, b, pk, c], "
            "keys used: [a, sk, pk]",
        ),
        (
            on_demand(
                AttributeDefinitions=attributes("pk", "sk"),
                KeySchema=key("pk", "sk"),
                GlobalSecondaryIndexes=[index("gsi", "q")],
            ),
            NOT_DEFINED + "Keys: [q], AttributeDefinitions: [sk, pk]",
        ),
        (on_demand(LocalSecondaryIndexes=[]), INVALID + "List of LocalSecondaryIndexes is empty"),
        (on_demand(GlobalSecondaryIndexes=[]), INVALID + "List of GlobalSecondaryIndexes is empty"),
        (
            on_demand(
                AttributeDefinitions=attributes("pk", "a"),
                LocalSecondaryIndexes=[index("lsi", "pk", "a")],
            ),
            INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex",
        ),
        (lsi("pk"), INVALID + "Index KeySchema does not have a range key for index: lsi"),
        (
            lsi("a", "b"),
            INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            "lsi. index hash key: a, table hash key: pk",
        ),
        (gsi("a:RANGE"), HASH_FIRST),
        (gsi("a", "a"), SAME_NAME),
        (gsi("a", "b", "b"), "The KeySchema contains multiple key attributes with the same name"),
        (
            gsi("a", "b", "c:HASH"),
            INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ),
        (
            gsi("a", "b:HASH", "c:HASH", "d:HASH", "e:HASH"),
            INVALID + "The KeySchema exceeds the maximum allowed number of HASH key attributes",
        ),
        (
            gsi("a", "b", "c", "d", "e", "f"),
            INVALID + "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
        ),
        (gsi("a", Projection={}), INVALID + "Unknown ProjectionType: null"),
        (
            gsi("a", Projection={"ProjectionType": "INCLUDE"}),
            INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            lsi("pk", "a", Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}),
            INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            gsi("a", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "x"]}),
            INVALID + "Duplicate element in NonKeyAttributes: x",
        ),
        (
            gsi("a", ProvisionedThroughput=capacity(1, 1)),
            INVALID + "ProvisionedThroughput should not be specified for index: gsi when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            provisioned(AttributeDefinitions=attributes("pk", "a"), GlobalSecondaryIndexes=[index("gsi", "a")]),
            INVALID + "ProvisionedThroughput is not specified for index: gsi",
        ),
        (
            on_demand(
                AttributeDefinitions=attributes("pk", "sk"),
                KeySchema=key("pk", "sk"),
                GlobalSecondaryIndexes=[index("dup", "sk")],
                LocalSecondaryIndexes=[index("dup", "pk", "sk")],
            ),
            INVALID + "Duplicate index name: dup",
        ),
        (
            on_demand(
                AttributeDefinitions=attributes("pk", "sk"),
                KeySchema=key("pk", "sk"),
                LocalSecondaryIndexes=[index(f"lsi{n}", "pk", "sk") for n in range(6)],
            ),
            INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
        (
            on_demand(GlobalSecondaryIndexes=[index(f"gsi{n}", "pk") for n in range(21)]),
            INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
        (
            on_demand(StreamSpecification={"StreamEnabled": True}),
            INVALID + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            on_demand(StreamSpecification={"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}),
            INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (
            provisioned(OnDemandThroughput={"MaxWriteRequestUnits": 1}),
            INVALID + "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when table "
            "BillingMode is PROVISIONED.",
        ),
        (
            on_demand(OnDemandThroughput={"MaxReadRequestUnits": -1}),
            INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            gsi("a", OnDemandThroughput={"MaxReadRequestUnits": 0}),
            INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for index : gsi is outside of valid range",
        ),
        (
            provisioned(10, 10, WarmThroughput={"ReadUnitsPerSecond": 5}),
            INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than "
            "ReadCapacityUnits of ProvisionedThroughput",
        ),
        (
            gsi("a", WarmThroughput={"WriteUnitsPerSecond": 100}),
            INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for index gsi is lower than initial "
            "throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
            "on-demand-capacity-mode.html#on-demand-capacity-mode-initial",
        ),
        (
            on_demand(SSESpecification={"Enabled": False, "SSEType": "KMS"}),
            INVALID + "SSEType can not be specified if Enabled is false",
        ),
        (
            on_demand(SSESpecification={"Enabled": True, "SSEType": "AES256"}),
            INVALID + "SSEType AES256 is not supported",
        ),
        (
            on_demand(Tags=[{"Key": "aws:x", "Value": ""}]),
            "Tag Key cannot be prefixed with aws:, Key: aws:x",
        ),
    ],
)
def test_a_definition_is_refused_in_the_services_words(engine: Engine, request_: dict[str, Any], message: str) -> None:
    assert refusal(lambda: create(engine, request_)) == message
    assert engine.call("ListTables", {}) == {"TableNames": []}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            provisioned(40001, 1),
            "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in "
            "us-east-1. Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current "
            "limits and how to request higher limits.",
        ),
        (
            on_demand(OnDemandThroughput={"MaxWriteRequestUnits": 40001}),
            "Subscriber limit exceeded: Requested MaxWriteRequestUnits for OnDemandThroughput for table "
            "exceeds TableMaxWriteCapacityUnits of the account in region us-east-1",
        ),
    ],
)
def test_a_table_has_no_more_capacity_than_the_account_allows(
    engine: Engine, request_: dict[str, Any], message: str
) -> None:
    assert refusal(lambda: create(engine, request_), LimitExceededException) == message


def test_projections_name_a_hundred_attributes_in_all(engine: Engine) -> None:
    def including(count: int) -> dict[str, Any]:
        groups = [[f"x{n}" for n in range(start, min(start + 20, count))] for start in range(0, count, 20)]
        return on_demand(
            GlobalSecondaryIndexes=[
                index(f"gsi{n}", "pk", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": names})
                for n, names in enumerate(groups)
            ]
        )

    with pytest.raises(ValidationException):
        create(engine, including(101))
    create(engine, including(100))


# -- description --------------------------------------------------------------------------------------------


def test_items_and_bytes_are_those_of_the_moment(engine: Engine) -> None:
    keys_only = {"ProjectionType": "KEYS_ONLY"}
    create(
        engine,
        on_demand(
            AttributeDefinitions=attributes("pk", "g"),
            GlobalSecondaryIndexes=[index("all", "g"), index("keys", "g", Projection=keys_only)],
        ),
    )
    for number in range(3):
        item = {"pk": {"S": str(number)}, "data": {"S": "x" * 100}, **({"g": {"S": "g"}} if number else {})}
        engine.call("PutItem", {"TableName": "music", "Item": item})
    table = describe(engine)
    assert (table["ItemCount"], table["TableSizeBytes"]) == (3, 107 + 109 + 109)
    everything, keys = table["GlobalSecondaryIndexes"]
    assert (everything["ItemCount"], everything["IndexSizeBytes"]) == (2, 218)
    assert (keys["ItemCount"], keys["IndexSizeBytes"]) == (2, 10)
    engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": "0"}}})
    assert describe(engine)["ItemCount"] == 2


def test_a_table_is_found_by_its_arn(engine: Engine) -> None:
    create(engine, on_demand())
    assert describe(engine, ARN)["TableName"] == "music"
    elsewhere = ARN.replace("us-east-1", "eu-west-1")
    assert refusal(lambda: describe(engine, elsewhere)) == (
        f"1 validation error detected: Invalid AWS region in '{elsewhere}'"
    )
    foreign = ARN.replace("123456789012", "111111111111")
    assert refusal(lambda: describe(engine, foreign), AccessDeniedException) == "Access is denied"


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
def test_a_table_that_is_not_there_is_not_found(engine: Engine, operation: str) -> None:
    message = refusal(lambda: engine.call(operation, {"TableName": "nothing"}), ResourceNotFoundException)
    assert message == "Requested resource not found: Table: nothing not found"


# -- lists --------------------------------------------------------------------------------------------------


def test_names_are_listed_in_byte_order_and_in_pages(engine: Engine) -> None:
    for name in ("beta", "alpha", "Zeta", "_under", "gamma"):
        create(engine, on_demand(TableName=name))
    assert engine.call("ListTables", {}) == {"TableNames": ["Zeta", "_under", "alpha", "beta", "gamma"]}
    assert engine.call("ListTables", {"Limit": 2}) == {
        "TableNames": ["Zeta", "_under"],
        "LastEvaluatedTableName": "_under",
    }
    assert engine.call("ListTables", {"Limit": 2, "ExclusiveStartTableName": "b-never-was"}) == {
        "TableNames": ["beta", "gamma"]
    }
    assert engine.call("ListTables", {"ExclusiveStartTableName": "gamma"}) == {"TableNames": []}


def test_a_page_has_a_hundred_names(engine: Engine) -> None:
    for number in range(101):
        create(engine, on_demand(TableName=f"table{number:03}"))
    page = engine.call("ListTables", {})
    assert len(page["TableNames"]) == 100
    assert page["LastEvaluatedTableName"] == "table099"


# -- deletion -----------------------------------------------------------------------------------------------


def test_a_deleted_table_is_gone_and_its_name_free(engine: Engine) -> None:
    created = create(
        engine,
        on_demand(AttributeDefinitions=attributes("pk", "g"), GlobalSecondaryIndexes=[index("by-g", "g")]),
    )
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}, "g": {"S": "b"}}})
    told = engine.call("DeleteTable", {"TableName": "music"})["TableDescription"]
    assert told["TableStatus"] == "DELETING"
    assert told["TableId"] == created["TableId"]
    assert "GlobalSecondaryIndexes" not in told
    assert engine.call("ListTables", {}) == {"TableNames": []}
    again = create(engine, on_demand())
    assert again["TableId"] != created["TableId"]
    assert describe(engine)["ItemCount"] == 0
    assert engine.verify().ok


def test_a_protected_table_is_not_deleted(engine: Engine) -> None:
    create(engine, on_demand(DeletionProtectionEnabled=True))
    assert refusal(lambda: engine.call("DeleteTable", {"TableName": "music"})) == (
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    )
    update(engine, DeletionProtectionEnabled=False)
    engine.call("DeleteTable", {"TableName": "music"})


def test_the_stream_of_a_deleted_table_stays_readable(engine: Engine) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    arn = create(engine, on_demand(StreamSpecification=stream))["LatestStreamArn"]
    engine.call("DeleteTable", {"TableName": "music"})
    described = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    assert described["StreamStatus"] == "DISABLED"


def test_a_deleted_table_is_gone_after_a_restart(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine, on_demand())
        engine.call("DeleteTable", {"TableName": "music"})
        create(engine, on_demand(TableName="other"))
    with Engine.open(tmp_path) as engine:
        assert engine.call("ListTables", {}) == {"TableNames": ["other"]}
