"""INSERT, UPDATE and DELETE."""

from __future__ import annotations

import pytest

from tablewright.dynamo import ConditionalCheckFailedException
from tests.engine.partiql.session import Response, Session

INVALID = "One or more parameter values were invalid: "
FAILED = "ConditionalCheckFailedException: The conditional request failed"


def stored(run: Session, name: str = "a") -> Response | None:
    key = {"id": {"S": name}}
    return run.engine.call("GetItem", {"TableName": "plain", "Key": key}).get("Item")


# -- INSERT ------------------------------------------------------------------------------------


def test_insert_takes_every_literal(run: Session) -> None:
    answer = run(
        "INSERT INTO plain VALUE {'id': 'a', 'n': -1.50e1, 'yes': TRUE, 'nil': null, 'l': [1, 'x', []], "
        "'m': {'k': {}}, 'ns': <<2, 1>>, 'ss': <<'b', 'a'>>, 'b': ?}",
        {"B": "AAE="},
    )
    assert answer == {"Items": []}
    assert stored(run) == {
        "id": {"S": "a"},
        "n": {"N": "-15"},
        "yes": {"BOOL": True},
        "nil": {"NULL": True},
        "l": {"L": [{"N": "1"}, {"S": "x"}, {"L": []}]},
        "m": {"M": {"k": {"M": {}}}},
        "ns": {"NS": ["1", "2"]},
        "ss": {"SS": ["a", "b"]},
        "b": {"B": "AAE="},
    }


def test_insert_takes_a_whole_item_as_a_parameter(run: Session) -> None:
    run("INSERT INTO plain VALUE ?", {"M": {"id": {"S": "a"}, "n": {"N": "01"}}})
    assert stored(run) == {"id": {"S": "a"}, "n": {"N": "1"}}


def test_insert_does_not_replace(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    assert run.refusal("INSERT INTO plain VALUE {'id': 'a', 'n': 2}") == (
        "DuplicateItemException: Duplicate primary key exists in table"
    )
    assert stored(run) == {"id": {"S": "a"}, "n": {"N": "1"}}
    run("DELETE FROM plain WHERE id = 'a'")
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 2}")


def test_insert_needs_a_good_key(run: Session) -> None:
    assert run.invalid("INSERT INTO plain VALUE {}") == f"{INVALID}Missing the key id in the item"
    assert run.invalid("INSERT INTO plain VALUE {'id': 1}") == (
        f"{INVALID}Type mismatch for key id expected: S actual: N"
    )
    assert run.invalid("INSERT INTO music VALUE {'artist': 'A', 'song': 's', 'genre': 5}") == (
        f"{INVALID}Type mismatch for Index Key genre Expected: S Actual: N IndexName: by_genre"
    )


def test_the_size_limit_counts_the_item_alone(run: Session) -> None:
    room = 400 * 1024 - len("id" + "a" + "data")
    over = {"S": "x" * (room + 1)}
    assert run.invalid("INSERT INTO plain VALUE {'id': 'a', 'data': ?}", over) == (
        "Item size has exceeded the maximum allowed size"
    )
    run("INSERT INTO plain VALUE {'id': 'a', 'data': ?}", {"S": "x" * room})
    assert run.invalid("UPDATE plain SET data = ? WHERE id = 'a'", over) == (
        "Item size to update has exceeded the maximum allowed size"
    )
    run("UPDATE plain SET data = ? WHERE id = 'a'", {"S": "y" * room})


# -- UPDATE ------------------------------------------------------------------------------------


def test_update_sets_and_removes(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1, 'l': [1, 2, 3], 'm': {'k': 1}, 'was': 1}")
    run(
        "UPDATE plain SET n = n + ?, l = list_append(l, [4]) SET m.added = 'v' "
        "SET s = set_add(s, <<'x', 'y'>>) REMOVE was WHERE id = 'a'",
        {"N": "2"},
    )
    run("UPDATE plain SET s = set_delete(s, <<'x'>>), n = n - 1 REMOVE l[0] REMOVE m.k WHERE id = 'a'")
    assert stored(run) == {
        "id": {"S": "a"},
        "n": {"N": "2"},
        "l": {"L": [{"N": "2"}, {"N": "3"}, {"N": "4"}]},
        "m": {"M": {"added": {"S": "v"}}},
        "s": {"SS": ["y"]},
    }


def test_update_creates_nothing(run: Session) -> None:
    assert run.refusal("UPDATE plain SET n = 1 WHERE id = 'a'") == FAILED
    assert stored(run) is None


