"""``verify`` finds every way in which a data folder can be out of step with itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tablewright.engine import Engine, database
from tablewright.engine.storage.checksums import log_checksum, sealed
from tablewright.engine.streams.shards import SELECT_RECORD
from tablewright.engine.tables import index_backfill
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, attributes, index, key, on_demand

NOW = 1_800_000_000.0


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Three items in a table with one of everything; SQL names: items_1, index_1_1, index_1_2, expiries_1."""
    places: dict[bytes, int] = {}
    monkeypatch.setattr(database, "row_id", lambda key: places.setdefault(key, len(places) + 1))
    with Engine.open(tmp_path / "data", clock=lambda: NOW) as opened:
        opened._background.stop()
        definition = on_demand(
            TableName="things",
            AttributeDefinitions=attributes("pk", "sk:N", "kind"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[index("by-kind", "kind", "pk")],
            LocalSecondaryIndexes=[index("by-pk-and-kind", "pk", "kind")],
            StreamSpecification=NEW_AND_OLD_IMAGES,
        )
        opened.call("CreateTable", definition)
        opened.call(
            "UpdateTimeToLive",
            {"TableName": "things", "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True}},
        )
        for number in range(3):
            put(opened, number)
            put(opened, number, text="changed")
        yield opened


def put(engine: Engine, number: int, text: str = "first") -> None:
    item = {
        "pk": {"S": f"item {number}"},
        "sk": {"N": str(number)},
        "kind": {"S": "k"},
        "expires": {"N": str(int(NOW) + 60 + number)},
        "text": {"S": text},
    }
    engine.call("PutItem", {"TableName": "things", "Item": item})


def damage(engine: Engine, *statements: str) -> None:
    """Change what is stored behind the engine's back."""
    for statement in statements:
        engine._storage.write()(statement)
    engine.flush()


def alter(engine: Engine, *statements: str) -> None:
    """Change what is stored as a faulty engine would: with checksums that match."""
    damage(engine, *statements)
    storage, table = engine._storage, engine._database.tables["things"]
    for row_id, size, item in storage.execute("SELECT id, size, item FROM items_1").fetchall():
        storage.write()("UPDATE items_1 SET item = ? WHERE id = ?", (sealed(table.seed, size, item[:-4]), row_id))
    for sequence, stream, at, kind, principal, _, *images in storage.execute(SELECT_RECORD).fetchall():
        checksum = log_checksum(stream, at, kind, principal or "", *(image or b"" for image in images))
        storage.write()("UPDATE log SET checksum = ? WHERE sequence = ?", (checksum, sequence))
    engine.flush()
    assert not any("checksum" in problem for problem in engine.verify().problems)


def test_a_whole_folder_has_no_problems(engine: Engine) -> None:
    report = engine.verify()
    assert report.ok
    assert report.problems == []
    assert (report.tables, report.items, report.index_entries, report.stream_records) == (1, 3, 6, 6)


def test_an_empty_engine_has_no_problems() -> None:
    with Engine.open() as engine:
        assert engine.verify().ok


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE items_1 SET key = x'00' WHERE id = 2", "item 2 is stored under another key than its own"),
        ("UPDATE items_1 SET size = size + 1 WHERE id = 2", "item 2 has size"),
        ("UPDATE items_1 SET item = '{\"pk' WHERE id = 2", "item 2 cannot be read"),
        ('UPDATE items_1 SET item = \'{"pk":{"S":"x"}}\' WHERE id = 2', "item 2 cannot be read"),
        ("UPDATE items_1 SET item = '[]' WHERE id = 2", "item 2 cannot be read"),
        ("DELETE FROM index_1_1 WHERE id = 2", "item 2 has no entry"),
        ("DELETE FROM index_1_2 WHERE id = 2", "item 2 has no entry"),
        ("INSERT INTO index_1_1 VALUES (x'0102', 2)", "1 entries belong to no item"),
        ("UPDATE index_1_1 SET id = 3 WHERE id = 2", "the entry of item 2 points to 3"),
        ("DELETE FROM expiries_1 WHERE id = 2", "item 2 expires at"),
        ("INSERT INTO expiries_1 VALUES (5, 2)", "1 expiry entries belong to no item"),
        ("DELETE FROM items_1 WHERE id = 2", "an item is missing, but its last stream record is MODIFY"),
        ("DELETE FROM log WHERE sequence = (SELECT max(sequence) FROM log)", "differs from the item"),
        ("DROP TABLE index_1_1", "the SQL table index_1_1 is missing"),
        ("DROP TABLE items_1", "the SQL table items_1 is missing"),
        ("CREATE TABLE items_2 (id INTEGER)", "the SQL table items_2 belongs to no table or backup"),
        ("CREATE TABLE index_1_9 (id INTEGER)", "the SQL table index_1_9 belongs to no table or backup"),
    ],
)
def test_damage_is_found(engine: Engine, statement: str, problem: str) -> None:
    damage(engine, statement)
    report = engine.verify()
    assert not report.ok
    assert any(problem in found for found in report.problems), report.problems


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE items_1 SET size = size + 1 WHERE id = 2", "item 2 has size"),
        ("UPDATE log SET kind = 'REMOVE' WHERE sequence = (SELECT max(sequence) FROM log)", "an item is there"),
        ("UPDATE log SET kind = 'INSERT' WHERE kind = 'MODIFY'", "does not follow"),
        ("UPDATE log SET old = new WHERE kind = 'MODIFY'", "differs from the new image before it"),
    ],
)
def test_records_that_contradict_each_other_are_found(engine: Engine, statement: str, problem: str) -> None:
    alter(engine, statement)
    problems = engine.verify().problems
    assert any(problem in found for found in problems), problems


