"""Programs: configured, checked, tried out, approved, enabled."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Path, Query

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
    PROGRAM,
    Admin,
    Approver,
    Consistent,
    Editor,
    Here,
    Reviewer,
    Staff,
    system_router,
)
from tablewright.systems.engagement.audit_names import program_thing
from tablewright.systems.engagement.configuration import Json, Name
from tablewright.systems.engagement.model import ApprovalState, Program
from tablewright.systems.engagement.platform import Platform
from tablewright.systems.engagement.scoring.pipeline import Plan
from tablewright.systems.response_views import page_end

# Seconds that a program is tried out; the response has the progress by then.
_TRIED_WITHIN = 20.0

router = system_router()


@router.put(PROGRAM, tags=["programs"], responses=documented(400, 409))
async def put_program(
    program_id: Name, marketplace_id: Name, body: views.ProgramBody, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Create a program, or replace it with a new version.

    Any change revokes its approval, and it does not run until it is approved again. Then it is enabled, unless
    `enabled` is false.
    """
    program = await here.engagement.put_program(
        program_id,
        marketplace_id,
        body.configuration,
        expected=body.version,
        by=caller.user_id,
        seen=changing.seen,
    )
    return views.ProgramView.of(changing.of(program))


@router.get(PROGRAM, tags=["programs"], responses=documented(404))
async def get_program(
    program_id: Name, marketplace_id: Name, here: Here, _: Staff, reading: Reading, consistent: Consistent = False
) -> views.ProgramView:
    """A program."""
    program = await here.engagement.program(program_id, marketplace_id, consistent=consistent)
    return views.ProgramView.of(reading.of(program))


@router.get("/marketplaces/{marketplace_id}/programs", tags=["programs"], responses=documented(400))
async def programs(
    marketplace_id: Name, here: Here, _: Staff, limit: Limit = 50, cursor: Cursor = None
) -> views.ProgramPage:
    """The programs of a marketplace, by one query."""
    page = await here.engagement.programs(marketplace_id, limit=limit, cursor=cursor)
    return views.ProgramPage(
        programs=[views.ProgramView.of(each) for each in page.items],
        **page_end(page),
    )


