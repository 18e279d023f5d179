"""Object stores: a folder, a bucket and memory do the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tablewright.model import attr
from tablewright.store import (
    BlobStore,
    FolderBlobStore,
    MemoryBlobStore,
    S3BlobStore,
    ServiceError,
    Store,
    blob_store_at,
    offloaded_sizes,
)
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.blob_requests import delete_blobs, get_blobs, put_blobs
from tablewright.store.blobs.blob_store import BlobEntry, created_at, new_name
from tests.clocks import Clock
from tests.store import endpoints
from tests.store.bench import Bench
from tests.store.large_value_design import Paper, long, papers, shelved
from tests.threads import run_threads

CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with endpoints.moto_url() as url:
        yield url


def bucket(endpoint: str, name: str, prefix: str = "") -> S3BlobStore:
    blobs = S3BlobStore(name, prefix, region="us-east-1", endpoint=endpoint, **CREDENTIALS)
    blobs._client.create_bucket(Bucket=name)
    return blobs


@pytest.fixture(params=["folder", "memory", "s3", "s3 with a prefix"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "folder":
        return FolderBlobStore(tmp_path / "deep" / "blobs")
    if request.param == "memory":
        return MemoryBlobStore()
    prefix = "/some/where/" if "prefix" in request.param else ""
    return bucket(request.getfixturevalue("s3_endpoint"), f"b{abs(hash(request.node.name))}", prefix)


def test_a_blob_is_what_was_put(blobs: BlobStore) -> None:
    name = new_name("Tickets", "Ticket", 1_763_000_000.5)
    assert (blobs.get(name), blobs.head(name, 5)) == (None, None)
    blobs.put(name, b"0123456789" * 1000)
    assert blobs.get(name) == b"0123456789" * 1000
    assert blobs.head(name, 5) == b"01234"
    assert blobs.head(name, 100_000) == b"0123456789" * 1000
    blobs.delete(name)
    blobs.delete(name)
    assert blobs.get(name) is None


def test_blobs_are_listed_page_by_page(blobs: BlobStore) -> None:
    names = [new_name("Tickets", "Ticket", 1.0 + number) for number in range(25)]
    others = [new_name("Tickets-2", "Ticket", 1.0), new_name("Tickets", "Ticket.2", 1.0)]
    for number, name in enumerate([*names, *others]):
        blobs.put(name, b"x" * number)
    listed: list[BlobEntry] = []
    while page := blobs.entries("Tickets/Ticket/", listed[-1].name if listed else None, 4):
        assert len(page) <= 4
        listed += page
    assert sorted(listed, key=lambda entry: entry.size) == [BlobEntry(name, size) for size, name in enumerate(names)]
    assert {entry.name for entry in blobs.entries("Tickets/", None, 100)} == {*names, others[1]}
    assert blobs.entries("None/", None, 100) == []


def test_steps_work_on_many_blobs(blobs: BlobStore) -> None:
    names = [new_name("Tickets", "Ticket", 1.0) for _ in range(40)]
    put_blobs(blobs, [(name, name.encode()) for name in names]).perform()
    missing = new_name("Tickets", "Ticket", 1.0)
    found = get_blobs(blobs, [*names, missing]).perform()["Blobs"]
    assert found == [*(name.encode() for name in names), None]
    delete_blobs(blobs, names).perform()
    assert blobs.entries("Tickets/", None, 10) == []


def test_a_name_tells_when_its_blob_was_made() -> None:
    assert created_at(new_name("Tickets", "Ticket", 1_763_000_000.25)) == 1_763_000_000.25


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "/etc/passwd",
        "../../../../etc/passwd",
        f"../Ticket/aa/0000000000001-{'a' * 32}",
        f"Tickets/../aa/0000000000001-{'a' * 32}",
        f"Tickets/Ticket/../0000000000001-{'a' * 32}",
        f"Tickets/Ticket/aa/0000000000001-{'a' * 32}/x",
        f"Tickets/Ticket/aa/0000000000001-{'a' * 32}\n",
    ],
)
def test_what_is_no_name_of_a_blob_is_refused(blobs: BlobStore, name: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: blobs.get(name),
        lambda: blobs.put(name, b""),
        lambda: blobs.delete(name),
    ]
    for call in calls:
        with pytest.raises(ServiceError, match="is not a blob name"):
            call()


def test_names_of_entities_stay_in_their_folder(tmp_path: Path) -> None:
    blobs = FolderBlobStore(tmp_path)
    for entity in ("..", ".", "a/b", "ü", "a b"):
        name = new_name("Tickets", entity, 1.0)
        blobs.put(name, b"x")
        assert blobs.get(name) == b"x"
    assert len([path for path in (tmp_path / "Tickets").rglob("*") if path.is_file()]) == 5


# -- the folder -----------------------------------------------------------------------------------------------------


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power failure before the rename leaves nothing under the name; what is under it has been synced before."""
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        events.append(f"sync {kind}")
        fsync(descriptor)

    def noted_replace(source: Any, target: Any) -> None:
        events.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    blobs = FolderBlobStore(tmp_path / "blobs")
    first = new_name("Tickets", "Ticket", 1.0)
    blobs.put(first, b"x")
    assert events == [*["sync folder"] * 4, "sync file", "rename", "sync folder"]
    assert stat.S_IMODE((tmp_path / "blobs" / first).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    blobs = FolderBlobStore(tmp_path / "file")
    name = new_name("Tickets", "Ticket", 1.0)
    with pytest.raises(ServiceError, match=r"cannot write .*file.*: (Not a directory|File exists)"):
        blobs.put(name, b"x")


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    blobs = FolderBlobStore(tmp_path)
    with pytest.raises(ServiceError, match="No space left on device"):
        blobs.put(new_name("Tickets", "Ticket", 1.0), b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_threads_make_folders_concurrency(tmp_path: Path) -> None:
    blobs = FolderBlobStore(tmp_path / "blobs")

    def work() -> None:
        for _ in range(20):
            blobs.put(new_name("Tickets", "Ticket", 1.0), b"x")

    run_threads(*[work] * 8)
    assert len(blobs.entries("Tickets/", None, 1000)) == 160


# -- S3 -------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SU15")
def test_large_values_are_kept_in_s3_by_configuration(
    embedded: Bench, clock: Clock, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    admin = bucket(s3_endpoint, "desk", "prod")
    assert isinstance(embedded.backend, EmbeddedBackend)
    store = Store.on(embedded.backend.engine, clock=clock, blobs="s3://desk/prod")
    store.ensure_tables(papers)
    text = long("s3", 700_000)
    paper = store.create(Paper(folder="f", paper_id="1", body=text))
    assert offloaded_sizes(paper) == {"body": len(text)}
    (entry,) = admin.entries("papers/", None, 10)
    assert entry.size > 700_000
    found = store.get(Paper.by_id(folder="f", paper_id="1"))
    assert found == paper
    store.update(paper, attr(Paper.body).set(long("new", 700_000)))
    store.delete(paper)
    # Two blobs, and a mark beside each.
    assert len(admin.entries("papers/", None, 10)) == 4
    clock.now += 86_400
    assert store.collect_orphans(papers, dry_run=False).removed.blobs == 2
    assert admin.entries("papers/", None, 10) == []


def test_a_refusal_by_s3_is_reported(s3_endpoint: str) -> None:
    blobs = S3BlobStore("no-such-bucket", region="us-east-1", endpoint=s3_endpoint, **CREDENTIALS)
    name = new_name("Tickets", "Ticket", 1.0)
    with pytest.raises(ServiceError, match=r"S3BlobStore\('no-such-bucket', ''\).*NoSuchBucket") as refused:
        blobs.put(name, b"x")
    assert refused.value.code == "BlobsUnavailable"


def test_an_endpoint_that_cannot_be_reached_is_tried_again() -> None:
    blobs = S3BlobStore("desk", region="us-east-1", endpoint="http://127.0.0.1:9", **CREDENTIALS)
    with pytest.raises(ServiceError) as refused:
        blobs.get(new_name("Tickets", "Ticket", 1.0))
    assert refused.value.code == "ConnectionError"


def test_a_busy_bucket_is_tried_again(embedded: Bench) -> None:
    class Busy(MemoryBlobStore):
        failures = 3

        def put(self, name: str, data: bytes) -> None:
            if self.failures:
                self.failures -= 1
                raise ServiceError("ThrottlingException", "slow down")
            super().put(name, data)

    shelf = shelved(embedded, Busy())
    shelf.store.put(Paper(folder="f", paper_id="1", body=long("a")))
    shelf.assert_tidy()


def test_a_blob_store_can_be_given_as_text(tmp_path: Path) -> None:
    folder = blob_store_at(str(tmp_path))
    assert isinstance(folder, FolderBlobStore)
    assert folder.folder == tmp_path
    assert repr(blob_store_at(tmp_path)) == f"FolderBlobStore({str(tmp_path)!r})"
    with pytest.raises(ValueError, match="S3 needs a bucket"):
        blob_store_at("s3://")


def test_a_store_on_an_endpoint_takes_a_place_for_blobs(tmp_path: Path) -> None:
    with Store.connect("us-east-1", "http://127.0.0.1:9", blobs=str(tmp_path), **CREDENTIALS) as store:
        assert repr(store.context.blobs) == f"FolderBlobStore({str(tmp_path)!r})"
    with Store.connect("us-east-1", "http://127.0.0.1:9", **CREDENTIALS) as store:
        assert store.context.blobs is None
