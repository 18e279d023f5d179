"""Input that nobody sends by accident gets DynamoDB's error, soon, and changes nothing."""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablewright.dynamo import DynamoError, Path, ValidationException
from tablewright.dynamo.expressions import Function, Operand, Placeholder, SetAction, UpdateProgram
from tests.engine.line_counts import counted_lines
from tests.engine.table_client import TableClient

A = {"S": "a"}
KEY = {"pk": A, "sk": A}


def nested(kind: str, levels: int) -> dict[str, Any]:
    value: dict[str, Any] = A
    for _ in range(levels):
        value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
    return value


# Made when they are needed: printing a value that is nested deeply is what Python cannot do.
BAD_VALUES: dict[str, Callable[[], Any]] = {
    "a list 10,000 levels deep": lambda: nested("L", 10_000),
    "a map 10,000 levels deep": lambda: nested("M", 10_000),
    "a map 33 levels deep": lambda: nested("M", 33),
    "a million digits": lambda: {"N": "1" * 1_000_000},
    "an exponent of a million digits": lambda: {"N": "1e" + "9" * 1_000_000},
    "a negative exponent of a million digits": lambda: {"N": "1e-" + "9" * 1_000_000},
    "an exponent bomb": lambda: {"N": "1e999999999"},
    "a million letters as a number": lambda: {"N": "x" * 1_000_000},
    "digits of another script": lambda: {"N": "\uff11"},
    "a number": lambda: {"N": 1},
    "not a number": lambda: {"N": math.nan},
    "infinity": lambda: {"N": math.inf},
    "bytes as text": lambda: {"S": b"a"},
    "bytes as binary": lambda: {"B": b"a"},
    "binary that is not base64": lambda: {"B": "\ud800\u00e9"},
    "half of a surrogate pair": lambda: {"S": "\ud800"},
    "half of a surrogate pair in a set": lambda: {"SS": ["a", "\udfff"]},
    "half of a surrogate pair in a name": lambda: {"M": {"\ud800": A}},
    "a name that is a number": lambda: {"M": {1: A}},
    "a name that is bytes": lambda: {"M": {b"a": A}},
    "a type that is a number": lambda: {1: "a"},
    "a set of numbers and text": lambda: {"SS": ["a", 1]},
    "a Python set": lambda: {"SS": {"a"}},
    "a tuple": lambda: {"L": (A,)},
    "a list of a quarter of a million": lambda: {"L": [{"NULL": True}] * 250_000},
    "no value": lambda: None,
    "a list": lambda: [],
    "an object": lambda: object(),
}


