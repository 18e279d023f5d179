"""Time, SQL, streams, heat and the console in a browser, story by story."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.studio.studio_browser import RunningStudio, fill_with_a_past
from tests.ui.screen_browser import PHONE, overflow, serious_problems

FILL = fill_with_a_past


@pytest.mark.requirement("ST7")
def test_a_user_finds_what_was_changed_and_restores_it(desk: RunningStudio) -> None:
    page = desk.open("/time/TaskManagement?at=0")
    rows = page.locator(".st-past-row")
    expect(rows.filter(has_text="t-2").filter(has_text="deleted since")).to_have_count(1)
    # Between the beginning and now it has changed, and between the beginning and the beginning it has not.
    page.get_by_role("link", name="Another time").click()
    expect(page.get_by_role("heading", name="Changed between the two")).to_be_visible()
    expect(rows.filter(has_text="t-2").filter(has_text="deleted by then")).to_have_count(1)
    expect(page.locator(".st-past-list").last).to_contain_text("removed")
    page.goto(page.url.partition("?")[0] + "?at=1&until=1")
    expect(page.locator("#tw-content")).to_contain_text("The items are the same at both times")
    expect(rows.filter(has_text="by then")).to_have_count(0)
    page.get_by_role("group", name="Compared with").get_by_role("link", name="Now").click()
    expect(rows.filter(has_text="t-2").filter(has_text="deleted since")).to_have_count(1)
    page.get_by_label("Conditions").fill('GSI2PK = "STATUS#OPEN"')
    expect(page.locator(".st-verdict")).to_contain_text("Query · GSI2-TaskStatusIndex")
    page.get_by_role("button", name="Show").click()
    # What is not open goes; until then, the fields are those from before.
    expect(rows.filter(has_text="t-3")).to_have_count(0)
    expect(page.locator(".st-past-list").first.locator(".st-past-row")).to_have_count(5)
    expect(rows.filter(has_text="t-2").filter(has_text="deleted since")).to_have_count(1)
    page.get_by_label("Conditions").fill("")
    page.get_by_role("button", name="Show").click()
    expect(rows.filter(has_text="t-3")).to_have_count(1)
    rows.filter(has_text="t-1").filter(has_text="changed since").click()
    history = page.get_by_role("complementary", name="History of an item")
    expect(history.locator("del")).to_contain_text(["Order part 1"])
    expect(history.locator("ins")).to_contain_text(["<b>Order</b> it again"])
    assert serious_problems(page) == []
    history.get_by_role("button", name="Restore this version").last.click()
    dialog = page.get_by_role("dialog", name="Restore this version")
    expect(dialog).to_contain_text("Order part 1")
    dialog.get_by_role("button", name="Restore", exact=True).click()
    expect(rows.filter(has_text="t-1").filter(has_text="changed since")).to_have_count(0)
    # The same moment in SQL, where nothing has been restored; the other tables have no past.
    page.get_by_role("link", name="SQL at this time").click()
    page.get_by_label("SQL", exact=True).fill("SELECT title FROM Task WHERE task_id IN ('t-1', 't-2') ORDER BY title")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".st-result tbody tr")).to_have_text(["Order part 1", "Order part 2"])
    expect(page.locator(".st-sql-side")).not_to_contain_text("odd")
    page.get_by_role("button", name="Now").click()
    expect(page.locator(".st-result tbody tr")).to_have_text(["Order part 1"])
    page.goto("/studio/time/odd")
    expect(page.locator("#tw-content")).to_contain_text("This table has no history")


@pytest.mark.slow
@pytest.mark.requirement("ST5")
def test_a_user_queries_in_sql(desk: RunningStudio) -> None:
    page = desk.open("/sql?query=SELECT status, count(*) AS tasks FROM Task GROUP BY status ORDER BY tasks DESC")
    result = page.locator(".st-result")
    expect(result.locator("tbody tr").first).to_contain_text("OPEN")
    expect(page.locator(".st-bars")).to_contain_text("COMPLETED")
    assert serious_problems(page) == []
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    assert Path(download.value.path()).read_text().startswith("status,tasks\n")
    page.get_by_label("SQL", exact=True).fill("SELECT pk FROM odd WHERE n = 1")
    page.get_by_role("button", name="Run").click()
    expect(result).to_contain_text("<img src=x onerror=alert(1)>")
    page.get_by_label("SQL", exact=True).fill("DROP TABLE odd")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".tw-toasts")).to_contain_text("one SELECT")


@pytest.mark.requirement("ST6")
@pytest.mark.requirement("ST8")
def test_a_change_of_the_console_is_in_the_stream_and_in_the_bill(desk: RunningStudio) -> None:
    stream = desk.open("/streams/TaskManagement")
    expect(stream.locator(".st-records")).to_contain_text("No changes yet")
    heat = stream.context.new_page()
    heat.goto(f"{desk.screens.url}/studio/heat")
    heat.get_by_role("button", name="Start metering").click()
    expect(heat.get_by_role("button", name="Stop metering")).to_be_visible()
    console = stream.context.new_page()
    console.goto(f"{desk.screens.url}/studio/console")
    statement = "UPDATE TaskManagement SET Title = 'Seen' WHERE PK = 'TASK#t-4' AND SK = 'METADATA'"
    console.get_by_label("Request", exact=True).fill(statement)
    console.get_by_role("button", name="Send").click()
    dialog = console.get_by_role("dialog", name="ExecuteStatement")
    expect(dialog).to_contain_text("UPDATE TaskManagement")
    dialog.get_by_role("button", name="Send").click()
    expect(console.locator(".st-code")).to_contain_text("ConsumedCapacity")
    record = stream.locator(".st-record").first
    expect(record).to_contain_text("MODIFY")
    expect(record.locator(".st-diff-old")).to_contain_text(["Order part 4"])
    expect(record.locator(".st-diff-new")).to_contain_text(["Seen"])
    expect(heat.get_by_role("row", name="TASK#t-4").first).to_contain_text("TaskManagement")
    for page in (stream, heat, console):
        assert serious_problems(page) == []


@pytest.mark.requirement("ST7")
def test_all_of_it_fits_a_phone(desk: RunningStudio) -> None:
    page = desk.open("/time/TaskManagement", viewport=PHONE, color_scheme="dark")
    for path, seen in (
        ("/time/TaskManagement", ".st-past-row"),
        ("/sql", ".st-relation"),
        ("/streams/TaskManagement", ".st-records"),
        ("/heat", ".st-heat"),
        ("/console", ".st-console"),
    ):
        page.goto(f"/studio{path}")
        expect(page.locator(seen).first).to_be_visible()
        assert overflow(page) <= 0, path