@router.get("/programs", tags=["programs"], responses=documented(400))
async def programs_by_approval(
    approval: Annotated[ApprovalState, Query(description="the state of their approval")],
    here: Here,
    _: Staff,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.ProgramPage:
    """The programs of all marketplaces in a state of approval."""
    page = await here.engagement.in_state(approval, limit=limit, cursor=cursor)
    return views.ProgramPage(programs=[views.ProgramView.of(each) for each in page.items], **page_end(page))


@router.post(PROGRAM + "/approval/request", tags=["programs"], responses=documented(400, 404, 409))
async def request_approval(
    program_id: Name, marketplace_id: Name, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Request approval of a program, by someone who has not changed it."""
    program = await here.engagement.request_approval(program_id, marketplace_id, by=caller.user_id, seen=changing.seen)
    return views.ProgramView.of(changing.of(program))


@router.post(PROGRAM + "/approval/approve", tags=["programs"], responses=documented(400, 403, 404, 409))
async def approve(
    program_id: Name,
    marketplace_id: Name,
    body: views.ApprovalBody,
    here: Here,
    caller: Approver,
    changing: Changing,
) -> views.ProgramView:
    """Approve a version of a program, which enables it.

    Refused if the caller has changed it since its last approval, or has requested the approval.
    """
    program = await here.engagement.approve(
        program_id, marketplace_id, version=body.version, by=caller.user_id, seen=changing.seen
    )
    return views.ProgramView.of(changing.of(program))


@router.post(PROGRAM + "/approval/decline", tags=["programs"], responses=documented(404, 409))
async def decline(
    program_id: Name,
    marketplace_id: Name,
    body: views.DeclineBody,
    here: Here,
    caller: Approver,
    changing: Changing,
) -> views.ProgramView:
    """Send a program back to its editors, with a reason."""
    program = await here.engagement.decline(
        program_id,
        marketplace_id,
        version=body.version,
        reason=body.reason,
        by=caller.user_id,
        seen=changing.seen,
    )
    return views.ProgramView.of(changing.of(program))


@router.post("/programs/check", tags=["programs"])
async def check_program(body: Json, here: Here, _: Reviewer) -> views.ProgramReview:
    """Check a program before it is put: all problems, each at its field. Nothing is changed."""
    return views.ProgramReview.of(await asyncio.to_thread(here.checks.review, body, views.ProgramBody))


@router.post(PROGRAM + "/dry-run", tags=["programs"], responses=documented(400, 404, 409))
async def dry_run(
    program_id: Name, marketplace_id: Name, body: views.DryRunBody, here: Here, _: Reviewer
) -> views.FunnelView:
    """Try a run: how many customers are read, scored and left out by each filter, and the candidates of each channel.

    Nothing is written or sent; models are only called for scores that are not in the cache.
    """
    plan = await _plan(here, program_id, marketplace_id, body)
    return views.FunnelView.of(
        await asyncio.to_thread(here.trials.funnel, plan, limit=body.limit, within=_TRIED_WITHIN)
    )


@router.post(PROGRAM + "/preview", tags=["programs"], responses=documented(400, 404, 409))
async def preview(
    program_id: Name, marketplace_id: Name, body: views.PreviewBody, here: Here, _: Reviewer
) -> views.PreviewView:
    """Try a program on one customer: scores, filter results, and the message of each channel. Nothing is sent."""
    plan = await _plan(here, program_id, marketplace_id, body)
    found = await asyncio.to_thread(here.trials.preview, plan, body.customer_id, within=_TRIED_WITHIN)
    return views.PreviewView.of(found)


async def _plan(here: Platform, program_id: str, marketplace_id: str, body: views.TrialBody) -> Plan:
    """The program to try out, from the body or as it is stored; Invalid if it could not work."""
    if body.configuration is None:
        program = await here.engagement.program(program_id, marketplace_id, consistent=True)
        configuration = program.configuration
    else:
        configuration = body.configuration
    await asyncio.to_thread(here.checks.check, configuration)
    return Plan(program_id, marketplace_id, configuration)


@router.post(PROGRAM + "/enable", tags=["programs"], responses=documented(400, 404, 409))
async def enable(
    program_id: Name, marketplace_id: Name, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Enable an approved program: it runs, reacts to events and delivers."""
    program = await here.engagement.set_enabled(program_id, marketplace_id, True, by=caller.user_id, seen=changing.seen)
    return views.ProgramView.of(changing.of(program))


@router.post(PROGRAM + "/disable", tags=["programs"], responses=documented(400, 404, 409))
async def disable(
    program_id: Name, marketplace_id: Name, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Disable a program. A run in progress continues unless it is stopped."""
    program = await here.engagement.set_enabled(
        program_id, marketplace_id, False, by=caller.user_id, seen=changing.seen
    )
    return views.ProgramView.of(changing.of(program))


@router.get(PROGRAM + "/versions", tags=["programs"], responses=documented(400))
async def versions(
    program_id: Name, marketplace_id: Name, here: Here, _: Staff, limit: Limit = 20, cursor: Cursor = None
) -> views.VersionPage:
    """The versions of a program, latest first."""
    page = await here.engagement.versions(program_id, marketplace_id, limit=limit, cursor=cursor)
    return views.VersionPage(
        versions=[views.VersionView.of(each) for each in page.items],
        **page_end(page),
    )


@router.get(PROGRAM + "/versions/{number}", tags=["programs"], responses=documented(404))
async def get_version(
    program_id: Name,
    marketplace_id: Name,
    number: Annotated[int, Path(ge=1, le=views.MAX_VERSION)],
    here: Here,
    _: Staff,
    reading: Reading,
) -> views.VersionView:
    """A version of a program, such as the one that a run uses."""
    return views.VersionView.of(reading.of(await here.engagement.version(program_id, marketplace_id, number)))


@router.get(PROGRAM + "/audit", tags=["programs"], responses=documented(400, 404))
async def program_audit(
    program_id: Name, marketplace_id: Name, here: Here, _: Admin, limit: Limit = 50, cursor: Cursor = None
) -> AuditPage:
    """The audit of a program and its runs, newest first: who changed what, when and by which call."""
    thing = program_thing(program_id, marketplace_id)
    lookup = Program.by_id(program_id, marketplace_id)
    return await here.engagement.audit(thing, lookup, limit=limit, cursor=cursor)
