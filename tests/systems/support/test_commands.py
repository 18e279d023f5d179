"""``tablewright support ...``: on a data folder, and in a process that has it open."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.cli import main
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import FolderBlobStore, Store
from tablewright.store.blobs.blob_store import orphan_mark, orphaned_since
from tablewright.store.flow.driver import Request
from tablewright.systems import load
from tablewright.systems.support import maintenance_jobs
from tablewright.systems.support.model import Metric, Status, Ticket, design, tickets
from tests.systems.dying_backend import Died
from tests.systems.harness import Served, serving, wait_for
from tests.systems.support.crashes import MortalBlobs
from tests.systems.support.tickets import opened


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with five tickets, and metrics that are wrong."""
    folder = tmp_path / "data"
    with Store.open(folder) as store:
        store.ensure_tables(internal_table, *design.tables)
        for number in range(5):
            store.create(Ticket(ticket_id=f"t-{number}", customer_id="c", symptom_text="It hums"))
        store.put(Metric(metric_name="tickets_by_status#NEW", count_value=-7))
    return folder


@pytest.fixture
def served(data: Path) -> Iterator[Served]:
    with serving(load("support"), data=data) as served:
        yield served


def new_tickets(folder: Path) -> int:
    with Store.open(folder) as store:
        metric = store.get(Metric.by_name(metric_name="tickets_by_status#NEW"))
        return 0 if metric is None else metric.count_value


@pytest.mark.requirement("SU11")
def test_metrics_are_rebuilt_in_a_data_folder(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["support", "rebuild-metrics", "--data", str(data)]) == 0
    assert capsys.readouterr().out == "the metrics were rebuilt from 5 items\n"
    assert new_tickets(data) == 5
    # And one that was cut short does not have to be waited for.
    with Store.open(data) as store, pytest.raises(KeyboardInterrupt):
        maintenance_jobs.rebuild_metrics(store, lambda done, total: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["support", "rebuild-metrics", "--data", str(data)]) == 0
    assert new_tickets(data) == 5


