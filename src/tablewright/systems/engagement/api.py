"""Engagement over HTTP.

Viewers look at programs, candidates, runs and deliveries. Marketers configure programs, run them, have candidates
delivered, and reject candidates. Approvers approve programs that others have changed. Event sources send events, read
what concerns one customer, and keep customers' preferences. Admins do all of it, and delete.
"""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, Path, Query, Request
from starlette.responses import HTMLResponse

from tablewright.runtime import (
    Caller,
    Changing,
    Cursor,
    IdempotencyKey,
    Limit,
    Public,
    Reading,
    ResourceNotFound,
    Responder,
    allow,
    documented,
    service_of,
)
from tablewright.runtime.audit import AuditPage
from tablewright.runtime.search.search_route import search_route
from tablewright.store import Unreadable
from tablewright.systems.engagement import views
from tablewright.systems.engagement.audit_names import candidate_thing, program_thing
from tablewright.systems.engagement.configuration import Json, Name
from tablewright.systems.engagement.consent.customer_preferences import Scope, unsubscribed
from tablewright.systems.engagement.consent.unsubscribe_links import (
    PAGE_HEADERS,
    Subscription,
    done_page,
    offer_page,
    unknown_page,
)
from tablewright.systems.engagement.model import ApprovalState, Program, Run, Subject
from tablewright.systems.engagement.platform import Platform
from tablewright.systems.engagement.reactive import Event, Reaction
from tablewright.systems.engagement.roles import ADMINS, APPROVERS, EVENT_SOURCES, MARKETERS, VIEWERS
from tablewright.systems.engagement.scoring.pipeline import Plan
from tablewright.systems.response_views import page_end
from tablewright.systems.system_router import SystemRouter, UnreadableList
from tablewright.systems.unreadable_log import describe, unreadable_items

# Seconds that a request to deliver takes; what is left is delivered by the next.
_DELIVER_WITHIN = 20.0
# Seconds that a program is tried out; how far that came is the response.
_TRIED_WITHIN = 20.0
_MAX_FORM_BYTES = 10_000
_MAX_FORM_FIELDS = 20

_AGAIN = "put it again"
router = SystemRouter(
    "here",
    {
        "Program": _AGAIN,
        "ProgramVersion": "put the program again, which makes a new version",
        "Preferences": _AGAIN,
        "Candidate": "delete it; the next run, or an event, makes it again",
        "Score": "the next run writes it again",
        "Run": "delete it, and start another",
        "Slot": "delete the latest run, and start another",
    },
)

Here = Annotated[Platform, Depends(service_of)]
Anyone = Annotated[Caller, allow(VIEWERS, MARKETERS, APPROVERS, EVENT_SOURCES, ADMINS)]
Staff = Annotated[Caller, allow(VIEWERS, MARKETERS, APPROVERS, ADMINS)]
Editor = Annotated[Caller, allow(MARKETERS, ADMINS)]
Approver = Annotated[Caller, allow(APPROVERS, ADMINS)]
Reviewer = Annotated[Caller, allow(MARKETERS, APPROVERS, ADMINS)]
Machine = Annotated[Caller, allow(EVENT_SOURCES, ADMINS)]
Admin = Annotated[Caller, allow(ADMINS)]
Link = Annotated[str, Path(max_length=2_000, description="from the address in the mail")]
Consistent = Annotated[bool, Query(description="strongly consistent: see what was written just before")]

_PROGRAM = "/programs/{program_id}/marketplaces/{marketplace_id}"
_CANDIDATE = _PROGRAM + "/customers/{customer_id}/candidates/{subject_type}/{subject_id}"


# -- programs -----------------------------------------------------------------------------------------------------


