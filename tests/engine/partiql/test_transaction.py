"""ExecuteTransaction."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import (
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from tests.engine.partiql.session import Session


def cancellation(run: Session, *statements: str) -> list[dict[str, Any]]:
    with pytest.raises(TransactionCanceledException) as caught:
        run.transaction(*statements)
    reasons: list[dict[str, Any]] = caught.value.extra["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in reasons)
    assert caught.value.message == (
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    )
    return reasons


def refusal(run: Session, *statements: str) -> str:
    with pytest.raises(ValidationException) as caught:
        run.transaction(*statements)
    return caught.value.message or ""


def test_all_writes_take_effect(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    run("INSERT INTO plain VALUE {'id': 'gone'}")
    answer = run.transaction(
        "INSERT INTO plain VALUE {'id': 'b'}",
        "UPDATE plain SET n = 2 WHERE id = 'a' AND n = 1",
        "DELETE FROM plain WHERE id = 'gone'",
        "EXISTS(SELECT * FROM plain WHERE id = 'c' AND n IS MISSING)",
    )
    assert answer == {"Responses": []}
    assert sorted(run.column("SELECT id FROM plain")) == ["a", "b"]
    assert run.column("SELECT n FROM plain WHERE id = 'a'") == ["2"]


def test_or_none_does(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    reasons = cancellation(
        run,
        "INSERT INTO plain VALUE {'id': 'a'}",
        "INSERT INTO plain VALUE {'id': 'b'}",
        "UPDATE plain SET n = 1 WHERE id = 'c'",
        "EXISTS(SELECT * FROM plain WHERE id = 'd' AND n = 1)",
    )
    assert reasons == [
        {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
    ]
    assert run.column("SELECT id FROM plain") == ["a"]


def test_what_does_not_fit_the_table_cancels(run: Session) -> None:
    reasons = cancellation(
        run,
        "INSERT INTO nowhere VALUE {'id': 'a'}",
        "INSERT INTO plain VALUE {'n': 1}",
        "UPDATE plain SET n = 1 WHERE id = 5",
        "DELETE FROM music WHERE artist = 'A'",
        "UPDATE plain SET id = 'x' WHERE id = 'a'",
        "EXISTS(SELECT * FROM plain WHERE id = 5 AND n = 1)",
    )
    assert [(reason["Code"], reason["Message"]) for reason in reasons] == [
        ("ResourceNotFound", "Requested resource not found"),
        ("ValidationError", "One or more parameter values were invalid: Missing the key id in the item"),
        ("ValidationError", "The provided key element does not match the schema"),
        ("ValidationError", "The provided key element does not match the schema"),
        (
            "ValidationError",
            "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
        ),
        ("ValidationError", "The provided key element does not match the schema"),
    ]


def test_the_item_that_failed_a_condition_is_shown_on_request(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    member = {
        "Statement": "UPDATE plain SET n = 2 WHERE id = 'a' AND n = 5",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    with pytest.raises(TransactionCanceledException) as caught:
        run.engine.call("ExecuteTransaction", {"TransactStatements": [member]})
    assert caught.value.extra["CancellationReasons"][0]["Item"] == {"id": {"S": "a"}, "n": {"N": "1"}}


def test_reads(songs: Session) -> None:
    answer = songs.transaction(
        "SELECT song FROM music WHERE artist = 'A' AND song = 'one'",
        "SELECT * FROM music WHERE artist = 'A' AND song = 'nothing'",
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer == {
        "Responses": [{"Item": {"song": {"S": "one"}}}, {}],
        "ConsumedCapacity": [{"TableName": "music", "ReadCapacityUnits": 4.0, "CapacityUnits": 4.0}],
    }


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT", "Statement wasn't well formed, can't be processed: Unexpected term"),
        (
            "SELECT * FROM music.by_year WHERE artist = 'A'",
            "Reads on indices are not supported within transactions.",
        ),
        (
            "SELECT * FROM music WHERE artist = 'A'",
            "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
        ),
        (
            "SELECT * FROM music WHERE artist = 'A' AND song = 's' AND plays = 1",
            "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
        ),
        (
            "DELETE FROM plain WHERE id = 'a' RETURNING ALL OLD *",
            "RETURNING clause is not supported in ExecuteTransaction.",
        ),
        (
            "EXISTS(SELECT * FROM plain WHERE id = 'a')",
            "EXISTS() must contain a single item read with additional condition",
        ),
        ("UPDATE music.by_year SET a = 1 WHERE artist = 'A'", "This operation is not supported on an index"),
        (
            "UPDATE plain SET n = 1 WHERE id = true",
            "Key value must be of type S, N, or B. Key name: id, Key type: BOOL",
        ),
        (
            "EXISTS(SELECT * FROM plain WHERE id = [1] AND n = 1)",
            "Key value must be of type S, N, or B. Key name: id, Key type: L",
        ),
        (
            "DELETE FROM plain WHERE id = 'a' AND id.x = 1",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key id",
        ),
        (
            "UPDATE plain SET n = 1 WHERE id = ?",
            "Number of parameters in request and statement don't match.",
        ),
    ],
)
def test_what_is_wrong_with_a_statement_refuses_the_request(run: Session, statement: str, message: str) -> None:
    other = "SELECT * FROM plain WHERE id = 'x'" if statement.startswith("SELECT") else "DELETE FROM plain WHERE id='x'"
    assert refusal(run, other, statement) == f"Validation failed in TransactStatements[1]: {message}"


def test_reads_and_writes_do_not_mix(run: Session) -> None:
    assert refusal(run, "SELECT * FROM plain WHERE id = 'a'", "DELETE FROM plain WHERE id = 'b'") == (
        "ExecuteTransaction API does not support both read and write operations in the same request."
    )


@pytest.mark.parametrize(
    "statements",
    [
        ("INSERT INTO plain VALUE {'id': 'a'}", "DELETE FROM plain WHERE id = 'a'"),
        ("SELECT * FROM plain WHERE id = 'a'", "SELECT id FROM plain WHERE id = 'a'"),
    ],
)
def test_an_item_is_named_once(run: Session, statements: tuple[str, ...]) -> None:
    assert refusal(run, *statements) == "Transaction request cannot include multiple operations on one item"


def test_a_token_makes_a_transaction_happen_once(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    statement = "UPDATE plain SET n = n + 1 WHERE id = 'a'"
    first = run.transaction(statement, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")
    again = run.transaction(statement, ClientRequestToken="t", ReturnConsumedCapacity="TOTAL")
    assert first["ConsumedCapacity"] == [{"TableName": "plain", "WriteCapacityUnits": 2.0, "CapacityUnits": 2.0}]
    assert again["ConsumedCapacity"] == [{"TableName": "plain", "ReadCapacityUnits": 2.0, "CapacityUnits": 2.0}]
    assert run.column("SELECT n FROM plain WHERE id = 'a'") == ["2"]
    with pytest.raises(IdempotentParameterMismatchException):
        run.transaction("DELETE FROM plain WHERE id = 'a'", ClientRequestToken="t")
    run.clock.now += 601
    run.transaction(statement, ClientRequestToken="t")
    assert run.column("SELECT n FROM plain WHERE id = 'a'") == ["3"]


def test_the_token_is_this_operations_own(run: Session) -> None:
    run.transaction("INSERT INTO plain VALUE {'id': 'a'}", ClientRequestToken="t")
    put = {"Put": {"TableName": "plain", "Item": {"id": {"S": "b"}}}}
    run.engine.call("TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": "t"})
    assert sorted(run.column("SELECT id FROM plain")) == ["a", "b"]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO nowhere VALUE {'n': 1}",
        "UPDATE nowhere SET n = 1 WHERE id = 5",
        "DELETE FROM nowhere WHERE id = 'a' RETURNING ALL OLD *",
        "EXISTS(SELECT * FROM nowhere WHERE id = 'a')",
        "SELECT * FROM nowhere WHERE n = 1",
        "SELECT * FROM nowhere.by_year WHERE id = 'a'",
    ],
)
def test_a_table_that_is_not_there_comes_before_what_else_is_wrong(run: Session, statement: str) -> None:
    other = "SELECT * FROM plain WHERE id = 'x'" if statement.startswith("SELECT") else "DELETE FROM plain WHERE id='x'"
    reasons = cancellation(run, other, statement)
    assert reasons == [{"Code": "None"}, {"Code": "ResourceNotFound", "Message": "Requested resource not found"}]


def test_a_bad_parameter_comes_before_every_statement(run: Session) -> None:
    members = [
        {"Statement": "SELECT"},
        {"Statement": "UPDATE plain SET n = ? WHERE id = 'a'", "Parameters": [{"N": "abc"}]},
    ]
    with pytest.raises(ValidationException) as caught:
        run.engine.call("ExecuteTransaction", {"TransactStatements": members})
    assert caught.value.message == "The parameter cannot be converted to a numeric value: abc"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("id = 'a' AND id = 'a'", True),
        ("id = 'a' AND id = 'a' AND n = 1", True),
        ("id = 'a' AND id = 'b'", False),
        ("n = 1 AND id = 'a' AND id = 'b'", False),
    ],
)
def test_exists_takes_a_second_value_for_a_key_as_its_condition(run: Session, condition: str, holds: bool) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    statement = f"EXISTS(SELECT * FROM plain WHERE {condition})"
    if holds:
        assert run.transaction(statement) == {"Responses": []}
    else:
        assert [reason["Code"] for reason in cancellation(run, statement)] == ["ConditionalCheckFailed"]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO plain VALUE {'id': ''}",
        "UPDATE plain SET n = 1 WHERE id = ''",
        "DELETE FROM plain WHERE id = ''",
    ],
)
def test_an_empty_key_refuses_the_request(run: Session, statement: str) -> None:
    assert refusal(run, "INSERT INTO plain VALUE {'id': 'a'}", statement) == (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        "string value. Key: id"
    )
