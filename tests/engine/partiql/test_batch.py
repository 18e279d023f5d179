"""BatchExecuteStatement."""

from __future__ import annotations

import pytest

from tablewright.dynamo import ValidationException
from tests.engine.partiql.session import Session

NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."


def test_reads(songs: Session) -> None:
    answer = songs.batch(
        "SELECT song FROM music WHERE artist = 'A' AND song = 'one'",
        "SELECT * FROM music WHERE artist = 'A' AND song = 'nothing'",
        "SELECT song FROM music WHERE artist IN ['B'] AND song = 'only'",
    )
    assert answer["Responses"] == [
        {"TableName": "music", "Item": {"song": {"S": "one"}}},
        {"TableName": "music"},
        {"TableName": "music", "Item": {"song": {"S": "only"}}},
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM music WHERE artist = 'A'",
        "SELECT * FROM music WHERE artist = 'A' AND song = 'one' AND plays = 0",
        "SELECT * FROM music WHERE artist = 'A' AND song > 'a'",
        "SELECT * FROM music.by_year WHERE artist = 'A' AND song = 'one'",
        "SELECT * FROM music",
    ],
)
def test_a_read_names_one_item_by_its_key(songs: Session, statement: str) -> None:
    assert songs.batch(statement)["Responses"] == [{"Error": {"Code": "ValidationError", "Message": NEEDS_KEY}}]


def test_a_read_of_too_many_items_is_that_before_anything_else(songs: Session) -> None:
    message = "Too many decomposed read operations for a given query."
    artists = ", ".join(f"'{number}'" for number in range(51))
    (response,) = songs.batch(f"SELECT * FROM music WHERE artist IN [{artists}]")["Responses"]
    assert response == {"Error": {"Code": "ValidationError", "Message": message}}


def test_a_failure_keeps_no_other_statement_from_running(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'there', 'n': 1}")
    answer = run.batch(
        "INSERT INTO plain VALUE {'id': 'there'}",
        "UPDATE plain SET n = 1 WHERE id = 'missing'",
        "INSERT INTO nowhere VALUE {'id': 'a'}",
        "UPDATE plain SET",
        "INSERT INTO plain VALUE {'id': 'new'}",
    )
    assert answer["Responses"] == [
        {
            "Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
            "TableName": "plain",
        },
        {
            "Error": {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
            "TableName": "plain",
        },
        {"Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}},
        {
            "Error": {
                "Code": "ValidationError",
                "Message": "Statement wasn't well formed, can't be processed: Expected identifier for simple path",
            }
        },
        {"TableName": "plain"},
    ]
    assert run.items("SELECT id FROM plain WHERE id = 'new'")


def test_returning(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    answer = run.batch("DELETE FROM plain WHERE id = 'a' RETURNING ALL OLD *")
    assert answer["Responses"] == [{"TableName": "plain", "Item": {"id": {"S": "a"}, "n": {"N": "1"}}}]


def test_reads_and_writes_do_not_mix(run: Session) -> None:
    with pytest.raises(ValidationException) as caught:
        run.batch("INSERT INTO plain VALUE {'id': 'a'}", "SELECT * FROM plain WHERE id = 'b'")
    assert caught.value.message == "Read and write requests together in the same batch is not supported."
    assert run.items("SELECT * FROM plain") == []


@pytest.mark.parametrize(
    "statements",
    [
        ("INSERT INTO plain VALUE {'id': 'a'}", "DELETE FROM plain WHERE id = 'a'"),
        ("SELECT * FROM plain WHERE id = 'a'", "SELECT id FROM plain WHERE id = 'a'"),
    ],
)
def test_an_item_is_named_once(run: Session, statements: tuple[str, ...]) -> None:
    with pytest.raises(ValidationException) as caught:
        run.batch(*statements)
    assert caught.value.message == "Provided list of item keys contains duplicates"


def test_what_failed_is_charged_in_the_sum(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'large', 'data': ?}", {"S": "x" * 2500})
    answer = run.batch(
        "INSERT INTO plain VALUE {'id': 'a'}",
        "INSERT INTO plain VALUE {'id': 'large'}",
        "INSERT INTO nowhere VALUE {'id': 'a'}",
        ReturnConsumedCapacity="INDEXES",
    )
    assert answer["ConsumedCapacity"] == [{"TableName": "plain", "CapacityUnits": 4.0, "Table": {"CapacityUnits": 1.0}}]
    failed = run.batch("INSERT INTO plain VALUE {'id': 'large'}", ReturnConsumedCapacity="TOTAL")
    assert "ConsumedCapacity" not in failed


def test_each_read_has_its_own_consistency(run: Session) -> None:
    members = [
        {"Statement": "SELECT * FROM plain WHERE id = 'a'", "ConsistentRead": True},
        {"Statement": "SELECT * FROM plain WHERE id = 'b'"},
    ]
    answer = run.engine.call("BatchExecuteStatement", {"Statements": members, "ReturnConsumedCapacity": "TOTAL"})
    assert answer["ConsumedCapacity"] == [{"TableName": "plain", "CapacityUnits": 1.5}]


@pytest.mark.parametrize(
    ("statement", "names_its_table"),
    [
        ("INSERT INTO plain VALUE {'id': 'a'}", True),
        ("UPDATE plain SET n = 2 WHERE id = 'a' AND n = 5", True),
        ("UPDATE plain SET text = text + 1 WHERE id = 'a'", True),
        ("UPDATE plain SET absent.field = 1 WHERE id = 'a'", True),
        ("UPDATE plain SET n = 2 WHERE n = 1", False),
        ("UPDATE plain SET n = 2 WHERE id = 5", False),
        ("INSERT INTO plain VALUE {'n': 1}", False),
        ("INSERT INTO nowhere VALUE {'id': 'a'}", False),
        ("SELECT * FROM plain WHERE n = 1", False),
        ("UPDATE plain SET", False),
    ],
)
def test_a_failure_names_its_table_when_it_got_as_far_as_the_item(
    run: Session, statement: str, names_its_table: bool
) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1, 'text': 't'}")
    (response,) = run.batch(statement)["Responses"]
    assert "Error" in response
    assert response.get("TableName") == ("plain" if names_its_table else None)


def test_an_insert_of_a_wrong_index_key_names_its_table(run: Session) -> None:
    (response,) = run.batch("INSERT INTO music VALUE {'artist': 'A', 'song': 's', 'genre': 5}")["Responses"]
    assert response["Error"]["Message"].startswith("One or more parameter values were invalid: Type mismatch for Index")
    assert response["TableName"] == "music"


def test_a_bad_parameter_comes_before_its_statement(run: Session) -> None:
    members = [
        {"Statement": "UPDATE plain SET", "Parameters": [{"N": "abc"}]},
        {"Statement": "INSERT INTO plain VALUE {'id': 'a'}"},
    ]
    bad, good = run.engine.call("BatchExecuteStatement", {"Statements": members})["Responses"]
    assert bad["Error"]["Message"] == "The parameter cannot be converted to a numeric value: abc"
    assert good == {"TableName": "plain"}
