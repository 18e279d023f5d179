"""Rules about what stands in a key: numbers and times that sort wrongly, and parts that a key should not have."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.lint.field_traits import words
from tablewright.design.lint.lint_context import EntityKey, KeyPattern, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.model import Schema
from tablewright.model.keys.key_template import Field

# Names of fields that change in the life of an item, where no write says so.
_CHANGING = frozenset(["status", "state", "updated", "priority", "assignee", "owner", "score", "rank"])


def _key_patterns(context: LintContext) -> Iterator[tuple[Schema, KeyPattern]]:
    for schema in context.schemas:
        for attribute in schema.table.key_attributes:
            for shape in context.key_patterns(schema, attribute):
                yield schema, shape


def _sort_attributes(schema: Schema) -> frozenset[str]:
    sorts = [schema.table.sort, *(name for index in schema.table.indexes for name in index.sort)]
    return frozenset(name for name in sorts if name is not None)


def _place(schema: Schema, name: str) -> str:
    return f"{schema.entity.__name__}.{name}"


@rule("partition-range", "A partition key that would need a range", "error")
def partition_range(context: LintContext) -> Iterator[Occurrence]:
    """A partition that is an instant of time can only be asked for that very instant."""
    for schema in context.schemas:
        for key in context.keys(schema):
            fields = context.fields_of(schema, key.partition)
            if context.all_instants(schema, key.partition):
                yield Occurrence(
                    _place(schema, fields[0]),
                    f"{key.place} is partitioned by {fields[0]}, a moment in time. A partition key takes equality "
                    "only: no query can read from one moment to another, or the newest first.",
                    f"Partition by what is asked for (a queue, a user) and sort by the time: Keys("
                    f'{key.partition[0]}=when("QUEUE", status=...), {(key.sort or ("...",))[0]}="{{{fields[0]}}}").',
                    context.where(schema.entity),
                )


@rule("unpadded-number", "A number that sorts as text", "error")
def unpadded_number(context: LintContext) -> Iterator[Occurrence]:
    """In text, 10 comes before 9."""
    for schema, shape in _key_patterns(context):
        if shape.is_raw or shape.attribute not in _sort_attributes(schema):
            continue
        for part in shape.parts:
            if isinstance(part, Field) and part.form == "text":
                kind = context.traits(schema, part.name)
                if kind.is_number:
                    form = "013" if kind.is_counted else "number"
                    yield Occurrence(
                        _place(schema, shape.attribute),
                        f"{shape} has the number {part.name} as plain text, so that 10 sorts before 9. "
                        "Order, ranges and the top of a list come out wrong.",
                        f"Write {{{part.name}:{form}}}, which sorts as numbers do, or a width such as "
                        f"{{{part.name}:06}} for whole numbers.",
                        context.where(schema.entity),
                    )


@rule("text-time", "A time that is kept as plain text", "warning")
def text_time(context: LintContext) -> Iterator[Occurrence]:
    """Text sorts as time does only while all writers use one width and one zone."""
    seen: set[tuple[Schema, str]] = set()
    for schema, shape in _key_patterns(context):
        if shape.attribute not in _sort_attributes(schema):
            continue
        for name in shape.fields:
            kind = context.traits(schema, name)
            if kind.is_text_time and (schema, name) not in seen:
                seen.add((schema, name))
                day = kind.is_day and not kind.is_instant
                yield Occurrence(
                    _place(schema, name),
                    f"{name} is in the sort key {shape.attribute}, but declared as text. A local time, another number "
                    "of decimals, or +00:00 in place of Z sorts in another place than the same moment does.",
                    f"Declare it as {'date' if day else 'datetime (always UTC, always of one width)'}"
                    + ("." if day else ", EpochMillis or EpochSeconds."),
                    context.where(schema.entity),
                )


@rule("time-as-identity", "A primary key that only a time makes different", "error")
def time_as_identity(context: LintContext) -> Iterator[Occurrence]:
    """Two items of one instant have one key, and the second replaces the first."""
    for schema in context.schemas:
        key = EntityKey(schema, None)
        fields = context.fields_of(schema, key.sort or key.partition)
        if context.all_instants(schema, key.sort or key.partition):
            attribute = (key.sort or key.partition)[0]
            shape = context.key_pattern(schema, attribute)
            yield Occurrence(
                _place(schema, attribute),
                f"Only {' and '.join(fields)} tells two items of {schema.entity.__name__} in a partition apart. Two in "
                "the same instant have the same key: the second overwrites the first, or is refused.",
                f'Put something unique behind the time: {attribute}="{shape}#{{id}}", or a field '
                "Annotated[int, Numbered(...)].",
                context.where(schema.entity),
            )


@rule("counted-by-hand", "A sequence number that a writer counts", "error")
def counted_by_hand(context: LintContext) -> Iterator[Occurrence]:
    """To count what is there and add one is a race."""
    seen: set[tuple[Schema, str]] = set()
    for schema in context.schemas:
        for attribute in schema.table.key:
            for shape in context.key_patterns(schema, attribute):
                for name in shape.fields:
                    if context.traits(schema, name).is_hand_counted and (schema, name) not in seen:
                        seen.add((schema, name))
                        others = [other for other in context.fields_of(schema, schema.table.key) if other != name]
                        yield Occurrence(
                            _place(schema, name),
                            f"{name} numbers the items of {schema.entity.__name__} in {shape}, and a writer has to "
                            "find the next one. Two writers that look at the same moment take the same number, and a "
                            "COUNT ends at a page of 1 MB.",
                            f"Let the store count, in the same transaction: {name}: Annotated[int, "
                            f"Numbered({', '.join(repr(other) for other in others[:1])})] = 0.",
                            context.where(schema.entity),
                        )


@rule("shard-by-hand", "A shard that a writer chooses", "error")
def shard_by_hand(context: LintContext) -> Iterator[Occurrence]:
    """A random suffix cannot be found again, and hash() differs in every process."""
    seen: set[tuple[Schema, str]] = set()
    for schema, shape in _key_patterns(context):
        for name in shape.fields:
            if context.traits(schema, name).is_shard and (schema, name) not in seen:
                seen.add((schema, name))
                rest = [other for other in shape.fields if other != name]
                template = str(shape).replace(f"#{{{name}}}", "")
                yield Occurrence(
                    _place(schema, name),
                    f"{shape} has a shard that a writer chooses. A random one cannot be found again from the rest of "
                    "the key, and Python's hash() differs from process to process, so the item is lost to readers."
                    + (f" A key that has {rest[0]} in it is spread already." if rest else ""),
                    f'If the rest of the key is hot, say sharded("{template}", 8), and reads merge the shards again; '
                    "if it is unique to the item, drop the shard.",
                    context.where(schema.entity),
                )


@rule("useless-shards", "Shards of a key that is unique anyway", "warning")
def useless_shards(context: LintContext) -> Iterator[Occurrence]:
    """What has a partition for each item cannot be hot."""
    for schema in context.schemas:
        for key in context.keys(schema):
            for attribute in key.partition:
                shape = context.key_pattern(schema, attribute)
                if shape is None or shape.shards == 1:
                    continue
                own = f"{'_'.join(words(schema.entity.__name__))}_id"
                kinds = [context.traits(schema, name) for name in shape.fields]
                alone = key.index is None and not key.sort
                if alone or any(kind.is_unique or kind.name == own for kind in kinds):
                    yield Occurrence(
                        _place(schema, attribute),
                        f"{shape} is different for every {schema.entity.__name__}, so its items are spread already; "
                        f"{shape.shards} shards only make every read {shape.shards} reads.",
                        f'Say {attribute}="{shape}" without sharded(...).',
                        context.where(schema.entity),
                    )


@rule("many-valued-key", "An index entry for one of several values", "error")
def many_valued_key(context: LintContext) -> Iterator[Occurrence]:
    """An item is in an index once."""
    for schema, shape in _key_patterns(context):
        for name in shape.fields:
            several = _several(context, schema, name)
            if several is not None:
                yield Occurrence(
                    _place(schema, shape.attribute),
                    f"{shape} has one {name}, but a {schema.entity.__name__} has several {several}. An item is in an "
                    f"index once, so it is found under one of them and missing under the others.",
                    f"Keep one item for each: an entity with {name} in its primary key, written in the same "
                    "transaction.",
                    context.where(schema.entity),
                )


def _several(context: LintContext, schema: Schema, name: str) -> str | None:
    """A field that has many of what another has one of: ``channels`` for ``channel_id``."""
    wanted = [word for word in words(name) if word not in ("id", "key", "name")]
    if not wanted:
        return None
    for other, info in schema.fields.items():
        if other == name or not info.types & {"L", "SET", "M"}:
            continue
        # ``channels`` and ``channel_ids``, but not ``channel_history``.
        *front, last = words(other)
        if last == f"{wanted[-1]}s" or (last in ("ids", "keys", "names") and front[-1:] == wanted[-1:]):
            return other
    return None


@rule("mutable-key", "A field of the primary key that changes", "warning")
def mutable_key(context: LintContext) -> Iterator[Occurrence]:
    """An item cannot change its key; it has to be moved."""
    for schema in context.schemas:
        item_writes = context.item_writes_of(schema)
        changed = {path.partition(".")[0]: write.name for write, item_write in item_writes for path in item_write.sets}
        for name in dict.fromkeys(context.fields_of(schema, schema.table.key)):
            first = name.partition(".")[0]
            marked = schema.version is not None and schema.version.name == first
            marked = marked or (schema.updated is not None and schema.updated.name == first)
            if first in changed:
                why = f"{changed[first]} sets {name}"
            elif marked:
                why = f"every write changes {name}"
            elif not item_writes and words(name)[-1] in _CHANGING:
                why = f"{name} is likely to change"
            else:
                continue
            yield Occurrence(
                _place(schema, name),
                f"{why}, which the primary key of {schema.entity.__name__} is made of. A key cannot be changed in "
                "place: such a write deletes the item and creates another, and every reference to it breaks.",
                f"Key the item by what never changes, and give {name} an index. Where the move is meant, declare it as "
                'one: Write("...", ItemWrite(..., "delete"), ItemWrite(..., "create")).',
                context.where(schema.entity),
                None if first in changed or marked else "advice",
            )
