"""Large values come along with their items: compared when read, durable before the item, and verified at the end."""

from __future__ import annotations

import asyncio
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.store import BlobEntry, FolderBlobStore, MemoryBlobStore, Store
from tablewright.transfer import BlobCopies, CopyOptions, TableCopy, TransferError, copy_tables, open_places
from tablewright.wire import serve_in_thread
from tests.store.large_value_design import Paper, long, papers
from tests.transfer.copy_commands import ENVIRONMENT, command, killed

pytestmark = pytest.mark.requirement("SH5")

PAPERS = 12


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(place: str = "source", number: int = PAPERS, size: int = 1) -> list[Paper]:
    """Papers with a text, with a text and a picture, and with nothing that is large."""
    made = [
        Paper(
            folder="f",
            paper_id=f"{each:04}",
            body=long(f"body {each} ") * size if each % 3 else "short",
            scan=bytes([each % 256]) * 5_000 if each % 2 else None,
        )
        for each in range(number)
    ]
    with Store.open(place) as store:
        store.ensure_tables(papers)
        for paper in made:
            store.put(paper)
    return made


@contextmanager
def opened(place: str, name: str = "papers") -> Iterator[Store]:
    with Store.open(place, table_names={"papers": name}) as store:
        yield store


def contents(store: Store) -> dict[str, tuple[str, bytes | None]]:
    return {each.paper_id: (each.body, each.scan) for each in store.iterate(Paper.in_folder("f"))}


def expected(made: list[Paper]) -> dict[str, tuple[str, bytes | None]]:
    return {each.paper_id: (each.body, each.scan) for each in made}


def copied(source: str, target: str, blobs: BlobCopies | None, **options: Any) -> TableCopy:
    with open_places(source, target) as (first, second):
        asked = CopyOptions(state=Path("state.json"), **options)
        (done,) = asyncio.run(copy_tables(first, second, asked, blobs=blobs))
    return done


def between(source: str = "source", target: str = "target") -> BlobCopies:
    found = BlobCopies.between(source, target, None, None)
    assert found is not None
    return found


class Faulty(MemoryBlobStore):
    """A blob store that fails, or loses what it is given, from some put on."""

    def __init__(self, fails_at: int | None = None, loses_at: int | None = None) -> None:
        super().__init__()
        self.puts = 0
        self.fails_at, self.loses_at = fails_at, loses_at

    def put(self, name: str, data: bytes) -> None:
        self.puts += 1
        if self.puts == self.fails_at:
            raise OSError("pulled out")
        if self.puts != self.loses_at:
            super().put(name, data)


def test_large_values_are_in_the_target_and_belong_to_its_table() -> None:
    made = written()
    done = copied("source", "target", between(), renamed={"papers": "Archive"})
    assert (done.ok, done.verified, done.with_blobs, done.has_blobs) == (True, True, 10, True)
    with opened("target", "Archive") as store:
        assert contents(store) == expected(made)
        # A store takes them for its own: nothing to repair, nothing that nobody refers to.
        assert store.verify(papers).is_clean
        report = store.collect_orphans(papers, dry_run=True)
        assert (report.orphans.blobs, report.unreadable) == (0, 0)
        assert report.total.blobs == len(names("target", "Archive"))
    assert names("target", "papers") == []
    assert sorted(name.partition("/")[2] for name in names("target", "Archive")) == sorted(
        name.partition("/")[2] for name in names("source", "papers")
    )


def names(place: str, table: str) -> list[str]:
    entries: list[BlobEntry] = FolderBlobStore(Path(place) / "blobs").entries(f"{table}/", None, 10_000)
    return [entry.name for entry in entries]


def test_they_go_from_an_endpoint_to_a_folder_when_its_blob_store_is_named() -> None:
    made = written()
    with Engine.open("source") as engine, serve_in_thread(engine) as endpoint:
        assert BlobCopies.between(endpoint, "target", None, None) is None
        done = copied(endpoint, "target", BlobCopies.between(endpoint, "target", "source/blobs", None))
    assert done.ok
    with opened("target") as store:
        assert contents(store) == expected(made)


def test_into_a_table_that_has_items_only_what_was_copied_is_compared() -> None:
    made = written()
    other = Paper(folder="f", paper_id="other", body=long("other"))
    with opened("target") as store:
        store.ensure_tables(papers)
        store.put(other)
    (lost,) = names("target", "papers")
    (Path("target/blobs") / lost).unlink()
    assert copied("source", "target", between(), into_existing=True, with_stream=True).ok
    with opened("target") as store:
        store.delete(Paper.by_id("f", "other"))
        assert contents(store) == expected(made)


@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_a_value_that_the_source_has_lost_stops_the_copy_which_goes_on_when_it_is_back(damage: str) -> None:
    made = written()
    path = Path("source/blobs") / names("source", "papers")[3]
    whole = path.read_bytes()
    if damage == "lost":
        path.unlink()
    else:
        path.write_bytes(whole[:-1])
    reason = "is missing from the source's blob store" if damage == "lost" else "is damaged"
    with pytest.raises(TransferError, match=f'"PAPER#.*{reason}'):
        copied("source", "target", between())
    path.write_bytes(whole)
    assert copied("source", "target", between()).ok
    with opened("target") as store:
        assert contents(store) == expected(made)


def test_a_value_that_the_target_has_lost_is_a_difference() -> None:
    written()
    faulty = Faulty(loses_at=4)
    done = copied("source", "target", BlobCopies(FolderBlobStore("source/blobs"), faulty))
    assert [str(each) for each in done.differences] == [
        f"{done.differences[0].key} has a large value that is missing or damaged in the target's blob store"
    ]
    assert not done.ok
    # The same copy once more brings it.
    assert copied("source", "target", BlobCopies(FolderBlobStore("source/blobs"), faulty)).ok


@pytest.mark.parametrize("fails_at", [1, 5, 9])
def test_no_item_is_written_before_its_values_wherever_a_copy_stops(fails_at: int) -> None:
    made = written()
    faulty = Faulty(fails_at=fails_at)
    with pytest.raises(TransferError, match="pulled out"):
        copied("source", "target", BlobCopies(FolderBlobStore("source/blobs"), faulty), segments=1)
    with Store.open("target", blobs=faulty) as store:
        for paper in contents(store):
            assert paper in expected(made)
    assert copied("source", "target", BlobCopies(FolderBlobStore("source/blobs"), faulty), segments=1).ok
    with Store.open("target", blobs=faulty) as store:
        assert contents(store) == expected(made)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("kills", "number"), [(2, 300), pytest.param(12, 1500, marks=pytest.mark.slow)])
def test_a_copy_of_large_values_that_is_killed_is_finished_by_the_same_command(
    tmp_path: Path, kills: int, number: int
) -> None:
    made = written(number=number)
    choices = random.Random(7)
    arguments = command("source", "target", "--state", "state.json", "--segments", "2")
    for _ in range(kills):
        if not killed([*arguments, "--write-rate", "300"], tmp_path, choices.uniform(0.1, 0.8)):
            break
    if (tmp_path / "state.json").exists() or not (tmp_path / "target").exists():
        done = subprocess.run(arguments, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "verified\n  with the large values of" in done.stdout
    with opened("target") as store:
        assert contents(store) == expected(made)
        assert store.collect_orphans(papers, dry_run=True).orphans.blobs == 0
