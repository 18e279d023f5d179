"""No byte of a data folder can change without anybody noticing: reads refuse what is damaged, ``verify`` finds it."""

from __future__ import annotations

import logging
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.storage.damage import DATABASE, KEYS, TABLE, Seen, copied, equals, flip, make_folder, outcome, quiet


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "data"
    make_folder(folder, Clock())
    return folder


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now += 10
    return clock


@pytest.fixture
def truth(folder: Path, tmp_path: Path, clock: Clock) -> Seen:
    with copied(folder, tmp_path / "truth") as copy:
        found = outcome(copy, clock)
    assert found.refusal is None
    assert found.problems == []
    assert found.seen.refused == []
    return found.seen


def test_what_was_read_twice_is_the_same(folder: Path, tmp_path: Path, clock: Clock, truth: Seen) -> None:
    with copied(folder, tmp_path / "again") as copy:
        assert outcome(copy, clock).seen.differs_from(truth) == []


def alter(folder: Path, *statements: str) -> None:
    """Change a stored record behind the engine's back."""
    connection = sqlite3.connect(folder / DATABASE)
    for statement in statements:
        assert connection.execute(statement).rowcount == 1, statement
    connection.commit()
    connection.close()


def spoil(rows: str, column: str, where: str) -> str:
    """SQL that changes one bit of a column, and not its type."""
    return f"UPDATE {rows} SET {column} = CAST(replace({column}, 'text 13 t', 'text 13 u') AS BLOB) WHERE {where}"


ITEM_13 = spoil("items_1", "item", "instr(item, 'text 13 t')")
GET_13 = {"TableName": TABLE, "Key": KEYS[13]}


@pytest.mark.requirement("X7")
def test_a_damaged_item_is_an_internal_server_error_that_is_logged_with_table_and_key(
    folder: Path, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with copied(folder, tmp_path / "copy") as copy:
        alter(copy, ITEM_13)
        with Engine.open(copy, clock=clock) as engine, caplog.at_level(logging.ERROR):
            with pytest.raises(InternalServerError) as refused:
                engine.call("GetItem", GET_13)
            assert refused.value.status == 500
            assert refused.value.body()["__type"] == "com.amazonaws.dynamodb.v20120810#InternalServerError"
            assert "table things: the item with the key {'pk': 'partition-1', 'sk': '13'}" in caplog.text


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", GET_13),
        ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": KEYS[12:15]}}}),
        ("TransactGetItems", {"TransactItems": [{"Get": GET_13}]}),
        ("Query", {"TableName": TABLE, **equals("pk", "partition-1")}),
        ("Query", {"TableName": TABLE, **equals("pk", "partition-1"), "FilterExpression": "expires > :v"}),
        ("Query", {"TableName": TABLE, "IndexName": "by-kind", **equals("kind", "kind-1")}),
        ("Scan", {"TableName": TABLE}),
        ("Scan", {"TableName": TABLE, "ProjectionExpression": "sk"}),
        ("ExecuteStatement", {"Statement": f"SELECT * FROM {TABLE} WHERE pk = 'partition-1'"}),
        ("PutItem", {"TableName": TABLE, "Item": KEYS[13]}),
        ("UpdateItem", GET_13),
        ("DeleteItem", GET_13),
    ],
)
def test_every_operation_that_reads_a_damaged_item_refuses_it(
    folder: Path, tmp_path: Path, clock: Clock, operation: str, request_: dict[str, Any]
) -> None:
    with copied(folder, tmp_path / "copy") as copy:
        alter(copy, ITEM_13)
        with Engine.open(copy, clock=clock) as engine:
            with pytest.raises(InternalServerError, match="damaged"):
                engine.call(operation, request_)
            for number, primary in enumerate(KEYS):
                if number != 13:
                    assert "Item" in engine.call("GetItem", {"TableName": TABLE, "Key": primary})