@router.put(_PROGRAM, tags=["programs"], responses=documented(400, 409))
async def put_program(
    program_id: Name, marketplace_id: Name, body: views.ProgramBody, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Create a program, or replace it by a new version.

    Whatever changes it takes its approval away, and it does nothing until it is approved again. Then it is enabled,
    unless `enabled` is false.
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


@router.get(_PROGRAM, tags=["programs"], responses=documented(404))
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
    approval: Annotated[ApprovalState, Query(description="where they are on their way to be enabled")],
    here: Here,
    _: Staff,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.ProgramPage:
    """The programs of all marketplaces that are drafts, wait for approval, were declined, or are approved."""
    page = await here.engagement.in_state(approval, limit=limit, cursor=cursor)
    return views.ProgramPage(programs=[views.ProgramView.of(each) for each in page.items], **page_end(page))


@router.post(_PROGRAM + "/approval/request", tags=["programs"], responses=documented(400, 404, 409))
async def request_approval(
    program_id: Name, marketplace_id: Name, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Have a program wait for approval, by somebody who has not changed it."""
    program = await here.engagement.request_approval(program_id, marketplace_id, by=caller.user_id, seen=changing.seen)
    return views.ProgramView.of(changing.of(program))


@router.post(_PROGRAM + "/approval/approve", tags=["programs"], responses=documented(400, 403, 404, 409))
async def approve(
    program_id: Name,
    marketplace_id: Name,
    body: views.ApprovalBody,
    here: Here,
    caller: Approver,
    changing: Changing,
) -> views.ProgramView:
    """Approve a program as it is in a version, which enables it.

    Not one that the caller has changed since it was approved last, or asked for the approval of.
    """
    program = await here.engagement.approve(
        program_id, marketplace_id, version=body.version, by=caller.user_id, seen=changing.seen
    )
    return views.ProgramView.of(changing.of(program))


@router.post(_PROGRAM + "/approval/decline", tags=["programs"], responses=documented(404, 409))
async def decline(
    program_id: Name,
    marketplace_id: Name,
    body: views.DeclineBody,
    here: Here,
    caller: Approver,
    changing: Changing,
) -> views.ProgramView:
    """Send a program back to those who changed it, and say why."""
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
    """All that is wrong with a program that has yet to be put, each thing at its field. It changes nothing."""
    return views.ProgramReview.of(await asyncio.to_thread(here.checks.review, body))


@router.post(_PROGRAM + "/dry-run", tags=["programs"], responses=documented(400, 404, 409))
async def dry_run(
    program_id: Name, marketplace_id: Name, body: views.DryRunBody, here: Here, _: Reviewer
) -> views.FunnelView:
    """What a run would come to: who is read, scored and left out by which filter, and the candidates of each channel.

    Nothing is written and nobody is reached; models are asked for what the score cache does not have.
    """
    plan = await _plan(here, program_id, marketplace_id, body)
    return views.FunnelView.of(
        await asyncio.to_thread(here.trials.funnel, plan, limit=body.limit, within=_TRIED_WITHIN)
    )


@router.post(_PROGRAM + "/preview", tags=["programs"], responses=documented(400, 404, 409))
async def preview(
    program_id: Name, marketplace_id: Name, body: views.PreviewBody, here: Here, _: Reviewer
) -> views.PreviewView:
    """What comes of one customer: scores, what each filter says, and the message of each channel. Nothing is sent."""
    plan = await _plan(here, program_id, marketplace_id, body)
    found = await asyncio.to_thread(here.trials.preview, plan, body.customer_id, within=_TRIED_WITHIN)
    return views.PreviewView.of(found)


async def _plan(here: Platform, program_id: str, marketplace_id: str, body: views.TrialBody) -> Plan:
    """A program to be tried out, as it might be or as it is; Invalid if it could not work."""
    if body.configuration is None:
        program = await here.engagement.program(program_id, marketplace_id, consistent=True)
        configuration = program.configuration
    else:
        configuration = body.configuration
    await asyncio.to_thread(here.checks.check, configuration)
    return Plan(program_id, marketplace_id, configuration)


@router.post(_PROGRAM + "/enable", tags=["programs"], responses=documented(400, 404, 409))
async def enable(
    program_id: Name, marketplace_id: Name, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Enable a program that is approved: it runs, reacts to events and delivers."""
    program = await here.engagement.set_enabled(program_id, marketplace_id, True, by=caller.user_id, seen=changing.seen)
    return views.ProgramView.of(changing.of(program))


@router.post(_PROGRAM + "/disable", tags=["programs"], responses=documented(400, 404, 409))
async def disable(
    program_id: Name, marketplace_id: Name, here: Here, caller: Editor, changing: Changing
) -> views.ProgramView:
    """Disable a program. A run in progress goes on; stop it if it should not."""
    program = await here.engagement.set_enabled(
        program_id, marketplace_id, False, by=caller.user_id, seen=changing.seen
    )
    return views.ProgramView.of(changing.of(program))


@router.get(_PROGRAM + "/versions", tags=["programs"], responses=documented(400))
async def versions(
    program_id: Name, marketplace_id: Name, here: Here, _: Staff, limit: Limit = 20, cursor: Cursor = None
) -> views.VersionPage:
    """The versions of a program, latest first."""
    page = await here.engagement.versions(program_id, marketplace_id, limit=limit, cursor=cursor)
    return views.VersionPage(
        versions=[views.VersionView.of(each) for each in page.items],
        **page_end(page),
    )


@router.get(_PROGRAM + "/versions/{number}", tags=["programs"], responses=documented(404))
async def get_version(
    program_id: Name,
    marketplace_id: Name,
    number: Annotated[int, Path(ge=1, le=views.MAX_VERSION)],
    here: Here,
    _: Staff,
    reading: Reading,
) -> views.VersionView:
    """A program as it was in a version, such as the one that a run goes by."""
    return views.VersionView.of(reading.of(await here.engagement.version(program_id, marketplace_id, number)))


@router.get(_PROGRAM + "/audit", tags=["programs"], responses=documented(400, 404))
async def program_audit(
    program_id: Name, marketplace_id: Name, here: Here, _: Admin, limit: Limit = 50, cursor: Cursor = None
) -> AuditPage:
    """Who changed what of a program and its runs, when and by which call, newest first."""
    thing = program_thing(program_id, marketplace_id)
    lookup = Program.by_id(program_id, marketplace_id)
    return await here.engagement.audit(thing, lookup, limit=limit, cursor=cursor)


# -- candidates ---------------------------------------------------------------------------------------------------


@router.get(_PROGRAM + "/channels/{channel_id}/candidates", tags=["candidates"], responses=documented(400))
async def top_of_marketplace(
    program_id: Name,
    marketplace_id: Name,
    channel_id: Name,
    here: Here,
    _: Staff,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.EntryPage:
    """Candidates of a program and channel in a marketplace, best score first; nobody who has opted out."""
    page = await here.engagement.top(program_id, channel_id, marketplace_id=marketplace_id, limit=limit, cursor=cursor)
    return views.EntryPage(candidates=[views.EntryView.of(each) for each in page.items], **page_end(page))


@router.get("/programs/{program_id}/channels/{channel_id}/candidates", tags=["candidates"], responses=documented(400))
async def top(
    program_id: Name, channel_id: Name, here: Here, _: Staff, limit: Limit = 100, cursor: Cursor = None
) -> views.EntryPage:
    """Candidates of a program and channel in all marketplaces, best score first; nobody who has opted out."""
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
    """Candidates of a program that were made on a day, in that order."""
    page = await here.engagement.of_day(program_id, day, limit=limit, cursor=cursor)
    found = [views.CandidateView.of(each) for each in await here.engagement.shown(page.items)]
    return views.CandidatePage(candidates=found, **page_end(page))


@router.get(_CANDIDATE, tags=["candidates"], responses=documented(404))
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


@router.post(_CANDIDATE + "/reject", tags=["candidates"], responses=documented(404, 409))
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
    """Reject a candidate until it expires; it leaves the lists at once."""
    subject = Subject(type=subject_type, id=subject_id)
    found = await here.engagement.reject(
        customer_id, program_id, marketplace_id, subject, reason=body.reason, seen=changing.seen
    )
    (shown,) = await here.engagement.shown([changing.of(found)])
    return views.CandidateView.of(shown)


@router.delete(_CANDIDATE, status_code=204, tags=["candidates"], responses=documented(404, 409))
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
    """Delete a candidate; a later run may make it again."""
    subject = Subject(type=subject_type, id=subject_id)
    await here.engagement.delete(customer_id, program_id, marketplace_id, subject, changing.seen)


@router.get(_CANDIDATE + "/audit", tags=["candidates"], responses=documented(400, 404))
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
    """Who rejected or deleted a candidate, newest first; also of one that is gone."""
    subject = Subject(type=subject_type, id=subject_id)
    thing = candidate_thing(customer_id, program_id, marketplace_id, subject)
    lookup = here.engagement.candidate_lookup(customer_id, program_id, marketplace_id, subject)
    return await here.engagement.audit(thing, lookup, limit=limit, cursor=cursor)


# -- scores and customers -----------------------------------------------------------------------------------------


@router.get("/customers/{customer_id}/subjects/{subject_id}/scores", tags=["scores"])
async def scores(customer_id: views.Id, subject_id: views.SubjectId, here: Here, _: Anyone) -> views.ScoreList:
    """The scores of a customer and subject that have not expired."""
    found = await here.engagement.scores(customer_id, subject_id)
    scores = [views.ScoreView.of(each) for each in found.items]
    return views.ScoreList(scores=scores, unreadable=unreadable_items(found.unreadable))


@router.get(
    "/customers/{customer_id}/subjects/{subject_id}/scores/{model_id}", tags=["scores"], responses=documented(404)
)
async def score(
    customer_id: views.Id, subject_id: views.SubjectId, model_id: Name, here: Here, _: Anyone, reading: Reading
) -> views.ScoreView:
    """A score, unless it has expired."""
    return views.ScoreView.of(reading.of(await here.engagement.score(customer_id, subject_id, model_id)))


@router.get("/customers/{customer_id}/preferences", tags=["customers"])
async def preferences(customer_id: views.Id, here: Here, _: Anyone, reading: Reading) -> views.PreferencesView:
    """What a customer wants."""
    return views.PreferencesView.of(reading.of(await here.engagement.preferences.get(customer_id)))


@router.put("/customers/{customer_id}/preferences", tags=["customers"], responses=documented(409))
async def put_preferences(
    customer_id: views.Id, body: views.PreferencesBody, here: Here, caller: Machine, changing: Changing
) -> views.PreferencesView:
    """All that a customer wants from now on; refused if it leaves out what the customer has said before."""
    stored = await here.engagement.preferences.change(customer_id, body.change, by=caller.user_id, seen=changing.seen)
    return views.PreferencesView.of(changing.of(stored))


@router.patch("/customers/{customer_id}/preferences", tags=["customers"], responses=documented(409))
async def patch_preferences(
    customer_id: views.Id, body: views.PreferencesPatch, here: Here, caller: Machine, changing: Changing
) -> views.PreferencesView:
    """Change some of what a customer wants; what is not named stays as it is."""
    stored = await here.engagement.preferences.change(customer_id, body.change, by=caller.user_id, seen=changing.seen)
    return views.PreferencesView.of(changing.of(stored))


@router.get("/customers/{customer_id}/preferences/history", tags=["customers"], responses=documented(400))
async def preference_history(
    customer_id: views.Id, here: Here, _: Anyone, limit: Limit = 100, cursor: Cursor = None
) -> views.PreferenceHistory:
    """Who changed what a customer wants, when, how, and from what to what; latest first."""
    page = await here.engagement.preferences.history(customer_id, limit=limit, cursor=cursor)
    return views.PreferenceHistory(
        changes=[views.PreferenceChangeView.of(each) for each in page.items], **page_end(page)
    )


# -- unsubscribing ------------------------------------------------------------------------------------------------


# A link that is none of ours is answered with a page as well.
_UNKNOWN_LINK: dict[int | str, dict[str, Any]] = {
    404: {"description": "The link is not complete", "content": {"text/html": {"schema": {"type": "string"}}}}
}
_FORM = {
    "requestBody": {
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "List-Unsubscribe": {"type": "string", "enum": ["One-Click"]},
                        "scope": {"type": "string", "enum": ["program", "everything"]},
                    },
                }
            }
        }
    }
}


