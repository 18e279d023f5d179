"""An entity's declaration, compiled: what the store works with.

``Schema`` answers, from the declaration alone: how an entity becomes an item and an item an entity (``encode``,
``decode``, ``is_of``), which key attributes follow from an item (``derive``, ``sources``), and which item is meant by a
few field values (``stored``, ``key_of``). It does no I/O and knows no expressions.

Rules are kept in terms of stored attributes, so they work on any item. Paths of fields (``subject.id``) become paths of
attributes by ``path``, which knows the names that nested models are stored under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tablewright.model.attributes import (
    Encoder,
    decode,
    encode,
    encoder_for,
    named,
    stored_members,
    stored_types,
)
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.fields import KINDS, FieldSpec, Place
from tablewright.model.key_makers import key_maker
from tablewright.model.keys import AttributeValue, lookup
from tablewright.model.naming import Naming, camel_case, pascal_case, snake_case
from tablewright.model.patterns import Get, Query
from tablewright.model.readers import reader_of
from tablewright.model.rules import (
    OUTSIDE,
    Attr,
    Expiry,
    KeyRule,
    Keys,
    Large,
    Numbered,
    Stamp,
    Unique,
    Upgrades,
    VersionMark,
    stable_shard,
)
from tablewright.model.table import Index, Table
from tablewright.model.validators import fields_alone, validator_of

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

    from tablewright.model.entity import Entity

__all__ = ["Item", "Naming", "Schema", "camel_case", "pascal_case", "snake_case"]

Item = dict[str, AttributeValue]

_UNKNOWN = "_unknown"
# Paths into a map have no end.
_MOST_PLACES = 1000


class Schema:
    """One entity of one table."""

    def __init__(self, entity: type[Entity], table: Table, naming: Naming, type_name: str) -> None:
        from tablewright.model.checks import check, check_fields

        self.entity = entity
        self.table = table
        self.type_name = type_name
        check_fields(entity)
        self.fields = {name: self._field(name, info, naming) for name, info in entity.model_fields.items()}
        self.by_attribute = {spec.attribute: spec for spec in self.fields.values()}
        self.upgrades: Upgrades | None = getattr(entity, "upgrades", None)
        # Whether reads store what they had to upgrade.
        self.writes_back = self.upgrades is not None and self.upgrades.write_back
        self._declared_paths: dict[str, str] = {}
        # By the names that callers give.
        self._places: dict[str, Place] = {}
        declared: Keys = getattr(entity, "keys", Keys())
        self.rules = {attribute: self._physical(attribute, rule) for attribute, rule in declared.items()}
        self.patterns = _patterns(entity)
        self.version = self._marked(VersionMark)
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
        table.entities.append(self)

    # -- entity and item ----------------------------------------------------------------------------------------

    def encode(self, entity: Entity, instead: Mapping[str, Any] | None = None) -> Item:
        """The whole item of an entity: its fields, its key attributes, and what was stored beside them.

        ``instead`` has fields that are to have another value than the entity gives them.
        """
        # Past pydantic's access to fields, which takes longer than all the rest.
        values = {**entity.__dict__, **instead} if instead else entity.__dict__
        item = dict(unknown_of(entity))
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
            raise read_in_part(self, name) from None
        except (TypeError, ValueError) as error:
            raise ModelError(f"{self.entity.__name__}.{name}: {error}") from None
        if self.table.type_attribute is not None:
            item[self.table.type_attribute] = {"S": self.type_name}
        if self.upgrades is not None:
            item[self.upgrades.attribute] = {"N": str(self.upgrades.shape)}
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
                raise read_in_part(self, spec.name)
            encoded = spec.encode(entity.__dict__[spec.name])
            if encoded is not None:
                item[spec.attribute] = encoded
        return item

    def decode(self, item: Item, *, partial: bool = False) -> Entity:
        """The entity of an item; pydantic's ValidationError when it is none.

        With ``partial`` the item may lack fields, as a projection does; the entity then lacks them as well, as it does
        the large ones that are outside of the item and have not been read.
        """
        if not partial:
            if self.upgrades is not None:
                item = self.upgrade(item)
            if self._known.issuperset(item):
                return self._entity(item)
        outside = self._outside(item)
        if partial:
            entity = self._partial(self._values(item))
        elif self.large and outside:
            entity = self._partial({**self._defaults(outside), **self._values(item)})
        else:
            entity = self._entity(item)
        keep_unknown(entity, {name: value for name, value in item.items() if name not in self._known})
        for name in outside:
            # Nor is it the default, even if the field is no longer declared as large.
            entity.__dict__.pop(name, None)
        return entity

    def decode_all(self, items: Sequence[Item]) -> list[Entity]:
        """The entities of items, at once where nothing is special about any of them."""
        if self._read is not None and self.upgrades is None and self._known.issuperset(set().union(*items)):
            try:
                return self._read(items)
            except ValidationError:
                # The one that is refused may be good all the same.
                pass
        return [self.decode(item) for item in items]

    def _outside(self, item: Item) -> list[str]:
        """The fields whose values are kept outside of an item, and have not been put into it."""
        kept = item.get(OUTSIDE, {}).get("M", ())
        return [self.by_attribute[name].name for name in kept if name in self.by_attribute and name not in item]

    def _defaults(self, without: Iterable[str]) -> dict[str, Any]:
        """What fields are that are not stored."""
        members = self.entity.model_fields.items()
        defaults = {
            name: info.get_default(call_default_factory=True, validated_data={})
            for name, info in members
            if name not in without and not info.is_required()
        }
        return {**defaults, **{name: absent() for name, absent in self._absent.items()}}

    def _entity(self, item: Item) -> Entity:
        if self._read is not None:
            try:
                return self._read([item])[0]
            except ValidationError:
                # Its values may be good all the same, once they are decoded; if not, it is told better what is wrong.
                pass
        values = {name: absent() for name, absent in self._absent.items()}
        validate: Callable[[dict[str, Any]], Entity] = self.entity.__pydantic_validator__.validate_python
        return validate({**values, **self._values(item)})

    def _values(self, item: Item) -> dict[str, Any]:
        """The decoded values of an item, by field."""
        return {name: decode(item[attribute]) for attribute, name in self._names.items() if attribute in item}

    def _partial(self, values: Mapping[str, Any]) -> Entity:
        entity = self.entity.model_construct()
        # No defaults: a field that was not read is not there, rather than wrong.
        entity.__dict__.clear()
        for name, value in values.items():
            self._part_validator.validate_assignment(entity, name, value)
        return entity

    @cached_property
    def _part_validator(self) -> SchemaValidator:
        """The validator of the fields alone: one of the whole entity cannot look at a part of it."""
        return validator_of(fields_alone(self.entity.__pydantic_core_schema__))

    def is_of(self, item: Item, key_is_known: bool = False) -> bool:
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
        return self.table.partition in self.rules or not self.table.is_internal(item)

    def those_of(self, items: list[Item], partition_is_known: bool = False) -> list[Item]:
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
            return list(filter(self.is_of, items))

    # -- older shapes -------------------------------------------------------------------------------------------

    def shape_of(self, item: Item) -> int:
        """The number of an item's shape; the present one where none are declared."""
        if self.upgrades is None:
            return 1
        return int(item.get(self.upgrades.attribute, {"N": "1"})["N"])

    def is_to_be_written_back(self, item: Item) -> bool:
        """Whether an item that was read is to be stored in the present shape: it has an older one."""
        return self.writes_back and self.upgrades is not None and self.shape_of(item) < self.upgrades.shape

    def upgrade(self, item: Item) -> Item:
        """The item in the present shape: the same one if it has that already."""
        if self.upgrades is None or (shape := self.shape_of(item)) == self.upgrades.shape:
            return item
        if shape > self.upgrades.shape:
            raise ModelError(
                f"an item of {self.entity.__name__} has shape {shape}, but the newest one declared is "
                f"{self.upgrades.shape}; it was written by a newer program"
            )
        values = {attribute: decode(value) for attribute, value in item.items()}
        for number, step in enumerate(self.upgrades.steps[shape - 1 :], shape):
            try:
                values = step(values)
            except Exception as error:
                name, reason = self.entity.__name__, f"{type(error).__name__}: {error}"
                raise ModelError(f"the upgrade of {name} from shape {number} failed: {reason}") from error
        upgraded: Item = {}
        for attribute, value in values.items():
            before = item.get(attribute)
            # What no step has touched stays as it is stored, to the letter.
            if before is not None and decode(before) == value:
                upgraded[attribute] = before
            elif (stored := encode(value)) is not None:
                upgraded[attribute] = stored
        upgraded[self.upgrades.attribute] = {"N": str(self.upgrades.shape)}
        if any(upgraded.get(attribute) != item.get(attribute) for attribute in self.table.key):
            raise ModelError(f"an upgrade of {self.entity.__name__} changes the primary key, which only a move can do")
        return upgraded

    # -- keys ---------------------------------------------------------------------------------------------------

    def derive(self, item: Item, attributes: Iterable[str] | None = None) -> Item:
        """The key attributes that follow from an item's fields, or some of them; what does not apply is left out."""
        derived: Item = {}
        try:
            for attribute in self.rules if attributes is None else attributes:
                rule = self.rules[attribute]
                for path, allowed in rule.when.items():
                    if lookup(item, path) not in allowed:
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
                rule = self.rules.get(attribute)
                if rule is not None and rule.shards > 1:
                    key[attribute] = {"S": key[attribute]["S"] + self._shard(rule, item)}
        return key

    def key_for(self, values: Mapping[str, Any], pattern: str) -> Item:
        """The primary key that field values make up, exactly; ``pattern`` is who gives them."""
        key = self._key_maker(values)
        if key is not None:
            return key
        item = self.stored(values)
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

    def stored(self, values: Mapping[str, Any]) -> Item:
        """Field values as attributes; None is left out.

        Where keys need a part of a field only, it can be given by its path: as ``subject.id`` or ``subject__id``.
        """
        item: Item = {}
        for name, value in values.items():
            place = self._places.get(name) or self._placed(name)
            if value is None:
                continue
            encoded = {"S": value} if type(value) is str else place.encode(value)
            if encoded is None:
                continue
            if place.tags.isdisjoint(encoded):
                # It would be compared as it is, and nothing is equal to it.
                kinds = " or ".join(words for kind, words in KINDS.items() if kind in place.types and kind != "NULL")
                raise ModelError(f"{self.entity.__name__}: {name} is {kinds}, not {value!r}")
            if len(place.steps) == 1:
                item[place.steps[0]] = encoded
                continue
            *outer, last = place.steps
            members = item
            for step in outer:
                members = members.setdefault(step, {"M": {}})["M"]
            members[last] = encoded
        return item

    def _placed(self, name: str) -> Place:
        """The place of a name that a caller gives, which is kept."""
        path = name if name in self.fields else name.replace("__", ".")
        place = self.place(path, self.entity.__name__)
        if len(self._places) < _MOST_PLACES:
            self._places[name] = place
        return place

    def path(self, field_path: str) -> str:
        """The path of attributes that a path of fields is stored under."""
        return ".".join(self.place(field_path, self.entity.__name__).steps)

    def place(self, field_path: str, where: str) -> Place:
        """Where a path of fields leads; ``where`` names the declaration that uses it, should it lead nowhere."""
        name, *rest = field_path.split(".")
        spec = self.fields.get(name)
        if spec is None:
            known = ", ".join(self.fields)
            entity = self.entity.__name__
            prefix = "" if where == entity else f"{where}: "
            raise ModelError(f"{prefix}{entity} has no field {name!r}; it has {known}")
        place = Place((spec.attribute,), spec.encode, spec.types)
        annotation: Any = spec.annotation
        for step in rest:
            model = _model_in(annotation)
            if model is None:
                if not place.types & {"M", None}:
                    raise ModelError(f"{where}: {field_path!r} leads into {name!r}, which is neither a model nor a map")
                place = Place((*place.steps, step), encode, frozenset([None]))
                annotation = Any
                continue
            info = model.model_fields.get(step)
            if info is None:
                known = ", ".join(model.model_fields)
                raise ModelError(f"{where}: {model.__name__} has no field {step!r}; it has {known}")
            stored_name, encoder = next(member[1:3] for member in stored_members(model) if member[0] == step)
            place = Place((*place.steps, stored_name), encoder, stored_types(info.annotation, info.metadata))
            annotation = info.annotation
            name = step
        return place

    def sources(self, attribute: str) -> frozenset[str]:
        """The attributes that a key attribute follows from."""
        rule = self.rules.get(attribute)
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
        rule = self.rules.get(attribute)
        if rule is None:
            return [attribute]
        return [field.name.partition(".")[0] for field in rule.template.fields]

    def _lacking(self, attribute: str, item: Mapping[str, AttributeValue]) -> str:
        rule = self.rules.get(attribute)
        paths = [attribute] if rule is None else list(rule.template.required)
        missing = sorted(self.field_path(path) for path in paths if lookup(item, path) is None)
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
            value = lookup(item, path)
            if value is None:
                raise ModelError(f"{self.entity.__name__}.{spec.name} is numbered per {name}, which is not given")
            group.extend(value.values())
        return self.table.internal_key("count", self.type_name, spec.attribute, *group)

    # -- compiling ----------------------------------------------------------------------------------------------

    def _field(self, name: str, info: FieldInfo, naming: Naming) -> FieldSpec:
        markers = tuple(info.metadata)
        attribute = next((marker.name for marker in markers if isinstance(marker, Attr)), naming(name))
        types = stored_types(info.annotation, markers)
        encoder = encoder_for(info.annotation, markers)
        may_be_key = attribute in self.table.key_attributes or attribute == self.table.ttl
        if "NULL" in types and not may_be_key and not info.is_required() and info.default is not None:
            # Being absent stands for the default, so None has to be stored.
            encoder = _or_null(encoder)
        return FieldSpec(name, attribute, encoder, markers, info.annotation, types)

    def _compile(self) -> None:
        """What ``encode``, ``decode`` and ``is_of`` go by, made ready once."""
        self._encoders = tuple((spec.name, spec.attribute, spec.encode) for spec in self.fields.values())
        self._names = {spec.attribute: spec.name for spec in self.fields.values()}
        self._kind = {"S": self.type_name}
        self._key_renderers = tuple(
            (name, self.rules[name].template.render if name in self.rules else None) for name in self.table.key
        )
        rules = [(name, self.rules[name]) for name in self.table.key if name in self.rules]
        self._is_sharded = any(rule.shards > 1 for _, rule in rules)
        # A key that a template makes never is one of the store's own.
        self._is_never_internal = self.table.type_attribute is None and self.table.partition in self.rules
        self._key_rules = [(name, rule.template.matches if rule.shards == 1 else rule.matches) for name, rule in rules]
        self._sort_rules = [(name, matches) for name, matches in self._key_rules if name != self.table.partition]
        self._key_maker = key_maker(self)
        self._absent = self._meanings_of_absence()
        self._read = reader_of(self.entity, {spec.name: spec.attribute for spec in self.fields.values()}, self._absent)
        # What is not among these belongs to somebody else, and survives.
        self._known = frozenset([*self.by_attribute, *self.rules])
        if self.table.type_attribute is not None:
            self._known |= {self.table.type_attribute}
        if self.upgrades is not None:
            self._known |= {self.upgrades.attribute}

    def _meanings_of_absence(self) -> dict[str, Callable[[], Any]]:
        """What fields are that are not stored, where that is not their default."""
        meanings: dict[str, Callable[[], Any]] = {}
        for name, info in self.entity.model_fields.items():
            types = self.fields[name].types
            if "SET" in types and "NULL" not in types:
                meanings[name] = set
            elif "NULL" in types and info.is_required():
                meanings[name] = lambda: None
        return meanings

    def _physical(self, attribute: str, rule: KeyRule) -> KeyRule:
        """A rule in terms of stored attributes instead of fields."""
        place = f"{self.entity.__name__}.keys, {attribute}"

        def stored_path(field_path: str) -> str:
            steps = self.place(field_path, place).steps
            if any("." in step for step in steps):
                raise ModelError(f"{place}: {field_path!r} is stored in {steps[0]!r}; a key needs a name without dots")
            path = ".".join(steps)
            self._declared_paths[path] = field_path
            return path

        when = {stored_path(name): values for name, values in rule.when.items()}
        return replace(rule, template=rule.template.renamed(stored_path), when=when)

    def covers(self, index: Index) -> bool:
        """Whether items of this entity can be in an index."""
        return all(
            name in self.rules or name in self.by_attribute or name == self.table.type_attribute
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


# -- what is stored beside the fields -------------------------------------------------------------------------------


def read_in_part(schema: Schema, name: str) -> ModelError:
    """The error for an entity that lacks a field, as a pattern with ``project`` gives it."""
    return ModelError(
        f"this {schema.entity.__name__} was read in part, without {name}; read it whole before you write it"
    )


def unknown_of(entity: Entity) -> Item:
    """The attributes that an entity's item has and that are not its own."""
    private = entity.__pydantic_private__
    unknown: Item = {} if private is None else private.get(_UNKNOWN, {})
    return unknown


def keep_unknown(entity: Entity, unknown: Item) -> None:
    """Give an entity such attributes, to be written back with it.

    They are kept where pydantic copies, compares and pickles them. They are no declared private attribute, because
    then pydantic would call Python for every entity that it makes, which takes longer than to make it.
    """
    private = {**(entity.__pydantic_private__ or {}), _UNKNOWN: unknown}
    if not unknown:
        del private[_UNKNOWN]
    object.__setattr__(entity, "__pydantic_private__", private or None)


# -- helpers --------------------------------------------------------------------------------------------------------


def _or_null(encoder: Encoder) -> Encoder:
    return lambda value: {"NULL": True} if value is None else encoder(value)


def _patterns(entity: type[Entity]) -> dict[str, Get | Query]:
    members = {name: member for base in reversed(entity.__mro__) for name, member in vars(base).items()}
    return {name: member for name, member in members.items() if isinstance(member, Get | Query)}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation stands for, perhaps among None."""
    annotation = named(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [model for argument in get_args(annotation) if (model := _model_in(argument)) is not None]
    return found[0] if len(found) == 1 and not isinstance(annotation, type) else None
