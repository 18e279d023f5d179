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
def test_a_full_mailbox_holds_up_others_for_a_while_only(served: Served, mail: MailServer) -> None:
    team = Team(served)
    full, free = team.member("full"), team.member("zoe")
    mail.answers[team.address(full)] = "452 4.2.2 Over quota"
    task = team.task()
    team.assign(task, full, free)
    team.move(task, "IN_PROGRESS")
    root = served.client("root", "Admins")

    def state() -> dict[str, object]:
        return next(each for each in root.get("/runtime/consumers").json() if each["name"] == "tasks.mail")

    # It may be a matter of minutes, so all mail waits.
    wait_for(lambda: state()["waiting"])
    assert mail.received == []

    served.clock.advance(3600)
    # Assigned, and moved on: of the second event, the one full mailbox keeps nobody else from it.
    wait_for(lambda: len(mail.to(team.address(free))) == 2)
    wait_for(lambda: state()["dead_letters"] == 2)
    assert mail.to(team.address(full)) == []
    assert len(mail.to(team.address(team.admin_id))) == 1

    del mail.answers[team.address(full)]
    for letter in root.get("/runtime/consumers/tasks.mail/dead-letters").json()["dead_letters"]:
        path = f"/runtime/consumers/tasks.mail/dead-letters/{letter['sequence']}/replay"
        assert root.post(path).status_code == 204
    assert len(mail.to(team.address(full))) == 2
    assert len(mail.to(team.address(free))) == 2
    assert len(mail.to(team.address(team.admin_id))) == 1