@router.get("/unsubscribe/{token}", tags=["customers"], response_class=HTMLResponse, responses=_UNKNOWN_LINK)
async def unsubscribe_page(token: Link, here: Here, _: Public) -> HTMLResponse:
    """The page behind the link in a message: what may be unsubscribed from. It changes nothing."""
    subscription = here.unsubscribe_links.read(token)
    if subscription is None:
        return HTMLResponse(unknown_page(), 404, PAGE_HEADERS)
    return HTMLResponse(offer_page(await _program_name(here, subscription)), headers=PAGE_HEADERS)


@router.post(
    "/unsubscribe/{token}",
    tags=["customers"],
    response_class=HTMLResponse,
    responses={**documented(409), **_UNKNOWN_LINK},
    openapi_extra=_FORM,
)
async def unsubscribe(token: Link, request: Request, here: Here, _: Public) -> HTMLResponse:
    """Unsubscribe with one click (RFC 8058): the token in the address is all that is needed.

    From the program that sent the message; a form with `scope=everything`, as the page has it, is for everything.
    """
    subscription = here.unsubscribe_links.read(token)
    if subscription is None:
        return HTMLResponse(unknown_page(), 404, PAGE_HEADERS)
    form = (await request.body())[:_MAX_FORM_BYTES].decode("latin-1")
    fields = parse_qs(form, max_num_fields=_MAX_FORM_FIELDS) if form.count("&") < _MAX_FORM_FIELDS else {}
    scope: Scope = "everything" if fields.get("scope") == ["everything"] else "program"
    await here.engagement.preferences.change(
        subscription.customer_id,
        unsubscribed(subscription.program_id, scope),
        by="customer",
        source="page" if "scope" in fields else "one-click",
    )
    name = await _program_name(here, subscription)
    return HTMLResponse(done_page(name, everything=scope == "everything"), headers=PAGE_HEADERS)


