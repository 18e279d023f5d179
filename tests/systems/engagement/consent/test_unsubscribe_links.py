"""Unsubscribing by the link in a message: with one click, without signing in, and never by looking at it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.runtime.settings import Settings
from tablewright.systems import load
from tablewright.systems.engagement.consent.unsubscribe_links import Subscription, UnsubscribeLinks
from tests.runtime.mail_server import MailServer
from tests.systems.engagement.engagement_fixtures import Programme, write
from tests.systems.engagement.web import Web
from tests.systems.harness import Served, serving

PUBLIC = "https://hub.example.org/shop"
CLICK = {"List-Unsubscribe": "One-Click"}
texts = st.text(min_size=1, max_size=20)


@given(texts, texts, texts)
def test_a_link_can_be_read_only_with_the_key_that_signed_it(customer: str, program: str, marketplace: str) -> None:
    links = UnsubscribeLinks(PUBLIC, b"secret")
    subscription = Subscription(customer, program, marketplace)
    token = links.url(subscription).removeprefix(f"{PUBLIC}/unsubscribe/")
    assert re.fullmatch(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", token)
    assert links.read(token) == subscription
    assert UnsubscribeLinks(PUBLIC, b"another").read(token) is None


@given(st.text(max_size=60))
def test_any_other_text_is_no_token(token: str) -> None:
    assert UnsubscribeLinks(PUBLIC, b"secret").read(token) is None


def test_a_token_that_was_changed_anywhere_is_none() -> None:
    links = UnsubscribeLinks(PUBLIC, b"secret")
    token = links.url(Subscription("c-1", "p", "US")).rpartition("/")[2]
    for place, sign in enumerate(token):
        for other in "Aa_":
            if other != sign:
                found = links.read(token[:place] + other + token[place + 1 :])
                # The last sign of each part has bits that mean nothing.
                assert found in (None, Subscription("c-1", "p", "US"))
    assert links.read(token.partition(".")[0] + ".") is None
    assert links.read(token + "A" * 3_000) is None


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, mail_server: MailServer) -> Iterator[Served]:
    with serving(
        load("engagement"),
        data=tmp_path,
        smtp_url=mail_server.url,
        outbound_hosts=["127.0.0.1"],
        public_url=PUBLIC,
    ) as served:
        yield served


def link_of(served: Served, admin: httpx.Client, mail_server: MailServer) -> tuple[Programme, str]:
    """A program that has sent a message to c-1, and the path of the link in it."""
    text = {"text": "Hello\n$unsubscribe_url\n"}
    made = Programme(served, admin, channels=[{"channelId": "email", "priority": 1, "config": text}])
    write(made.file, [("c-1", "ada@example.org", 3)], ("customer_id", "email", "points"))
    made.run()
    assert admin.post(f"{made.path}/deliveries", json={}).json()["sent"] == 1
    letter = mail_server.received[-1]
    url = str(letter.message["List-Unsubscribe"]).strip("<>")
    assert url.startswith(f"{PUBLIC}/engagement/unsubscribe/")
    assert letter.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert letter.text.splitlines() == ["Hello", url]
    return made, url.removeprefix(PUBLIC)


@pytest.mark.requirement("CE10")
@pytest.mark.parametrize("how", ["form", "multipart", "nothing"])
def test_one_click_unsubscribes_from_the_program_without_signing_in(
    served: Served, admin: httpx.Client, mail_server: MailServer, how: str
) -> None:
    made, link = link_of(served, admin, mail_server)
    nobody = served.client()
    options: dict[str, Any] = {
        "form": {"data": CLICK},
        "multipart": {"files": {"List-Unsubscribe": (None, "One-Click")}},
    }
    answer = nobody.post(link, **options.get(how, {}))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    wishes = admin.get("/customers/c-1/preferences").json()
    assert (wishes["optedOut"], wishes["programsOff"]) == (False, [made.id])
    assert made.top() == []
    (change,) = admin.get("/customers/c-1/preferences/history").json()["changes"]
    assert (change["changedBy"], change["source"]) == ("customer", "one-click")
    # Again, it is as it was.
    assert nobody.post(link, data=CLICK).status_code == 200
    assert len(admin.get("/customers/c-1/preferences/history").json()["changes"]) == 1


@pytest.mark.requirement("CE10")
def test_looking_at_the_link_shows_buttons_and_changes_nothing(
    served: Served, admin: httpx.Client, mail_server: MailServer
) -> None:
    made, link = link_of(served, admin, mail_server)
    admin.put(made.path, json={**made.body, "programName": "<b>Tom & Jerry</b>"})
    nobody = served.client()
    page = nobody.get(link)
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert page.text.count("<button>") == 2
    assert "&lt;b&gt;Tom &amp; Jerry&lt;/b&gt;" in page.text
    assert "<b>Tom" not in page.text
    assert admin.get("/customers/c-1/preferences/history").json()["changes"] == []
    assert made.top() == ["c-1"]
    # As a browser sends the form of the second button.
    done = nobody.post(link, data={"scope": "everything"})
    assert (done.status_code, "no longer receive messages from us" in done.text) == (200, True)
    assert admin.get("/customers/c-1/preferences").json()["optedOut"] is True
    assert admin.get("/customers/c-1/preferences/history").json()["changes"][0]["source"] == "page"


@pytest.mark.requirement("CE10")
def test_a_link_that_is_not_ours_is_unknown_and_changes_nothing(
    served: Served, admin: httpx.Client, mail_server: MailServer
) -> None:
    _, link = link_of(served, admin, mail_server)
    nobody = served.client()
    for wrong in (link[:-3], link.replace(".", "A."), "/engagement/unsubscribe/c-1"):
        for answer in (nobody.get(wrong), nobody.post(wrong, data=CLICK)):
            assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert admin.get("/customers/c-1/preferences/history").json()["changes"] == []


@pytest.mark.requirement("CE10")
def test_a_webhook_gets_the_link_too(served: Served, admin: httpx.Client) -> None:
    with Web(lambda asked: (204, b"")) as web:
        made = Programme(served, admin, channels=[{"channelId": "webhook", "priority": 1, "config": {"url": web.url}}])
        made.run()
        admin.post(f"{made.path}/deliveries", json={})
    assert web.asked[0].json["unsubscribeUrl"].startswith(f"{PUBLIC}/engagement/unsubscribe/")


def test_the_public_address_in_production_is_https() -> None:
    given: dict[str, Any] = {"mode": "production", "public_url": "http://hub.example.org"}
    with pytest.raises(ValueError, match="public_url: customers need https"):
        Settings(**given)
    assert Settings(**{**given, "public_url": PUBLIC}).public_url == PUBLIC
