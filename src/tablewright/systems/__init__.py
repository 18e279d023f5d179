"""The systems that come with Tablewright; each can be used alone as well.

Each is made in a module of its own (``tasks.tasks_system``): the design tools import a package and its model, and need
not wait for FastAPI and all that a system needs to run.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tablewright.runtime.identity.access import RUNTIME_ADMINS

if TYPE_CHECKING:
    from tablewright.runtime import Role, System

__all__ = ["NAMES", "load", "roles"]

NAMES = ("servicedesk", "support", "engagement", "calls", "tasks")


def load(*names: str) -> list[System]:
    """Systems by name; all of them without one."""
    return [import_module(f"tablewright.systems.{name}.{name}_system").system for name in names or NAMES]


def roles() -> list[Role]:
    """The roles of all systems that are here, and of the runtime that they run on."""
    # An image has only the systems that it needs.
    here = [name for name in NAMES if find_spec(f"tablewright.systems.{name}") is not None]
    modules = [import_module(f"tablewright.systems.{name}.roles") for name in here]
    return [*(role for module in modules for role in module.ROLES), RUNTIME_ADMINS]
