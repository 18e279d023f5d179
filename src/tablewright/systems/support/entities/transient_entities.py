"""Items that expire: sessions, idempotency keys, cached results."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from tablewright.model import (
    AttributeName,
    CreatedAt,
    Entity,
    EpochSeconds,
    Expiry,
    Get,
    Keys,
    Personal,
)
from tablewright.store import IdempotencyRecord
from tablewright.systems.support.entities.support_tables import (
    tickets,
)

__all__ = ["CacheEntry", "Session", "TicketIdempotency"]


class Session(Entity, table=tickets, type_name="session"):
    """A session of a logged-in user."""

    session_id: str
    user_id: Annotated[str, Personal("subject")]
    created_at: CreatedAt = None
    expires_at: datetime
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24))] = None

    keys = Keys(PK="SESSION#{session_id}", SK="METADATA")

    @Get()
    def by_id(self, session_id: str) -> None:
        """A session that has not expired."""


class TicketIdempotency(IdempotencyRecord, table=tickets, type_name="idempotency"):
    """A request that was executed under an idempotency key, its response, and the ticket that it created."""

    ticket_id: str
    created_at: CreatedAt = None

    keys = Keys(PK="IDEMPOTENCY#{idempotency_key}", SK="METADATA")


class CacheEntry(Entity, table=tickets, type_name="cache"):
    """A result that is cached for a while."""

    cache_key: str
    value: Annotated[dict[str, Any], AttributeName("data")]
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(minutes=15))] = None

    keys = Keys(PK="CACHE#{cache_key}", SK="DATA")

    @Get()
    def by_key(self, cache_key: str) -> None:
        """The result that is cached under a key."""
