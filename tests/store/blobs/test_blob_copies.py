"""Copies of a data folder while large values are replaced: every item of a copy has its blobs."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.copies import snapshot
from tablewright.engine.copies.copy_folder import CopyFolder
from tablewright.engine.copies.folder_backup import restore
from tablewright.engine.storage.folder_lock import FolderLock
from tablewright.store import FolderBlobStore, Store
from tablewright.store.blobs.blob_store import new_name
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