def test_a_damaged_item_does_not_concern_those_who_write_at_the_same_time(
    folder: Path, tmp_path: Path, clock: Clock
) -> None:
    with copied(folder, tmp_path / "copy") as copy:
        alter(copy, ITEM_13)
        with Engine.open(copy, clock=clock) as engine:
            _, commit = engine.execute("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "new"}}})
            with pytest.raises(InternalServerError):
                engine.call("GetItem", GET_13)
            assert commit is not None
            assert (commit.done, commit.error) == (True, None)


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("UPDATE items_1 SET size = size + 1 WHERE instr(item, 'text 13 ')", "get 13"),
        ("UPDATE items_1 SET item = CAST(item AS TEXT) WHERE instr(item, 'text 13 ')", "get 13"),
        ("UPDATE items_1 SET item = 5 WHERE instr(item, 'text 13 ')", "get 13"),
        ("UPDATE items_1 SET size = 'x' WHERE instr(item, 'text 13 ')", "get 13"),
        ("UPDATE items_2 SET item = (SELECT item FROM items_1 LIMIT 1) WHERE instr(item, '-13\"')", "get plain 13"),
        ("UPDATE index_1_1 SET id = 5 WHERE id = (SELECT id FROM items_1 WHERE instr(item, 'text 13 '))", "index 1"),
        (spoil("log", "new", "kind = 'INSERT' AND instr(new, 'text 13 ')"), "records"),
        ("UPDATE log SET at = at - 1 WHERE kind = 'INSERT' AND instr(new, 'text 13 ')", "records"),
        ("UPDATE log SET kind = 'MODIFY' WHERE kind = 'INSERT' AND instr(new, 'text 13 ')", "records"),
        ("UPDATE log SET principal = 'x' WHERE kind = 'INSERT' AND instr(new, 'text 13 ')", "records"),
        ("UPDATE streams SET definition = CAST(replace(definition, 'IMAGES', 'IMAGE') AS BLOB)", "streams"),
        (spoil("backup_1", "item", "instr(item, 'text 13 t')"), "restore"),
        ("UPDATE backups SET definition = CAST(replace(definition, 'USER', 'USES') AS BLOB)", "backups"),
        ("UPDATE history_1 SET at = at - 9 WHERE sequence = 41", "recover"),
        ("UPDATE history_1 SET item = NULL WHERE sequence = 41", "recover"),
        ("UPDATE tokens SET response = x'5b5d'", "token"),
        ("UPDATE tokens SET at = at - 5000", "token"),
        ("UPDATE settings SET value = value - 1 WHERE name = 'tables created'", "restore"),
    ],
)
def test_a_damaged_record_of_any_kind_is_refused_and_found(
    folder: Path, tmp_path: Path, clock: Clock, truth: Seen, statement: str, refused: str
) -> None:
    with copied(folder, tmp_path / "copy") as copy:
        alter(copy, statement)
        found = outcome(copy, clock)
    assert found.problems
    assert refused in found.seen.refused
    # Sizes of tables are estimates, and added up unread.
    assert [name for name in found.seen.differs_from(truth) if not name.startswith("describe ")] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tables SET definition = CAST(replace(definition, 'by-kind', 'by-kine') AS BLOB) WHERE number = 1",
        "UPDATE tables SET name = 'thingy' WHERE number = 1",
        "UPDATE sqlite_sequence SET seq = seq - 1",
        "UPDATE sqlite_sequence SET name = 'lof'",
    ],
)
def test_a_folder_with_damaged_definitions_is_not_opened(
    folder: Path, tmp_path: Path, clock: Clock, statement: str
) -> None:
    with copied(folder, tmp_path / "copy") as copy:
        alter(copy, statement)
        assert "is damaged" in (outcome(copy, clock).refusal or "")


def test_a_definition_that_sqlite_reads_differently_is_not_opened(folder: Path, tmp_path: Path, clock: Clock) -> None:
    with copied(folder, tmp_path / "copy") as copy:
        content = (copy / DATABASE).read_bytes()
        place = content.index(b"CREATE TABLE items_1 (id INTEGER") + len("CREATE TABLE items_1 (id INTE")
        flip(copy / DATABASE, place)
        assert "items_1 no longer has the definition" in (outcome(copy, clock).refusal or "")


def unnoticed(folder: Path, scratch: Path, clock: Clock, truth: Seen, places: list[int]) -> list[str]:
    """Change each of these bytes in turn; gives what went wrong without anybody noticing."""
    chooser = random.Random(7)
    wrong = []
    for number, place in enumerate(places):
        bits = chooser.randrange(1, 256)
        with copied(folder, scratch / str(number)) as copy, quiet():
            flip(copy / DATABASE, place, bits)
            found = outcome(copy, clock)
        different = found.seen.differs_from(truth)
        if different and not found.problems:
            wrong.append(f"byte {place} ^ {bits:#x}: {different}, and verify found nothing")
        # Reads by key are sure without verify.
        wrong += [f"byte {place} ^ {bits:#x}: {name} is wrong" for name in different if name.startswith("get ")]
        if found.seen.refused and not found.problems:
            wrong.append(f"byte {place} ^ {bits:#x}: {found.seen.refused} are refused, and verify found nothing")
    return wrong


def test_a_changed_byte_is_noticed(folder: Path, tmp_path: Path, clock: Clock, truth: Seen) -> None:
    size = (folder / DATABASE).stat().st_size
    places = [18, 20, 28, 52, 56, 60, *random.Random(1).sample(range(size), 20)]
    assert unnoticed(folder, tmp_path, clock, truth, places) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.requirement("X7")
def test_none_of_a_thousand_changed_bytes_goes_unnoticed(
    folder: Path, tmp_path: Path, clock: Clock, truth: Seen
) -> None:
    size = (folder / DATABASE).stat().st_size
    places = [*range(100), *random.Random(2).sample(range(100, size), 900)]
    assert unnoticed(folder, tmp_path, clock, truth, places) == []
