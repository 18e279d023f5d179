"""Service Desk: what is secret is neither stored nor logged, nor anywhere in the data folder."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from io import StringIO
from itertools import count
from pathlib import Path

import httpx
import pytest

from tablewright.runtime import logs
from tablewright.systems.servicedesk.servicedesk_system import system
from tests.systems.harness import Served, serving
from tests.systems.servicedesk.desk import open_ticket, stored
from tests.systems.servicedesk.phone_numbers import SPELLINGS
from tests.systems.servicedesk.sentences import CODES, ORDINARY, PASSWORDS, PHRASES, PINS, SERIALS

_numbers = count(48_291_000)

SAID = (
    *(("password", template) for template in (*PASSWORDS, *PHRASES)),
    *(("password", template) for template in PINS),
    *(("mfa_code", template) for template in CODES),
    *(("device_serial", template) for template in SERIALS),
)


def new_secret(kind: str, template: str) -> str:
    number = next(_numbers)
    if template in PINS or kind == "mfa_code":
        return str(number)
    return f"Zx{number}Q" if kind == "device_serial" else f"Hunt{number}r"


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """Everything that is logged while a test runs, at every level, as it is written."""
    stream = StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    names = ("uvicorn.access", "httpx", "httpcore", "botocore", "urllib3")
    levels = {name: logging.getLogger(name).level for name in names}
    logs.set_up("DEBUG", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.requirement("SD6")
def test_secrets_are_neither_stored_nor_logged_nor_answered(
    agent: httpx.Client, served: Served, logged: StringIO
) -> None:
    secrets = []
    for kind, template in SAID:
        first, second = new_secret(kind, template), new_secret(kind, template)
        secrets += [first, second]
        ticket = open_ticket(agent, text=template.format(first))
        assert kind in ticket["masked"], template
        answer = agent.post(f"/tickets/{ticket['ticket_id']}/comments", json={"comment_text": template.format(second)})
        assert kind in answer.json()["masked"], template
        kept = str(stored(served, ticket)) + str(ticket) + answer.text
        assert first not in kept, template
        assert second not in kept, template
        assert kept.count("[removed]") >= 5
    written = logged.getvalue()
    assert "/tickets/{ticket_id}/comments" in written
    assert [secret for secret in secrets if secret in written] == []
    metrics = served.client().get("/metrics").text
    assert [secret for secret in secrets if secret in metrics] == []
    if served.runtime.settings.is_embedded:
        files = everything_in(served.runtime.settings.data)
        assert b"[removed]" in files
        assert [secret for secret in secrets if secret.encode() in files] == []


@pytest.mark.requirement("SD6")
def test_a_refusal_tells_no_secrets_either(agent: httpx.Client, served: Served, logged: StringIO) -> None:
    ticket = open_ticket(agent)
    path = f"/tickets/{ticket['ticket_id']}/comments"
    said = "my password is Hunt55r and my number is +39061239999 "
    answers = [
        agent.post(path, json={"comment_text": said * 2000}),
        agent.post(path, json={"comment_text": [said]}),
        agent.post(path, json={"comment_text": said, "more": said}),
        agent.post(path, content=said.encode(), headers={"Content-Type": "application/json"}),
        agent.post(path.replace(ticket["ticket_id"][:8], "0" * 8), json={"comment_text": said}),
        agent.get("/tickets", params={"caller": "+39061239999", "cursor": said}),
        agent.post("/tickets", json={"caller_id": "+39061239999", "issue_description": ""}),
    ]
    assert [answer.status_code for answer in answers] == [422, 422, 422, 400, 404, 400, 422]
    told = "".join(answer.text for answer in answers) + logged.getvalue()
    assert "Hunt55r" not in told
    assert "61239999" not in told


@pytest.mark.requirement("SD6")
def test_texts_without_secrets_are_stored_unchanged(agent: httpx.Client, served: Served) -> None:
    for sentence in ORDINARY[:20]:
        ticket = open_ticket(agent, text=sentence)
        assert (ticket["issue_description"], ticket["masked"]) == (sentence, [])
        assert stored(served, ticket)["issue_description"] == {"S": sentence}


@pytest.mark.requirement("SD6")
def test_a_phone_number_is_stored_as_a_hash_and_found_by_the_number(
    agent: httpx.Client, served: Served, logged: StringIO
) -> None:
    made = [open_ticket(agent, caller=spelling)["ticket_id"] for spelling in SPELLINGS]
    for spelling in SPELLINGS:
        page = agent.get("/tickets", params={"caller": spelling, "limit": 100}).json()
        assert [ticket["ticket_id"] for ticket in page["tickets"]] == made[::-1]
        (caller,) = {ticket["caller_id"] for ticket in page["tickets"]}
        assert re.fullmatch(r"phone-[0-9a-f]{40}", caller)
    by_hash = agent.get("/tickets", params={"caller": caller, "limit": 100}).json()
    assert len(by_hash["tickets"]) == len(made)
    assert stored(served, {"ticket_id": made[0]})["caller_id"] == {"S": caller}
    assert "1234567" not in logged.getvalue()
    if served.runtime.settings.is_embedded:
        assert b"061234567" not in everything_in(served.runtime.settings.data)


@pytest.mark.requirement("SD6")
def test_a_number_is_found_by_an_address_in_which_its_plus_is_not_escaped(agent: httpx.Client) -> None:
    number = f"+4420{next(_numbers)}"
    ticket = open_ticket(agent, caller=number)
    assert [each["ticket_id"] for each in agent.get(f"/tickets?caller={number}").json()["tickets"]] == [
        ticket["ticket_id"]
    ]


@pytest.mark.requirement("SD6")
def test_a_number_is_found_again_after_a_restart(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with serving([system], data=tmp_path) as served:
            agent = served.client("sam", "Agents", path="/servicedesk")
            open_ticket(agent, caller="+39 06 1234567")
            found.append(agent.get("/tickets", params={"caller": "0039061234567"}).json()["tickets"])
    assert [len(each) for each in found] == [1, 2]


@pytest.mark.requirement("SD6")
def test_the_key_of_the_hash_can_be_given(tmp_path: Path) -> None:
    callers = set()
    for number, key in enumerate(["one", "one", "two"]):
        with serving([system], data=tmp_path / str(number), privacy_secret=key) as served:
            agent = served.client("sam", "Agents", path="/servicedesk")
            callers.add(open_ticket(agent, caller="+39061234567")["caller_id"])
    assert len(callers) == 2
