"""Counters that the stream keeps: the handler of a consumer, made from their declaration.

    class PlaceTotals(Entity, table=totals):
        place: str
        visits: int = count_of(Visit, kept_by="stream")

        keys = Keys(PK="PLACE#{place}", SK="TOTALS")

    Consumer(store, visits, counter_handler(PlaceTotals), name="totals", checkpoints=totals)

Each change counts once, with the consumer's checkpoint; ``rebuild(clear=[PlaceTotals])`` counts all items anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablewright.dynamo import Item
from tablewright.model import Entity, ModelError, Schema, schema_of
from tablewright.model.derived.counters import Counter
from tablewright.store.streams.change_filters import typed_changes
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.consumer_settings import Handler
from tablewright.store.streams.effects import Effects
from tablewright.store.write.planning.operation import Attempt, Operation, Planning, WritePlan, action
from tablewright.store.write.upkeep import CounterChange, counter_changes

__all__ = ["counter_handler"]


def counter_handler(*entities: type[Entity]) -> Handler:
    """A handler that keeps the counters of entities which are declared with ``kept_by="stream"``."""
    by_source: dict[Schema, list[Counter]] = {}
    for entity in entities:
        kept = [counter for counter in schema_of(entity).counts if counter.kept_by == "stream"]
        if not kept:
            raise ModelError(
                f"{entity.__name__} has no counter that the stream keeps; declare it with kept_by='stream'"
            )
        for counter in kept:
            if counter.source.table.stream != "NEW_AND_OLD_IMAGES":
                raise ModelError(
                    f"{entity.__name__}.{counter.spec.name} needs the items before and after a change: declare table "
                    f"{counter.source.table.name!r} with stream='NEW_AND_OLD_IMAGES'"
                )
            by_source.setdefault(counter.source, []).append(counter)

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        found: dict[tuple[str, str], CounterChange] = {}
        for source, counters in by_source.items():
            names = {source.by_attribute[name].name for counter in counters for name in counter.sources}
            typed = typed_changes(source.entity, changes)
            states = [(_counted(source, names, each.before), _counted(source, names, each.after)) for each in typed]
            for change in counter_changes(counters, states):
                known = found.get(change.identity)
                found[change.identity] = change if known is None else known.merged(change)
        effects.do(*(_Counting(change.schema, change) for change in found.values() if not change.changes_nothing))

    return handle


def _counted(source: Schema, names: set[str], entity: Entity | None) -> Item | None:
    """What a counter looks at, of an entity that may lack its large values."""
    return None if entity is None else source.encode_fields(entity, names)


@dataclass(frozen=True, slots=True, eq=False)
class _Counting(Operation):
    """A change of the counters of one item."""

    schema: Schema
    change: CounterChange
    name = "count"

    def plan(self, attempt: Attempt) -> Planning:
        yield from ()
        context = attempt.context
        body = {"TableName": context.name_of(self.schema.table), "Key": self.change.key}
        return WritePlan([action("Update", body, [], self.change.actions(context), repeatable=False)])
