"""Support's large payloads: outside of the table, back when they are asked for, gone with their tickets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.model import attr
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import BlobStore, Create, FolderBlobStore, Store, Update
from tablewright.store.blobs.blob_store import BlobEntry
from tablewright.systems import load
from tablewright.systems.support.maintenance_jobs import collect_orphans
from tablewright.systems.support.model import Ticket, design
from tests.systems.dying_backend import Died, Mortal
from tests.systems.harness import Clock, Served, serving, wait_for
from tests.systems.support.crashes import MortalBlobs
from tests.systems.support.tickets import moved, opened

LARGE = "a line of a log, with text that is not ASCII: ü\n" * 8_000


def files(served: Served) -> set[Path]:
    return {path for path in (served.runtime.settings.data / "blobs").rglob("*") if path.is_file()}


class Counting:
    """Blobs that count how often they are read."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self.reads = 0

    def get(self, name: str) -> bytes | None:
        self.reads += 1
        return self._blobs.get(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)


@pytest.mark.requirement("SU15")
def test_a_large_payload_comes_back_and_is_kept_while_a_restore_may_need_it(tmp_path: Path) -> None:
    with serving(load("support"), data=tmp_path) as served:
        _a_large_payload(served)


def _a_large_payload(served: Served) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    before = files(served)
    ticket = opened(staff, data=LARGE)
    path = f"/tickets/{ticket['ticket_id']}"
    assert ticket["data_size"] == len(LARGE.encode()) > 350_000
    assert len(files(served) - before) == 1
    assert staff.get(f"{path}/data").json() == {"data": LARGE}
    smaller = staff.put(f"{path}/data", json={"data": "all is well"}).json()
    assert smaller["data_size"] == 11
    grown = staff.put(f"{path}/data", json={"data": LARGE + "!"}).json()
    assert grown["data_size"] == len(LARGE.encode()) + 1
    assert moved(staff, grown, "PROCESSING")["data_size"] == grown["data_size"]
    assert staff.get(f"{path}/data").json() == {"data": LARGE + "!"}
    store = served.runtime.sync_store
    store.delete(Ticket.by_id(ticket_id=ticket["ticket_id"]))
    # Two payloads, and a mark of each: the table can be restored to the time of either.
    assert len(files(served) - before) == 4
    for days, left in ((34, 4), (2, 0)):
        served.clock.advance(days * 86_400)
        collect_orphans(store, lambda done, total: None)
        assert len(files(served) - before) == left


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("settings", [{}, {"max_body": 6_000_000}])
def test_a_payload_is_as_large_as_a_request_may_be(tmp_path: Path, settings: dict[str, Any]) -> None:
    """There is no other limit, above it or below."""
    with serving(load("support"), data=tmp_path, **settings) as served:
        staff = served.client("op_1", "Operators", path="/support")
        path = f"/tickets/{opened(staff)['ticket_id']}/data"
        room = served.runtime.settings.max_body - len(b'{"data":""}')
        put = staff.put(path, content=b'{"data":"' + b"x" * room + b'"}', headers={"Content-Type": "application/json"})
        assert (put.status_code, put.json()["data_size"]) == (200, room)
        assert len(staff.get(path).json()["data"]) == room
        more = staff.put(path, json={"data": "x" * (room + 1)})
        assert (more.status_code, more.json()["type"]) == (413, "/problems/too-large")


@pytest.mark.requirement("SU15")
def test_lists_tell_sizes_without_reading_a_payload(served: Served, staff: httpx.Client) -> None:
    context = served.runtime.store.context
    assert context.blobs is not None
    counting = Counting(context.blobs)
    context.blobs = counting
    try:
        customer = f"cust_{uuid4().hex}"
        made = [opened(staff, customer, data=LARGE)["ticket_id"] for _ in range(3)]
        listed = staff.get(f"/customers/{customer}/tickets").json()["tickets"]
        by_status = staff.get("/tickets", params={"status": "NEW"}).json()["tickets"]
        batch = staff.post("/tickets/batch-get", json={"ticket_ids": made}).json()["tickets"]
        case = staff.get(f"/tickets/{made[0]}/case").json()["ticket"]
        for found in (listed, by_status, batch, [case], [staff.get(f"/tickets/{made[0]}").json()]):
            sizes = {each["data_size"] for each in found if each["ticket_id"] in made}
            assert sizes == {len(LARGE.encode())}
        assert counting.reads == 0
        assert staff.get(f"/tickets/{made[0]}/data").json()["data"] == LARGE
        assert counting.reads == 1
    finally:
        context.blobs = counting._blobs


# -- crashes ------------------------------------------------------------------------------------------------------


def dying_stores(sound: Store, folder: Path, clock: Clock) -> Iterator[tuple[Store, str]]:
    """Stores that die at their first request, or at their second, and so on; and one that dies with its payload."""
    options: Any = {"clock": clock, "entropy": random.Random(1)}
    for number in range(4):
        for after in (False, True):
            backend = Mortal(sound.backend, number, after=after)
            yield Store(backend, blobs=FolderBlobStore(folder), **options), f"{number}-{after}"
    yield Store(sound.backend, blobs=MortalBlobs(folder, 1), **options), "blob"


def entries(folder: Path) -> list[BlobEntry]:
    return FolderBlobStore(folder).entries("prod-tickets-unified/", None, 1000)


