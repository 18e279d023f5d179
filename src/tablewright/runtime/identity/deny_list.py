"""The deny list: deactivated people, whom every system refuses, whatever their tokens say.

    Tasks deactivates ada ──▶ one transaction: her profile, and DeactivatedUser(ada) in the internal table
    any call of any system ──▶ DenyList.check(ada) ──▶ known for five seconds, else one consistent read

All processes share the list. The process that changes it refuses from the next request on; others on the same endpoint
do so within ``REMEMBERED`` seconds (``absence_cache``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

from tablewright.model import CreatedAt, Entity, Get, Keys, Personal
from tablewright.runtime.errors import Forbidden
from tablewright.runtime.identity.absence_cache import AbsenceCache
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore

__all__ = ["CHECK_CALLER", "DeactivatedUser", "DenyList"]


class DeactivatedUser(Entity, table=internal_table):
    """A person whom no system admits, and who decided that."""

    user_id: Annotated[str, Personal("subject")]
    deactivated_by: Annotated[str, Personal("reference")]
    deactivated_at: CreatedAt = None

    keys = Keys(PK="DEACTIVATED#{user_id}", SK="DEACTIVATED")

    @Get(consistent=True)
    def by_id(self, user_id: str) -> None:
        """A person whom every system refuses."""


CHECK_CALLER = "DeactivatedUser.by_id"
"""What every call reads, for the role in a system's design that may use the internal table."""


class DenyList:
    """The deactivated people, as this process knows them."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._known = AbsenceCache(lambda user_id: store.get(DeactivatedUser.by_id(user_id)), clock)

    async def check(self, user_id: str) -> None:
        """Raise Forbidden for a person on the list."""
        if await self._known.is_listed(user_id):
            raise Forbidden("your account is deactivated; ask an admin")

    def forget(self, user_id: str) -> None:
        """To be called after the list has changed: what was read before is discarded."""
        self._known.forget(user_id)
