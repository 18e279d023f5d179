"""A team to test with: an admin, members, and what they do most."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx

from tests.systems.harness import Served

TASK = {"title": "Fix the login page", "description": "It asks for the password twice.", "priority": "HIGH"}


class Team:
    """People with names of their own, as the tests of a module share an application."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.mark = uuid4().hex[:8]
        self.admin_id = f"ada-{self.mark}"
        self.admin = self.client(self.admin_id, "Admins")
        self.member("ada", "Admins")

    def client(self, user_id: str, *groups: str) -> httpx.Client:
        return self.served.client(user_id, *groups, email=self.address(user_id), path="/tasks")

    def address(self, user_id: str) -> str:
        return f"{user_id}@example.org"

    def member(self, name: str, group: str = "Members") -> str:
        """Somebody new, with a profile."""
        user_id = f"{name}-{self.mark}"
        body = {"userId": user_id, "email": self.address(user_id), "groups": [group]}
        answer = self.admin.post("/users", json=body)
        assert answer.status_code == 201, answer.text
        return user_id

    def task(self, **changes: str) -> str:
        answer = self.admin.post("/tasks", json={**TASK, **changes})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["taskId"])

    def assign(self, task_id: str, *user_ids: str) -> None:
        for user_id in user_ids:
            answer = self.admin.post(f"/tasks/{task_id}/assign", json={"userId": user_id})
            assert answer.status_code == 200, answer.text

    def move(self, task_id: str, *statuses: str, by: httpx.Client | None = None) -> None:
        for status in statuses:
            answer = (by or self.admin).put(f"/tasks/{task_id}/status", json={"status": status})
            assert (answer.status_code, answer.json().get("status")) == (200, status), answer.text


def pages(client: httpx.Client, path: str, member: str, **params: Any) -> list[list[Any]]:
    """Every page of a list."""
    found: list[list[Any]] = []
    cursor: str | None = None
    while True:
        answer = client.get(path, params={**params, **({} if cursor is None else {"cursor": cursor})})
        assert answer.status_code == 200, answer.text
        found.append(answer.json()[member])
        cursor = answer.json()["cursor"]
        if cursor is None:
            return found
