"""The studio under attack: events that no browser of ours sends, and an endpoint that goes away and comes back."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tablewright.engine import Engine
from tablewright.wire import serve_in_thread
from tests.studio.studio_browser import fill_with_a_past, odd_requests, studio

# Milliseconds until an endpoint that went away, or came back, is noticed: a request is tried several times.
_WITHIN = 60_000

# Whatever listens is told that it happened, also what cannot be seen, with arguments that nobody asked for.
FORGE = """(args) => {
    const page = document.getElementById("app")._vnode.component.proxy;
    let sent = 0;
    for (const [id, element] of Object.entries(page.elements).reverse()) {
        for (const event of element.events ?? []) {
            // Those of the page lead elsewhere.
            if (/^tw[-A-Z]/.test(event.type)) continue;
            window.socket.emit("event", {
                id: Number(id), client_id: window.clientId, listener_id: event.listener_id, args: args,
            });
            sent += 1;
        }
    }
    return sent;
}"""
# By the console: a choice of the list, and what is typed.
STATEMENTS = [
    """DELETE FROM "odd" WHERE pk = 'numbers' AND n = 2""",
    """INSERT INTO "odd" VALUE {'pk': 'forged', 'n': 1}""",
    """ update "odd" SET note = 'forged' WHERE pk = 'numbers' AND n = 2""",
]
VIEWS = [
    "/tables",
    "/tables/odd",
    "/items/odd",
    "/items/TaskManagement?entity=Task",
    "/picture/TaskManagement",
    "/patterns",
    "/time/TaskManagement",
    "/streams/TaskManagement",
    "/design",
    "/console",
]


def everything(folder: Path) -> dict[str, Any]:
    """All that a studio could have changed in a data folder."""
    with Engine.open(folder) as engine:
        found: dict[str, Any] = {"backups": engine.call("ListBackups", {})}
        for name in engine.call("ListTables", {})["TableNames"]:
            table = {"TableName": name}
            described = engine.call("DescribeTable", table)["Table"]
            recovery = engine.call("DescribeContinuousBackups", table)["ContinuousBackupsDescription"]
            state = recovery["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
            items = engine.call("Scan", table)["Items"]
            found[name] = described, state, engine.call("DescribeTimeToLive", table), items
        return found


def forge(page: Page) -> None:
    """All events of what is drawn, and again those of the dialogs that this opened."""
    for args in ([], ['"DeleteTable"'], ['{"PK": {"S": "TASK#t-1"}}']):
        assert page.evaluate(FORGE, args) > 0


@pytest.mark.slow
@pytest.mark.requirement("ST1")
def test_no_forged_event_changes_anything_in_a_studio_that_only_reads(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    fill_with_a_past(folder)
    before = everything(folder)
    with studio(str(folder), "--design", "tablewright.systems.tasks") as running:
        page = running.open()
        for path in VIEWS:
            page.goto(f"/studio{path}")
            page.wait_for_selector("#tw-content > *")
            forge(page)
        page.goto("/studio/console")
        answer = page.locator(".st-console .st-code")
        for statement in STATEMENTS:
            page.get_by_label("Request", exact=True).fill(statement)
            page.get_by_role("button", name="Send").click()
            expect(answer).to_contain_text("start it with --write")
            expect(page.get_by_role("dialog")).to_have_count(0)
            page.get_by_label("Request", exact=True).fill('SELECT * FROM "odd" WHERE n = 2')
            page.get_by_role("button", name="Send").click()
            expect(answer).to_contain_text("12345678901234567890123456789012345678")
    assert everything(folder) == before


@pytest.mark.slow
@pytest.mark.requirement("ST1")
def test_the_same_events_do_change_something_where_that_is_allowed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    fill_with_a_past(folder)
    before = everything(folder)
    with studio(str(folder), "--design", "tablewright.systems.tasks", "--write") as running:
        page = running.open("/tables/odd")
        writes = page.context.new_page()
        for _ in range(20):
            # Dialogs are opened by one round, and answered by another.
            forge(page)
            writes.goto(f"{running.screens.url}/studio/writes")
            expect(writes.get_by_role("heading", name="Writes of this studio").last).to_be_visible()
            if writes.locator("tbody tr").count():
                break
    assert everything(folder) != before


@pytest.mark.slow
@pytest.mark.requirement("ST2")
@pytest.mark.requirement("ST6")
def test_a_view_says_that_its_endpoint_is_away_and_goes_on_when_it_is_back() -> None:
    with ExitStack() as stack:
        engine = stack.enter_context(Engine.open(None))
        for operation, body in odd_requests():
            engine.call(operation, body)
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        engine.call("UpdateTable", {"TableName": "odd", "StreamSpecification": stream})
        server = stack.enter_context(ExitStack())
        url = server.enter_context(serve_in_thread(engine))
        running = stack.enter_context(studio(url))
        items = running.open("/items/odd")
        rows = items.locator(".st-table tbody tr")
        expect(rows).to_have_count(6)
        tail = items.context.new_page()
        tail.goto(f"{running.screens.url}/studio/streams/odd")
        state = tail.locator(".st-streams .tw-pill").first
        expect(state).to_have_text("live")

        server.close()
        items.get_by_role("button", name="Run").click()
        expect(items.get_by_role("alert")).to_contain_text("does not respond", timeout=_WITHIN)
        expect(state).to_have_text("not responding, retrying", timeout=_WITHIN)
        # What is opened now says it as well.
        table = items.context.new_page()
        table.goto(f"{running.screens.url}/studio/tables/odd")
        expect(table.get_by_role("alert")).to_contain_text("does not respond", timeout=_WITHIN)

        engine.call("PutItem", {"TableName": "odd", "Item": {"pk": {"S": "meanwhile"}, "n": {"N": "9"}}})
        server.enter_context(serve_in_thread(engine, port=urlsplit(url).port or 0))
        expect(table.get_by_role("heading", name="odd")).to_be_visible(timeout=_WITHIN)
        expect(state).to_have_text("live", timeout=_WITHIN)
        expect(tail.locator(".st-record").first).to_contain_text("meanwhile", timeout=_WITHIN)
        expect(rows).to_have_count(7, timeout=_WITHIN)
