"""What calls of services are charged: read and write units of each, as the engine counts them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from tablewright.design.cost import CapacityEstimate
from tablewright.model import Design, Entity, Table, schemas_of
from tablewright.store import AsyncStore, MemoryBlobStore, Store

T = TypeVar("T")

_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})


@dataclass(slots=True)
class ChargedCalls:
    """A store on an engine of its own, and what was charged for each named write."""

    design: Design
    # The sizes of items that take more than one unit.
    larger: dict[type[Entity], int] = field(default_factory=dict)
    read: dict[str, Decimal] = field(default_factory=dict)
    written: dict[str, Decimal] = field(default_factory=dict)
    _name: str = ""

    async def store(self, clock: Callable[[], float]) -> AsyncStore:
        store = AsyncStore.open(None, on_capacity=self._count, blobs=MemoryBlobStore(), clock=clock)
        tables: Sequence[Table] = self.design.all_tables
        await store.ensure_tables(*tables)
        return store

    def blocking_store(self, clock: Callable[[], float]) -> Store:
        store = Store.open(None, on_capacity=self._count, blobs=MemoryBlobStore(), clock=clock)
        store.ensure_tables(*self.design.all_tables)
        return store

    def of_blocking(self, write: str, call: Callable[[], T]) -> T:
        """The same for a call that is not awaited."""
        assert write in self.design.writes, write
        self._name = write
        self.read[write] = self.written[write] = Decimal(0)
        result = call()
        self._name = ""
        return result

    def _count(self, pattern: str, operation: str, consumed: Any) -> None:
        for figures in [consumed] if isinstance(consumed, dict) else consumed:
            charges = self.read if operation in _READS else self.written
            charges[self._name] = charges.get(self._name, Decimal(0)) + Decimal(str(figures["CapacityUnits"]))

    async def of(self, write: str, call: Awaitable[T]) -> T:
        """Make a call, whose charges are those of a declared write."""
        assert write in self.design.writes, write
        self._name = write
        self.read[write] = self.written[write] = Decimal(0)
        result = await call
        self._name = ""
        return result

    def check(self) -> None:
        """Every call was charged what is estimated: exactly that for what it read, at most that for what it wrote."""
        small = {schema.entity: 500 for table in self.design.all_tables for schema in schemas_of(table)}
        estimate = CapacityEstimate(self.design, small | self.larger)
        wrong: dict[str, str] = {}
        for write in filter(None, self.written):
            units = estimate.of(write)
            read, written = (sum((getattr(each, kind) for each in units), Decimal(0)) for kind in ("read", "write"))
            if self.read[write] != read or self.written[write] > written:
                charged = f"{self.read[write]} read, {self.written[write]} written"
                wrong[write] = f"charged {charged}; estimated {read}, {written}"
        assert not wrong, "\n".join(f"{write}: {what}" for write, what in wrong.items())
