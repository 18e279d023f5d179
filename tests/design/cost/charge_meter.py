"""A store that counts what the engine charges for writes, and for what it reads to make them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tablewright.model import Table
from tablewright.store import MemoryBlobStore, Store

Charges = dict[str, Decimal]


class ChargeMeter:
    """A store that counts write units by table and index, and read units."""

    def __init__(self, *tables: Table) -> None:
        self._charges: Charges = {}
        # Of the last action.
        self.read = Decimal(0)
        self.store = Store.open(None, on_capacity=self._count, blobs=MemoryBlobStore())
        self.store.ensure_tables(*tables)

    def _count(self, pattern: str, operation: str, consumed: Any) -> None:
        for figures in [consumed] if isinstance(consumed, dict) else consumed:
            if operation in ("GetItem", "BatchGetItem", "Query"):
                self.read += Decimal(str(figures["CapacityUnits"]))
                continue
            places = {figures["TableName"]: figures["Table"]}
            for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
                places |= {f"{figures['TableName']}/{name}": units for name, units in figures.get(member, {}).items()}
            for place, units in places.items():
                self._charges[place] = self._charges.get(place, Decimal(0)) + Decimal(str(units["CapacityUnits"]))

    def charged(self, action: Callable[[], object]) -> Charges:
        self._charges.clear()
        self.read = Decimal(0)
        action()
        return {place: units for place, units in self._charges.items() if units}
