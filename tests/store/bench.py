"""A store to test with, and ways past it to what is stored."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from tablewright.dynamo import Item
from tablewright.model import Entity, Table, schema_of
from tablewright.store import Store
from tablewright.store.flow.driver import Backend, Request
from tests.clocks import Clock
from tests.store.models import TABLES

_numbers = count()


class TableNames(dict[str, str]):
    """What tables are called on an endpoint; some are created when their name is first asked for."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__(names)
        self._lock = threading.Lock()
        self._missing: dict[str, Callable[[], object]] = {}

    def create_on_demand(self, name: str, create: Callable[[], object]) -> None:
        self._missing[name] = create

    def is_missing(self, name: str) -> bool:
        return name in self._missing

    def __getitem__(self, name: str) -> str:
        if self._missing:
            with self._lock:
                if create := self._missing.get(name):
                    create()
                    del self._missing[name]
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: str) -> None:
        self._missing.pop(name, None)
        super().__setitem__(name, value)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


class Bench:
    """A store, and ways round it: items as another writer would leave them."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self.backend = backend
        self.clock = clock
        number = next(_numbers)
        self.names = TableNames({table.name: f"{table.name}-{number}" for table in TABLES})
        self.store = Store(backend, clock=clock, entropy=random.Random(7), table_names=self.names)

    def create(self, *tables: Table) -> None:
        for table in tables:
            request = table.create_request(self.names.setdefault(table.name, table.name))
            self.backend.call(Request("CreateTable", request))

    def create_on_demand(self, *tables: Table) -> None:
        """Create each of these tables when the test first uses it."""
        for table in tables:
            request = Request("CreateTable", table.create_request(self.names[table.name]))
            self.names.create_on_demand(table.name, partial(self.backend.call, request))

    def create_own(self, *tables: Table) -> None:
        """Create tables under names that no other test has."""
        for table in tables:
            self.names[table.name] = f"{table.name}-{next(_numbers)}"
        self.create(*tables)

    def save(self, *entities: Entity) -> None:
        for entity in entities:
            self.save_item(schema_of(type(entity)).table, entity.item())

    def save_item(self, table: Table, item: Item) -> None:
        self.backend.call(Request("PutItem", {"TableName": self.names[table.name], "Item": item}))