def test_an_item_that_changed_without_a_stream_record_is_found(engine: Engine) -> None:
    alter(
        engine,
        "UPDATE items_1 SET item = CAST(replace(item, 'changed', 'altered') AS BLOB) WHERE id = 2",
    )
    assert engine.verify().problems == ["things: the last stream record of an item differs from the item"]


def test_very_many_problems_are_not_all_listed(engine: Engine) -> None:
    for number in range(3, 130):
        put(engine, number)
    damage(engine, "UPDATE items_1 SET size = 0")
    assert len(engine.verify().problems) == 100


def test_pages_that_sqlite_cannot_read_are_found(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create_plain(engine)
        for number in range(200):
            item = {"pk": {"S": str(number)}, "text": {"S": "x" * 500}}
            engine.call("PutItem", {"TableName": "plain", "Item": item})
    file = tmp_path / "tablewright.db"
    content = bytearray(file.read_bytes())
    # The last page: items, not the schema.
    content[-4096:-3000] = bytes(1096)
    file.write_bytes(content)
    with Engine.open(tmp_path) as engine:
        report = engine.verify()
        assert any(problem.startswith("SQLite: ") for problem in report.problems), report.problems


def test_an_index_that_is_still_being_filled_is_no_problem(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_backfill, "_CHUNK", 1)
    engine.call(
        "UpdateTable",
        {
            "TableName": "things",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "kind", "AttributeType": "S"},
                {"AttributeName": "text", "AttributeType": "S"},
            ],
            "GlobalSecondaryIndexUpdates": [{"Create": index("by-text", "text", "pk")}],
        },
    )
    assert engine.verify().ok
    damage(engine, "INSERT INTO index_1_3 VALUES (x'0102', 2)")
    assert engine.verify().problems == ["things.by-text: 1 entries belong to no item"]
    damage(engine, "DELETE FROM index_1_3 WHERE key = x'0102'")
    engine.sweep()
    assert engine.verify().ok
    damage(engine, "DELETE FROM index_1_3 WHERE id = 3")
    assert engine.verify().problems == ["things.by-text: item 3 has no entry"]


def disable_stream(engine: Engine) -> None:
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}})


def disable_expiry(engine: Engine) -> None:
    specification = {"AttributeName": "expires", "Enabled": False}
    engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": specification})


def drop_index(engine: Engine) -> None:
    change = {"Delete": {"IndexName": "by-kind"}}
    engine.call("UpdateTable", {"TableName": "things", "GlobalSecondaryIndexUpdates": [change]})


def delete_table(engine: Engine) -> None:
    engine.call("UpdateTable", {"TableName": "things", "DeletionProtectionEnabled": False})
    engine.call("DeleteTable", {"TableName": "things"})


@pytest.mark.parametrize("change", [disable_stream, disable_expiry, drop_index, delete_table])
def test_what_was_disabled_or_deleted_leaves_nothing_behind(engine: Engine, change: Callable[[Engine], None]) -> None:
    change(engine)
    engine.sweep()
    assert engine.verify().ok
    if change is not delete_table:
        put(engine, 1, text="after")
        assert engine.verify().ok


def create_plain(engine: Engine) -> None:
    engine.call("CreateTable", on_demand(TableName="plain"))
