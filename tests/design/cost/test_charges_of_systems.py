"""Every write that the five systems declare is charged at most what is estimated for it, in any state of its items."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from tablewright.design.cost import CapacityEstimate
from tablewright.design.sample_entities import sample
from tablewright.dynamo import item_size
from tablewright.model import Design, Entity, ItemWrite, Numbered, Write, schema_of
from tablewright.store import Check, Create, Delete, Operation, Put, Store, Update
from tests.changed_fields import sets
from tests.design.cost.charge_meter import ChargeMeter, Charges
from tests.design.subjects import DESIGNS

# Samples differ in their states; so many are tried for each write.
_STATES = 4
_SYSTEMS = ("Service Desk", "Support", "Engagement", "Calls", "Tasks")
WRITES = [(name, write) for name in _SYSTEMS for write in DESIGNS[name].writes]


def fresh(entity: type[Entity], number: int) -> Entity:
    """A sample as a program creates it."""
    schema = schema_of(entity)
    unset: dict[str, Any] = {spec.name: 0 for spec in schema.numbered}
    if schema.version is not None:
        unset[schema.version.name] = 0
    if schema.expiry is not None:
        unset[schema.expiry.name] = None
    return sample(entity, number).model_copy(update=unset)


def operations(store: Store, write: Write, state: int) -> Iterator[Operation]:
    """A write's operations, on items that are there where it needs them."""
    number = 1000 * (state + 1)
    deleted: dict[type[Entity], Entity] = {}
    created: list[Entity] = []
    for item_write in write.item_writes:
        for _ in range(item_write.count):
            number += _STATES
            made = operation(store, item_write, number + state, deleted)
            if isinstance(made, Create):
                # What is numbered for each ticket is of the ticket that is created with it.
                per = {name for spec in schema_of(item_write.entity).numbered for name in spec.marker(Numbered).per}
                shared = {name: getattr(each, name) for each in created for name in per if hasattr(each, name)}
                made = Create(made.entity.model_copy(update=shared))
                created.append(made.entity)
            yield made
    for entity in write.checks:
        number += _STATES
        yield Check(store.create(fresh(entity, number + state)))


def operation(store: Store, item_write: ItemWrite, number: int, deleted: dict[type[Entity], Entity]) -> Operation:
    entity = fresh(item_write.entity, number)
    schema = schema_of(item_write.entity)
    if item_write.action == "create":
        new = sample_of_creation(item_write.entity, number)
        if item_write.entity in deleted:
            # The same thing at another key: what is unique of it is handed over.
            old = deleted[item_write.entity]
            new = new.model_copy(update={spec.name: getattr(old, spec.name) for spec in schema.unique})
        return Create(new)
    if item_write.action == "put":
        return Put(sample_of_creation(item_write.entity, number))
    there = store.create(entity)
    if item_write.action == "delete":
        deleted[item_write.entity] = there
        return Delete(there)
    other = fresh(item_write.entity, number + 1)
    stamps = {spec.name for spec in (schema.created, schema.updated) if spec is not None}
    changed = {path.partition(".")[0] for path in item_write.changed}
    names = sorted(changed - stamps)
    return Update(there, *sets(item_write.entity, **{name: getattr(other, name) for name in names}))


def sample_of_creation(entity: type[Entity], number: int) -> Entity:
    """An item in its initial state: that of its defaults."""
    made = fresh(entity, number)
    defaults = {
        name: info.get_default(call_default_factory=True)
        for name, info in entity.model_fields.items()
        if not info.is_required() and name not in schema_of(entity).identity_fields
    }
    return made.model_copy(update=defaults)


def estimated(design: Design, write: str, sizes: dict[type[Entity], int]) -> Charges:
    found: Charges = {}
    for units in CapacityEstimate(design, sizes).of(write):
        found[units.place] = found.get(units.place, Decimal(0)) + units.write
    return found


def estimated_reads(design: Design, write: Write, sizes: dict[type[Entity], int]) -> Decimal:
    """What the store itself reads for a write; not what its caller does."""
    alone = Write(write.name, *write.item_writes, checks=write.checks)
    made = Design(design.name, tables=design.tables, internal_tables=design.internal_tables, writes=[alone])
    return sum((units.read for units in CapacityEstimate(made, sizes).of(write.name)), Decimal(0))


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(("system", "name"), WRITES)
def test_a_write_of_a_system_is_charged_at_most_what_is_estimated(system: str, name: str) -> None:
    design = DESIGNS[system]
    write = design.writes[name]
    meter = ChargeMeter(*design.all_tables)
    entities = [*(each.entity for each in write.item_writes), *write.checks]
    for state in range(_STATES):
        wanted = [*operations(meter.store, write, state)]
        if write.is_batch:
            puts = [each.entity for each in wanted if isinstance(each, Put)]
            deletes = [each.target for each in wanted if isinstance(each, Delete)]
            charged = meter.charged(partial(meter.store.write_many, puts, delete=deletes))
        else:
            charged = meter.charged(partial(meter.store.transact, *wanted))
        sizes = {entity: max(item_size(fresh(entity, 1000 + n).item()) for n in range(8)) + 100 for entity in entities}
        limit = estimated(design, name, sizes)
        assert {place: units for place, units in charged.items() if units > limit.get(place, 0)} == {}, limit
        assert meter.read <= estimated_reads(design, write, sizes)