@pytest.mark.requirement("SU15")
def test_a_death_between_payload_and_item_leaves_nothing_for_good(tmp_path: Path) -> None:
    clock = Clock()
    died = 0
    with Store.open(clock=clock, blobs=FolderBlobStore(tmp_path)) as sound:
        sound.ensure_tables(internal_table, *design.tables)
        for dying, name in dying_stores(sound, tmp_path, clock):
            made = Ticket(ticket_id=f"made-{name}", customer_id="c", symptom_text="s", data=LARGE)
            changed = sound.create(Ticket(ticket_id=f"changed-{name}", customer_id="c", symptom_text="s", data=LARGE))
            change = Update(Ticket.by_id(changed.ticket_id), attr(Ticket.data).set(LARGE + "2"))
            for write in (Create(made), change):
                try:
                    dying.transact(write)
                except Died:
                    died += 1
        clock.advance(25 * 3600)
        with_payload = list(sound.iterate(Ticket))
        assert died > 8
        assert len(entries(tmp_path)) > len(with_payload)
        for _ in range(2):
            # What nobody marked is kept from when it is found.
            collect_orphans(sound, lambda done, total: None)
            clock.advance(36 * 86_400)
        # What is left is what tickets have, and they have all of it.
        assert len(entries(tmp_path)) == len(with_payload)
        assert all(each.data in (LARGE, LARGE + "2") for each in with_payload)


def finished(admin: httpx.Client, job: str) -> Any:
    """What a job came to."""
    return wait_for(lambda: not (now := admin.get(f"/maintenance/{job}").json())["running"] and now)


# -- S3 -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SU15")
def test_payloads_are_kept_in_a_bucket_when_there_is_one(
    moto_server_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import boto3

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    bucket = f"payloads-{uuid4().hex}"
    s3 = boto3.client("s3", region_name="us-east-1", endpoint_url=moto_server_url)
    s3.create_bucket(Bucket=bucket)

    def keys() -> list[str]:
        return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]

    with serving(load("support"), data=tmp_path, blob_bucket=bucket, aws_endpoint=moto_server_url) as served:
        staff = served.client("op_1", "Operators", path="/support")
        admin = served.client("admin", "Admins", path="/support")
        ticket = opened(staff, data=LARGE)
        assert staff.get(f"/tickets/{ticket['ticket_id']}/data").json()["data"] == LARGE
        (name,) = keys()
        assert name.startswith("prod-tickets-unified/ticket/")
        s3.copy_object(Bucket=bucket, Key=name[:-4] + "beef", CopySource={"Bucket": bucket, "Key": name})
        served.clock.advance(25 * 3600)
        for days, job, removed, left in (
            (0, "count-orphans", 0, 2),
            (0, "collect-orphans", 0, 3),
            (34, "collect-orphans", 0, 3),
            (2, "count-orphans", 1, 3),
            (0, "collect-orphans", 1, 1),
        ):
            served.clock.advance(days * 86_400)
            admin.headers["Authorization"] = f"Bearer {served.token('admin', 'Admins')}"
            assert admin.post(f"/maintenance/{job}").status_code == 202
            state = finished(admin, job)
            assert (state["failed"], len(keys())) == (None, left)
            assert f": {removed} (" in state["outcome"]
        assert admin.post("/maintenance/verify").status_code == 202
        assert "items and their payloads are correct" in finished(admin, "verify")["outcome"]
        s3.delete_object(Bucket=bucket, Key=name)
        lost_payload(served, ticket["ticket_id"], admin)


# -- lost ones -----------------------------------------------------------------------------------------------------


def lost_payload(served: Served, ticket_id: str, admin: httpx.Client) -> None:
    """A payload that is gone is a problem that says which and what to do, and nothing else suffers."""
    staff = served.client("op_1", "Operators", path="/support")
    path = f"/tickets/{ticket_id}"
    response = staff.get(f"{path}/data")
    assert (response.status_code, response.json()["type"]) == (410, "/problems/payload-lost")
    assert response.headers["Content-Type"] == "application/problem+json"
    told = f"data of Ticket ticket_id {ticket_id} is missing from the object store, or is damaged there; "
    assert response.json()["detail"].startswith(told)
    assert response.json()["field"] == "data"
    assert staff.get(path).json()["data_size"] == len(LARGE.encode())
    assert staff.get(f"{path}/case").status_code == 200
    assert staff.post(f"{path}/status", json={"status": "PROCESSING"}).status_code == 200
    assert admin.post("/maintenance/verify").status_code == 202
    found = finished(admin, "verify")["failed"]
    assert found.startswith("1 finding needs attention among ")
    assert f"Ticket ticket_id {ticket_id}: blob of a large value data" in found
    # It is written again.
    assert staff.put(f"{path}/data", json={"data": LARGE}).status_code == 200
    assert staff.get(f"{path}/data").json()["data"] == LARGE
    assert admin.post("/maintenance/verify").status_code == 202
    assert finished(admin, "verify")["failed"] is None


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_a_payload_that_is_lost_is_a_clear_problem(tmp_path: Path, fault: str) -> None:
    with serving(load("support"), data=tmp_path) as served:
        staff = served.client("op_1", "Operators", path="/support")
        ticket_id = opened(staff, data=LARGE)["ticket_id"]
        (file,) = files(served)
        if fault == "missing":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:-1])
        lost_payload(served, ticket_id, served.client("admin", "Admins", path="/support"))
