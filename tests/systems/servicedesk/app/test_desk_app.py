"""The screens of Service Desk, as people at the desk use them."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.ui.screen_browser import DESK, PHONE, Screens, also_on_an_endpoint, overflow, serious_problems
from tests.ui.unique_names import unique_text

pytestmark = pytest.mark.requirement("AP4")


def open_ticket(page: Page, issue: str, caller: str = "") -> None:
    page.keyboard.press("n")
    page.fill("[role=dialog] input[name=caller_id]", caller or uuid4().hex)
    page.fill("[role=dialog] textarea[name=issue_description]", issue)
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog]", state="detached")
    page.wait_for_selector(f"header h2:has-text('{issue[:20]}')")


def row(page: Page, issue: str) -> str:
    return f".tw-item:has-text('{issue}')"


@also_on_an_endpoint
def test_a_ticket_from_the_call_to_its_end(screens: Screens) -> None:
    page = screens.sign_in("sam", "/servicedesk")
    issue = unique_text("The badge reader blinks red")
    open_ticket(page, issue)
    page.click("header button:has-text('Take')")
    expect(page.locator(f"{row(page, issue)} .tw-pill:has-text('in progress')")).to_be_visible()
    page.select_option("aside select, .tw-facts select", "P1")
    expect(page.locator(f"{row(page, issue)} .tw-pill:has-text('urgent')")).to_be_visible()
    page.fill("textarea[name=comment_text]", "My password is hunter2! and I am at gate 4")
    page.keyboard.press("Control+Enter")
    # What was masked is seen as masked, and nowhere else. The change is drawn as soon as the stream has it, which may
    # be before the call has its answer and the composer is empty.
    expect(page.locator(".tw-message-mine .tw-masked")).to_have_count(1)
    expect(page.locator("textarea[name=comment_text]")).to_have_value("")
    assert "hunter2" not in page.content()
    expect(page.locator("text=/answered \\d/")).to_be_visible()
    page.click("header button:has-text('Resolve')")
    page.wait_for_selector("header button:has-text('Close')")
    # What is done has left the queue.
    expect(page.locator(row(page, issue))).to_have_count(0)
    page.click("header button:has-text('Open again')")
    expect(page.locator(row(page, issue))).to_have_count(1)


def test_of_two_choices_at_once_the_second_holds_though_the_list_is_drawn_again(screens: Screens) -> None:
    page = screens.sign_in("sam", "/servicedesk")
    issue = unique_text("The lift stops between floors")
    open_ticket(page, issue)
    # Some at once, and one when the list that it is chosen from has been drawn again.
    page.locator(".tw-facts select").first.evaluate(
        """async (list) => {
            for (const [value, pause] of [["P1", 0], ["P2", 5], ["P1", 80], ["P4", 400]]) {
                await new Promise((done) => setTimeout(done, pause));
                list.value = value;
                list.dispatchEvent(new Event("change", {bubbles: true}));
            }
        }"""
    )
    expect(page.locator(".tw-facts select").first).to_have_value("P4")
    expect(page.locator(f"{row(page, issue)} .tw-pill:has-text('low')")).to_be_visible()
    expect(page.locator(".tw-toast-bad")).to_have_count(0)


@also_on_an_endpoint
def test_two_at_the_desk_see_each_other(screens: Screens) -> None:
    sam, dora = screens.sign_in("sam", "/servicedesk"), screens.sign_in("dora", "/servicedesk/queue?list=unassigned")
    issue = unique_text("No sound in room 12")
    open_ticket(sam, issue)
    expect(dora.locator(row(dora, issue))).to_be_visible()
    sam.click("header button:has-text('Take')")
    expect(dora.locator(row(dora, issue))).to_have_count(0)


@also_on_an_endpoint
def test_of_two_agents_who_take_a_ticket_the_second_sees_the_first(screens: Screens) -> None:
    sam = screens.sign_in("sam", "/servicedesk")
    issue = unique_text("Whose is this")
    open_ticket(sam, issue)
    dora = screens.sign_in("dora", sam.url.split("/app", 1)[1])
    dora.wait_for_selector("header button:has-text('Take')")
    # Sam's window does not hear of it before the click.
    sam.context.set_offline(True)
    dora.click("header button:has-text('Take')")
    dora.wait_for_selector(".tw-toast:has-text('is now assigned to you')")
    sam.context.set_offline(False)
    take = sam.locator("header button:has-text('Take')")
    if take.count():
        take.click(timeout=5_000)
    expect(sam.locator("dd .tw-avatar[title=dora]")).to_be_visible()


@pytest.mark.slow
@also_on_an_endpoint
def test_the_number_that_a_caller_says_leads_to_the_ticket(screens: Screens) -> None:
    page = screens.sign_in("sam", "/servicedesk")
    issue = unique_text("Where is my ticket")
    open_ticket(page, issue)
    number = page.inner_text(".tw-thing-head .tw-mono")
    page.goto("/app/servicedesk/queue")
    page.wait_for_selector(".tw-item")
    page.keyboard.press("/")
    page.keyboard.type(number.lower().replace("-", " "))
    page.keyboard.press("Enter")
    page.wait_for_selector(f"header h2:has-text('{issue}')")


@pytest.mark.slow
@also_on_an_endpoint
def test_the_caller_s_other_tickets_stand_beside_it(screens: Screens) -> None:
    page = screens.sign_in("sam", "/servicedesk")
    first, second, caller = unique_text("First of a caller"), unique_text("Second of a caller"), uuid4().hex
    open_ticket(page, first, caller)
    open_ticket(page, second, caller)
    page.click(f"a:has-text('{first}'):has(.tw-link)")
    page.wait_for_selector(f"header h2:has-text('{first}')")
    # A number is shown by the end of its hash.
    open_ticket(page, unique_text("By phone"), "+39 06 1234567")
    assert "1234567" not in page.content()
    expect(page.locator(".tw-thing-head")).to_contain_text("•••")


@pytest.mark.slow
@also_on_an_endpoint
def test_markup_in_a_ticket_is_shown_as_text(screens: Screens) -> None:
    page = screens.sign_in("sam", "/servicedesk")
    issue = "<img src=x onerror=\"document.title='owned'\"> שלום " + uuid4().hex[:6]
    page.keyboard.press("n")
    page.fill("[role=dialog] input[name=caller_id]", "<b>caller</b>")
    page.fill("[role=dialog] textarea[name=issue_description]", issue)
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog]", state="detached")
    page.wait_for_selector("header h2:has-text('onerror')")
    assert page.title() != "owned"
    expect(page.locator("#tw-content img")).to_have_count(0)


@pytest.mark.slow
@also_on_an_endpoint
def test_a_long_text_is_shown_and_a_comment_that_does_not_fit_is_refused(screens: Screens) -> None:
    page = screens.sign_in("sam", "/servicedesk")
    open_ticket(page, unique_text("Long story"))
    page.fill("textarea[name=comment_text]", "word " * 9_000)
    page.click("[data-submit]")
    expect(page.locator(".tw-message-mine")).to_have_count(1)
    assert overflow(page) <= 0


def test_the_voice_agent_has_no_screen(screens: Screens) -> None:
    page = screens.sign_in("voice-agent", "/servicedesk/queue")
    page.wait_for_selector("text=Page not found")
    expect(page.locator(".tw-item")).to_have_count(0)
    expect(page.locator(".tw-rail a[href*=servicedesk]")).to_have_count(0)


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    [
        pytest.param(DESK, "light", id="desk, light"),
        pytest.param(PHONE, "dark", id="phone, dark"),
        pytest.param(DESK, "dark", id="desk, dark", marks=pytest.mark.slow),
        pytest.param(PHONE, "light", id="phone, light", marks=pytest.mark.slow),
    ],
)
def test_it_can_be_used_by_everybody(screens: Screens, viewport: dict[str, int], scheme: str) -> None:
    page = screens.sign_in("dora", "/servicedesk", viewport=viewport, color_scheme=scheme)
    page.wait_for_selector(".tw-item")
    assert overflow(page) <= 0
    page.locator(".tw-item").first.click()
    page.wait_for_selector("header h2")
    assert overflow(page) <= 0
    assert serious_problems(page) == []
