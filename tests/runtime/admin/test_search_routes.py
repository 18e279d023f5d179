"""The search index for those who run the systems."""

from __future__ import annotations

import pytest

from tablewright.systems import load
from tests.systems.harness import serving, wait_for

pytestmark = pytest.mark.requirement("AP3")


def test_admins_see_how_complete_an_index_is_and_make_it_again() -> None:
    with serving(load("tasks")) as served:
        admin = served.client("root", "runtime:Admins")
        (state,) = wait_for(lambda: [e for e in admin.get("/runtime/search").json() if not e["is_building"]])
        assert state == {
            "system": "tasks",
            "documents": 0,
            "is_building": False,
            "failing": None,
            "behind_seconds": state["behind_seconds"],
        }
        assert admin.post("/runtime/search/tasks/rebuild").status_code == 204
        assert admin.post("/runtime/search/nothing/rebuild").status_code == 404
        wait_for(lambda: not admin.get("/runtime/search").json()[0]["is_building"])
        consumers = {each["name"]: each["behind_seconds"] for each in admin.get("/runtime/consumers").json()}
        assert consumers["tasks.search"] >= 0
        somebody = served.client("ada", "tasks:Admins")
        assert somebody.get("/runtime/search").status_code == 403
        assert somebody.post("/runtime/search/tasks/rebuild").status_code == 403
