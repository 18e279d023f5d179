"""Query: which items, in which order, a page at a time; and what is refused in which order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablewright.dynamo import ResourceNotFoundException
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_client import TableClient

TOO_MANY, DEFINED = "The number of query conditions", "the number of key attributes defined in the schema"
INVALID = "One or more parameter values were invalid: "
MISMATCH = "The provided key element does not match the schema"
START = "The provided starting key is invalid"
A = {"S": "a"}
OF_A = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": A}}


def of_a(condition: str, **values: dict[str, Any]) -> dict[str, Any]:
    """The partition ``a``, and a condition on the sort key."""
    return {
        "KeyConditionExpression": f"pk = :p AND {condition}",
        "ExpressionAttributeValues": {":p": A, **{f":{name}": value for name, value in values.items()}},
    }


def sorts(answer: dict[str, Any]) -> list[str]:
    return [next(iter(item["sk"].values())) for item in answer["Items"]]


def pages(db: TableClient, operation: str, **request: Any) -> list[list[dict[str, Any]]]:
    """All pages of a read."""
    found = []
    while True:
        answer = db(operation, **request)
        found.append(answer["Items"])
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


# -- ranges and order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "values", "found"),
    [
        ("sk = :a", ["b"], ["b"]),
        ("sk < :a", ["b"], ["a", "aa"]),
        ("sk <= :a", ["b"], ["a", "aa", "b"]),
        ("sk > :a", ["b"], ["b\x00", "ba", "c"]),
        ("sk >= :a", ["b"], ["b", "b\x00", "ba", "c"]),
        ("sk BETWEEN :a AND :b", ["aa", "b"], ["aa", "b"]),
        ("begins_with(sk, :a)", ["b"], ["b", "b\x00", "ba"]),
        (":a >= sk", ["aa"], ["a", "aa"]),
        ("sk = :a", ["x"], []),
    ],
)
def test_conditions_on_the_sort_key(db: TableClient, condition: str, values: list[str], found: list[str]) -> None:
    db.create("pk, sk")
    for sort in ("c", "ba", "b", "b\x00", "aa", "a"):
        db.put(pk=A, sk={"S": sort})
        db.put(pk={"S": "other"}, sk={"S": sort})
    request = of_a(condition, **{name: {"S": value} for name, value in zip("ab", values, strict=False)})
    assert sorts(db("Query", **request)) == found
    assert sorts(db("Query", **request, ScanIndexForward=False)) == found[::-1]


def test_numbers_and_binaries_sort_as_such(db: TableClient) -> None:
    db.create("pk, sk", sk="N")
    for number in ("10", "-2", "9", "0", "1e-130", "-1e125", "0.5"):
        db.put(pk=A, sk={"N": number})
    assert sorts(db("Query", **OF_A)) == [
        "-1" + "0" * 125,
        "-2",
        "0",
        "0." + "0" * 129 + "1",
        "0.5",
        "9",
        "10",
    ]
    assert sorts(db("Query", **of_a("sk > :n", n={"N": "0.50"}))) == ["9", "10"]
    db.create("pk, sk", "binary", sk="B")
    for binary in ("AA==", "AAA=", "/w==", "AQ=="):
        db("PutItem", TableName="binary", Item={"pk": A, "sk": {"B": binary}})
    assert sorts(db("Query", TableName="binary", **OF_A)) == ["AA==", "AAA=", "AQ==", "/w=="]
    begins = of_a("begins_with(sk, :b)", b={"B": "AA=="})
    assert sorts(db("Query", TableName="binary", **begins)) == ["AA==", "AAA="]


texts = st.text(st.sampled_from("a\x00\xff\u00e9\U0001f600"), min_size=1, max_size=3)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(texts, max_size=8), texts, texts, st.integers(1, 4), st.booleans())
def test_a_query_finds_what_a_filter_would(stored: set[str], low: str, high: str, limit: int, forward: bool) -> None:
    conditions: dict[str, Any] = {
        "sk < :a": lambda sort: sort < low.encode(),
        "sk >= :a": lambda sort: sort >= low.encode(),
        "begins_with(sk, :a)": lambda sort: sort.startswith(low.encode()),
    }
    values = {"a": {"S": low}}
    if low.encode() <= high.encode():
        conditions["sk BETWEEN :a AND :b"] = lambda sort: low.encode() <= sort <= high.encode()
    with Engine.open() as engine:
        db = TableClient(engine, Clock())
        db.create("pk, sk", global_indexes={"gsi": "pk, sk"}, projections={"gsi": "KEYS_ONLY"})
        for sort in stored:
            db.put(pk=A, sk={"S": sort})
        for condition, holds in conditions.items():
            request = of_a(condition, **values)
            if ":b" in condition:
                request["ExpressionAttributeValues"][":b"] = {"S": high}
            expected = sorted((sort for sort in stored if holds(sort.encode())), key=str.encode)
            for index in ({}, {"IndexName": "gsi"}):
                found = pages(db, "Query", **request, **index, Limit=limit, ScanIndexForward=forward)
                flat = [item["sk"]["S"] for page in found for item in page]
                assert flat == (expected if forward else expected[::-1])


def test_the_older_key_conditions(db: TableClient) -> None:
    db.create("pk, sk")
    for sort in "abc":
        db.put(pk=A, sk={"S": sort})
    conditions: dict[str, Any] = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [A]}}
    assert sorts(db("Query", KeyConditions=conditions)) == ["a", "b", "c"]
    conditions["sk"] = {"ComparisonOperator": "GE", "AttributeValueList": [{"S": "b"}]}
    assert sorts(db("Query", KeyConditions=conditions)) == ["b", "c"]
    # They go together with the newer expressions of other kinds.
    assert db("Query", KeyConditions=conditions, ProjectionExpression="sk")["Items"] == [
        {"sk": {"S": "b"}},
        {"sk": {"S": "c"}},
    ]


# -- pages --------------------------------------------------------------------------------------------------


def test_a_limit_counts_before_the_filter(db: TableClient) -> None:
    db.create("pk, sk")
    for number in range(6):
        db.put(pk=A, sk={"S": str(number)}, even={"BOOL": number % 2 == 0})
    request = {
        "KeyConditionExpression": "pk = :p",
        "FilterExpression": "even = :e",
        "ExpressionAttributeValues": {":p": A, ":e": {"BOOL": True}},
    }
    answer = db("Query", **request, Limit=3)
    assert answer == {
        "Count": 2,
        "ScannedCount": 3,
        "Items": [{"pk": A, "sk": {"S": n}, "even": {"BOOL": True}} for n in "02"],
        "LastEvaluatedKey": {"pk": A, "sk": {"S": "2"}},
    }
    assert [len(page) for page in pages(db, "Query", **request, Limit=3)] == [2, 1, 0]


def test_a_page_that_ends_with_the_last_item_does_not_know_it(db: TableClient) -> None:
    db.create("pk, sk")
    db.put(pk=A, sk=A)
    assert db("Query", **OF_A, Limit=1)["LastEvaluatedKey"] == {"pk": A, "sk": A}
    assert "LastEvaluatedKey" not in db("Query", **OF_A, Limit=2)
    assert db("Query", **OF_A, ExclusiveStartKey={"pk": A, "sk": A}) == {
        "Count": 0,
        "ScannedCount": 0,
        "Items": [],
    }


def test_a_page_holds_one_megabyte_as_storage_counts_it(db: TableClient) -> None:
    # 25 items that take exactly 1 MB, and then one byte less.
    db.create("pk, sk")
    # Storage takes of each: 2, the names and lengths, and a header of 18 + 2 for every 3072 bytes.
    size = 41_636
    for number in range(25):
        db.put(pk=A, sk={"S": f"{number:02}"}, v={"S": "x" * size})
    per_item = 2 + 3 + (1 + size + 3) + (1 + (1 + 3 + 1 + size + 3) // 3072) * 20
    missing = 1024 * 1024 - 25 * per_item
    assert 0 < missing < 3000
    last = {"pk": A, "sk": {"S": "24"}}
    db.put(**last, v={"S": "x" * (size + missing)})
    assert db("Query", **OF_A)["LastEvaluatedKey"] == last
    assert db("Query", **OF_A)["Count"] == 25
    db.put(**last, v={"S": "x" * (size + missing - 1)})
    assert "LastEvaluatedKey" not in db("Query", **OF_A)
    # Names take a byte each, whatever their length.
    db("UpdateItem", Key=last, UpdateExpression="REMOVE v")
    db.put(**last, **{"v" * 255: {"S": "x" * (size + missing - 1)}})
    assert "LastEvaluatedKey" not in db("Query", **OF_A)


def test_what_a_page_leaves_for_the_next(db: TableClient) -> None:
    db.create("pk, sk")
    for number in range(8):
        db.put(pk=A, sk={"S": str(number)}, v={"S": "x" * 350_000})
    for request in (OF_A, {**OF_A, "ProjectionExpression": "sk"}, {**OF_A, "ScanIndexForward": False}):
        assert [len(page) for page in pages(db, "Query", **request)] == [3, 3, 2]
    counted = db("Query", **OF_A, Select="COUNT")
    assert counted == {
        "Count": 3,
        "ScannedCount": 3,
        "LastEvaluatedKey": {"pk": A, "sk": {"S": "2"}},
    }


# -- starting keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"pk": {"N": "x"}}, "The parameter cannot be converted to a numeric value: x"),
        ({"pk": {"NS": []}}, INVALID + "An number set  may not be empty"),
        ({"pk": {"SS": ["a", "a"]}}, INVALID + 'Input collection ["a", "a"] contains duplicates.'),
        ({"pk": {"SS": []}}, f"{START}: {INVALID}An string set  may not be empty"),
        (
            {"pk": {"NULL": False}},
            f"{START}: {INVALID}Null attribute value types must have the value of true",
        ),
        (
            {"pk": {}},
            f"{START}: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        ({}, START),
        ({"pk": A}, START),
        ({"pk": A, "sk": A, "v": A}, START),
        ({"pk": A, "v": A}, START),
        ({"pk": {"N": "1"}, "sk": A}, MISMATCH),
        ({"pk": A, "sk": {"N": "1"}}, MISMATCH),
        (
            {"pk": {"S": "b"}, "sk": A},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
    ],
)
def test_starting_keys_that_are_refused(db: TableClient, start: dict[str, Any], message: str) -> None:
    db.create("pk, sk")
    assert db.refusal("Query", **OF_A, ExclusiveStartKey=start) == message


def test_a_starting_key_lies_in_the_range(db: TableClient) -> None:
    db.create("pk, sk")
    request = of_a("sk > :s", s={"S": "m"})
    assert db.refusal("Query", **request, ExclusiveStartKey={"pk": A, "sk": {"S": "a"}}) == (
        "The provided starting key does not match the range key predicate"
    )
    assert db.refusal("Query", **request, ExclusiveStartKey={"pk": {"S": "b"}, "sk": {"S": "n"}}) == (
        "The query can return at most one row and cannot be restarted"
    )
    db("Query", **request, ExclusiveStartKey={"pk": A, "sk": {"S": "n"}})


def test_starting_keys_of_an_index(db: TableClient) -> None:
    db.create("pk, sk", global_indexes={"gsi": "g, h"})
    request: dict[str, Any] = {
        "IndexName": "gsi",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": A},
    }
    start: dict[str, Any] = {"pk": A, "sk": A, "g": A, "h": A}
    db("Query", **request, ExclusiveStartKey=start)
    without = {name: value for name, value in start.items() if name != "h"}
    assert db.refusal("Query", **request, ExclusiveStartKey=without) == START
    assert db.refusal("Query", **request, ExclusiveStartKey={**without, "x": A}) == START
    assert db.refusal("Query", **request, ExclusiveStartKey={**start, "h": {"N": "1"}}) == MISMATCH
    assert db.refusal("Query", **request, ExclusiveStartKey={**start, "sk": {"N": "1"}}) == f"{START}: {MISMATCH}"
    assert db.refusal("Query", **request, ExclusiveStartKey={**start, "g": {"S": "b"}}) == (
        "The provided starting key is outside query boundaries based on provided conditions"
    )


def test_the_position_in_an_index_is_its_key_and_that_of_the_table(db: TableClient) -> None:
    db.create("pk, sk", global_indexes={"gsi": "g"}, local_indexes={"lsi": "pk, l"})
    for number in range(3):
        db.put(pk=A, sk={"S": str(number)}, g=A, l=A)
    by_g = {"KeyConditionExpression": "g = :p", "ExpressionAttributeValues": {":p": A}}
    answer = db("Query", IndexName="gsi", **by_g, Limit=1)
    assert set(answer["LastEvaluatedKey"]) == {"pk", "sk", "g"}
    assert set(db("Query", IndexName="lsi", **OF_A, Limit=1)["LastEvaluatedKey"]) == {"pk", "sk", "l"}
    # Items with the same index key are all found, one at a time, in both directions.
    for forward in (True, False):
        found = pages(db, "Query", IndexName="gsi", **by_g, Limit=1, ScanIndexForward=forward)
        assert sorted(item["sk"]["S"] for page in found for item in page) == ["0", "1", "2"]


# -- key conditions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("sk = :p", "Query condition missed key schema element: pk"),
        ("pk > :p", "Query key condition not supported"),
        ("pk = :p AND v = :q", "Query condition missed key schema element: sk"),
        ("pk = :p AND sk = :q AND v = :q", f"{TOO_MANY} (3) exceeds {DEFINED} (2)"),
        ("pk = :p AND sk <> :q", "Invalid operator used in KeyConditionExpression: <>"),
        ("pk = :n", INVALID + "Condition parameter type does not match schema type"),
        ("pk = :p AND sk = :n", INVALID + "Condition parameter type does not match schema type"),
    ],
)
def test_conditions_that_are_not_about_the_key(db: TableClient, condition: str, message: str) -> None:
    db.create("pk, sk")
    values = {":p": A, ":q": A, ":n": {"N": "1"}}
    used = {name: value for name, value in values.items() if name in condition}
    request = {"KeyConditionExpression": condition, "ExpressionAttributeValues": used}
    assert db.refusal("Query", **request) == message


def test_a_table_without_a_sort_key_has_one_condition(db: TableClient) -> None:
    db.create()
    assert db.refusal("Query", **of_a("sk = :s", s=A)) == f"{TOO_MANY} (2) exceeds {DEFINED} (1)"


def test_key_values_in_a_condition_are_key_values(db: TableClient) -> None:
    db.create("pk, sk", global_indexes={"gsi": "g"})
    assert db.refusal("Query", **of_a("sk = :s", s={"S": ""})) == (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
        "empty string value. Key: sk"
    )
    empty = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": ""}}}
    assert db.refusal("Query", IndexName="gsi", **empty) == (
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: gsi, IndexKey: g"
    )
    long = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "x" * 100_000}}}
    assert db.refusal("Query", **long) == (INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes")
    assert db.refusal("Query", **of_a("sk > :s", s={"S": "x" * 1025})) == (
        INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )


def test_multi_attribute_keys(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "tenant+region, year+month"}, year="N", month="N")
    for number, (tenant, region, year, month) in enumerate(
        [("t", "eu", 2025, 2), ("t", "eu", 2025, 11), ("t", "eu", 2024, 12), ("t", "us", 2025, 1)]
    ):
        db.put(
            pk={"S": str(number)},
            tenant={"S": tenant},
            region={"S": region},
            year={"N": str(year)},
            month={"N": str(month)},
        )
    db.put(pk={"S": "sparse"}, tenant={"S": "t"}, region={"S": "eu"}, year={"N": "2025"})

    def query(condition: str = "", **values: str) -> dict[str, Any]:
        names = {"#r": "region", "#y": "year", "#m": "month"}
        return {
            "IndexName": "gsi",
            "KeyConditionExpression": f"tenant = :t AND #r = :r{condition}",
            "ExpressionAttributeNames": {n: v for n, v in names.items() if n == "#r" or n in condition},
            "ExpressionAttributeValues": {
                ":t": {"S": "t"},
                ":r": {"S": "eu"},
                **{f":{name}": {"N": value} for name, value in values.items()},
            },
        }

    def found(condition: str, **values: str) -> list[str]:
        return [item["pk"]["S"] for item in db("Query", **query(condition, **values))["Items"]]

    assert found("") == ["2", "0", "1"]
    assert found(" AND #y = :y", y="2025") == ["0", "1"]
    assert found(" AND #y < :y", y="2025") == ["2"]
    assert found(" AND #y = :y AND #m > :m", y="2025", m="2") == ["1"]
    lacking = (
        "RANGE key attributes year must have equality conditions specified in the query "
        "because a condition is present on key attribute month"
    )
    assert db.refusal("Query", **query(" AND #m = :m", m="2")) == lacking
    assert db.refusal("Query", **query(" AND #y > :y AND #m = :m", y="2024", m="2")) == lacking
    last = db("Query", **query(), Limit=1)["LastEvaluatedKey"]
    assert set(last) == {"pk", "tenant", "region", "year", "month"}


# -- indexes and projections --------------------------------------------------------------------------------


def indexed(db: TableClient) -> None:
    db.create(
        "pk, sk",
        global_indexes={"keys": "g", "some": "g", "all": "g"},
        local_indexes={"local": "pk, l"},
        projections={"keys": "KEYS_ONLY", "some": ["v"], "local": "KEYS_ONLY"},
    )
    db.put(pk=A, sk=A, g=A, l=A, v=A, w=A)
    db.put(pk=A, sk={"S": "unindexed"}, v=A)


BY_G = {"KeyConditionExpression": "g = :p", "ExpressionAttributeValues": {":p": A}}


def test_an_index_gives_what_it_projects(db: TableClient) -> None:
    indexed(db)
    keys = {"pk": A, "sk": A, "g": A}
    assert db("Query", IndexName="keys", **BY_G)["Items"] == [keys]
    assert db("Query", IndexName="some", **BY_G)["Items"] == [{**keys, "v": A}]
    assert db("Query", IndexName="all", **BY_G)["Items"] == [{**keys, "l": A, "v": A, "w": A}]
    assert db("Query", IndexName="local", **OF_A)["Items"] == [{"pk": A, "sk": A, "l": A}]
    assert db("Query", IndexName="some", **BY_G, ProjectionExpression="v")["Items"] == [{"v": A}]


def test_a_local_index_is_completed_from_the_table(db: TableClient) -> None:
    indexed(db)
    whole = {"pk": A, "sk": A, "g": A, "l": A, "v": A, "w": A}
    assert db("Query", IndexName="local", **OF_A, Select="ALL_ATTRIBUTES")["Items"] == [whole]
    assert db("Query", IndexName="local", **OF_A, ProjectionExpression="w")["Items"] == [{"w": A}]
    older = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [A]}}
    named = db("Query", IndexName="local", KeyConditions=older, AttributesToGet=["w", "l"])
    assert named["Items"] == [{"w": A, "l": A}]


def test_a_global_index_cannot_be_completed(db: TableClient) -> None:
    indexed(db)
    assert db.refusal("Query", IndexName="some", **BY_G, Select="ALL_ATTRIBUTES") == (
        INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index some because its "
        "projection type is not ALL"
    )
    assert db.refusal("Query", IndexName="some", **BY_G, ProjectionExpression="v, w") == (
        INVALID + "Global secondary index some does not project [w]"
    )
    db("Query", IndexName="all", **BY_G, Select="ALL_ATTRIBUTES")


def test_reading_an_index_that_is_not_there_or_not_consistently(db: TableClient) -> None:
    indexed(db)
    assert db.refusal("Query", IndexName="other", **BY_G) == ("The table does not have the specified index: other")
    assert db.refusal("Query", IndexName="all", **BY_G, ConsistentRead=True) == (
        "Consistent reads are not supported on global secondary indexes"
    )
    db("Query", IndexName="local", **OF_A, ConsistentRead=True)


# -- Select -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_what_select_goes_with(db: TableClient, operation: str) -> None:
    indexed(db)
    request = OF_A if operation == "Query" else {}
    counted = "1 validation error detected: " if operation == "Query" else ""
    for name, value in (("ProjectionExpression", "v"), ("AttributesToGet", ["v"])):
        if operation == "Query" and name == "AttributesToGet":
            request = {"KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [A]}}}
        for select, words in (
            ("COUNT", "only the Count"),
            ("ALL_ATTRIBUTES", "ALL_ATTRIBUTES"),
            ("ALL_PROJECTED_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
        ):
            assert db.refusal(operation, **request, **{name: value}, Select=select) == (
                f"{counted}Cannot specify the {name} when choosing to get {words}"
            )
        assert db(operation, **request, **{name: value}, Select="SPECIFIC_ATTRIBUTES")["Items"] == [{"v": A}] * 2
    assert db.refusal(operation, **request, Select="ALL_PROJECTED_ATTRIBUTES") == (
        f"{counted}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
    )
    missing = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
    assert db.refusal(operation, **request, Select="SPECIFIC_ATTRIBUTES") == counted + missing
    assert db(operation, **request, Select="COUNT") == {"Count": 2, "ScannedCount": 2}
    assert db(operation, **request, Select="ALL_ATTRIBUTES")["Count"] == 2


# -- filters ------------------------------------------------------------------------------------------------


def test_a_filter_is_about_what_the_index_projects(db: TableClient) -> None:
    """A query that could never find anything is refused; a scan of the same index takes the attribute for missing."""
    indexed(db)
    values = {"ExpressionAttributeValues": {":p": A}}
    for index, key in (("some", "g"), ("local", "pk")):
        message = f"{INVALID}Secondary index {index} does not project one or more filter attributes: [w]"
        condition = {"IndexName": index, "KeyConditionExpression": f"{key} = :p", **values}
        assert db.refusal("Query", **condition, FilterExpression="w = :p OR w.x = :p") == message
        assert db.refusal("Query", **condition, FilterExpression="w = :p", ProjectionExpression="x") == message
        equal = {"ComparisonOperator": "EQ", "AttributeValueList": [A]}
        older = {"IndexName": index, "KeyConditions": {key: equal}, "QueryFilter": {"w": equal}}
        assert db.refusal("Query", **older) == message
        scanned = db("Scan", IndexName=index, FilterExpression="w = :p", **values)
        assert (scanned["Count"], scanned["ScannedCount"]) == (0, 1)
    whole = {"IndexName": "local", "KeyConditionExpression": "pk = :p", "Select": "ALL_ATTRIBUTES", **values}
    assert "does not project" in str(db.refusal("Query", **whole, FilterExpression="w = :p"))
    assert db("Query", IndexName="some", **BY_G, FilterExpression="v = :p")["Count"] == 1
    assert db("Query", IndexName="all", **BY_G, FilterExpression="w = :p")["Count"] == 1


def test_a_filter_is_not_about_the_key(db: TableClient) -> None:
    indexed(db)
    by_expression = {
        "KeyConditionExpression": "pk = :p",
        "FilterExpression": "sk = :p",
        "ExpressionAttributeValues": {":p": A},
    }
    assert db.refusal("Query", **by_expression) == (
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    )
    equal = {"ComparisonOperator": "EQ", "AttributeValueList": [A]}
    assert db.refusal("Query", KeyConditions={"pk": equal}, QueryFilter={"pk": equal}) == (
        "QueryFilter can only contain non-primary key attributes: Primary key attribute: pk"
    )
    # The key of the table is not that of the index.
    assert db("Query", IndexName="all", **{**by_expression, "KeyConditionExpression": "g = :p"})["Count"] == 1
    assert db("Query", KeyConditions={"pk": equal}, QueryFilter={"v": equal})["Count"] == 2


# -- the order of checks ------------------------------------------------------------------------------------


def test_query_checks_in_this_order(db: TableClient) -> None:
    equal = {"ComparisonOperator": "EQ", "AttributeValueList": [A]}
    request: dict[str, Any] = {
        "TableName": "missing",
        "ExpressionAttributeNames": {"#n": "n"},
        "QueryFilter": {"a": {"ComparisonOperator": "EQ", "AttributeValueList": [{"N": "x"}]}},
        "AttributesToGet": ["a", "a"],
        "ExclusiveStartKey": {"pk": {}},
    }
    assert db.refusal("Query", **request) == ("ExpressionAttributeNames can only be specified when using expressions")
    del request["ExpressionAttributeNames"]
    assert db.refusal("Query", **request) == "The parameter cannot be converted to a numeric value: x"
    del request["QueryFilter"]
    assert db.refusal("Query", **request) == INVALID + "Duplicate value in attribute name: a"
    del request["AttributesToGet"]
    assert str(db.refusal("Query", **request)).startswith(START)
    del request["ExclusiveStartKey"]
    assert db.refusal("Query", **request) == (
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    )
    request |= {
        "KeyConditionExpression": "pk",
        "ExpressionAttributeNames": {},
        "Select": "SPECIFIC_ATTRIBUTES",
    }
    assert db.refusal("Query", **request) == "ExpressionAttributeNames must not be empty"
    request["ExpressionAttributeNames"] = {"#n": "n"}
    assert str(db.refusal("Query", **request)).startswith("Invalid KeyConditionExpression: Syntax error")
    request |= {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": A}}
    assert str(db.refusal("Query", **request)).startswith("Value provided in ExpressionAttributeNames unused")
    del request["ExpressionAttributeNames"]
    assert "SPECIFIC_ATTRIBUTES" in str(db.refusal("Query", **request))
    del request["Select"]
    assert isinstance(db.error("Query", **request), ResourceNotFoundException)
    empty = {"TableName": "missing", "KeyConditions": {"pk": {**equal, "AttributeValueList": []}}}
    assert db.refusal("Query", **empty) == (INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator")


def test_an_index_is_looked_up_before_the_starting_key_is_compared(db: TableClient) -> None:
    db.create("pk, sk")
    request = {**OF_A, "ExclusiveStartKey": {"pk": A}}
    assert db.refusal("Query", **request, IndexName="other") == ("The table does not have the specified index: other")
    # A starting key that does not fit is reported before a condition that does not.
    other = {**request, "KeyConditionExpression": "v = :p"}
    assert db.refusal("Query", **other) == START
