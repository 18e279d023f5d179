"""Shared by the calls of Engagement: who may make them, paths, and remedies for unreadable items."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from tablewright.runtime import (
    Caller,
    allow,
    service_of,
)
from tablewright.systems.engagement.platform import Platform
from tablewright.systems.engagement.roles import ADMINS, APPROVERS, EVENT_SOURCES, MARKETERS, VIEWERS
from tablewright.systems.system_router import SystemRouter

__all__ = [
    "CANDIDATE",
    "PROGRAM",
    "PUT_AGAIN",
    "Admin",
    "Anyone",
    "Approver",
    "Consistent",
    "Editor",
    "Here",
    "Machine",
    "Reviewer",
    "Staff",
    "system_router",
]

PUT_AGAIN = "put it again"
_REMEDIES = {
    "Program": PUT_AGAIN,
    "ProgramVersion": "put the program again, which creates a new version",
    "Preferences": PUT_AGAIN,
    "Candidate": "delete it; the next run, or an event, creates it again",
    "Score": "the next run writes it again",
    "Run": "delete it, and start a new run",
    "Slot": "delete the latest run, and start a new one",
}

Here = Annotated[Platform, Depends(service_of)]
Anyone = Annotated[Caller, allow(VIEWERS, MARKETERS, APPROVERS, EVENT_SOURCES, ADMINS)]
Staff = Annotated[Caller, allow(VIEWERS, MARKETERS, APPROVERS, ADMINS)]
Editor = Annotated[Caller, allow(MARKETERS, ADMINS)]
Approver = Annotated[Caller, allow(APPROVERS, ADMINS)]
Reviewer = Annotated[Caller, allow(MARKETERS, APPROVERS, ADMINS)]
Machine = Annotated[Caller, allow(EVENT_SOURCES, ADMINS)]
Admin = Annotated[Caller, allow(ADMINS)]
Consistent = Annotated[bool, Query(description="strongly consistent read")]

PROGRAM = "/programs/{program_id}/marketplaces/{marketplace_id}"
CANDIDATE = PROGRAM + "/customers/{customer_id}/candidates/{subject_type}/{subject_id}"


def system_router() -> SystemRouter:
    """A router for some of the calls."""
    return SystemRouter("here", _REMEDIES)
