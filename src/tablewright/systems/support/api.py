"""Support over HTTP.

Customers see and open their own tickets, write about them, and give feedback on the help; for them, tickets of other
customers and internal notes do not exist. Operators, Engineers, Services and Admins work on all tickets. Feedback on a
person's help is given by the ticket's customer (or by a Service that asked), feedback on the help that a ticket got by
Operators and Engineers. It is visible to its author, to the person it is about, to Services and to Admins. Admins
rebuild the metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from typing import Annotated, Literal

from fastapi import Depends, Query, Request
from pydantic import Field
from starlette.responses import StreamingResponse

from tablewright.runtime import (
    Caller,
    Changing,
    Cursor,
    Forbidden,
    IdempotencyKey,
    Invalid,
    Limit,
    Reading,
    ResourceNotFound,
    Responder,
    Runtime,
    allow,
    documented,
    runtime_of,
    service_of,
)
from tablewright.runtime.audit import AuditPage
from tablewright.runtime.http.json_values import Shown
from tablewright.runtime.http.path_ids import Id, is_id
from tablewright.runtime.search.search_route import search_route
from tablewright.store import Unreadable
from tablewright.systems.response_views import page_end
from tablewright.systems.support import views
from tablewright.systems.support.facade import SupportFacade
from tablewright.systems.support.model import INTERNAL_EVENTS, Feedback, Status, Ticket
from tablewright.systems.support.roles import ADMINS, CUSTOMERS, ENGINEERS, OPERATORS, SERVICES, STAFF
from tablewright.systems.support.service import Support
from tablewright.systems.system_router import SystemRouter, UnreadableList

_LIVE_EVERY = 1.0

router = SystemRouter("here", {"Session": "start another one", "Metric": "rebuild the metrics"})

Here = Annotated[SupportFacade, Depends(service_of)]
Anyone = Annotated[Caller, allow(CUSTOMERS.own, *STAFF)]
Customer = Annotated[Caller, allow(CUSTOMERS.own)]
Staff = Annotated[Caller, allow(*STAFF)]
# Customers who were helped, or a program that asks them; and staff who review the help that a ticket got.
Reviewer = Annotated[Caller, allow(CUSTOMERS.own, SERVICES, OPERATORS, ENGINEERS)]
# For feedback on the caller's own work.
Reviewed = Annotated[Caller, allow(OPERATORS.own, ENGINEERS.own, SERVICES, ADMINS)]
Machine = Annotated[Caller, allow(SERVICES, ADMINS)]
Admin = Annotated[Caller, allow(ADMINS)]
CachedData = Annotated[Shown, Field(examples=[{"pump": "P-7", "pressure": 4.2}])]
Since = Annotated[date | None, Query(description="first day")]
Until = Annotated[date | None, Query(description="last day, inclusive")]
Consistent = Annotated[bool, Query(description="strongly consistent read")]


async def _visible(support: Support, ticket_id: str, caller: Caller, *, consistent: bool = False) -> Ticket:
    """A ticket that the caller may see."""
    try:
        ticket = await support.ticket(ticket_id, consistent=consistent)
    except Unreadable:
        if caller.has(*STAFF):
            raise
        # Its customer is unknown.
        raise ResourceNotFound(f"there is no ticket {ticket_id}") from None
    if not caller.has(*STAFF) and ticket.customer_id != caller.user_id:
        raise ResourceNotFound(f"there is no ticket {ticket_id}")
    return ticket


def _is_outside(caller: Caller) -> bool:
    """Whether the caller sees only what customers see."""
    return not caller.has(*STAFF)


def _customer(caller: Caller, given: str | None) -> str:
    """The customer whose tickets are requested: the caller, or the one that staff name."""
    if caller.has(*STAFF):
        if given is None:
            raise Invalid("customer_id is missing: pass the id of the ticket's customer", field="customer_id")
        return given
    if given not in (None, caller.user_id):
        raise Forbidden("customers can only use their own tickets")
    return _own_id(caller)


def _own_id(caller: Caller) -> str:
    """The id of a caller, as a segment of paths."""
    if not is_id(caller.user_id):
        raise Forbidden("the sub of your token cannot be used here: it contains a / or a control character")
    return caller.user_id


# -- tickets ------------------------------------------------------------------------------------------------------


@router.post("/tickets", status_code=201, tags=["tickets"], responses=documented(400, 409))
async def create_ticket(
    body: views.NewTicket, here: Here, caller: Anyone, idempotency_key: IdempotencyKey = None
) -> views.TicketView:
    """Open a ticket; its first event is written with it."""
    return await here.support.create_ticket(
        _customer(caller, body.customer_id),
        body.symptom_text,
        Responder(views.ticket_view, caller.user_id, idempotency_key),
        priority=body.priority,
        data=body.data,
    )


@router.get("/tickets/{ticket_id}", tags=["tickets"], responses=documented(404))
async def get_ticket(
    ticket_id: Id,
    here: Here,
    caller: Anyone,
    reading: Reading,
    consistent: Consistent = False,
) -> views.TicketView:
    """A ticket."""
    ticket = reading.of(await _visible(here.support, ticket_id, caller, consistent=consistent))
    return views.ticket_view(ticket, for_customer=_is_outside(caller))


@router.post("/tickets/batch-get", tags=["tickets"])
async def get_tickets(
    body: views.TicketIds, here: Here, caller: Anyone, consistent: Consistent = False
) -> views.TicketPage:
    """Several tickets at once; those that do not exist are left out."""
    found = await here.support.tickets(body.ticket_ids, consistent=consistent)
    if caller.has(*STAFF):
        return views.ticket_page(found.items, found.unreadable)
    # The customer of an unreadable item is unknown.
    own = [each for each in found.items if each.customer_id == caller.user_id]
    return views.ticket_page(own, [], for_customer=True)


@router.get("/customers/{customer_id}/tickets", tags=["tickets"], responses=documented(400))
async def of_customer(
    customer_id: Id,
    here: Here,
    caller: Anyone,
    status: Status | None = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> views.TicketPage:
    """A customer's tickets, newest first."""
    customer = _customer(caller, customer_id)
    page = await here.support.of_customer(customer, status=status, limit=limit, cursor=cursor)
    return views.ticket_page(page.items, page.unreadable, page.cursor, for_customer=_is_outside(caller))


