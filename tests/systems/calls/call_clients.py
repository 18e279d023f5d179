"""Those who use calls, for the tests: ids of their own, and the requests that they send."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx

NOON = 1_900_000_000_000
HOUR = 3_600_000

Answer = dict[str, Any]


def new_id(prefix: str) -> str:
    return f"{prefix}-{uuid4().hex[:12]}"


def schedule(client: httpx.Client, **fields: Any) -> Answer:
    """A new call, of a user and a provider of its own unless it is said."""
    body = {"userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON, **fields}
    answer = client.post("/calls", json=body)
    assert answer.status_code == 201, answer.text
    call: Answer = answer.json()
    return call


def put(client: httpx.Client, call: Answer, part: str, version: int | None = None, **fields: Any) -> httpx.Response:
    """A change of a call, based on its version."""
    body = {**fields, "version": call["version"] if version is None else version}
    return client.put(f"/calls/{call['callId']}/{part}", json=body)


def changed(client: httpx.Client, call: Answer, part: str, **fields: Any) -> Answer:
    answer = put(client, call, part, **fields)
    assert answer.status_code == 200, answer.text
    after: Answer = answer.json()
    return after


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [call["callId"] for call in answer.json()["calls"]]


def refused(answer: httpx.Response) -> tuple[int, str]:
    """The status and the kind of a refusal, which is always a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")
