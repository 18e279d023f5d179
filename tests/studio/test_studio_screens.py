"""The studio in a browser, story by story."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.studio.studio_browser import RunningStudio, fill, studio
from tests.ui.screen_browser import PHONE, overflow, serious_problems


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """A studio that may write, on a data folder with the design of Tasks."""
    folder = tmp_path_factory.mktemp("studio") / "data"
    fill(folder)
    with studio(str(folder), "--design", "tablewright.systems.tasks", "--write") as found:
        yield found


@pytest.fixture
def desk(running: RunningStudio) -> Iterator[RunningStudio]:
    """The same, whose windows are closed after the test."""
    try:
        yield running
    finally:
        running.screens.close()


@pytest.mark.requirement("ST1")
def test_somebody_looks_at_the_tables_and_turns_recovery_on(desk: RunningStudio) -> None:
    page = desk.open()
    expect(page).to_have_url(f"{desk.screens.url}/studio/")
    page.get_by_role("link", name="TaskManagement").first.click()
    expect(page.get_by_role("heading", name="TaskManagement")).to_be_visible()
    expect(page.locator(".st-places")).to_contain_text("Task.by_status")
    expect(page.locator(".tw-facts")).to_contain_text("on demand")
    page.locator("summary[aria-label='Change']").click()
    page.get_by_role("button", name="Turn recovery on").click()
    dialog = page.get_by_role("dialog", name="UpdateContinuousBackups")
    expect(dialog).to_contain_text('"PointInTimeRecoveryEnabled": true')
    dialog.get_by_role("button", name="Change").click()
    expect(page.locator(".tw-facts dd").nth(5)).to_have_text("on")
    page.goto("/studio/writes")
    expect(page.locator("tbody tr").first).to_contain_text("UpdateContinuousBackups")
    assert serious_problems(page) == []


@pytest.mark.requirement("ST1")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_tables_fit_a_phone_and_hold_for_everybody(desk: RunningStudio, theme: str) -> None:
    page = desk.open("/tables", viewport=PHONE, color_scheme=theme)
    expect(page.get_by_role("link", name="odd", exact=True)).to_be_visible()
    assert overflow(page) <= 0
    assert serious_problems(page) == []
    page.set_viewport_size({"width": 1440, "height": 860})
    page.goto("/studio/tables/TaskManagement")
    expect(page.get_by_role("heading", name="TaskManagement")).to_be_visible()
    assert serious_problems(page) == []
