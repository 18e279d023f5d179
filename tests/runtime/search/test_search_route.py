"""The call in a deployment of functions, which has no index: it says so, and what to do."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tablewright.runtime.http.application import application
from tablewright.systems.tasks.tasks_system import system
from tests.systems.harness import opened_runtime

pytestmark = [pytest.mark.requirement("AP3"), pytest.mark.requirement("SH3")]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/tasks/search?q=login"), ("GET", "/runtime/search"), ("POST", "/runtime/search/tasks/rebuild")],
)
def test_a_function_says_that_it_has_no_search(method: str, path: str) -> None:
    runtime = opened_runtime([system], memory=True)
    runtime.is_function = True
    assert runtime.issuer is not None
    token = runtime.issuer.token("ada", roles=["tasks:Admins", "runtime:Admins"], email="ada@example.org")
    app = application(runtime, [system])

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://api.example.org") as client:
            user = {"userId": "ada", "email": "ada@example.org", "groups": ["Admins"]}
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "k1"}
            await client.post("/tasks/users", json=user, headers=headers)
            return await client.request(method, path, headers=headers)

    answer = asyncio.run(ask())
    runtime.close()
    assert (answer.status_code, answer.json()["type"]) == (501, "/problems/not-offered"), answer.text
    assert "--container" in answer.json()["detail"]
