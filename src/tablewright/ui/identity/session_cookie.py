"""Sessions: who signed in, in a cookie that is signed, http-only, same-site and valid for some hours.

    sign-in ──▶ Session(id, caller, name, expires) ──▶ cookie, signed with the session secret
    request ──▶ cookie ──▶ signature, time, not signed out ──▶ Session
    sign-out ──▶ recorded in the database (``EndedSessions``)

The cookie has the roles from the issuer, not its token: nothing in the browser gives access to the API. Permissions are
checked at each call, so a person who is deactivated, or loses a group in Tasks, is refused at once. A session that was
signed out is refused by this process from then on, and by others on the same endpoint after five seconds.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jwt

from tablewright.runtime import Caller
from tablewright.runtime.identity.ended_sessions import EndedSessions
from tablewright.store import StoreError

__all__ = ["SESSION_COOKIE", "Session", "Sessions", "Signer"]

SESSION_COOKIE = "tablewright_session"
_ALGORITHM = "HS256"
# Browsers keep no more than 4096 bytes of a cookie, its name and attributes included.
_MAX_COOKIE = 3800
_MAX_ENDED = 10_000

_log = logging.getLogger(__name__)


class Signer:
    """Signs values that a browser stores, for one purpose and a limited time."""

    def __init__(self, secret: bytes, purpose: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._purpose = purpose
        self._clock = clock

    def seal(self, content: dict[str, Any], until: float) -> str:
        return jwt.encode({**content, "aud": self._purpose, "exp": int(until)}, self._secret, _ALGORITHM)

    def unseal(self, text: str | None) -> dict[str, Any] | None:
        """The sealed value; None if it was changed, is for another purpose, or is too old."""
        if not text or len(text) > _MAX_COOKIE:
            return None
        try:
            options: Any = {"require": ["exp", "aud"], "verify_exp": False}
            found = jwt.decode(text, self._secret, [_ALGORITHM], audience=self._purpose, options=options)
        except jwt.PyJWTError:
            return None
        # By our own clock, which tests can set.
        return found if found["exp"] > self._clock() else None


@dataclass(frozen=True, slots=True)
class Session:
    """The session of a signed-in user."""

    id: str
    caller: Caller
    # What to call them.
    name: str
    expires: float
    # As it was signed, where ``caller`` has other roles since.
    signed: Caller | None = None


class SessionTooLarge(Exception):
    """A user has more roles than fit into a cookie."""


class Sessions:
    """The sessions signed with a secret, in this process and in others."""

    def __init__(
        self,
        secret: bytes,
        hours: float,
        clock: Callable[[], float] = time.time,
        shared: EndedSessions | None = None,
    ) -> None:
        """``shared`` is where processes record who signed out; without it, this is the only process."""
        self._signer = Signer(secret, "session", clock)
        self._seconds = hours * 3600
        self._clock = clock
        self._shared = shared
        # Those that were signed out, until they would have ended; and who wants to know.
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._watching: dict[str, set[Callable[[], None]]] = {}

    def begin(self, caller: Caller, name: str) -> tuple[Session, str]:
        """A new session, and its cookie."""
        session = Session(secrets.token_urlsafe(16), caller, name, self._clock() + self._seconds)
        content = {
            "id": session.id,
            "sub": caller.user_id,
            "name": name,
            "roles": sorted(caller.roles),
            **({} if caller.email is None else {"email": caller.email}),
        }
        cookie = self._signer.seal(content, session.expires)
        if len(cookie) > _MAX_COOKIE:
            raise SessionTooLarge(f"{caller.user_id} has {len(caller.roles)} roles, which do not fit into a cookie")
        return session, cookie

    def read(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None if there is none, or this process knows that it has ended."""
        found = self._signer.unseal(cookie)
        if found is None or found["id"] in self._ended:
            return None
        caller = Caller(found["sub"], found.get("email"), frozenset(found["roles"]))
        return Session(found["id"], caller, found["name"], float(found["exp"]))

    async def is_over(self, session: Session) -> bool:
        """Whether a session has ended, here or by signing out elsewhere."""
        if session.id in self._ended or session.expires <= self._clock():
            return True
        if self._shared is None:
            return False
        try:
            if not await self._shared.has(session.id):
                return False
        except StoreError as error:
            # Without the database, no call of the session succeeds anyway.
            _log.warning("sessions cannot be looked up", exc_info=error)
            return False
        self._forget(session)
        return True

    async def end(self, session: Session) -> None:
        """Sign out: the cookie and open pages are no longer valid. On a StoreError, they still are."""
        if self._shared is not None:
            await self._shared.add(session.id, session.expires)
        self._forget(session)

    def _forget(self, session: Session) -> None:
        now = self._clock()
        self._ended[session.id] = session.expires
        while self._ended and (len(self._ended) > _MAX_ENDED or next(iter(self._ended.values())) <= now):
            self._ended.popitem(last=False)
        for on_end in tuple(self._watching.pop(session.id, ())):
            on_end()

    def watch(self, session: Session, on_end: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for the sign-out of a session; the returned function removes it."""
        watching = self._watching.setdefault(session.id, set())
        watching.add(on_end)

        def unwatch() -> None:
            watching.discard(on_end)
            if not watching and self._watching.get(session.id) is watching:
                del self._watching[session.id]

        return unwatch