async def _program_name(here: Platform, subscription: Subscription) -> str:
    try:
        program = await here.engagement.program(subscription.program_id, subscription.marketplace_id)
    except (ResourceNotFound, Unreadable):
        return subscription.program_id
    return program.program_name


# -- events -------------------------------------------------------------------------------------------------------


@router.post("/events", tags=["customers"], responses=documented(404, 409))
async def react(
    body: views.EventBody, here: Here, caller: Machine, idempotency_key: IdempotencyKey = None
) -> views.ReactionList:
    """Something that a customer did makes or refreshes candidates at once, where programs react to events."""
    concerned, failed = await _concerned(here, body)
    subject = None if body.subject is None else Subject(**body.subject.model_dump())
    event = Event(body.customer_id, subject, body.attributes, body.context)
    found = await asyncio.to_thread(here.reactive.react_all, concerned, event, idempotency_key, by=caller.user_id)
    reactions = sorted([*found, *failed], key=lambda each: each.program_id)
    return views.ReactionList(reactions=[views.ReactionView.of(each) for each in reactions])


async def _concerned(here: Platform, body: views.EventBody) -> tuple[list[Program], list[Reaction]]:
    """The programs that react to an event, and notes on those that cannot be read, so that nobody knows."""
    if body.program_id is not None:
        return [await here.engagement.program(body.program_id, body.marketplace_id)], []
    found = await here.engagement.reacting(body.marketplace_id)
    # Their keys begin with "program_id <name>,".
    names = [str(error.key).partition(",")[0].removeprefix("program_id ") for error in found.unreadable]
    failed = [
        Reaction(name, "failed", f"{describe(error)}: {_AGAIN}", None)
        for name, error in zip(names, found.unreadable, strict=True)
    ]
    return found.items, failed


