"""Programs to test with, customers of one's own, and engagement without HTTP around it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from tablewright.engine import Engine
from tablewright.model import Entity
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import Create, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Backend
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.delivery.outbound_http import Outbound
from tablewright.systems.engagement.model import (
    Approval,
    ApprovalState,
    Candidate,
    ChannelEntry,
    Program,
    ProgramVersion,
    Run,
    candidates,
    programs,
    scores,
)
from tablewright.systems.engagement.runs.batch_run import Runs
from tablewright.systems.engagement.scoring.http_models import Endpoints
from tablewright.systems.engagement.scoring.pipeline import Pipeline
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import Scorer, model
from tablewright.systems.engagement.service import Engagement
from tablewright.systems.engagement.sources.connectors import Sources
from tests.systems.dying_backend import Mortal
from tests.systems.harness import Served, wait_for

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HEADER = ("customer_id", "age", "country", "points")


@model("test-points")
def points(prospects: Sequence[Prospect]) -> list[Any]:
    """The score is an attribute."""
    return [each.attributes.get("points") for each in prospects]


@model("test-age")
def age(prospects: Sequence[Prospect]) -> list[Any]:
    return [Decimal(each.attributes.get("age", 0)) for each in prospects]


def new_id(prefix: str) -> str:
    return f"{prefix}-{uuid4().hex[:10]}"


def program(file: str = "customers.csv", **changes: Any) -> dict[str, Any]:
    """A program over a file of customers, whose score is their points."""
    return {
        "programName": "A program",
        "dataConnectors": [{"type": "files", "tables": {"customers": file}, "query": "SELECT * FROM customers"}],
        "scoringModels": [{"modelId": "test-points", "weight": 1, "minimum": -1000000, "maximum": 1000000}],
        "channels": [{"channelId": "email", "priority": 1}, {"channelId": "push", "priority": 2}],
        **changes,
    }


def write(path: Path, rows: Sequence[Sequence[Any]], header: Sequence[str] = HEADER) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


# -- over HTTP ----------------------------------------------------------------------------------------------------


def approve(served: Served, editor: httpx.Client, path: str) -> dict[str, Any]:
    """A program as it is, approved by somebody else than whoever asks for that."""
    approver = served.client("vera", "Approvers", path="/engagement")
    found = editor.get(path, params={"consistent": True}).json()
    if found["approval"]["state"] == "approved":
        return dict(found)
    requested = editor.post(f"{path}/approval/request")
    assert requested.status_code == 200, requested.text
    approved = approver.post(f"{path}/approval/approve", json={"version": requested.json()["version"]})
    assert approved.status_code == 200, approved.text
    return dict(approved.json())


class Programme:
    """A program of its own, over HTTP."""

    def __init__(
        self,
        served: Served,
        admin: httpx.Client,
        rows: Sequence[Sequence[Any]] = (),
        *,
        header: Sequence[str] = HEADER,
        approved: bool = True,
        **changes: Any,
    ) -> None:
        self.admin = admin
        self.id = new_id("p")
        self.path = f"/programs/{self.id}/marketplaces/US"
        self.file = served.runtime.settings.data / "sources" / f"{self.id}.csv"
        write(self.file, rows or [("c-1", 40, "IT", 5)], header)
        self.body = program(self.file.name, **changes)
        self._served = served
        self.put(approved=approved)

    def put(self, approved: bool = True, **changes: Any) -> dict[str, Any]:
        """The program with changes, which another person approves."""
        self.body = {**self.body, **changes}
        answer = self.admin.put(self.path, json=self.body)
        assert answer.status_code == 200, answer.text
        return self.approve() if approved else dict(answer.json())

    def approve(self, path: str | None = None) -> dict[str, Any]:
        """What was changed, approved by somebody else; as it is, if it is approved already."""
        return approve(self._served, self.admin, path or self.path)

    def run(self) -> dict[str, Any]:
        """A run, carried out."""
        answer = self.admin.post(f"{self.path}/runs")
        assert answer.status_code == 202, answer.text
        return self.ended(answer.json()["runId"])

    def ended(self, run_id: str) -> dict[str, Any]:
        def state() -> Any:
            found = self.admin.get(f"{self.path}/runs/{run_id}").json()
            return found if found["state"] != "running" else None

        ended: dict[str, Any] = wait_for(state, seconds=120)
        return ended

    def top(self, channel: str = "email", limit: int = 100) -> list[str]:
        """Customers of a channel, best first, page after page."""
        found: list[str] = []
        params: dict[str, Any] = {"limit": limit}
        while True:
            answer = self.admin.get(f"/programs/{self.id}/channels/{channel}/candidates", params=params)
            assert answer.status_code == 200, answer.text
            page = answer.json()
            found += [each["customerId"] for each in page["candidates"]]
            if page["cursor"] is None:
                return found
            params["cursor"] = page["cursor"]

    def candidate(self, customer: str) -> httpx.Response:
        return self.admin.get(f"{self.path}/customers/{customer}/candidates/program/{self.id}")


async def put_and_approve(
    service: Engagement, configuration: Configuration, program_id: str = "p", marketplace_id: str = "US"
) -> Program:
    """A program that one person has put, and another has approved."""
    place = program_id, marketplace_id
    found = await service.put_program(*place, configuration, by="test")
    if not found.is_approved:
        found = await service.request_approval(*place, by="test")
        found = await service.approve(*place, version=found.version, by="vera")
    return found


# -- without HTTP -------------------------------------------------------------------------------------------------


class Workshop:
    """Engagement on an engine in memory, with a clock that stands still until it is moved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = Engine.open(None, clock=self.seconds)
        self.now = NOON
        self.store = self.store_on(EmbeddedBackend(self.engine, owned=False))
        self.store.ensure_tables(internal_table, candidates, programs, scores)
        self.outbound = Outbound(["127.0.0.1"])

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *_: object) -> None:
        self.outbound.close()
        self.store.close()
        self.engine.close()

    def seconds(self) -> float:
        return self.now.timestamp()

    def clock(self) -> datetime:
        return self.now

    def mortal(self) -> Mortal:
        """The backend of a process that can be made to die."""
        return Mortal(self.store.backend)

    def store_on(self, backend: Backend) -> Store:
        return Store(backend, clock=self.seconds)

    def pipeline(self, store: Store | None = None) -> Pipeline:
        store = store or self.store
        return Pipeline(store, Scorer(store, Endpoints(self.outbound), self.clock), self.clock)

    def runs(self, store: Store | None = None, chunk: int = 50, outage_seconds: float = 30) -> Runs:
        sources = Sources(self.folder)
        return Runs(self.pipeline(store), sources, self.clock, chunk=chunk, outage_seconds=outage_seconds)

    def put(self, configuration: dict[str, Any], program_id: str = "p") -> Program:
        """A program, as it is stored by the service."""
        made = Configuration.model_validate(configuration)
        values = {name: getattr(made, name) for name in Configuration.model_fields}
        approval = Approval(state=ApprovalState.APPROVED, editors=["test"], decided_by="vera")
        found = Program(program_id=program_id, marketplace_id="US", approval=approval, **values)
        version = ProgramVersion(
            program_id=program_id, marketplace_id="US", number=1, configuration=made, changed_by="test", at=self.now
        )
        self.store.transact(Create(found), Create(version))
        stored = self.store.get(Program.by_id(program_id=program_id, marketplace_id="US"), consistent=True)
        assert stored is not None
        return stored

    def run(self, program: Program) -> Run:
        runs = self.runs()
        return runs.execute(runs.begin(program))

    def everything(self) -> dict[str, dict[str, Any]]:
        """All candidates and entries by key, but for the run that wrote them."""
        kinds: list[type[Entity]] = [Candidate, ChannelEntry]
        found = [each.item() for kind in kinds for each in self.store.iterate(kind)]
        for item in found:
            item.get("metadata", {"M": {}})["M"].pop("runId", None)
        return {f"{item['PK']['S']} {item['SK']['S']}": item for item in found}
