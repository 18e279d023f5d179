"""A full disk refuses the write, keeps the rest, and is written to again once it has room."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tests.engine.storage.disk import create, fill_disk, free_disk, keys, put, putting


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


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def killed(engine: Engine, folder: Path, *, torn: int = 0) -> None:
    """Make a folder as a killed process would leave it; ``torn`` bytes of its last write are missing."""
    assert engine.folder is not None
    shutil.copytree(engine.folder, folder)
    if torn:
        (folder / "tablewright.end").unlink()
        log = folder / "tablewright.db-wal"
        os.truncate(log, log.stat().st_size - torn)


def test_a_folder_with_a_torn_log_is_opened_on_a_full_disk(engine: Engine, tmp_path: Path) -> None:
    put(engine, "torn", 100_000)
    folder = tmp_path / "killed"
    killed(engine, folder, torn=20_000)
    before = (folder / "tablewright.db-wal").stat().st_size
    with no_file_grows_beyond((folder / "tablewright.db").stat().st_size):
        opened = Engine.open(folder)
        assert keys(opened) == {"before"}
        # What was torn gives its room back.
        assert (folder / "tablewright.db-wal").stat().st_size < before
    put(opened, "small")
    opened.close()
    with Engine.open(folder) as again:
        assert keys(again) == {"before", "small"}
        assert again.verify().ok


def test_a_folder_is_opened_although_there_is_no_room_to_mark_the_end_of_its_log(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(engine, tmp_path / "killed")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with Engine.open(tmp_path / "killed") as opened:
        assert keys(opened) == {"before"}
