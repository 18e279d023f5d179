"""Naming rules: from the name of a field to that of its attribute.

class Call(Entity, table=calls, naming=camel_case):
    user_id: str                                       stored in userId
    uid: Annotated[str, AttributeName("GSI1-uid")]              a name of its own
"""

from __future__ import annotations

from collections.abc import Callable

Naming = Callable[[str], str]


def snake_case(name: str) -> str:
    """``user_id`` is stored as ``user_id``."""
    return name


def camel_case(name: str) -> str:
    """``user_id`` is stored as ``userId``."""
    head, *rest = name.split("_")
    return head + "".join(map(_capital, rest))


def pascal_case(name: str) -> str:
    """``user_id`` is stored as ``UserId``."""
    return "".join(map(_capital, name.split("_")))


def _capital(part: str) -> str:
    return part[:1].upper() + part[1:]
