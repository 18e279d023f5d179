"""People: who has signed in, who was invited, and with which roles.

    roles None            those of the token, as the issuer gives them
    roles [...]           these, regardless of the token: a role that an admin removes is gone at once
    DEACTIVATED           refused by every system (``deny_list``), in the same transaction

Admins cannot lock themselves out: they can neither deactivate themselves nor remove their own runtime role, and a
change of a person checks, in its transaction, that its author is still an admin. So if two admins demote each other,
one succeeds. A process caches roles for as long as the deny list.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from tablewright.model import CreatedAt, Entity, Get, Keys, Personal, Query, UpdatedAt, Version, attr
from tablewright.runtime.audit import Audit, AuditPage, own_error
from tablewright.runtime.entity_tags import UNSEEN, Seen
from tablewright.runtime.errors import Forbidden, Invalid, ResourceNotFound, StateConflict
from tablewright.runtime.idempotency import Idempotency, Responder
from tablewright.runtime.identity.absence_cache import REMEMBERED
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Caller
from tablewright.runtime.identity.deny_list import DeactivatedUser, DenyList
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import (
    Absent,
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Check,
    ConditionFailed,
    Conflict,
    Create,
    Delete,
    NotFound,
    Operation,
    Outcome,
    Put,
    TolerantPage,
    Update,
)

if TYPE_CHECKING:
    from tablewright.runtime.mail.invitation_mail import Language

__all__ = ["People", "Person", "PersonStatus"]

R = TypeVar("R")
_ATTEMPTS = 5
_MAX_REMEMBERED = 10_000
_MAX_ROLES = 100


class PersonStatus(StrEnum):
    # Has not signed in yet.
    INVITED = "INVITED"
    ACTIVE = "ACTIVE"
    DEACTIVATED = "DEACTIVATED"


class Person(Entity, table=internal_table):
    """A person who has signed in, or may; the id is the ``sub`` of their tokens."""

    person_id: Annotated[str, Personal("subject")]
    email: Annotated[str | None, Personal()] = None
    status: PersonStatus = PersonStatus.ACTIVE
    # None: those of the token.
    roles: Annotated[list[str] | None, Field(max_length=_MAX_ROLES)] = None
    # What the token had when they signed in last.
    token_roles: Annotated[list[str], Field(default_factory=list, max_length=_MAX_ROLES)]
    invited_by: Annotated[str | None, Personal("reference")] = None
    signed_in_at: datetime | None = None
    created_at: CreatedAt = None
    updated_at: UpdatedAt = None
    version: Version = 0

    # One partition: people are some thousands, and change seldom.
    keys = Keys(PK="PEOPLE", SK="PERSON#{person_id}")

    @Get(consistent=True)
    def by_id(self, person_id: str) -> None:
        """A person."""

    @Query(expected=50)
    def everybody(self) -> None:
        """All people, ordered by id."""

    @property
    def is_admin(self) -> bool:
        """Whether the roles stored here include the runtime's admin role; False if the token decides."""
        return self.status is not PersonStatus.DEACTIVATED and RUNTIME_ADMINS.name in (self.roles or ())


