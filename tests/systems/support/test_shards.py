"""The number of shards of an index of support is changed while it is read and written, through the API."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import httpx
import pytest

from tablewright.model import schema_of
from tablewright.systems.support.model import STATUS_SHARDS, Ticket
from tests.systems.harness import Served, wait_for
from tests.systems.support.tickets import moved, opened


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int | None], None]:
    """Have the index of statuses spread over so many shards, as another version of the model would."""
    schema = schema_of(Ticket)

    def deploy(shards: int, was: int | None) -> None:
        monkeypatch.setitem(schema.key_rules, "GSI2PK", replace(schema.key_rules["GSI2PK"], shards=shards, was=was))
        # What was compiled from the model before.
        monkeypatch.setattr(schema, "query_templates", {})

    return deploy


def read(client: httpx.Client, status: str, limit: int) -> list[Any]:
    """All tickets of a status, page by page."""
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        answer = client.get("/tickets", params={"status": status, "limit": limit, **cursor})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["tickets"]
        if page["cursor"] is None:
            return found
        cursor = {"cursor": page["cursor"]}


@pytest.mark.requirement("SU16")
def test_tickets_are_spread_anew_under_load(served: Served, deploy: Callable[[int, int | None], None]) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    admin = served.client("admin", "Admins", path="/support")
    deploy(3, None)
    # Nobody touches these.
    steady = [moved(staff, opened(staff), "FAILED")["ticket_id"] for _ in range(60)]
    newest_first = steady[::-1]
    deploy(STATUS_SHARDS, 3)
    over = threading.Event()
    failures: list[BaseException] = []

    def reader() -> None:
        for number in count():
            found = [each["ticket_id"] for each in read(staff, "FAILED", 7 + number % 20)]
            assert len(found) == len(set(found))
            assert [each for each in found if each in newest_first] == newest_first
            if over.is_set():
                return

    def writer() -> None:
        while not over.is_set():
            ticket = moved(staff, opened(staff), "FAILED")
            seen = read(staff, "FAILED", 100)
            assert ticket["ticket_id"] in {each["ticket_id"] for each in seen}
            moved(staff, ticket, "PROCESSING")

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in (reader, writer)]
    for thread in threads:
        thread.start()
    try:
        assert admin.post("/maintenance/migrate-shards").status_code == 202
        state = wait_for(lambda: not (now := admin.get("/maintenance/migrate-shards").json())["running"] and now)
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    assert failures == []
    assert state["outcome"].endswith("every ticket is in its shard")
    deploy(STATUS_SHARDS, None)
    assert [each["ticket_id"] for each in read(staff, "FAILED", 50) if each["ticket_id"] in steady] == newest_first
    assert served.runtime.sync_store.verify(Ticket).is_clean


@pytest.mark.requirement("SU16")
def test_a_list_over_many_shards_has_pages_as_any_other(
    served: Served, deploy: Callable[[int, int | None], None]
) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    deploy(50, None)
    made = [opened(staff)["ticket_id"] for _ in range(60)]
    found = [each["ticket_id"] for each in read(staff, "NEW", 25)]
    assert [each for each in found if each in made] == made[::-1]
