"""A pass over a table that verifies it, and may repair it: its scope, its findings, and how it commits repairs.

A repair changes an item only on condition that what it was derived from is unchanged; otherwise it raises ``Changed``,
and the item is checked again, at most ``MAX_REPAIR_ATTEMPTS`` times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, exists
from tablewright.model import Entity, Schema, Table, schema_of, schemas_of
from tablewright.store.context import Context
from tablewright.store.errors import Cancelled, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.maintenance.findings import Finding, Remedy
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Planned, WritePlan
from tablewright.store.write.planning.preconditions import Precondition

__all__ = ["MAX_REPAIR_ATTEMPTS", "Changed", "RepairPass", "has_changed"]

MAX_REPAIR_ATTEMPTS = 5
_MAX_FINDINGS = 1000


class Changed(StoreError):
    """An item has changed since it was checked."""


def has_changed(_: Item) -> StoreError:
    return Changed()


@dataclass(slots=True)
class RepairPass:
    """What is verified, and the findings; with ``repairs``, they are repaired too."""

    context: Context
    target: Table | type[Entity]
    repairs: bool
    findings: list[Finding] = field(default_factory=list)
    found: int = 0
    repaired: int = 0

    @property
    def table(self) -> Table:
        return self.target if isinstance(self.target, Table) else schema_of(self.target).table

    @property
    def schemas(self) -> Sequence[Schema]:
        if isinstance(self.target, Table):
            return schemas_of(self.target)
        schema = schema_of(self.target)
        return [] if schema.is_retired else [schema]

    @property
    def name(self) -> str:
        """The name of the table in this store's backend."""
        return self.context.name_of(self.table)

    def report(self, findings: Sequence[Finding], remedy: Remedy) -> None:
        self.found += len(findings)
        self.repaired += len(findings) if remedy is Remedy.REPAIRED else 0
        room = max(0, _MAX_FINDINGS - len(self.findings))
        self.findings += [replace(finding, remedy=remedy) for finding in findings[:room]]

    def commit(self, schema: Schema, plan: WritePlan) -> Flow[None]:
        repair_pass = Planned(schema, "repair", plan)
        try:
            yield from execute_all(self.context, [repair_pass], f"{schema.entity.__name__}.repair")
        except Cancelled as cancelled:
            raise next(reason for reason in cancelled.reasons if reason is not None) from None

    def key(self, item: Item) -> Item:
        return {name: item[name] for name in self.table.key}

    def at(self, key: Item) -> dict[str, Any]:
        return {"TableName": self.name, "Key": key}

    def unchanged(self, *conditions: Condition) -> list[Precondition]:
        """The preconditions that an item exists, and is unchanged."""
        return [Precondition(each, has_changed) for each in (exists(self.table.partition), *conditions)]
