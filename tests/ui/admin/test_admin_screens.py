"""Admin as those who run the systems use it, and as nobody else does."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.ui.screen_browser import PHONE, Screens, also_on_an_endpoint, overflow, serious_problems

pytestmark = pytest.mark.requirement("AP9")


@also_on_an_endpoint
def test_an_admin_invites_a_person_and_undoes_their_deactivation(screens: Screens) -> None:
    page = screens.sign_in("admin", "/runtime/people")
    page.keyboard.press("n")
    page.fill("input[name=person_id]", "iris")
    page.fill("input[name=email]", "iris@example.org")
    page.get_by_role("button", name="tasks:Members", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Invite").click()
    row = page.locator("tr", has_text="iris@example.org")
    expect(row).to_contain_text("Invited")
    expect(row).to_contain_text("tasks:Members")
    row.get_by_role("button", name="Deactivate").click()
    expect(row).to_contain_text("Deactivated")
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("Invited")
    # Nobody is offered to lock himself out.
    own = page.locator("tr", has_text="admin@example.org")
    expect(own).to_contain_text("you")
    expect(own.get_by_role("button", name="Deactivate")).to_have_count(0)
    assert serious_problems(page) == []


def test_an_admin_sees_how_the_systems_do_in_italian_on_a_phone(screens: Screens) -> None:
    page = screens.sign_in("admin", "/runtime/health", viewport=PHONE, locale="it-IT")
    expect(page.get_by_text("Indici della ricerca").first).to_be_visible()
    expect(page.locator("tr", has_text="Tasks")).to_contain_text("aggiornato")
    assert overflow(page) == 0
    page.get_by_role("link", name="Consumatori").first.click()
    page.locator(".tw-item", has_text="tasks.search").click()
    expect(page.get_by_text("Nessun messaggio non gestito")).to_be_visible()
    assert (overflow(page), serious_problems(page)) == (0, [])


@also_on_an_endpoint
def test_other_users_cannot_reach_admin_by_link_or_by_address(screens: Screens) -> None:
    page = screens.sign_in("ada", "/runtime/people")
    expect(page.get_by_text("Page not found")).to_be_visible()
    expect(page.get_by_role("link", name="Admin", exact=True)).to_have_count(0)
    assert httpx.get(f"{screens.url}/runtime/people").status_code == 401


@also_on_an_endpoint
@pytest.mark.requirement("AP10")
def test_an_admin_finds_a_persons_data_and_erases_it_after_confirming(screens: Screens) -> None:
    body = {"userId": "olga", "email": "olga@example.org", "groups": ["Members"]}
    tokens = httpx.get(f"{screens.url}/tokens.json").json()
    token = next(each["token"] for each in tokens if each["user"] == "admin")
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx.post(f"{screens.url}/tasks/users", json=body, headers=headers).status_code in (201, 409)
    page = screens.sign_in("admin", "/runtime/privacy")
    # As if the page were not connected yet: what is pressed does not overtake what was typed.
    page.wait_for_function("window.did_handshake")
    page.evaluate("window.did_handshake = false")
    page.fill("input[name=person_id]", "olga")
    page.keyboard.press("Control+Enter")
    page.evaluate("window.did_handshake = true")
    row = page.locator("tr", has_text="User")
    expect(row).to_contain_text("deleted")
    assert serious_problems(page) == []
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("alertdialog")).to_contain_text("This cannot be undone")
    page.get_by_role("alertdialog").get_by_role("button", name="Erase").click()
    expect(page.locator(".tw-pill", has_text="erased").first).to_be_visible()
    assert httpx.get(f"{screens.url}/tasks/users/olga", headers=headers).status_code == 404
