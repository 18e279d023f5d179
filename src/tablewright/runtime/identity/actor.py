"""The actor: the caller and the call that the current work is done for.

The dependency that admits a caller sets it; tasks and threads that a request starts inherit it. Work of the system
itself (schedules, consumers, demo data) has no caller, and is done by ``system``.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["SYSTEM_ACTOR", "Actor", "acting"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and through which call."""

    user_id: str
    call: str


SYSTEM_ACTOR = Actor("system", "")
acting: ContextVar[Actor] = ContextVar("acting", default=SYSTEM_ACTOR)
"""The actor of the current work."""
