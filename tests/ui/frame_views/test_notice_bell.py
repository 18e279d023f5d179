"""The bell, as people use it: what is new for them in all applications, wherever they are."""

from __future__ import annotations

import re
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.ui.screen_browser import PHONE, Screens, also_on_an_endpoint, overflow, serious_problems

pytestmark = pytest.mark.requirement("AP2")


def api(screens: Screens, user: str) -> httpx.Client:
    tokens = httpx.get(f"{screens.url}/tokens.json").json()
    token = next(each["token"] for each in tokens if each["user"] == user)
    return httpx.Client(base_url=screens.url, headers={"Authorization": f"Bearer {token}"})


def assigned(screens: Screens, user: str) -> str:
    """The title of a task that is assigned to somebody."""
    title = f"Told of {uuid4().hex[:6]}"
    with api(screens, "admin") as admin:
        task = admin.post("/tasks/tasks", json={"title": title, "description": "soon", "priority": "LOW"}).json()
        given = admin.post(f"/tasks/tasks/{task['taskId']}/assign", json={"userId": user})
        assert given.is_success, given.text
    return title


def bell(page: Page, opened: bool = True) -> None:
    page.keyboard.press("b")
    expect(page.locator(".tw-bell-head")).to_have_count(1 if opened else 0)


@also_on_an_endpoint
def test_an_assignment_is_shown_in_every_view_and_read_in_all_windows(screens: Screens) -> None:
    page, other = screens.sign_in("linus", "/tasks/board"), screens.sign_in("linus", "/")
    title = assigned(screens, "linus")
    for each in (page, other):
        expect(each.locator(".tw-bell-count")).to_be_visible()
        expect(each.locator(".tw-bell summary")).to_have_attribute("aria-label", re.compile("new$"))
    bell(page)
    item = page.locator(".tw-bell-item", has_text=title)
    expect(item).to_contain_text("new")
    assert serious_problems(page) == []
    item.click()
    expect(page.locator(".tw-thing-head, .tw-drawer").first).to_contain_text(title)
    second = assigned(screens, "linus")
    bell(other)
    expect(other.locator(".tw-bell-item[data-new]", has_text=second)).to_be_visible()
    expect(other.locator(".tw-bell-item", has_text=title)).to_be_visible()
    expect(other.locator(".tw-bell-item[data-new]", has_text=title)).to_have_count(0)
    other.get_by_role("button", name="Mark all as read").click()
    for each in (page, other):
        expect(each.locator(".tw-bell-count")).to_be_hidden()
    # Another browser, later: it is stored with the person, not with the window.
    later = screens.sign_in("linus", "/tasks/mine", viewport=PHONE, locale="it-IT")
    bell(later)
    expect(later.locator(".tw-bell-item", has_text=title)).to_be_visible()
    expect(later.locator(".tw-bell-item[data-new]")).to_have_count(0)
    expect(later.locator(".tw-bell-head")).to_contain_text("Notifiche")
    assert overflow(later) == 0


def test_a_requested_approval_is_shown_only_to_those_who_may_give_it(screens: Screens) -> None:
    page, viewer = screens.sign_in("paola", "/engagement"), screens.sign_in("viewer", "/engagement")
    bell(page)
    expect(page.locator(".tw-bell-item", has_text="Grinders for home baristas")).to_be_visible()
    bell(viewer)
    expect(viewer.locator(".tw-bell-none")).to_be_visible()


@pytest.mark.slow
def test_users_are_notified_of_their_own_things_in_each_application(screens: Screens) -> None:
    issue = f"Told of {uuid4().hex[:6]}"
    with api(screens, "sam") as sam:
        ticket = sam.post("/servicedesk/tickets", json={"caller_id": "c-bell", "issue_description": issue}).json()
        assert sam.post(f"/servicedesk/tickets/{ticket['ticket_id']}/take").is_success
    watching = screens.sign_in("sam", "/servicedesk/queue")
    bell(watching)
    expect(watching.locator(".tw-bell-item", has_text=issue)).to_have_count(1)
    # What others write about it is told as it happens, and what he writes himself is not.
    for user in ("sam", "admin"):
        with api(screens, user) as writer:
            comments = f"/servicedesk/tickets/{ticket['ticket_id']}/comments"
            assert writer.post(comments, json={"comment_text": "the caller is waiting"}).is_success
    expect(watching.locator(".tw-bell-item[data-new]", has_text=issue)).to_have_count(2)
    expect(watching.locator(".tw-bell-item", has_text="Service Desk · admin wrote").first).to_be_visible()
    for user, told in (("sam", issue), ("op_9", "Support · "), ("cust_1", "Support · "), ("ada", "Calls · ")):
        page = screens.sign_in(user, "/")
        bell(page)
        expect(page.locator(".tw-bell-item", has_text=told).first).to_be_visible()
