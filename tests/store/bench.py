"""A store to test with, and ways past it to what is stored."""

from __future__ import annotations

import random
from itertools import count

from tablewright.dynamo import Item
from tablewright.model import Entity, Table, schema_of
from tablewright.store import Store
from tablewright.store.flow.driver import Backend, Request
from tests.clocks import Clock
from tests.store.models import TABLES

_numbers = count()


class Bench:
    """A store, and ways round it: items as another writer would leave them."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self.backend = backend
        self.clock = clock
        number = next(_numbers)
        self.names = {table.name: f"{table.name}-{number}" for table in TABLES}
        self.store = Store(backend, clock=clock, entropy=random.Random(7), table_names=self.names)

    def create(self, *tables: Table) -> None:
        for table in tables:
            request = table.create_request(self.names.setdefault(table.name, table.name))
            self.backend.call(Request("CreateTable", request))

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
