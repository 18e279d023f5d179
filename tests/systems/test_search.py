"""Search over HTTP: everybody finds exactly what they may read, now, whatever the query looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tablewright.systems import load
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served, serving, wait_for

pytestmark = pytest.mark.requirement("AP3")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(load(), data=tmp_path_factory.mktemp("search")) as served:
        yield served


def found(client: httpx.Client, query: str, **more: Any) -> list[dict[str, Any]]:
    answer = client.get("/search", params={"q": query, **more})
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def soon(client: httpx.Client, query: str, number: int = 1) -> list[dict[str, Any]]:
    """What is found once the index has caught up."""
    results: list[dict[str, Any]] = wait_for(lambda: len(each := found(client, query)) == number and each)
    return results


def desk(served: Served, role: str, user: str = "sam") -> httpx.Client:
    return served.client(user, role, path="/servicedesk")


def test_a_ticket_of_the_desk_is_found_by_its_words_its_comments_and_its_number(served: Served) -> None:
    sam = desk(served, "Agents")
    ticket = sam.post("/tickets", json={"caller_id": "c-1", "issue_description": "La città è così così"}).json()
    sam.post(f"/tickets/{ticket['ticket_id']}/comments", json={"comment_text": "restarted the zebraprinter"})
    for query in ("citta", "CITTÀ", "cosi citt", "zebraprint", ticket["number"]):
        (result,) = soon(sam, query)
        assert (result["kind"], result["ids"]) == ("ticket", {"ticket_id": ticket["ticket_id"]})
    title = found(sam, "citta")[0]["title"]
    assert title == {"text": "La città è così così", "matches": [[3, 8]]}
    excerpt = found(sam, "zebra")[0]["excerpt"]
    assert [excerpt["text"][first:last] for first, last in excerpt["matches"]] == ["zebra"]


def test_what_was_masked_is_found_masked_and_not_by_the_secret(served: Served) -> None:
    sam = desk(served, "Agents")
    issue = "quokkaword my password is Tr0ub4dor&3"
    sam.post("/tickets", json={"caller_id": "c-2", "issue_description": issue})
    (result,) = soon(sam, "quokkaword")
    assert "Tr0ub4dor" not in str(result)
    assert found(sam, "Tr0ub4dor") == []


@pytest.mark.requirement("AP5")
def test_a_customer_finds_a_ticket_by_no_note_and_by_no_reason_of_an_escalation(served: Served) -> None:
    customer = served.client("s-eve", "Customers", path="/support")
    operator = served.client("op_9", "Operators", path="/support")
    path = f"/tickets/{customer.post('/tickets', json={'symptom_text': 'the numbatvalve sticks'}).json()['ticket_id']}"
    operator.post(f"{path}/escalate", json={"reason": "the bilbyreason", "engineer": "eng_7"})
    operator.post(f"{path}/notes", json={"text": "the echidnanote"})
    assert soon(operator, "echidnanote")[0]["kind"] == "message"
    assert soon(customer, "numbatvalve")[0]["kind"] == "ticket"
    for query in ("echidnanote", "bilbyreason"):
        assert found(customer, query) == []
    assert "bilbyreason" not in str(found(customer, "numbatvalve"))


@pytest.mark.requirement("AP5")
def test_a_customer_finds_what_was_written_about_their_own_tickets(served: Served) -> None:
    own, other = (served.client(user, "Customers", path="/support") for user in ("s-fay", "s-gus"))
    operator = served.client("op_9", "Operators", path="/support")
    path = f"/tickets/{own.post('/tickets', json={'symptom_text': 'it is dark'}).json()['ticket_id']}"
    own.post(f"{path}/messages", json={"text": "the bandicootlamp blinks"})
    operator.post(f"{path}/messages", json={"text": "turn the bandicootlamp off"})
    operator.post(f"{path}/notes", json={"text": "bandicootlamp: known defect"})
    assert len(soon(operator, "bandicootlamp", 3)) == 3
    found_by_owner = soon(own, "bandicootlamp", 2)
    assert {each["kind"] for each in found_by_owner} == {"message"}
    assert "known defect" not in str(found_by_owner)
    assert found(other, "bandicootlamp") == []


def test_each_role_finds_what_it_may_read_and_no_more(served: Served) -> None:
    def support(role: str, user: str) -> httpx.Client:
        return served.client(user, role, path="/support")

    ada, bob, operator = support("Customers", "s-ada"), support("Customers", "s-bob"), support("Operators", "op_9")
    first = ada.post("/tickets", json={"symptom_text": "the wombatpump leaks"}).json()["ticket_id"]
    second = bob.post("/tickets", json={"symptom_text": "the wombatpump hums"}).json()["ticket_id"]
    assert {each["ids"]["ticket_id"] for each in soon(operator, "wombatpump", 2)} == {first, second}
    for role in ("Engineers", "Services", "Admins"):
        assert len(found(support(role, "x-1"), "wombatpump")) == 2
    # Not by the words, by the other's id, nor by how many there are.
    assert [each["ids"]["ticket_id"] for each in found(ada, "wombatpump")] == [first]
    assert [each["ids"]["ticket_id"] for each in found(bob, "wombatpump")] == [second]
    for query in (second, "hums", "s-bob"):
        assert found(ada, query) == []
    answer = ada.get("/search", params={"q": "wombatpump"}).json()
    assert set(answer) == {"results", "behind_seconds", "is_building"}


def test_feedback_is_found_by_whom_it_concerns(served: Served) -> None:
    def support(role: str, user: str) -> httpx.Client:
        return served.client(user, role, path="/support")

    ada, helper, other = (
        support("Customers", "f-ada"),
        support("Operators", "f-helper"),
        support("Operators", "f-other"),
    )
    ticket = ada.post("/tickets", json={"symptom_text": "the meter is dark"}).json()["ticket_id"]
    helper.post(f"/tickets/{ticket}/status", json={"status": "PROCESSING"})
    given = {"operator_id": "f-helper", "rating": 4, "comment": "a numbatfriendly answer"}
    assert ada.post(f"/tickets/{ticket}/feedback", json=given).status_code == 201
    admin = support("Admins", "f-admin")
    soon(admin, "numbatfriendly")
    for client, number in ((ada, 1), (helper, 1), (admin, 1), (other, 0), (support("Customers", "f-eve"), 0)):
        assert len(found(client, "numbatfriendly")) == number


def test_tasks_and_comments_are_the_teams_and_people_are_for_admins_and_themselves(served: Served) -> None:
    def tasks(role: str, user: str) -> httpx.Client:
        return served.client(user, role, path="/tasks")

    admin = tasks("Admins", "t-admin")
    for user in ("t-grace", "t-linus"):
        body = {"userId": user, "email": f"{user}@kangaroo.example", "groups": ["Members"]}
        assert admin.post("/users", json=body).status_code == 201
    task = admin.post("/tasks", json={"title": "Feed the tapir", "description": "with figs", "priority": "LOW"}).json()
    grace = tasks("Members", "t-grace")
    grace.post(f"/tasks/{task['taskId']}/comments", json={"text": "it prefers axolotlfigs"})
    assert {each["ids"]["user_id"] for each in soon(admin, "kangaroo", 2)} == {"t-grace", "t-linus"}
    assert [each["ids"]["user_id"] for each in found(grace, "kangaroo")] == ["t-grace"]
    assert [each["kind"] for each in soon(grace, "tapir")] == ["task"]
    (comment,) = soon(grace, "axolotlfigs")
    assert (comment["kind"], comment["ids"]["task_id"]) == ("comment", task["taskId"])


def test_programs_are_found_by_those_who_look_at_them(served: Served) -> None:
    programme = Programme(served, served.client("m-1", "Admins", path="/engagement"))
    viewer = served.client("v-1", "Viewers", path="/engagement")
    (result,) = soon(viewer, programme.id)
    assert result["ids"] == {"program_id": programme.id, "marketplace_id": "US"}
    shop = served.client("shop", "EventSources", path="/engagement")
    assert shop.get("/search", params={"q": programme.id}).status_code == 403


@pytest.mark.parametrize(
    ("path", "role"),
    [("/servicedesk", "VoiceAgents"), ("/engagement", "EventSources"), ("/tasks", "support:Admins")],
)
def test_roles_that_read_nothing_by_lists_may_not_search(served: Served, path: str, role: str) -> None:
    assert served.client("x-9", role, path=path).get("/search", params={"q": "a"}).status_code == 403
    assert served.client(path=path).get("/search", params={"q": "a"}).status_code == 401


def test_what_is_changed_or_deleted_is_found_no_longer_at_once(served: Served) -> None:
    admin = served.client("d-admin", "Admins", path="/tasks")
    task = admin.post("/tasks", json={"title": "Echidna one", "description": "x", "priority": "LOW"}).json()
    soon(admin, "echidna")
    admin.patch(f"/tasks/{task['taskId']}", json={"title": "Platypus one"})
    # Whatever the index says, it is the task as it is now that is shown.
    assert found(admin, "echidna") == []
    soon(admin, "platypus")


HOSTILE = (
    '"', '""', "'", "a OR", "NEAR(a b)", "title:x", "a*", "*", "^a", "-a", "(", "{a b}:c", "\u0000", "a\u0000b", "+",
    "SELECT * FROM words", "'; DROP TABLE words; --", "🦊", "\u202eabc", "%", "_", "AND", "NOT", "a AND NOT b",
    "ﬁ", "ß", "İ", "e\u0301" * 60, "x" * 200, " ".join("abcdefghijklmnopqrst"),
)  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_is_an_error(served: Served, query: str) -> None:
    found(desk(served, "Agents"), query)


@pytest.mark.parametrize("params", [{}, {"q": ""}, {"q": "x" * 201}, {"q": "a", "limit": 0}, {"q": "a", "limit": 51}])
def test_a_query_is_bounded(served: Served, params: dict[str, Any]) -> None:
    assert desk(served, "Agents").get("/search", params=params).status_code == 422


def test_only_so_many_are_found_as_are_asked_for(served: Served) -> None:
    admin = served.client("l-admin", "Admins", path="/tasks")
    for number in range(4):
        body = {"title": f"Quolltask {number}", "description": "x", "priority": "LOW"}
        admin.post("/tasks", json=body, headers={"Idempotency-Key": f"quoll-{number}"})
    soon(admin, "quolltask", 4)
    assert len(found(admin, "quolltask", limit=3)) == 3


@pytest.mark.parametrize("change", ["missing", "another version", "damaged"])
def test_an_index_that_is_missing_or_unusable_is_made_again_at_the_start(
    tmp_path: Any, change: str, served: Served
) -> None:
    def admin(served: Served) -> httpx.Client:
        return served.client("r-admin", "Admins", path="/tasks")

    with serving(load("tasks"), data=tmp_path) as before:
        body = {"title": "Bilby burrow", "description": "x", "priority": "LOW"}
        admin(before).post("/tasks", json=body)
        soon(admin(before), "bilby")
    _CHANGES[change](tmp_path / "search.sqlite")
    with serving(load("tasks"), data=tmp_path) as after:
        soon(admin(after), "bilby")
        state = admin(after).get("/search", params={"q": "bilby"}).json()
        assert wait_for(lambda: not admin(after).get("/search", params={"q": "bilby"}).json()["is_building"])
        assert state["behind_seconds"] >= 0


def _another_version(path: Any) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '0' WHERE name = 'version'")
    connection.commit()
    connection.close()


_CHANGES: dict[str, Callable[[Any], object]] = {
    "missing": lambda path: path.unlink(),
    "another version": _another_version,
    "damaged": lambda path: path.write_bytes(b"no database" * 1000),
}