def requests_with(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The value in every place where one can be."""
    values = {":v": value}
    equal = {"ComparisonOperator": "EQ", "AttributeValueList": [value]}
    key = {"pk": value, "sk": A}
    yield "PutItem", {"Item": {**KEY, "v": value}}
    yield "PutItem", {"Item": key}
    yield "PutItem", {"Item": {**KEY, "g": value}}
    yield "GetItem", {"Key": key}
    yield "UpdateItem", {"Key": key}
    yield "UpdateItem", {"Key": KEY, "UpdateExpression": "SET g = :v", "ExpressionAttributeValues": values}
    yield "UpdateItem", {"Key": KEY, "AttributeUpdates": {"v": {"Action": "PUT", "Value": value}}}
    yield "DeleteItem", {"Key": KEY, "ConditionExpression": "v = :v", "ExpressionAttributeValues": values}
    yield "DeleteItem", {"Key": KEY, "Expected": {"v": {"Value": value}}}
    yield "Query", {"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": values}
    yield "Query", {"KeyConditions": {"pk": equal}}
    yield "Query", {"IndexName": "gsi", "KeyConditions": {"g": equal}}
    yield "Scan", {"ExclusiveStartKey": key}
    yield "Scan", {"FilterExpression": "contains(v, :v)", "ExpressionAttributeValues": values}
    yield "BatchGetItem", {"RequestItems": {"table": {"Keys": [key]}}}
    yield "BatchWriteItem", {"RequestItems": {"table": [{"PutRequest": {"Item": {**KEY, "v": value}}}]}}
    yield "TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "table", "Item": {**KEY, "v": value}}}]}
    yield "TransactGetItems", {"TransactItems": [{"Get": {"TableName": "table", "Key": key}}]}


def refused(db: TableClient, operation: str, request: dict[str, Any]) -> DynamoError | None:
    try:
        db(operation, **request)
    except DynamoError as error:
        return error
    return None


# Places where a value may be that is too large for an item or a key: no item will match it.
_COMPARED = ("Scan", "DeleteItem")


@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_bad_value_gets_an_error_wherever_it_is(db: TableClient, name: str) -> None:
    db.create("pk, sk", global_indexes={"gsi": "g"})
    for operation, request in requests_with(BAD_VALUES[name]()):
        error = refused(db, operation, request)
        if error is None:
            assert name == "a list of a quarter of a million"
            assert operation in _COMPARED
        else:
            assert error.status == 400
    assert db("Scan")["Count"] == 0


@pytest.mark.parametrize("name", ["\ud800", 1, pytest.param(10**5000, id="huge"), 1.5, None, b"a", ("a",), math.nan])
def test_a_bad_name_gets_an_error_or_finds_nothing(db: TableClient, name: Any) -> None:
    db.create("pk, sk")
    values = {":v": A}
    for operation, request in (
        ("PutItem", {"Item": {**KEY, name: A}}),
        ("GetItem", {"Key": {"pk": A, name: A}}),
        ("GetItem", {"Key": KEY, "AttributesToGet": [name]}),
        ("GetItem", {"Key": KEY, "ProjectionExpression": name}),
        ("GetItem", {"Key": KEY, "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": name}}),
        ("GetItem", {"Key": KEY, "ProjectionExpression": "#n", "ExpressionAttributeNames": {name: "n"}}),
        ("UpdateItem", {"Key": KEY, "UpdateExpression": name}),
        (
            "UpdateItem",
            {
                "Key": KEY,
                "UpdateExpression": "SET #n = :v",
                "ExpressionAttributeNames": {"#n": name},
                "ExpressionAttributeValues": values,
            },
        ),
        ("UpdateItem", {"Key": KEY, "UpdateExpression": "SET n = :v", "ExpressionAttributeValues": {name: A}}),
        ("UpdateItem", {"Key": KEY, "AttributeUpdates": {name: {"Value": A}}}),
        ("Query", {"KeyConditions": {name: {"ComparisonOperator": "EQ", "AttributeValueList": [A]}}}),
        ("Scan", {"ScanFilter": {name: {"ComparisonOperator": "NULL"}}}),
        ("Scan", {"Limit": name}),
        ("Scan", {"Segment": name, "TotalSegments": name}),
        ("Scan", {"TableName": name}),
        ("BatchGetItem", {"RequestItems": {name: {"Keys": [KEY]}}}),
        ("BatchWriteItem", {"RequestItems": {name: [{"DeleteRequest": {"Key": KEY}}]}}),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Delete": {"TableName": "table", "Key": KEY}}], "ClientRequestToken": name},
        ),
    ):
        error = refused(db, operation, request)
        assert error is None or error.status == 400
    assert db("Scan")["Count"] == 0
    assert db.engine.verify().problems == []


@pytest.mark.parametrize("request_", [None, [], "text", 1, {1: 2}, {"TableName": {"table"}}])
def test_a_request_that_is_none(db: TableClient, request_: Any) -> None:
    for operation in ("PutItem", "Query", "BatchGetItem", "TransactWriteItems"):
        with pytest.raises(DynamoError):
            db.engine.call(operation, request_)


@pytest.mark.parametrize("limit", [10**400, -(10**400), 1e300, -1])
def test_numbers_beyond_all_measure(db: TableClient, limit: float) -> None:
    db.create()
    if limit > 0:
        assert db("Scan", Limit=limit)["Count"] == 0
    else:
        assert "greater than or equal to 1" in str(db.refusal("Scan", Limit=limit))
    assert db.error("Scan", Segment=limit, TotalSegments=limit).status == 400


def test_names_may_be_long_and_items_may_not(db: TableClient) -> None:
    db.create()
    db.put(pk=A, **{"n" * 65_000: A})
    many = {f"{number}" + "n" * 65_000: A for number in range(7)}
    assert db.refusal("PutItem", Item={"pk": A, **many}) == "Item size has exceeded the maximum allowed size"


def test_an_exponent_may_have_any_number_of_zeros(db: TableClient) -> None:
    db.create("pk, sk")
    for number, canonical in (
        ("1e-" + "0" * 10_000, "1"),
        ("1e+" + "0" * 10_000 + "2", "100"),
        ("1e-" + "0" * 10_000 + "2", "0.01"),
    ):
        db.put(**KEY, n={"N": number})
        assert db.get(**KEY) == {**KEY, "n": {"N": canonical}}


HALF_A_PAIR = "\ud800"


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("ExecuteStatement", {"Statement": f"SELECT * FROM \"table\" WHERE pk = '{HALF_A_PAIR}'"}),
        ("BatchExecuteStatement", {"Statements": [{"Statement": "SELECT * FROM t", "Parameters": [{"N": "\udfff"}]}]}),
        (
            "BatchExecuteStatement",
            {"Statements": [{"Statement": "SELECT * FROM t", "Parameters": [{"SS": [HALF_A_PAIR] * 2}]}]},
        ),
        ("GetRecords", {"ShardIterator": f"arn:aws:dynamodb:{HALF_A_PAIR}|1|x"}),
        ("BatchGetItem", {"RequestItems": {"table": {"Keys": [{"pk": A, 1: A}]}}}),
        ("BatchGetItem", {"RequestItems": {"table": {"Keys": [{"pk": A, HALF_A_PAIR: A}]}}}),
        ("GetItem", {"TableName": "table", "Key": KEY, "ProjectionExpression": HALF_A_PAIR}),
        ("TagResource", {"ResourceArn": HALF_A_PAIR, "Tags": [{"Key": "a", "Value": HALF_A_PAIR}]}),
        (
            "CreateTable",
            {
                "TableName": "other",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": HALF_A_PAIR, "AttributeType": "S"},
                ],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_text_that_no_json_can_hold_is_refused_everywhere(
    db: TableClient, operation: str, request_: dict[str, Any]
) -> None:
    db.create()
    with pytest.raises(DynamoError):
        db.engine.call(operation, request_)


def names(letters: int) -> Iterator[str]:
    """Attribute names that no keyword is among."""
    for number in range(letters):
        yield f"{chr(97 + number % 26)}{number // 26}"


def test_a_transaction_of_long_expressions_is_read_soon(db: TableClient) -> None:
    """Each holds hundreds of paths under one attribute, none of which may lie in the way of another."""
    db.create("pk, sk")

    def lines(paths: int) -> int:
        """How many lines of code it takes."""
        removed = ",".join(f"z.{name}" for name in names(paths))
        actions = [
            {
                "Update": {
                    "TableName": "table",
                    "Key": {"pk": {"S": str(number)}, "sk": A},
                    "UpdateExpression": "REMOVE " + removed.replace("z.", f"{chr(97 + number)}{paths}."),
                }
            }
            for number in range(10)
        ]
        with counted_lines() as count:
            assert db("TransactWriteItems", TransactItems=actions) == {}
        return count()

    # Four times as many if each were compared with each.
    some, twice = lines(150), lines(300)
    assert 1.8 * some < twice < 2.5 * some


def test_what_is_remembered_of_requests_is_bounded(db: TableClient) -> None:
    db.create("pk, sk")
    tracemalloc.start()
    try:
        for number in range(40):
            # Twenty names as long as a name may be; they are a table's name as well, which it may not be.
            long = {f"#n{other}": f"{number}.{other}" + "n" * 65_000 for other in range(20)}
            db("GetItem", Key=KEY, ProjectionExpression=",".join(long), ExpressionAttributeNames=long)
            db.error("GetItem", TableName="".join(long.values()), Key=KEY)
        del long
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 10_000_000
        before = tracemalloc.get_traced_memory()[0]
        text = ",".join(f"{name} = :v" for name in names(60))
        for number in range(200):
            update = f"SET {text}, nn{number} = :v"
            db("UpdateItem", Key=KEY, UpdateExpression=update, ExpressionAttributeValues={":v": A})
        # The program of each takes 40,000 bytes.
        assert tracemalloc.get_traced_memory()[0] - before < 4_000_000
    finally:
        tracemalloc.stop()


def test_a_list_appended_to_itself_over_and_over_is_refused_soon() -> None:
    """Expressions have no list_append inside of another; PartiQL, which is run by the same program, has."""
    value: Operand = Placeholder(":v")
    for _ in range(200):
        value = Function("list_append", (Placeholder(":v"), value))
    program = UpdateProgram([SetAction(Path(("x",)), value)], {})
    tracemalloc.start()
    try:
        with pytest.raises(ValidationException, match="Item size to update has exceeded the maximum allowed size"):
            program.apply({}, {":v": {"L": [{"N": "1"}] * 2100}})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # All of it would be a list of 400,000, made of one that is nearly as long.
    assert peak < 1_000_000


def long_list_item() -> dict[str, Any]:
    return {**KEY, "l": {"L": [{"N": str(number)} for number in range(2_000)]}}


@pytest.mark.parametrize(
    ("leaf", "values"),
    [
        ("contains(l, :v{})", {f":v{number}": {"N": str(-number)} for number in range(1, 81)}),
        ("l = :v", {":v": {"L": [*long_list_item()["l"]["L"][:-1], {"SS": ["a", "b"]}]}}),
        ("l IN (:v, :v, :v, :v, :v)", {":v": {"L": [*long_list_item()["l"]["L"][:-1], {"SS": ["a", "b"]}]}}),
    ],
)
def test_a_long_list_is_gone_through_once_however_often_a_condition_names_it(
    db: TableClient, leaf: str, values: dict[str, Any]
) -> None:
    db.create("pk, sk")
    db("PutItem", Item=long_list_item())

    def lines(leaves: int) -> int:
        text = " OR ".join(leaf.format(number) for number in range(1, leaves + 1))
        used = {name: value for name, value in values.items() if name in text}
        request = {"Key": KEY, "ConditionExpression": text, "ExpressionAttributeValues": used}
        # Not what is compiled once for every text.
        assert db.error("DeleteItem", **request).code == "ConditionalCheckFailedException"
        with counted_lines() as count:
            assert db.error("DeleteItem", **request).code == "ConditionalCheckFailedException"
        return count()

    # Once more through the list would be 2,000 lines more.
    few, many = lines(10), lines(50)
    assert many < few + 2_000


def test_what_contains_finds_does_not_depend_on_the_length_of_the_condition(db: TableClient) -> None:
    db.create("pk, sk")
    elements = [A, {"N": "1"}, {"BOOL": True}, {"NULL": True}, {"SS": ["a", "b"]}, {"M": {"x": A}}, {"L": [A]}]
    item = {**KEY, "l": {"L": elements}, "ss": {"SS": ["a", "1"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["YQ=="]}}
    db("PutItem", Item=item)
    wanted = [*elements, {"SS": ["b", "a"]}, {"S": "1"}, {"N": "2"}, {"BOOL": False}, {"B": "YQ=="}, {"L": []}]
    for value in wanted:
        for path in ("l", "ss", "ns", "bs"):
            found = [
                db(
                    "Query",
                    KeyConditionExpression="pk = :pk",
                    FilterExpression=f"{filler}contains({path}, :v)",
                    ExpressionAttributeValues={":pk": A, ":v": value},
                )["Count"]
                for filler in ("", "".join(f"attribute_not_exists(z{number}) AND " for number in range(20)))
            ]
            assert found[0] == found[1], (path, value)


def test_the_older_in_takes_any_number_of_values(db: TableClient) -> None:
    db.create("pk, sk")
    db("PutItem", Item={**KEY, "n": {"N": "5"}})
    numbers = {"ComparisonOperator": "IN", "AttributeValueList": [{"N": str(number)} for number in range(1_000)]}
    assert db("Scan", ScanFilter={"n": numbers})["Count"] == 1
    numbers["AttributeValueList"] = numbers["AttributeValueList"][6:]
    assert db("Scan", ScanFilter={"n": numbers})["Count"] == 0


def test_tens_of_thousands_of_attribute_definitions_are_refused_soon(db: TableClient) -> None:
    names = [f"a{number}" for number in range(50_000)]
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in names]
    table = {"TableName": "wide", "BillingMode": "PAY_PER_REQUEST"}
    key = [{"AttributeName": "a0", "KeyType": "HASH"}]
    error = db.error("CreateTable", **table, KeySchema=key, AttributeDefinitions=definitions)
    assert "does not exactly match number of attributes defined" in str(error.message)
    twice = [*definitions, definitions[7]]
    error = db.error("CreateTable", **table, KeySchema=key, AttributeDefinitions=twice)
    assert error.message == "Attribute Name is duplicated: a7"


@pytest.mark.parametrize("action", ["a{} = l", "a{} = list_append(l, l)", "a{} = list_append(l, :v)"])
def test_an_update_that_copies_a_long_list_over_and_over_is_refused_soon(db: TableClient, action: str) -> None:
    db.create("pk, sk")
    db("PutItem", Item={**KEY, "l": {"L": [{"NULL": True}] * 20_000}})
    update: dict[str, Any] = {"UpdateExpression": "SET " + ",".join(action.format(number) for number in range(120))}
    if ":v" in action:
        update["ExpressionAttributeValues"] = {":v": {"L": [A]}}
    tracemalloc.start()
    try:
        error = db.error("UpdateItem", Key=KEY, **update)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.message == "Item size to update has exceeded the maximum allowed size"
    # A hundred copies would take 19 MB.
    assert most < 12_000_000
