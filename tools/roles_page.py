"""Writes docs/roles.md: the roles of every system, and who may make which call, from the declarations in the code.

`make docs` writes the page; a test fails while it is out of date.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tablewright.runtime.http.declared_calls import calls_of, runtime_calls
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Call, Role
from tablewright.systems import load

PAGE = Path(__file__).resolve().parent.parent / "docs" / "roles.md"

INTRODUCTION = """\
# Roles, and who may make which call

Written by `make docs` from the declarations of the routes; not by hand. A test makes every call with every identity
over HTTP, and compares the responses with these tables.

A role belongs to one system: `tasks:Admins` opens nothing of Support. A token has the roles that its groups name, and
those that the setting [`roles`](services.md#who-is-calling) maps its groups and scopes to. The response to a call is

| identity | response |
|---|---|
| no token, or one that is expired or not valid | 401 |
| a token without one of the roles in the row, such as one of another system | 403 |
| a [deactivated](services.md#deactivated-people) person, regardless of the token | 403 |
| **yes** in the row | as the call has it |
| **own** in the row | the same for what belongs to the caller; what belongs to others is refused, or 404 |
"""


def render() -> str:
    """The page."""
    parts = [INTRODUCTION]
    for system in load():
        parts += [f"## {system.title}\n", _roles(system.roles), _matrix(calls_of(system), system.roles)]
    calls = runtime_calls()
    parts += ["## The runtime\n", _roles([RUNTIME_ADMINS])]
    parts += [_matrix((call for call in calls if not call.is_open), [RUNTIME_ADMINS])]
    pages = ", ".join(f"`{call.method} {call.path}`" for call in calls if call.is_open)
    parts.append(
        "Open to everybody, as they show no data of users: " + pages + ", and for each system its API page and "
        "description (`GET /{system}/docs`, `GET /{system}/openapi.json`). `/tokens.json` responds in development\n"
        "only, to a browser on the same machine.\n"
    )
    return "\n".join(parts)


def _roles(roles: Iterable[Role]) -> str:
    return _table(["role", "who"], ([f"`{role.name}`", role.about] for role in roles))


def _matrix(calls: Iterable[Call], roles: Sequence[Role]) -> str:
    return _table(["call", *(role.name.partition(":")[2] for role in roles)], (_row(call, roles) for call in calls))


def _row(call: Call, roles: Sequence[Role]) -> Iterator[str]:
    yield f"`{call.method} {call.path}`"
    granted = {grant.role: grant for grant in call.grants}
    for role in roles:
        if call.is_open:
            yield "open"
        else:
            yield "" if role not in granted else "own" if granted[role].own else "yes"


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