def test_update_under_a_condition(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    with pytest.raises(ConditionalCheckFailedException) as caught:
        run("UPDATE plain SET n = 2 WHERE id = 'a' AND n = 5", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert caught.value.extra == {"Item": {"id": {"S": "a"}, "n": {"N": "1"}}}
    assert run.refusal("UPDATE plain SET n = 2 WHERE id = 'a' AND n = 5") == FAILED
    run("UPDATE plain SET n = 2 WHERE n = 1 AND id = 'a'")
    assert stored(run) == {"id": {"S": "a"}, "n": {"N": "2"}}


@pytest.mark.parametrize(
    ("returning", "expected"),
    [
        ("ALL OLD", [{"id": {"S": "a"}, "n": {"N": "1"}, "l": {"L": [{"N": "1"}, {"N": "2"}]}}]),
        ("ALL NEW", [{"id": {"S": "a"}, "n": {"N": "5"}, "l": {"L": [{"N": "2"}]}}]),
        ("MODIFIED OLD", [{"n": {"N": "1"}, "l": {"L": [{"N": "1"}]}}]),
        ("MODIFIED NEW", [{"n": {"N": "5"}, "l": {"L": [{"N": "2"}]}}]),
    ],
)
def test_update_returning(run: Session, returning: str, expected: list[Response]) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1, 'l': [1, 2]}")
    statement = f"UPDATE plain SET n = 5 REMOVE l[0] WHERE id = 'a' RETURNING {returning} *"
    assert run.items(statement) == expected


def test_returning_what_is_not_there_any_more(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    assert run.items("UPDATE plain REMOVE n WHERE id = 'a' RETURNING MODIFIED NEW *") == []
    assert run.items("UPDATE plain SET n = 1 WHERE id = 'a'") == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE music SET a = 1 WHERE artist = 'A'",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            "UPDATE music SET a = 1",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            "UPDATE plain SET a = 1 WHERE id = 'a' OR id = 'b'",
            "Where clause does not contain a mandatory equality on all key attributes",
        ),
        (
            "UPDATE plain SET a = 1 WHERE id = 'a' AND id = 'b'",
            "Multiple conditions on same key id. Only single item Update/Insert/Delete are supported",
        ),
        ("UPDATE plain SET a = 1 WHERE id = 5", "The provided key element does not match the schema"),
        ("UPDATE music.by_year SET a = 1 WHERE artist = 'A'", "This operation is not supported on an index"),
        (
            "UPDATE nowhere.some_index SET a = 1 WHERE id = 'a'",
            "This operation is not supported on an index",
        ),
        (
            "UPDATE plain SET id = 'b' WHERE id = 'a'",
            f"{INVALID}Cannot update attribute id. This attribute is part of the key",
        ),
        (
            "UPDATE plain SET a = 1, a = 2 WHERE id = 'a'",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a]",
        ),
        (
            "UPDATE plain SET a = b + 'x' WHERE id = 'a'",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
    ],
)
def test_updates_that_are_refused(run: Session, statement: str, message: str) -> None:
    assert run.invalid(statement) == message


def test_an_update_that_does_not_fit_the_item(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    assert run.invalid("UPDATE plain SET x = y WHERE id = 'a'") == (
        "The provided expression refers to an attribute that does not exist in the item"
    )
    assert run.invalid("UPDATE plain SET n.k = 1 WHERE id = 'a'") == (
        "The document path provided in the update expression is invalid for update"
    )
    assert run.invalid("UPDATE plain SET n = set_add(n, ?) WHERE id = 'a'", {"S": "x"}) == (
        "The second argument to SET_ADD must be a value with type SET at 1:30:1"
    )


# -- DELETE ------------------------------------------------------------------------------------


def test_delete(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 1}")
    assert run.refusal("DELETE FROM plain WHERE id = 'a' AND n = 2") == FAILED
    assert run.items("DELETE FROM plain WHERE id = 'a' AND n = 1 RETURNING ALL OLD *") == [
        {"id": {"S": "a"}, "n": {"N": "1"}}
    ]
    assert stored(run) is None


def test_deleting_nothing_is_fine(run: Session) -> None:
    assert run.items("DELETE FROM plain WHERE id = 'a' AND n = 2") == []
    assert run.items("DELETE FROM plain WHERE id = 'a' RETURNING ALL OLD *") == []


def test_delete_needs_the_whole_key(run: Session) -> None:
    incomplete = "Where clause does not contain a mandatory equality on all key attributes"
    assert run.invalid("DELETE FROM music WHERE artist = 'A'") == incomplete
    assert run.invalid("DELETE FROM music") == incomplete


# -- the same path as the item operations ------------------------------------------------------


def test_writes_are_charged_as_those_of_the_item_operations(run: Session) -> None:
    insert = run(
        "INSERT INTO music VALUE {'artist': 'A', 'song': 's', 'genre': 'g', 'year': 1}",
        ReturnConsumedCapacity="INDEXES",
    )
    assert insert["ConsumedCapacity"] == {
        "TableName": "music",
        "CapacityUnits": 3.0,
        "Table": {"CapacityUnits": 1.0},
        "LocalSecondaryIndexes": {"by_year": {"CapacityUnits": 1.0}},
        "GlobalSecondaryIndexes": {"by_genre": {"CapacityUnits": 1.0}},
    }
    delete = run("DELETE FROM music WHERE artist = 'A' AND song = 's'", ReturnConsumedCapacity="TOTAL")
    assert delete["ConsumedCapacity"] == {"TableName": "music", "CapacityUnits": 3.0}


def test_indexes_stay_in_step(songs: Session) -> None:
    songs("UPDATE music SET genre = 'folk' WHERE artist = 'A' AND song = 'one'")
    songs("UPDATE music REMOVE genre WHERE artist = 'A' AND song = 'two'")
    songs("DELETE FROM music WHERE artist = 'A' AND song = 'three'")
    assert songs.engine.verify().problems == []
    assert songs.column("SELECT song FROM music.by_genre WHERE genre = 'folk'") == ["one"]


def test_exists_is_for_transactions(run: Session) -> None:
    assert run.invalid("EXISTS(SELECT * FROM plain WHERE id = 'a' AND n = 1)") == (
        "EXISTS can only be used in ExecuteTransaction write requests."
    )
