"""The inputs of the operations on tables, on what belongs to a table, and on streams.

Order of members and of enumerations: see the inputs of the operations on items. The tag operations check
their ARN before anything else, with their own messages, so only the tags themselves are constrained here.
"""

from __future__ import annotations

from tablewright.dynamo.limits import MAX_NAME_BYTES, MAX_TABLE_NAME_LENGTH, MAX_TABLE_NAMES, MIN_TABLE_NAME_LENGTH
from tablewright.engine.requests.common_shapes import (
    BOOLEAN,
    INDEX_NAME,
    POSITIVE_INTEGER,
    STRING,
    TABLE_NAME,
    Input,
    operation_input,
)
from tablewright.engine.requests.input_shapes import List, Number, Shape, String, Struct, Timestamp
from tablewright.engine.requests.table_name_shape import NAME_PATTERN


def table_input(name: str, members: dict[str, Shape], required: tuple[str, ...] = ()) -> Input:
    shape = Struct(f"{name}Input", members, ("TableName", *required))
    return Input(shape, required_parameter="TableName")


# --- the parts of a table ----------------------------------------------------------------------------------

_LONG = Number("Long")
_POSITIVE_LONG = Number("Long", min=1)
_ATTRIBUTE_NAME = String(min=1, max=255)
BILLING_MODE = String(enum=("PROVISIONED", "PAY_PER_REQUEST"))
_TABLE_CLASS = String(enum=("STANDARD", "STANDARD_INFREQUENT_ACCESS"))
_REPLICATION_MODE = String(enum=("ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"))

_ATTRIBUTE_DEFINITIONS = List(
    Struct(
        "AttributeDefinition",
        {"AttributeName": _ATTRIBUTE_NAME, "AttributeType": String(enum=("B", "N", "S"))},
        ("AttributeName", "AttributeType"),
    )
)
_KEY_SCHEMA_ELEMENT = Struct(
    "KeySchemaElement",
    {"AttributeName": _ATTRIBUTE_NAME, "KeyType": String(enum=("HASH", "RANGE"))},
    ("AttributeName", "KeyType"),
)
_KEY_SCHEMA = List(_KEY_SCHEMA_ELEMENT, min=1, max=2)
# A key of a global index may have several attributes; the operation limits their number.
_GLOBAL_KEY_SCHEMA = List(_KEY_SCHEMA_ELEMENT, min=1)
_PROJECTION = Struct(
    "Projection",
    {
        "ProjectionType": String(enum=("ALL", "INCLUDE", "KEYS_ONLY")),
        "NonKeyAttributes": List(String(min=1, max=255), min=1, max=20),
    },
)
PROVISIONED_THROUGHPUT = Struct(
    "ProvisionedThroughput",
    {"WriteCapacityUnits": _POSITIVE_LONG, "ReadCapacityUnits": _POSITIVE_LONG},
    ("WriteCapacityUnits", "ReadCapacityUnits"),
)
ON_DEMAND_THROUGHPUT = Struct("OnDemandThroughput", {"MaxReadRequestUnits": _LONG, "MaxWriteRequestUnits": _LONG})
_WARM_THROUGHPUT = Struct("WarmThroughput", {"ReadUnitsPerSecond": _LONG, "WriteUnitsPerSecond": _LONG})
_INDEX_THROUGHPUTS: dict[str, Shape] = {
    "ProvisionedThroughput": PROVISIONED_THROUGHPUT,
    "OnDemandThroughput": ON_DEMAND_THROUGHPUT,
    "WarmThroughput": _WARM_THROUGHPUT,
}
_STREAM_SPECIFICATION = Struct(
    "StreamSpecification",
    {
        "StreamEnabled": BOOLEAN,
        "StreamViewType": String(enum=("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")),
    },
    ("StreamEnabled",),
)
SSE_SPECIFICATION = Struct(
    "SSESpecification",
    {"Enabled": BOOLEAN, "SSEType": String(enum=("AES256", "KMS")), "KMSMasterKeyId": STRING},
)
# The operations have their own errors about tags.
_TAGS = List(Struct("Tag", {"Key": STRING, "Value": STRING}))


def _vector_index(name: str) -> Struct:
    return Struct(
        name,
        {
            "IndexName": INDEX_NAME,
            "VectorAttribute": Struct(
                "VectorAttributeDefinition", {"AttributeName": _ATTRIBUTE_NAME}, ("AttributeName",)
            ),
            "SearchSchema": List(
                Struct(
                    "SearchSchemaElement",
                    {
                        "AttributeName": String(max=MAX_NAME_BYTES),
                        "SearchSchemaElementType": String(enum=("HASH", "INLINE_FILTER")),
                    },
                    ("AttributeName", "SearchSchemaElementType"),
                ),
                min=1,
            ),
            "Projection": _PROJECTION,
            "Dimensions": _POSITIVE_LONG,
            "DistanceFunction": String(enum=("COSINE", "DOT_PRODUCT", "EUCLIDEAN")),
        },
        ("IndexName", "VectorAttribute", "Projection", "Dimensions", "DistanceFunction"),
    )


