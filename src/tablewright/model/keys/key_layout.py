"""The keys of an entity's items: which key attributes follow from an item, and from which of its attributes.

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{day}#{sequence:04}", GSI1PK=when("QUEUE", status="ESCALATED"))

    derive(item)            the key attributes of an item; what does not apply is left out
    key_of(item)            its primary key
    key_for(values)         the primary key that field values make up
    sources("GSI1PK")       the attributes that GSI1PK follows from

Declared rules name fields. Here they are in terms of stored attributes, so they work on items of any program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.model.declarations import UNSTORED
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.items.field_layout import FieldLayout, encode_value
from tablewright.model.items.field_spec import FieldLocation
from tablewright.model.keys.fast_keys import key_builder
from tablewright.model.keys.key_forms import Field
from tablewright.model.keys.key_rules import KeyRule, Keys, stable_shard
from tablewright.model.keys.unstored_fields import UnstoredFields
from tablewright.model.naming import Naming
from tablewright.model.table import Index, Table
from tablewright.model.values.attribute_codec import decode

__all__ = ["KeyLayout"]


class KeyLayout(FieldLayout):
    """The fields of an entity, and the keys that are made of them."""

    def __init__(self, entity: type[BaseModel], table: Table, naming: Naming) -> None:
        super().__init__(entity, table, naming)
        self._declared_paths: dict[str, str] = {}
        declared: Keys = getattr(entity, "keys", Keys())
        self.key_rules = {attribute: self._in_attributes(attribute, rule) for attribute, rule in declared.items()}
        # Fields that no attribute of their own holds.
        self.unstored = UnstoredFields(self, self.key_rules)
        # Whether a key attribute has several templates, by state.
        self.has_cases = any(rule.others for rule in self.key_rules.values())
        self._key_renderers = tuple(
            (name, self.key_rules[name].template.render if name in self.key_rules else None) for name in table.key
        )
        self._is_sharded = any(self.key_rules[name].shards > 1 for name in table.key if name in self.key_rules)
        self._build_key = key_builder(self, self.key_rules)
        feeding = {name for attribute in (*self.key_rules, *table.key_attributes) for name in self.sources(attribute)}
        # The attributes of fields that keys follow from.
        self.key_sources = frozenset(feeding & self.by_attribute.keys())
        # Defaults of fields that keys follow from: an item without such an attribute reads as if it had the default, so
        # its keys are those of the default as well.
        self.key_defaults: Item = {
            name: value for name, value in self.defaults.items() if name in feeding and name not in self.unstored.names
        }
        self._has_unstored = bool(self.unstored)
        factories = {name for name, info in entity.model_fields.items() if info.default_factory is not None}
        self.key_fields_made_anew = frozenset(
            spec.attribute for spec in self.fields.values() if spec.name in factories and spec.attribute in feeding
        )

    # -- from an item -------------------------------------------------------------------------------------------

    def derive(self, item: Item, attributes: Iterable[str] | None = None) -> Item:
        """The key attributes that follow from an item's fields, or some of them; what does not apply is left out."""
        derived: Item = {}
        item = self.with_key_values(item)
        try:
            for attribute in self.key_rules if attributes is None else attributes:
                rule = self.key_rules[attribute]
                if rule.others:
                    text = rule.render(item)
                else:
                    for path, allowed in rule.when.items():
                        if non_null_at(item, path) not in allowed:
                            text = None
                            break
                    else:
                        text = rule.template.render(item)
                if text is not None:
                    derived[attribute] = {"S": text if rule.shards == 1 else text + self._shard(rule, item)}
        except TemplateError as error:
            raise self._key_error(attribute, error) from None
        return derived

    def with_key_values(self, item: Item) -> Item:
        """The item with what keys follow from and it lacks: defaults, and fields that are not stored.

        The same object if it lacks nothing.
        """
        if self._has_unstored:
            item = self.unstored.filled(item)
        return item if self.key_defaults.keys() <= item.keys() else {**self.key_defaults, **item}

    def with_keys(self, item: Item) -> Item:
        """An item as it is to be stored: with the key attributes that follow from its fields, and no others."""
        filled = self.with_key_values(item)
        fields = {name: value for name, value in filled.items() if name not in self.key_rules}
        whole = {**fields, **self.derive(fields)}
        return self.unstored.without(whole) if self._has_unstored else whole

    def is_derived(self, attribute: str) -> bool:
        """Whether a key attribute follows from other attributes, and holds nothing else."""
        return attribute in self.key_rules and attribute not in self.unstored.home_attributes

    def stored_names(self, attributes: Iterable[str]) -> list[str]:
        """The attributes that hold fields: for those that are only in keys, these keys."""
        return self.unstored.stored(attributes) if self._has_unstored else list(attributes)

    def key_of(self, item: Mapping[str, AttributeValue]) -> Item:
        """The primary key, given the fields that it follows from."""
        if self._has_unstored:
            item = self.unstored.filled(item)
        key = self._unsharded_key(item)
        if self._is_sharded:
            for attribute in key:
                rule = self.key_rules.get(attribute)
                if rule is not None and rule.shards > 1:
                    key[attribute] = {"S": key[attribute]["S"] + self._shard(rule, item)}
        return key

    def key_for(self, values: Mapping[str, Any], pattern: str) -> Item:
        """The primary key that field values make up, without any value to spare; ``pattern`` is for messages."""
        key = self._build_key(values)
        if key is not None:
            return key
        item = self.encode_values(values)
        key = self.key_of(item)
        for attribute in item.keys() - self._key_parts:
            raise ModelError(f"{pattern}: {self.field_path(attribute)} is not part of the primary key")
        return key

    def _unsharded_key(self, item: Mapping[str, AttributeValue]) -> Item:
        key: Item = {}
        try:
            for attribute, render in self._key_renderers:
                text = None if render is None else render(item)
                key[attribute] = self._checked_key(attribute, item) if text is None else {"S": text}
        except TemplateError as error:
            raise self._key_error(attribute, error) from None
        return key

    def _key_error(self, attribute: str, error: TemplateError) -> TemplateError:
        return TemplateError(f"{self.entity.__name__}, {attribute}: {str(error).replace(UNSTORED, '')}")

    def _checked_key(self, attribute: str, item: Mapping[str, AttributeValue]) -> AttributeValue:
        """A key attribute that no template has made; only such a one could be equal to a key of the store's own."""
        value = item.get(attribute)
        if value is None or "NULL" in value:
            missing = " and ".join(self._missing(attribute, item))
            raise ModelError(f"{self.entity.__name__}: {attribute} cannot be made without a value for {missing}")
        if attribute == self.table.partition and self.table.is_internal(item):
            raise ModelError(
                f"{self.entity.__name__}: {attribute} begins like the keys that the store reserves for itself; "
                "choose another value"
            )
        return value

    def _missing(self, attribute: str, item: Mapping[str, AttributeValue]) -> list[str]:
        """The fields that a key attribute needs and that an item lacks."""
        rule = self.key_rules.get(attribute)
        paths = [attribute] if rule is None else rule.required
        return sorted(self.field_path(path) for path in paths if non_null_at(item, path) is None)

    def _shard(self, rule: KeyRule, item: Mapping[str, AttributeValue]) -> str:
        """The part of a key that names the shard, which follows from the primary key."""
        if rule.shards == 1:
            return ""
        key = self._unsharded_key(item)
        identity = "\x00".join([content for value in key.values() for content in value.values()])
        return rule.shard_suffix(stable_shard(identity, rule.shards))

    # -- what keys are made of ----------------------------------------------------------------------------------

    def sources(self, attribute: str) -> frozenset[str]:
        """The attributes that a key attribute follows from."""
        rule = self.key_rules.get(attribute)
        if rule is None:
            return frozenset([attribute])
        sources = frozenset(path.partition(".")[0] for path in rule.state_paths) | self._template_sources(attribute)
        return sources | self.identity if rule.shards > 1 else sources

    @cached_property
    def identity(self) -> frozenset[str]:
        """The attributes that the primary key follows from."""
        return frozenset[str]().union(*map(self._template_sources, self.table.key))

    @cached_property
    def _key_parts(self) -> frozenset[str]:
        """The attributes in the primary key, computed ones included."""
        return frozenset[str]().union(*map(self._parts, self.table.key))

    @cached_property
    def identity_fields(self) -> frozenset[str]:
        """The fields that the primary key follows from."""
        return frozenset(map(self.field_path, self.identity))

    def _template_sources(self, attribute: str) -> frozenset[str]:
        return frozenset[str]().union(*map(self.unstored.sources, self._parts(attribute)))

    def _parts(self, attribute: str) -> frozenset[str]:
        rule = self.key_rules.get(attribute)
        if rule is None:
            return frozenset([attribute])
        return frozenset(field.name.partition(".")[0] for field in rule.fields)

    def buckets(self, partition: Iterable[str]) -> dict[str, str]:
        """The attributes whose time a partition key has a part of, with that part: a day is a bucket of many times."""
        rules = [self.key_rules[name] for name in partition if name in self.key_rules]
        return {field.name: field.form for rule in rules for field in rule.fields if field.is_time_part}

    def cases_of(self, item: Item) -> tuple[int | None, ...]:
        """Which of its templates makes each key attribute that has several."""
        return tuple(rule.case_of(item) for rule in self.key_rules.values() if rule.others)

    def undecided(self, attribute: str, known: Mapping[str, AttributeValue | None]) -> list[str]:
        """What has to be given, beside what is known, to decide which template makes a key attribute."""
        rule = self.key_rules.get(attribute)
        cases = () if rule is None else rule.possible(known)
        return [] if len(cases) < 2 else [path for case in cases for path in case.when if path not in known]

    def covers(self, index: Index) -> bool:
        """Whether items of this entity can be in an index."""
        return all(
            name in self.key_rules or name in self.by_attribute or name == self.table.type_attribute
            for name in index.attributes
        )

    def can_collide_with(self, other: KeyLayout) -> bool:
        """Whether an item of another entity of the table can have the primary key of one of this."""
        pairs = [(self.key_rules.get(name), other.key_rules.get(name)) for name in self.table.key]
        return all(mine is None or theirs is None or mine.overlaps(theirs) for mine, theirs in pairs)

    # -- declared rules in terms of attributes ------------------------------------------------------------------

    def field_path(self, attribute_path: str) -> str:
        """The path of fields that was declared for a path of attributes, as far as keys use it."""
        declared = self._declared_paths.get(attribute_path)
        if declared is not None:
            return declared
        attribute, dot, rest = attribute_path.partition(".")
        spec = self.by_attribute.get(attribute)
        return (attribute if spec is None else spec.name) + dot + rest

    def parameters(self, attribute_paths: Iterable[str]) -> list[str]:
        """Paths of attributes as the parameters of a pattern: ``subject__id`` for a part of a field."""
        return [self.field_path(path).replace(".", "__") for path in attribute_paths]

    def _in_attributes(self, attribute: str, rule: KeyRule) -> KeyRule:
        """A declared rule in terms of stored attributes instead of fields."""
        where = f"{self.entity.__name__}.keys, {attribute}"

        def stored_path(field_path: str) -> str:
            parts = self.locate(field_path, where).parts
            if any("." in part or (len(parts) > 1 and "[" in part) for part in parts):
                raise ModelError(
                    f"{where}: {field_path!r} is stored in {parts[0]!r}; a key can only be made of attributes "
                    "without dots in their names"
                )
            path = ".".join(parts)
            self._declared_paths[path] = field_path
            return path

        def in_attributes(case: KeyRule) -> KeyRule:
            when = {
                stored_path(name): tuple(self._as_stored(name, f"{where}, when {name}", value) for value in values)
                for name, values in case.when.items()
            }
            # Where text comes first, that tells keys apart.
            first = case.template.parts[0] if case.template.parts else None
            is_time = isinstance(first, Field) and _is_time(self.locate(first.name, where))
            return replace(case, template=case.template.renamed(stored_path, begins_with_time=is_time), when=when)

        return replace(in_attributes(rule), others=tuple(map(in_attributes, rule.others)))

    def _as_stored(self, name: str, where: str, value: AttributeValue | None) -> AttributeValue | None:
        """A value of ``when(...)`` as the field stores it: in any other form, no item would have it."""
        if value is None:
            return None
        return encode_value(self.locate(name, where), decode(value), where) or value


def _is_time(location: FieldLocation) -> bool:
    """Whether all that is stored at a location is the text of a time or a date."""
    encoders = location.coercion.bound_encoders
    if location.types - {"NULL"} != {"S"} or not encoders or not encoders.keys() <= _TIMES.keys():
        return False
    return all((encode(_TIMES[kind]) or {}).get("S", "").startswith("2000-") for kind, encode in encoders.items())


_TIMES: dict[type, Any] = {datetime: datetime(2000, 1, 1, tzinfo=UTC), date: date(2000, 1, 1)}
