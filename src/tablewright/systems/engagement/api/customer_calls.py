"""Customers: their scores and preferences, and events that programs react to."""

from __future__ import annotations

import asyncio

from tablewright.runtime import (
    Changing,
    Cursor,
    IdempotencyKey,
    Limit,
    Reading,
    documented,
)
from tablewright.systems.engagement import views
from tablewright.systems.engagement.api.engagement_router import (
    PUT_AGAIN,
    Anyone,
    Here,
    Machine,
    system_router,
)
from tablewright.systems.engagement.configuration import Name
from tablewright.systems.engagement.model import Program, Subject
from tablewright.systems.engagement.platform import Platform
from tablewright.systems.engagement.reactive import Event, Reaction
from tablewright.systems.response_views import page_end
from tablewright.systems.unreadable_log import describe, unreadable_items

router = system_router()


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
    """The preferences of a customer."""
    return views.PreferencesView.of(reading.of(await here.engagement.preferences.get(customer_id)))


@router.put("/customers/{customer_id}/preferences", tags=["customers"], responses=documented(409))
async def put_preferences(
    customer_id: views.Id, body: views.PreferencesBody, here: Here, caller: Machine, changing: Changing
) -> views.PreferencesView:
    """Replace the preferences of a customer; refused if the body omits something that the customer opted out of."""
    stored = await here.engagement.preferences.change(customer_id, body.change, by=caller.user_id, seen=changing.seen)
    return views.PreferencesView.of(changing.of(stored))


@router.patch("/customers/{customer_id}/preferences", tags=["customers"], responses=documented(409))
async def patch_preferences(
    customer_id: views.Id, body: views.PreferencesPatch, here: Here, caller: Machine, changing: Changing
) -> views.PreferencesView:
    """Change some of a customer's preferences; the others are not changed."""
    stored = await here.engagement.preferences.change(customer_id, body.change, by=caller.user_id, seen=changing.seen)
    return views.PreferencesView.of(changing.of(stored))


@router.get("/customers/{customer_id}/preferences/history", tags=["customers"], responses=documented(400))
async def preference_history(
    customer_id: views.Id, here: Here, _: Anyone, limit: Limit = 100, cursor: Cursor = None
) -> views.PreferenceHistory:
    """Changes of a customer's preferences, latest first: who, when, how, and the values before and after."""
    page = await here.engagement.preferences.history(customer_id, limit=limit, cursor=cursor)
    return views.PreferenceHistory(
        changes=[views.PreferenceChangeView.of(each) for each in page.items], **page_end(page)
    )


@router.post("/events", tags=["customers"], responses=documented(404, 409))
async def react(
    body: views.EventBody, here: Here, caller: Machine, idempotency_key: IdempotencyKey = None
) -> views.ReactionList:
    """Send an event of a customer: programs that react to events create or refresh candidates immediately."""
    concerned, failed = await _concerned(here, body)
    subject = None if body.subject is None else Subject(**body.subject.model_dump())
    event = Event(body.customer_id, subject, body.attributes, body.context)
    found = await asyncio.to_thread(here.reactive.react_all, concerned, event, idempotency_key, by=caller.user_id)
    reactions = sorted([*found, *failed], key=lambda each: each.program_id)
    return views.ReactionList(reactions=[views.ReactionView.of(each) for each in reactions])


async def _concerned(here: Platform, body: views.EventBody) -> tuple[list[Program], list[Reaction]]:
    """The programs that react to an event, and failed reactions for those that cannot be read."""
    if body.program_id is not None:
        return [await here.engagement.program(body.program_id, body.marketplace_id)], []
    found = await here.engagement.reacting(body.marketplace_id)
    # Their keys begin with "program_id <name>,".
    names = [str(error.key).partition(",")[0].removeprefix("program_id ") for error in found.unreadable]
    failed = [
        Reaction(name, "failed", f"{describe(error)}: {PUT_AGAIN}", None)
        for name, error in zip(names, found.unreadable, strict=True)
    ]
    return found.items, failed
