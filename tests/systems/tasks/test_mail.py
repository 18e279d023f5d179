"""Mail about tasks, received by a mail server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from uuid import uuid4

import pytest

from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.store import Consumer
from tablewright.systems import load
from tablewright.systems.tasks import handlers
from tests.runtime.mail_server import MailServer
from tests.systems.harness import Served, serving, wait_for
from tests.systems.tasks.team import Team

_prefixes = count()


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module", params=["embedded", "own_server", pytest.param("moto_server", marks=pytest.mark.slow)])
def served(
    request: pytest.FixtureRequest, mail: MailServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    settings: dict[str, object] = {"data": tmp_path_factory.mktemp("tasks"), "smtp_url": mail.url}
    settings |= {"table_prefix": f"mail{next(_prefixes)}-", "mail_from": "Tasks <tasks@example.org>"}
    if request.param != "embedded":
        settings["endpoint"] = request.getfixturevalue(f"{request.param}_url")
    with serving(load("tasks"), **settings) as served:
        yield served


def consumer(team: Team, name: str = "tasks.mail") -> dict[str, object]:
    states = team.served.client("root", "Admins").get("/runtime/consumers").json()
    return next(state for state in states if state["name"] == name)


def settled(team: Team, mail: MailServer) -> list[tuple[str, str]]:
    """To whom of a team mail went and with what subject, when all that went before has been sent."""
    last = team.task(title="the last one")
    user = team.member(f"last{uuid4().hex[:4]}")
    team.assign(last, user)
    wait_for(lambda: mail.to(team.address(user)))
    return [
        (each.recipient.partition("@")[0].removesuffix(f"-{team.mark}"), str(each.message["Subject"]))
        for each in mail.received
        if team.mark in each.recipient and not each.recipient.startswith("last")
    ]


@pytest.mark.requirement("TM8")
def test_a_new_assignee_gets_mail(team: Team, mail: MailServer) -> None:
    grace = team.member("grace")
    task_id = team.task(title="Prüfe die Anmeldung", description="Two lines:\nof text.")
    team.assign(task_id, grace)
    (letter,) = wait_for(lambda: mail.to(team.address(grace)))
    assert letter.message["From"] == "Tasks <tasks@example.org>"
    assert letter.message["Subject"] == "Assigned to you: Prüfe die Anmeldung"
    assert "A task was assigned to you: Prüfe die Anmeldung" in letter.text
    assert "Two lines:\nof text." in letter.text.replace("\r\n", "\n")
    assert task_id in letter.text
    assert f"Assigned by:  {team.admin_id}" in letter.text
    assert settled(team, mail) == [("grace", "Assigned to you: Prüfe die Anmeldung")]


@pytest.mark.requirement("TM8")
def test_a_new_status_is_mailed_to_the_assignees_and_the_creator(team: Team, mail: MailServer) -> None:
    grace, linus, other = (team.member(name) for name in ("grace", "linus", "other"))
    task_id = team.task(title="Deploy")
    team.assign(task_id, grace, linus)
    team.assign(team.task(title="Something else"), other)
    team.move(task_id, "IN_PROGRESS", by=team.client(grace, "Members"))
    found = settled(team, mail)
    assert sorted(found) == [
        ("ada", "In progress: Deploy"),
        ("grace", "Assigned to you: Deploy"),
        ("grace", "In progress: Deploy"),
        ("linus", "Assigned to you: Deploy"),
        ("linus", "In progress: Deploy"),
        ("other", "Assigned to you: Something else"),
    ]
    own = mail.to(team.address(grace))[-1].text
    assert "IN_PROGRESS (before: OPEN)" in own
    assert "Changed by:   you" in own
    assert f"Changed by:   {grace}" in mail.to(team.address(linus))[-1].text


@pytest.mark.requirement("TM8")
def test_only_active_users_get_mail(team: Team, mail: MailServer) -> None:
    grace, gone = team.member("grace"), team.member("gone")
    task_id = team.task(title="Deploy")
    team.assign(task_id, grace, gone)
    wait_for(lambda: mail.to(team.address(gone)))
    team.admin.post(f"/users/{gone}/deactivate")
    team.move(task_id, "IN_PROGRESS")
    assert [subject for who, subject in settled(team, mail) if who == "gone"] == ["Assigned to you: Deploy"]
    team.admin.post(f"/users/{gone}/reactivate")
    team.move(task_id, "COMPLETED")
    assert ("gone", "Completed: Deploy") in settled(team, mail)


@pytest.mark.requirement("TM8")
def test_no_recipient_gets_the_same_mail_twice(team: Team, mail: MailServer) -> None:
    """Neither a creator who has the task as well, nor somebody with two accounts and one address."""
    grace, double = team.member("grace"), team.member("double")
    team.admin.patch(f"/users/{double}", json={"email": team.address(grace).title()})
    task_id = team.task(title="Deploy")
    team.assign(task_id, team.admin_id, grace, double)
    team.move(task_id, "IN_PROGRESS")
    settled(team, mail)
    found = [(each.recipient.lower(), each.message["Subject"].partition(":")[0]) for each in mail.received]
    assert found.count((team.address(team.admin_id), "In progress")) == 1
    assert found.count((team.address(grace), "In progress")) == 1
    assert found.count((team.address(grace), "Assigned to you")) == 2


@pytest.mark.requirement("TM8")
def test_creating_a_task_and_changing_its_details_sends_nothing(team: Team, mail: MailServer) -> None:
    task_id = team.task()
    team.admin.patch(f"/tasks/{task_id}", json={"title": "Other", "priority": "LOW"})
    assert settled(team, mail) == []


@pytest.mark.requirement("TM8")
def test_an_event_that_is_read_again_sends_nothing_again(team: Team, mail: MailServer) -> None:
    grace = team.member("grace")
    task_id = team.task()
    team.assign(task_id, grace)
    team.move(task_id, "IN_PROGRESS")
    settled(team, mail)
    before = list(mail.received)
    # Another consumer, which reads everything from the beginning.
    runtime = team.served.runtime
    handler = next(each.handler for each in handlers.consumers(runtime) if each.name == "tasks.mail")
    again = Consumer(runtime.sync_store, events_table, handler, name=f"again-{team.mark}", checkpoints=internal_table)
    assert again.run_once().records >= 4
    assert mail.received == before
    assert again.dead_letters() == []


@pytest.mark.requirement("TM8")
def test_a_refusal_is_the_one_recipients_own(team: Team, mail: MailServer) -> None:
    grace, linus = team.member("grace"), team.member("linus")
    mail.answers[team.address(grace)] = "550 5.1.1 No such user"
    task_id = team.task(title="Deploy")
    team.assign(task_id, grace, linus)
    team.move(task_id, "IN_PROGRESS")
    assert sorted(settled(team, mail)) == [
        ("ada", "In progress: Deploy"),
        ("linus", "Assigned to you: Deploy"),
        ("linus", "In progress: Deploy"),
    ]
    assert consumer(team)["dead_letters"] == 0
    assert 'mail_total{outcome="refused"}' in team.served.client().get("/metrics").text


@pytest.mark.requirement("TM8")
def test_mail_waits_for_a_server_that_is_down_and_none_is_lost(team: Team, mail: MailServer) -> None:
    users = [team.member(f"user{number}") for number in range(5)]
    task_id = team.task(title="Deploy")
    settled(team, mail)
    mail.stop()
    try:
        team.assign(task_id, *users)
        team.move(task_id, "IN_PROGRESS")
        told = wait_for(lambda: consumer(team)["waiting"])
        assert str(told).startswith("the mail server cannot be used")
        assert consumer(team)["failing"] is None
        assert team.served.client().get("/readyz").status_code == 200
    finally:
        mail.start()
    expected = [(f"user{number}", subject) for number in range(5) for subject in ("Assigned to you", "In progress")]
    wait_for(lambda: len([each for each in mail.received if each.recipient.startswith("user")]) >= len(expected))
    found = [(who, subject.partition(":")[0]) for who, subject in settled(team, mail) if who.startswith("user")]
    assert sorted(found) == sorted(expected)
    assert consumer(team)["waiting"] is None
    assert consumer(team)["dead_letters"] == 0
