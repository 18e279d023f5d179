"""Items that cannot be read."""

from __future__ import annotations

from tablewright.systems.engagement.api.engagement_router import (
    Admin,
    Here,
    system_router,
)
from tablewright.systems.system_router import UnreadableList

router = system_router()


@router.get("/unreadable", tags=["maintenance"])
async def unreadable(here: Here, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: their keys, reasons and counts."""
    return UnreadableList.of(here.unreadable_log)
