"""Mail to who is invited: with the invitation or not at all, once, and as all other mail if the mailbox refuses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

import httpx
import pytest
from starlette.types import ASGIApp

from tablewright.runtime.mail.mail_records import QueuedMail
from tablewright.systems import load
from tests.runtime.mail_server import MailServer
from tests.systems.harness import Served, serving, wait_for

pytestmark = pytest.mark.requirement("AP9")


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


class NoScreens:
    """Applications of no system: what has to be there so that links lead to them."""

    apps: Mapping[str, ASGIApp] = {}

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


# Tasks sends mail by itself; Service Desk does not.
@pytest.fixture(scope="module", params=["tasks", "servicedesk"])
def served(request: pytest.FixtureRequest, mail: MailServer) -> Iterator[Served]:
    settings = {"smtp_url": mail.url, "public_url": "https://hub.example.org/"}
    mail.received.clear()
    with serving(load(request.param), lambda *_: NoScreens(), **settings) as served:
        yield served


def admin(served: Served) -> httpx.Client:
    return served.client("root", "runtime:Admins", path="/runtime")


def invited(served: Served, person: str, key: str | None = None) -> httpx.Response:
    body = {"person_id": person, "email": f"{person}@example.org", "roles": []}
    return admin(served).post("/people", json=body, headers={} if key is None else {"Idempotency-Key": key})


def waiting(served: Served) -> list[QueuedMail]:
    return list(served.runtime.sync_store.iterate(QueuedMail.waiting()))


@pytest.mark.requirement("AP8")
@pytest.mark.parametrize("key", [None, "invite"])
def test_a_new_user_of_tasks_is_invited_once_unless_they_added_themselves(mail: MailServer, key: str | None) -> None:
    settings = {"smtp_url": mail.url, "public_url": "https://hub.example.org/", "mail_language": "it"}
    headers = {} if key is None else {"Idempotency-Key": key}
    with serving(load("tasks"), lambda *_: NoScreens(), **settings) as served:
        boss = served.client("boss", "Admins", path="/tasks")
        for user in ("boss", f"mia{key}", f"mia{key}"):
            own = headers if user != "boss" else {}
            body = {"userId": user, "email": f"{user}@example.org", "groups": ["Admins"]}
            said = boss.post("/users", json=body, headers=own)
        assert said.status_code == (409 if key is None else 201), said.text
        # Invited by an admin as well, before or after: one of the two is enough, in the language that was chosen.
        for user, is_first in ((f"ida{key}", True), (f"leo{key}", False)):
            body = {"person_id": user, "email": f"{user}@example.org", "roles": [], "language": "en"}
            if is_first:
                assert admin(served).post("/people", json=body).status_code == 201
            added = {"userId": user, "email": body["email"], "groups": ["Members"], "language": "en"}
            own = {} if key is None else {"Idempotency-Key": user}
            assert boss.post("/users", json=added, headers=own).status_code == 201
            if not is_first:
                assert admin(served).post("/people", json=body).status_code == 201
        # To another address, it is written again.
        body = {"person_id": f"mia{key}", "email": f"mia{key}@example.net", "roles": []}
        assert admin(served).post("/people", json=body).status_code == 201
        wait_for(lambda: mail.to(f"mia{key}@example.net") and not waiting(served))
    for user in (f"ida{key}", f"leo{key}"):
        (told,) = mail.to(f"{user}@example.org")
        assert told.message["Subject"] == "You are invited"
    assert mail.to(f"mia{key}@example.net")[0].message["Subject"] == "Hai ricevuto un invito"
    (received,) = mail.to(f"mia{key}@example.org")
    assert received.message["Subject"] == "Hai ricevuto un invito"
    assert "Accedi:       https://hub.example.org/app\r\n" in received.text
    assert "boss ti ha dato accesso" in received.text
    assert not mail.to("boss@example.org")


@pytest.mark.parametrize("key", [None, "invite"])
def test_who_is_invited_gets_one_mail_with_a_link(served: Served, mail: MailServer, key: str | None) -> None:
    person = f"ada{key or ''}"
    assert invited(served, person, key).status_code == 201
    # The same again is the same invitation, and another one of the same person is none.
    assert invited(served, person, key).status_code == (409 if key is None else 201)
    assert invited(served, person).status_code == 409
    wait_for(lambda: mail.to(f"{person}@example.org") and not waiting(served))
    (received,) = mail.to(f"{person}@example.org")
    assert received.message["Subject"] == "You are invited"
    assert "Sign in:      https://hub.example.org/app\r\n" in received.text
    assert "root has given you access" in received.text


def test_nothing_is_sent_for_an_invitation_that_is_refused_or_has_no_address(served: Served, mail: MailServer) -> None:
    body = {"person_id": "carl", "email": "carl@example.org", "roles": ["tasks:Nobody"]}
    assert admin(served).post("/people", json=body).status_code == 400
    assert admin(served).post("/people", json={"person_id": "dan", "roles": []}).status_code == 201
    assert invited(served, "last").status_code == 201
    wait_for(lambda: mail.to("last@example.org") and not waiting(served))
    assert not mail.to("carl@example.org")
    assert not mail.to("dan@example.org")


def test_a_mailbox_that_refuses_it_makes_it_a_dead_letter_that_can_be_sent_again(
    served: Served, mail: MailServer
) -> None:
    mail.answers["bob@example.org"] = "550 no such user"
    assert invited(served, "bob").status_code == 201

    def dead() -> list[dict[str, str]]:
        found = admin(served).get("/mail/dead-letters").json()["dead_letters"]
        return [each for each in found if each["recipient"] == "bob@example.org"]

    wait_for(dead)
    assert not mail.to("bob@example.org")
    del mail.answers["bob@example.org"]
    assert admin(served).post(f"/mail/dead-letters/{dead()[0]['id']}/replay").status_code == 204
    assert len(mail.to("bob@example.org")) == 1
    assert not dead()
