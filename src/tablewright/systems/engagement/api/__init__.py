"""Engagement over HTTP.

Viewers read programs, candidates, runs and deliveries. Marketers configure and run programs, and deliver and reject
candidates. Approvers approve programs that others have changed. Event sources send events, and read the data and set
the preferences of one customer at a time. Admins do all of it, and delete.
"""

from tablewright.runtime.search.search_route import search_route
from tablewright.systems.engagement.api import (
    candidate_calls,
    customer_calls,
    delivery_calls,
    maintenance_calls,
    program_calls,
    run_calls,
    unsubscribe_calls,
)
from tablewright.systems.engagement.api.engagement_router import system_router
from tablewright.systems.engagement.roles import ADMINS, APPROVERS, MARKETERS, VIEWERS

__all__ = ["router"]

router = system_router()
for part in (
    program_calls.router,
    candidate_calls.router,
    customer_calls.router,
    unsubscribe_calls.router,
    run_calls.router,
    delivery_calls.router,
    maintenance_calls.router,
    search_route("engagement", VIEWERS, MARKETERS, APPROVERS, ADMINS),
):
    router.routes += part.routes
