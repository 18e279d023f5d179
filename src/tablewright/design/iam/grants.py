"""What is granted: an action on a resource, perhaps to a tenant."""

from __future__ import annotations

from dataclasses import dataclass

from tablewright.model import Table

__all__ = ["Grant", "Resource", "Tenant"]


@dataclass(frozen=True, slots=True)
class Resource:
    """A table, one of its indexes, or its stream."""

    table: Table
    index: str | None = None
    stream: bool = False

    def __str__(self) -> str:
        if self.stream:
            return f"stream of {self.table.name}"
        return self.table.name if self.index is None else f"{self.table.name}/index/{self.index}"


@dataclass(frozen=True, slots=True)
class Grant:
    """An action on a resource, and what needs it; with ``leading``, on items with these partition keys only."""

    action: str
    resource: Resource
    reason: str
    leading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tenant:
    """A field whose value tells whose an item is, and the policy variable that has the caller's."""

    field: str
    variable: str | None = None

    @property
    def text(self) -> str:
        return self.variable or f"${{aws:PrincipalTag/{self.field}}}"