@router.get("/my/tickets", tags=["tickets"], responses=documented(400))
async def my_tickets(
    here: Here, caller: Customer, status: Status | None = None, limit: Limit = 20, cursor: Cursor = None
) -> views.TicketPage:
    """The caller's own tickets, newest first, as the customers' portal shows them."""
    page = await here.support.of_customer(_own_id(caller), status=status, limit=limit, cursor=cursor)
    return views.ticket_page(page.items, page.unreadable, page.cursor, for_customer=True)


@router.get("/tickets", tags=["tickets"], responses=documented(400))
async def tickets(
    here: Here,
    _: Staff,
    status: Annotated[Status | None, Query(description="only tickets with this status; any if omitted")] = None,
    assigned_to: Annotated[
        Id | None, Query(description="only tickets assigned to this person that are not READY")
    ] = None,
    unanswered: Annotated[
        bool, Query(description="only tickets whose customer wrote last, longest wait first")
    ] = False,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.TicketPage:
    """Recent tickets, newest first: all, with one status, or of one assignee; or those waiting for an answer."""
    _require_one_list(status, assigned_to, unanswered or None, since or until)
    if assigned_to is not None:
        page = await here.support.of_assignee(assigned_to, limit=limit, cursor=cursor)
    elif unanswered:
        page = await here.support.unanswered(limit=limit, cursor=cursor)
    elif status is None:
        page = await here.support.recent(since=since, until=until, limit=limit, cursor=cursor)
    else:
        page = await here.support.by_status(status, since=since, until=until, limit=limit, cursor=cursor)
    return views.ticket_page(page.items, page.unreadable, page.cursor)


def _require_one_list(
    status: Status | None, assigned_to: str | None, unanswered: bool | None, day: date | None
) -> None:
    """Each list has an index, but combinations of them have none."""
    others = [each for each in (status, day) if each is not None]
    if (assigned_to is not None and (unanswered or others)) or (unanswered and others):
        raise Invalid("assigned_to and unanswered cannot be combined with other filters: send only one of them")


@router.post("/tickets/{ticket_id}/status", tags=["tickets"], responses=documented(400, 404, 409))
async def change_status(
    ticket_id: Id, body: views.StatusChange, here: Here, caller: Staff, changing: Changing
) -> views.TicketView:
    """Change the status of a ticket, and write an event about it."""
    ticket = await here.support.change_status(
        ticket_id, body.status, expected=body.expected, by=caller.user_id, seen=changing.seen
    )
    return views.ticket_view(changing.of(ticket))


@router.get("/tickets/{ticket_id}/data", tags=["tickets"], responses=documented(404, 410))
async def get_data(
    ticket_id: Id, here: Here, caller: Anyone, reading: Reading, consistent: Consistent = False
) -> views.Data:
    """The logs and traces of a ticket; the ETag is the ticket's."""
    await _visible(here.support, ticket_id, caller, consistent=consistent)
    return views.Data(data=reading.of(await here.support.with_data(ticket_id, consistent=consistent)).data)


@router.put("/tickets/{ticket_id}/data", tags=["tickets"], responses=documented(404, 409))
async def put_data(ticket_id: Id, body: views.Data, here: Here, caller: Anyone, changing: Changing) -> views.TicketView:
    """Replace the logs and traces of a ticket. Large ones are stored in the object store."""
    await _visible(here.support, ticket_id, caller, consistent=True)
    ticket = changing.of(await here.support.attach(ticket_id, body.data, changing.seen))
    return views.ticket_view(ticket, for_customer=_is_outside(caller))


@router.get("/tickets/{ticket_id}/case", tags=["tickets"], responses=documented(404, 413))
async def get_case(
    ticket_id: Id, here: Here, caller: Anyone, reading: Reading, consistent: Consistent = False
) -> views.CaseView:
    """A ticket with its events and its feedback, by one query; operators see feedback by and about themselves."""
    await _visible(here.support, ticket_id, caller, consistent=consistent)
    case, unreadable = await here.support.case(ticket_id, consistent=consistent)
    shown = [each for each in case.feedback if _may_see(caller, each)]
    is_outside = _is_outside(caller)
    events = [each for each in case.events if not is_outside or each.event_type not in INTERNAL_EVENTS]
    reading.of(case.ticket, [*events, *shown])
    # It is unknown whether an unreadable item may be shown.
    return views.CaseView.of(case, shown, [] if is_outside else unreadable, for_customer=is_outside)


@router.get("/tickets/{ticket_id}/audit", tags=["tickets"], responses=documented(400, 404))
async def audit(ticket_id: Id, here: Here, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> AuditPage:
    """The audit of a ticket, newest first: who changed what, when and how. Events and feedback name their authors."""
    return await here.support.audit(ticket_id, limit=limit, cursor=cursor)


# -- escalations --------------------------------------------------------------------------------------------------


@router.post("/tickets/{ticket_id}/escalate", tags=["escalations"], responses=documented(404, 409))
async def escalate(
    ticket_id: Id, body: views.Escalation, here: Here, caller: Staff, changing: Changing
) -> views.TicketView:
    """Escalate a ticket to an engineer; one that is already escalated is reassigned to another engineer."""
    ticket = await here.support.escalate(
        ticket_id,
        reason=body.reason,
        engineer=body.engineer,
        by=caller.user_id,
        expected=body.expected,
        expected_engineer=body.expected_engineer,
        seen=changing.seen,
    )
    return views.ticket_view(changing.of(ticket))


@router.put("/tickets/{ticket_id}/assignee", tags=["tickets"], responses=documented(404, 409))
async def assign(
    ticket_id: Id, body: views.Assignment, here: Here, caller: Staff, changing: Changing
) -> views.TicketView:
    """Assign a ticket, and write an event about it; an escalated ticket stays escalated."""
    ticket = await here.support.assign(ticket_id, body.assignee, by=caller.user_id, seen=changing.seen)
    return views.ticket_view(changing.of(ticket))


@router.put("/tickets/{ticket_id}/priority", tags=["tickets"], responses=documented(404, 409))
async def set_priority(
    ticket_id: Id, body: views.PriorityChange, here: Here, caller: Staff, changing: Changing
) -> views.TicketView:
    """Set the priority of a ticket, and write an event about it."""
    ticket = await here.support.set_priority(ticket_id, body.priority, by=caller.user_id, seen=changing.seen)
    return views.ticket_view(changing.of(ticket))


@router.get("/escalations", tags=["escalations"], responses=documented(400))
async def escalations(
    here: Here,
    _: Staff,
    engineer: Id | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.EscalationPage:
    """Escalated tickets, newest first: all of them, or an engineer's."""
    page = await here.support.escalations(engineer=engineer, limit=limit, cursor=cursor)
    found = [views.EscalationView.of(each) for each in page.items]
    return views.EscalationPage(escalations=found, **page_end(page))


# -- events and feedback ------------------------------------------------------------------------------------------


@router.post("/tickets/{ticket_id}/events", status_code=201, tags=["events"], responses=documented(404, 409))
async def add_event(ticket_id: Id, body: views.NewEvent, here: Here, caller: Staff) -> views.EventView:
    """Add an event to the timeline of a ticket."""
    event = await here.support.add_event(ticket_id, body.event_type, body.details, by=caller.user_id)
    return views.EventView.of(event)


@router.get("/tickets/{ticket_id}/events", tags=["events"], responses=documented(400, 404))
async def events(
    ticket_id: Id,
    here: Here,
    caller: Anyone,
    since: Since = None,
    until: Until = None,
    limit: Limit = 10,
    cursor: Cursor = None,
) -> views.EventPage:
    """The latest events of a ticket; with a range of days, the events of those days in chronological order."""
    await _visible(here.support, ticket_id, caller)
    is_outside = _is_outside(caller)
    page = await here.support.events(
        ticket_id, since=since, until=until, limit=limit, cursor=cursor, with_internal=not is_outside
    )
    shown = (views.EventView.shown(each, for_customer=is_outside) for each in page.items)
    end = page_end(page)
    if is_outside:
        end["unreadable"] = []
    return views.EventPage(events=[each for each in shown if each is not None], **end)


@router.post("/tickets/{ticket_id}/messages", status_code=201, tags=["events"], responses=documented(404, 409))
async def send_message(
    ticket_id: Id, body: views.NewMessage, here: Here, caller: Anyone, idempotency_key: IdempotencyKey = None
) -> views.MessageView:
    """Send a message to the ticket's customer, or as the customer to staff. It is an event of the ticket."""
    ticket = await _visible(here.support, ticket_id, caller)
    return await here.support.send_message(
        ticket_id,
        body.text,
        Responder(views.MessageView.of, caller.user_id, idempotency_key, views.MessageView.model_validate),
        customer_id=ticket.customer_id,
        by=caller.user_id,
    )


@router.post("/tickets/{ticket_id}/notes", status_code=201, tags=["events"], responses=documented(404, 409))
async def add_note(
    ticket_id: Id, body: views.NewMessage, here: Here, caller: Staff, idempotency_key: IdempotencyKey = None
) -> views.MessageView:
    """Write an internal note for staff: an event of the ticket that its customer never sees."""
    return await here.support.add_note(
        ticket_id,
        body.text,
        Responder(views.MessageView.of, caller.user_id, idempotency_key, views.MessageView.model_validate),
        by=caller.user_id,
    )


@router.post("/tickets/{ticket_id}/feedback", status_code=201, tags=["feedback"], responses=documented(400, 404, 409))
async def give_feedback(
    ticket_id: Id, body: views.NewFeedback, here: Here, caller: Reviewer, idempotency_key: IdempotencyKey = None
) -> views.FeedbackView:
    """Give feedback as the ticket's customer on the help of a person who worked on it, once for each of them.

    Or as an Operator or an Engineer, on the help that the ticket got.
    """
    ticket = await _visible(here.support, ticket_id, caller)
    about = body.operator_id
    if caller.has(OPERATORS, ENGINEERS) and about in (None, caller.user_id):
        by, about = _own_id(caller), None
    elif about is None:
        raise Invalid("operator_id is missing: pass the id of the person whose help it is about", field="operator_id")
    elif caller.has(SERVICES):
        by = ticket.customer_id
    elif caller.has(CUSTOMERS):
        by = caller.user_id
    else:
        raise Forbidden("operators give feedback in their own name: omit operator_id")
    return await here.support.feedback.give(
        ticket_id,
        Responder(views.FeedbackView.of, caller.user_id, idempotency_key, views.FeedbackView.model_validate),
        about=about,
        rating=body.rating,
        was_helpful=body.was_helpful,
        comment=body.comment,
        by=by,
    )


def _may_see(caller: Caller, feedback: Feedback) -> bool:
    """Feedback is visible to its author, to the person it is about, to Services and Admins."""
    return caller.has(SERVICES, ADMINS) or caller.user_id in (feedback.given_by, feedback.operator_id)


@router.get("/tickets/{ticket_id}/feedback", tags=["feedback"], responses=documented(400, 404))
async def feedback(
    ticket_id: Id, here: Here, caller: Anyone, limit: Limit = 50, cursor: Cursor = None
) -> views.FeedbackPage:
    """Feedback on a ticket, newest first; operators see what they gave and what is about them."""
    await _visible(here.support, ticket_id, caller)
    page = await here.support.feedback.of_ticket(
        ticket_id, limit=limit, cursor=cursor, wanted=partial(_may_see, caller)
    )
    found = [views.FeedbackView.of(each) for each in page.items]
    return views.FeedbackPage(feedback=found, **page_end(page))


@router.get("/operators/{operator_id}/feedback", tags=["feedback"], responses=documented(400))
async def operator_feedback(
    operator_id: Id, here: Here, caller: Reviewed, limit: Limit = 50, cursor: Cursor = None
) -> views.OperatorFeedbackPage:
    """Feedback on an operator's help and feedback that the operator gave, newest first; operators see their own."""
    if not caller.has(SERVICES, ADMINS) and caller.user_id != operator_id:
        raise Forbidden("operators can only see feedback on their own work")
    page = await here.support.feedback.by_operator(operator_id, limit=limit, cursor=cursor)
    found = [views.OperatorFeedback.of(each, operator_id) for each in page.items]
    return views.OperatorFeedbackPage(feedback=found, **page_end(page))


# -- sessions and cache -------------------------------------------------------------------------------------------


@router.post("/sessions", status_code=201, tags=["sessions"])
async def begin_session(body: views.NewSession, here: Here, _: Machine) -> views.SessionView:
    """Start a session; it lasts 24 hours by default."""
    session = await here.support.begin_session(body.user_id, timedelta(hours=body.hours))
    return views.SessionView(**session.model_dump(exclude={"ttl"}))


@router.get("/sessions/{session_id}", tags=["sessions"], responses=documented(404))
async def get_session(
    session_id: Id, here: Here, _: Machine, reading: Reading, consistent: Consistent = False
) -> views.SessionView:
    """A session, until it expires."""
    session = reading.of(await here.support.session(session_id, consistent=consistent))
    return views.SessionView(**session.model_dump(exclude={"ttl"}))


@router.delete("/sessions/{session_id}", status_code=204, tags=["sessions"], responses=documented(404))
async def end_session(session_id: Id, here: Here, _: Machine, changing: Changing) -> None:
    """End a session."""
    await here.support.end_session(session_id, changing.seen)


@router.put("/cache/{key}", tags=["cache"], responses=documented(404))
async def cache(key: Id, body: views.Cached, here: Here, _: Machine, changing: Changing) -> views.Cached:
    """Cache a result, for 15 minutes by default."""
    await here.support.cache(key, body.data, timedelta(minutes=body.minutes), changing.seen)
    return body


@router.get("/cache/{key}", tags=["cache"], responses=documented(404))
async def cached(key: Id, here: Here, _: Machine, reading: Reading, consistent: Consistent = False) -> CachedData:
    """A cached result, until it expires."""
    return reading.of(await here.support.cached(key, consistent=consistent)).value


@router.delete("/cache/{key}", status_code=204, tags=["cache"], responses=documented(404))
async def forget(key: Id, here: Here, _: Machine, changing: Changing) -> None:
    """Delete a cached result."""
    await here.support.forget(key, changing.seen)


# -- metrics ------------------------------------------------------------------------------------------------------


@router.get("/metrics", tags=["metrics"])
async def metrics(here: Here, _: Staff, consistent: Consistent = False) -> views.Metrics:
    """Tickets by status, time to resolution and satisfaction: one batch read."""
    return views.Metrics.of(await here.support.metrics.dashboard(consistent=consistent))


@router.get("/metrics/trends", tags=["metrics"])
async def trends(
    here: Here,
    _: Staff,
    hours: Annotated[int, Query(ge=1, le=168, description="number of hours, including the current one")] = 24,
    days: Annotated[int, Query(ge=1, le=92, description="number of days, including today")] = 30,
) -> views.Trends:
    """Tickets opened, resolved and rated in each of the last hours and days: two queries."""
    reports = here.support.reports
    return views.Trends(
        hours=[views.TrendView.of(each) for each in await reports.hours(hours)],
        days=[views.TrendView.of(each) for each in await reports.days(days)],
    )


@router.get("/metrics/operators", tags=["metrics"], responses=documented(400))
async def operator_metrics(here: Here, caller: Reviewed, since: Since = None, until: Until = None) -> views.Operators:
    """Tickets that each operator resolved, and ratings of their help; of the last seven days by default.

    Operators and Engineers see only their own.
    """
    found = await here.support.reports.operators(since, until)
    if not caller.has(SERVICES, ADMINS):
        found = [each for each in found if each.operator_id == caller.user_id]
    return views.Operators(operators=[views.OperatorView.of(each) for each in found])


@router.get("/metrics/live", tags=["metrics"], response_class=StreamingResponse)
async def live(request: Request, here: Here, caller: Staff) -> StreamingResponse:
    """The metrics whenever they change, as server-sent events, until the server stops or the caller is deactivated."""
    changes = _changes(here.support, runtime_of(request), caller)
    return StreamingResponse(changes, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _changes(support: Support, runtime: Runtime, caller: Caller) -> AsyncIterator[str]:
    shown = ""
    while not runtime.stopping.is_set():
        try:
            await runtime.deny_list.check(caller.user_id)
        except Forbidden:
            return
        now = views.Metrics.of(await support.metrics.dashboard()).model_dump_json()
        # A comment keeps the connection open, and detects whether the client is still there.
        yield f"event: metrics\ndata: {now}\n\n" if now != shown else ": nothing new\n\n"
        shown = now
        with suppress(TimeoutError):
            async with asyncio.timeout(_LIVE_EVERY):
                await runtime.stopping.wait()


@router.post("/metrics/rebuild", status_code=202, tags=["metrics"], responses=documented(409))
async def rebuild(here: Here, _: Admin) -> views.JobView:
    """Rebuild the metrics from the table, while writes continue."""
    return views.JobView.of(here.begin("rebuild-metrics"))


@router.get("/metrics/rebuild", tags=["metrics"])
async def rebuild_state(here: Here, _: Admin) -> views.JobView:
    """The progress or the result of the rebuild."""
    return views.JobView.of(here.state("rebuild-metrics"))


# -- maintenance -------------------------------------------------------------------------------------------------------

MaintenanceJob = Literal["verify", "verify-metrics", "migrate-shards", "collect-orphans", "count-orphans"]


@router.post("/maintenance/{job}", status_code=202, tags=["maintenance"], responses=documented(409))
async def start_maintenance(job: MaintenanceJob, here: Here, _: Admin) -> views.JobView:
    """Start a job: verify all stored items, or the metrics; move tickets to their shards; remove or count orphans."""
    return views.JobView.of(here.begin(job))


@router.get("/maintenance/{job}", tags=["maintenance"])
async def maintenance_state(job: MaintenanceJob, here: Here, _: Admin) -> views.JobView:
    """The progress or the result of a maintenance job."""
    return views.JobView.of(here.state(job))


@router.get("/unreadable", tags=["maintenance"])
async def unreadable(here: Here, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: their keys, reasons and counts."""
    return UnreadableList.of(here.unreadable_log)


router.routes += search_route("support", CUSTOMERS.own, *STAFF).routes
