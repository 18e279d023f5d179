"""Grants: an action on a resource, perhaps limited to a tenant."""

from __future__ import annotations

from dataclasses import dataclass

from tablewright.model import Table

__all__ = ["Grant", "Resource", "Tenant"]


@dataclass(frozen=True, slots=True)
class Resource:
    """A table, one of its indexes, or its stream; or everything, for an action that cannot be limited to a table.

    One that is shared has the same name in every environment.
    """

    table: Table
    index: str | None = None
    stream: bool = False
    everything: bool = False
    shared: bool = False

    def __str__(self) -> str:
        if self.everything:
            return "everything"
        if self.stream:
            return f"stream of {self.table.name}"
        return self.table.name if self.index is None else f"{self.table.name}/index/{self.index}"


@dataclass(frozen=True, slots=True)
class Grant:
    """An action on a resource, and the reason; with ``leading``, only for items with these partition keys."""

    action: str
    resource: Resource
    reason: str
    leading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tenant:
    """The field that identifies the tenant of an item, and the policy variable with the tenant of the caller."""

    field: str
    variable: str | None = None

    @property
    def text(self) -> str:
        return self.variable or f"${{aws:PrincipalTag/{self.field}}}"
