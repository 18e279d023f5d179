"""The systems that come with Tablewright; each can be used alone as well."""

from __future__ import annotations

from importlib import import_module

from tablewright.runtime import System

__all__ = ["NAMES", "load"]

NAMES = ("servicedesk", "support", "engagement", "calls", "tasks")


def load(*names: str) -> list[System]:
    """Systems by name; all of them without one."""
    found: list[System] = []
    for name in names or NAMES:
        system = import_module(f"tablewright.systems.{name}").system
        assert isinstance(system, System)
        found.append(system)
    return found
