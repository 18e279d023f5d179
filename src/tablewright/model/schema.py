"""An entity's declaration, compiled: what the store works with.

``Schema`` answers, from the declaration alone: how an entity becomes an item (``encode``) and an item an entity
(``decode``, see ``decoding``), whether an item is one of the entity (``is_of``) and in which shape (``upgrade``, see
``shapes``), which key attributes follow from an item (``derive``, ``sources``), and which item is meant by a few field
values (``stored``, see ``places``, and ``key_of``). It does no I/O and knows no expressions.

Rules are kept in terms of stored attributes, so they work on any item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.model.declarations import (
    Expiry,
    KeyRule,
    Keys,
    Large,
    Numbered,
    Stamp,
    Unique,
    Upgrades,
    VersionMarker,
    stable_shard,
)
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.items.field_layout import FieldLayout, encoded
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.items.item_decoding import Decoder, partial_entity_error, unknown_attributes
from tablewright.model.items.schema_upgrades import schema_version_of, upgraded
from tablewright.model.keys.fast_keys import key_builder
from tablewright.model.naming import Naming, camel_case, pascal_case, snake_case
from tablewright.model.patterns import Get, Query
from tablewright.model.table import Index, Table
from tablewright.model.values.attribute_codec import decode

if TYPE_CHECKING:
    from tablewright.model.entity import Entity

__all__ = ["Item", "Naming", "Schema", "camel_case", "pascal_case", "snake_case"]


class Schema(FieldLayout):
    """One entity of one table."""

    def __init__(self, entity: type[Entity], table: Table, naming: Naming, type_name: str) -> None:
        from tablewright.model.declaration_checks import check, check_fields

        check_fields(entity)
        super().__init__(entity, table, naming)
        self.type_name = type_name
        self.upgrades: Upgrades | None = getattr(entity, "upgrades", None)
        # Whether reads store what they had to upgrade.
        self.writes_back = self.upgrades is not None and self.upgrades.write_back
        self._declared_paths: dict[str, str] = {}
        declared: Keys = getattr(entity, "keys", Keys())
        self.key_rules = {attribute: self._physical(attribute, rule) for attribute, rule in declared.items()}
        self.patterns = _patterns(entity)
        self.version = self._marked(VersionMarker)
        self.expiry = self._marked(Expiry)
        self.created = self._marked(Stamp, "created")
        self.updated = self._marked(Stamp, "updated")
        self.unique = self._all_marked(Unique)
        self.numbered = self._all_marked(Numbered)
        self.large = self._all_marked(Large)
        self._compile()
        check(self)
        # What each numbered field is counted per: fields as they are named, and where they are in an item.
        self.counted = {
            spec.name: [(name, self.path(name)) for name in spec.marker(Numbered).per] for spec in self.numbered
        }
        # The other entities of the table whose items can have the key of one of this, so that only the type attribute
        # tells them apart.
        self.key_collisions: list[Schema] = []
        for other in table.entities:
            if self.can_collide_with(other):
                self.key_collisions.append(other)
                other.key_collisions.append(self)
        table.entities.append(self)

    # -- entity and item ----------------------------------------------------------------------------------------

    def encode(self, entity: Entity, instead: Mapping[str, Any] | None = None) -> Item:
        """The whole item of an entity: its fields, its key attributes, and what was stored beside them.

        ``instead`` has fields that are to have another value than the entity gives them.
        """
        # Past pydantic's access to fields, which takes longer than all the rest.
        values = {**entity.__dict__, **instead} if instead else entity.__dict__
        item = dict(unknown_attributes(entity))
        try:
            for name, attribute, encoder in self._encoders:
                value = values[name]
                if type(value) is str:
                    item[attribute] = {"S": value}
                elif (encoded := encoder(value)) is not None:
                    item[attribute] = encoded
        except KeyError:
            if name in values:
                raise
            raise partial_entity_error(self, name) from None
        except (TypeError, ValueError) as error:
            raise ModelError(f"{self.entity.__name__}.{name}: {error}") from None
        if self.table.type_attribute is not None:
            item[self.table.type_attribute] = {"S": self.type_name}
        if self.upgrades is not None:
            item[self.upgrades.attribute] = {"N": str(self.upgrades.schema_version)}
        derived = self.derive(item)
        item.update(derived)
        for attribute in self.table.key:
            if attribute not in derived:
                self._checked_key(attribute, item)
        return item

    def encode_fields(self, entity: Entity, paths: Iterable[str]) -> Item:
        """As much of an entity's item as has the fields that paths lead to."""
        item: Item = {}
        for path in paths:
            spec = self.fields[path.partition(".")[0]]
            if spec.name not in entity.__dict__:
                raise partial_entity_error(self, spec.name)
            encoded = spec.encode(entity.__dict__[spec.name])
            if encoded is not None:
                item[spec.attribute] = encoded
        return item

    def matches(self, item: Item, key_is_known: bool = False) -> bool:
        """Whether an item of the table is one of this entity.

        The type attribute decides, where the item has one. Otherwise the primary key does, by the templates; it may be
        known to be one that the entity makes.
        """
        kind = item.get(self.table.type_attribute or "")
        if kind is not None:
            return kind == self._kind and (key_is_known or not self.table.is_internal(item))
        if key_is_known:
            return True
        for name, matches in self._key_rules:
            value = item.get(name)
            if value is not None and ("S" not in value or not matches(value["S"])):
                return False
        # A key that a template makes never is one of the store's own.
        return self.table.partition in self.key_rules or not self.table.is_internal(item)

    def matching(self, items: list[Item], partition_is_known: bool = False) -> list[Item]:
        """The items of this entity among some; the partition may be known to be one of its own."""
        kind, found = self.table.type_attribute, items
        try:
            if kind is not None:
                found = [item for item in items if item[kind]["S"] == self.type_name]
            else:
                for name, matches in self._sort_rules if partition_is_known else self._key_rules:
                    found = [item for item in found if matches(item[name]["S"])]
            return found if self._is_never_internal else self.table.without_internal(found)
        except KeyError:
            # One lacks what tells it, or has it of another type.
            return list(filter(self.matches, items))

    def can_collide_with(self, other: Schema) -> bool:
        """Whether an item of another entity of the table can have the key of one of this."""
        pairs = [(self.key_rules.get(name), other.key_rules.get(name)) for name in self.table.key]
        return all(mine is None or theirs is None or mine.overlaps(theirs) for mine, theirs in pairs)

    def batch_obstacle(self) -> str | None:
        """What of it every write has to check, so that no batch can write it, which checks nothing; None if nothing."""
        if self.version is not None:
            return "a version"
        if self.unique:
            return "unique fields"
        if self.numbered:
            return "numbered fields"
        return f"keys that {self.key_collisions[0].entity.__name__} can have too" if self.key_collisions else None

    # -- older shapes -------------------------------------------------------------------------------------------

    def schema_version_of(self, item: Item) -> int:
        """The number of an item's shape; the present one where none are declared."""
        return 1 if self.upgrades is None else schema_version_of(self.upgrades, item)

    def needs_write_back(self, item: Item) -> bool:
        """Whether an item that was read is to be stored in the present shape: it has an older one."""
        return (
            self.writes_back
            and self.upgrades is not None
            and self.schema_version_of(item) < self.upgrades.schema_version
        )

    def upgrade(self, item: Item) -> Item:
        """The item in the present shape: the same one if it has that already."""
        if self.upgrades is None:
            return item
        return upgraded(self.upgrades, item, self.entity.__name__, self.table.key)

    # -- keys ---------------------------------------------------------------------------------------------------

    def derive(self, item: Item, attributes: Iterable[str] | None = None) -> Item:
        """The key attributes that follow from an item's fields, or some of them; what does not apply is left out."""
        derived: Item = {}
        try:
            for attribute in self.key_rules if attributes is None else attributes:
                rule = self.key_rules[attribute]
                for path, allowed in rule.when.items():
                    if non_null_at(item, path) not in allowed:
                        break
                else:
                    text = rule.template.render(item)
                    if text is not None:
                        derived[attribute] = {"S": text if rule.shards == 1 else text + self._shard(rule, item)}
        except TemplateError as error:
            raise self._no_key(attribute, error) from None
        return derived

    def key_of(self, item: Mapping[str, AttributeValue]) -> Item:
        """The primary key, given the fields that it follows from."""
        key = self._unsharded_key(item)
        if self._is_sharded:
            for attribute in key:
                rule = self.key_rules.get(attribute)
                if rule is not None and rule.shards > 1:
                    key[attribute] = {"S": key[attribute]["S"] + self._shard(rule, item)}
        return key

    def key_for(self, values: Mapping[str, Any], pattern: str) -> Item:
        """The primary key that field values make up, exactly; ``pattern`` is who gives them."""
        key = self._build_key(values)
        if key is not None:
            return key
        item = self.encode_values(values)
        key = self.key_of(item)
        for attribute in item.keys() - self.identity:
            raise ModelError(f"{pattern}: {self.field_path(attribute)} is not part of the primary key")
        return key

    def _unsharded_key(self, item: Mapping[str, AttributeValue]) -> Item:
        key: Item = {}
        try:
            for attribute, render in self._key_renderers:
                text = None if render is None else render(item)
                key[attribute] = self._checked_key(attribute, item) if text is None else {"S": text}
        except TemplateError as error:
            raise self._no_key(attribute, error) from None
        return key

    def _no_key(self, attribute: str, error: TemplateError) -> TemplateError:
        return TemplateError(f"{self.entity.__name__}, {attribute}: {error}")

    def _checked_key(self, attribute: str, item: Mapping[str, AttributeValue]) -> AttributeValue:
        """A key attribute that no template has made; one that it has is never one of the store's own."""
        value = item.get(attribute)
        if value is None or "NULL" in value:
            raise ModelError(f"{self.entity.__name__} has no {attribute} without {self._lacking(attribute, item)}")
        if attribute == self.table.partition and self.table.is_internal(item):
            raise ModelError(f"{self.entity.__name__}: {attribute} begins as only the store's own keys may")
        return value

    def _shard(self, rule: KeyRule, item: Mapping[str, AttributeValue]) -> str:
        """The part of a key that names the shard, which follows from the primary key."""
        if rule.shards == 1:
            return ""
        key = self._unsharded_key(item)
        identity = "\x00".join([content for value in key.values() for content in value.values()])
        return rule.shard_suffix(stable_shard(identity, rule.shards))

    def sources(self, attribute: str) -> frozenset[str]:
        """The attributes that a key attribute follows from."""
        rule = self.key_rules.get(attribute)
        if rule is None:
            return frozenset([attribute])
        sources = frozenset(path.partition(".")[0] for path in rule.when) | frozenset(self._plain_sources(attribute))
        return sources | self.identity if rule.shards > 1 else sources

    @cached_property
    def identity(self) -> frozenset[str]:
        """The attributes that the primary key follows from."""
        return frozenset(source for name in self.table.key for source in self._plain_sources(name))

    @cached_property
    def identity_fields(self) -> frozenset[str]:
        """The same as fields."""
        return frozenset(map(self.field_path, self.identity))

    def _plain_sources(self, attribute: str) -> Iterable[str]:
        rule = self.key_rules.get(attribute)
        if rule is None:
            return [attribute]
        return [field.name.partition(".")[0] for field in rule.template.fields]

    def _lacking(self, attribute: str, item: Mapping[str, AttributeValue]) -> str:
        rule = self.key_rules.get(attribute)
        paths = [attribute] if rule is None else list(rule.template.required)
        missing = sorted(self.field_path(path) for path in paths if non_null_at(item, path) is None)
        return " and ".join(missing)

    def field_path(self, attribute_path: str) -> str:
        """An attribute path in the words of the declaration, as far as keys use it."""
        declared = self._declared_paths.get(attribute_path)
        if declared is not None:
            return declared
        attribute, dot, rest = attribute_path.partition(".")
        spec = self.by_attribute.get(attribute)
        return (attribute if spec is None else spec.name) + dot + rest

    # -- items beside the entity's own --------------------------------------------------------------------------

    def guard_key(self, spec: FieldSpec, value: AttributeValue) -> Item:
        """The key of the item that holds a unique value."""
        ((_, content),) = value.items()
        return self.table.internal_key("unique", self.type_name, spec.attribute, content)

    def counter_key(self, spec: FieldSpec, item: Item) -> Item:
        """The key of the item that counts a numbered field, for the group that an item is in."""
        group: list[str] = []
        for name, path in self.counted[spec.name]:
            value = non_null_at(item, path)
            if value is None:
                raise ModelError(f"{self.entity.__name__}.{spec.name} is numbered per {name}, which is not given")
            group.extend(value.values())
        return self.table.internal_key("count", self.type_name, spec.attribute, *group)

    # -- compiling ----------------------------------------------------------------------------------------------

    def _compile(self) -> None:
        """What ``encode``, ``decode`` and ``is_of`` go by, made ready once."""
        self._encoders = tuple((spec.name, spec.attribute, spec.encode) for spec in self.fields.values())
        self._kind = {"S": self.type_name}
        self._key_renderers = tuple(
            (name, self.key_rules[name].template.render if name in self.key_rules else None) for name in self.table.key
        )
        rules = [(name, self.key_rules[name]) for name in self.table.key if name in self.key_rules]
        self._is_sharded = any(rule.shards > 1 for _, rule in rules)
        # A key that a template makes never is one of the store's own.
        self._is_never_internal = self.table.type_attribute is None and self.table.partition in self.key_rules
        self._key_rules = [(name, rule.template.matches if rule.shards == 1 else rule.matches) for name, rule in rules]
        self._sort_rules = [(name, matches) for name, matches in self._key_rules if name != self.table.partition]
        self._build_key = key_builder(self)
        self.decoder = Decoder(self)
        self.decode, self.decode_all = self.decoder.decode, self.decoder.decode_all

    def _physical(self, attribute: str, rule: KeyRule) -> KeyRule:
        """A rule in terms of stored attributes instead of fields."""
        place = f"{self.entity.__name__}.keys, {attribute}"

        def stored_path(field_path: str) -> str:
            steps = self.locate(field_path, place).parts
            if any("." in step or (len(steps) > 1 and "[" in step) for step in steps):
                raise ModelError(f"{place}: {field_path!r} is stored in {steps[0]!r}; a key needs a name without dots")
            path = ".".join(steps)
            self._declared_paths[path] = field_path
            return path

        when = {
            stored_path(name): tuple(self._state(name, f"{place}, when {name}", value) for value in values)
            for name, values in rule.when.items()
        }
        return replace(rule, template=rule.template.renamed(stored_path), when=when)

    def _state(self, name: str, where: str, value: AttributeValue) -> AttributeValue:
        """A value that a rule depends on, as the field has it: in another form it would never be there."""
        return encoded(self.locate(name, where), decode(value), where) or value

    def covers(self, index: Index) -> bool:
        """Whether items of this entity can be in an index."""
        return all(
            name in self.key_rules or name in self.by_attribute or name == self.table.type_attribute
            for name in index.attributes
        )

    def _all_marked(self, kind: type) -> tuple[FieldSpec, ...]:
        return tuple(spec for spec in self.fields.values() if spec.marker(kind) is not None)

    def _marked(self, kind: type, event: str | None = None) -> FieldSpec | None:
        marked = [spec for spec in self._all_marked(kind) if event in (None, getattr(spec.marker(kind), "event", None))]
        if len(marked) > 1:
            names = " and ".join(spec.name for spec in marked)
            raise ModelError(f"{self.entity.__name__}: {names} say the same; keep one of them")
        return marked[0] if marked else None

    @cached_property
    def lifetime(self) -> timedelta | None:
        return None if self.expiry is None else self.expiry.marker(Expiry).after


# -- helpers --------------------------------------------------------------------------------------------------------


def _patterns(entity: type[Entity]) -> dict[str, Get | Query]:
    members = {name: member for base in reversed(entity.__mro__) for name, member in vars(base).items()}
    return {name: member for name, member in members.items() if isinstance(member, Get | Query)}
