"""Signing in and out, as browsers do it, and as those who try it from elsewhere."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.ui.identity.openid_issuer import Issuer, issuing
from tests.ui.screen_browser import Screens, chromium, serious_problems, up

pytestmark = pytest.mark.requirement("AP1")

COOKIE = "tablewright_session"


def choose(screens: Screens, user: str = "ada", **headers: str) -> httpx.Response:
    return httpx.post(
        f"{screens.url}/app/sign-in", data={"user": user, "to": "/tasks"}, headers={"Origin": screens.url, **headers}
    )


def test_one_click_on_a_person_who_is_shown_with_their_roles(screens: Screens) -> None:
    page = screens.page()
    page.goto("/")
    expect(page).to_have_url(f"{screens.url}/app/sign-in?to=%2F")
    expect(page.locator("button[value=grace]")).to_contain_text("tasks:Members")
    # Who may do everything comes first.
    expect(page.locator("button[name=user]").first).to_have_attribute("value", "admin")
    assert serious_problems(page) == []
    page.click("button[value=grace]")
    page.wait_for_selector("text=Hello, grace")
    cookie = next(each for each in page.context.cookies() if each["name"] == COOKIE)
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/")


def test_the_requested_view_opens_after_signing_in(screens: Screens) -> None:
    page = screens.page()
    page.goto("/app/tasks/list?status=IN_PROGRESS")
    page.click("button[value=grace]")
    page.wait_for_selector("text=Fix the login page")
    expect(page).to_have_url(f"{screens.url}/app/tasks/list?status=IN_PROGRESS")


@pytest.mark.parametrize(
    "to", ["//evil.example.org", "https://evil.example.org", "/\\evil.example.org", "/sign-out", ""]
)
def test_sign_in_redirects_to_no_other_site(screens: Screens, to: str) -> None:
    answer = httpx.post(f"{screens.url}/app/sign-in", data={"user": "ada", "to": to}, headers={"Origin": screens.url})
    assert (answer.status_code, answer.headers["location"]) == (303, "/app/")


def test_signing_out_ends_the_session_in_every_tab_and_for_its_cookie(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    other = page.context.new_page()
    other.goto("/app/tasks/list")
    other.wait_for_selector("text=Write the release notes")
    cookie = next(each["value"] for each in page.context.cookies() if each["name"] == COOKIE)
    page.click("summary[aria-label='Your account']")
    page.click("button:has-text('Sign out')")
    page.wait_for_selector("text=Choose who to sign in as")
    other.wait_for_selector("text=Choose who to sign in as")
    assert COOKIE not in [each["name"] for each in page.context.cookies()]
    again = httpx.get(f"{screens.url}/app/tasks", headers={"Cookie": f"{COOKIE}={cookie}"})
    assert again.status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example.org"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
@pytest.mark.parametrize("path", ["/app/sign-in", "/app/sign-out"])
def test_a_page_of_another_site_can_neither_sign_in_nor_out(
    screens: Screens, path: str, headers: dict[str, str]
) -> None:
    assert httpx.post(f"{screens.url}{path}", data={"user": "ada"}, headers=headers).status_code == 403


def test_a_web_socket_is_for_pages_of_ours_and_for_who_signed_in(screens: Screens) -> None:
    cookie = choose(screens).headers["set-cookie"].partition(";")[0]
    address = screens.url.replace("http", "ws") + "/app/_nicegui_ws/socket.io/?EIO=4&transport=websocket"

    def status(**headers: str) -> int:
        try:
            with connect(address, additional_headers=headers, open_timeout=10, close_timeout=1):
                return 101
        except InvalidStatus as error:
            return error.response.status_code

    assert status(Origin=screens.url, Cookie=cookie) == 101
    assert status(Origin="https://evil.example.org", Cookie=cookie) == 403
    assert status(Cookie=cookie) == 403
    assert status(Origin=screens.url) == 403
    assert status(Origin=screens.url, Cookie=f"{cookie}x") == 403


@pytest.mark.parametrize(
    "headers", [{"X-Forwarded-For": "10.0.0.1"}, {"Via": "1.1 proxy"}, {"Host": "hub.example.org"}]
)
def test_demo_people_are_for_this_machine_only(screens: Screens, headers: dict[str, str]) -> None:
    page = httpx.get(f"{screens.url}/app/sign-in", headers=headers)
    assert (page.status_code, "button" in page.text) == (200, False)
    origin = f"http://{headers['Host']}" if "Host" in headers else screens.url
    assert choose(screens, **{**headers, "Origin": origin}).status_code == 403


def test_only_demo_users_can_sign_in(screens: Screens) -> None:
    assert choose(screens, "mallory").status_code == 403
    assert choose(screens, "").status_code == 403


def test_pages_cannot_be_framed_and_say_nothing_to_others(screens: Screens) -> None:
    headers = httpx.get(f"{screens.url}/app/sign-in").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    cookie = choose(screens).headers["set-cookie"].partition(";")[0]
    answer = httpx.get(f"{screens.url}/app/tasks", headers={"Cookie": cookie, "Origin": "https://evil.example.org"})
    assert answer.status_code == 403


@pytest.fixture
def with_issuer(running: tuple[Screens, Issuer]) -> Iterator[tuple[Screens, Issuer]]:
    yield running
    running[0].close()
    running[1].instead = {}


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Screens, Issuer]]:
    browser = chromium()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with (
        issuing(redirect_uris={f"{url}/app/sign-in/callback"}, client_secret="a secret") as issuer,
        up(
            "--system",
            "tasks",
            port=str(port),
            issuer=issuer.url,
            audience=issuer.client_id,
            client_secret="a secret",
            groups_claim="groups",
            public_url=url,
            roles='{"Team": ["tasks:Members"]}',
            session_hours="0.005",
        ),
    ):
        yield Screens(url, browser), issuer


def test_people_of_an_issuer_sign_in_there_and_come_back(with_issuer: tuple[Screens, Issuer]) -> None:
    screens, _ = with_issuer
    page = screens.page()
    page.goto("/app/tasks/list?status=OPEN")
    assert "value=" not in page.content()
    page.click("text=Continue to sign-in")
    page.click("#u-2")
    page.wait_for_selector("text=No tasks here")
    expect(page).to_have_url(f"{screens.url}/app/tasks/list?status=OPEN")
    # A member, by the roles that the group is mapped to.
    expect(page.locator("text=New task")).to_have_count(0)
    page.click("summary[aria-label='Your account']")
    expect(page.locator(".tw-menu-head")).to_contain_text("Grace Hopper")
    page.click("button:has-text('Sign out')")
    page.wait_for_selector("text=Continue to sign-in")
    expect(page).to_have_url(f"{screens.url}/app/sign-in")


def test_a_user_without_a_role_sees_no_application(with_issuer: tuple[Screens, Issuer]) -> None:
    screens, _ = with_issuer
    page = screens.page()
    page.goto("/app/")
    page.click("text=Continue to sign-in")
    page.click("#u-3")
    page.wait_for_selector("text=You have no access to any application")
    expect(page.locator(".tw-rail-item")).to_have_count(2)
    page.goto("/app/tasks")
    page.wait_for_selector("text=Page not found")


@pytest.mark.slow
def test_a_session_that_has_ended_leads_to_the_sign_in_page(with_issuer: tuple[Screens, Issuer]) -> None:
    screens, _ = with_issuer
    page = screens.page()
    page.goto("/app/tasks/list")
    page.click("text=Continue to sign-in")
    page.click("#u-2")
    page.wait_for_selector("text=No tasks here")
    # It lasts for 18 seconds here.
    page.wait_for_timeout(18_500)
    page.click("text=Completed")
    page.wait_for_selector("text=Continue to sign-in")


def test_a_sign_in_that_fails_says_why(with_issuer: tuple[Screens, Issuer]) -> None:
    screens, issuer = with_issuer
    page = screens.page()
    issuer.instead = {"nonce": "another"}
    page.goto("/app/sign-in/begin")
    page.click("#u-1")
    page.wait_for_selector("text=the token was issued for another sign-in")