@pytest.mark.requirement("SU11")
def test_metrics_are_rebuilt_by_the_process_that_has_the_folder(
    served: Served, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["support", "rebuild-metrics", "--data", str(data)]
    assert main(command) == 2
    assert "is in use by another engine" in (error := capsys.readouterr().err)
    assert "add --url http://127.0.0.1:8080" in error
    assert main([*command, "--url", served.url]) == 0
    assert capsys.readouterr().out.startswith("the metrics were rebuilt from ")
    staff = served.client("op_1", "Operators", path="/support")
    assert staff.get("/metrics").json()["tickets_by_status"]["NEW"] == 5
    assert main([*command, "--url", served.url, "--token", served.token("op_1", "Operators")]) == 2
    assert "refused" in capsys.readouterr().err
    assert main([*command, "--url", "http://127.0.0.1:9"]) == 2


@pytest.mark.requirement("SU11")
def test_a_rebuild_that_a_process_was_killed_in_is_begun_again_by_the_next(data: Path) -> None:
    with Store.open(data) as store, pytest.raises(KeyboardInterrupt):
        maintenance_jobs.rebuild_metrics(store, lambda done, total: (_ for _ in ()).throw(KeyboardInterrupt))
    with serving(load("support"), data=data, batch_window=0) as served:
        staff = served.client("op_1", "Operators", path="/support")
        opened(staff)
        wait_for(lambda: staff.get("/metrics").json()["tickets_by_status"]["NEW"] == 6)


@pytest.mark.requirement("SU16")
def test_tickets_are_moved_to_their_shards(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(data) as store:
        for ticket in store.iterate(Ticket):
            # As if there had been no shards.
            item = {**ticket.item(), "GSI2PK": {"S": "STATUS#NEW"}}
            store.backend.call(Request("PutItem", {"TableName": tickets.name, "Item": item}))
        assert store.query(Ticket.by_status(status=Status.NEW), limit=10).items == []
    assert main(["support", "migrate-shards", "--data", str(data)]) == 0
    assert capsys.readouterr().out == "moved 5 keys; every ticket is in its shard\n"
    with Store.open(data) as store:
        assert len(store.query(Ticket.by_status(status=Status.NEW), limit=10).items) == 5


@pytest.mark.requirement("SU16")
def test_how_far_it_is_is_never_more_than_all(data: Path) -> None:
    """Others write meanwhile, and how much there was before is no measure of what there is."""
    with Store.open(data) as store:
        told: list[tuple[int, int | None]] = []
        many = itertools.count()

        def report(done: int, total: int | None) -> None:
            told.append((done, total))
            if len(told) < 5:
                for _ in range(20):
                    text = "x" * 100_000
                    store.create(Ticket(ticket_id=f"more-{next(many)}", customer_id="c", symptom_text="s", data=text))

        for work in (maintenance_jobs.migrate_shards, maintenance_jobs.rebuild_metrics):
            told.clear()
            work(store, report)
            work(store, report)
            assert len(told) > 2
            assert all(total is None or done <= total for done, total in told), told


@pytest.mark.requirement("SU16")
def test_a_ticket_that_cannot_be_moved_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(data) as store:
        item = {**Ticket(ticket_id="odd", customer_id="c", symptom_text="s").item(), "priority": {"S": "URGENT"}}
        store.backend.call(Request("PutItem", {"TableName": tickets.name, "Item": item}))
    assert main(["support", "migrate-shards", "--data", str(data)]) == 1
    assert "moved 0 keys; 1 could not be moved and need attention, such as Ticket ticket_id odd" in (
        capsys.readouterr().err
    )


@pytest.mark.requirement("SU15")
def test_verify_reads_every_payload(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(data) as store:
        store.create(Ticket(ticket_id="large", customer_id="c", symptom_text="s", data="x" * 400_000))
    command = ["support", "verify", "--data", str(data)]
    assert main(command) == 0
    assert "items and their payloads are correct" in capsys.readouterr().out
    (payload,) = (path for path in (data / "blobs").rglob("*") if path.is_file())
    payload.write_bytes(payload.read_bytes()[:-1])
    assert main(command) == 1
    assert "1 finding needs attention among" in (said := capsys.readouterr().err)
    assert "Ticket ticket_id large: blob of a large value data" in said


@pytest.mark.requirement("SU15")
def test_orphans_are_counted_and_collected(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = data / "blobs"
    long_ago = time.time() - 2 * 86_400
    with (
        Store.open(data, clock=lambda: long_ago, blobs=MortalBlobs(folder, 1)) as store,
        pytest.raises(Died),
    ):
        store.create(Ticket(ticket_id="lost", customer_id="c", symptom_text="s", data="x" * 400_000))
    command = ["support", "collect-orphans", "--data", str(data)]
    blobs = FolderBlobStore(folder)
    (blob,) = blobs.entries(f"{tickets.name}/", None, 10)
    for more, said, left in (
        # What is found for the first time is kept from now on.
        (["--dry-run"], "orphans would be removed: 0 (0 bytes); 1 (4", 1),
        ([], "orphans removed: 0 (0 bytes); 1 (4", 2),
        (["--dry-run"], "orphans would be removed: 1 (4", 2),
        ([], "orphans removed: 1 (4", 0),
    ):
        if said.endswith("removed: 1 (4"):
            # Recovery does not reach back to when it became an orphan.
            blobs.put(orphan_mark(blob.name), orphaned_since(long_ago))
        assert main([*command, *more]) == 0
        assert capsys.readouterr().out.startswith(said)
        assert len(blobs.entries(f"{tickets.name}/", None, 10)) == left


def test_an_export_is_made_and_gone_on_with(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "export"
    command = ["support", "export", "--data", str(data), "--out", str(out)]
    for more, number in (([], 5), ([], 0), (["--full"], 5)):
        assert main([*command, *more]) == 0
        assert capsys.readouterr().out == f"{number} tickets were written to {out}\n"
    first = json.loads(sorted(out.glob("part-*.jsonl"))[0].read_text().splitlines()[0])
    assert first["customer_id"] != "c"
    assert main([*command, "--format", "parquet"]) == 2
    assert "has an export of another kind (jsonl, not identified)" in capsys.readouterr().err
    other = [*command[:-1], str(tmp_path / "columns"), "--format", "parquet", "--identified"]
    assert main(other) == 0
    assert len(list((tmp_path / "columns").glob("part-*.parquet"))) == 1


def test_an_export_says_how_much_it_left_out(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the whole table, tickets; of what has changed since, changes, which become dead letters."""
    out = tmp_path / "export"
    command = ["support", "export", "--data", str(data), "--out", str(out)]

    def spoil(ticket_id: str, priority: str) -> None:
        with Store.open(data) as store:
            body = {
                "TableName": tickets.name,
                "Key": {"PK": {"S": f"TICKET#{ticket_id}"}, "SK": {"S": "METADATA"}},
                "UpdateExpression": "SET priority = :p",
                "ExpressionAttributeValues": {":p": {"S": priority}},
            }
            store.backend.call(Request("UpdateItem", body))

    spoil("t-1", "SOMEWHAT")
    spoil("t-3", "SOMEWHAT")
    assert main(command) == 0
    left_out = "2 cannot be read and were left out, such as t-1; repair them in the table, and export with --full"
    assert capsys.readouterr().out == f"3 tickets were written to {out}; {left_out}\n"
    spoil("t-2", "SOMEWHAT")
    assert main(command) == 0
    problem = "1 change cannot be read and became a dead letter; repair it in the table, and export with --full"
    assert capsys.readouterr().out == f"0 tickets were written to {out}; {problem}\n"
    for number in (1, 2, 3):
        spoil(f"t-{number}", "LOW")
    assert main([*command, "--full"]) == 0
    assert capsys.readouterr().out == f"5 tickets were written to {out}\n"


def test_without_a_database_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("rebuild-metrics", "migrate-shards", "collect-orphans", "export"):
        more = ["--out", str(tmp_path / "out")] if command == "export" else []
        assert main(["support", command, "--data", str(tmp_path / "none"), *more]) == 2
        assert "choose the data folder with --data" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
