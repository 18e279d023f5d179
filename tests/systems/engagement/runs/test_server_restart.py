"""The server that is killed during a run takes it up by itself when it is started again."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tablewright.store import Store
from tablewright.systems.engagement.model import Candidate, ChannelEntry
from tablewright.systems.engagement.sources.demo_customers import write_customers
from tests.runtime.commands import issued, up
from tests.systems.engagement.engagement_fixtures import program
from tests.systems.harness import wait_for

CUSTOMERS = 4_000
PATH = "/engagement/programs/coffee/marketplaces/EU"


@pytest.mark.slow
@pytest.mark.requirement("CE8", "X1")
def test_a_killed_server_resumes_its_run_after_the_next_start(tmp_path: Path) -> None:
    write_customers(tmp_path / "data" / "sources" / "customers.csv", CUSTOMERS)
    token = issued(tmp_path, "root", "engagement:Admins")
    headers = {"Authorization": f"Bearer {token}"}
    approver = {"Authorization": f"Bearer {issued(tmp_path, 'vera', 'engagement:Approvers')}"}

    def read(url: str) -> Any:
        (found,) = httpx.get(f"{url}{PATH}/runs", headers=headers).json()["runs"]
        return found

    arguments = ("--system", "engagement")
    with up(*arguments, cwd=tmp_path) as (process, url):
        body = program(scoringModels=[{"modelId": "propensity-v1", "weight": 1}])
        assert httpx.put(f"{url}{PATH}", json=body, headers=headers).status_code == 200
        requested = httpx.post(f"{url}{PATH}/approval/request", headers=headers)
        seen = {"version": requested.json()["version"]}
        assert httpx.post(f"{url}{PATH}/approval/approve", json=seen, headers=approver).status_code == 200
        assert httpx.post(f"{url}{PATH}/runs", headers=headers).status_code == 202
        wait_for(lambda: read(url)["counts"]["read"] > 500, seconds=60)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    with up(*arguments, cwd=tmp_path) as (process, url):
        ended = wait_for(lambda: (found := read(url))["state"] != "running" and found, seconds=300)
        assert (ended["state"], ended["counts"]["read"]) == ("completed", CUSTOMERS)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    with Store.open(tmp_path / "data") as store:
        found = list(store.iterate(Candidate))
        assert len({each.customer_id for each in found}) == len(found) == CUSTOMERS
        assert all(each.version == 1 for each in found)
        assert sum(1 for _ in store.iterate(ChannelEntry)) == 2 * CUSTOMERS
