"""Items as entities: complete, partial, and with attributes that are not the entity's own.

Most items have their entity's attributes and no others, and an item validator makes entities of many at once. What it
rejects is decoded value by value; pydantic decides then, and says what is wrong.

A partial item is what a projection returns, or an item whose large values are in blobs. Its entity lacks the fields
that were not read, rather than having defaults for them.

Attributes that are not the entity's own belong to other writers. They are kept with the entity, unseen, and written
back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from tablewright.dynamo import Item
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.errors import ModelError
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.items.item_validator import ItemValidator, item_validator
from tablewright.model.values.attribute_codec import decode
from tablewright.model.values.pydantic_validators import fields_alone, validator_of

__all__ = ["Decoder", "keep_unknown_attributes", "partial_entity_error", "unknown_attributes"]

E_co = TypeVar("E_co", bound=BaseModel, covariant=True)

_UNKNOWN = "_unknown"


class Decoder(Generic[E_co]):
    """Makes entities of items.

    ``own`` are the attributes beside those of fields that the schema writes: keys, entity type, schema version.
    ``upgrade`` brings an item to the present schema version, where there have been others; ``from_keys`` reads fields
    that are only in keys.
    """

    def __init__(
        self,
        entity: type[E_co],
        fields: Mapping[str, FieldSpec],
        *,
        own: Iterable[str],
        has_large: bool = False,
        upgrade: Callable[[Item], Item] | None = None,
        from_keys: Callable[[Item], Item] | None = None,
    ) -> None:
        self._entity_class = entity
        self._by_attribute = {spec.attribute: spec for spec in fields.values()}
        self._has_large = has_large
        self._upgrade = upgrade
        self._from_keys = from_keys
        self._absent = _values_when_absent(entity, fields)
        # Other attributes belong to other writers, and are kept.
        self._known = frozenset([*self._by_attribute, *own])

    @cached_property
    def _validate(self) -> ItemValidator[E_co] | None:
        """Made with the first item: a process reads some of the entities that its modules declare."""
        attributes = {spec.name: attribute for attribute, spec in self._by_attribute.items()}
        return item_validator(self._entity_class, attributes, self._absent)

    def decode(self, item: Item, *, partial: bool = False) -> E_co:
        """The entity of an item; raises pydantic's ValidationError if its values are not valid.

        With ``partial`` the item may lack fields, as the result of a projection does, and so will the entity. Large
        values that are in blobs and have not been loaded are lacking in any case.
        """
        if not partial:
            if self._upgrade is not None:
                item = self._upgrade(item)
            if self._from_keys is not None:
                item = self._from_keys(item)
            if self._known.issuperset(item):
                return self._entity(item)
        elif self._from_keys is not None:
            item = self._from_keys(item)
        offloaded = self._offloaded(item)
        if partial:
            entity = self._partial(self._values(item))
        elif self._has_large and offloaded:
            entity = self._partial({**self._defaults(offloaded), **self._values(item)})
        else:
            entity = self._entity(item)
        keep_unknown_attributes(entity, {name: value for name, value in item.items() if name not in self._known})
        for name in offloaded:
            # It is not the default either, even if the field is no longer declared as large.
            entity.__dict__.pop(name, None)
        return entity

    def decode_all(self, items: Sequence[Item]) -> list[E_co]:
        """The entities of items, all at once where none of them needs special care."""
        if self._validate is not None and self._upgrade is None and self._known.issuperset(set().union(*items)):
            read = items if self._from_keys is None else list(map(self._from_keys, items))
            try:
                return self._validate(read)
            except ValidationError:
                # The item that was rejected may still be valid once it is decoded.
                pass
        return [self.decode(item) for item in items]

    def _entity(self, item: Item) -> E_co:
        if self._validate is not None:
            try:
                return self._validate([item])[0]
            except ValidationError:
                # Its values may still be valid once they are decoded; if not, the error then is the better one.
                pass
        values = {name: absent() for name, absent in self._absent.items()}
        validate: Callable[[dict[str, Any]], E_co] = self._entity_class.__pydantic_validator__.validate_python
        return validate({**values, **self._values(item)})

    def _values(self, item: Item) -> dict[str, Any]:
        """The decoded values of an item, by field."""
        own = self._by_attribute.items()
        return {spec.name: decode(item[attribute]) for attribute, spec in own if attribute in item}

    def value_when_absent(self, name: str) -> Any:
        """What a field is when it is not stored: its default; KeyError if it has none."""
        if name in self._absent:
            return self._absent[name]()
        info = self._entity_class.model_fields[name]
        if info.is_required():
            raise KeyError(name)
        return info.get_default(call_default_factory=True, validated_data={})

    # -- partial items ------------------------------------------------------------------------------------------

    def _offloaded(self, item: Item) -> list[str]:
        """The fields whose values are in blobs, and have not been loaded into the item."""
        references = item.get(BLOB_REFERENCES, {}).get("M", ())
        return [self._by_attribute[name].name for name in references if name in self._by_attribute and name not in item]

    def _defaults(self, without: Iterable[str]) -> dict[str, Any]:
        """The values of fields that are not stored."""
        members = self._entity_class.model_fields.items()
        defaults = {
            name: info.get_default(call_default_factory=True, validated_data={})
            for name, info in members
            if name not in without and not info.is_required()
        }
        return {**defaults, **{name: absent() for name, absent in self._absent.items()}}

    def _partial(self, values: Mapping[str, Any]) -> E_co:
        entity = self._entity_class.model_construct()
        # No defaults: a field that was not read is missing, rather than wrong.
        entity.__dict__.clear()
        for name, value in values.items():
            self._part_validator.validate_assignment(entity, name, value)
        return entity

    @cached_property
    def _part_validator(self) -> SchemaValidator:
        """The validator of fields one by one: a validator of the whole entity cannot check a part of it."""
        return validator_of(fields_alone(self._entity_class.__pydantic_core_schema__))


def _values_when_absent(entity: type[BaseModel], fields: Mapping[str, FieldSpec]) -> dict[str, Callable[[], Any]]:
    """The values of fields that are not stored, where those are not their defaults."""
    values: dict[str, Callable[[], Any]] = {}
    for name, info in entity.model_fields.items():
        types = fields[name].types
        if "SET" in types and "NULL" not in types:
            values[name] = set
        elif "NULL" in types and info.is_required():
            values[name] = lambda: None
    return values


def partial_entity_error(entity: type[BaseModel], name: str) -> ModelError:
    """The error for an entity that lacks a field, because it was read without its blobs."""
    return ModelError(
        f"this {entity.__name__} was read without its field {name}; read the complete item before you write it"
    )


# -- attributes of other writers ------------------------------------------------------------------------------------


def unknown_attributes(entity: BaseModel) -> Item:
    """The attributes of an entity's item that are not its own."""
    private = entity.__pydantic_private__
    unknown: Item = {} if private is None else private.get(_UNKNOWN, {})
    return unknown


def keep_unknown_attributes(entity: BaseModel, unknown: Item) -> None:
    """Give an entity attributes that are not its own, to be written back with it.

    They are kept where pydantic copies, compares and pickles them. They are not a declared private attribute, because
    pydantic would then call Python for every entity that it makes, which takes longer than making it.
    """
    private = {**(entity.__pydantic_private__ or {}), _UNKNOWN: unknown}
    if not unknown:
        del private[_UNKNOWN]
    object.__setattr__(entity, "__pydantic_private__", private or None)
