"""Rules about the values in a key: numbers and times that sort wrongly, and parts that a key should not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tablewright.design.lint.field_traits import words
from tablewright.design.lint.lint_context import EntityKey, KeyTemplate, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import (
    EPOCH_DIGITS,
    constant_key,
    declared_template,
    field_code,
    free_key_attributes,
    group_code,
    identity_template,
    index_code,
    keys_code,
    labelled_template,
    own_ids,
    sortable_part,
    unique_key_repair,
)
from tablewright.model import Schema, schemas_of
from tablewright.model.keys.key_forms import Field, Literal, Part

# Names of fields that usually change, if no write is declared.
_CHANGING = frozenset(["status", "state", "updated", "priority", "assignee", "score", "rank"])

# Things that are numbered by nature, not counted by the application.
_PLACES = re.compile(
    r"room|seat|floor|gate|table|locker|page|chapter|season|episode|week|round|lap|flight|bus|track|unit|apartment|house|"
    r"shelf|slot|lane|platform|level"
)


def _key_templates(context: LintContext) -> Iterator[tuple[Schema, KeyTemplate]]:
    for schema in context.schemas:
        for attribute in schema.table.key_attributes:
            for template in context.key_templates(schema, attribute):
                yield schema, template


def _sort_attributes(schema: Schema) -> frozenset[str]:
    sorts = [schema.table.sort, *(name for index in schema.table.indexes for name in index.sort)]
    return frozenset(name for name in sorts if name is not None)


def _place(schema: Schema, name: str) -> str:
    return f"{schema.entity.__name__}.{name}"


@rule("partition-range", "A partition key that would need a range query", "error")
def partition_range(context: LintContext) -> Iterator[Occurrence]:
    """A partition key that is a timestamp can only be queried for that exact instant."""
    for schema in context.schemas:
        for key in context.keys(schema):
            fields = context.fields_of(schema, key.partition)
            if context.all_instants(schema, key.partition):
                yield Occurrence(
                    _place(schema, fields[0]),
                    f"{key.place} is partitioned by {fields[0]}, a timestamp. A partition key supports equality "
                    "only: no query can read a time range, or the newest items first.",
                    f"Partition by what is queried for (a queue, a user) and sort by {fields[0]}"
                    + _sorted_by(context, key, fields[0]),
                    context.where(schema.entity),
                )


def _sorted_by(context: LintContext, key: EntityKey, time: str) -> str:
    """How an index that is partitioned by a time can be sorted by it."""
    schema, index = key.schema, key.index
    others = [each for each in schemas_of(schema.table) if each is not schema and index and each.covers(index)]
    if index is None or not index.is_global or len(index.partition) > 1 or len(index.sort) > 1 or others:
        return "."
    if any(each.write for name in index.attributes for each in context.key_templates(schema, name)):
        return "."
    primary = {*own_ids(schema), *context.fields_of(schema, schema.table.key)}
    queried = [
        name
        for name in context.fields_of(schema, index.sort)
        if name not in primary and not context.traits(schema, name).is_ordered
    ]
    if queried and all(name in schema.by_attribute for name in index.attributes):
        return f": {index_code(replace(index, partition=index.sort, sort=index.partition))}."
    partition, sort = (
        index.attributes
        if all(declared_template(schema, name) for name in index.attributes) and index.sort
        else ("", "")
    )
    new = ""
    if not sort:
        partition, sort = free_key_attributes(schema.table)
        new = f"{index_code(replace(index, partition=(partition,), sort=(sort,)))} with "
    by = labelled_template(queried) if queried else constant_key(schema)
    identity = identity_template(schema)
    code = keys_code({partition: by, sort: f"{sortable_part(schema, time)}#{identity}"})
    return (f": {new}" if queried else f"; or by one key for all of them: {new}") + f"{code}."


@rule("unpadded-number", "A number that sorts as text", "error")
def unpadded_number(context: LintContext) -> Iterator[Occurrence]:
    """As text, 10 sorts before 9."""
    for schema, template in _key_templates(context):
        if template.is_raw or template.attribute not in _sort_attributes(schema):
            continue
        for part in template.parts:
            if isinstance(part, Field) and part.form == "text":
                trait = context.traits(schema, part.name)
                if trait.is_number and not trait.is_even:
                    yield Occurrence(
                        _place(schema, template.attribute),
                        f"{template} has the number {part.name} as plain text, so 10 sorts before 9. Sort order and "
                        "ranges are wrong.",
                        f"Write `{sortable_part(schema, part.name)}`, which sorts numerically"
                        + (
                            "." if trait.is_counted else "; integers of a known width can be padded with zeros instead."
                        ),
                        context.where(schema.entity),
                    )


@rule("narrow-padding", "A padded number that may have more digits than its padding", "error")
def narrow_padding(context: LintContext) -> Iterator[Occurrence]:
    """A number that does not fit is refused, or sorts before smaller ones."""
    for schema, template in _key_templates(context):
        for part in template.parts:
            if not isinstance(part, Field) or not part.form.isdigit():
                continue
            trait = context.traits(schema, part.name)
            # A time of today, as it is counted.
            most = trait.most if trait.unit is None else 10 ** EPOCH_DIGITS[trait.unit] - 1
            if trait.least is not None and trait.least < 0:
                yield Occurrence(
                    _place(schema, template.attribute),
                    f"{template} pads {part.name}, which may be {trait.least:,}. Padding cannot sort negative "
                    "numbers: such an item is refused.",
                    f"Write `{{{part.name}:number}}`, the form for any number.",
                    context.where(schema.entity),
                )
            elif most is not None and len(str(most)) > len(f"{0:{part.form}d}"):
                digits = len(str(most))
                yield Occurrence(
                    _place(schema, template.attribute),
                    f"{template} pads {part.name} to {len(f'{0:{part.form}d}')} digits, and it may be {most:,}, which "
                    f"has {digits}. Such an item would not sort among the others, and is refused.",
                    f"Write `{{{part.name}:0{digits}}}`; the form number is for any number.",
                    context.where(schema.entity),
                )


@rule("text-time", "A time that is stored as plain text", "warning")
def text_time(context: LintContext) -> Iterator[Occurrence]:
    """Text sorts chronologically only if all writers use one width and one time zone."""
    seen: set[tuple[Schema, str]] = set()
    for schema, template in _key_templates(context):
        if template.attribute not in _sort_attributes(schema):
            continue
        for name in template.fields:
            trait = context.traits(schema, name)
            if trait.is_text_time and (schema, name) not in seen:
                seen.add((schema, name))
                day = trait.is_day and not trait.is_instant
                yield Occurrence(
                    _place(schema, name),
                    f"{name} is in the sort key {template.attribute}, but declared as text. A local time, another "
                    "number of decimals, or +00:00 instead of Z sorts differently from the same instant in another "
                    "notation.",
                    _as_time(schema, name, "date" if day else "datetime"),
                    context.where(schema.entity),
                )


def _as_time(schema: Schema, name: str, kind: str) -> str:
    code = field_code(schema, name, kind) or f"{name} as {kind}"
    return f"Declare {code}" + ("." if kind == "date" else ", which is always UTC, in one width.")


@rule("time-as-identity", "A primary key that only a timestamp makes unique", "error")
def time_as_identity(context: LintContext) -> Iterator[Occurrence]:
    """Two items of the same instant have the same key, and the second replaces the first."""
    for schema in context.schemas:
        key = EntityKey(schema, None)
        fields = context.fields_of(schema, key.sort or key.partition)
        attribute = (key.sort or key.partition)[0]
        part = context.only_part_of_a_day(schema, key.sort or key.partition)
        if part is not None:
            yield Occurrence(
                _place(schema, attribute),
                f"Only the {part.form} of {part.name} distinguishes two items of {schema.entity.__name__} in a "
                f"partition. Two of one {part.form} have the same key: the second replaces the first, or is refused.",
                unique_key_repair(schema, attribute, own_ids(schema)),
                context.where(schema.entity),
                "warning",
            )
        if context.all_instants(schema, key.sort or key.partition):
            yield Occurrence(
                _place(schema, attribute),
                f"Only {' and '.join(fields)} distinguishes two items of {schema.entity.__name__} in a partition. "
                "Two items of the same instant have the same key: the second replaces the first, or is refused.",
                unique_key_repair(schema, attribute, own_ids(schema)),
                context.where(schema.entity),
            )


@rule("counted-by-hand", "A sequence number that a writer assigns by counting", "error")
def counted_by_hand(context: LintContext) -> Iterator[Occurrence]:
    """Counting items and adding one is a race."""
    seen: set[tuple[Schema, str]] = set()
    for schema in context.schemas:
        for attribute in schema.table.key:
            for template in context.key_templates(schema, attribute):
                for name in template.fields:
                    if not context.traits(schema, name).is_hand_counted or (schema, name) in seen:
                        continue
                    if _refers_to_another(context, schema, attribute, name):
                        continue
                    seen.add((schema, name))
                    per = [other for other in context.fields_of(schema, schema.table.key[:1]) if other != name]
                    code = _numbered(context, schema, name, per)
                    yield Occurrence(
                        _place(schema, name),
                        f"{name} numbers the items of {schema.entity.__name__} in {template}, and a writer has "
                        "to find the next number. Two concurrent writers take the same one, and a COUNT covers "
                        "only one page of 1 MB.",
                        "Let the store assign it, in the same transaction: "
                        + (code or f"declare {name} as an int that is Numbered")
                        + ".",
                        context.where(schema.entity),
                    )


def _numbered(context: LintContext, schema: Schema, name: str, per: Sequence[str]) -> str | None:
    """A number that the store assigns, where nothing else has to change for that."""
    if field_code(schema, name, marker="Numbered()") is None or context.traits(schema, name).types != {int}:
        return None
    if not per:
        return f"`{name}: Annotated[int, Numbered()] = 0`"
    return f"`{name}: int = 0` with {group_code(schema, 'Numbered', name, per)}"


def _refers_to_another(context: LintContext, schema: Schema, attribute: str, name: str) -> bool:
    """Whether a number is not assigned here: that of a parent, ``issue_number`` of a comment, or of a place, a seat."""
    own = words(schema.entity.__name__)
    stem = words(name)[:-1]
    if stem and _PLACES.fullmatch(stem[-1]):
        return True
    if stem and stem != own[-len(stem) :]:
        named = {tuple(words(other.entity.__name__)) for other in context.schemas if other is not schema}
        if any(tuple(stem) == other[-len(stem) :] for other in named) or stem[-1] not in own:
            # sequence_number and the like are of no other entity.
            return stem not in (["sequence"], ["serial"], ["running"], ["ordinal"])
    fields = context.fields_of(schema, schema.table.key)
    # What comes behind it is what tells the items apart.
    return (
        attribute == schema.table.partition
        and fields[-1] != name
        and bool(context.fields_of(schema, schema.table.key[1:]))
    )


@rule("shard-by-hand", "A shard that a writer chooses", "error")
def shard_by_hand(context: LintContext) -> Iterator[Occurrence]:
    """A random suffix cannot be recomputed, and hash() differs in every process."""
    seen: set[tuple[Schema, str]] = set()
    for schema, template in _key_templates(context):
        for name in template.fields:
            if context.traits(schema, name).is_shard and (schema, name) not in seen:
                seen.add((schema, name))
                rest = [other for other in template.fields if other != name]
                yield Occurrence(
                    _place(schema, name),
                    f"{template} has a shard that a writer chooses. A random one cannot be recomputed from the rest "
                    "of the key, and Python's hash() differs between processes, so readers do not find the item."
                    + (f" Keys with {rest[0]} are spread already." if rest else ""),
                    _without_shard(context, schema, template, name),
                    context.where(schema.entity),
                )


def _without_shard(context: LintContext, schema: Schema, template: KeyTemplate, shard: str) -> str:
    """A key without a shard that a writer chooses: sharded by declaration, or not at all if it is spread already."""
    parts: list[Part] = []
    for part in template.parts:
        if isinstance(part, Field) and part.name == shard:
            continue
        before = parts[-1] if parts else None
        if isinstance(part, Literal) and isinstance(before, Literal):
            parts[-1] = Literal(before.text.removesuffix("#") + part.text)
        else:
            parts.append(part)
    text = "".join(map(str, parts)).strip("#")
    alone = any(context.traits(schema, name).is_unique or name in own_ids(schema) for name in template.fields)
    in_key_only = schema.by_attribute.get(shard) is None or template.attribute != shard
    if not text or template.is_raw or template.is_sparse or template.optional_from is not None or not in_key_only:
        return "Remove the shard from the key; if it is hot without it, let sharded(...) spread it, and reads merge it."
    partitions = {name for key in context.keys(schema) for name in key.partition}
    if alone or template.attribute not in partitions:
        return f"Every key is unique without it: {keys_code({template.attribute: text})}."
    return f"Let the store choose it, whose reads merge the shards: {keys_code({template.attribute: text}, 8)}."


@rule("useless-shards", "Shards of a key that is already unique", "warning")
def useless_shards(context: LintContext) -> Iterator[Occurrence]:
    """A partition with one item is not hot."""
    for schema in context.schemas:
        for key in context.keys(schema):
            for attribute in key.partition:
                template = context.key_template(schema, attribute)
                if template is None or template.shards == 1:
                    continue
                own = f"{'_'.join(words(schema.entity.__name__))}_id"
                traits = [context.traits(schema, name) for name in template.fields]
                own_key = {*schema.identity_fields}
                alone = (key.index is None and not key.sort) or (bool(own_key) and own_key <= {*template.fields})
                if alone or any(trait.is_unique or trait.name == own for trait in traits):
                    yield Occurrence(
                        _place(schema, attribute),
                        f"{template} is different for every {schema.entity.__name__}, so its items are spread "
                        f"already; {template.shards} shards only turn every read into {template.shards} reads.",
                        f"Declare {attribute} without sharded: {keys_code({attribute: str(template)})}."
                        if not template.is_sparse and template.unescaped is None
                        else f"Remove sharded(...) from {attribute}.",
                        context.where(schema.entity),
                    )


@rule("many-valued-key", "An index entry for only one of several values", "error")
def many_valued_key(context: LintContext) -> Iterator[Occurrence]:
    """An item has one entry in an index."""
    for schema, template in _key_templates(context):
        for name in template.fields:
            several = _several(schema, name)
            if several is not None:
                yield Occurrence(
                    _place(schema, template.attribute),
                    f"{template} has one {name}, but a {schema.entity.__name__} has several {several}. An item has "
                    "one entry in an index, so it is found under one of them and not under the others.",
                    f"Store an item for each: an entity with {name} in its primary key, written in the same "
                    "transaction.",
                    context.where(schema.entity),
                )


def _several(schema: Schema, name: str) -> str | None:
    """A field with several of what another has one of: ``channels`` for ``channel_id``."""
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


@rule("mutable-key", "A primary key field that changes", "warning")
def mutable_key(context: LintContext) -> Iterator[Occurrence]:
    """A key cannot be changed in place; the item has to be moved."""
    for schema in context.schemas:
        item_writes = context.item_writes_of(schema)
        changed = {
            path.partition(".")[0]: write.name
            for write, item_write in item_writes
            if item_write.action == "update"
            for path in (*item_write.sets, *item_write.adds)
        }
        for name in dict.fromkeys(context.fields_of(schema, schema.table.key)):
            first = name.partition(".")[0]
            marked = schema.version is not None and schema.version.name == first
            marked = marked or (schema.updated is not None and schema.updated.name == first)
            if first in changed:
                why = f"{changed[first]} sets {name}"
            elif marked:
                why = f"every write changes {name}"
            elif not item_writes and not schema.counts and words(name)[-1] in _CHANGING:
                why = f"{name} is likely to change"
            else:
                continue
            yield Occurrence(
                _place(schema, name),
                f"{why}, which is part of the primary key of {schema.entity.__name__}. A key cannot be changed in "
                "place: such a write deletes the item and creates another, and every reference to it breaks.",
                f"Use fields that never change as the key, and index {name}. If the move is intended, declare the "
                "write as what it is: a delete and a create.",
                context.where(schema.entity),
                None if first in changed or marked else "advice",
            )
