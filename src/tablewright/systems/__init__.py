"""The systems that come with Tablewright; each can also be used alone.

Each is created in a module of its own (``tasks.tasks_system``), so that the design tools can import a package and its
model without FastAPI and everything else that a running system needs.
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
    """Systems by name; all of them if no name is given."""
    return [import_module(f"tablewright.systems.{name}.{name}_system").system for name in names or NAMES]


def roles() -> list[Role]:
    """The roles of all installed systems, and of the runtime."""
    # An image has only the systems that it needs.
    here = [name for name in NAMES if find_spec(f"tablewright.systems.{name}") is not None]
    modules = [import_module(f"tablewright.systems.{name}.roles") for name in here]
    return [*(role for module in modules for role in module.ROLES), RUNTIME_ADMINS]
