"""A mailbox that takes nothing keeps mail from nobody else, and its own is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.systems import load
from tests.runtime.mail_server import MailServer
from tests.systems.harness import Served, serving, wait_for
from tests.systems.tasks.team import Team


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def served(mail: MailServer, tmp_path: Path) -> Iterator[Served]:
    with serving(load("tasks"), data=tmp_path, smtp_url=mail.url) as served:
        yield served


@pytest.mark.requirement("TM8")
def test_a_full_mailbox_delays_no_other_and_gets_its_mail_later(served: Served, mail: MailServer) -> None:
    team = Team(served)
    full, free = team.member("full"), team.member("zoe")
    mail.answers[team.address(full)] = "452 4.2.2 Over quota"
    task = team.task()
    team.assign(task, full, free)
    team.move(task, "IN_PROGRESS")
    wait_for(lambda: len(mail.to(team.address(free))) == 2)
    wait_for(lambda: len(mail.to(team.address(team.admin_id))) == 1)
    root = served.client("root", "Admins")
    consumer = next(each for each in root.get("/runtime/consumers").json() if each["name"] == "tasks.mail")
    assert (consumer["waiting"], consumer["dead_letters"]) == (None, 0)
    assert 'mail_total{outcome="queued"}' in served.client().get("/metrics").text

    del mail.answers[team.address(full)]
    served.clock.advance(60)
    wait_for(lambda: len(mail.to(team.address(full))) == 2)
    subjects = [str(each.message["Subject"]).partition(":")[0] for each in mail.to(team.address(full))]
    assert subjects == ["Assigned to you", "In progress"]
    assert len(mail.received) == 5


@pytest.mark.requirement("TM8")
def test_admins_see_what_was_refused_for_good_and_send_it_again(served: Served, mail: MailServer) -> None:
    team = Team(served)
    gone, free = team.member("gone"), team.member("zoe")
    mail.answers[team.address(gone)] = "550 5.1.1 No such user"
    task = team.task(title="Deploy")
    team.assign(task, gone, free)
    team.move(task, "IN_PROGRESS")
    root = served.client("root", "Admins")
    place = "/runtime/mail/dead-letters"
    found = wait_for(lambda: len(each := root.get(place).json()["dead_letters"]) == 2 and each)
    assert [each["subject"] for each in found] == ["In progress: Deploy", "Assigned to you: Deploy"]
    told = {(each["recipient"], each["reason"], each["attempts"]) for each in found}
    assert told == {(team.address(gone), "550 5.1.1 No such user", 1)}
    for named in ("nope", ".", "a.", ".b"):
        missing = root.post(f"{place}/{named}/replay")
        assert missing.status_code == 404
        assert named == "." or missing.json()["detail"] == f"there is no dead letter {named}"
    first = root.get(place, params={"limit": 1}).json()
    rest = root.get(place, params={"limit": 1, "cursor": first["cursor"]}).json()
    assert first["dead_letters"] + rest["dead_letters"] == found
    refused = root.post(f"{place}/{found[0]['id']}/replay")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "the message was not accepted: 550 5.1.1 No such user",
    )

    del mail.answers[team.address(gone)]
    for each in reversed(found):
        assert root.post(f"{place}/{each['id']}/replay").status_code == 204
        assert root.post(f"{place}/{each['id']}/replay").status_code == 404
    assert root.get(place).json()["dead_letters"] == []
    assert [str(each.message["Subject"]) for each in mail.to(team.address(gone))] == [
        "Assigned to you: Deploy",
        "In progress: Deploy",
    ]
    assert root.post(f"{place}/none/replay").status_code == 404
    for client, status in ((served.client(free, "Members"), 403), (served.client(), 401)):
        assert client.get(place).status_code == status
        assert client.post(f"{place}/{found[0]['id']}/replay").status_code == status
