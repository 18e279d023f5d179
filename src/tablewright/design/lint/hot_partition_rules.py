"""Rules about hot partitions: a partition serves 3,000 read units and 1,000 write units per second.

If traffic is declared, it decides: a key of few values is not reported if one partition serves the load. The worst
case is assumed: that at peak all traffic goes to one value, as all new tickets are open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.hot_keys import hot_keys
from tablewright.design.cost.monthly_bill import plan_costs
from tablewright.design.cost.prices import load_prices
from tablewright.design.lint.field_traits import FieldTraits
from tablewright.design.lint.lint_context import EntityKey, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import declared_template, keys_code
from tablewright.dynamo.limits import MAX_PARTITION_READ_UNITS, MAX_PARTITION_WRITE_UNITS
from tablewright.model import ItemWrite, Schema
from tablewright.model.derived.counters import Counter


def _load(context: LintContext, key: EntityKey) -> tuple[float, float] | None:
    """The read and write units per second, at peak, of an entity's items under a key; None without traffic."""
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
    templates = [context.key_template(key.schema, attribute) for attribute in key.partition]
    return max((template.shards for template in templates if template is not None), default=1)


def _needed(load: tuple[float, float]) -> int:
    """How many partitions serve a load at half of their capacity."""
    return max(2, ceil(2 * max(load[0] / MAX_PARTITION_READ_UNITS, load[1] / MAX_PARTITION_WRITE_UNITS)))


def _fits(load: tuple[float, float], over: int) -> bool:
    return load[0] / over <= MAX_PARTITION_READ_UNITS and load[1] / over <= MAX_PARTITION_WRITE_UNITS


def _sharded(key: EntityKey, shards: int) -> str:
    """A key that is spread over several partitions."""
    template = declared_template(key.schema, key.partition[0])
    if template is None or len(key.partition) > 1:
        return f"with sharded(...) over {shards} partitions"
    return keys_code({key.partition[0]: template}, shards)


@rule("low-cardinality", "A partition key with few values", "warning")
def low_cardinality(context: LintContext) -> Iterator[Occurrence]:
    """Few values make few partitions, and most of the traffic goes to one of them."""
    for key, traits in _partitioned_keys(context):
        schema = key.schema
        # The items of counters are as many as their groups, and cannot be spread.
        if schema.counts or any(trait.few is None for trait in traits):
            continue
        load = _load(context, key)
        shards = _shards(context, key)
        if shards > 1 and (load is None or _fits(load, shards)):
            continue
        if load is not None and _fits(load, 1):
            continue
        template = context.key_template(schema, key.partition[0])
        known = [trait.few for trait in traits if trait.few is not None and trait.few > 0]
        values = f"{max(known)} values" if known and len(known) == len(traits) else "a few values"
        what = "the key is the same for all items"
        if traits:
            fields = " and ".join(trait.path for trait in traits)
            what = f"{fields} has {values}, and most of the traffic goes to one of them"
        sparse = template is not None and template.is_sparse
        yield Occurrence(
            f"{schema.entity.__name__}.{key.partition[0]}",
            f"{key.place} is partitioned by {template}: {what}. A partition serves "
            f"{MAX_PARTITION_WRITE_UNITS:,} write units and {MAX_PARTITION_READ_UNITS:,} read units per second"
            + (f", and the declared peak is {load[1]:,.0f} and {load[0]:,.0f}." if load else "."),
            f"Shard the key, {_sharded(key, _needed(load) if load else 8)}; reads merge the shards."
            + ("" if load else " Or declare traffic= to show that one partition is enough."),
            context.where(schema.entity),
            "advice" if sparse and load is None else None,
        )


