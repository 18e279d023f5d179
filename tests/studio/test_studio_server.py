"""The studio where others are served: in `up` beside the applications, and beside `serve`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AnyChange, Consumer, Effects, EndpointBackend, Request, Store
from tablewright.systems.tasks.model import task_management
from tests.studio.studio_browser import RunningStudio, fill, running
from tests.ui.screen_browser import serious_problems

DESIGN = "tablewright.systems.tasks"


@pytest.fixture(scope="module")
def in_up() -> Iterator[RunningStudio]:
    with running("up", "--memory", "--port", "0", "--system", "tasks", "--demo") as found:
        yield found


@pytest.fixture(scope="module")
def beside_serve() -> Iterator[RunningStudio]:
    with running("serve", "--memory", "--port", "0", "--studio", "--studio-write", "--design", DESIGN) as found:
        yield found


@pytest.fixture(autouse=True)
def closed_windows(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in ("in_up", "beside_serve"):
        if name in request.fixturenames:
            request.getfixturevalue(name).screens.close()


@pytest.mark.requirement("ST1")
@pytest.mark.parametrize("place", ["in_up", "beside_serve"])
def test_an_address_without_the_last_slash_leads_to_the_one_with_it(request: pytest.FixtureRequest, place: str) -> None:
    url = request.getfixturevalue(place).screens.url
    answer = httpx.get(f"{url}/studio?to=a%2Fb&text=%3Cb%3E")
    assert answer.next_request is not None
    assert str(answer.next_request.url) == f"{url}/studio/?to=a%2Fb&text=%3Cb%3E"
    # The host in a request may be anything.
    assert ":" not in answer.headers["location"]
    asked = httpx.get(f"{url}/studio", follow_redirects=True)
    assert (asked.status_code, asked.url.path) == (200, "/studio/sign-in")


@pytest.mark.requirement("ST1")
def test_so_does_that_of_the_applications(in_up: RunningStudio) -> None:
    asked = httpx.get(f"{in_up.screens.url}/app?x=1", follow_redirects=True)
    assert (asked.status_code, asked.url.path) == (200, "/app/sign-in")
    assert httpx.get(f"{in_up.screens.url}/app?x=1").headers["location"] == "app/?x=1"
    assert httpx.post(f"{in_up.screens.url}/app").status_code == 405


@pytest.mark.requirement("ST2")
def test_in_up_it_shows_the_tables_of_the_applications_to_the_user_at_the_terminal(in_up: RunningStudio) -> None:
    page = in_up.open("/items/TaskManagement?entity=Task")
    expect(page.locator(".tw-top")).to_contain_text("read-only")
    first = page.locator(".st-table tbody tr a").first
    expect(first).to_contain_text("TASK#")
    first.click()
    expect(page.locator(".st-item-panel .st-attributes")).to_contain_text("CreatedBy")
    assert serious_problems(page) == []
    # Whoever has signed in there has not signed in here, and the other way round.
    page.goto("/app/")
    expect(page).to_have_url(f"{in_up.screens.url}/app/sign-in?to=%2F")
    page.locator("button[value='admin']").click()
    expect(page.locator("#tw-content > *").first).to_be_visible()
    page.goto("/studio/tables/TaskManagement")
    expect(page.get_by_role("heading", name="TaskManagement")).to_be_visible()


@pytest.mark.requirement("ST1")
def test_beside_serve_a_table_is_created_and_programs_find_it(beside_serve: RunningStudio) -> None:
    url = beside_serve.said(r" (http://[\d.:]+)")
    page = beside_serve.open()
    expect(page.locator("#tw-content")).to_contain_text("There are no tables yet")
    page.get_by_role("button", name="New table").click()
    form = page.get_by_role("dialog", name="New table")
    form.get_by_label("Name").fill("parts")
    form.get_by_role("button", name="Create").last.click()
    asked = page.get_by_role("dialog", name="CreateTable")
    expect(asked).to_contain_text('"TableName": "parts"')
    asked.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="parts")).to_be_visible()
    backend = EndpointBackend("us-east-1", url, {"aws_access_key_id": "any", "aws_secret_access_key": "any"})
    try:
        backend.call(Request("PutItem", {"TableName": "parts", "Item": {"pk": {"S": "bolt"}}}))
    finally:
        backend.close()
    page.goto("/studio/items/parts")
    expect(page.get_by_role("link", name="bolt")).to_be_visible()
    assert serious_problems(page) == []


def fill_with_a_dead_letter(folder: Path) -> None:
    """Tasks, the first of which the consumer that publishes events has failed on."""
    fill(folder)
    failed: list[str] = []

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        if not failed or changes[0].sequence in failed:
            failed[:] = [str(changes[0].sequence)]
            raise RuntimeError("the <b>disk</b> was full")

    with Store.open(folder) as store:
        store.ensure_tables(internal_table)
        consumer = Consumer(
            store, task_management, handle, name="tasks.events", checkpoints=internal_table, batch_size=1, retries=0
        )
        consumer.run_once()
        consumer.release()


@pytest.mark.slow
@pytest.mark.requirement("ST6")
@pytest.mark.requirement("ST7")
def test_in_up_a_dead_letter_is_handled_again_and_the_past_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    fill_with_a_dead_letter(folder)
    with running("up", "--data", str(folder), "--port", "0", "--system", "tasks", "--studio-write") as up:
        page = up.open("/streams/TaskManagement")
        letter = page.locator(".st-letter")
        expect(letter).to_contain_text("the <b>disk</b> was full")
        assert serious_problems(page) == []
        letter.get_by_role("button", name="Retry").click()
        dialog = page.get_by_role("dialog", name="Retry")
        expect(dialog).to_contain_text("tasks.events processes this change again")
        dialog.get_by_role("button", name="Retry").click()
        expect(letter).to_have_count(0)
        expect(page.locator(".tw-toasts")).to_contain_text("tasks.events has handled it")
        page.goto("/studio/writes")
        expect(page.locator("tbody tr").first).to_contain_text("replay")
        # An engine of this process has a past, as soon as a table has recovery.
        page.goto("/studio/time/TaskManagement")
        expect(page.locator("#tw-content")).to_contain_text("This table has no history")
