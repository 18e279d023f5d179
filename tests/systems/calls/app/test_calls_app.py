"""The calendar of calls, as schedulers and customers use it."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.screen_browser import DESK, PHONE, Screens, also_on_an_endpoint, overflow, serious_problems
from tests.ui.unique_names import unique_id

pytestmark = pytest.mark.requirement("AP7")

ROME = "Europe/Rome"
# Far from the calls of the demo, and in the future.
MONDAY = date(2031, 6, 2)


def calendar_of(screens: Screens, who: str, *people: str, day: date = MONDAY, span: str = "week") -> Page:
    page = screens.sign_in(who, f"/calls/{span}/{day}?who={','.join(people)}", timezone_id=ROME)
    page.wait_for_selector(".tw-cal-bar h2")
    return page


def create(page: Page, user: str | None, provider: str, when: str, minutes: int = 30) -> None:
    page.keyboard.press("n")
    fill(page, user, provider, when, minutes)
    page.wait_for_selector("[role=dialog]", state="detached")


def fill(page: Page, user: str | None, provider: str, when: str, minutes: int = 30) -> None:
    if user is not None:
        page.fill("[role=dialog] input[name=userId]", user)
    page.fill("[role=dialog] input[name=providerId]", provider)
    page.fill("[role=dialog] input[name=scheduledFor]", when)
    page.select_option("[role=dialog] select", str(minutes))
    page.click("[role=dialog] [data-submit]")


def event(page: Page, label: str) -> Locator:
    return page.locator(f"a[data-event][aria-label*='{label}']")


def at(page: Page, day: date, minute: int) -> tuple[float, float]:
    """Where a time of a day is on the screen."""
    column = page.locator(f"[data-column='{day}']")
    column.evaluate(
        "(column, minute) => { column.closest('.tw-cal-scroll').scrollTop = Math.max(0, minute - 300); }", minute
    )
    box = column.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + minute + 1


def drag(page: Page, label: str, day: date, minute: int, *, grab: int = 5) -> None:
    """Drag a call so that it begins at a time."""
    found = event(page, label)
    # Both places are in view, so that nothing scrolls meanwhile.
    top = min(minute, int(found.get_attribute("data-from") or 0)) - 90
    page.locator(".tw-cal-scroll").evaluate("(scroller, top) => { scroller.scrollTop = Math.max(0, top); }", top)
    box = found.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + grab
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 8, y + 8)
    column = page.locator(f"[data-column='{day}']").bounding_box()
    assert column is not None
    page.mouse.move(column["x"] + column["width"] / 2, column["y"] + minute + grab, steps=4)


@also_on_an_endpoint
def test_a_call_from_its_creation_to_its_end(screens: Screens) -> None:
    user, provider, other = unique_id("u"), unique_id("p"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}")
    create(page, user, provider, f"{MONDAY}T10:00", 45)
    made = event(page, f"{user} with {provider}")
    expect(made).to_have_attribute("aria-label", f"10:00 \u2013 10:45, {user} with {provider}, scheduled")
    box = made.bounding_box()
    assert box is not None
    assert box["height"] == pytest.approx(43, abs=1)
    made.click()
    page.wait_for_selector(f".tw-cal-detail h2:has-text('{user} with {provider}')")
    page.click(".tw-cal-detail button:has-text('Change provider')")
    page.fill("[role=dialog] input[name=providerId]", other)
    page.click("[role=dialog] [data-submit]")
    expect(event(page, f"{user} with {other}")).to_have_count(1)
    page.click(".tw-cal-detail button:has-text('Reschedule')")
    page.fill("[role=dialog] input[name=scheduledFor]", f"{MONDAY + timedelta(days=1)}T11:30")
    page.click("[role=dialog] [data-submit]")
    expect(page.locator(f"[data-column='{MONDAY + timedelta(days=1)}'] [data-event]")).to_have_count(1)
    page.click(".tw-cal-detail button:has-text('Complete')")
    expect(event(page, f"{user} with {other}, completed")).to_have_count(1)
    page.click(".tw-toast:has-text('Completed') .tw-toast-undo")
    expect(event(page, f"{user} with {other}, scheduled")).to_have_count(1)
    page.click(".tw-cal-detail button:has-text('Cancel call')")
    expect(event(page, f"{user} with {other}, cancelled")).to_have_count(1)


@also_on_an_endpoint
def test_a_call_is_dragged_to_another_time_and_back_by_undo(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}")
    create(page, user, provider, f"{MONDAY}T10:00")
    drag(page, user, MONDAY + timedelta(days=2), 11 * 60 + 20)
    page.mouse.up()
    # In steps of a quarter of an hour.
    expect(event(page, f"11:15 \u2013 11:45, {user}")).to_have_count(1)
    expect(page.locator(f"[data-column='{MONDAY + timedelta(days=2)}'] [data-event]")).to_have_count(1)
    page.click(".tw-toast:has-text('Moved to') .tw-toast-undo")
    expect(page.locator(f"[data-column='{MONDAY}'] [data-event]")).to_have_count(1)


@also_on_an_endpoint
def test_a_time_that_is_taken_is_refused_as_the_call_is_dragged_and_it_goes_back(screens: Screens) -> None:
    user, provider, other = unique_id("u"), unique_id("p"), unique_id("u")
    page = calendar_of(screens, "cleo", f"user:{user}")
    create(page, user, provider, f"{MONDAY}T09:00")
    create(page, user, unique_id("p"), f"{MONDAY}T10:00", 60)
    # One that is on the screen is seen at once.
    drag(page, f"with {provider}", MONDAY, 10 * 60 + 30)
    page.wait_for_selector(".tw-cal-ghost[data-taken]:has-text('taken')")
    page.mouse.up()
    page.wait_for_selector(f".tw-toast-bad:has-text('That time is taken: {user} has another call')")
    page.wait_for_selector(".tw-cal-ghost", state="detached")
    expect(event(page, f"9:00 \u2013 9:30, {user}")).to_have_count(1)
    # One that is not, the service knows of: the provider is with somebody else.
    create(page, other, provider, f"{MONDAY}T15:00")
    drag(page, f"with {provider}", MONDAY, 15 * 60)
    expect(page.locator(".tw-cal-ghost[data-taken]")).to_have_count(0)
    page.mouse.up()
    page.wait_for_selector(f".tw-toast-bad:has-text('That time is taken: {provider} has another call')")
    expect(event(page, f"9:00 \u2013 9:30, {user}")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_a_call_is_made_longer_by_its_lower_edge(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}")
    create(page, user, provider, f"{MONDAY}T10:00")
    edge = event(page, user).locator("[data-resize]").bounding_box()
    assert edge is not None
    x, y = edge["x"] + edge["width"] / 2, edge["y"] + 3
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=4)
    page.mouse.up()
    expect(event(page, f"10:00 \u2013 11:30, {user}")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_a_click_on_a_free_time_is_a_new_call_there(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}")
    page.mouse.click(*at(page, MONDAY + timedelta(days=3), 13 * 60 + 30))
    expect(page.locator("[role=dialog] input[name=userId]")).to_have_value(user)
    expect(page.locator("[role=dialog] input[name=scheduledFor]")).to_have_value("2031-06-05T13:30")
    page.fill("[role=dialog] input[name=providerId]", provider)
    page.click("[role=dialog] [data-submit]")
    expect(event(page, f"13:30 \u2013 14:00, {user}")).to_have_count(1)


@also_on_an_endpoint
def test_two_browsers_see_each_other(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    one = calendar_of(screens, "cleo", f"user:{user}")
    other = calendar_of(screens, "root", f"provider:{provider}")
    create(one, user, provider, f"{MONDAY}T10:00")
    expect(event(other, user)).to_be_visible()
    drag(one, user, MONDAY, 12 * 60)
    one.mouse.up()
    expect(event(other, f"12:00 \u2013 12:30, {user}")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_dropping_a_call_that_another_user_moved_is_refused_with_a_message(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    one = calendar_of(screens, "cleo", f"user:{user}")
    create(one, user, provider, f"{MONDAY}T10:00")
    other = calendar_of(screens, "root", f"user:{user}")
    # One has taken the call when it is moved by the other, and drops it after that.
    drag(one, user, MONDAY, 8 * 60)
    drag(other, user, MONDAY, 14 * 60)
    other.mouse.up()
    expect(event(one, f"14:00 \u2013 14:30, {user}")).to_have_count(1)
    one.mouse.up()
    one.wait_for_selector(".tw-toast-bad")
    expect(event(one, f"14:00 \u2013 14:30, {user}")).to_have_count(1)


@also_on_an_endpoint
def test_customers_see_and_book_their_own_and_ask_before_they_cancel(screens: Screens) -> None:
    page = screens.sign_in("ada", "/calls/week/2031-06-09?who=user:bob", timezone_id=ROME)
    provider = unique_id("p")
    expect(page.locator("text=Add a calendar")).to_have_count(0)
    page.keyboard.press("n")
    expect(page.locator("[role=dialog] input[name=userId]")).to_have_count(0)
    fill(page, None, provider, "2020-01-01T10:00")
    page.wait_for_selector("[role=dialog] .tw-field-error:has-text('in the past')")
    fill(page, None, provider, "2031-06-09T10:00")
    page.wait_for_selector("[role=dialog]", state="detached")
    event(page, f"ada with {provider}").click()
    page.wait_for_selector(".tw-cal-detail h2")
    for words in ("Complete", "Change user"):
        expect(page.locator(f".tw-cal-detail button:has-text('{words}')")).to_have_count(0)
    page.click(".tw-cal-detail button:has-text('Cancel call')")
    page.click("[role=alertdialog] button:has-text('Cancel call')")
    expect(event(page, f"ada with {provider}, cancelled")).to_have_count(1)
    # A call of somebody else is not there, by its address either.
    page.goto("/app/calls/call/demo-3")
    page.wait_for_selector("text=Page not found")


@pytest.mark.slow
@also_on_an_endpoint
def test_every_date_view_and_call_has_an_address_and_keys_lead_there(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}")
    create(page, user, provider, f"{MONDAY}T10:00")
    event(page, user).click()
    page.wait_for_selector(".tw-cal-detail h2")
    call_id = page.url.split("/")[-1].split("?")[0]
    page.keyboard.press("Escape")
    expect(page.locator(".tw-cal-detail")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("h2:has-text('9 \u2013 15 June 2031')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("h2:has-text('2 \u2013 8 June 2031')")
    page.keyboard.press("m")
    page.wait_for_selector(f".tw-cal-cell[data-cell='{MONDAY}'] [data-event='{call_id}']")
    page.keyboard.press("d")
    page.wait_for_selector("h2:has-text('Mon 2 June 2031')")
    page.keyboard.press("t")
    page.wait_for_selector(f"[data-column='{datetime.now(ZoneInfo(ROME)).date()}'] .tw-cal-now")
    page.go_back()
    page.wait_for_selector("h2:has-text('Mon 2 June 2031')")
    other = screens.sign_in("root", "/", timezone_id=ROME)
    other.goto(f"/app/calls/call/{call_id}")
    other.wait_for_selector(f"[data-column='{MONDAY}'] [data-event='{call_id}'][aria-current]")
    other.wait_for_selector(".tw-cal-detail:has-text('cleo scheduled it')")


@pytest.mark.slow
def test_times_are_those_of_the_zone_that_is_chosen(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}")
    create(page, user, provider, f"{MONDAY}T10:00")
    page.select_option(".tw-cal-side select", "America/New_York")
    expect(event(page, f"4:00 \u2013 4:30, {user}")).to_have_count(1)
    expect(page).to_have_url(re.compile("zone=America%2FNew_York"))
    # Midnight there is another day here.
    page.select_option(".tw-cal-side select", "Pacific/Auckland")
    expect(event(page, f"20:00 \u2013 20:30, {user}")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_a_call_in_the_hour_that_is_there_twice_is_dragged_to_the_second(screens: Screens) -> None:
    user, provider, sunday = unique_id("u"), unique_id("p"), date(2031, 10, 26)
    page = calendar_of(screens, "cleo", f"user:{user}", day=sunday)
    assert page.locator(".tw-cal-hour:has-text('2:00')").all_inner_texts() == [
        "2:00 CEST",
        "2:00 CET",
        "12:00",
        "22:00",
    ]
    create(page, user, provider, f"{sunday}T09:00")
    drag(page, user, sunday, 3 * 60 + 30)
    page.mouse.up()
    moved = event(page, f"2:30 \u2013 3:00, {user}")
    expect(moved).to_have_attribute("data-from", "210")


@pytest.mark.slow
@also_on_an_endpoint
def test_a_month_takes_calls_from_day_to_day_at_the_same_time(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = calendar_of(screens, "cleo", f"user:{user}", span="month")
    create(page, user, provider, f"{MONDAY}T10:00")
    card = event(page, user).bounding_box()
    cell = page.locator(f"[data-cell='{MONDAY + timedelta(days=9)}']").bounding_box()
    assert card is not None
    assert cell is not None
    page.mouse.move(card["x"] + 20, card["y"] + 8)
    page.mouse.down()
    page.mouse.move(cell["x"] + 40, cell["y"] + 50, steps=4)
    page.mouse.up()
    expect(page.locator(f"[data-cell='{MONDAY + timedelta(days=9)}'] [data-event]")).to_have_count(1)
    expect(event(page, f"10:00 \u2013 10:30, {user}")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_calendars_are_added_shown_together_and_remembered(screens: Screens) -> None:
    user, provider = unique_id("u"), unique_id("p")
    page = screens.sign_in("cleo", "/calls", timezone_id=ROME)
    page.wait_for_selector("text=Whose calendar?")
    for side, person in (("provider", provider), ("user", user)):
        page.locator("button:has-text('Add a calendar')").first.click()
        page.select_option("[role=dialog] select", side)
        page.fill("[role=dialog] input[name=id]", person)
        page.click("[role=dialog] [data-submit]")
        page.wait_for_selector(f".tw-cal-person:has-text('{person}')")
    page.wait_for_function("(who) => document.cookie.includes(who)", arg=user)
    page.goto("/app/calls")
    expect(page.locator(".tw-cal-person")).to_have_count(2)
    page.locator(f".tw-cal-person:has-text('{user}') a[aria-label]").click()
    expect(page.locator(".tw-cal-person")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_values_that_are_html_are_refused_or_text(screens: Screens) -> None:
    page = calendar_of(screens, "cleo", "user:<img src=x onerror=alert(1)>")
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    page.wait_for_selector("text=Whose calendar?")
    page.locator("button:has-text('Add a calendar')").first.click()
    page.fill("[role=dialog] input[name=id]", "<b>x</b>")
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog] .tw-invalid")
    page.goto("/app/calls/week/<img src=x onerror=alert(1)>/<svg onload=alert(1)>?zone=<b>")
    page.wait_for_selector(".tw-cal-bar h2")
    expect(page.locator("img[src=x]")).to_have_count(0)


@pytest.mark.parametrize(
    "size", [pytest.param(DESK, id="desk", marks=pytest.mark.slow), pytest.param(PHONE, id="phone")]
)
def test_every_view_is_accessible_and_fits(screens: Screens, size: dict[str, int]) -> None:
    page = screens.sign_in("cleo", "/calls", viewport=size)
    for span in ("day", "week", "month", "agenda"):
        page.goto(f"/app/calls/{span}/{date.today()}?who=user:ada,provider:p-garcia")
        page.wait_for_selector(".tw-cal-bar h2")
        assert overflow(page) == 0
        assert serious_problems(page) == []


def test_on_a_phone_it_is_an_agenda_and_a_call_fills_the_screen(screens: Screens) -> None:
    page = screens.sign_in("ada", "/calls", viewport=PHONE)
    page.wait_for_selector(".tw-cal-agenda")
    page.locator("[data-event]").first.click()
    page.wait_for_selector(".tw-cal-detail h2")
    assert overflow(page) == 0
    assert serious_problems(page) == []


@pytest.mark.slow
@also_on_an_endpoint
def test_the_start_page_shows_the_users_next_calls(screens: Screens) -> None:
    ada, cleo = screens.sign_in("ada", "/"), calendar_of(screens, "cleo", "user:ada")
    provider = unique_id("p")
    pill = ada.locator(".tw-stack-tight:has-text('My next calls') .tw-pill")
    before = int(pill.inner_text())
    create(cleo, "ada", provider, f"{MONDAY + timedelta(days=20)}T10:00")
    expect(pill).to_have_text(str(before + 1))


def test_the_calendar_speaks_italian(screens: Screens) -> None:
    page = screens.sign_in("ada", "/calls/month/2031-06-02", locale="it-IT")
    page.wait_for_selector("h2:has-text('Giugno 2031')")
    page.wait_for_selector("button:has-text('Nuova chiamata')")


@also_on_an_endpoint
def test_calls_can_be_downloaded_as_an_icalendar(screens: Screens) -> None:
    page = screens.sign_in("ada", "/calls", timezone_id=ROME)
    with page.expect_download() as downloaded:
        page.click("button:has-text('Download')")
    content = downloaded.value.path().read_text()
    assert downloaded.value.suggested_filename == "calls.ics"
    assert content.startswith("BEGIN:VCALENDAR")
    assert "ada with p-garcia" in content


@pytest.mark.slow
@also_on_an_endpoint
def test_a_user_subscribes_to_reminders_and_to_a_calendar(screens: Screens) -> None:
    page = screens.sign_in("ada", "/calls", timezone_id=ROME)
    page.click("button:has-text('Reminders by mail')")
    page.select_option("[role=dialog] select", "60")
    page.fill("[role=dialog] input[name=email]", "nobody")
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog] .tw-invalid")
    page.fill("[role=dialog] input[name=email]", "ada@example.org")
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector(".tw-toast:has-text('Reminders are on')")
    page.click("button:has-text('Subscribe to calendar')")
    page.click("[role=dialog] [data-submit]")
    address = page.locator("[role=dialog] input[readonly]")
    expect(address).to_have_value(re.compile(r"/calls/calendars/ada/.{32}\.ics$"))
    assert serious_problems(page) == []
    content = page.context.request.get(urlsplit(address.input_value()).path)
    assert content.text().startswith("BEGIN:VCALENDAR")
