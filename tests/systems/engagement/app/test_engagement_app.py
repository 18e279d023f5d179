"""The screens of Engagement, as marketers, approvers, viewers and admins use them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.ui.screen_browser import PHONE, Screens, also_on_an_endpoint, overflow, serious_problems
from tests.ui.unique_names import unique_id

pytestmark = pytest.mark.requirement("AP6")

PROGRAMS = "/engagement/programs"


def field(page: Page, name: str) -> Any:
    return page.locator(f"[name='{name}']")


def write_program(page: Page, program_id: str, name: str) -> None:
    """Fill in the editor of a new program, over the customers of the demo."""
    page.goto("/app/engagement/new")
    expect(page.locator("[data-checked]")).to_be_visible()
    field(page, "programId").fill(program_id)
    field(page, "marketplaceId").fill("EU")
    field(page, "programName").fill(name)
    field(page, "dataConnectors.0.query").fill("SELECT * FROM customers WHERE age >= 18")
    field(page, "channels.0.config.subject").fill("For $first_name")
    expect(page.locator("[data-checked]:has-text('Everything is valid')")).to_be_visible()


def open_program(screens: Screens, user: str, program_id: str, section: str = "", **options: Any) -> Page:
    page = screens.sign_in(user, f"{PROGRAMS}/EU/{program_id}{section}", **options)
    expect(page.locator(".tw-thing-head h2")).to_be_visible()
    return page


@also_on_an_endpoint
def test_a_program_from_its_first_line_to_its_run(screens: Screens) -> None:
    """A marketer writes, an approver reads, tries out and approves, and the marketer sees it at once and runs it."""
    program_id, name = unique_id("p"), "<b>Beans</b> & more"
    mark = screens.sign_in("marketer", PROGRAMS)
    write_program(mark, program_id, name)
    # It is checked as it is written, each problem at its field.
    field(mark, "channels.0.config.text").fill("Hello $city")
    wrong = mark.locator(".tw-field:has([name='channels.0.config.text']) .tw-field-error")
    expect(wrong).to_contain_text("unknown name $city")
    field(mark, "scoringModels.0.weight").fill("lots")
    expect(mark.locator("[data-checked]:has-text('problem')")).to_be_visible()
    field(mark, "scoringModels.0.weight").fill("0.5")
    field(mark, "channels.0.config.text").fill("Hello $first_name")
    expect(mark.locator("[data-checked]:has-text('Everything is valid')")).to_be_visible()
    mark.click("[data-submit]")
    expect(mark.locator(".tw-thing-head h2")).to_have_text(name)
    expect(mark.locator(".tw-thing-head .tw-pill")).to_have_text("draft")
    paola = screens.sign_in("paola", PROGRAMS)
    mark.click("button:has-text('Request approval')")
    # Whoever approves is told, without looking again.
    expect(paola.locator(f".tw-toast:has-text('{name}')")).to_be_visible()
    paola.click(f".tw-item[href*='{program_id}']")
    paola.click("[data-dry-run]")
    expect(paola.locator(".tw-funnel dt")).to_have_text(
        ["Read", "preference", "Scored", "frequency", "eligibility", "email"]
    )
    expect(paola.locator(".tw-funnel-bar .tw-num").first).to_have_text("292")
    field(paola, "previewed").fill("c-0000064")
    field(paola, "previewed").press("Enter")
    expect(paola.locator(".tw-letter:has-text('ada.64@example.org')")).to_contain_text("For Ada")
    paola.click("button:has-text('Approve')")
    expect(mark.locator(".tw-thing-head .tw-pill")).to_have_text("enabled")
    mark.click("button:has-text('Run now')")
    expect(mark.locator("[data-run][data-state=completed]")).to_be_visible()
    expect(mark.locator("[data-run]")).to_contain_text("292 of 292")
    # It needs another approval as soon as it is another program.
    mark.click("a:has-text('Edit')")
    field(mark, "candidateTTLDays").fill("7")
    mark.click("[data-submit]")
    expect(mark.locator(".tw-thing-head .tw-pill")).to_have_text("draft")
    expect(mark.locator("button:has-text('Run now')")).to_have_count(0)


@pytest.mark.slow
@also_on_an_endpoint
def test_authors_are_not_offered_approval_and_a_program_can_be_sent_back(screens: Screens) -> None:
    program_id = unique_id("p")
    enzo = screens.sign_in("enzo", PROGRAMS)
    write_program(enzo, program_id, program_id)
    enzo.click("[data-submit]")
    enzo.click("button:has-text('Request approval')")
    expect(enzo.locator(".tw-thing-head .tw-pill")).to_have_text("waiting for approval")
    # An admin may approve, but not this one.
    expect(enzo.locator("button:has-text('Approve')")).to_have_count(0)
    paola = open_program(screens, "paola", program_id)
    paola.click("button:has-text('Send back')")
    field(paola, "reason").fill("<i>too often</i>")
    paola.click("[role=dialog] [data-submit]")
    expect(enzo.locator(".tw-banner")).to_contain_text("<i>too often</i>")
    expect(enzo.locator(".tw-thing-head .tw-pill")).to_have_text("declined")
    start = screens.sign_in("enzo", "/")
    expect(start.locator(".tw-card:has-text('Engagement')")).to_contain_text("Programs that were sent back")


# More than a lifetime of rows, so that a run is in progress until somebody ends it.
ENDLESS = "SELECT max(a.range + b.range) AS customer_id FROM range(1000000000000) a CROSS JOIN range(1000000) b"


def approved_program(screens: Screens, query: str) -> str:
    """A program that the marketer has written and paola approved, by the API."""
    tokens = httpx.get(f"{screens.url}/tokens.json").json()
    own = {each["user"]: each["token"] for each in tokens if each["system"] == "engagement"}
    program_id = unique_id("p")
    path = f"{screens.url}/engagement/programs/{program_id}/marketplaces/EU"
    mark, paola = ({"Authorization": f"Bearer {own[name]}"} for name in ("marketer", "paola"))
    body = {
        "programName": program_id,
        "dataConnectors": [{"type": "files", "tables": {"customers": "customers.csv"}, "query": query}],
        "scoringModels": [{"modelId": "value-v1", "weight": 1}],
        "channels": [{"channelId": "push", "priority": 1}],
    }
    httpx.put(path, json=body, headers=mark, timeout=60).raise_for_status()
    version = httpx.post(f"{path}/approval/request", headers=mark, timeout=60).raise_for_status().json()["version"]
    approval = httpx.post(f"{path}/approval/approve", headers=paola, json={"version": version}, timeout=60)
    approval.raise_for_status()
    return program_id


@pytest.mark.slow
@also_on_an_endpoint
def test_a_run_is_paused_resumed_and_cancelled_and_others_see_it(screens: Screens) -> None:
    program_id = approved_program(screens, ENDLESS)
    mark = open_program(screens, "marketer", program_id, "/runs")
    viewer = open_program(screens, "viewer", program_id, "/runs")
    mark.click("button:has-text('Run now')")
    run = viewer.locator("[data-run]")
    expect(run).to_have_attribute("data-state", "running")
    expect(viewer.locator("button:has-text('Pause')")).to_have_count(0)
    mark.click("button:has-text('Pause')")
    expect(run).to_have_attribute("data-state", "stopped")
    mark.click("button:has-text('Resume')")
    expect(run).to_have_attribute("data-state", "running")
    mark.click("button:has-text('Cancel run')")
    # There is no way back from here, so it is asked.
    mark.click("[role=alertdialog] button:has-text('Cancel run')")
    expect(run).to_have_attribute("data-state", "cancelled")
    expect(mark.locator("button:has-text('Resume')")).to_have_count(0)


@also_on_an_endpoint
def test_two_browsers_see_a_rejection_and_why_a_candidate_is_there(screens: Screens) -> None:
    mark = open_program(screens, "marketer", "coffee", "/candidates")
    viewer = open_program(screens, "viewer", "coffee", "/candidates")
    last = mark.locator(".tw-list-card [data-row]").nth(20)
    customer = last.locator(".tw-item-title").inner_text()
    last.click()
    drawer = mark.locator(".tw-drawer")
    expect(drawer.locator("h2")).to_have_text(customer)
    expect(drawer).to_contain_text("weight 0.7")
    expect(drawer.locator(".tw-pill:has-text('eligibility')")).to_be_visible()
    expect(viewer.locator(f".tw-list-card .tw-item-title:text-is('{customer}')")).to_be_visible()
    drawer.locator("button:has-text('Reject')").click()
    field(mark, "reason").fill("is a colleague")
    mark.click("[role=dialog] [data-submit]")
    expect(drawer.locator(".tw-pill:has-text('rejected')")).to_be_visible()
    expect(viewer.locator(f".tw-list-card .tw-item-title:text-is('{customer}')")).to_have_count(0)
    # Back to the list, once the dialog has gone.
    expect(mark.locator(".q-dialog")).to_have_count(0)
    mark.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(mark.locator(".tw-list-card [data-row]").first).to_be_visible()


@pytest.mark.slow
@also_on_an_endpoint
def test_deliveries_and_consent(screens: Screens) -> None:
    enzo = open_program(screens, "enzo", "coffee", "/deliveries")
    enzo.click("button:has-text('Deliver now')")
    expect(enzo.locator(".tw-toast:has-text('sent')")).to_be_visible()
    expect(enzo.locator(".tw-list-card .tw-pill:has-text('sent')").first).to_be_visible()
    customer = unique_id("c")
    other = screens.sign_in("viewer", f"/engagement/customers/{customer}")
    enzo.goto("/app/engagement/customers")
    field(enzo, "customer").fill(customer)
    enzo.click("[data-submit]")
    enzo.click("button:has-text('Opt out')")
    expect(other.locator(".tw-pill:has-text('opted out of everything')")).to_be_visible(timeout=3_000)
    expect(other.locator(".tw-item:has-text('enzo')")).to_contain_text("no → yes")
    expect(other.locator("button:has-text('Opt in')")).to_have_count(0)
    enzo.click("button:has-text('Opt in')")
    expect(other.locator(".tw-pill:has-text('accepts messages')")).to_be_visible()
    expect(other.locator(".tw-item:has-text('enzo')")).to_have_count(2)


@also_on_an_endpoint
def test_a_viewer_looks_and_is_offered_nothing_else(screens: Screens) -> None:
    page = open_program(screens, "viewer", "coffee")
    expect(page.locator(".tw-check").first).to_be_visible()
    for label in ("New program", "Edit", "Run now", "Disable", "Dry run", "Pause"):
        expect(page.locator(f":is(a, button):has-text('{label}')")).to_have_count(0)
    for address in ("new", "edit/EU/coffee"):
        page.goto(f"/app/engagement/{address}")
        expect(page.locator(".tw-state")).to_contain_text("You do not have access to this page")


SCREENS = {
    "light": [
        (PROGRAMS, ".tw-item"),
        (f"{PROGRAMS}/EU/coffee/candidates", ".tw-list-card [data-row]"),
        ("/engagement/edit/EU/coffee", "[data-checked]"),
    ],
    "dark": [
        (f"{PROGRAMS}/EU/coffee", ".tw-check"),
        (f"{PROGRAMS}/EU/coffee/runs", "[data-run]"),
        ("/engagement/customers/c-1", ".tw-facts"),
    ],
}


@pytest.mark.parametrize("theme", SCREENS)
def test_every_screen_fits_a_phone_and_axe_finds_nothing_serious(screens: Screens, theme: str) -> None:
    page = screens.sign_in("marketer", PROGRAMS, viewport=PHONE, color_scheme=theme, locale="it-IT")
    for path, there in SCREENS[theme]:
        page.goto(f"/app{path}")
        expect(page.locator(there).first).to_be_visible()
        assert (path, overflow(page), serious_problems(page)) == (path, 0, [])
    expect(page.locator(".tw-tab").first).to_have_text("Programmi")
