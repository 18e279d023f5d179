"""Every part of the design language is drawn, in both themes and sizes, for people with disabilities as well."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests.ui.screen_browser import DESK, PHONE, Screens, overflow, serious_problems

pytestmark = pytest.mark.requirement("AP1")


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        pytest.param(DESK, "light", id="desk, light"),
        pytest.param(PHONE, "dark", id="phone, dark"),
        pytest.param(DESK, "dark", id="desk, dark", marks=pytest.mark.slow),
        pytest.param(PHONE, "light", id="phone, light", marks=pytest.mark.slow),
    ],
)
def test_all_parts_are_drawn_and_accessible(
    screens: Screens, theme: Literal["light", "dark"], size: dict[str, Any]
) -> None:
    page = screens.sign_in("ada", "/gallery", viewport=size, color_scheme=theme)
    page.wait_for_selector("text=Rotate signing keys")
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    assert overflow(page) == 0
    assert serious_problems(page) == []


def test_nothing_is_loaded_from_elsewhere(screens: Screens) -> None:
    page = screens.page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto("/app/sign-in?to=/gallery")
    page.click("button[value=ada]")
    page.wait_for_selector("text=Rotate signing keys")
    assert [url for url in requests if not url.startswith((screens.url, "data:"))] == []
    assert problems == []


def test_text_is_text_whatever_is_in_it(screens: Screens) -> None:
    page = screens.sign_in("ada", "/gallery")
    expect(page.locator("text=<b>This is not bold.</b>")).to_have_count(1)


def test_refusals_and_internal_errors_are_shown(screens: Screens) -> None:
    page = screens.sign_in("ada", "/gallery")
    page.click("button:has-text('Refused')")
    page.wait_for_selector(".tw-toast-bad:has-text('Task t-9 is CLOSED')")
    page.click("button:has-text('Broken')")
    page.wait_for_selector(".tw-toast-bad:has-text('An internal error occurred')")
    assert "programmer" not in page.content()


def test_a_toast_takes_back_what_was_done(screens: Screens) -> None:
    page = screens.sign_in("ada", "/gallery")
    page.get_by_role("button", name="Undo").click()
    page.click(".tw-toast-undo")
    page.wait_for_selector(".tw-toast:has-text('Moved back')")


def test_a_form_shows_what_is_wrong_at_the_field(screens: Screens) -> None:
    page = screens.sign_in("ada", "/gallery")
    page.click("[data-submit]")
    page.wait_for_selector(".tw-invalid .tw-field-error:has-text('This is required')")
    page.fill("input[name=title]", "A title")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".tw-toast:has-text('Created A title')")
    expect(page.locator(".tw-invalid")).to_have_count(0)


def test_a_list_goes_on_when_its_end_comes_into_view(screens: Screens) -> None:
    page = screens.sign_in("ada", "/gallery")
    expect(page.locator("text=Number 41")).to_have_count(0)
    for number in (20, 40, 60):
        page.locator(f"text='Number {number}'").scroll_into_view_if_needed()
    page.wait_for_selector("text=60 in total")


def test_what_cannot_be_undone_is_asked(screens: Screens) -> None:
    page = screens.sign_in("ada", "/gallery")
    page.click("button:has-text('Danger')")
    page.click("[role=alertdialog] button:has-text('Cancel')")
    page.wait_for_selector("[role=alertdialog]", state="detached")
    page.click("button:has-text('Danger')")
    page.click("[role=alertdialog] button:has-text('Delete')")
    page.wait_for_selector(".tw-toast:has-text('Deleted')")
