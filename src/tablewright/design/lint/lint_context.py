"""A design as lint rules see it: the templates of its keys, with fields named as they are declared.

A ``KeyTemplate`` is how one key attribute of one entity is made. Mostly there is one, from the entity's ``Keys``. A
field that is stored in the key attribute is a template of that field alone. A write that composes a key by hand adds
another one.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tablewright.design.design_loading import place_in
from tablewright.design.lint.field_traits import FieldTraits, is_generic_key, traits_of, words
from tablewright.design.place_names import place_of
from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    Get,
    Index,
    ItemWrite,
    Query,
    Schema,
    Template,
    Write,
)
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.keys.key_forms import TIME_PARTS, Field, Literal, Part

# Words in field names that are too common to indicate that a name is composed of others.
_WEAK = frozenset(["id", "at", "on", "of", "by", "for", "key", "name", "number", "date", "day", "time", "type", "the"])


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """How a key attribute is made of literal text and fields."""

    attribute: str
    parts: tuple[Part, ...]
    # The write that composes it by hand; None for what the entity declares.
    write: str | None = None
    # A field that is stored as it is: its numbers sort numerically.
    is_raw: bool = False
    is_sparse: bool = False
    shards: int = 1
    # The key may end before the parts from here on.
    optional_from: int | None = None
    # The separator of a template in which nothing is escaped.
    unescaped: str | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts if isinstance(part, Field))

    @property
    def head(self) -> str:
        """The prefix of all such keys."""
        return self.parts[0].text if self.parts and isinstance(self.parts[0], Literal) else ""

    @property
    def compiled(self) -> Template | None:
        if self.is_raw:
            return None
        is_time = isinstance(self.parts[0], Field) and self.parts[0].is_time if self.parts else False
        return Template(str(self), self.unescaped).renamed(str, begins_with_time=is_time)

    def __str__(self) -> str:
        if self.optional_from is None:
            return "".join(map(str, self.parts))
        required, optional = self.parts[: self.optional_from], self.parts[self.optional_from :]
        return f"{''.join(map(str, required))}[{''.join(map(str, optional))}]"


@dataclass(frozen=True, slots=True)
class EntityKey:
    """The key of a table or an index, for one entity."""

    schema: Schema
    index: Index | None

    @property
    def partition(self) -> tuple[str, ...]:
        return self.schema.table.key[:1] if self.index is None else self.index.partition

    @property
    def sort(self) -> tuple[str, ...]:
        return self.schema.table.key[1:] if self.index is None else self.index.sort

    @property
    def place(self) -> str:
        return place_of(self.schema.table, self.index)


@dataclass(frozen=True, slots=True)
class ComposedKey:
    """A key attribute that a writer composes, although it repeats fields; perhaps there is a field for it."""

    attribute: str
    # The field that it is stored in; None if only writes know of it.
    spec: FieldSpec | None
    # The fields that it repeats, as far as is known, in the order in which they are in it.
    repeats: tuple[str, ...]
    because: str

    @property
    def name(self) -> str:
        return self.attribute if self.spec is None else self.spec.name


class LintContext:
    """A design, and what rules need to know of it."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.schemas: tuple[Schema, ...] = tuple(design.schemas)

    # -- declarations -------------------------------------------------------------------------------------------

    @cached_property
    def item_writes(self) -> list[tuple[Write, ItemWrite]]:
        return [(write, item_write) for write in self.design.writes.values() for item_write in write.item_writes]

    def item_writes_of(self, schema: Schema) -> list[tuple[Write, ItemWrite]]:
        return [(write, item_write) for write, item_write in self.item_writes if item_write.entity is schema.entity]

    def queries(self) -> Iterator[tuple[str, Schema, Query, EntityKey]]:
        for schema in self.schemas:
            for pattern in schema.patterns.values():
                if isinstance(pattern, Query):
                    yield pattern.place(schema.entity), schema, pattern, self.key(schema, pattern.index)

    def gets(self) -> Iterator[tuple[str, Schema, Get, EntityKey]]:
        for schema in self.schemas:
            for pattern in schema.patterns.values():
                if isinstance(pattern, Get):
                    yield pattern.place(schema.entity), schema, pattern, self.key(schema, pattern.index)

    def gathers(self) -> Iterator[tuple[str, type[Collection], CollectionQuery]]:
        for collection in self.design.collections:
            for name, gather in collection.patterns_.items():
                yield f"{collection.__name__}.{name}", collection, gather

    def key(self, schema: Schema, index: str | None) -> EntityKey:
        return EntityKey(schema, None if index is None else schema.table.index(index))

    def keys(self, schema: Schema) -> list[EntityKey]:
        """The key of the table, and those of the indexes that the entity can be in."""
        return [
            EntityKey(schema, None),
            *(EntityKey(schema, index) for index in schema.table.indexes if self._covers(schema, index)),
        ]

    def _covers(self, schema: Schema, index: Index) -> bool:
        """Whether items can be in an index, by what is declared or by what a write composes."""
        return schema.covers(index) or all(self.key_templates(schema, name) for name in index.attributes)

    # -- templates -------------------------------------------------------------------------------------------------

    def key_templates(self, schema: Schema, attribute: str) -> list[KeyTemplate]:
        """The templates of a key attribute: several by state, or if a write composes it by hand."""
        templates = []
        rule = schema.key_rules.get(attribute)
        spec = schema.by_attribute.get(attribute)
        by_hand = [
            KeyTemplate(attribute, parsed.parts + parsed.optional, write=write.name, optional_from=_optional(parsed))
            for write, item_write in self.item_writes_of(schema)
            if attribute in item_write.keys
            for parsed in [Template(item_write.keys[attribute])]
        ]
        if rule is not None:
            for declared in [case.template for case in rule.cases]:
                templates.append(
                    KeyTemplate(
                        attribute,
                        tuple(_declared(schema, part) for part in declared.parts + declared.optional),
                        is_sparse=rule.is_partial,
                        shards=rule.shards,
                        optional_from=_optional(declared),
                        unescaped=declared.raw,
                    )
                )
        elif spec is not None and not by_hand:
            templates.append(KeyTemplate(attribute, (Field(spec.name, "text"),), is_raw=True))
        return [*templates, *by_hand]

    def key_template(self, schema: Schema, attribute: str) -> KeyTemplate | None:
        return next(iter(self.key_templates(schema, attribute)), None)

    def fields_of(self, schema: Schema, attributes: tuple[str, ...]) -> list[str]:
        """The fields that key attributes are made of, in their order."""
        templates = [self.key_template(schema, attribute) for attribute in attributes]
        return [name for template in templates if template is not None for name in template.fields]

    def all_instants(self, schema: Schema, attributes: tuple[str, ...]) -> bool:
        """Whether key attributes are made of timestamps and nothing else."""
        templates = [self.key_template(schema, attribute) for attribute in attributes]
        fields = [
            part for template in templates if template is not None for part in template.parts if isinstance(part, Field)
        ]
        return bool(fields) and all(part.reversible and self.traits(schema, part.name).is_instant for part in fields)

    def only_part_of_a_day(self, schema: Schema, attributes: tuple[str, ...]) -> Field | None:
        """The hour, minute or second of a time, where key attributes are made of nothing else."""
        templates = [self.key_template(schema, attribute) for attribute in attributes]
        parts = [part for each in templates if each is not None for part in each.parts if isinstance(part, Field)]
        is_alone = len(parts) == 1 and parts[0].form in ("hour", "minute", "second")
        return parts[0] if is_alone and self.traits(schema, parts[0].name).is_instant else None

    def days(self, schema: Schema, attribute: str) -> list[str]:
        """The fields of a key attribute that are in it as days."""
        template = self.key_template(schema, attribute)
        return [
            part.name
            for part in (() if template is None else template.parts)
            if isinstance(part, Field) and (part.form in TIME_PARTS or self.traits(schema, part.name).is_day)
        ]

    def composed_keys(self, schema: Schema) -> list[ComposedKey]:
        """The fields of an entity that a writer has to compose by hand."""
        found = []
        for attribute in schema.table.key_attributes:
            spec = schema.by_attribute.get(attribute)
            templates = [template for template in self.key_templates(schema, attribute) if template.write is not None]
            if templates and attribute not in schema.key_rules:
                repeats = tuple(dict.fromkeys(name for template in templates for name in template.fields))
                because = f"{templates[0].write} composes it as {templates[0]}"
                found.append(ComposedKey(attribute, spec, repeats, because))
                continue
            if spec is None:
                continue
            if spec.types - {"NULL"} != {"S"} or not self.traits(schema, spec.name).is_plain_text:
                continue
            if is_generic_key(spec.name):
                found.append(ComposedKey(attribute, spec, (), "it has the generic name of a key attribute"))
            elif repeats := _named_after(spec.name, schema):
                because = f"its name is composed of {' and '.join(repeats)}"
                found.append(ComposedKey(attribute, spec, repeats, because))
        return found

    # -- fields -------------------------------------------------------------------------------------------------

    def traits(self, schema: Schema, path: str) -> FieldTraits:
        """What is known of a field, also of one that only a template composed by hand names."""
        return traits_of(schema, path)

    # -- places -------------------------------------------------------------------------------------------------

    def where(self, entity: type[Entity]) -> str | None:
        """File and line of a class, as short as the current folder allows."""
        try:
            file, line = inspect.getsourcefile(entity), inspect.getsourcelines(entity)[1]
        except (OSError, TypeError):
            return None
        return None if file is None else place_in(file, line)


def _optional(template: Template) -> int | None:
    return len(template.parts) if template.optional else None


def _declared(schema: Schema, part: Part) -> Part:
    return replace(part, name=schema.field_path(part.name)) if isinstance(part, Field) else part


def _named_after(name: str, schema: Schema) -> tuple[str, ...]:
    """The other fields that a name is composed of: ``user_status`` of ``user_id`` and ``status``; none, or more."""
    strong = [word for word in words(name) if word not in _WEAK]
    if len(strong) < 2:
        return ()
    found: list[str] = []
    for word in strong:
        field = next((other for other in schema.fields if other not in (name, *found) and word in words(other)), None)
        if field is None:
            return ()
        found.append(field)
    return tuple(found)