# -- runs ---------------------------------------------------------------------------------------------------------


@router.post(_PROGRAM + "/runs", status_code=202, tags=["runs"], responses=documented(404, 409))
async def begin_run(
    program_id: Name,
    marketplace_id: Name,
    here: Here,
    caller: Editor,
    idempotency_key: IdempotencyKey = None,
) -> views.RunView:
    """Start a batch run; a program has one at a time."""
    program = await here.engagement.program(program_id, marketplace_id, consistent=True)
    responder: Responder[Run, views.RunView] = Responder(
        views.RunView.of, caller.user_id, idempotency_key, views.RunView.model_validate
    )
    return await asyncio.to_thread(here.begin_run, program, responder)


@router.get(_PROGRAM + "/runs", tags=["runs"], responses=documented(400))
async def runs(
    program_id: Name, marketplace_id: Name, here: Here, _: Staff, limit: Limit = 20, cursor: Cursor = None
) -> views.RunPage:
    """The runs of a program, latest first."""
    page = await here.engagement.runs(program_id, marketplace_id, limit=limit, cursor=cursor)
    return views.RunPage(
        runs=[views.RunView.of(each) for each in page.items],
        **page_end(page),
    )


@router.get(_PROGRAM + "/runs/{run_id}", tags=["runs"], responses=documented(404))
async def get_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Staff, reading: Reading
) -> views.RunView:
    """A run: how far it is, what it counted, what went wrong."""
    return views.RunView.of(reading.of(await here.engagement.run(program_id, marketplace_id, run_id)))


@router.post(_PROGRAM + "/runs/{run_id}/stop", tags=["runs"], responses=documented(404, 409))
async def stop_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Editor, changing: Changing
) -> views.RunView:
    """Stop a run where it is; it can be resumed."""
    run = await here.engagement.run(program_id, marketplace_id, run_id)
    return views.RunView.of(changing.of(await asyncio.to_thread(here.runs.request, run, "stop", changing.seen)))


