"""What is estimated for a write is the most that the engine charges for it, for designs of all kinds.

A new item is charged exactly what is estimated. An update or a delete never costs more, and in some state of the item
it costs exactly that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings

from tablewright.design.cost import CapacityEstimate
from tablewright.dynamo import item_size
from tablewright.model import Design, Entity, Volume, Write, schema_of
from tablewright.store import Check, Create
from tests.changed_fields import sets
from tests.design.cost.charge_meter import ChargeMeter, Charges
from tests.design.generated_designs import SHAPES, VALUES, Shape, entity_of, writes_of
from tests.examples import examples

READ = "read"


def estimated(entity: type[Entity], writes: list[Write], name: str, size: int) -> Charges:
    """The write units by place, and the read units of all."""
    table = schema_of(entity).table
    design = Design("Generated", tables=[table], writes=writes, volume={entity: Volume(items=10, size=size)})
    found: Charges = {}
    for units in CapacityEstimate(design).of(name):
        found[units.place] = found.get(units.place, Decimal(0)) + units.write
        found[READ] = found.get(READ, Decimal(0)) + units.read
    return {place: units for place, units in found.items() if units}


def charged(meter: ChargeMeter, action: Callable[[], object]) -> Charges:
    """The same, as charged."""
    charges = meter.charged(action)
    return {**charges, READ: meter.read} if meter.read else charges


def most(charges: list[Charges]) -> Charges:
    places = {place for each in charges for place in each}
    return {place: max(each.get(place, Decimal(0)) for each in charges) for place in places}


def items(entity: type[Entity]) -> Iterator[Callable[[], Entity]]:
    """Items in every state, each with an id of its own."""
    # An owner makes a difference only where there is an index for it.
    fields = ["status", *(["owner"] if "G2PK" in schema_of(entity).key_rules else [])]
    for number, values in enumerate(product(*(VALUES[name] for name in fields))):
        state = dict(zip(fields, values, strict=True))
        yield partial(made, entity, number, **state)


def made(entity: type[Entity], number: int, **values: Any) -> Entity:
    if "email" in entity.model_fields:
        values.setdefault("email", f"{number}@example.org")
    return entity(**{"thing_id": f"t{number:03}", **values})


@pytest.mark.requirement("X5")
@settings(max_examples=examples(100))
@given(SHAPES)
def test_a_new_item_is_charged_as_estimated(shape: Shape) -> None:
    entity = entity_of(shape)
    writes, meter = writes_of(entity), ChargeMeter(schema_of(entity).table)
    size = item_size(made(entity, 0).item())
    assert charged(meter, lambda: meter.store.create(made(entity, 1))) == estimated(entity, writes, "create", size)
    there = meter.store.create(made(entity, 2))
    two = [Create(made(entity, 3)), Create(made(entity, 4))]
    assert charged(meter, lambda: meter.store.transact(*two)) == estimated(entity, writes, "create two", size)
    checked = [Create(made(entity, 5)), Check(there)]
    assert charged(meter, lambda: meter.store.transact(*checked)) == estimated(entity, writes, "create checked", size)


@pytest.mark.requirement("X5")
@settings(max_examples=examples(60))
@given(SHAPES)
def test_an_update_or_a_delete_is_charged_at_most_what_is_estimated_and_that_in_some_state(shape: Shape) -> None:
    entity = entity_of(shape)
    writes, meter = writes_of(entity), ChargeMeter(schema_of(entity).table)
    size = item_size(made(entity, 0).item())
    for write in writes:
        (item_write, *_) = write.item_writes
        if item_write.action == "create":
            continue
        names = list(item_write.sets)
        charges: list[Charges] = []
        for make in items(entity):
            # Deletes have no values to set.
            for values in product(*(VALUES[name] for name in names)):
                it = meter.store.create(make())
                changes = {name: value for name, value in zip(names, values, strict=True) if getattr(it, name) != value}
                if names and not changes:
                    meter.store.delete(it)
                    continue
                if not names:
                    charges.append(charged(meter, partial(meter.store.delete, it)))
                    continue
                charges.append(charged(meter, partial(meter.store.update, it, *sets(entity, **changes))))
                changed = meter.store.get(by_id(entity)(**key_of(entity, it, changes)))
                assert changed is not None
                meter.store.delete(changed)
        assert most(charges) == estimated(entity, writes, write.name, size), write.name


def by_id(entity: type[Entity]) -> Any:
    return entity.by_id  # type: ignore[attr-defined]


def key_of(entity: type[Entity], it: Entity, changes: dict[str, Any]) -> dict[str, Any]:
    values = {**it.model_dump(), **changes}
    return {name: values[name] for name in schema_of(entity).identity_fields}
