"""Rules about DynamoDB's limits on the size of items, keys and transactions, and on the number of indexes."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.cost.write_actions import actions, is_transaction
from tablewright.design.lint.field_traits import WIDEST_CHARACTER, has_length, is_endless_map
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.dynamo.limits import (
    MAX_COLLECTION_BYTES,
    MAX_GLOBAL_INDEXES,
    MAX_ITEM_SIZE,
    MAX_LOCAL_INDEXES,
    MAX_PARTITION_KEY_BYTES,
    MAX_PROJECTED_ATTRIBUTES,
    MAX_SORT_KEY_BYTES,
    MAX_TRANSACTION_ACTIONS,
    MAX_TRANSACTION_BYTES,
)
from tablewright.model import schemas_of
from tablewright.model.keys.key_forms import Field
from tablewright.model.values.attribute_codec import Epoch


@rule("unbounded-list", "A list that grows inside an item", "warning")
def unbounded_list(context: LintContext) -> Iterator[Occurrence]:
    """An item has at most 400 KB, and every write is charged for all of it."""
    for schema in context.schemas:
        item_writes = context.item_writes_of(schema)
        appended = {
            path: write.name for write, item_write in item_writes for path in (*item_write.appends, *item_write.adds)
        }
        # A write of a member of a map may add one.
        inside = {
            path.partition(".")[0]: write.name
            for write, item_write in item_writes
            for path in item_write.changed
            if "." in path
        }
        for name, info in schema.entity.model_fields.items():
            if has_length(info.annotation, tuple(info.metadata)):
                if name not in inside or not is_endless_map(info.annotation, tuple(info.metadata)):
                    continue
                appended.setdefault(name, inside[name])
            grows = f"{appended[name]} adds to it" if name in appended else "its length is not limited"
            yield Occurrence(
                f"{schema.entity.__name__}.{name}",
                f"{name} is stored inside the item, and {grows}. An item has at most 400 KB: a larger write fails, "
                "and until then each write and read is charged for all of it.",
                "Limit it (max_length of its Field), or store its members as items of their own with the same "
                "partition key.",
                context.where(schema.entity),
                None if name in appended or not item_writes else "advice",
            )


@rule("item-size", "An item that may exceed 400 KB", "warning")
def item_size(context: LintContext) -> Iterator[Occurrence]:
    """All fields at their limits exceed the limit of an item; or the declared volume does."""
    for schema in context.schemas:
        volume = context.design.volume.get(schema.entity)
        if volume is not None and volume.size > MAX_ITEM_SIZE:
            yield Occurrence(
                schema.entity.__name__,
                f"{schema.entity.__name__} is declared with {volume.size:,} bytes on average, and DynamoDB refuses "
                "an item of more than 400 KB (409,600 bytes).",
                "Correct Volume(size=...); values of Large fields that are stored as blobs do not count.",
                context.where(schema.entity),
                "error",
            )
        stored_fields = [spec for spec in schema.fields.values() if spec not in schema.large]
        sizes = {spec.name: context.traits(schema, spec.name).most_bytes or 0 for spec in stored_fields}
        most = sum(sizes.values()) + sum(len(spec.attribute.encode()) for spec in stored_fields)
        if most <= MAX_ITEM_SIZE:
            continue
        largest = max(sizes, key=lambda name: sizes[name])
        certain = most // WIDEST_CHARACTER > MAX_ITEM_SIZE
        yield Occurrence(
            f"{schema.entity.__name__}.{largest}",
            f"At the declared limits of its fields, a {schema.entity.__name__} has up to {most // 1024:,} KB"
            + ("" if certain else ", if its characters take four bytes each")
            + f", most of them in {largest}. DynamoDB refuses an item of more than 400 KB.",
            f"Lower max_length, or mark {largest} as Large(), so that it is stored as a blob when the item is large.",
            context.where(schema.entity),
            None if certain else "advice",
        )


@rule("key-size", "A key that may be too long", "warning")
def key_size(context: LintContext) -> Iterator[Occurrence]:
    """2,048 bytes for a partition key, 1,024 for a sort key."""
    for schema in context.schemas:
        partitions = {name for key in context.keys(schema) for name in key.partition}
        for attribute in schema.table.key_attributes:
            limit = MAX_PARTITION_KEY_BYTES if attribute in partitions else MAX_SORT_KEY_BYTES
            template = context.key_template(schema, attribute)
            if template is None:
                continue
            literal = len("".join(str(part) for part in template.parts if not isinstance(part, Field)))
            sizes = [context.traits(schema, name).most_bytes or 0 for name in template.fields]
            if literal + sum(sizes) > limit:
                certain = literal + sum(sizes) // WIDEST_CHARACTER > limit
                yield Occurrence(
                    f"{schema.entity.__name__}.{attribute}",
                    f"At the declared limits of its fields, {template} has up to {literal + sum(sizes):,} bytes"
                    + ("" if certain else ", if its characters take four bytes each")
                    + f", and this key may have {limit:,}. Writing such an item fails.",
                    f"Lower max_length of {' and '.join(template.fields)}, or use a hash of it in the key.",
                    context.where(schema.entity),
                    None if certain else "advice",
                )


@rule("collection-size", "An item collection of a table with local indexes that may exceed 10 GB", "warning")
def collection_size(context: LintContext) -> Iterator[Occurrence]:
    """With a local index, the items of a partition key have at most 10 GB together."""
    for table in context.design.tables:
        if all(index.is_global for index in table.indexes):
            continue
        for schema in schemas_of(table):
            volume = context.design.volume.get(schema.entity)
            distinct = None if volume is None else volume.distinct.get(table.partition)
            size = "the size of its item collections is not declared"
            if volume is not None and distinct:
                stored = volume.items / distinct * volume.size
                if stored <= MAX_COLLECTION_BYTES:
                    continue
                size = f"its item collections have {stored / 1024**3:,.0f} GB on average"
            yield Occurrence(
                f"{schema.entity.__name__}.{table.partition}",
                f"Table {table.name} has a local index, so the items of a partition key have at most 10 GB together, "
                f"and writes beyond that fail; {size}.",
                f"Use a GlobalIndex, which has no such limit, or declare how many values {table.partition} has "
                "(Volume, distinct).",
                context.where(schema.entity),
                None if volume is not None and distinct else "advice",
            )


@rule("too-many-indexes", "More indexes than a table may have", "error")
def too_many_indexes(context: LintContext) -> Iterator[Occurrence]:
    """20 global and 5 local ones, and 100 projected attributes in all of them."""
    for table in context.design.tables:
        own = [index for index in table.indexes if index.is_global]
        local = [index for index in table.indexes if not index.is_global]
        listed = sum(len(index.include or ()) for index in table.indexes)
        for many, most, what in (
            (len(own), MAX_GLOBAL_INDEXES, "global indexes"),
            (len(local), MAX_LOCAL_INDEXES, "local indexes"),
            (listed, MAX_PROJECTED_ATTRIBUTES, "projected attributes (include=...)"),
        ):
            if many > most:
                yield Occurrence(
                    table.name,
                    f"Table {table.name} has {many} {what}, and DynamoDB allows {most}: it cannot be created.",
                    "Let entities share indexes: GSI1PK and GSI1SK may have a different template in each of them."
                    if what != "projected attributes (include=...)"
                    else "Project everything (include=None), or fewer attributes.",
                )


@rule("transaction-size", "A transaction of more than 100 actions", "error")
def transaction_size(context: LintContext) -> Iterator[Occurrence]:
    """At most 100 actions and 4 MB; guards, counters and checks are actions as well."""
    for write in context.design.writes.values():
        asked = actions(write)
        volumes = [(item_write, context.design.volume.get(item_write.entity)) for item_write in write.item_writes]
        size = sum(item_write.count * volume.size for item_write, volume in volumes if volume is not None)
        if not is_transaction(write):
            continue
        if asked.total > MAX_TRANSACTION_ACTIONS or size > MAX_TRANSACTION_BYTES:
            also = [
                f"{many} {what}" for many, what in ((asked.internal, "guards and counters"), (asked.checks, "checks"))
            ]
            others = "".join(f" and {text}" for text in also if not text.startswith("0 "))
            yield Occurrence(
                write.name,
                f"{write.name} writes {asked.items} items{others}, of {size / 1024**2:,.1f} MB, in one transaction. "
                "DynamoDB accepts 100 actions and 4 MB, so at its largest it always fails.",
                "Split it into transactions that are each consistent by themselves, with an item that records "
                "progress.",
            )


@rule("ttl-seconds", "A time to live that is not in seconds", "error")
def ttl_seconds(context: LintContext) -> Iterator[Occurrence]:
    """DynamoDB reads the attribute as seconds since 1970; anything else never expires, or expires at once."""
    for table in context.design.tables:
        if table.ttl is None:
            continue
        for schema in schemas_of(table):
            spec = schema.by_attribute.get(table.ttl)
            if spec is None or spec is schema.expiry:
                continue
            kind = context.traits(schema, spec.name)
            markers = [marker for marker in spec.markers if isinstance(marker, Epoch)]
            seconds = any(marker.unit.total_seconds() == 1 for marker in markers)
            unmarked = seconds or kind.types <= {int}
            renamed = spec.attribute != schema.naming(spec.name)
            kind_of = f'Annotated[ExpiresAt, AttributeName("{spec.attribute}")]' if renamed else "ExpiresAt"
            yield Occurrence(
                f"{schema.entity.__name__}.{spec.name}",
                f"{spec.name} is the time to live of table {table.name}, "
                + (
                    "but not declared as ExpiresAt: expired items that are not deleted yet are still returned."
                    if unmarked
                    else "but not stored as seconds since 1970: DynamoDB ignores it, and nothing ever expires."
                ),
                f"Declare `{spec.name}: {kind_of} = None`; an Expiry says when by default.",
                context.where(schema.entity),
                "warning" if unmarked else None,
            )
        if not any(table.ttl in schema.by_attribute for schema in schemas_of(table)) and table.entities:
            # Consumers of another table may keep their checkpoints here, which expire.
            is_checkpointed = any(other.stream is not None and other is not table for other in context.design.tables)
            yield Occurrence(
                table.name,
                f"Table {table.name} has {table.ttl} as its time to live, but none of its entities has that "
                "attribute: nothing ever expires.",
                f"Give the entities that expire a field {table.ttl} of type ExpiresAt, or remove ttl= from the table.",
                severity="advice" if is_checkpointed else "warning",
            )
