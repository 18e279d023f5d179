"""The inputs of the operations on items: single, in batches, in transactions, and in PartiQL.

Members are in the order in which the service lists their violations; members for which this order is not documented
come last. Enumerations are in the order in which the service prints them. A constraint that an operation reports with
its own message (sizes, key schemas, combinations of members) is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tablewright.dynamo.limits import (
    MAX_BATCH_GET_KEYS,
    MAX_BATCH_STATEMENTS,
    MAX_BATCH_WRITES,
    MAX_TRANSACTION_ACTIONS,
)
from tablewright.engine.requests.common_shapes import (
    BOOLEAN,
    INDEX_NAME,
    POSITIVE_INTEGER,
    STRING,
    TABLE_NAME,
    Input,
    operation_input,
)
from tablewright.engine.requests.input_shapes import List, Map, NamelessEnum, Number, Shape, String, Struct
from tablewright.engine.requests.table_name_shape import TableName
from tablewright.engine.requests.value_shape import ATTRIBUTE_VALUE, PARAMETER, AttributeMap

_ATTRIBUTE_MAP = AttributeMap()
_ATTRIBUTE_VALUES = List(ATTRIBUTE_VALUE)
_NAME_VARIABLES = Map(STRING)
_ATTRIBUTES_TO_GET = List(STRING, min=1, max=255)
_REQUEST_TOKEN = String(min=1, max=36)

_CONDITIONAL_OPERATOR = String(enum=("OR", "AND"))
_COMPARISON_OPERATOR = String(
    enum=(
        *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT"),
        *("NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"),
    )
)
_RETURN_CONSUMED_CAPACITY = String(enum=("INDEXES", "TOTAL", "NONE"))
_RETURN_ITEM_COLLECTION_METRICS = String(enum=("SIZE", "NONE"))
_RETURN_VALUES = String(enum=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"))
_RETURN_ON_FAILURE = String(enum=("ALL_OLD", "NONE"))
_SELECT = String(enum=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"))

# --- single items, batches and reads -----------------------------------------------------------------------

_EXPECTED = Map(
    Struct(
        "ExpectedAttributeValue",
        {
            "AttributeValueList": _ATTRIBUTE_VALUES,
            "ComparisonOperator": _COMPARISON_OPERATOR,
            "Exists": BOOLEAN,
            "Value": ATTRIBUTE_VALUE,
        },
    )
)
_FILTER_CONDITIONS = Map(
    Struct(
        "Condition",
        {"AttributeValueList": _ATTRIBUTE_VALUES, "ComparisonOperator": _COMPARISON_OPERATOR},
        ("ComparisonOperator",),
    )
)
_KEY_CONDITIONS = Map(
    Struct(
        "Condition",
        {"ComparisonOperator": _COMPARISON_OPERATOR, "AttributeValueList": _ATTRIBUTE_VALUES},
        ("ComparisonOperator",),
    )
)
_ATTRIBUTE_UPDATES = Map(
    Struct(
        "AttributeValueUpdate",
        {"Action": String(enum=("ADD", "PUT", "DELETE")), "Value": ATTRIBUTE_VALUE},
    )
)
_CONDITION_MEMBERS: dict[str, Shape] = {
    "ConditionExpression": STRING,
    "ExpressionAttributeValues": _ATTRIBUTE_MAP,
    "ExpressionAttributeNames": _NAME_VARIABLES,
    "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
}


class _Words(NamedTuple):
    """The differences between the two layers of checks in the writes of one item."""

    table_name: TableName
    return_values: String
    conditional_operator: String


_OLDER = _Words(TABLE_NAME, _RETURN_VALUES, _CONDITIONAL_OPERATOR)
_NEWER = _Words(
    TableName(terse=True),
    NamelessEnum(*_RETURN_VALUES.enum, shown="ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE"),
    NamelessEnum(*_CONDITIONAL_OPERATOR.enum, shown="ALL, OR"),
)


def _item_write(
    name: str, members: Callable[[_Words], dict[str, Shape]], subject: str, first: tuple[tuple[str, ...], ...] = ()
) -> Input:
    newer, older = (
        Struct(f"{name}Input", {**members(words), **_CONDITION_MEMBERS}, ("TableName", subject))
        for words in (_NEWER, _OLDER)
    )
    return Input(newer, first=first, older=older)


_PUT_ITEM = _item_write(
    "PutItem",
    lambda words: {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": words.table_name,
        "Item": _ATTRIBUTE_MAP,
        "ConditionalOperator": words.conditional_operator,
        "Expected": _EXPECTED,
        "ReturnValues": words.return_values,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
    },
    "Item",
)
_UPDATE_ITEM = _item_write(
    "UpdateItem",
    lambda words: {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": words.table_name,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "ReturnValues": words.return_values,
        "ConditionalOperator": words.conditional_operator,
        "Key": _ATTRIBUTE_MAP,
        "Expected": _EXPECTED,
        "AttributeUpdates": _ATTRIBUTE_UPDATES,
        "UpdateExpression": STRING,
    },
    "Key",
    first=(("ReturnValues",), ("ReturnConsumedCapacity",), ("ReturnItemCollectionMetrics",)),
)
_DELETE_ITEM = _item_write(
    "DeleteItem",
    lambda words: {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": words.table_name,
        "ReturnValues": words.return_values,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "Key": _ATTRIBUTE_MAP,
        "ConditionalOperator": words.conditional_operator,
        "Expected": _EXPECTED,
    },
    "Key",
)
_GET_ITEM = operation_input(
    "GetItem",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "AttributesToGet": _ATTRIBUTES_TO_GET,
        "TableName": TABLE_NAME,
        "Key": _ATTRIBUTE_MAP,
        "ConsistentRead": BOOLEAN,
        "ProjectionExpression": STRING,
        "ExpressionAttributeNames": _NAME_VARIABLES,
    },
    ("TableName", "Key"),
)
_BATCH_GET_ITEM = Input(
    Struct(
        "BatchGetItemInput",
        {
            "RequestItems": Map(
                Struct(
                    "KeysAndAttributes",
                    {
                        "Keys": List(_ATTRIBUTE_MAP, min=1, max=MAX_BATCH_GET_KEYS, terse=True),
                        "AttributesToGet": _ATTRIBUTES_TO_GET,
                        "ConsistentRead": BOOLEAN,
                        "ProjectionExpression": STRING,
                        "ExpressionAttributeNames": _NAME_VARIABLES,
                    },
                    ("Keys",),
                ),
                keys=TABLE_NAME,
                min=1,
                shown_as_json=True,
            ),
            "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        },
        ("RequestItems",),
    ),
)
_BATCH_WRITE_ITEM = Input(
    Struct(
        "BatchWriteItemInput",
        {
            "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
            "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
            "RequestItems": Map(
                List(
                    Struct(
                        "WriteRequest",
                        {
                            "PutRequest": Struct("PutRequest", {"Item": _ATTRIBUTE_MAP}, ("Item",)),
                            "DeleteRequest": Struct("DeleteRequest", {"Key": _ATTRIBUTE_MAP}, ("Key",)),
                        },
                    ),
                    min=1,
                    max=MAX_BATCH_WRITES,
                ),
                keys=TABLE_NAME,
            ),
        },
        ("RequestItems",),
    ),
    required_entries="RequestItems",
    first=(("ReturnConsumedCapacity", "ReturnItemCollectionMetrics"),),
)
_QUERY = Input(
    Struct(
        "QueryInput",
        {
            "Select": _SELECT,
            "IndexName": INDEX_NAME,
            "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
            "QueryFilter": _FILTER_CONDITIONS,
            "TableName": TABLE_NAME,
            "ConditionalOperator": NamelessEnum(*_CONDITIONAL_OPERATOR.enum, shown="ALL, OR", alone=True),
            "AttributesToGet": _ATTRIBUTES_TO_GET,
            "Limit": Number("Integer", min=1, terse=True),
            "KeyConditions": _KEY_CONDITIONS,
            "ExclusiveStartKey": _ATTRIBUTE_MAP,
            "ConsistentRead": BOOLEAN,
            "ScanIndexForward": BOOLEAN,
            "KeyConditionExpression": STRING,
            "FilterExpression": STRING,
            "ProjectionExpression": STRING,
            "ExpressionAttributeValues": _ATTRIBUTE_MAP,
            "ExpressionAttributeNames": _NAME_VARIABLES,
        },
        ("TableName",),
    ),
    first=(("ConditionalOperator",),),
)
_SCAN = operation_input(
    "Scan",
    {
        "Select": _SELECT,
        "IndexName": INDEX_NAME,
        "TotalSegments": Number("Integer", min=1, max=1000000),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": TABLE_NAME,
        "ConditionalOperator": _CONDITIONAL_OPERATOR,
        "ScanFilter": _FILTER_CONDITIONS,
        "Segment": Number("Integer", min=0, max=999999),
        "Limit": POSITIVE_INTEGER,
        "AttributesToGet": _ATTRIBUTES_TO_GET,
        "ExclusiveStartKey": _ATTRIBUTE_MAP,
        "ConsistentRead": BOOLEAN,
        "FilterExpression": STRING,
        "ProjectionExpression": STRING,
        "ExpressionAttributeValues": _ATTRIBUTE_MAP,
        "ExpressionAttributeNames": _NAME_VARIABLES,
    },
    ("TableName",),
)


# --- transactions ------------------------------------------------------------------------------------------


def _write_action(name: str, subject: dict[str, Shape], required: tuple[str, ...]) -> Struct:
    members = {**subject, "TableName": TABLE_NAME, **_CONDITION_MEMBERS}
    return Struct(name, members, ("TableName", *required))


_TRANSACT_WRITE_ITEMS = operation_input(
    "TransactWriteItems",
    {
        "TransactItems": List(
            Struct(
                "TransactWriteItem",
                {
                    "ConditionCheck": _write_action(
                        "ConditionCheck", {"Key": _ATTRIBUTE_MAP}, ("Key", "ConditionExpression")
                    ),
                    "Put": _write_action("Put", {"Item": _ATTRIBUTE_MAP}, ("Item",)),
                    "Delete": _write_action("Delete", {"Key": _ATTRIBUTE_MAP}, ("Key",)),
                    "Update": _write_action(
                        "Update",
                        {"Key": _ATTRIBUTE_MAP, "UpdateExpression": STRING},
                        ("Key", "UpdateExpression"),
                    ),
                },
            ),
            min=1,
            max=MAX_TRANSACTION_ACTIONS,
        ),
        "ClientRequestToken": _REQUEST_TOKEN,
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
    },
    ("TransactItems",),
)
_TRANSACT_GET_ITEMS = operation_input(
    "TransactGetItems",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TransactItems": List(
            Struct(
                "TransactGetItem",
                {
                    "Get": Struct(
                        "Get",
                        {
                            "Key": _ATTRIBUTE_MAP,
                            "TableName": TABLE_NAME,
                            "ProjectionExpression": STRING,
                            "ExpressionAttributeNames": _NAME_VARIABLES,
                        },
                        ("Key", "TableName"),
                    )
                },
                ("Get",),
            ),
            min=1,
            max=MAX_TRANSACTION_ACTIONS,
        ),
    },
    ("TransactItems",),
)


# --- PartiQL -----------------------------------------------------------------------------------------------

_STATEMENT = String(min=1, max=8192)
_PARAMETERS = List(PARAMETER, min=1)

_EXECUTE_STATEMENT = operation_input(
    "ExecuteStatement",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "Statement": _STATEMENT,
        "Parameters": _PARAMETERS,
        "ConsistentRead": BOOLEAN,
        "NextToken": String(min=1, max=32768),
        "Limit": POSITIVE_INTEGER,
        "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
    },
    ("Statement",),
)
_BATCH_EXECUTE_STATEMENT = operation_input(
    "BatchExecuteStatement",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "Statements": List(
            Struct(
                "BatchStatementRequest",
                {
                    "Statement": _STATEMENT,
                    "Parameters": _PARAMETERS,
                    "ConsistentRead": BOOLEAN,
                    "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
                },
                ("Statement",),
            ),
            min=1,
            max=MAX_BATCH_STATEMENTS,
        ),
    },
    ("Statements",),
)
_EXECUTE_TRANSACTION = operation_input(
    "ExecuteTransaction",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TransactStatements": List(
            Struct(
                "ParameterizedStatement",
                {
                    "Statement": _STATEMENT,
                    "Parameters": _PARAMETERS,
                    "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
                },
                ("Statement",),
            ),
            min=1,
            max=MAX_TRANSACTION_ACTIONS,
        ),
        "ClientRequestToken": _REQUEST_TOKEN,
    },
    ("TransactStatements",),
)

ITEM_INPUTS = {
    "PutItem": _PUT_ITEM,
    "GetItem": _GET_ITEM,
    "UpdateItem": _UPDATE_ITEM,
    "DeleteItem": _DELETE_ITEM,
    "BatchGetItem": _BATCH_GET_ITEM,
    "BatchWriteItem": _BATCH_WRITE_ITEM,
    "Query": _QUERY,
    "Scan": _SCAN,
    "TransactWriteItems": _TRANSACT_WRITE_ITEMS,
    "TransactGetItems": _TRANSACT_GET_ITEMS,
    "ExecuteStatement": _EXECUTE_STATEMENT,
    "BatchExecuteStatement": _BATCH_EXECUTE_STATEMENT,
    "ExecuteTransaction": _EXECUTE_TRANSACTION,
}
