"""Copies of a data folder with large values: every item of a copy has its blobs, or the copy says that it has not."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.engine.copies import snapshot
from tablewright.engine.copies.chunk_store import CHUNK_BYTES
from tablewright.engine.copies.copied_blobs import REFERENCES, BlobValue
from tablewright.engine.copies.copy_folder import CopyFolder, FolderCopy
from tablewright.engine.copies.folder_backup import restore
from tablewright.engine.storage.folder_lock import FolderLock
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store import FolderBlobStore, Store
from tablewright.store.blobs.blob_references import make_blob
from tablewright.store.blobs.blob_store import new_name
from tests.engine.storage.damage import flip
from tests.store.large_value_design import Paper, long, papers
from tests.threads import run_threads


def test_no_blob_is_deleted_while_a_copy_is_made(tmp_path: Path) -> None:
    blobs, name = FolderBlobStore(tmp_path), new_name("Papers", "Paper", 1.0)
    blobs.put(name, b"value")
    lock = FolderLock(tmp_path)
    blobs.delete(name)
    assert blobs.get(name) == b"value"
    lock.release()
    blobs.delete(name)
    assert blobs.get(name) is None


def body_in(engine: Engine) -> str:
    paper = Store.on(engine).get(Paper.by_id(folder="f", paper_id="1"))
    assert paper is not None
    return paper.body


def test_a_blob_that_is_replaced_right_behind_the_instant_is_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(tmp_path / "data") as engine:
        store = Store.on(engine)
        store.ensure_tables(papers)
        copy_log = snapshot._copy_log

        def then_replaced(source: Path, target: Path) -> None:
            copy_log(source, target)
            store.put(Paper(folder="f", paper_id="1", body=long("b")))

        monkeypatch.setattr(snapshot, "_copy_log", then_replaced)
        store.put(Paper(folder="f", paper_id="1", body=long("a")))
        engine.copy_to(tmp_path / "copies")
        assert body_in(engine) == long("b")
        # The blob of before is an orphan now.
        orphans = store.collect_orphans(papers, dry_run=False, grace=timedelta(0))
        assert orphans.removed.blobs == 1
    Engine.restore_copy(tmp_path / "copies", tmp_path / "restored")
    with Engine.open(tmp_path / "restored") as engine:
        assert body_in(engine) == long("a")


def test_every_item_of_a_copy_has_its_blobs(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data") as engine:
        store = Store.on(engine)
        store.ensure_tables(papers)
        copied = threading.Event()

        def write(paper_id: str) -> None:
            version = 0
            while not copied.is_set():
                version += 1
                store.put(Paper(folder="f", paper_id=paper_id, body=long(f"{paper_id} {version} ")))

        def copy() -> None:
            try:
                for _ in range(5):
                    engine.copy_to(tmp_path / "copies")
            finally:
                copied.set()

        run_threads(copy, lambda: write("1"), lambda: write("2"))
    copies = CopyFolder(tmp_path / "copies")
    seen = 0
    for number, name in enumerate(copies.names()):
        folder = tmp_path / f"restored-{number}"
        restore(copies, copies.read(name), folder)
        with Engine.open(folder) as engine:
            for paper in Store.on(engine).query(Paper.in_folder(folder="f")).items:
                assert paper.body.startswith(f"{paper.paper_id} ")
                seen += 1
    assert seen >= 2


# -- damaged and missing blobs --------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A closed data folder with three large values."""
    with Store.open(tmp_path / "data") as store:
        store.ensure_tables(papers)
        for number in range(2):
            store.put(Paper(folder="f", paper_id=str(number), body=long("b", 50_000)))
        store.put(Paper(folder="f", paper_id="binary", scan=b"s" * 5000))
        store.put(Paper(folder="f", paper_id="small", body="inside"))
    return tmp_path / "data"


def blobs_of(data: Path) -> list[Path]:
    return sorted(path for path in (data / "blobs").rglob("*-*") if path.is_file())


def copied(data: Path, to: Path, keep: int | None = None) -> FolderCopy:
    with Engine.open(data) as engine:
        return engine.copy_to(to, keep=keep)


def cut(blob: Path) -> None:
    blob.write_bytes(blob.read_bytes()[:-1])


def emptied(blob: Path) -> None:
    blob.write_bytes(b"")


def longer(blob: Path) -> None:
    blob.write_bytes(blob.read_bytes() + b"-")


def without_header(blob: Path) -> None:
    blob.write_bytes(b"x" * (blob.stat().st_size + 1))


