"""How users follow their calls outside of the application: a calendar with a secret address, and reminders by mail.

The address is for calendars, which have no token: anyone who knows it can read the calls of that user, and nothing
else. Only a digest of its secret is stored, so it is shown once; a new address replaces the old one, which then stops
working.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from tablewright.runtime import UNSEEN, ResourceNotFound, Seen
from tablewright.runtime.audit import Audit, AuditPage
from tablewright.store import AsyncStore, Cancelled, Put
from tablewright.systems.calls.model import CalendarSettings

__all__ = ["SECRET_LENGTH", "CalendarSettingsService"]

_SECRET_BYTES = 24
SECRET_LENGTH = 32
_ATTEMPTS = 5


class CalendarSettingsService:
    """The settings of users."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._audit = Audit("calls", clock)

    async def get(self, user_id: str) -> CalendarSettings:
        """The settings of a user; by default, no reminders and no address."""
        return await self._store.get(CalendarSettings.of_user(user_id)) or CalendarSettings(person_id=user_id)

    async def remind(
        self, user_id: str, email: str | None, minutes: int | None, *, seen: Seen = UNSEEN
    ) -> CalendarSettings:
        """Set reminders for a user, so many minutes before each call; None turns them off."""
        return await self._change(user_id, seen, email=email, remind_minutes=minutes)

    async def new_feed(self, user_id: str) -> str:
        """A new secret for the address of a user's calendar; the previous one stops working."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        await self._change(user_id, UNSEEN, feed_digest=_digest(secret))
        return secret

    async def end_feed(self, user_id: str, *, seen: Seen = UNSEEN) -> CalendarSettings:
        """Revoke the address of a user's calendar."""
        return await self._change(user_id, seen, feed_digest=None)

    async def require_secret(self, user_id: str, secret: str) -> None:
        """Raise ResourceNotFound unless the secret belongs to the user's calendar."""
        settings = await self.get(user_id)
        if not hmac.compare_digest(settings.feed_digest or "", _digest(secret)):
            raise ResourceNotFound("there is no such calendar; its address may have been replaced")

    async def audit(self, user_id: str, *, limit: int, cursor: str | None) -> AuditPage:
        """The audit of a user's settings, newest first."""
        return await self._audit.page(self._store, _thing(user_id), None, limit=limit, cursor=cursor)

    async def _change(self, user_id: str, seen: Seen, **fields: Any) -> CalendarSettings:
        for _ in range(_ATTEMPTS):
            before = await self.get(user_id)
            seen.require(before)
            if all(getattr(before, name) == value for name, value in fields.items()):
                return before
            after = before.model_copy(update=fields)
            # The address itself is secret, so it is not recorded.
            shown = {name: value for name, value in fields.items() if name != "feed_digest"}
            if "feed_digest" in fields:
                shown["feed"] = fields["feed_digest"] is not None
            entry = self._audit.changed(
                _thing(user_id),
                {**before.model_dump(), "feed": before.feed_digest is not None},
                **shown,
            )
            try:
                await self._store.transact(Put(after), entry)
            except Cancelled:
                # A concurrent change came first.
                continue
            return after
        raise seen.outrun(f"the settings of {user_id} are being changed by others; try again")


def _thing(user_id: str) -> str:
    return f"calendars/{user_id}"


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