class People:
    """The people of a deployment."""

    def __init__(
        self,
        store: AsyncStore,
        deny_list: DenyList,
        known_roles: Sequence[str],
        clock: Callable[[], float],
        app_url: Callable[[], str | None],
        language: Language = "en",
    ) -> None:
        """``app_url`` returns the address of the applications; without one, no mail about them is sent."""
        self._store = store
        self._deny_list = deny_list
        self._known_roles = frozenset(known_roles)
        self._clock = clock
        self._app_url = app_url
        self._language = language
        self._reader = AsyncTolerantReader(store)
        self._audit = Audit("runtime", clock)
        self._idempotency = Idempotency("runtime")
        # The roles that were set here for each person, and until when they are relied on.
        self._remembered: OrderedDict[str, tuple[float, frozenset[str] | None]] = OrderedDict()
        self._changes = 0

    # -- every call ---------------------------------------------------------------------------------------------

    async def admitted(self, caller: Caller) -> Caller:
        """The caller with their effective roles."""
        known = self._remembered.get(caller.user_id)
        if known is not None and known[0] > time.monotonic():
            roles = known[1]
        else:
            changes, until = self._changes, time.monotonic() + REMEMBERED
            person = await self._store.get(Person.by_id(caller.user_id))
            roles = None if person is None or person.roles is None else frozenset(person.roles)
            if changes == self._changes:
                self._remembered[caller.user_id] = until, roles
                self._remembered.move_to_end(caller.user_id)
                if len(self._remembered) > _MAX_REMEMBERED:
                    self._remembered.popitem(last=False)
        return caller if roles is None else Caller(caller.user_id, caller.email, roles)

    async def signed_in(self, caller: Caller) -> None:
        """Record that a person has signed in, with the roles of their token."""
        now, roles = self._now(), sorted(caller.roles)[:_MAX_ROLES]
        for _ in range(_ATTEMPTS):
            person = await self._store.get(Person.by_id(caller.user_id))
            try:
                if person is None:
                    made = Person(person_id=caller.user_id, email=caller.email, token_roles=roles, signed_in_at=now)
                    await self._store.create(made)
                    return
                active = person.status is PersonStatus.INVITED
                update = {"signed_in_at": now, "token_roles": roles, "email": person.email or caller.email}
                status = PersonStatus.ACTIVE if active else person.status
                await self._store.put(person.model_copy(update={**update, "status": status}))
                return
            except (AlreadyExists, Conflict, ConditionFailed):
                continue

    # -- what admins do -----------------------------------------------------------------------------------------

    async def page(self, *, limit: int, cursor: str | None) -> TolerantPage[Person]:
        return await self._reader.page(Person.everybody(), limit=limit, cursor=cursor)

    async def get(self, person_id: str) -> Person:
        person = await self._store.get(Person.by_id(person_id))
        if person is None:
            raise _nobody(person_id)
        return person

    async def invite(
        self,
        person_id: str,
        email: str | None,
        roles: Sequence[str],
        responder: Responder[Person, R],
        *,
        admin: Caller,
        language: Language | None = None,
    ) -> R:
        """Invite a person, with roles that override those of the token; with an address, they get mail."""
        self._check_roles(roles)
        if person_id == admin.user_id and RUNTIME_ADMINS.name not in roles:
            raise _locked_out()
        person = Person(
            person_id=person_id,
            email=email,
            roles=sorted(roles),
            token_roles=[],
            status=PersonStatus.INVITED,
            invited_by=admin.user_id,
        )

        async def work() -> Outcome:
            person.created_at = person.updated_at = now = self._now()
            entry = self._audit.created(_thing(person_id), person)
            checks = await self._still_admin(admin, person_id)
            mail = await self.invitation(person_id, email, admin, language)
            return Outcome(responder.view(person), Create(person), entry, *checks, *mail, at=now)

        try:
            if responder.key is not None:
                request = {"person_id": person_id, "email": email, "roles": sorted(roles), "language": language}
                return await self._idempotency.execute(self._store, "invitation", request, responder, work)
            with own_error():
                entry = self._audit.created(_thing(person_id), person)
                checks = await self._still_admin(admin, person_id)
                mail = await self.invitation(person_id, email, admin, language)
                await self._store.transact(Create(person), entry, *checks, *mail)
            return responder.view(person)
        except (AlreadyExists, Cancelled) as error:
            reasons = error.reasons if isinstance(error, Cancelled) else [error]
            if not isinstance(reasons[0], AlreadyExists):
                raise
            raise StateConflict(
                f"{person_id} exists already; change their roles instead", kind="already-exists"
            ) from None
        finally:
            self._forget(person_id)

    async def invitation(
        self, person_id: str, email: str | None, admin: Caller, language: Language | None = None
    ) -> list[Operation]:
        """What is written with a new person, so that they get mail with a link, once.

        People who add themselves get none. Without a language, the mail is in that of the installation.
        """
        app_url = self._app_url()
        if email is None or app_url is None or person_id == admin.user_id:
            return []
        from tablewright.runtime.mail.invitation_mail import queue_invitation

        now, chosen = self._now(), language or self._language
        return await queue_invitation(self._store, person_id, email, admin.user_id, app_url, now, chosen)

    async def change_roles(
        self, person_id: str, roles: Sequence[str] | None, *, admin: Caller, seen: Seen = UNSEEN
    ) -> Person:
        """Give a person exactly these roles; None: those of their token."""
        if roles is not None:
            self._check_roles(roles)
        if person_id == admin.user_id and RUNTIME_ADMINS.name not in (roles or ()):
            raise _locked_out()
        value = None if roles is None else sorted(set(roles))
        return await self._change(person_id, admin, seen, roles=value)

    async def deactivate(self, person_id: str, *, admin: Caller, seen: Seen = UNSEEN) -> Person:
        """Deactivate a person: every system refuses them from the next request on."""
        if person_id == admin.user_id:
            raise _locked_out()
        return await self._change(person_id, admin, seen, status=PersonStatus.DEACTIVATED)

    async def activate(self, person_id: str, *, admin: Caller, seen: Seen = UNSEEN) -> Person:
        """Reactivate a person."""
        person = await self.get(person_id)
        status = PersonStatus.INVITED if person.signed_in_at is None else PersonStatus.ACTIVE
        return await self._change(person_id, admin, seen, status=status)

    async def audit(self, person_id: str, *, limit: int, cursor: str | None) -> AuditPage:
        """Who changed what about a person, newest first."""
        person = await self._store.get(Person.by_id(person_id))
        return await self._audit.page(
            self._store, _thing(person_id), None if person is None else [], limit=limit, cursor=cursor
        )

    async def _change(self, person_id: str, admin: Caller, seen: Seen, **values: Any) -> Person:
        try:
            for _ in range(_ATTEMPTS):
                person = await self.get(person_id)
                seen.require(person)
                changes = [attr(getattr(Person, name)).set(value) for name, value in values.items()]
                same = attr(Person.version) == person.version
                operations: list[Operation] = [Update(person, *changes, expect=[same, *seen.unchanged(person)])]
                operations.append(self._audit.changed(_thing(person_id), person, **values))
                if "status" in values:
                    operations.append(_denial(person_id, values["status"], admin))
                operations += await self._still_admin(admin, person_id)
                try:
                    await self._store.transact(*operations)
                    return await self.get(person_id)
                except (Cancelled, NotFound, ConditionFailed, Conflict) as error:
                    reasons = error.reasons if isinstance(error, Cancelled) else [error]
                    if isinstance(reasons[0], NotFound):
                        raise _nobody(person_id) from None
                    if not any(isinstance(each, ConditionFailed | Conflict | NotFound) for each in reasons):
                        raise
            raise StateConflict(f"{person_id} is being changed by other requests; try again")
        finally:
            # Also if it failed, as it may have been done all the same.
            self._forget(person_id)

    async def _still_admin(self, admin: Caller, person_id: str) -> list[Operation]:
        """Checks that the author of a change is still an admin; a change to oneself preserves that without a check."""
        if person_id == admin.user_id:
            return []
        own = await self._store.get(Person.by_id(admin.user_id))
        if own is None:
            return [Absent(Person.by_id(admin.user_id))]
        if own.status is PersonStatus.DEACTIVATED or (own.roles is not None and not own.is_admin):
            raise Forbidden("you are no longer an admin")
        by_token = own.roles is None
        stays = attr(Person.roles).absent() if by_token else attr(Person.roles).contains(RUNTIME_ADMINS.name)
        is_active = attr(Person.status).is_in(PersonStatus.ACTIVE, PersonStatus.INVITED)
        return [Check(Person.by_id(admin.user_id), stays, is_active)]

    def _check_roles(self, roles: Sequence[str]) -> None:
        unknown = sorted(set(roles) - self._known_roles)
        if unknown:
            raise Invalid(
                f"there is no role {unknown[0]}; choose from {', '.join(sorted(self._known_roles))}", field="roles"
            )

    def _forget(self, person_id: str) -> None:
        self._changes += 1
        self._remembered.pop(person_id, None)
        self._deny_list.forget(person_id)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _denial(person_id: str, status: PersonStatus, admin: Caller) -> Operation:
    """The write that makes every system refuse a person, or admit them again."""
    if status is PersonStatus.DEACTIVATED:
        return Put(DeactivatedUser(user_id=person_id, deactivated_by=admin.user_id))
    return Delete(DeactivatedUser.by_id(person_id))


def _thing(person_id: str) -> str:
    return f"people/{person_id}"


def _nobody(person_id: str) -> ResourceNotFound:
    return ResourceNotFound(f"there is no person {person_id}")


def _locked_out() -> StateConflict:
    return StateConflict("you cannot deactivate yourself or remove your own admin role; another admin can")
