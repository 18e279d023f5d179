"""An entity's declaration, compiled: what the store and the design tools work with.

    schema = schema_of(Ticket)
    schema.encode(ticket)      the item of an entity                    schema.decode(item)      the entity of an item
    schema.matches(item)       whether an item is one of this entity    schema.upgrade(item)     in the newest version
    schema.derive(item)        the key attributes of an item            schema.key_for(values)   a primary key

A schema is made in three steps, each a class: ``FieldLayout`` says where fields are stored, ``KeyLayout`` which keys
follow from them, and ``Schema`` what an item as a whole is. It does no I/O and knows no expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any, Generic

from pydantic import BaseModel
from typing_extensions import TypeVar

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.model.declarations import (
    Expiry,
    GroupRule,
    Large,
    Numbered,
    Retain,
    Stamp,
    Unique,
    Upgrades,
    VersionMarker,
)
from tablewright.model.errors import ModelError, no_field
from tablewright.model.field_conditions import FieldCondition, FieldPath
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.items.item_decoding import Decoder, partial_entity_error, unknown_attributes
from tablewright.model.items.schema_upgrades import schema_version_of, upgraded
from tablewright.model.keys.key_layout import KeyLayout
from tablewright.model.naming import Naming
from tablewright.model.patterns import Get, Query
from tablewright.model.table import Table

__all__ = ["Schema", "retired_schemas_of", "schema_of", "schemas_of"]

E_co = TypeVar("E_co", bound=BaseModel, covariant=True, default=Any)
E = TypeVar("E", bound=BaseModel)


class Schema(KeyLayout, Generic[E_co]):
    """One entity of one table: its fields, its keys, its access patterns, and how its items are made and read.

    Declared classes have theirs already: ``schema_of(Ticket)`` gives it.
    """

    entity: type[E_co]

    def __init__(self, entity: type[E_co], table: Table, naming: Naming, type_name: str) -> None:
        super().__init__(entity, table, naming)
        self.type_name = type_name
        self.upgrades: Upgrades | None = getattr(entity, "upgrades", None)
        # Whether reads store items that they had to upgrade.
        self.writes_back = self.upgrades is not None and self.upgrades.write_back
        # Whether it is only the form of an earlier version, which a repair replaces.
        self.is_retired = bool(getattr(entity, "is_retired_", False))
        self.patterns = {} if self.is_retired else _patterns(entity)
        # What the fields of the class are (``Ticket.status``), once they have been asked for.
        self.field_paths: dict[str, FieldPath[Any]] = {}
        # What patterns filter by, as far as it is known before they are called (see ``pattern_filters``).
        self.filters: dict[str, FieldCondition] = {}
        self.version = self._marked(VersionMarker)
        self.expiry = self._marked(Expiry)
        self.created = self._marked(Stamp, "created")
        self.updated = self._marked(Stamp, "updated")
        # Those that functions mark are added by ``settle_groups``.
        self.unique = self._all_marked(Unique)
        self.numbered = self._all_marked(Numbered)
        self.large = self._all_marked(Large)
        # The other entities of the table whose items can have the key of one of this, so that only the type attribute
        # distinguishes them.
        self.key_collisions: list[Schema] = []
        # The counters that are kept because of items of this entity, and those that this entity has (see ``counters``).
        self.counters: tuple[Any, ...] = ()
        self.counts: tuple[Any, ...] = ()
        # Whether other items are written with each of its items: guards of unique values, counters.
        self.needs_upkeep = bool(self.unique)
        # The schemas of entities that extend this one in the same table: reads of this one return them as well.
        self.subtypes: list[Schema] = []
        # What the store compiles from the access patterns; kept here, so that it lives as long as the entity.
        self.query_templates: dict[Any, Any] = {}
        self._compile()

    def _compile(self) -> None:
        """Prepare what ``encode``, ``decode`` and ``matches`` use for every item."""
        self._encoders = tuple((spec.name, spec.attribute, spec.encode) for spec in self.fields.values())
        self._type_value = {"S": self.type_name}
        # A key that a template makes is never one of the store's own.
        self._is_never_internal = self.table.type_attribute is None and self.table.partition in self.key_rules
        own = [self.table.type_attribute, None if self.upgrades is None else self.upgrades.attribute]
        self.decoder = Decoder(
            self.entity,
            self.fields,
            own=[name for name in [*self.key_rules, *own] if name is not None],
            has_large=bool(self.large),
            upgrade=None if self.upgrades is None else self.upgrade,
            from_keys=self.unstored.from_keys if self.unstored.homes else None,
        )
        self.decode, self.decode_all = self.decoder.decode, self.decoder.decode_all

    def settle_groups(self) -> None:
        """Mark the fields that functions of the class declare as unique or numbered within groups of items."""
        for name, rule in _members(self.entity, GroupRule).items():
            place = f"{self.entity.__name__}.{name}"
            try:
                group, marker = rule.of(self.entity, place)
            except AttributeError as error:
                raise ModelError(f"{place}: {no_field(self.entity.__name__, str(error.name), self.fields)}") from None
            spec, kind = self.fields.get(group.field), type(marker).__name__
            if spec is None:
                raise ModelError(f"{place}: {group.field} is a part of a field; take a field of the entity itself")
            if not group.per:
                raise ModelError(
                    f"{place} has no group; write attr(self.{spec.name}).per(self.some_field), or mark the field: "
                    f"Annotated[..., {kind}()]"
                )
            inherited = spec.marker(type(marker))
            if inherited == marker:
                continue
            if inherited is not None:
                raise ModelError(f"{place}: {spec.name} is {kind} already; declare it once")
            info = self.entity.model_fields[spec.name]
            # From here on it is as if it stood in the annotation.
            info.metadata = [*info.metadata, marker]
            object.__setattr__(spec, "markers", (*spec.markers, marker))
        self.unique = self._all_marked(Unique)
        self.numbered = self._all_marked(Numbered)
        self.needs_upkeep = bool(self.unique)

    @cached_property
    def _key_matchers(self) -> list[tuple[str, Callable[[str], object]]]:
        """Whether a key attribute has the form of this entity's: patterns that take a while to compile."""
        rules = [(name, self.key_rules[name]) for name in self.table.key if name in self.key_rules]
        return [
            (name, rule.template.matches if rule.shards == 1 and not rule.others else rule.matches)
            for name, rule in rules
        ]

    @cached_property
    def _sort_matchers(self) -> list[tuple[str, Callable[[str], object]]]:
        return [(name, matches) for name, matches in self._key_matchers if name != self.table.partition]

    def join_table(self) -> None:
        """Make the entity known to its table, once its declaration has been checked."""
        if self.is_retired:
            self.table.retired.append(self.entity)
            return
        for other in schemas_of(self.table):
            if self.can_collide_with(other):
                self.key_collisions.append(other)
                other.key_collisions.append(self)
        self.table.entities.append(self.entity)
        for base in self.entity.__mro__[1:]:
            extended = base.__dict__.get("schema_")
            if isinstance(extended, Schema) and extended.table is self.table:
                extended.subtypes.append(self)
                extended.query_templates.clear()

    # -- entity and item ----------------------------------------------------------------------------------------

    def encode(self, entity: BaseModel, overrides: Mapping[str, Any] | None = None) -> Item:
        """The complete item of an entity: its fields, its key attributes, and the attributes of other writers.

        ``overrides`` has values for fields that replace the entity's own.
        """
        # Past pydantic's access to fields, which takes longer than all the rest.
        values = {**entity.__dict__, **overrides} if overrides else entity.__dict__
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
            raise partial_entity_error(self.entity, name) from None
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
        return self.unstored.without(item) if self._has_unstored else item

    def encode_fields(self, entity: BaseModel, paths: Iterable[str]) -> Item:
        """The attributes of an entity's item for the fields that paths lead to, and no others."""
        item: Item = {}
        for path in paths:
            spec = self.fields[path.partition(".")[0]]
            if spec.name not in entity.__dict__:
                raise partial_entity_error(self.entity, spec.name)
            encoded = spec.encode(entity.__dict__[spec.name])
            if encoded is not None:
                item[spec.attribute] = encoded
        return item

    def matches(self, item: Item, key_is_known: bool = False) -> bool:
        """Whether an item of the table is one of this entity.

        The type attribute decides, where the item has one; otherwise the key templates do. ``key_is_known`` says that
        the primary key has been made by this schema, so that it need not be matched.
        """
        stored_type = item.get(self.table.type_attribute or "")
        if stored_type is not None:
            return stored_type == self._type_value and (key_is_known or not self.table.is_internal(item))
        if key_is_known:
            return True
        for name, matches in self._key_matchers:
            value = item.get(name)
            if value is not None and ("S" not in value or not matches(value["S"])):
                return False
        # A key that a template makes is never one of the store's own.
        return self.table.partition in self.key_rules or not self.table.is_internal(item)

    def kind_of(self, item: Item, key_is_known: bool = False) -> Schema | None:
        """The schema of an item: of this entity, or of one that extends it; None if it is of neither."""
        if self.matches(item, key_is_known):
            return self
        return next((schema for schema in self.subtypes if schema.matches(item, key_is_known)), None)

    def is_expired(self, item: Item, now: float) -> bool:
        """Whether an item has expired; only a number counts as a time to live, as for the service."""
        if self.expiry is None:
            return False
        moment = item.get(self.expiry.attribute)
        return moment is not None and "N" in moment and float(moment["N"]) <= now

    def matching(self, items: list[Item], partition_is_known: bool = False) -> list[Item]:
        """Those of some items that are of this entity; ``partition_is_known`` as ``key_is_known`` above."""
        type_attribute, found = self.table.type_attribute, items
        try:
            if type_attribute is not None:
                found = [item for item in items if item[type_attribute]["S"] == self.type_name]
            else:
                for name, matches in self._sort_matchers if partition_is_known else self._key_matchers:
                    found = [item for item in found if matches(item[name]["S"])]
            return found if self._is_never_internal else self.table.without_internal(found)
        except KeyError:
            # An item lacks the attribute, or has it with another type.
            return list(filter(self.matches, items))

    def batch_obstacle(self) -> str | None:
        """What every write of this entity has to check, and a batch cannot; None if there is nothing to check."""
        if self.version is not None:
            return "a version"
        if self.unique:
            return "unique fields"
        if self.numbered:
            return "numbered fields"
        if self.needs_upkeep:
            return "counters that its transactions keep"
        return f"keys that {self.key_collisions[0].entity.__name__} can also have" if self.key_collisions else None

    # -- schema versions ----------------------------------------------------------------------------------------

    def schema_version_of(self, item: Item) -> int:
        """The schema version of an item; 1 where no upgrades are declared."""
        return 1 if self.upgrades is None else schema_version_of(self.upgrades, item)

    def needs_write_back(self, item: Item) -> bool:
        """Whether an item that was read has an older schema version, and is to be stored with the newest."""
        return (
            self.writes_back
            and self.upgrades is not None
            and self.schema_version_of(item) < self.upgrades.schema_version
        )

    def upgrade(self, item: Item) -> Item:
        """The item in the newest schema version: the same object if it has that already."""
        if self.upgrades is None:
            return item
        return upgraded(self.upgrades, item, self.entity.__name__, self.table.key)

    # -- guards and sequences -----------------------------------------------------------------------------------

    def guard_value(self, spec: FieldSpec, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """The unique value of an item: that of the field, or a list of those that are unique together."""
        value = non_null_at(item, spec.attribute)
        marker: Unique = spec.marker(Unique)
        if value is None or not (marker.per or marker.ignore_case):
            return value
        values = [value, *(non_null_at(item, self.path(name)) for name in marker.per)]
        if marker.ignore_case:
            values = [{"S": each["S"].casefold()} if each is not None and "S" in each else each for each in values]
        if None in values:
            return None
        return {"L": values} if marker.per else values[0]

    def guard_key(self, spec: FieldSpec, value: AttributeValue) -> Item:
        """The key of the guard of a unique value."""
        scope = spec.marker(Unique).scope
        owner = (self.type_name, spec.attribute) if scope is None else ("", scope)
        contents = [content for each in value.get("L", (value,)) for content in each.values()]
        return self.table.internal_key("unique", *owner, *contents)

    @cached_property
    def guarded_attributes(self) -> frozenset[str]:
        """The attributes that guards follow from, without the expiry."""
        together = (self.path(name) for spec in self.unique for name in spec.marker(Unique).per)
        return frozenset([*(spec.attribute for spec in self.unique), *(path.partition(".")[0] for path in together)])

    def sequence_key(self, spec: FieldSpec, item: Item) -> Item:
        """The key of the sequence that numbers a field, for the group that an item is in."""
        group: list[str] = []
        for name, path in self.numbered_per[spec.name]:
            value = non_null_at(item, path)
            if value is None:
                raise ModelError(
                    f"{self.entity.__name__}.{spec.name} is numbered per {name}, which has no value; give it one"
                )
            group.extend(value.values())
        name = spec.marker(Numbered).sequence
        owner = (self.type_name, spec.attribute) if name is None else ("", name)
        return self.table.internal_key("count", *owner, *group)

    # -- markers ------------------------------------------------------------------------------------------------

    def _all_marked(self, kind: type) -> tuple[FieldSpec, ...]:
        return tuple(spec for spec in self.fields.values() if spec.marker(kind) is not None)

    def _marked(self, kind: type, event: str | None = None) -> FieldSpec | None:
        marked = [spec for spec in self._all_marked(kind) if event in (None, getattr(spec.marker(kind), "event", None))]
        if len(marked) > 1:
            names = " and ".join(spec.name for spec in marked)
            raise ModelError(f"{self.entity.__name__}: {names} have the same marker; only one field may have it")
        return marked[0] if marked else None

    @cached_property
    def numbered_per(self) -> dict[str, list[tuple[str, str]]]:
        """The fields that each numbered field is counted per: as they are declared, and where they are in an item."""
        return {spec.name: [(name, self.path(name)) for name in spec.marker(Numbered).per] for spec in self.numbered}

    @cached_property
    def lifetime(self) -> timedelta | None:
        """How long items live by default; None: forever."""
        return None if self.expiry is None else self.expiry.marker(Expiry).after

    @cached_property
    def retained(self) -> FieldSpec | None:
        """The expiry that every write sets anew, so that items are kept for some time after the last one."""
        return self.expiry if self.expiry is not None and isinstance(self.expiry.marker(Expiry), Retain) else None


# -- helpers --------------------------------------------------------------------------------------------------------


def _patterns(entity: type[BaseModel]) -> dict[str, Get | Query]:
    return {name: pattern.for_owner() for name, pattern in _members(entity, (Get, Query)).items()}


def _members(entity: type[BaseModel], kinds: Any) -> dict[str, Any]:
    """What a class declares or inherits of some kinds, by name."""
    members = {name: member for base in reversed(entity.__mro__) for name, member in vars(base).items()}
    return {name: member for name, member in members.items() if isinstance(member, kinds)}


def schema_of(entity: type[E]) -> Schema[E]:
    """The compiled declaration of an entity: ``schema_of(Ticket).key_for({"ticket_id": "t-1"}, "Ticket")``."""
    schema = entity.__dict__.get("schema_")
    if not isinstance(schema, Schema):
        raise ModelError(f"{entity.__name__} belongs to no table; declare it with table=...")
    return schema


def schemas_of(table: Table) -> list[Schema]:
    """The compiled declarations of all entities of a table, in the order of declaration."""
    return [schema_of(entity) for entity in table.entities]


def retired_schemas_of(table: Table) -> list[Schema]:
    """The compiled declarations of the retired entities of a table, in the order of declaration."""
    return [schema_of(entity) for entity in table.retired]
