"""Rules about how load spreads: a partition takes 3,000 read units and 1,000 write units a second, and no more.

Where traffic is declared it decides: a key of few values that a design can afford is no finding. The worst is assumed:
that at the peak all of it goes to one value, as all new tickets are open.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.hot_keys import PARTITION_READS, PARTITION_WRITES, hot_keys
from tablewright.design.cost.monthly_bill import plan_costs
from tablewright.design.cost.prices import load_prices
from tablewright.design.lint.lint_context import EntityKey, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule


def _load(context: LintContext, key: EntityKey) -> tuple[float, float] | None:
    """The read and write units a second, at the peak, of an entity's items under a key; None where nothing is said."""
    capacity = CapacityEstimate(context.design)
    subjects = {write.name for write, _ in context.item_writes_of(key.schema)}
    if not subjects & set(context.design.traffic):
        return None
    reads = writes = 0.0
    for name, traffic in context.design.traffic.items():
        for units in capacity.of(name):
            if units.table is key.schema.table and units.index == key.index and units.schema is key.schema:
                rate = traffic.peak or traffic.per_second
                reads += float(units.read) * rate
                writes += float(units.write) * rate
    return reads, writes


def _shards(context: LintContext, key: EntityKey) -> int:
    shapes = [context.key_pattern(key.schema, attribute) for attribute in key.partition]
    return max((shape.shards for shape in shapes if shape is not None), default=1)


def _needed(load: tuple[float, float]) -> int:
    """How many partitions would bear a load at half of what they can."""
    return max(2, ceil(2 * max(load[0] / PARTITION_READS, load[1] / PARTITION_WRITES)))


def _bearable(load: tuple[float, float], over: int) -> bool:
    return load[0] / over <= PARTITION_READS and load[1] / over <= PARTITION_WRITES


@rule("low-cardinality", "A partition key of few values", "warning")
def low_cardinality(context: LintContext) -> Iterator[Occurrence]:
    """Few values are few partitions, and most of the traffic goes to one of them."""
    for schema in context.schemas:
        for key in context.keys(schema):
            fields = context.fields_of(schema, key.partition)
            kinds = [context.traits(schema, name) for name in fields]
            if any(kind.few is None for kind in kinds) or not _is_partitioned(context, key):
                continue
            load = _load(context, key)
            shards = _shards(context, key)
            if shards > 1 and (load is None or _bearable(load, shards)):
                continue
            if load is not None and _bearable(load, 1):
                continue
            shape = context.key_pattern(schema, key.partition[0])
            known = [kind.few for kind in kinds if kind.few is not None and kind.few > 0]
            told = f"{max(known)} values" if known and len(known) == len(fields) else "a few values"
            what = "it is the same for all items"
            if fields:
                what = f"{' and '.join(fields)} has {told}, and most of the traffic goes to one of them"
            sparse = shape is not None and shape.is_sparse
            yield Occurrence(
                f"{schema.entity.__name__}.{key.partition[0]}",
                f"{key.place} is partitioned by {shape}: {what}. A partition takes "
                f"{PARTITION_WRITES:,} write units and {PARTITION_READS:,} read units a second"
                + (f", and the declared peak is {load[1]:,.0f} and {load[0]:,.0f}." if load else "."),
                f'Spread it: {key.partition[0]}=sharded("{shape}", {_needed(load) if load else 8}); reads merge the '
                "shards again." + ("" if load else " Or declare traffic= to show that one partition bears it."),
                context.where(schema.entity),
                "advice" if sparse and load is None else None,
            )


@rule("monotonic-partition", "A partition key that moves on with time", "warning")
def monotonic_partition(context: LintContext) -> Iterator[Occurrence]:
    """All writes of a day go to the partition of that day."""
    for schema in context.schemas:
        for key in context.keys(schema):
            fields = context.fields_of(schema, key.partition)
            kinds = [context.traits(schema, name) for name in fields]
            moving = [name for attribute in key.partition for name in context.days(schema, attribute)]
            rest = [kind for kind in kinds if kind.path not in moving]
            if not moving or not all(kind.few is not None for kind in rest) or not _is_partitioned(context, key):
                continue
            load = _load(context, key)
            shards = _shards(context, key)
            if (load is None and shards > 1) or (load is not None and _bearable(load, shards)):
                continue
            shape = context.key_pattern(schema, key.partition[0])
            yield Occurrence(
                f"{schema.entity.__name__}.{key.partition[0]}",
                f"{key.place} is partitioned by {shape}, so that all that is written on one day goes to one partition, "
                f"and the others rest. A partition takes {PARTITION_WRITES:,} write units a second"
                + (f", and the declared peak is {load[1]:,.0f}." if load else "."),
                f'Spread the day: {key.partition[0]}=sharded("{shape}", {_needed(load) if load else 8}), or put an id '
                "before the day." + ("" if load else " Or declare traffic= to show that one partition bears it."),
                context.where(schema.entity),
            )


def _is_partitioned(context: LintContext, key: EntityKey) -> bool:
    """Whether there are several items in a partition at all; a single one at a constant key is no matter."""
    return bool(context.fields_of(key.schema, key.partition + key.sort))


@rule("hot-partition", "More traffic than a partition takes", "warning")
def hot_partition(context: LintContext) -> Iterator[Occurrence]:
    """The busiest key gets more than 3,000 read units or 1,000 write units a second."""
    for key in hot_keys(plan_costs(context.design, load_prices())):
        if key.is_too_hot:
            yield Occurrence(
                f"{key.entity}.{key.attribute}",
                f"At the declared peak {', '.join(key.subjects)} bring {key.read:,.0f} read and {key.write:,.0f} write "
                f"units a second to the busiest key of {key.place}, and a partition takes {PARTITION_READS:,} and "
                f"{PARTITION_WRITES:,}: the rest is throttled.",
                f"Spread it: {key.attribute}=sharded(..., {key.needed}), or cache what is read so often.",
                context.where(
                    next(schema.entity for schema in context.schemas if schema.entity.__name__ == key.entity)
                ),
            )
