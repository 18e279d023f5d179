"""Scan: everything once, in pages and in segments."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ResourceNotFoundException
from tests.engine.table_client import TableClient

INVALID = "One or more parameter values were invalid: "
MISMATCH = "The provided key element does not match the schema"
START = "The provided starting key is invalid"
A = {"S": "a"}


def scanned(db: TableClient, **request: Any) -> list[str]:
    """The partition keys of all pages, in order."""
    found = []
    while True:
        answer = db("Scan", **request)
        found += [item["pk"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def filled(db: TableClient, count: int = 60) -> list[str]:
    names = [f"item{number}" for number in range(count)]
    for name in names:
        db.put(pk={"S": name}, g={"S": name[-1]})
    return names


@pytest.mark.parametrize("limit", [1, 7, 60, 100])
def test_a_scan_finds_everything_once(db: TableClient, limit: int) -> None:
    db.create(global_indexes={"gsi": "g"})
    names = filled(db)
    whole = scanned(db)
    assert sorted(whole) == sorted(names)
    assert scanned(db, Limit=limit) == whole
    assert sorted(scanned(db, IndexName="gsi", Limit=limit)) == sorted(names)


def test_an_empty_table(db: TableClient) -> None:
    db.create()
    assert db("Scan") == {"Count": 0, "ScannedCount": 0, "Items": []}


@pytest.mark.parametrize("total", [1, 2, 5, 4096, 5000, 1_000_000])
def test_segments_divide_a_table(db: TableClient, total: int) -> None:
    db.create()
    names = filled(db, 20)
    segments = range(total) if total < 10 else [0, 1, total // 2, total - 2, total - 1]
    found = [name for segment in segments for name in scanned(db, Segment=segment, TotalSegments=total)]
    assert len(found) == len(set(found))
    if total < 10:
        assert sorted(found) == sorted(names)
        paged = [name for segment in segments for name in scanned(db, Segment=segment, TotalSegments=total, Limit=1)]
        assert paged == found


def test_a_starting_key_belongs_to_its_segment(db: TableClient) -> None:
    db.create()
    filled(db)
    first = db("Scan", Segment=0, TotalSegments=2, Limit=1)["LastEvaluatedKey"]
    assert db.refusal("Scan", Segment=1, TotalSegments=2, ExclusiveStartKey=first) == (
        f"{START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
        "TotalSegments: 2 Segment: 1"
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"Segment": 0},
            "The TotalSegments parameter is required but was not present in the request when Segment parameter "
            "is present",
        ),
        (
            {"TotalSegments": 2},
            "The Segment parameter is required but was not present in the request when parameter TotalSegments "
            "is present",
        ),
        (
            {"Segment": 2, "TotalSegments": 2},
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is "
            "not less than TotalSegments: 2",
        ),
    ],
)
def test_segments_that_are_refused_whatever_the_table(db: TableClient, request_: dict[str, Any], message: str) -> None:
    assert db.refusal("Scan", TableName="missing", **request_) == message


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"pk": {}}, f"{START}: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"pk": {"N": "x"}}, "The parameter cannot be converted to a numeric value: x"),
        ({}, f"{START}: {MISMATCH}"),
        ({"pk": A}, f"{START}: {MISMATCH}"),
        ({"pk": A, "v": A}, f"{START}: {MISMATCH}"),
        ({"pk": A, "sk": {"N": "1"}}, f"{START}: {MISMATCH}"),
        (
            {"pk": A, "sk": {"S": ""}},
            f"{START}: One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
            "contain an empty string value. Key: sk",
        ),
    ],
)
def test_starting_keys_that_are_refused(db: TableClient, start: dict[str, Any], message: str) -> None:
    db.create("pk, sk")
    assert db.refusal("Scan", ExclusiveStartKey=start) == message


def test_starting_keys_of_an_index(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"}, projections={"gsi": "KEYS_ONLY"})
    start: dict[str, Any] = {"pk": A, "g": A}
    db("Scan", IndexName="gsi", ExclusiveStartKey=start)
    assert db.refusal("Scan", IndexName="gsi", ExclusiveStartKey={"g": A}) == START
    assert db.refusal("Scan", IndexName="gsi", ExclusiveStartKey={"pk": A, "x": A}) == START
    wrong = {**start, "g": {"N": "1"}}
    assert db.refusal("Scan", IndexName="gsi", ExclusiveStartKey=wrong) == MISMATCH
    # What an index cannot give is said before the key of the table is looked at.
    request = {"IndexName": "gsi", "Select": "ALL_ATTRIBUTES"}
    assert db.refusal("Scan", **request, ExclusiveStartKey=wrong) == MISMATCH
    assert "is not supported for global secondary index gsi" in str(
        db.refusal("Scan", **request, ExclusiveStartKey={**start, "pk": {"N": "1"}})
    )


def test_a_starting_key_need_not_be_there(db: TableClient) -> None:
    db.create()
    names = scanned(db) or (filled(db) and scanned(db))
    db("DeleteItem", Key={"pk": {"S": names[10]}})
    assert scanned(db, ExclusiveStartKey={"pk": {"S": names[10]}}) == names[11:]


def test_filters_count_what_they_leave_out(db: TableClient) -> None:
    db.create("pk, sk")
    for number in range(4):
        db.put(pk=A, sk={"S": str(number)}, n={"N": str(number)})
    request = {"FilterExpression": "n > :n", "ExpressionAttributeValues": {":n": {"N": "2"}}}
    answer = db("Scan", **request)
    assert (answer["Count"], answer["ScannedCount"]) == (1, 4)
    # A filter of a scan may be about the key.
    by_key = {"FilterExpression": "sk = :n", "ExpressionAttributeValues": {":n": {"S": "1"}}}
    assert db("Scan", **by_key)["Count"] == 1
    older = {"n": {"ComparisonOperator": "LT", "AttributeValueList": [{"N": "1"}]}}
    assert db("Scan", ScanFilter=older)["Items"] == [{"pk": A, "sk": {"S": "0"}, "n": {"N": "0"}}]
    assert db("Scan", **request, Select="COUNT") == {"Count": 1, "ScannedCount": 4}


def test_a_scan_of_an_index_has_what_is_in_it(db: TableClient) -> None:
    db.create("pk, sk", global_indexes={"gsi": "g, h"}, local_indexes={"lsi": "pk, l"}, projections={"gsi": ["v"]})
    db.put(pk=A, sk=A, g=A, h=A, v=A, w=A)
    db.put(pk=A, sk={"S": "half"}, g=A)
    db.put(pk=A, sk={"S": "local"}, l=A)
    assert db("Scan", IndexName="gsi")["Items"] == [{"pk": A, "sk": A, "g": A, "h": A, "v": A}]
    assert db("Scan", IndexName="lsi", ConsistentRead=True)["Items"] == [{"pk": A, "sk": {"S": "local"}, "l": A}]
    assert db.refusal("Scan", IndexName="gsi", ConsistentRead=True) == (
        "Consistent reads are not supported on global secondary indexes"
    )
    assert db.refusal("Scan", IndexName="other") == "The table does not have the specified index: other"
    assert db.refusal("Scan", IndexName="gsi", ProjectionExpression="w") == (
        INVALID + "Global secondary index gsi does not project [w]"
    )


def test_an_index_follows_its_items(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    db.put(pk=A, g=A)
    db.put(pk=A, g={"S": "b"})
    assert db("Scan", IndexName="gsi")["Items"] == [{"pk": A, "g": {"S": "b"}}]
    db("UpdateItem", Key={"pk": A}, UpdateExpression="REMOVE g")
    assert db("Scan", IndexName="gsi")["Count"] == 0
    db.put(pk=A, g=A)
    db("DeleteItem", Key={"pk": A})
    assert db("Scan", IndexName="gsi")["Count"] == 0
    assert db.engine.verify().problems == []


def test_a_page_of_a_scan_ends_at_one_megabyte(db: TableClient) -> None:
    db.create()
    for number in range(7):
        db.put(pk={"S": str(number)}, v={"S": "x" * 300_000})
    answer = db("Scan")
    assert answer["Count"] == 4
    assert "LastEvaluatedKey" in answer
    assert len(scanned(db)) == 7


def test_scan_checks_in_this_order(db: TableClient) -> None:
    request: dict[str, Any] = {
        "TableName": "missing",
        "ExpressionAttributeValues": {":v": A},
        "AttributesToGet": ["a", "a"],
        "ScanFilter": {"a": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [A]}},
        "ExclusiveStartKey": {"pk": {}},
        "Segment": 1,
    }
    assert db.refusal("Scan", **request) == (
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"
    )
    del request["ExpressionAttributeValues"]
    assert db.refusal("Scan", **request) == INVALID + "Duplicate value in attribute name: a"
    del request["AttributesToGet"]
    assert db.refusal("Scan", **request) == (
        INVALID + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"
    )
    del request["ScanFilter"]
    assert str(db.refusal("Scan", **request)).startswith(START)
    del request["ExclusiveStartKey"]
    assert "TotalSegments parameter is required" in str(db.refusal("Scan", **request))
    del request["Segment"]
    request |= {"FilterExpression": "a =", "Select": "SPECIFIC_ATTRIBUTES"}
    assert str(db.refusal("Scan", **request)).startswith("Invalid FilterExpression: Syntax error")
    del request["FilterExpression"]
    assert str(db.refusal("Scan", **request)).startswith("Must specify the AttributesToGet")
    del request["Select"]
    assert isinstance(db.error("Scan", **request), ResourceNotFoundException)
