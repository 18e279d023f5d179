"""Blobs belong to one database: another one with tables of the same names leaves them alone."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, Keys, Large, Table
from tablewright.runtime.background.blob_ownership import BlobOwner, owns_blobs
from tablewright.runtime.background.orphan_collector import OrphanCollector
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import FolderBlobStore, Store
from tablewright.wire import serve_in_thread
from tests.runtime.commands import up
from tests.systems.harness import Clock

pytestmark = pytest.mark.requirement("SU15")
DAY = 86_400
LARGE = "x" * 3_000

drawings = Table("owned-drawings", "PK")


class Drawing(Entity, table=drawings):
    number: int
    body: Annotated[str, Large(2_000)] = ""

    keys = Keys(PK="{number}")


@contextmanager
def database(blobs: Path, clock: Clock) -> Iterator[Store]:
    """A database of its own, in memory, with its blobs in a folder."""
    with Store.open(clock=clock, blobs=FolderBlobStore(blobs)) as store:
        store.ensure_tables(internal_table, drawings)
        yield store


def blobs_in(folder: Path) -> list[str]:
    return sorted(each.name for each in (folder / "owned-drawings").rglob("*") if each.is_file())


def owner_in(folder: Path) -> list[str]:
    return [each.name.partition("-")[2] for each in (folder / "~owner").rglob("*") if each.is_file()]


def collected(store: Store) -> None:
    OrphanCollector("gallery", store, [drawings]).turn(lambda: False)


def test_another_database_deletes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    with database(tmp_path, clock) as first, database(tmp_path, clock) as second:
        assert owns_blobs(first, [drawings])
        kept, deleted = (first.create(Drawing(number=number, body=LARGE)) for number in (1, 2))
        assert not owns_blobs(second, [drawings])
        clock.advance(40 * DAY)
        with caplog.at_level(logging.ERROR):
            collected(second)
        assert caplog.messages == ["blobs are not collected: they seem to belong to another database"]
        assert len(blobs_in(tmp_path)) == 2
        first.delete(deleted)
        clock.advance(40 * DAY)
        collected(first)
        assert len(blobs_in(tmp_path)) == 1
        assert first.load(kept).body == LARGE


def test_a_place_without_an_owner_belongs_to_the_database_that_refers_to_it(tmp_path: Path) -> None:
    clock = Clock()
    with database(tmp_path, clock) as first, database(tmp_path, clock) as second:
        first.create(Drawing(number=1, body=LARGE))
        assert not owns_blobs(second, [drawings])
        assert owner_in(tmp_path) == []
        assert owns_blobs(first, [drawings])
        owner = first.get(BlobOwner.of_database())
        assert owner is not None
        assert owner_in(tmp_path) == [owner.id]
        assert owns_blobs(first, [drawings])
        assert not owns_blobs(second, [drawings])


def test_all_processes_of_a_database_own_its_blobs(tmp_path: Path) -> None:
    clock = Clock()
    with database(tmp_path, clock) as store:
        other = Store(store.backend, clock=clock, blobs=FolderBlobStore(tmp_path))
        assert owns_blobs(store, [drawings])
        assert owns_blobs(other, [drawings])
        # In a new place, such as a bucket in place of a folder, too.
        moved = Store(store.backend, clock=clock, blobs=FolderBlobStore(tmp_path / "moved"))
        assert owns_blobs(moved, [drawings])
        assert owner_in(tmp_path / "moved") == owner_in(tmp_path)[:1]


def test_a_place_in_which_its_owner_left_no_blob_is_taken_over(tmp_path: Path) -> None:
    clock = Clock()
    with database(tmp_path, clock) as gone:
        assert owns_blobs(gone, [drawings])
    with database(tmp_path, clock) as next_one:
        assert owns_blobs(next_one, [drawings])
        assert len(owner_in(tmp_path)) == 1
        next_one.create(Drawing(number=1, body=LARGE))
        with database(tmp_path, clock) as third:
            assert not owns_blobs(third, [drawings])


def test_of_two_databases_that_take_a_place_at_once_one_has_it(tmp_path: Path) -> None:
    clock = Clock()
    with ExitStack() as stack:
        stores = [stack.enter_context(database(tmp_path, clock)) for _ in range(2)]
        for store, number in zip(stores, "21", strict=True):
            store.create(BlobOwner(id=number * 32))
        # As if neither had seen the blob of the other.
        FolderBlobStore(tmp_path).put(f"~owner/Database/00/0000000000000-{'2' * 32}", b"")
        FolderBlobStore(tmp_path).put(f"~owner/Database/00/0000000000000-{'1' * 32}", b"")
        stores[1].create(Drawing(number=1, body=LARGE))
        assert [owns_blobs(store, [drawings]) for store in stores] == [False, True]


def test_one_process_at_a_time_makes_a_pass_and_the_next_one_is_not_at_once(tmp_path: Path) -> None:
    clock = Clock()
    with database(tmp_path, clock) as store:
        asked: list[int] = []

        def counting(*arguments: Any, **options: Any) -> Any:
            asked.append(1)
            # Another process looks for work meanwhile.
            if len(asked) == 1:
                collected(Store(store.backend, clock=clock, blobs=FolderBlobStore(tmp_path)))
            return collect(*arguments, **options)

        collect, store.collect_orphans = store.collect_orphans, counting  # type: ignore[method-assign]
        collected(store)
        assert asked == [1]
        clock.advance(6 * 3600)
        collected(store)
        assert asked == [1]
        clock.advance(18 * 3600)
        collected(store)
        assert asked == [1, 1]


def test_up_refuses_a_folder_with_the_blobs_of_another_database(tmp_path: Path) -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url, database(tmp_path / "blobs", Clock()) as other:
        assert owns_blobs(other, [drawings])
        FolderBlobStore(tmp_path / "blobs").put("TaskManagement/ATTACHMENT/00/1763000000000-" + "0" * 32, b"x")
        command = [
            sys.executable,
            "-m",
            "tablewright",
            "up",
            "--system",
            "tasks",
            "--port",
            "0",
            "--region",
            "us-east-1",
        ]
        refused = subprocess.run(
            [*command, "--endpoint", url, "--data", str(tmp_path)],
            env={**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert refused.returncode == 2, refused
        assert "belong to another database; give this one a folder of its own with --data" in refused.stderr


def test_a_start_does_not_depend_on_the_place_of_blobs(tmp_path: Path) -> None:
    """What cannot be known now, such as on a full disk, is asked again by the collection."""
    (tmp_path / "blobs").write_text("not a folder")
    with Engine.open() as engine, serve_in_thread(engine) as url:
        arguments = ["--endpoint", url, "--region", "us-east-1", "--system", "tasks", "--data", str(tmp_path)]
        with up(*arguments, cwd=tmp_path, AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b") as (_, address):
            assert httpx.get(f"{address}/readyz").status_code == 200
