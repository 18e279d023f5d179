"""Deliveries: started, retried, listed."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Annotated

from fastapi import Query

from tablewright.runtime import (
    Cursor,
    Limit,
    documented,
)
from tablewright.systems.engagement import views
from tablewright.systems.engagement.api.engagement_router import (
    PROGRAM,
    Editor,
    Here,
    Staff,
    system_router,
)
from tablewright.systems.engagement.configuration import Name
from tablewright.systems.response_views import page_end

# Seconds that a request to deliver takes; the next one delivers the rest.
_DELIVER_WITHIN = 20.0

router = system_router()


@router.post(PROGRAM + "/deliveries", tags=["deliveries"], responses=documented(404, 409))
async def deliver(
    program_id: Name, marketplace_id: Name, body: views.DeliveryBody, here: Here, _: Editor
) -> views.SummaryView:
    """Deliver candidates through the channels, in order of priority, best first, each once per channel."""
    program = await here.engagement.program(program_id, marketplace_id, consistent=True)
    await here.engagement.record(program, deliveries="wanted")
    summary = await asyncio.to_thread(here.deliveries.deliver, program, limit=body.limit, within=_DELIVER_WITHIN)
    return views.SummaryView.of(summary)


@router.post(PROGRAM + "/deliveries/retry", tags=["deliveries"], responses=documented(404, 409))
async def retry_deliveries(
    program_id: Name, marketplace_id: Name, body: views.RetryBody, here: Here, _: Editor
) -> views.SummaryView:
    """Retry refused deliveries, of all channels and customers or of the given ones."""
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
    """Deliveries of a program on a day, in the order in which they were sent."""
    page = await here.engagement.deliveries(program_id, day, limit=limit, cursor=cursor)
    found = [views.DeliveryView.of(each) for each in page.items]
    return views.DeliveryPage(deliveries=found, **page_end(page))


@router.get(PROGRAM + "/customers/{customer_id}/deliveries", tags=["deliveries"], responses=documented(400))
async def deliveries_to(
    program_id: Name,
    marketplace_id: Name,
    customer_id: views.Id,
    here: Here,
    _: Staff,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> views.DeliveryPage:
    """Deliveries of a program to a customer."""
    page = await here.engagement.deliveries_to(customer_id, program_id, marketplace_id, limit=limit, cursor=cursor)
    found = [views.DeliveryView.of(each) for each in page.items]
    return views.DeliveryPage(deliveries=found, **page_end(page))