@pytest.mark.parametrize("damage", [cut, emptied, longer, without_header, Path.unlink])
def test_copies_with_a_damaged_or_missing_blob_do_not_replace_intact_ones(
    data: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    copies = CopyFolder(tmp_path / "copies")
    intact = copied(data, copies.folder, keep=1)
    assert intact.problems == []
    blob = blobs_of(data)[1]
    content = blob.read_bytes()
    damage(blob)
    state = "missing" if damage is Path.unlink else "damaged"
    for _ in range(2):
        (problem,) = copied(data, copies.folder, keep=1).problems
        assert problem.startswith('table papers, item {"PK":')
        assert problem.endswith(
            f"the blob {blob.relative_to(data / 'blobs')} is {state}; "
            "restore it from an earlier copy, or write the value again"
        )
    assert copies.names()[0] == intact.name
    Engine.restore_copy(copies.folder, tmp_path / "restored", at=intact.taken_at)
    assert (tmp_path / "restored" / blob.relative_to(data)).read_bytes() == content
    blob.write_bytes(content)
    assert copied(data, copies.folder, keep=1).problems == []
    assert len(copies.names()) == 1


def test_a_blob_damaged_before_the_first_copy_is_told_of_by_each(data: Path, tmp_path: Path) -> None:
    """Also when its chunks are those of the copy before."""
    flip(blobs_of(data)[0], 600)
    for _ in range(2):
        (problem,) = copied(data, tmp_path / "copies").problems
        assert "is damaged" in problem


def test_a_blob_that_a_backup_refers_to_is_checked(data: Path, tmp_path: Path) -> None:
    with Engine.open(data) as engine:
        engine.call("CreateBackup", {"TableName": "papers", "BackupName": "backup"})
        for paper_id in ("0", "1", "binary"):
            Store.on(engine).delete(Paper.by_id(folder="f", paper_id=paper_id))
    assert copied(data, tmp_path / "copies").problems == []
    cut(blobs_of(data)[0])
    (problem,) = copied(data, tmp_path / "copies").problems
    assert problem.startswith("backup arn:")


def test_orphans_and_other_files_are_no_problem(data: Path, tmp_path: Path) -> None:
    (data / "blobs" / "papers" / "Paper" / "notes").write_bytes(b"TBWL")
    with Engine.open(data) as engine:
        Store.on(engine).put(Paper(folder="f", paper_id="0", body="inside"))
    for _ in range(2):
        assert copied(data, tmp_path / "copies").problems == []


def test_blobs_that_are_kept_elsewhere_are_not_missed(tmp_path: Path) -> None:
    (tmp_path / "data" / "blobs").mkdir(parents=True)
    with Store.open(tmp_path / "data", blobs=str(tmp_path / "elsewhere")) as store:
        store.ensure_tables(papers)
        store.put(Paper(folder="f", paper_id="1", body=long("b")))
    for _ in range(2):
        assert copied(tmp_path / "data", tmp_path / "copies").problems == []


def test_blobs_that_are_lost_altogether_are_missed_by_every_copy(data: Path, tmp_path: Path) -> None:
    intact = copied(data, tmp_path / "copies")
    shutil.rmtree(data / "blobs")
    for _ in range(3):
        problems = copied(data, tmp_path / "copies", keep=1).problems
        assert [problem.partition(";")[0].endswith("is missing") for problem in problems] == [True] * 3
    assert CopyFolder(tmp_path / "copies").names()[0] == intact.name


def test_an_attribute_with_anything_but_references_is_no_damage(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data") as engine:
        Store.on(engine).ensure_tables(papers)
        key = {"PK": {"S": "p"}, "SK": {"S": "s"}}
        good = {"blob": {"S": "b"}, "size": {"N": "1"}, "sha256": {"S": "00"}}
        values: list[dict[str, Any]] = [{"S": "text"}, {"M": {"body": {"S": "text"}}}, {"M": {"body": {"M": {}}}}]
        values += [{"M": {"body": {"M": {**good, name: {"S": "no"}}}}} for name in ("size", "sha256")]
        for number, value in enumerate(values):
            item = {**key, "SK": {"S": str(number)}, BLOB_REFERENCES: value}
            engine.call("PutItem", {"TableName": "papers", "Item": item})
        assert engine.copy_to(tmp_path / "copies").problems == []


def test_the_engine_and_the_store_mean_the_same_by_a_reference() -> None:
    assert REFERENCES == BLOB_REFERENCES
    key: Item = {"PK": {"S": "k" * 60_000}}
    for value in ({"S": ""}, {"S": "ä" * 40_000}, {"B": "AAEC"}):
        blob = make_blob("name", "papers", key, "body", value)
        for step in (8, 9, CHUNK_BYTES):
            read = BlobValue()
            for begin in range(0, len(blob.data), step):
                read.add(blob.data[begin : begin + step])
            assert read.digest == (blob.reference.size, bytes.fromhex(blob.reference.sha256))
