"""Who may make which call: roles, calls, and the one function that decides.

    AGENTS = Role("servicedesk:Agents", "people at the desk")      systems/servicedesk/roles.py: the roles of a system
    caller: Annotated[Caller, allow(AGENTS, ADMINS)]               systems/servicedesk/api.py: who may make this call
    allowed(caller, call)                                          the decision

A role belongs to one system, and grants nothing in another. A token has the roles that its groups name
(``servicedesk:Agents``), and those that the settings map its groups and scopes to. Everything here is pure: routes,
pages and the documentation read the same declarations (``http.declared_calls`` collects them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tablewright.runtime.errors import Forbidden

__all__ = ["RUNTIME_ADMINS", "Call", "Caller", "Grant", "Role", "allowed", "is_role_name", "roles_of"]

_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,63}:[A-Za-z][A-Za-z0-9]{0,63}")


def is_role_name(text: str) -> bool:
    """Whether a text has the form of a role: a system, a colon, a word."""
    return _ROLE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a system, such as ``servicedesk:Agents``; ``about`` says who has it, for the documentation."""

    name: str
    about: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not is_role_name(self.name):
            raise ValueError(f"the name of a role is system:Role, such as tasks:Admins, not {self.name}")

    @property
    def system(self) -> str:
        return self.name.partition(":")[0]

    @property
    def own(self) -> Grant:
        """The right to make a call about the caller's own data, which the service checks: ``allow(CUSTOMERS.own)``."""
        return Grant(self, own=True)


RUNTIME_ADMINS = Role(
    "runtime:Admins", "administrators of the systems: events, consumers and dead letters of all of them"
)
"""The only role of the runtime itself."""


@dataclass(frozen=True, slots=True)
class Grant:
    """That a role may make a call; ``own``: only about the caller's own data."""

    role: Role
    own: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a system: a method and a path, and who may make it; a call without grants is open to all."""

    system: str
    # The name of the function behind it.
    name: str
    method: str
    path: str
    grants: tuple[Grant, ...]

    @property
    def is_open(self) -> bool:
        return not self.grants


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: the user, and the names of the roles that the token grants."""

    user_id: str
    email: str | None = None
    roles: frozenset[str] = frozenset()

    def has(self, *roles: Role) -> bool:
        """Whether the caller has one of some roles."""
        return any(role.name in self.roles for role in roles)

    def require(self, *roles: Role) -> None:
        """Raise Forbidden for a caller who has none of the roles."""
        if not self.has(*roles):
            raise Forbidden(f"this requires the role {' or '.join(role.name for role in roles)}")


def allowed(caller: Caller | None, call: Call) -> bool:
    """Whether a caller may make a call; None is a caller without a token."""
    return call.is_open or (caller is not None and caller.has(*(grant.role for grant in call.grants)))


def roles_of(groups: Iterable[str], scopes: Iterable[str], mapped: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The roles of a token: the groups that have the form of a role, and what other groups and scopes are mapped to."""
    names = list(groups)
    found = {name for name in names if is_role_name(name)}
    for name in (*names, *scopes):
        found.update(mapped.get(name, ()))
    return frozenset(found)
