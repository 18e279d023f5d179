"""The tables are those of the document, and the policy that follows from the design allows all that is done."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tablewright.design import iam
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.model import Table
from tablewright.store import AsyncStore
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.consent.customer_preferences import patched
from tablewright.systems.engagement.delivery.deliveries import Deliveries
from tablewright.systems.engagement.model import ApprovalState, Program, Subject, candidates, design, programs, scores
from tablewright.systems.engagement.reactive import Event, Reactive
from tablewright.systems.engagement.runs.background import Runner
from tablewright.systems.engagement.runs.run_records import LEASE
from tablewright.systems.engagement.service import Engagement
from tests.design.iam.permissions import ARN, RecordingBackend
from tests.systems.engagement.engagement_fixtures import Workshop, program, put_and_approve, write
from tests.systems.engagement.recording_channel import Post


def indexes(table: Table) -> dict[str, list[str]]:
    return {
        index["IndexName"]: [part["AttributeName"] for part in index["KeySchema"]]
        for index in table.create_request().get("GlobalSecondaryIndexes", [])
    }


def test_tables_and_indexes_are_those_of_the_document() -> None:
    assert [table.name for table in design.tables] == ["Candidates", "ProgramConfig", "ScoreCache"]
    for table in design.tables:
        request = table.create_request()
        assert [part["AttributeName"] for part in request["KeySchema"]] == ["PK", "SK"]
        assert request["BillingMode"] == "PAY_PER_REQUEST"
        assert (table.point_in_time_recovery, table.encryption) == (True, True)
        assert set(table.tags) == {"Environment", "Application", "ManagedBy"}
    assert (candidates.ttl, programs.ttl, scores.ttl) == ("ttl", None, "ttl")
    assert indexes(candidates) == {
        "ProgramChannelIndex": ["GSI1PK", "GSI1SK"],
        "ProgramDateIndex": ["GSI2PK", "GSI2SK"],
        # Not in the document, whose lists mix marketplaces: the best of one.
        "MarketplaceChannelIndex": ["GSI3PK", "GSI3SK"],
    }
    # What the document has no index for: the programs of a marketplace, what is due, and what waits for approval.
    assert set(indexes(programs)) == {"MarketplaceIndex", "DueIndex", "ApprovalIndex"}


@pytest.mark.requirement("X3")
def test_the_policy_allows_all_that_engagement_does(tmp_path: Path) -> None:
    with Workshop(tmp_path) as workshop:
        backend = RecordingBackend(workshop.engine)
        asked: set[Any] = backend.asked
        workshop.store = workshop.store_on(backend)
        service = Engagement(AsyncStore(backend, clock=workshop.seconds), workshop.seconds, lambda configuration: None)
        _use(workshop, service)
        # A process has both; the second is for the internal table.
        policies = [iam.document(iam.grants(design, role), ARN) for role in ("api", "runtime")]
        assert len(asked) > 10
        assert [each for each in sorted(asked) if not any(is_allowed(policy, *each) for policy in policies)] == []


def _use(workshop: Workshop, service: Engagement) -> None:
    """Everything that there is to do."""
    write(workshop.folder / "customers.csv", [(f"c-{number}", 1, "IT", number) for number in range(5)])
    chain = {"filters": ["frequency", "preference"]}
    configuration = Configuration.model_validate(
        program(filterChain=chain, batchSchedule="0 * * * *", deliverySchedule="0 * * * *", reactiveEnabled=True)
    )
    subject = Subject(type="program", id="p")
    post = Post()
    deliveries = Deliveries(workshop.store, {"email": post}, workshop.clock)
    runner = Runner(workshop.store, workshop.runs(), deliveries, workshop.clock, alone=True)

    async def configured() -> Program:
        await put_and_approve(service, configuration)
        await service.set_enabled("p", "US", False, by="test")
        made = await service.set_enabled("p", "US", True, by="test")
        await service.programs("US")
        await service.versions("p", "US")
        await service.version("p", "US", 1)
        assert (await service.in_state(ApprovalState.APPROVED)).items
        await service.preferences.change("c-1", patched({"channels_off": ["push"]}), by="test")
        return made

    async def looked_at() -> None:
        for page in (service.top("p", "email"), service.runs("p", "US"), service.deliveries("p", workshop.now.date())):
            assert (await page).items
        assert (await service.of_day("p", workshop.now.date())).items
        assert (await service.deliveries_to("c-1", "p", "US")).items
        await service.scores("c-1", "p")
        await service.score("c-1", "p", "test-points")
        await service.preferences.get("c-1")
        assert (await service.preferences.history("c-1")).items
        assert (await service.top("p", "email", marketplace_id="US")).items
        await service.reject("c-1", "p", "US", subject, reason="no")
        await service.delete("c-2", "p", "US", subject)

    made = asyncio.run(configured())
    runs = workshop.runs()
    workshop.run(made)
    held = runs.begin(made)
    runs.request(held.run, "stop")
    runs.execute(held)
    runs.free_slots()
    reactive = Reactive(workshop.pipeline())
    reactive.react(made, Event("c-9", None, {"points": 1}, {}))
    post.instead = lambda message: "no" if message.candidate.customer_id == "c-9" else None
    deliveries.deliver(made)
    deliveries.retry(made)
    deliveries.retry(made, customer_id="c-9")
    asyncio.run(looked_at())
    workshop.now += LEASE + timedelta(hours=1)
    runner.tick()
    runner.stop()
