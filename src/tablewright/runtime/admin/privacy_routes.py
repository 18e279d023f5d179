"""Admin routes for personal data: find, export and erase it; one person at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from tablewright.runtime.errors import ResourceNotFound, ServiceProblem, StateConflict
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.dependencies import allow, runtime_of
from tablewright.runtime.http.json_values import ApiModel
from tablewright.runtime.http.path_ids import Id
from tablewright.runtime.http.problems import documented
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Caller
from tablewright.runtime.privacy.privacy import Privacy, PrivacyJob

router = APIRouter(route_class=DeferredRoute)

Admin = Annotated[Caller, allow(RUNTIME_ADMINS)]


class FindingView(ApiModel):
    system: str = Field(examples=["tasks"])
    table: str = Field(examples=["TaskManagement"])
    entity: str = Field(examples=["Comment"])
    why: str = Field(description="subject, part, author, reference or mention", examples=["author"])
    action: str = Field(description="delete, replace, keep, expires, review or remaining", examples=["replace"])
    items: int = Field(examples=[3])
    note: str = Field(description="why it is kept, or what to do", examples=[""])


class PrivacyJobView(ApiModel):
    action: Literal["find", "erase"]
    person: str = Field(examples=["ada"])
    state: Literal["running", "done", "failed"]
    step: str = Field(examples=["erasing"])
    items_read: int = Field(examples=[1200])
    begun_at: datetime
    failed: str | None = Field(examples=[None])
    pseudonym: str | None = Field(description="replaces the ids of a person who was erased", examples=["erased-1f3a"])
    ids: list[str] = Field(description="the ids by which the systems know them", examples=[["ada"]])
    findings: list[FindingView]
    kept_elsewhere: list[str] = Field(examples=[["streams keep the previous items for 24 hours"]])

    @classmethod
    def of(cls, job: PrivacyJob) -> PrivacyJobView:
        report = job.report
        return cls(
            action=job.action,
            person=job.person,
            state="failed" if job.failed else "running" if report is None else "done",
            step=job.step,
            items_read=job.items_read,
            begun_at=job.begun_at,
            failed=job.failed,
            pseudonym=None if report is None else report.pseudonym,
            ids=[] if report is None else list(report.ids),
            findings=[] if report is None else [FindingView(**_fields(each)) for each in report.findings],
            kept_elsewhere=[] if report is None else list(report.kept_elsewhere),
        )


class PersonalExport(ApiModel):
    person: str = Field(examples=["ada"])
    ids: list[str] = Field(examples=[["ada"]])
    items: list[dict[str, Any]] = Field(
        examples=[[{"system": "tasks", "table": "TaskManagement", "entity": "User", "why": "subject", "item": {}}]]
    )


def _privacy_of(request: Request) -> Privacy:
    """The work on personal data in this process. A function has none: nothing goes on there after a response."""
    runtime = runtime_of(request)
    if runtime.is_function:
        raise ServiceProblem(
            "functions do not find or erase personal data; run `tablewright privacy` on the same tables, or deploy the "
            "system with --container",
            kind="not-offered",
        )
    return runtime.privacy


def _fields(finding: Any) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in FindingView.model_fields}


@router.get("/runtime/privacy", tags=["privacy"], responses=documented(404, 501))
async def privacy_job(request: Request, _: Admin) -> PrivacyJobView:
    """The latest work on personal data: its progress, or what was found where and what was done."""
    job = _privacy_of(request).job
    if job is None:
        raise ResourceNotFound("no personal data has been found or erased since this process started")
    return PrivacyJobView.of(job)


@router.post("/runtime/privacy/{person_id}/find", status_code=202, tags=["privacy"], responses=documented(409, 501))
async def find_personal_data(person_id: Id, request: Request, caller: Admin) -> PrivacyJobView:
    """Start finding everything that is about a person, was written by them or mentions them; nothing is changed."""
    return PrivacyJobView.of(_privacy_of(request).begin("find", person_id, by=caller.user_id))


@router.post("/runtime/privacy/{person_id}/erase", status_code=202, tags=["privacy"], responses=documented(409, 501))
async def erase_personal_data(person_id: Id, request: Request, caller: Admin) -> PrivacyJobView:
    """Start deleting what is about a person, and replacing them everywhere else; this cannot be undone."""
    if person_id == caller.user_id:
        raise StateConflict("you cannot erase yourself; another admin can do that")
    return PrivacyJobView.of(_privacy_of(request).begin("erase", person_id, by=caller.user_id))


@router.get("/runtime/privacy/{person_id}/export", tags=["privacy"], responses=documented(404, 501))
async def export_personal_data(person_id: Id, request: Request, _: Admin) -> PersonalExport:
    """What was found last, if it was for this person: every item, by system and entity."""
    job = _privacy_of(request).job
    if job is None or job.report is None or job.action != "find" or job.person != person_id:
        raise ResourceNotFound(f"no data of {person_id} was collected yet; POST /runtime/privacy/{person_id}/find")
    return PersonalExport(person=person_id, ids=list(job.report.ids), items=job.report.items)