def _named(name: str, member: str, shape: Shape) -> Struct:
    return Struct(name, {member: shape}, (member,))


LOCAL_INDEXES = List(
    Struct(
        "LocalSecondaryIndex",
        {"IndexName": INDEX_NAME, "KeySchema": _KEY_SCHEMA, "Projection": _PROJECTION},
        ("IndexName", "KeySchema", "Projection"),
    )
)
GLOBAL_INDEXES = List(
    Struct(
        "GlobalSecondaryIndex",
        {
            "IndexName": INDEX_NAME,
            "KeySchema": _GLOBAL_KEY_SCHEMA,
            "Projection": _PROJECTION,
            **_INDEX_THROUGHPUTS,
        },
        ("IndexName", "KeySchema", "Projection"),
    )
)
VECTOR_INDEXES = List(_vector_index("VectorIndex"))


# --- tables ------------------------------------------------------------------------------------------------

_CREATE_TABLE = table_input(
    "CreateTable",
    {
        "AttributeDefinitions": _ATTRIBUTE_DEFINITIONS,
        "TableName": TABLE_NAME,
        "BillingMode": BILLING_MODE,
        "ProvisionedThroughput": PROVISIONED_THROUGHPUT,
        "KeySchema": _KEY_SCHEMA,
        "GlobalSecondaryIndexes": GLOBAL_INDEXES,
        "LocalSecondaryIndexes": LOCAL_INDEXES,
        "StreamSpecification": _STREAM_SPECIFICATION,
        "SSESpecification": SSE_SPECIFICATION,
        "Tags": _TAGS,
        "TableClass": _TABLE_CLASS,
        "DeletionProtectionEnabled": BOOLEAN,
        "WarmThroughput": _WARM_THROUGHPUT,
        "ResourcePolicy": STRING,
        "OnDemandThroughput": ON_DEMAND_THROUGHPUT,
        "GlobalTableSourceArn": String(min=1, max=1024),
        "GlobalTableSettingsReplicationMode": _REPLICATION_MODE,
        "VectorIndexes": VECTOR_INDEXES,
    },
    ("AttributeDefinitions", "KeySchema"),
)

_INDEX_UPDATES = List(
    Struct(
        "GlobalSecondaryIndexUpdate",
        {
            "Update": Struct(
                "UpdateGlobalSecondaryIndexAction",
                {"IndexName": INDEX_NAME, **_INDEX_THROUGHPUTS},
                ("IndexName",),
            ),
            "Create": Struct(
                "CreateGlobalSecondaryIndexAction",
                {
                    "Projection": _PROJECTION,
                    "IndexName": INDEX_NAME,
                    **_INDEX_THROUGHPUTS,
                    "KeySchema": _GLOBAL_KEY_SCHEMA,
                },
                ("Projection", "IndexName", "KeySchema"),
            ),
            "Delete": _named("DeleteGlobalSecondaryIndexAction", "IndexName", INDEX_NAME),
        },
    )
)
_REPLICA_THROUGHPUTS: dict[str, Shape] = {
    "ProvisionedThroughputOverride": Struct("ProvisionedThroughputOverride", {"ReadCapacityUnits": _POSITIVE_LONG}),
    "OnDemandThroughputOverride": Struct("OnDemandThroughputOverride", {"MaxReadRequestUnits": _LONG}),
}
_REPLICA_MEMBERS: dict[str, Shape] = {
    "RegionName": STRING,
    "KMSMasterKeyId": STRING,
    **_REPLICA_THROUGHPUTS,
    "GlobalSecondaryIndexes": List(
        Struct(
            "ReplicaGlobalSecondaryIndex",
            {"IndexName": INDEX_NAME, **_REPLICA_THROUGHPUTS},
            ("IndexName",),
        ),
        min=1,
    ),
    "TableClassOverride": _TABLE_CLASS,
}
_REPLICA_UPDATES = List(
    Struct(
        "ReplicationGroupUpdate",
        {
            "Create": Struct("CreateReplicationGroupMemberAction", _REPLICA_MEMBERS, ("RegionName",)),
            "Update": Struct("UpdateReplicationGroupMemberAction", _REPLICA_MEMBERS, ("RegionName",)),
            "Delete": _named("DeleteReplicationGroupMemberAction", "RegionName", STRING),
            "Disassociate": Struct(
                "DisassociateReplicationGroupMemberAction",
                {"RegionName": STRING, "DisassociationMode": String(enum=("WAIT_FOR_REPLICATION",))},
                ("RegionName", "DisassociationMode"),
            ),
        },
    ),
    min=1,
)
_WITNESS_UPDATES = List(
    Struct(
        "GlobalTableWitnessGroupUpdate",
        {
            "Create": _named("CreateGlobalTableWitnessGroupMemberAction", "RegionName", STRING),
            "Delete": _named("DeleteGlobalTableWitnessGroupMemberAction", "RegionName", STRING),
        },
    ),
    min=1,
    max=1,
)
_VECTOR_INDEX_UPDATES = List(
    Struct(
        "VectorIndexUpdate",
        {
            "Create": _vector_index("CreateVectorIndexAction"),
            "Delete": _named("DeleteVectorIndexAction", "IndexName", INDEX_NAME),
        },
    )
)
_UPDATE_TABLE = table_input(
    "UpdateTable",
    {
        "TableName": TABLE_NAME,
        "AttributeDefinitions": _ATTRIBUTE_DEFINITIONS,
        "ProvisionedThroughput": PROVISIONED_THROUGHPUT,
        "BillingMode": BILLING_MODE,
        "GlobalSecondaryIndexUpdates": _INDEX_UPDATES,
        "StreamSpecification": _STREAM_SPECIFICATION,
        "SSESpecification": SSE_SPECIFICATION,
        "ReplicaUpdates": _REPLICA_UPDATES,
        "TableClass": _TABLE_CLASS,
        "DeletionProtectionEnabled": BOOLEAN,
        "MultiRegionConsistency": String(enum=("EVENTUAL", "STRONG")),
        "GlobalTableWitnessUpdates": _WITNESS_UPDATES,
        "OnDemandThroughput": ON_DEMAND_THROUGHPUT,
        "WarmThroughput": _WARM_THROUGHPUT,
        "GlobalTableSettingsReplicationMode": _REPLICATION_MODE,
        "DisassociationProtectionEnabled": BOOLEAN,
        "VectorIndexUpdates": _VECTOR_INDEX_UPDATES,
    },
)
_LIST_TABLES = operation_input(
    "ListTables",
    {"Limit": Number("Integer", min=1, max=MAX_TABLE_NAMES), "ExclusiveStartTableName": INDEX_NAME},
)
_UPDATE_TIME_TO_LIVE = table_input(
    "UpdateTimeToLive",
    {
        "TableName": TABLE_NAME,
        "TimeToLiveSpecification": Struct(
            "TimeToLiveSpecification",
            {"Enabled": BOOLEAN, "AttributeName": _ATTRIBUTE_NAME},
            ("Enabled", "AttributeName"),
        ),
    },
    ("TimeToLiveSpecification",),
)

