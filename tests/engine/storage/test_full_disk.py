"""A full disk refuses the write, keeps the rest, and is written to again once it has room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tests.engine.storage.disk import create, keys, put, putting


def fill_disk(engine: Engine) -> None:
    (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
    engine._storage.execute(f"PRAGMA max_page_count = {pages + 2}")


def free_disk(engine: Engine) -> None:
    engine._storage.execute("PRAGMA max_page_count = 1000000")


def test_a_full_disk_refuses_the_write_and_keeps_the_rest(engine: Engine) -> None:
    fill_disk(engine)
    with pytest.raises(InternalServerError, match="full") as refused:
        put(engine, "large", 100_000)
    assert refused.value.status == 500
    assert keys(engine) == {"before"}
    assert engine.verify().ok


def test_the_engine_writes_again_once_the_disk_has_room(engine: Engine) -> None:
    fill_disk(engine)
    for attempt in range(3):
        with pytest.raises(InternalServerError):
            put(engine, f"large {attempt}", 100_000)
    free_disk(engine)
    put(engine, "large", 100_000)
    assert keys(engine) == {"before", "large"}
    assert engine.verify().ok


def test_a_full_disk_leaves_nothing_of_a_transaction(engine: Engine) -> None:
    create(engine, "others")
    fill_disk(engine)
    with pytest.raises(InternalServerError):
        engine.call(
            "TransactWriteItems",
            {"TransactItems": [{"Put": putting("small")}, {"Put": putting("large", 100_000, "others")}]},
        )
    assert keys(engine) == {"before"}
    assert keys(engine, "others") == set()
    assert engine.verify().ok


def test_a_full_disk_refuses_a_table(engine: Engine) -> None:
    (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
    engine._storage.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InternalServerError):
        create(engine, "others")
    assert engine.call("ListTables", {})["TableNames"] == ["things"]
    free_disk(engine)
    create(engine, "others")
    put(engine, "one", table="others")
    assert engine.verify().ok


def test_what_a_full_disk_refused_is_not_there_after_opening_again(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        put(engine, "before")
        fill_disk(engine)
        with pytest.raises(InternalServerError):
            put(engine, "large", 100_000)
    with Engine.open(tmp_path) as engine:
        assert keys(engine) == {"before"}
        assert engine.verify().ok
