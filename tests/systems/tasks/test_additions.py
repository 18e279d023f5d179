"""Due dates, comments and attachments of tasks."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tablewright.runtime.background.blob_ownership import owns_blobs
from tablewright.runtime.background.orphan_collector import OrphanCollector
from tablewright.systems import load
from tests.systems.harness import at_once, notices_in, serving
from tests.systems.tasks.team import TASK, Team, pages

pytestmark = pytest.mark.requirement("TM10")

FILE = {"name": "plan.pdf", "contentType": "application/pdf", "content": base64.b64encode(b"%PDF a plan").decode()}


def test_a_task_has_a_due_date_that_can_be_taken_away(team: Team) -> None:
    made = team.admin.post("/tasks", json={**TASK, "due": "2026-12-24"}).json()
    place = f"/tasks/{made['taskId']}"
    assert made["due"] == team.admin.get(place).json()["due"] == "2026-12-24"
    assert team.admin.patch(place, json={"due": "2027-01-06"}).json()["due"] == "2027-01-06"
    # What is not given stays as it is.
    assert team.admin.patch(place, json={"priority": "LOW"}).json()["due"] == "2027-01-06"
    assert team.admin.patch(place, json={"due": None}).json()["due"] is None
    assert team.admin.get(place).json()["due"] is None
    audit = team.admin.get(f"{place}/audit").json()["audit"]
    assert [entry["changes"].get("due") for entry in audit][:3] == [
        {"old": "2027-01-06", "new": None},
        None,
        {"old": "2026-12-24", "new": "2027-01-06"},
    ]


@pytest.mark.parametrize(
    "due", ["24.12.2026", "2026-13-01", "2026-02-30", 0, 1_800_000_000, True, "2026-12-24T10:00:00"]
)
def test_a_due_date_is_a_day(team: Team, due: Any) -> None:
    answer = team.admin.post("/tasks", json={**TASK, "due": due})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"].startswith("body.due")


def test_everybody_of_the_team_comments_on_any_task(team: Team) -> None:
    task_id = team.task()
    grace = team.client(team.member("grace"), "Members")
    tag = grace.get(f"/tasks/{task_id}").headers["etag"]
    for client, text in ((team.admin, "one"), (grace, "two <b>bold</b>"), (grace, "three")):
        made = client.post(f"/tasks/{task_id}/comments", json={"text": text})
        assert made.status_code == 201, made.text
    assert made.json()["createdBy"].startswith("grace-")
    found = pages(team.admin, f"/tasks/{task_id}/comments", "comments", limit=2)
    assert [[each["text"] for each in page] for page in found] == [["three", "two <b>bold</b>"], ["one"]]
    # The task itself is as it was: who moves it goes by what they saw.
    assert grace.get(f"/tasks/{task_id}").headers["etag"] == tag


@pytest.mark.requirement("AP2")
def test_creator_and_assignees_are_notified_of_comments_by_others(team: Team) -> None:
    grace, linus = team.member("grace"), team.member("linus")
    task_id = team.task()
    team.assign(task_id, grace, linus)
    people = team.admin_id, grace, linus, team.member("ken")
    said = team.client(grace, "Members").post(f"/tasks/{task_id}/comments", json={"text": "half done"})
    assert said.status_code == 201, said.text
    assert [notices_in(team.served, "tasks", each) for each in people] == [
        [(task_id, grace)],
        [],
        [(task_id, grace)],
        [],
    ]
    # Whoever created it writes, under a key, which is one comment: those who have it are told once.
    for _ in range(2):
        keyed = {"Idempotency-Key": f"told-{team.mark}"}
        said = team.admin.post(f"/tasks/{task_id}/comments", json={"text": "good"}, headers=keyed)
        assert said.status_code == 201, said.text
    assert notices_in(team.served, "tasks", grace) == [(task_id, team.admin_id)]
    assert notices_in(team.served, "tasks", team.admin_id) == [(task_id, grace)]
    # Nobody is told of what was not said.
    assert team.admin.post("/tasks/gone/comments", json={"text": "lost"}).status_code == 404
    assert notices_in(team.served, "tasks", team.admin_id) == [(task_id, grace)]


def test_comments_at_the_same_moment_are_all_kept(team: Team) -> None:
    task_id = team.task()
    answers = at_once(8, lambda number: team.admin.post(f"/tasks/{task_id}/comments", json={"text": str(number)}))
    assert {answer.status_code for answer in answers} == {201}
    found = pages(team.admin, f"/tasks/{task_id}/comments", "comments", limit=3)
    assert sorted(each["text"] for page in found for each in page) == sorted(map(str, range(8)))


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "x" * 10_001, None, 5])
def test_a_comment_says_something(team: Team, text: Any) -> None:
    answer = team.admin.post(f"/tasks/{team.task()}/comments", json={"text": text})
    assert answer.status_code == 422


def test_a_file_comes_back_as_it_was_added(team: Team) -> None:
    task_id = team.task()
    made = team.admin.post(f"/tasks/{task_id}/attachments", json=FILE)
    assert made.status_code == 201, made.text
    attachment = made.json()
    assert (attachment["name"], attachment["contentType"], attachment["size"]) == ("plan.pdf", "application/pdf", 11)
    listed = team.admin.get(f"/tasks/{task_id}/attachments").json()["attachments"]
    assert listed == [attachment]
    place = f"/tasks/{task_id}/attachments/{attachment['attachmentId']}"
    assert team.admin.get(place).json() == {**attachment, "content": FILE["content"]}
    # Not by the address of another task.
    other = f"/tasks/{team.task()}/attachments/{attachment['attachmentId']}"
    assert (team.admin.get(other).status_code, team.admin.delete(other).status_code) == (404, 404)


def test_a_large_file_is_kept_as_a_blob(team: Team) -> None:
    task_id, content = team.task(), bytes(range(256)) * 2_700
    body = {"name": "dump", "content": base64.b64encode(content).decode()}
    made = team.admin.post(f"/tasks/{task_id}/attachments", json=body)
    assert made.status_code == 201, made.text
    place = f"/tasks/{task_id}/attachments/{made.json()['attachmentId']}"
    assert base64.b64decode(team.admin.get(place).json()["content"]) == content


@pytest.mark.requirement("SU15")
def test_the_content_of_a_deleted_file_is_gone_once_no_restore_can_need_it(tmp_path: Path) -> None:
    def kept() -> int:
        return sum(each.is_file() for each in (tmp_path / "blobs" / "TaskManagement").rglob("*"))

    with serving(load("tasks"), data=tmp_path) as served:
        (system,) = served.systems
        background = system.background_work(served.runtime, None)
        (orphans,) = [each for each in background if isinstance(each, OrphanCollector)]
        # As at the start of a process.
        assert owns_blobs(served.runtime.maintenance_store, system.tables_with_blobs)
        team = Team(served)
        place = f"/tasks/{team.task()}/attachments"
        body = {"name": "dump", "content": base64.b64encode(b"x" * 600_000).decode()}
        made = team.admin.post(place, json=body).json()
        assert kept() == 1
        assert team.admin.delete(f"{place}/{made['attachmentId']}").status_code == 204
        # With a mark of when it became an orphan.
        assert kept() == 2
        served.clock.advance(36 * 86_400)
        orphans.turn(lambda: False)
        assert kept() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../secret"},
        {"name": "a\nb"},
        {"name": ""},
        {"name": " "},
        {"contentType": "text/html; charset=x"},
        {"contentType": "html"},
        {"content": "not base64!"},
        {"content": base64.b64encode(b"x" * 700_001).decode()},
    ],
)
def test_a_file_has_a_plain_name_a_type_and_a_bounded_size(team: Team, change: dict[str, str]) -> None:
    answer = team.admin.post(f"/tasks/{team.task()}/attachments", json={**FILE, **change})
    assert answer.status_code in (413, 422), answer.text


def test_an_attachment_is_removed_by_its_author_or_by_an_admin(team: Team) -> None:
    task_id = team.task()
    grace, linus = (team.client(team.member(name), "Members") for name in ("grace", "linus"))
    added = [grace.post(f"/tasks/{task_id}/attachments", json=FILE).json()["attachmentId"] for _ in range(2)]
    places = [f"/tasks/{task_id}/attachments/{each}" for each in added]
    assert linus.delete(places[0]).status_code == 403
    assert grace.delete(places[0]).status_code == 204
    assert team.admin.delete(places[1]).status_code == 204
    assert [team.admin.get(place).status_code for place in places] == [404, 404]
    assert team.admin.delete(places[0]).status_code == 404
    assert team.admin.get(f"/tasks/{task_id}/attachments").json()["attachments"] == []
    told = [(each["call"], each["changes"]) for each in team.admin.get(f"/tasks/{task_id}/audit").json()["audit"]]
    assert told[0] == ("detach", {"attachment": {"old": "plan.pdf", "new": None}})
    assert told[-2] == ("attach", {"attachment": {"old": None, "new": "plan.pdf"}})


def test_of_several_who_take_a_file_away_one_does(team: Team) -> None:
    task_id = team.task()
    made = team.admin.post(f"/tasks/{task_id}/attachments", json=FILE).json()["attachmentId"]
    answers = at_once(4, lambda _: team.admin.delete(f"/tasks/{task_id}/attachments/{made}").status_code)
    assert sorted(answers) == [204, 404, 404, 404]


def test_what_is_not_there_is_not_commented_on(team: Team) -> None:
    for answer in (
        team.admin.post("/tasks/none/comments", json={"text": "hello"}),
        team.admin.get("/tasks/none/comments"),
        team.admin.post("/tasks/none/attachments", json=FILE),
        team.admin.get("/tasks/none/attachments"),
        team.admin.get("/tasks/none/attachments/none"),
    ):
        assert answer.status_code == 404, answer.text
    place = f"/tasks/{team.task()}"
    assert team.admin.get(f"{place}/comments").json()["comments"] == []
    assert team.admin.get(f"{place}/attachments").json()["attachments"] == []
