"""Items as entities: whole, in part, and with what is stored beside the fields.

Most items have their entity's attributes and no others, and a reader (see ``readers``) makes entities of many at once.
What it refuses is decoded value by value; pydantic decides then, and says what is wrong.

An item in part is what a projection gives, or one whose large values are kept outside of it: its entity lacks the
fields that were not read, rather than having defaults for them.

Attributes that are not the entity's own belong to other writers. They stay with the entity, unseen, and are written
back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tablewright.dynamo import Item
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.errors import ModelError
from tablewright.model.items.item_validator import reader_of
from tablewright.model.values.attribute_codec import decode
from tablewright.model.values.pydantic_validators import fields_alone, validator_of

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

    from tablewright.model.entity import Entity
    from tablewright.model.schema import Schema

__all__ = ["Decoder", "keep_unknown_attributes", "partial_entity_error", "unknown_attributes"]

_UNKNOWN = "_unknown"


class Decoder:
    """Makes entities of the items of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._entity_class = schema.entity
        self._by_attribute = schema.by_attribute
        self._has_large = bool(schema.large)
        self._upgrade = None if schema.upgrades is None else schema.upgrade
        self._absent = _meanings_of_absence(schema)
        attributes = {spec.name: spec.attribute for spec in schema.fields.values()}
        self._read = reader_of(schema.entity, attributes, self._absent)
        # What is not among these belongs to somebody else, and survives.
        own = [schema.table.type_attribute, None if schema.upgrades is None else schema.upgrades.attribute]
        self._known = frozenset(name for name in [*schema.by_attribute, *schema.key_rules, *own] if name is not None)

    def decode(self, item: Item, *, partial: bool = False) -> Entity:
        """The entity of an item; pydantic's ValidationError when it is none.

        With ``partial`` the item may lack fields, as a projection does; the entity then lacks them as well, as it does
        the large ones that are outside of the item and have not been read.
        """
        if not partial:
            if self._upgrade is not None:
                item = self._upgrade(item)
            if self._known.issuperset(item):
                return self._entity(item)
        outside = self._outside(item)
        if partial:
            entity = self._partial(self._values(item))
        elif self._has_large and outside:
            entity = self._partial({**self._defaults(outside), **self._values(item)})
        else:
            entity = self._entity(item)
        keep_unknown_attributes(entity, {name: value for name, value in item.items() if name not in self._known})
        for name in outside:
            # Nor is it the default, even if the field is no longer declared as large.
            entity.__dict__.pop(name, None)
        return entity

    def decode_all(self, items: Sequence[Item]) -> list[Entity]:
        """The entities of items, at once where nothing is special about any of them."""
        if self._read is not None and self._upgrade is None and self._known.issuperset(set().union(*items)):
            try:
                return self._read(items)
            except ValidationError:
                # The one that is refused may be good all the same.
                pass
        return [self.decode(item) for item in items]

    def _entity(self, item: Item) -> Entity:
        if self._read is not None:
            try:
                return self._read([item])[0]
            except ValidationError:
                # Its values may be good all the same, once they are decoded; if not, it is told better what is wrong.
                pass
        values = {name: absent() for name, absent in self._absent.items()}
        validate: Callable[[dict[str, Any]], Entity] = self._entity_class.__pydantic_validator__.validate_python
        return validate({**values, **self._values(item)})

    def _values(self, item: Item) -> dict[str, Any]:
        """The decoded values of an item, by field."""
        own = self._by_attribute.items()
        return {spec.name: decode(item[attribute]) for attribute, spec in own if attribute in item}

    # -- in part ------------------------------------------------------------------------------------------------

    def _outside(self, item: Item) -> list[str]:
        """The fields whose values are kept outside of an item, and have not been put into it."""
        kept = item.get(BLOB_REFERENCES, {}).get("M", ())
        return [self._by_attribute[name].name for name in kept if name in self._by_attribute and name not in item]

    def _defaults(self, without: Iterable[str]) -> dict[str, Any]:
        """What fields are that are not stored."""
        members = self._entity_class.model_fields.items()
        defaults = {
            name: info.get_default(call_default_factory=True, validated_data={})
            for name, info in members
            if name not in without and not info.is_required()
        }
        return {**defaults, **{name: absent() for name, absent in self._absent.items()}}

    def _partial(self, values: Mapping[str, Any]) -> Entity:
        entity = self._entity_class.model_construct()
        # No defaults: a field that was not read is not there, rather than wrong.
        entity.__dict__.clear()
        for name, value in values.items():
            self._part_validator.validate_assignment(entity, name, value)
        return entity

    @cached_property
    def _part_validator(self) -> SchemaValidator:
        """The validator of the fields alone: one of the whole entity cannot look at a part of it."""
        return validator_of(fields_alone(self._entity_class.__pydantic_core_schema__))


def _meanings_of_absence(schema: Schema) -> dict[str, Callable[[], Any]]:
    """What fields are that are not stored, where that is not their default."""
    meanings: dict[str, Callable[[], Any]] = {}
    for name, info in schema.entity.model_fields.items():
        types = schema.fields[name].types
        if "SET" in types and "NULL" not in types:
            meanings[name] = set
        elif "NULL" in types and info.is_required():
            meanings[name] = lambda: None
    return meanings


def partial_entity_error(schema: Schema, name: str) -> ModelError:
    """The error for an entity that lacks a field, as a pattern with ``project`` gives it."""
    return ModelError(
        f"this {schema.entity.__name__} was read in part, without {name}; read it whole before you write it"
    )


# -- what is stored beside the fields -------------------------------------------------------------------------------


def unknown_attributes(entity: Entity) -> Item:
    """The attributes that an entity's item has and that are not its own."""
    private = entity.__pydantic_private__
    unknown: Item = {} if private is None else private.get(_UNKNOWN, {})
    return unknown


def keep_unknown_attributes(entity: Entity, unknown: Item) -> None:
    """Give an entity such attributes, to be written back with it.

    They are kept where pydantic copies, compares and pickles them. They are no declared private attribute, because
    then pydantic would call Python for every entity that it makes, which takes longer than to make it.
    """
    private = {**(entity.__pydantic_private__ or {}), _UNKNOWN: unknown}
    if not unknown:
        del private[_UNKNOWN]
    object.__setattr__(entity, "__pydantic_private__", private or None)
