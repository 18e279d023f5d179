"""Blobs are compared with what items say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.store import Store, check_blobs
from tests.engine.storage.damage import flip
from tests.store.large_value_design import Paper, long, papers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path) as store:
        store.ensure_tables(papers)
        for number in range(3):
            store.put(Paper(folder="f", paper_id=str(number), body=long("b"), scan=b"s" * 5000))
        store.put(Paper(folder="f", paper_id="small", body="inside"))
    return tmp_path


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "blobs").rglob("*") if path.is_file())


def test_whole_blobs_have_no_problems(folder: Path) -> None:
    read: list[int] = []
    with Engine.open(folder) as engine:
        check = check_blobs(engine, on_read=read.append)
    assert (check.blobs, check.problems, check.missing) == (6, [], {})
    assert sum(read) == sum(path.stat().st_size for path in files(folder))


def test_damaged_and_missing_blobs_are_reported(folder: Path) -> None:
    damaged, cut, gone, *_ = files(folder)
    flip(damaged, 600)
    cut.write_bytes(cut.read_bytes()[:-1])
    gone.unlink()
    with Engine.open(folder) as engine:
        check = check_blobs(engine)
        (name,) = check.missing
        assert name.endswith(gone.name)
        assert check_blobs(engine, only={name}).missing == check.missing
        assert check_blobs(engine, only=set()).missing == {}
    assert check.blobs == 5
    assert all('table papers, item {"PK":' in problem and "is damaged" in problem for problem in check.problems)
    assert len(check.problems) == 2
