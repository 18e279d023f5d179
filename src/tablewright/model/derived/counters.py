"""Counters: number fields that count the items of another entity, or sum a field of theirs.

    class CustomerTotals(Entity, table=shop):
        customer_id: str
        orders: int = count_of(Order)
        open_orders: int = count_of(Order, where=attr(Order.status) == Status.OPEN)
        revenue: Decimal = sum_of(Order.total)

        keys = Keys(PK="CUSTOMER#{customer_id}", SK="TOTALS")

There is an item for each group: the fields of its primary key are fields of the counted entity, by the same names
unless ``by`` says otherwise: ``count_of(Order, by=[Order.shop_id])``, in the order of the key. A counter is kept by the
``transaction`` of each write, and exact at any moment, or by a consumer of the ``stream`` (``counter_handler``), and
exact a moment later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field

from tablewright.dynamo import Item, non_null_at
from tablewright.dynamo.expressions.builder import attributes_in, holds
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldCondition, FieldPath, path_of
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.schema import Schema, schema_of

__all__ = ["COUNTER_CHANGES", "Counter", "CounterMarker", "attach_counters", "count_of", "counters_of", "sum_of"]

N = TypeVar("N", int, Decimal, float)

KeptBy = Literal["transaction", "stream"]

# The attribute of a counter's item that says how often it was changed, so that a check knows whether it was.
COUNTER_CHANGES = "~changes"


@dataclass(frozen=True, slots=True)
class CounterMarker:
    """What ``count_of`` and ``sum_of`` say of a field."""

    entity: type[BaseModel]
    # The path of the number that is summed; None: each item counts 1.
    summed: str | None
    where: FieldCondition | None
    by: tuple[object, ...]
    kept_by: KeptBy

    def default(self) -> Any:
        """The default of the field, which has the marker because of it."""
        info = Field(default=0, validate_default=True)
        info.metadata.append(self)
        return info


def count_of(
    entity: type[BaseModel],
    *,
    where: FieldCondition | None = None,
    by: Sequence[object] = (),
    kept_by: KeptBy = "transaction",
) -> int:
    """The default of a field that counts the items of an entity, or those that meet a condition.

        orders: int = count_of(Order)

    ``by`` has fields of the counted entity for those of the primary key, in their order: ``by=[Order.shop_id]``; by
    default they are the ones of the same names.
    """
    default: int = CounterMarker(entity, None, where, tuple(by), kept_by).default()
    return default


def sum_of(
    field: N | None,
    *,
    where: FieldCondition | None = None,
    by: Sequence[object] = (),
    kept_by: KeptBy = "transaction",
) -> N:
    """The default of a field that sums a number of the items of an entity: ``revenue: Decimal = sum_of(Order.total)``.

    The further arguments are those of ``count_of``.
    """
    if not isinstance(field, FieldPath):
        raise ModelError(f"sum_of takes a field of an entity class, such as sum_of(Order.total), not {field!r}")
    default: N = CounterMarker(field._entity, field._path, where, tuple(by), kept_by).default()
    return default


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
        marker = spec.marker(CounterMarker)
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


def _compiled(schema: Schema, spec: FieldSpec, marker: CounterMarker) -> Counter:
    place = f"{schema.entity.__name__}.{spec.name}"
    if spec.types != {"N"}:
        raise ModelError(f"{place} is a counter, so it must be a number")
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
    if marker.summed is not None:
        location = source.locate(marker.summed, place)
        if location.types - {"NULL", None} != {"N"}:
            raise ModelError(f"{place} is the sum of {counted}.{marker.summed}, which is not a number")
        amount = ".".join(location.parts)
    keyed = _key_fields(schema)
    paths = [path_of(each, source.entity, f"{place}, by") for each in marker.by]
    if paths and len(paths) != len(keyed):
        raise ModelError(
            f"{place}, by: the primary key of {schema.entity.__name__} is made of {', '.join(keyed)}; give a field of "
            f"{counted} for each of them, in this order"
        )
    group = []
    for name, path in sorted(zip(keyed, paths or keyed, strict=True)):
        if path.partition(".")[0] not in source.fields:
            raise ModelError(
                f"{place}: {counted} has no field {path!r} to be grouped by; say which ones are, in the order of the "
                f"key: by=[{', '.join(f'{counted}.{each}' for each in _guessed(source, keyed))}]"
            )
        location, mine = source.locate(path, place), schema.locate(name, place)
        if not (location.types & mine.types - {"NULL"}):
            raise ModelError(f"{place}: {counted}.{path} is stored as another type than {name}")
        group.append((".".join(mine.parts), ".".join(location.parts)))
    return Counter(schema, spec, source, tuple(group), amount, marker.where, marker.kept_by)


def _key_fields(schema: Schema) -> list[str]:
    """The fields of the primary key, in the order in which they stand in it."""
    found = []
    for attribute in schema.table.key:
        rule = schema.key_rules.get(attribute)
        found += [attribute] if rule is None else [part.name for part in rule.fields]
    named = [schema.field_path(path) for path in found]
    in_order = [name for name in dict.fromkeys(named) if name in schema.identity_fields]
    # What a computed value in it is made of.
    return in_order + sorted(schema.identity_fields - {*in_order})


def _guessed(source: Schema, names: Sequence[str]) -> list[str]:
    return [name if name.partition(".")[0] in source.fields else "some_field" for name in names]


def _check_kept(schema: Schema, counted: set[str]) -> None:
    """Check that the item of a counter can be made of its group alone."""
    name = schema.entity.__name__
    for reason, specs in (("unique", schema.unique), ("numbered", schema.numbered), ("Large", schema.large)):
        for spec in specs:
            raise ModelError(
                f"{name}.{spec.name} is {reason}, and the items of {name} are created by counting; remove it"
            )
    for managed in (schema.version, schema.created, schema.expiry):
        if managed is not None:
            raise ModelError(
                f"{name}.{managed.name} is set by the store, and the items of {name} are created by counting"
            )
    keyed = {source for attribute in schema.key_rules for source in schema.sources(attribute)}
    for field_name, info in schema.entity.model_fields.items():
        attribute = schema.fields[field_name].attribute
        if info.is_required() and field_name not in schema.identity_fields:
            raise ModelError(f"{name}.{field_name} has no default, and the items of {name} are created by counting")
        if field_name in counted and attribute in keyed:
            raise ModelError(f"{name}.{field_name} is a counter, so it cannot be part of a key")