TABLE_INPUTS = {
    "CreateTable": _CREATE_TABLE,
    "DescribeTable": table_input("DescribeTable", {"TableName": TABLE_NAME}),
    "ListTables": _LIST_TABLES,
    "DeleteTable": table_input("DeleteTable", {"TableName": TABLE_NAME}),
    "UpdateTable": _UPDATE_TABLE,
    "UpdateTimeToLive": _UPDATE_TIME_TO_LIVE,
    "DescribeTimeToLive": table_input("DescribeTimeToLive", {"TableName": TABLE_NAME}),
    "TagResource": operation_input("TagResource", {"ResourceArn": STRING, "Tags": _TAGS}),
    "UntagResource": operation_input("UntagResource", {"ResourceArn": STRING, "TagKeys": List(STRING)}),
    "ListTagsOfResource": operation_input("ListTagsOfResource", {"ResourceArn": STRING, "NextToken": STRING}),
    "DescribeLimits": operation_input("DescribeLimits", {}),
    "DescribeEndpoints": operation_input("DescribeEndpoints", {}),
}


# --- streams -----------------------------------------------------------------------------------------------

_STREAM_ARN = String(min=37, max=1024)
_SHARD_ID = String(min=28, max=65)
_SHARD_ITERATOR_TYPE = String(
    enum=("AFTER_SEQUENCE_NUMBER", "LATEST", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON")
)

STREAM_INPUTS = {
    "ListStreams": operation_input(
        "ListStreams",
        {
            "TableName": String(min=MIN_TABLE_NAME_LENGTH, max=MAX_TABLE_NAME_LENGTH, pattern=NAME_PATTERN),
            "Limit": POSITIVE_INTEGER,
            "ExclusiveStartStreamArn": _STREAM_ARN,
        },
    ),
    "DescribeStream": operation_input(
        "DescribeStream",
        {
            "StreamArn": _STREAM_ARN,
            "Limit": POSITIVE_INTEGER,
            "ExclusiveStartShardId": _SHARD_ID,
            "ShardFilter": Struct("ShardFilter", {"Type": String(enum=("CHILD_SHARDS",)), "ShardId": _SHARD_ID}),
        },
        ("StreamArn",),
    ),
    "GetShardIterator": operation_input(
        "GetShardIterator",
        {
            "StreamArn": _STREAM_ARN,
            "ShardId": _SHARD_ID,
            "ShardIteratorType": _SHARD_ITERATOR_TYPE,
            "SequenceNumber": String(min=21, max=40),
            "Timestamp": Timestamp(),
        },
        ("StreamArn", "ShardId", "ShardIteratorType"),
    ),
    "GetRecords": operation_input(
        "GetRecords",
        {"ShardIterator": String(min=1, max=2048), "Limit": POSITIVE_INTEGER},
        ("ShardIterator",),
    ),
}
