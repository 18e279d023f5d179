"""Support's training export: all tickets once, then what changes, without saying who anybody is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pytest

from tablewright.model import attr
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import Create, Store, Unavailable
from tablewright.systems import load
from tablewright.systems.support.model import Event, Feedback, Status, Ticket, design
from tablewright.systems.support.training_export import Export, ExportError
from tests.systems.dying_backend import Died, Mortal
from tests.systems.harness import Clock, serving, wait_for
from tests.systems.support.tickets import moved, opened

SECRET = b"s" * 32


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[Store]:
    with Store.open(clock=clock) as store:
        store.ensure_tables(internal_table, *design.tables)
        yield store


def make(store: Store, ticket_id: str, *, ratings: tuple[int, ...] = ()) -> None:
    now = datetime.now(UTC)
    details = {"changed_by": "op_1", "note": "second call", "degrees": 1.5, "serial": 2**70}
    ticket = Ticket(ticket_id=ticket_id, customer_id="cust_7", symptom_text="It hums")
    store.transact(
        Create(ticket),
        Create(Event(ticket_id=ticket_id, day=now.date(), timestamp=now, event_type="ticket_created", details=details)),
        *(
            Create(
                Feedback(
                    ticket_id=ticket_id,
                    feedback_id=uuid4().hex,
                    given_by="cust_7",
                    once=uuid4().hex,
                    operator_id="op_9",
                    submitted_at=now,
                    rating=rating,
                )
            )
            for rating in ratings
        ),
    )


def export_of(store: Store, folder: Path, **settings: Any) -> Export:
    return Export(store, folder, SECRET, lambda: datetime.fromtimestamp(store.context.clock(), UTC), **settings)


def exported(store: Store, folder: Path, **settings: Any) -> int:
    options = {name: settings.pop(name) for name in ("full", "alone") if name in settings}
    return export_of(store, folder, **settings).run(lambda done, total: None, **options)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for part in sorted(folder.glob("part-*.jsonl")) for line in part.read_text().splitlines()]


def latest(folder: Path) -> dict[str, dict[str, Any]]:
    """What the export says: of several records of a ticket, the latest."""
    return {each["ticket_id"]: each for each in sorted(lines(folder), key=lambda each: str(each["as_of"]))}


def test_the_first_export_has_all_and_later_ones_what_has_changed(store: Store, tmp_path: Path) -> None:
    for number in range(5):
        make(store, f"t-{number}", ratings=(5, 2) if number == 0 else ())
    assert exported(store, tmp_path) == 5
    assert exported(store, tmp_path) == 0
    store.update(Ticket.by_id("t-1"), attr(Ticket.status).set(Status.PROCESSING))
    store.delete(Ticket.by_id(ticket_id="t-2"))
    make(store, "t-9")
    assert exported(store, tmp_path) == 3
    found = latest(tmp_path)
    assert {name: each.get("status") for name, each in found.items()} == {
        "t-0": "NEW",
        "t-1": "PROCESSING",
        "t-2": None,
        "t-3": "NEW",
        "t-4": "NEW",
        "t-9": "NEW",
    }
    assert found["t-2"]["deleted"]
    assert sorted(each["rating"] for each in found["t-0"]["feedback"]) == [2, 5]
    assert [each["event_type"] for each in found["t-0"]["events"]] == ["ticket_created"]
    assert exported(store, tmp_path, full=True) == 5 + 1
    assert latest(tmp_path)["t-3"]["as_of"] > found["t-3"]["as_of"]


def test_people_are_pseudonymized_unless_requested_otherwise(store: Store, tmp_path: Path) -> None:
    make(store, "t-1", ratings=(5,))
    make(store, "t-2")
    exported(store, tmp_path / "plain")
    exported(store, tmp_path / "named", identified=True)
    text = "".join(path.read_text() for path in (tmp_path / "plain").glob("part-*"))
    assert not any(who in text for who in ("cust_7", "op_9", "op_1"))
    plain, named = latest(tmp_path / "plain"), latest(tmp_path / "named")
    assert plain["t-1"]["customer_id"] == plain["t-2"]["customer_id"]
    details = json.loads(plain["t-1"]["events"][0]["details"])
    assert (details["note"], details["degrees"], details["serial"]) == ("second call", 1.5, 2**70)
    assert named["t-1"]["customer_id"] == "cust_7"
    assert named["t-1"]["feedback"][0]["operator_id"] == "op_9"
    with pytest.raises(ExportError, match="has an export of another kind"):
        export_of(store, tmp_path / "named")


def test_parquet_says_the_same(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    make(store, "t-1", ratings=(4,))
    make(store, "t-2")
    assert exported(store, folder, format="parquet") == 2
    store.delete(Ticket.by_id(ticket_id="t-2"))
    assert exported(store, folder, format="parquet") == 1
    parts = [str(path) for path in sorted(folder.glob("part-*.parquet"))]
    assert len(parts) == 2
    found = duckdb.sql(
        "SELECT ticket_id, deleted, len(events), feedback[1].rating, typeof(created_at) FROM read_parquet($parts) "
        "QUALIFY row_number() OVER (PARTITION BY ticket_id ORDER BY as_of DESC) = 1 ORDER BY ticket_id",
        params={"parts": parts},
    ).fetchall()
    assert found == [
        ("t-1", False, 1, 4, "TIMESTAMP WITH TIME ZONE"),
        ("t-2", True, None, None, "TIMESTAMP WITH TIME ZONE"),
    ]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_death_at_any_moment_loses_no_ticket(clock: Clock, tmp_path: Path, after: bool) -> None:
    """The first export dies, then the one after it, at each request in turn."""
    left = 0
    while True:
        folder = tmp_path / str(left)
        with Store.open(clock=clock) as store:
            store.ensure_tables(internal_table, *design.tables)
            make(store, "t-1")
            make(store, "t-2")
            lives = [False, False]
            for turn in range(2):
                mortal = Mortal(store.backend, left, after=after)
                try:
                    exported(Store(mortal, clock=clock), folder)
                    lives[turn] = True
                except Died:
                    exported(store, folder, alone=True)
                make(store, f"later-{turn}")
                status = [Status.PROCESSING, Status.READY][turn]
                store.update(Ticket.by_id("t-1"), attr(Ticket.status).set(status))
            exported(store, folder, alone=True)
            found = latest(folder)
            assert found.keys() == {"t-1", "t-2", "later-0", "later-1"}
            assert found["t-1"]["status"] == "READY"
            assert list(folder.glob(".*")) == []
        left += 1
        if all(lives):
            break
    assert left > 8


def test_a_folder_that_cannot_be_written_loses_nothing(
    store: Store, tmp_path: Path, full_disk: Callable[[], None]
) -> None:
    make(store, "t-1")
    exported(store, tmp_path)
    make(store, "t-2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tablewright.systems.support.training_export.os.link", full_disk)
        with pytest.raises(Unavailable, match="No space left on device"):
            exported(store, tmp_path)
    assert exported(store, tmp_path, alone=True) == 1
    assert latest(tmp_path).keys() == {"t-1", "t-2"}


@pytest.fixture
def full_disk() -> Callable[..., None]:
    def link(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    return link


def test_a_process_that_serves_exports_what_was_there_and_what_comes(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    with serving(load("support"), data=tmp_path / "data") as served:
        first = opened(served.client("op_1", "Operators", path="/support"))["ticket_id"]
    with serving(load("support"), data=tmp_path / "data", training_export=folder) as served:
        staff = served.client("op_1", "Operators", path="/support")
        wait_for(lambda: first in latest(folder))
        second = opened(staff)

        def status() -> str | None:
            # Some of the minute that changes are gathered for has passed.
            served.clock.advance(10)
            found: str | None = latest(folder).get(second["ticket_id"], {}).get("status")
            return found

        wait_for(lambda: status() == "NEW")
        moved(staff, second, "PROCESSING")
        wait_for(lambda: status() == "PROCESSING")
        admin = served.client("admin", "Admins")
        names = [each["name"] for each in admin.get("/runtime/consumers").json()]
        assert any(name.startswith("support.export.") for name in names)
