"""Candidates: listed by score, read, rejected, deleted."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import Query

from tablewright.runtime import (
    Changing,
    Cursor,
    Limit,
    Reading,
    documented,
)
from tablewright.runtime.audit import AuditPage
from tablewright.systems.engagement import views
from tablewright.systems.engagement.api.engagement_router import (
    CANDIDATE,
    PROGRAM,
    Admin,
    Anyone,
    Consistent,
    Editor,
    Here,
    Staff,
    system_router,
)
from tablewright.systems.engagement.audit_names import candidate_thing
from tablewright.systems.engagement.configuration import Name
from tablewright.systems.engagement.model import Subject
from tablewright.systems.response_views import page_end

router = system_router()


@router.get(PROGRAM + "/channels/{channel_id}/candidates", tags=["candidates"], responses=documented(400))
async def top_of_marketplace(
    program_id: Name,
    marketplace_id: Name,
    channel_id: Name,
    here: Here,
    _: Staff,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.EntryPage:
    """Candidates of a program and channel in a marketplace, best score first, without customers who opted out."""
    page = await here.engagement.top(program_id, channel_id, marketplace_id=marketplace_id, limit=limit, cursor=cursor)
    return views.EntryPage(candidates=[views.EntryView.of(each) for each in page.items], **page_end(page))


@router.get("/programs/{program_id}/channels/{channel_id}/candidates", tags=["candidates"], responses=documented(400))
async def top(
    program_id: Name, channel_id: Name, here: Here, _: Staff, limit: Limit = 100, cursor: Cursor = None
) -> views.EntryPage:
    """Candidates of a program and channel in all marketplaces, best score first, without customers who opted out."""
    page = await here.engagement.top(program_id, channel_id, limit=limit, cursor=cursor)
    return views.EntryPage(candidates=[views.EntryView.of(each) for each in page.items], **page_end(page))


@router.get("/programs/{program_id}/candidates", tags=["candidates"], responses=documented(400))
async def of_day(
    program_id: Name,
    day: Annotated[date, Query(alias="date", description="a day, in UTC")],
    here: Here,
    _: Staff,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.CandidatePage:
    """Candidates of a program that were created on a day, in order of creation."""
    page = await here.engagement.of_day(program_id, day, limit=limit, cursor=cursor)
    found = [views.CandidateView.of(each) for each in await here.engagement.shown(page.items)]
    return views.CandidatePage(candidates=found, **page_end(page))


@router.get(CANDIDATE, tags=["candidates"], responses=documented(404))
async def get_candidate(
    program_id: Name,
    marketplace_id: Name,
    customer_id: views.Id,
    subject_type: views.SubjectType,
    subject_id: views.SubjectId,
    here: Here,
    _: Anyone,
    reading: Reading,
    consistent: Consistent = False,
) -> views.CandidateView:
    """A candidate."""
    subject = Subject(type=subject_type, id=subject_id)
    found = await here.engagement.candidate(customer_id, program_id, marketplace_id, subject, consistent=consistent)
    (shown,) = await here.engagement.shown([found])
    reading.of(found, shown.parts)
    return views.CandidateView.of(shown)


@router.post(CANDIDATE + "/reject", tags=["candidates"], responses=documented(404, 409))
async def reject(
    program_id: Name,
    marketplace_id: Name,
    customer_id: views.Id,
    subject_type: views.SubjectType,
    subject_id: views.SubjectId,
    body: views.RejectionBody,
    here: Here,
    _: Editor,
    changing: Changing,
) -> views.CandidateView:
    """Reject a candidate until it expires; it is removed from all lists."""
    subject = Subject(type=subject_type, id=subject_id)
    found = await here.engagement.reject(
        customer_id, program_id, marketplace_id, subject, reason=body.reason, seen=changing.seen
    )
    (shown,) = await here.engagement.shown([changing.of(found)])
    return views.CandidateView.of(shown)


@router.delete(CANDIDATE, status_code=204, tags=["candidates"], responses=documented(404, 409))
async def delete_candidate(
    program_id: Name,
    marketplace_id: Name,
    customer_id: views.Id,
    subject_type: views.SubjectType,
    subject_id: views.SubjectId,
    here: Here,
    _: Admin,
    changing: Changing,
) -> None:
    """Delete a candidate; a later run may create it again."""
    subject = Subject(type=subject_type, id=subject_id)
    await here.engagement.delete(customer_id, program_id, marketplace_id, subject, changing.seen)


@router.get(CANDIDATE + "/audit", tags=["candidates"], responses=documented(400, 404))
async def candidate_audit(
    program_id: Name,
    marketplace_id: Name,
    customer_id: views.Id,
    subject_type: views.SubjectType,
    subject_id: views.SubjectId,
    here: Here,
    _: Admin,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> AuditPage:
    """The audit of a candidate, newest first: who rejected or deleted it; also of deleted ones."""
    subject = Subject(type=subject_type, id=subject_id)
    thing = candidate_thing(customer_id, program_id, marketplace_id, subject)
    lookup = here.engagement.candidate_lookup(customer_id, program_id, marketplace_id, subject)
    return await here.engagement.audit(thing, lookup, limit=limit, cursor=cursor)
