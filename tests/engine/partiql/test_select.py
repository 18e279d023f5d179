"""SELECT: what it reads, how it pages, what it costs."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any

import pytest

from tablewright.engine.partiql import next_token
from tests.engine.partiql.session import Session
from tests.engine.table_requests import attributes, index, key, on_demand

INVALID = "One or more parameter values were invalid: "


# -- projections -------------------------------------------------------------------------------


def test_a_path_is_answered_under_its_last_name(songs: Session) -> None:
    found = songs.items("SELECT song, tags[0], tags[1].deep, absent FROM music WHERE artist='A' AND song='one'")
    assert found == [{"song": {"S": "one"}, "tags[0]": {"S": "x"}, "deep": {"S": "y"}}]


def test_an_item_without_any_of_the_attributes_is_an_empty_row(songs: Session) -> None:
    assert songs.items("SELECT absent FROM music WHERE artist = 'B'") == [{}]


# -- conditions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("plays = 1", "two"),
        ("1 = plays", "two"),
        ("plays != 1", "four one three"),
        ("plays <> 1", "four one three"),
        ("plays BETWEEN 1 AND 2", "three two"),
        ("plays NOT BETWEEN 1 AND 2", "four one"),
        ("plays IN [0, 3]", "four one"),
        ("plays IN (0, 3)", "four one"),
        ("plays NOT IN (0, 3)", "three two"),
        ("plays IN (?, ?)", "one two"),
        ("NOT plays > 0", "one"),
        ("plays = 0 OR plays = 1 AND genre = 'pop'", "one"),
        ("(plays = 0 OR plays = 1) AND genre = 'rock'", "two"),
        ("absent IS MISSING AND plays = 0", "one"),
        ("absent IS NOT MISSING", ""),
        ("plays IS NUMERIC AND plays = 0", "one"),
        ("label IS NULL", ""),
        ("NOT absent = 1 AND plays = 0", "one"),
        ("begins_with(song, 't')", "three two"),
        ("BEGINS_WITH(song, 't') = false AND genre = 'pop'", "four one"),
        ("contains(tags, 'x') AND plays = 0", "one"),
        ("attribute_type(plays, 'N') AND plays = 0", "one"),
        ("attribute_exists(absent)", ""),
        ("size(genre) = 4", "two"),
        ("tags[1].deep = 'y' AND plays = -0", "one"),
        ("tags = ['x', {'deep': 'y'}] AND plays = 0e0", "one"),
    ],
)
def test_conditions(songs: Session, condition: str, expected: str) -> None:
    parameters: list[dict[str, Any]] = [{"N": "0"}, {"N": "1"}] if "?" in condition else []
    statement = f"SELECT song FROM music WHERE artist = 'A' AND ({condition})"
    assert songs.column(statement, *parameters) == expected.split()


def test_sets_and_binary_compare_by_value(run: Session) -> None:
    item = {"id": {"S": "a"}, "s": {"SS": ["y", "x"]}, "b": {"B": "AAE="}, "z": {"NULL": True}}
    run.engine.call("PutItem", {"TableName": "plain", "Item": item})
    assert run.items("SELECT id FROM plain WHERE s = <<'x', 'y'>>")
    assert run.items("SELECT id FROM plain WHERE b = ?", {"B": "AAE="})
    assert run.items("SELECT id FROM plain WHERE z = NULL")
    assert run.items("SELECT id FROM plain WHERE z IS NULL")


@pytest.mark.parametrize(
    ("operator", "operand", "tag"),
    [("<", "true", "BOOL"), (">=", "[1]", "L"), ("<=", "<<1>>", "NS"), (">", "NULL", "NULL")],
)
def test_what_has_no_order_is_refused_before_the_table_is_looked_up(
    run: Session, operator: str, operand: str, tag: str
) -> None:
    assert run.invalid(f"SELECT * FROM nowhere WHERE a {operator} {operand}") == (
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}"
    )


def test_too_few_parameters_are_refused(run: Session) -> None:
    assert run.invalid("SELECT * FROM music WHERE artist = ? AND song = ?", {"S": "A"}) == (
        "Number of parameters in request and statement don't match."
    )


def test_a_table_that_does_not_exist(run: Session) -> None:
    assert run.refusal("SELECT * FROM nowhere") == "ResourceNotFoundException: Requested resource not found"


# -- keyed reads and scans ---------------------------------------------------------------------


def test_a_keyed_read_evaluates_only_its_range(songs: Session) -> None:
    first = songs("SELECT song FROM music WHERE artist = 'A' AND song > 'o' AND plays = 2", Limit=1)
    assert first["Items"] == []
    assert first["LastEvaluatedKey"] == {"artist": {"S": "A"}, "song": {"S": "one"}}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("artist IN ['B', 'A']", "four one three two only"),
        ("artist = 'A' AND song = 'two' OR artist = 'B'", "two only"),
        ("artist IN ['A', 'B'] AND song IN ['one', 'only']", "one only"),
        ("artist = 'A' AND song >= 'one' AND song < 'two'", "one three"),
        ("artist = 'A' AND song > 'x' AND song < 'b'", ""),
        ("artist = 'A' AND artist = 'B'", ""),
    ],
)
def test_ranges_of_several_partitions(songs: Session, condition: str, expected: str) -> None:
    assert songs.column(f"SELECT song FROM music WHERE {condition}") == expected.split()


def test_a_condition_that_leaves_the_partition_open_reads_the_whole_table(songs: Session) -> None:
    page = songs("SELECT song FROM music WHERE artist = 'B' OR plays = 1", ReturnConsumedCapacity="TOTAL")
    assert sorted(item["song"]["S"] for item in page["Items"]) == ["only", "two"]
    assert songs.column("SELECT song FROM music WHERE artist > 'A'") == ["only"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("artist = 1", "Key attribute's data type should match its data type in table's schema: Key artist"),
        ("artist = true", "Key value must be of type S, N, or B. Key name: artist, Key type: BOOL"),
        (
            "artist = 'A' AND (song > 'a' OR song < 'z')",
            "Overlapping conditions with range keys are not supported in where clause",
        ),
        (
            f"artist IN [{', '.join(repr(str(number)) for number in range(51))}]",
            "Too many decomposed read operations for a given query.",
        ),
        (
            f"artist IN [{', '.join(repr(str(number // 2)) for number in range(60))}]",
            "Overlapping conditions with range keys are not supported in where clause",
        ),
        (
            f"artist IN [{', '.join(repr(str(number)) for number in range(51))}] AND artist = '5'",
            "Too many decomposed read operations for a given query.",
        ),
        (
            f"plays IN [{', '.join(map(str, range(101)))}]",
            "The IN operator is provided with too many operands; number of operands: 101",
        ),
    ],
)
def test_key_conditions_that_are_refused(run: Session, condition: str, message: str) -> None:
    assert run.invalid(f"SELECT * FROM music WHERE {condition}") == message


# -- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("artist = 'A' ORDER BY song", "four one three two"),
        ("artist = 'A' ORDER BY song DESC", "two three one four"),
        ("artist IN ['A', 'B'] ORDER BY artist DESC, song ASC", "only four one three two"),
        ("artist = 'A' ORDER BY artist", "two three one four"),
    ],
)
def test_order_by(songs: Session, clauses: str, expected: str) -> None:
    assert songs.column(f"SELECT song FROM music WHERE {clauses}") == expected.split()


def test_pages_in_descending_order(songs: Session) -> None:
    statement = "SELECT song FROM music WHERE artist = 'A' ORDER BY song DESC"
    first = songs(statement, Limit=3)
    assert [item["song"]["S"] for item in first["Items"]] == ["two", "three", "one"]
    assert songs.column(statement, NextToken=first["NextToken"]) == ["four"]


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("ORDER BY song", "Must have WHERE clause in the statement when using ORDER BY clause."),
        (
            "WHERE artist > 'A' ORDER BY song",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "WHERE artist = 'A' ORDER BY plays",
            "Attribute plays in ORDER BY clause must be part of the primary key",
        ),
        (
            "WHERE artist IN ['A', 'B'] ORDER BY song",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
    ],
)
def test_order_by_needs_a_keyed_read(run: Session, rest: str, message: str) -> None:
    assert run.invalid(f"SELECT * FROM music {rest}") == message


# -- pages -------------------------------------------------------------------------------------


def test_tokens_lead_through_all_pages(songs: Session) -> None:
    for statement in (
        "SELECT song FROM music",
        "SELECT song FROM music.by_genre WHERE genre IN ['pop', 'rock']",
    ):
        found: list[str] = []
        request: dict[str, Any] = {"Limit": 1}
        while True:
            page = songs(statement, **request)
            found += [item["song"]["S"] for item in page["Items"]]
            if "NextToken" not in page:
                break
            request["NextToken"] = page["NextToken"]
        assert sorted(found) == ["four", "one", "only", "three", "two"]


def test_a_long_in_list_is_answered_ten_values_at_a_time(run: Session) -> None:
    names = [f"{number:02}" for number in range(25)]
    for name in names:
        run("INSERT INTO plain VALUE {'id': ?}", {"S": name})
    statement = f"SELECT id FROM plain WHERE id IN [{', '.join(map(repr, names))}]"
    page = run(statement)
    assert len(page["Items"]) == 10
    page = run(statement, NextToken=page["NextToken"])
    assert len(page["Items"]) == 10
    page = run(statement, NextToken=page["NextToken"])
    assert len(page["Items"]) == 5
    assert "NextToken" not in page


def test_a_token_belongs_to_its_statement_and_parameters(songs: Session) -> None:
    statement = "SELECT * FROM music WHERE artist = ?"
    token = songs(statement, {"S": "A"}, Limit=1)["NextToken"]
    mismatch = "NextToken does not match request"
    assert songs.invalid(statement, {"S": "B"}, NextToken=token) == mismatch
    assert songs.invalid("SELECT song FROM music WHERE artist = ?", {"S": "A"}, NextToken=token) == mismatch
    assert len(songs.items(statement, {"S": "A"}, NextToken=token, Limit=9, ConsistentRead=True)) == 3


@pytest.mark.parametrize("token", ["x", "bm90IG91cnM=", "é", "A" * 1000])
def test_a_token_that_was_not_made_here_is_refused(songs: Session, token: str) -> None:
    assert songs.invalid("SELECT * FROM music", NextToken=token) == "Invalid NextToken"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"7",
        b"[]",
        b"[0]",
        b"[0,null,1]",
        b'["0",null]',
        b"[true,null]",
        b"[null,null]",
        b"[0.5,null]",
        b"[-1,null]",
        b"[1,null]",
        b"[1e400,null]",
        b"[99999999999999999999999,null]",
        b"[0,7]",
        b"[0,[]]",
        b"[0,{}]",
        b'[0,{"artist":{"S":"A"}}]',
        b'[0,{"artist":"A","song":"one"}]',
        b'[0,{"artist":{"S":7},"song":{"S":"one"}}]',
        b'[0,{"artist":{"X":"A"},"song":{"S":"one"}}]',
        b'[0,{"artist":{"S":"A","N":"1"},"song":{"S":"one"}}]',
        b'[0,{"artist":{"N":"x"},"song":{"S":"one"}}]',
        b'[0,{"artist":{"N":"1"},"song":{"S":"one"}}]',
        b'[0,{"artist":{"S":""},"song":{"S":"one"}}]',
        b'[0,{"artist":{"S":"A"},"song":{"S":"one"},"more":{"S":"x"}}]',
    ],
)
def test_a_forged_token_with_the_right_checksum_is_refused(songs: Session, content: bytes) -> None:
    statement = "SELECT * FROM music"
    payload = next_token.fingerprint(statement, []) + content
    forged = urlsafe_b64encode(sha256(payload).digest()[:8] + payload).decode()
    assert songs.invalid(statement, NextToken=forged) == "Invalid NextToken"


def test_a_page_ends_at_one_megabyte(run: Session) -> None:
    for number in range(4):
        run("INSERT INTO plain VALUE {'id': ?, 'data': ?}", {"S": str(number)}, {"S": "x" * 350_000})
    page = run("SELECT id FROM plain")
    assert len(page["Items"]) == 3
    assert len(run.items("SELECT id FROM plain", NextToken=page["NextToken"])) == 1


# -- indexes -----------------------------------------------------------------------------------


def test_an_index_holds_what_it_projects(songs: Session) -> None:
    songs("INSERT INTO music VALUE {'artist': 'C', 'song': 'none'}")
    found = songs.items('SELECT * FROM "music"."by_genre" WHERE genre = \'rock\'')
    assert [sorted(item) for item in found] == [["artist", "genre", "song"]] * 2
    assert len(songs.items("SELECT * FROM music.by_genre")) == 5


def test_what_an_index_does_not_project(songs: Session) -> None:
    assert songs.invalid("SELECT plays, song, label FROM music.by_genre") == (
        f"{INVALID}Global secondary index by_genre does not project [plays, label]"
    )
    unprojected = "does not project one or more filter attributes: [plays]"
    assert songs.invalid("SELECT * FROM music.by_genre WHERE genre = 'pop' AND plays = 1") == (
        f"{INVALID}Secondary index by_genre {unprojected}"
    )
    assert songs.invalid("SELECT * FROM music.by_year WHERE artist = 'A' AND plays = 1") == (
        f"{INVALID}Secondary index by_year {unprojected}"
    )
    # A scan of an index finds the attribute missing, and so does a read that has another way to be true.
    assert songs.items("SELECT * FROM music.by_year WHERE plays = 1") == []
    assert songs.items("SELECT plays FROM music.by_year WHERE plays = 1") == []
    either = "SELECT song FROM music.by_genre WHERE (genre = 'pop' AND plays = 1) OR genre = 'rock'"
    assert songs.column(either) == ["only", "two"]


def test_a_local_index_is_completed_from_the_table(songs: Session) -> None:
    page = songs("SELECT plays FROM music.by_year WHERE artist = 'A'", ReturnConsumedCapacity="INDEXES")
    assert [item["plays"]["N"] for item in page["Items"]] == ["3", "2", "1", "0"]
    assert page["ConsumedCapacity"] == {
        "TableName": "music",
        "CapacityUnits": 2.5,
        "Table": {"CapacityUnits": 2.0},
        "LocalSecondaryIndexes": {"by_year": {"CapacityUnits": 0.5}},
    }


def test_index_reads_that_are_refused(run: Session) -> None:
    assert run.invalid("SELECT * FROM music.by_mood") == "The table does not have the specified index"
    assert run.refusal("SELECT * FROM nowhere.by_mood").startswith("ResourceNotFoundException")
    assert run.invalid("SELECT * FROM music.by_genre", ConsistentRead=True) == (
        "Strongly consistent read is not supported on Global Secondary Indexes"
    )
    assert run.items("SELECT * FROM music.by_year", ConsistentRead=True) == []


# -- capacity ----------------------------------------------------------------------------------


def test_a_read_is_charged_on_what_it_evaluates(run: Session) -> None:
    for number in range(3):
        run("INSERT INTO plain VALUE {'id': ?, 'data': ?}", {"S": str(number)}, {"S": "x" * 4000})
    scan = run("SELECT id FROM plain WHERE id > '9'", ReturnConsumedCapacity="TOTAL")
    assert scan["ConsumedCapacity"] == {"TableName": "plain", "CapacityUnits": 1.5}
    one = run("SELECT * FROM plain WHERE id = '1'", ReturnConsumedCapacity="INDEXES", ConsistentRead=True)[
        "ConsumedCapacity"
    ]
    assert one == {"TableName": "plain", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}
    none = run("SELECT * FROM plain WHERE id = 'x'", ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert none["CapacityUnits"] == 0.5


def test_limit_zero_is_refused(run: Session) -> None:
    assert run.invalid("SELECT * FROM music", Limit=0) == (
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )


@pytest.mark.parametrize(
    ("condition", "songs_found"),
    [
        ("NOT song = 'one'", ["four", "three", "two"]),
        ("song <> 'one'", ["four", "three", "two"]),
        ("NOT begins_with(song, 't')", ["four", "one", "two"]),
        ("NOT song IN ['one', 'four']", ["three", "two"]),
        ("NOT song > 'three'", ["four", "one", "three", "two"]),
        ("NOT (song = 'one')", ["four", "three", "two"]),
        ("NOT song = 'one' AND plays = 3", ["four", "two"]),
    ],
)
def test_ranges_may_overlap_beside_a_filter_on_the_sort_key(
    songs: Session, condition: str, songs_found: list[str]
) -> None:
    text = f"SELECT song FROM music WHERE artist = 'A' AND {condition} OR artist = 'A' AND song = 'two'"
    assert songs.column(text) == songs_found
    assert songs.column(text, Limit=100) == songs_found


def test_a_whole_partition_beside_a_filter_on_the_sort_key(songs: Session) -> None:
    text = "SELECT song FROM music WHERE artist = 'A' OR artist = 'A' AND NOT song = 'one' OR artist = 'B'"
    assert songs.column(text) == ["four", "one", "three", "two", "only"]


@pytest.mark.parametrize("other", ["plays = 1", "plays <> 1"])
def test_a_filter_on_another_attribute_does_not_let_ranges_overlap(songs: Session, other: str) -> None:
    text = f"SELECT song FROM music WHERE artist = 'A' AND {other} OR artist = 'A' AND song = 'two'"
    assert songs.invalid(text) == "Overlapping conditions with range keys are not supported in where clause"


def test_the_values_that_two_lists_have_in_common_are_read_once(songs: Session) -> None:
    for lists in (("'two', 'one'", "'two', 'four'"), ("'one', 'two'", "'four', 'two'")):
        text = "SELECT song FROM music WHERE artist = 'A' AND song IN [{}] AND song IN [{}]".format(*lists)
        assert songs.column(text) == ["two"]


def test_a_range_of_nothing_overlaps_with_nothing(songs: Session) -> None:
    text = "SELECT song FROM music WHERE artist = 'A' AND (song > 'a' OR song = 'one' AND song = 'two')"
    assert songs.column(text) == ["four", "one", "three", "two"]
    assert songs.column("SELECT song FROM music WHERE artist = 'A' AND song = 'one' AND song = 'two'") == []


def test_a_bad_parameter_comes_before_the_statement(run: Session) -> None:
    bad = "The parameter cannot be converted to a numeric value: abc"
    assert run.invalid("SELECT", {"N": "abc"}) == bad
    assert run.invalid("SELECT * FROM nowhere WHERE id = ?", {"L": [{"N": "1"}, {"N": "abc"}]}) == bad


class TestIndexOfSeveralKeyAttributes:
    """PartiQL reads no index with several partition or sort keys, and says so before most else."""

    REFUSED = (
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
    )

    @pytest.fixture(autouse=True)
    def wide(self, run: Session) -> None:
        run.engine.call(
            "CreateTable",
            on_demand(
                TableName="wide",
                AttributeDefinitions=attributes("id", "a", "b", "c"),
                KeySchema=key("id"),
                GlobalSecondaryIndexes=[index("by_abc", "a", "b:HASH", "c")],
            ),
        )
        run.engine.sweep()

    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT * FROM wide.by_abc WHERE a = 'x'",
            "SELECT * FROM wide.by_abc WHERE a = 5",
            "SELECT * FROM wide.by_abc WHERE id = 'x'",
            "SELECT * FROM wide.by_abc",
            "SELECT COUNT(*) FROM wide.by_abc",
            "SELECT id FROM wide.by_abc WHERE a = 'x' AND b = 'y' ORDER BY c DESC",
        ],
    )
    def test_refused(self, run: Session, statement: str) -> None:
        assert run.invalid(statement) == self.REFUSED

    def test_refused_by_its_arn(self, run: Session) -> None:
        arn = run.engine.call("DescribeTable", {"TableName": "wide"})["Table"]["TableArn"]
        assert run.invalid(f'SELECT * FROM "{arn}".by_abc') == self.REFUSED
        assert run.items(f'SELECT * FROM "{arn}"') == []

    def test_what_comes_before(self, run: Session) -> None:
        well_formed = "Statement wasn't well formed, can't be processed: "
        assert run.invalid("SELECT * FROM wide.by_abc WHERE") == f"{well_formed}Unexpected term"
        assert run.invalid("SELECT * FROM wide.by_abc WHERE a = 1e99999999999") == well_formed
        assert run.invalid("SELECT * FROM wide.by_abc WHERE a = ?", {"N": "x"}) == (
            "The parameter cannot be converted to a numeric value: x"
        )

    def test_a_batch_refuses_the_index_before_it_misses_the_key(self, run: Session) -> None:
        run("INSERT INTO wide VALUE {'id': 'x'}")
        refused, found = run.batch("SELECT * FROM wide.by_abc WHERE a = 'x'", "SELECT * FROM wide WHERE id = 'x'")[
            "Responses"
        ]
        assert refused == {"Error": {"Code": "ValidationError", "Message": self.REFUSED}}
        assert found == {"TableName": "wide", "Item": {"id": {"S": "x"}}}