@router.post(_PROGRAM + "/runs/{run_id}/cancel", tags=["runs"], responses=documented(404, 409))
async def cancel_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Editor, changing: Changing
) -> views.RunView:
    """End a run permanently; what it has written stays."""
    run = await here.engagement.run(program_id, marketplace_id, run_id)
    return views.RunView.of(changing.of(await asyncio.to_thread(here.runs.request, run, "cancel", changing.seen)))


@router.post(_PROGRAM + "/runs/{run_id}/resume", status_code=202, tags=["runs"], responses=documented(404, 409))
async def resume_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Editor, changing: Changing
) -> views.RunView:
    """Resume a run after the last customer it has dealt with; customers who failed are tried again.

    It was stopped, paused, interrupted or has failed; or it is completed, and some customers failed.
    """
    run = await here.engagement.run(program_id, marketplace_id, run_id)
    return views.RunView.of(changing.of(await asyncio.to_thread(here.resume_run, run, changing.seen)))


@router.delete(_PROGRAM + "/runs/{run_id}", status_code=204, tags=["runs"], responses=documented(404, 409))
async def forget_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Admin, changing: Changing
) -> None:
    """Delete the record of a run that is not in progress, readable or not; what the run has written stays."""
    await asyncio.to_thread(here.runs.forget, program_id, marketplace_id, run_id, changing.seen)


# -- deliveries ---------------------------------------------------------------------------------------------------


@router.post(_PROGRAM + "/deliveries", tags=["deliveries"], responses=documented(404, 409))
async def deliver(
    program_id: Name, marketplace_id: Name, body: views.DeliveryBody, here: Here, _: Editor
) -> views.SummaryView:
    """Deliver candidates through the channels, in order of priority, best first, each once for each channel."""
    program = await here.engagement.program(program_id, marketplace_id, consistent=True)
    await here.engagement.record(program, deliveries="wanted")
    summary = await asyncio.to_thread(here.deliveries.deliver, program, limit=body.limit, within=_DELIVER_WITHIN)
    return views.SummaryView.of(summary)


@router.post(_PROGRAM + "/deliveries/retry", tags=["deliveries"], responses=documented(404, 409))
async def retry_deliveries(
    program_id: Name, marketplace_id: Name, body: views.RetryBody, here: Here, _: Editor
) -> views.SummaryView:
    """Try again what was refused: of all channels and customers, or of those that are named."""
    program = await here.engagement.program(program_id, marketplace_id, consistent=True)
    wanted = {"channel_id": body.channel_id, "customer_id": body.customer_id}
    await here.engagement.record(program, deliveries={"wanted": "again", **wanted})
    summary = await asyncio.to_thread(
        here.deliveries.retry,
        program,
        channel_id=body.channel_id,
        customer_id=body.customer_id,
        limit=body.limit,
        within=_DELIVER_WITHIN,
    )
    return views.SummaryView.of(summary)


@router.get("/programs/{program_id}/deliveries", tags=["deliveries"], responses=documented(400))
async def deliveries(
    program_id: Name,
    day: Annotated[date, Query(alias="date", description="a day, in UTC")],
    here: Here,
    _: Staff,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.DeliveryPage:
    """What a program has sent on a day, in that order."""
    page = await here.engagement.deliveries(program_id, day, limit=limit, cursor=cursor)
    found = [views.DeliveryView.of(each) for each in page.items]
    return views.DeliveryPage(deliveries=found, **page_end(page))


@router.get(_PROGRAM + "/customers/{customer_id}/deliveries", tags=["deliveries"], responses=documented(400))
async def deliveries_to(
    program_id: Name,
    marketplace_id: Name,
    customer_id: views.Id,
    here: Here,
    _: Staff,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.DeliveryPage:
    """What a program has sent to a customer."""
    page = await here.engagement.deliveries_to(customer_id, program_id, marketplace_id, limit=limit, cursor=cursor)
    found = [views.DeliveryView.of(each) for each in page.items]
    return views.DeliveryPage(deliveries=found, **page_end(page))


# -- what cannot be read ------------------------------------------------------------------------------------------


@router.get("/unreadable", tags=["maintenance"])
async def unreadable(here: Here, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: which, what is wrong, how often."""
    return UnreadableList.of(here.unreadable_log)


router.routes += search_route("engagement", VIEWERS, MARKETERS, APPROVERS, ADMINS).routes
