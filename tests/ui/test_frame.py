"""The frame: where somebody may go, by links, addresses and keys, in which theme and language."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.ui.screen_browser import DESK, PHONE, Screens, overflow, serious_problems

pytestmark = pytest.mark.requirement("AP2")


@pytest.mark.parametrize(
    "size", [pytest.param(DESK, id="desk", marks=pytest.mark.slow), pytest.param(PHONE, id="phone")]
)
def test_the_start_page_is_accessible_and_has_the_applications_of_a_person(
    screens: Screens, size: dict[str, int]
) -> None:
    page = screens.sign_in("grace", "/", viewport=size)
    page.wait_for_selector("h2:has-text('Hello, grace')")
    expect(page.get_by_role("link", name="Tasks").first).to_be_visible()
    expect(page.locator("#tw-content")).to_contain_text("Assigned to you")
    assert overflow(page) == 0
    assert serious_problems(page) == []


def test_the_apis_are_one_click_away(screens: Screens) -> None:
    page = screens.sign_in("grace", "/")
    page.get_by_role("link", name="API pages").first.click()
    page.wait_for_selector("h1:has-text('Tablewright')")
    expect(page).to_have_url(f"{screens.url}/api")
    page.wait_for_selector("a[href='/tasks/docs']")


def test_going_from_view_to_view_stays_on_the_page_and_back_works(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    page.evaluate("window.stayed = true")
    page.click(".tw-tab:has-text('List')")
    page.wait_for_selector(".tw-list-tabs")
    page.click(".tw-rail-item[href='/app/']")
    page.wait_for_selector("text=Hello, ada")
    expect(page).to_have_title("Start · Tablewright")
    page.go_back()
    page.wait_for_selector(".tw-list-tabs")
    expect(page).to_have_title("List · Tasks")
    expect(page).to_have_url(f"{screens.url}/app/tasks/list")
    page.go_back()
    page.wait_for_selector(".tw-board")
    assert page.evaluate("window.stayed") is True
    expect(page.locator(".tw-rail-item[href='/app/tasks']")).to_have_attribute("aria-current", "page")


def test_a_page_at_rest_animates_nothing(screens: Screens) -> None:
    """An animation that runs unseen takes a tenth of a core from everybody who has left a page open."""
    page = screens.sign_in("ada", "/tasks")
    page.wait_for_selector(".tw-tile")
    page.wait_for_function("document.getAnimations().every((each) => each.playState !== 'running')")


def test_everything_that_is_done_often_has_a_key(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks/list")
    page.wait_for_selector(".tw-item")
    page.keyboard.press("/")
    expect(page.locator("input[name=q]")).to_be_focused()
    page.keyboard.type("no such task at all")
    expect(page.locator(".tw-item:visible")).to_have_count(0)
    page.fill("input[name=q]", "")
    expect(page.locator(".tw-item:visible").first).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    focused = "document.activeElement.closest('[data-row]')?.getAttribute('href')"
    second = page.evaluate(focused)
    page.keyboard.press("k")
    assert page.evaluate(focused) != second
    page.keyboard.press("Enter")
    page.wait_for_selector(".tw-thing-head h2")
    page.keyboard.press("Escape")
    page.wait_for_selector("text=Choose a task")
    page.keyboard.press("?")
    page.wait_for_selector("dialog.tw-help[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.tw-help", state="hidden")
    page.keyboard.press("n")
    page.wait_for_selector("[role=dialog] input[name=title]")
    # A key that is typed into a field is text.
    page.keyboard.press("Escape")
    page.wait_for_selector("[role=dialog]", state="detached")


def test_unknown_addresses_show_page_not_found(screens: Screens) -> None:
    page = screens.sign_in("grace", "/tasks/no-such-view")
    page.wait_for_selector("text=Page not found")
    page.click("text=To the start page")
    page.wait_for_selector("text=Hello, grace")
    page.goto("/app/tasks/list/no-such-task")
    page.wait_for_selector("text=Page not found")
    page.goto("/app/no-such-application")
    page.wait_for_selector("text=Page not found")


def test_a_theme_is_chosen_and_remembered(screens: Screens) -> None:
    page = screens.sign_in("ada", "/", color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.click("summary[aria-label='Your account']")
    page.click("[data-theme-choice=dark]")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    page.wait_for_selector("text=Hello")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_phone_shows_one_column_with_a_way_back(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks/list", viewport=PHONE)
    page.click(".tw-item >> nth=0")
    page.wait_for_selector(".tw-thing-head h2")
    expect(page.locator(".tw-col-list")).not_to_be_visible()
    assert overflow(page) == 0
    # The bar at the top stays, and what belongs to the thing is below it.
    assert page.evaluate("document.querySelector('.tw-top').getBoundingClientRect().top") == 0
    page.locator(".tw-col-context >> text=Activity").scroll_into_view_if_needed()
    assert page.evaluate("document.querySelector('.tw-top').getBoundingClientRect().top") == 0
    page.locator(".tw-back").scroll_into_view_if_needed()
    page.click(".tw-back")
    page.wait_for_selector(".tw-col-list", state="visible")
    expect(page.locator(".tw-col-thing")).not_to_be_visible()


@pytest.mark.slow
@pytest.mark.requirement("AP3")
def test_a_search_finds_what_the_user_may_read_and_opens_it(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks/board")
    page.fill("input[name=q]", "<b>nothing</b>")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing found for “<b>nothing</b>”")).to_be_visible()
    expect(page).to_have_url(f"{screens.url}/app/search?q=%3Cb%3Enothing%3C%2Fb%3E")
    page.fill("input[name=q]", "passw")
    page.keyboard.press("Enter")
    result = page.locator(".tw-item", has_text="Fix the login page")
    expect(result.locator("mark")).to_have_text("passw")
    assert serious_problems(page) == []
    result.click()
    expect(page.locator(".tw-thing-head h2")).to_have_text("Fix the login page")
    # Somebody of another system finds nothing of it.
    page = screens.sign_in("sam", "/search?q=passw")
    nothing = page.get_by_text("Nothing found for “passw”")
    expect(nothing.or_(page.locator("a.tw-item")).first).to_be_visible()
    expect(page.get_by_text("Fix the login page")).to_have_count(0)


def test_files_that_do_not_change_are_kept_by_browsers(screens: Screens) -> None:
    page = httpx.get(f"{screens.url}/app/sign-in").text
    path = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    found = httpx.get(screens.url + path)
    assert (found.status_code, found.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in found.headers["cache-control"]
    assert httpx.get(f"{screens.url}/app/static/../secrets.json").status_code in (303, 404)
    assert httpx.get(f"{screens.url}/app/static/secrets.json").status_code == 404
