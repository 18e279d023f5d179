"""Engagement as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tablewright.runtime import (
    Background,
    DemoUser,
    OnProgress,
    Runtime,
    StateConflict,
    System,
)
from tablewright.systems.engagement.api import router
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.model import ApprovalState, Program, Run, design
from tablewright.systems.engagement.platform import Platform
from tablewright.systems.engagement.programs_search import SEARCH
from tablewright.systems.engagement.roles import ADMINS, APPROVERS, EVENT_SOURCES, MARKETERS, ROLES, VIEWERS
from tablewright.systems.engagement.sources import demo_customers

__all__ = ["system"]

_CUSTOMERS = 300
_FILE = "customers.csv"
_DEMO = {
    "programName": "Coffee lovers",
    "dataConnectors": [
        {
            "type": "files",
            "tables": {"customers": _FILE},
            "query": "SELECT *, 'product' AS kind FROM customers WHERE age >= 18",
            "subjectTypeColumn": "kind",
            "subjectIdColumn": "product",
        }
    ],
    "scoringModels": [
        {"modelId": "propensity-v1", "weight": 0.7},
        {"modelId": "value-v1", "weight": 0.3},
    ],
    "filterChain": {
        "filters": ["frequency", "eligibility", "preference"],
        "settings": {
            "frequency": {"most": 3, "days": 7},
            "eligibility": {"rule": {"attribute": "country", "op": "in", "value": ["IT", "DE", "FR"]}},
        },
    },
    "channels": [
        {
            "channelId": "email",
            "priority": 1,
            "limitPerDay": 100,
            "config": {"subject": "For you, $first_name: $subject_id", "text": "Hello $first_name,\n\nhave a look.\n"},
        },
        {"channelId": "push", "priority": 2},
    ],
    "batchSchedule": "0 2 * * *",
    "timeZone": "Europe/Rome",
    "reactiveEnabled": True,
    "candidateTTLDays": 30,
}


# Programs in progress: one is waiting for approval, one is a draft.
_OTHERS: tuple[tuple[str, str, Mapping[str, Any], bool], ...] = (
    ("grinders", "EU", {"programName": "Grinders for home baristas", "candidateTTLDays": 14}, True),
    ("win-back", "US", {"programName": "We miss you", "batchSchedule": None, "timeZone": "America/New_York"}, False),
)


def _background(runtime: Runtime, platform: Platform) -> Sequence[Background]:
    return [platform.runner]


async def _approved(platform: Platform, program: Program) -> Program:
    """A program that one demo person has created, and another has approved."""
    place = program.program_id, program.marketplace_id
    if program.approval.state is ApprovalState.DRAFT:
        program = await platform.engagement.request_approval(*place, by="marketer")
    if program.approval.state is ApprovalState.REQUESTED:
        program = await platform.engagement.approve(*place, version=program.version, by="paola")
    return program


async def _demo(runtime: Runtime, platform: Platform, on_progress: OnProgress) -> None:
    """Add the demo data, or complete it after an interruption."""
    file = platform.sources.folder / _FILE
    if not file.exists():
        await asyncio.to_thread(demo_customers.write_customers, file, _CUSTOMERS)
    with suppress(StateConflict):
        configuration = Configuration.model_validate(_DEMO)
        await platform.engagement.put_program("coffee", "EU", configuration, expected=0, by="marketer")
    program = await _approved(platform, await platform.engagement.program("coffee", "EU", consistent=True))
    for program_id, marketplace_id, changes, is_requested in _OTHERS:
        with suppress(StateConflict):
            other = Configuration.model_validate({**_DEMO, **changes})
            await platform.engagement.put_program(program_id, marketplace_id, other, expected=0, by="marketer")
            if is_requested:
                await platform.engagement.request_approval(program_id, marketplace_id, by="marketer")
    if runtime.settings.is_embedded:
        await asyncio.to_thread(platform.runs.free_slots)
    unfinished = await asyncio.to_thread(platform.unfinished, program)
    latest = await platform.engagement.runs("coffee", "EU", limit=1)
    if latest.items and unfinished is None:
        return

    def show(run: Run) -> None:
        on_progress("customers", run.counts.read, run.total or _CUSTOMERS)

    def run_it() -> Run:
        held = platform.runs.begin(program) if unfinished is None else platform.runs.resume(unfinished)
        return platform.runs.execute(held, report=show)

    await asyncio.to_thread(run_it)


system = System(
    "engagement",
    "Engagement",
    "Whom to reach, about what, and how: programs score customers, and reach the best ones through channels.",
    design,
    router,
    service=Platform,
    roles=ROLES,
    background=_background,
    demo=_demo,
    search=SEARCH,
    screens="tablewright.systems.engagement.app.engagement_app",
    demo_users=(
        DemoUser("marketer", (MARKETERS,), "configures programs, and runs them", "marketer@example.org"),
        DemoUser("paola", (APPROVERS,), "approves programs that others have changed", "paola@example.org"),
        DemoUser("viewer", (VIEWERS,), "views candidates and runs", "viewer@example.org"),
        DemoUser("shop", (EVENT_SOURCES,), "the shop, which sends events"),
        DemoUser("enzo", (ADMINS,), "administers engagement", "enzo@example.org"),
    ),
)
