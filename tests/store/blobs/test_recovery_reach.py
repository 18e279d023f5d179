"""What a restore may need of the blobs of a table is kept as long as it can be restored, and no longer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.model import attr
from tablewright.store import (
    BlobLost,
    BlobStore,
    BlobUsage,
    FolderBlobStore,
    MemoryBlobStore,
    OrphanReport,
    Remedy,
    S3BlobStore,
    ServiceError,
    Store,
)
from tablewright.store.blobs.blob_store import marked_blob, orphan_mark
from tablewright.store.blobs.recovery_reach import RecoveryReach
from tablewright.store.flow.driver import Request, Response
from tests.clocks import Clock
from tests.store import endpoints
from tests.store.large_value_design import BY_ID, A, B, C, Paper, paper, papers
from tests.systems.dying_backend import Died, Mortal

DAY = 86_400.0


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    with endpoints.moto_url() as url:
        yield url


@pytest.fixture(params=["folder", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "folder":
        return FolderBlobStore(tmp_path / "blobs")
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    endpoint = request.getfixturevalue("s3_endpoint")
    found = S3BlobStore(f"b{abs(hash(request.node.name))}", region="us-east-1", endpoint=endpoint, **keys)
    found._client.create_bucket(Bucket=found.bucket)
    return found


class Archive:
    """A table with blobs, that is restored now and then."""

    def __init__(self, engine: Engine, clock: Clock, blobs: BlobStore) -> None:
        self.engine, self.clock, self.blobs = engine, clock, blobs
        self.store = self.opened()
        self.store.ensure_tables(papers)

    def opened(self, name: str = "papers", backend: Any = None) -> Store:
        """A store of the table, or of one that it was restored to."""
        options: Any = {"clock": self.clock, "table_names": {"papers": name}, "entropy": random.Random(1)}
        if backend is not None:
            return Store(backend, blobs=self.blobs, **options)
        return Store.on(self.engine, blobs=self.blobs, **options)

    def recover(self, enabled: bool = True, days: int = 35) -> None:
        spec = {"PointInTimeRecoveryEnabled": enabled, **({"RecoveryPeriodInDays": days} if enabled else {})}
        request = {"TableName": "papers", "PointInTimeRecoverySpecification": spec}
        self.engine.call("UpdateContinuousBackups", request)

    def restored_to(self, time: float, name: str = "restored") -> Store:
        request = {"SourceTableName": "papers", "TargetTableName": name, "RestoreDateTime": time}
        self.engine.call("RestoreTableToPointInTime", request)
        self.engine.sweep()
        return self.opened(name)

    def backup(self) -> str:
        arn = self.engine.call("CreateBackup", {"TableName": "papers", "BackupName": "one"})
        return str(arn["BackupDetails"]["BackupArn"])

    def restored_from(self, arn: str, name: str = "restored") -> Store:
        self.engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": name})
        self.engine.sweep()
        return self.opened(name)

    def collect(self, **options: Any) -> OrphanReport:
        return self.store.collect_orphans(papers, dry_run=False, **options)

    def entries(self) -> set[str]:
        return {entry.name for entry in self.blobs.entries("papers/", None, 1000)}

    def names(self) -> set[str]:
        return {name for name in self.entries() if marked_blob(name) is None}


@pytest.fixture
def archive(engine: Engine, clock: Clock, blobs: BlobStore) -> Archive:
    return Archive(engine, clock, blobs)


@pytest.fixture
def folder_archive(engine: Engine, clock: Clock, tmp_path: Path) -> Archive:
    return Archive(engine, clock, FolderBlobStore(tmp_path / "blobs"))


def body(store: Store, **key: str) -> str | None:
    found = store.get(Paper.by_id(**{"folder": "f", "paper_id": "1", **key}), consistent=True)
    return None if found is None else found.body


@pytest.mark.requirement("SU15")
def test_what_a_point_in_time_refers_to_is_kept_for_as_long_as_recovery_reaches(archive: Archive) -> None:
    archive.recover()
    archive.clock.now += 10
    archive.store.put(paper(body=A))
    archive.clock.now += 10
    then = archive.clock()
    archive.clock.now += 10
    archive.store.put(paper(body=B))
    archive.store.put(paper(paper_id="2", body=C))
    archive.store.delete(Paper.by_id(folder="f", paper_id="2"))
    for day in range(34):
        archive.clock.now += DAY
        report = archive.collect()
        assert (report.orphans.blobs, report.kept.blobs, report.removed) == (2, 2, BlobUsage()), day
    restored = archive.restored_to(then)
    assert (body(restored), body(restored, paper_id="2")) == (A, None)
    assert body(archive.store) == B
    archive.clock.now += 2 * DAY
    # The restored table refers to it still, so that it takes a copy of its own first.
    assert restored.repair(Paper, dry_run=False).progress.repaired == 1
    assert archive.collect().removed.blobs == 2
    assert (body(archive.store), body(restored)) == (B, A)
    assert len(archive.entries()) == 1


@pytest.mark.requirement("SU15")
def test_a_shorter_period_is_a_shorter_time(folder_archive: Archive) -> None:
    archive = folder_archive
    archive.recover(days=3)
    archive.store.put(paper(body=A))
    archive.store.put(paper(body=B))
    archive.clock.now += 2 * DAY
    assert archive.collect().removed.blobs == 0
    archive.clock.now += 2 * DAY
    assert archive.collect().removed.blobs == 1
    archive.store.put(paper(body=C))
    archive.clock.now += 2 * DAY
    archive.recover(enabled=False)
    # Nothing can be restored any more.
    assert archive.collect().removed.blobs == 1


@pytest.mark.requirement("SU15")
def test_what_a_backup_refers_to_is_kept_for_as_long_as_there_is_the_backup(archive: Archive) -> None:
    archive.store.put(paper(body=A))
    archive.clock.now += 60
    arn = archive.backup()
    archive.clock.now += 60
    archive.store.put(paper(body=B))
    archive.clock.now += 60
    archive.store.put(paper(body=C))
    for _ in range(3):
        archive.clock.now += 100 * DAY
        report = archive.collect(grace=timedelta(seconds=1))
        # What came after the backup and is gone since, no restore can need.
        assert (report.kept.blobs, len(archive.names())) == (1, 2)
    assert body(archive.restored_from(arn)) == A
    archive.engine.call("DeleteTable", {"TableName": "restored"})
    archive.engine.call("DeleteBackup", {"BackupArn": arn})
    assert archive.collect().removed.blobs == 1
    assert len(archive.entries()) == 1


@pytest.mark.requirement("SU15")
def test_what_expired_is_kept_from_when_it_is_found(folder_archive: Archive) -> None:
    archive = folder_archive
    archive.recover()
    soon = datetime.fromtimestamp(archive.clock() + 60, UTC)
    archive.store.put(paper(body=A, ttl=soon))
    archive.clock.now += 40 * DAY
    archive.engine.sweep()
    assert archive.store.collect_orphans(papers).kept.blobs == 1
    assert archive.entries() == archive.names(), "a dry run marks nothing"
    assert archive.collect().kept.blobs == 1
    archive.clock.now += 34 * DAY
    assert archive.collect().kept.blobs == 1
    archive.clock.now += 2 * DAY
    assert archive.collect().removed.blobs == 1
    assert archive.entries() == set()


@pytest.mark.requirement("SU15")
def test_a_table_that_is_restored_in_its_place_has_its_blobs_again(folder_archive: Archive) -> None:
    archive = folder_archive
    archive.store.put(paper(body=A))
    arn = archive.backup()
    archive.store.put(paper(body=B))
    (marked,) = (name for name in archive.entries() if marked_blob(name) is not None)
    archive.engine.call("DeleteTable", {"TableName": "papers"})
    restored = archive.restored_from(arn, "papers")
    archive.clock.now += 2 * DAY
    archive.collect()
    assert marked not in archive.entries(), "it is no orphan any more"
    archive.engine.call("DeleteBackup", {"BackupArn": arn})
    archive.clock.now += 2 * DAY
    archive.collect()
    assert (body(restored), len(archive.names())) == (A, 1)


@pytest.mark.requirement("SU15")
def test_a_restored_table_takes_copies_of_the_other_ones_blobs(archive: Archive) -> None:
    """Whatever becomes of those; by a repair, or with the next write."""
    for number in ("1", "2"):
        archive.store.put(paper(paper_id=number, body=A))
    arn = archive.backup()
    restored = archive.restored_from(arn)
    report = restored.verify(Paper)
    assert str(report.findings[0]).startswith(
        "Paper folder f, paper_id 1: blob of a large value body: restored/... expected, papers/Paper/"
    )
    restored.update(Paper.by_id(folder="f", paper_id="2"), attr(Paper.body).set(B))
    found = restored.repair(Paper, dry_run=False)
    assert [finding.remedy for finding in found.findings] == [Remedy.REPAIRED]
    assert restored.verify(Paper).is_clean
    # What the other table has is its own business.
    assert archive.entries() == archive.names()
    archive.engine.call("DeleteBackup", {"BackupArn": arn})
    for number in ("1", "2"):
        archive.store.delete(Paper.by_id(folder="f", paper_id=number))
    archive.clock.now += 2 * DAY
    assert archive.collect().removed.blobs == 2
    assert (body(restored), body(restored, paper_id="2")) == (A, B)


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_verify_finds_blobs_that_are_missing_or_damaged(folder_archive: Archive, fault: str) -> None:
    archive = folder_archive
    for number in ("1", "2"):
        archive.store.put(paper(paper_id=number, body=A))
    name = next(iter(archive.names()))
    if fault == "missing":
        archive.blobs.delete(name)
    else:
        data = archive.blobs.get(name)
        assert data is not None
        archive.blobs.put(name, data[:-1] + b"?")
    report = archive.store.verify(papers)
    assert [(finding.subject, finding.expected) for finding in report.findings] == [("body", name)]
    assert len(archive.store.repair(papers, dry_run=False).findings) == 1
    with pytest.raises(BlobLost):
        list(archive.store.iterate(Paper))


# -- crashes and races -------------------------------------------------------------------------------------------------


class MortalBlobs(MemoryBlobStore):
    """A blob store whose process dies at one of its calls, before it takes effect or after."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.last, self.after = 0, -1, False

    def _pass(self, method: str, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls - 1 == self.last:
            if self.after:
                getattr(super(), method)(*arguments)
            raise Died
        return getattr(super(), method)(*arguments)

    def put(self, name: str, data: bytes) -> None:
        self._pass("put", name, data)

    def delete(self, name: str) -> None:
        self._pass("delete", name)


@pytest.mark.requirement("SU15")
def test_a_collection_that_dies_anywhere_loses_nothing_and_is_finished_by_the_next() -> None:
    def run(last: int, after: bool) -> int:
        clock, blobs = Clock(), MortalBlobs()
        with Engine.open(clock=clock) as engine:
            archive = Archive(engine, clock, blobs)
            archive.recover(days=3)
            for number in ("1", "2"):
                archive.store.put(paper(paper_id=number, body=A))
                archive.store.put(paper(paper_id=number, body=B))
            soon = datetime.fromtimestamp(clock() + 60, UTC)
            archive.store.put(paper(paper_id="3", body=A, ttl=soon))
            clock.now += 2 * DAY
            engine.sweep()
            then = clock()
            blobs.calls, blobs.last, blobs.after = 0, last, after
            for _ in range(2):
                # The first marks, the second deletes.
                try:
                    archive.collect()
                except Died:
                    blobs.last = -1
                    archive.collect()
                clock.now += 1.5 * DAY
                engine.sweep()
            calls = blobs.calls
            blobs.last = -1
            assert body(archive.restored_to(then, "then")) == B
            clock.now += 4 * DAY
            archive.collect()
            assert (body(archive.store), body(archive.store, paper_id="2")) == (B, B)
            assert len(archive.entries()) == 2
            return calls

    for last in range(run(-1, False)):
        for after in (False, True):
            run(last, after)


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_dies_before_it_marks_leaves_that_to_the_collection(folder_archive: Archive, after: bool) -> None:
    archive = folder_archive
    archive.recover()
    archive.store.put(paper(body=A))
    mortal = Mortal(archive.store.backend, None)
    dying = archive.opened(backend=mortal)
    dying.put(paper(body=B))
    requests = len(mortal.requests)
    for last in range(requests):
        mortal.live_for(last, after=after)
        with pytest.raises(Died):
            dying.put(paper(body=f"{last}{after}" + C))
        mortal.live_for(None)
    archive.clock.now += 2 * DAY
    archive.collect()
    archive.clock.now += 36 * DAY
    archive.collect()
    assert len(archive.entries()) == 1
    assert body(archive.store) in {B, *(f"{last}{after}" + C for last in range(requests))}


class Beside:
    """A backend beside which something happens before one of the requests is answered."""

    def __init__(self, backend: Any, operation: str, happen: Any) -> None:
        self._backend, self._operation, self._happen = backend, operation, happen

    def call(self, request: Request) -> Response:
        if request.operation == self._operation:
            self._operation, happen = "", self._happen
            happen()
        response: Response = self._backend.call(request)
        return response

    async def call_async(self, request: Request) -> Response:
        raise NotImplementedError

    def close(self) -> None:
        self._backend.close()


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("operation", ["BatchGetItem", "DescribeContinuousBackups", "ListBackups"])
@pytest.mark.parametrize("what", ["backup", "recovery", "replaced"])
def test_what_happens_beside_a_collection_loses_nothing(folder_archive: Archive, operation: str, what: str) -> None:
    archive = folder_archive
    archive.store.put(paper(body=A))
    archive.store.put(paper(paper_id="2", body=A))
    archive.store.delete(Paper.by_id(folder="f", paper_id="2"))
    archive.clock.now += 2 * DAY
    arns: list[str] = []

    def happen() -> None:
        if what == "backup":
            arns.append(archive.backup())
        elif what == "recovery":
            archive.recover()
        archive.clock.now += 1
        if what != "recovery":
            archive.store.put(paper(body=B))

    collecting = archive.opened(backend=Beside(archive.store.backend, operation, happen))
    collecting.collect_orphans(papers, dry_run=False)
    assert body(archive.store) == (A if what == "recovery" else B)
    if what == "backup":
        assert body(archive.restored_from(arns[0])) == A


@pytest.mark.requirement("SU15")
def test_where_the_service_says_nothing_of_recovery_nothing_is_deleted(folder_archive: Archive) -> None:
    """Unless it knows nothing of backups at all."""

    class Refusing:
        def __init__(self, backend: Any, code: str) -> None:
            self._backend, self._code = backend, code

        def call(self, request: Request) -> Response:
            if request.operation in ("DescribeContinuousBackups", "ListBackups"):
                raise ServiceError(self._code, "no")
            response: Response = self._backend.call(request)
            return response

        async def call_async(self, request: Request) -> Response:
            raise NotImplementedError

        def close(self) -> None:
            self._backend.close()

    archive = folder_archive
    archive.store.put(paper(body=A))
    archive.store.delete(BY_ID)
    archive.clock.now += 2 * DAY
    with pytest.raises(ServiceError, match="AccessDenied"):
        archive.opened(backend=Refusing(archive.store.backend, "AccessDeniedException")).collect_orphans(
            papers, dry_run=False
        )
    assert len(archive.names()) == 1
    unknown = archive.opened(backend=Refusing(archive.store.backend, "UnknownOperationException"))
    assert unknown.collect_orphans(papers, dry_run=False).removed.blobs == 1


def test_marks_at_the_end_of_a_page_and_marks_of_nothing_are_cleared(folder_archive: Archive) -> None:
    archive = folder_archive
    for number in range(120):
        archive.store.put(paper(paper_id=str(number), body=A))
    names = sorted(archive.names())
    for name in names:
        archive.blobs.put(orphan_mark(name), b"1")
    archive.blobs.put(orphan_mark(names[0][:-4] + "beef"), b"1")
    archive.blobs.put(orphan_mark(names[-1][:-4] + "beef"), b"not a time")
    archive.clock.now += 2 * DAY
    report = archive.collect()
    assert (report.total.blobs, report.orphans.blobs) == (120, 0)
    assert archive.entries() == set(names)


@pytest.mark.parametrize(
    ("reach", "needed"),
    [
        (RecoveryReach(), False),
        (RecoveryReach(earliest=150), True),
        (RecoveryReach(earliest=200), True),
        (RecoveryReach(earliest=212), False),
        (RecoveryReach(backups=[89]), False),
        (RecoveryReach(backups=[91]), True),
        (RecoveryReach(backups=[150]), True),
        (RecoveryReach(backups=[5, 209]), True),
        (RecoveryReach(backups=[5, 211]), False),
        (RecoveryReach(earliest=500, backups=[150]), True),
    ],
)
def test_a_blob_is_needed_by_moments_at_which_it_was_referred_to(reach: RecoveryReach, needed: bool) -> None:
    assert reach.may_need(100, 200, 10) is needed