@rule("monotonic-partition", "A partition key that advances with time", "warning")
def monotonic_partition(context: LintContext) -> Iterator[Occurrence]:
    """All writes of a day go to the partition of that day."""
    for key, traits in _partitioned_keys(context):
        schema = key.schema
        moving = [name for attribute in key.partition for name in context.days(schema, attribute)]
        rest = [trait for trait in traits if trait.path not in moving]
        if not moving or not all(trait.few is not None for trait in rest):
            continue
        load = _load(context, key)
        shards = _shards(context, key)
        if (load is None and shards > 1) or (load is not None and _fits(load, shards)):
            continue
        template = context.key_template(schema, key.partition[0])
        yield Occurrence(
            f"{schema.entity.__name__}.{key.partition[0]}",
            f"{key.place} is partitioned by {template}, so all writes of a day go to one partition, while the "
            f"others are idle. A partition serves {MAX_PARTITION_WRITE_UNITS:,} write units per second"
            + (f", and the declared peak is {load[1]:,.0f}." if load else "."),
            f"Shard the day, {_sharded(key, _needed(load) if load else 8)}, or put an id before the day."
            + ("" if load else " Or declare traffic= to show that one partition is enough."),
            context.where(schema.entity),
        )


def _partitioned_keys(context: LintContext) -> Iterator[tuple[EntityKey, list[FieldTraits]]]:
    """Keys with the traits of what they are partitioned by; a single item at a constant key is fine, and left out."""
    for schema in context.schemas:
        for key in context.keys(schema):
            if context.fields_of(schema, key.partition + key.sort):
                yield key, [context.traits(schema, name) for name in context.fields_of(schema, key.partition)]


@rule("hot-partition", "More traffic than a partition serves", "warning")
def hot_partition(context: LintContext) -> Iterator[Occurrence]:
    """The busiest key gets more than 3,000 read units or 1,000 write units per second."""
    for key in hot_keys(plan_costs(context.design, load_prices())):
        if key.is_too_hot:
            yield Occurrence(
                f"{key.entity}.{key.attribute}",
                f"At the declared peak {', '.join(key.subjects)} bring {key.read:,.0f} read and {key.write:,.0f} "
                f"write units per second to the busiest key of {key.place}, and a partition serves "
                f"{MAX_PARTITION_READ_UNITS:,} and {MAX_PARTITION_WRITE_UNITS:,}: the rest is throttled.",
                f"Shard the key {key.attribute} over {key.needed} partitions, with sharded, or cache what is read so "
                "often.",
                context.where(
                    next(schema.entity for schema in context.schemas if schema.entity.__name__ == key.entity)
                ),
            )


@rule("hot-counter", "A counter that more transactions change than one item can take", "warning")
def hot_counter(context: LintContext) -> Iterator[Occurrence]:
    """The counters of a group are one item, and each write of a counted item is a transaction with it."""
    for schema in context.schemas:
        kept = [counter for counter in schema.counts if counter.kept_by == "transaction"]
        if not kept:
            continue
        few = all(context.traits(schema, name).few is not None for name in schema.identity_fields)
        writers: dict[str, float] = {}
        for source in dict.fromkeys(counter.source for counter in kept):
            for write, item_write in context.item_writes_of(source):
                traffic = context.design.traffic.get(write.name)
                share = None if traffic is None else traffic.hottest or (1.0 if few else None)
                if traffic is not None and share is not None and _counts(kept, source, item_write):
                    rate = (traffic.peak or traffic.per_second) * share
                    writers[write.name] = writers.get(write.name, 0) + rate * item_write.count
        # A transaction takes two units for each item.
        units = 2 * sum(writers.values())
        if units > MAX_PARTITION_WRITE_UNITS:
            counter = kept[0]
            yield Occurrence(
                f"{schema.entity.__name__}.{counter.spec.name}",
                f"At the declared peak {', '.join(writers)} bring {units:,.0f} write units per second to the counters "
                f"of one group, which are one item, and a partition serves {MAX_PARTITION_WRITE_UNITS:,}. Long before "
                "that, transactions that change the same item wait for each other.",
                "Let the stream keep it (kept_by), which adds up many changes in one write.",
                context.where(schema.entity),
            )


def _counts(counters: Sequence[Counter], source: Schema, item_write: ItemWrite) -> bool:
    """Whether a write changes what counters count."""
    if item_write.action != "update":
        return True
    changed = {source.path(path).partition(".")[0] for path in item_write.changed}
    return any(counter.source is source and changed & counter.sources for counter in counters)
