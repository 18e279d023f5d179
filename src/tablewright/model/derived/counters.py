"""Counters: number fields that count the items of another entity, or sum a field of theirs.

    class CustomerTotals(Entity, table=shop):
        customer_id: str
        orders: Annotated[int, CountOf(Order)] = 0
        open_orders: Annotated[int, CountOf(Order, where=attr(Order.status) == Status.OPEN)] = 0
        revenue: Annotated[Decimal, SumOf(Order.total)] = Decimal(0)

        keys = Keys(PK="CUSTOMER#{customer_id}", SK="TOTALS")

There is an item for each group: the fields of its primary key are fields of the counted entity, by the same names
unless ``by`` says otherwise. A counter is kept by the ``transaction`` of each write, and exact at any moment, or by a
consumer of the ``stream`` (``counter_handler``), and exact a moment later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, get_args

from pydantic import BaseModel

from tablewright.dynamo import Item, non_null_at
from tablewright.dynamo.expressions.builder import attributes_in, holds
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldCondition, FieldPath
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.schema import Schema, schema_of

__all__ = ["COUNTER_CHANGES", "CountOf", "Counter", "SumOf", "attach_counters", "counters_of"]

KeptBy = Literal["transaction", "stream"]

# The attribute of a counter's item that says how often it was changed, so that a check knows whether it was.
COUNTER_CHANGES = "~changes"


@dataclass(frozen=True, slots=True)
class CountOf:
    """A field that counts the items of an entity, or those that a condition holds of.

        orders: Annotated[int, CountOf(Order)] = 0

    ``by`` has fields of the counted entity for fields of the key with other names: ``by={"seller": Order.shop_id}``.
    """

    entity: type[BaseModel]
    where: FieldCondition | None = None
    by: Mapping[str, Any] = field(default_factory=dict)
    kept_by: KeptBy = "transaction"


@dataclass(frozen=True, slots=True)
class SumOf:
    """A field that sums a number of the items of an entity: ``revenue: Annotated[Decimal, SumOf(Order.total)]``."""

    of: Any
    where: FieldCondition | None = None
    by: Mapping[str, Any] = field(default_factory=dict)
    kept_by: KeptBy = "transaction"

    @property
    def entity(self) -> type[BaseModel]:
        if not isinstance(self.of, FieldPath):
            raise ModelError(f"SumOf takes a field of an entity class, such as SumOf(Order.total), not {self.of!r}")
        return self.of._entity


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """A counter, compiled: what it adds up of which items, and in which item of its own."""

    schema: Schema
    spec: FieldSpec
    source: Schema
    # Attributes of its item's key, and where their values are in a counted item.
    group: tuple[tuple[str, str], ...]
    # Where the number that is summed is in a counted item; None: each counts 1.
    amount: str | None
    where: FieldCondition | None
    kept_by: KeptBy

    @property
    def sources(self) -> frozenset[str]:
        """The attributes of a counted item that it follows from."""
        paths = [path for _, path in self.group]
        if self.amount is not None:
            paths.append(self.amount)
        named = [] if self.where is None else attributes_in(self.where.node)
        return frozenset([*(path.partition(".")[0] for path in paths), *named])

    def contribution(self, item: Item | None) -> tuple[Item, Decimal] | None:
        """The group of an item, and what it adds; None if it does not count."""
        if item is None or (self.where is not None and not holds(self.where.node, item)):
            return None
        group: Item = {}
        for attribute, path in self.group:
            value = non_null_at(item, path) or self.source.defaults.get(path)
            if value is None or "NULL" in value:
                return None
            group[attribute] = value
        if self.amount is None:
            return group, Decimal(1)
        number = non_null_at(item, self.amount) or self.source.defaults.get(self.amount) or {}
        return group, Decimal(number.get("N", 0))


def counters_of(schema: Schema) -> list[Counter]:
    """The counters that an entity declares."""
    found = []
    for spec in schema.fields.values():
        marker = spec.marker(CountOf) or spec.marker(SumOf)
        if marker is not None:
            found.append(_compiled(schema, spec, marker))
    if found:
        _check_kept(schema, {counter.spec.name for counter in found})
    return found


def attach_counters(schema: Schema, counters: Sequence[Counter]) -> None:
    """Make the counters of an entity known to the entities that they count."""
    schema.counts = tuple(counters)
    for counter in counters:
        counter.source.counters += (counter,)
        counter.source.needs_upkeep |= counter.kept_by == "transaction"


def _compiled(schema: Schema, spec: FieldSpec, marker: CountOf | SumOf) -> Counter:
    place = f"{schema.entity.__name__}.{spec.name}"
    kind = type(marker).__name__
    if spec.types != {"N"}:
        raise ModelError(f"{place} is a {kind}, so it must be a number, with a default of 0")
    if marker.kept_by not in get_args(KeptBy):
        raise ModelError(f"{place}: kept_by is one of {', '.join(get_args(KeptBy))}, not {marker.kept_by!r}")
    source = schema_of(marker.entity)
    counted = source.entity.__name__
    if source is schema:
        raise ModelError(f"{place} counts its own entity; count another one")
    if marker.where is not None and marker.where.entity is not source.entity:
        raise ModelError(f"{place}: the condition is on {marker.where.entity.__name__}, and {counted} is counted")
    if marker.kept_by == "transaction" and source.expiry is not None:
        raise ModelError(
            f"{place}: {counted} has a time to live, and the service deletes its items without a transaction; "
            "use kept_by='stream'"
        )
    amount = None
    if isinstance(marker, SumOf):
        location = source.locate(marker.of._path, place)
        if location.types - {"NULL", None} != {"N"}:
            raise ModelError(f"{place} is the sum of {counted}.{marker.of._path}, which is not a number")
        amount = ".".join(location.parts)
    for name in marker.by:
        if name not in schema.identity_fields:
            schema.locate(name, f"{place}, by")
            keyed = ", ".join(sorted(schema.identity_fields))
            raise ModelError(f"{place}: {name} in by is not part of the primary key, which groups by {keyed}")
    group = []
    for name in sorted(schema.identity_fields):
        given = marker.by.get(name)
        if given is not None and not (isinstance(given, FieldPath) and given._entity is source.entity):
            raise ModelError(f"{place}: by takes fields of {counted}: by={{{name!r}: {counted}.some_field}}")
        path = name if given is None else given._path
        if path.partition(".")[0] not in source.fields:
            raise ModelError(
                f"{place}: {counted} has no field {path!r} to be grouped by; say which one is, by={{{name!r}: "
                f"{counted}.some_field}}"
            )
        location, mine = source.locate(path, place), schema.locate(name, place)
        if not (location.types & mine.types - {"NULL"}):
            raise ModelError(f"{place}: {counted}.{path} is stored as another type than {name}")
        group.append((".".join(mine.parts), ".".join(location.parts)))
    return Counter(schema, spec, source, tuple(group), amount, marker.where, marker.kept_by)


def _check_kept(schema: Schema, counted: set[str]) -> None:
    """Check that the item of a counter can be made of its group alone."""
    name = schema.entity.__name__
    for reason, specs in (("unique", schema.unique), ("numbered", schema.numbered), ("Large", schema.large)):
        for spec in specs:
            raise ModelError(f"{name}.{spec.name} is {reason}, and the items of {name} are made by counting; remove it")
    for managed in (schema.version, schema.created, schema.expiry):
        if managed is not None:
            raise ModelError(f"{name}.{managed.name} is set by the store, and the items of {name} are made by counting")
    keyed = {source for attribute in schema.key_rules for source in schema.sources(attribute)}
    for field_name, info in schema.entity.model_fields.items():
        attribute = schema.fields[field_name].attribute
        if info.is_required() and field_name not in schema.identity_fields:
            raise ModelError(f"{name}.{field_name} has no default, and the items of {name} are made by counting")
        if field_name in counted and attribute in keyed:
            raise ModelError(f"{name}.{field_name} is a counter, so it cannot be part of a key")
        if field_name in counted and info.default != 0:
            raise ModelError(f"{name}.{field_name} is a counter, so its default is 0")
