"""The fields of an entity in its items: where each is stored, and what its values become there.

layout.locate("subject.id", "Ticket")            where a path of fields leads: a ``FieldLocation``
layout.path("subject.id")                        the same as a document path: ``subject.subjectId``
layout.encode_values({"subject__id": "s-1"})     values that callers give, as attributes (see ``coercion``)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tablewright.dynamo import AttributeValue, Item
from tablewright.model.declarations import AttributeName, Computed, KeyOnly, unstored_attribute
from tablewright.model.errors import ModelError, no_field
from tablewright.model.items.field_spec import FieldLocation, FieldSpec
from tablewright.model.naming import Naming
from tablewright.model.table import Table
from tablewright.model.values.attribute_codec import (
    Encoder,
    encode,
    encoder_for,
    resolve_alias,
    stored_members,
    stored_types,
)
from tablewright.model.values.coercion import UNTYPED, coercion_for

__all__ = ["FieldLayout", "encode_value", "invalid_value"]

# There is no end of paths into a map.
_MAX_LOCATIONS = 1000


class FieldLayout:
    """The fields of an entity, each with its attribute, and the locations inside of them."""

    def __init__(self, entity: type[BaseModel], table: Table, naming: Naming) -> None:
        self.entity = entity
        self.table = table
        self.naming = naming
        self.fields = {name: self._field(name, info, naming) for name, info in entity.model_fields.items()}
        members = {name: member for base in reversed(entity.__mro__) for name, member in vars(base).items()}
        # Values that keys are made of, and that are not stored.
        self.computed = {name: member for name, member in members.items() if isinstance(member, Computed)}
        self.by_attribute = {spec.attribute: spec for spec in self.fields.values()}
        # What a missing attribute stands for, where that is always the same value, and not None.
        self.defaults = self._stored_defaults()
        # By the names that callers use.
        self._locations: dict[str, FieldLocation] = {}

    def _field(self, name: str, info: FieldInfo, naming: Naming) -> FieldSpec:
        markers = tuple(info.metadata)
        attribute = next((marker.name for marker in markers if isinstance(marker, AttributeName)), naming(name))
        if any(isinstance(marker, KeyOnly) for marker in markers):
            attribute = unstored_attribute(name)
        types = stored_types(info.annotation, markers)
        encoder = encoder_for(info.annotation, markers)
        may_be_key = attribute in self.table.key_attributes or attribute == self.table.ttl
        if "NULL" in types and not may_be_key and not info.is_required() and info.default is not None:
            # A missing attribute means the default, so None has to be stored.
            encoder = _or_null(encoder)
        return FieldSpec(name, attribute, encoder, markers, info.annotation, types)

    def _stored_defaults(self) -> Item:
        defaults: Item = {}
        for name, info in self.entity.model_fields.items():
            if info.is_required() or info.default_factory is not None or info.default is None:
                continue
            try:
                stored = self.fields[name].encode(info.default)
            except (AttributeError, TypeError, ValueError):
                # Pydantic does not validate defaults; such an entity is refused when it is made or written.
                continue
            if stored is not None:
                defaults[self.fields[name].attribute] = stored
        return defaults

    # -- locations ----------------------------------------------------------------------------------------------

    def path(self, field_path: str) -> str:
        """The document path that a path of fields is stored under."""
        return ".".join(self.locate(field_path, self.entity.__name__).parts)

    def locate(self, field_path: str, where: str) -> FieldLocation:
        """Where a path of fields leads; ``where`` is the declaration that uses it, for messages."""
        name, *rest = field_path.split(".")
        spec = self.fields.get(name)
        if spec is None:
            if field_path in self.computed:
                return FieldLocation((self.computed[name].attribute,), encode, frozenset([None]), UNTYPED)
            entity = self.entity.__name__
            prefix = "" if where == entity else f"{where}: "
            raise ModelError(prefix + no_field(entity, name, [*self.fields, *self.computed]))
        location = FieldLocation(
            (spec.attribute,), spec.encode, spec.types, coercion_for(self.entity, name, spec.encode)
        )
        annotation: Any = spec.annotation
        for step in rest:
            model = _model_in(annotation)
            if model is None:
                if not location.types & {"M", None}:
                    raise ModelError(f"{where}: {field_path!r} goes into {name!r}, which is neither a model nor a map")
                location = FieldLocation((*location.parts, step), encode, frozenset([None]), UNTYPED)
                annotation = Any
                continue
            info = model.model_fields.get(step)
            if info is None:
                raise ModelError(f"{where}: {no_field(model.__name__, step, model.model_fields)}")
            stored_name, encoder = next(member[1:3] for member in stored_members(model) if member[0] == step)
            types, coercion = stored_types(info.annotation, info.metadata), coercion_for(model, step, encoder)
            location = FieldLocation((*location.parts, stored_name), encoder, types, coercion)
            annotation = info.annotation
            name = step
        return location

    def _located(self, name: str) -> FieldLocation:
        """The location for a name that a caller uses, which is cached."""
        path = name if name in self.fields else name.replace("__", ".")
        location = self.locate(path, self.entity.__name__)
        if len(self._locations) < _MAX_LOCATIONS:
            self._locations[name] = location
        return location

    # -- values -------------------------------------------------------------------------------------------------

    def encode_values(self, values: Mapping[str, Any]) -> Item:
        """Field values as attributes; None is left out.

        A part of a field can be given by its path, as ``subject.id`` or ``subject__id``.
        """
        item: Item = {}
        try:
            for name, value in values.items():
                location = self._locations.get(name) or self._located(name)
                if value is None:
                    continue
                encode_exact = location.coercion.encoders.get(type(value))
                encoded = (
                    location.encode(location.coercion.coerce(value)) if encode_exact is None else encode_exact(value)
                )
                if encoded is None:
                    continue
                if len(location.parts) == 1:
                    item[location.parts[0]] = encoded
                    continue
                *outer, last = location.parts
                members = item
                for step in outer:
                    members = members.setdefault(step, {"M": {}})["M"]
                members[last] = encoded
        except ModelError:
            raise
        except (TypeError, ValueError) as error:
            raise invalid_value(f"{self.entity.__name__}.{name}", value, error) from None
        return item


def encode_value(location: FieldLocation, value: Any, where: str, *, is_bound: bool = False) -> AttributeValue | None:
    """A value as it is stored at a location; raises ModelError, which says ``where``, if it is not valid there."""
    coercion = location.coercion
    encoder = (coercion.bound_encoders if is_bound else coercion.encoders).get(type(value))
    try:
        return location.encode(coercion.coerce(value)) if encoder is None else encoder(value)
    except (TypeError, ValueError) as error:
        raise invalid_value(where, value, error) from None


def invalid_value(place: str, value: Any, error: Exception) -> ModelError:
    """The error for a value that a field cannot have."""
    reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return ModelError(f"{place}: {value!r} is not valid: {reason}")


def _or_null(encoder: Encoder) -> Encoder:
    return lambda value: {"NULL": True} if value is None else encoder(value)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation stands for, perhaps with None."""
    annotation = resolve_alias(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [model for argument in get_args(annotation) if (model := _model_in(argument)) is not None]
    return found[0] if len(found) == 1 and not isinstance(annotation, type) else None
