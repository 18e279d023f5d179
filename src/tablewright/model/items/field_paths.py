"""Places in an entity that a caller names by a path: ``address.city``, ``lines[0].quantity``.

A place knows where it is stored and what type is there, since nested models may store a member under another name or in
another form. A path may lead into one of several models (``Cat | Dog``): then it is a place only where the one is
stored that has the field, which is a condition of the write (see ``field_bounds``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from annotated_types import GroupedMetadata
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from tablewright.dynamo import AttributeValue
from tablewright.model.errors import ModelError
from tablewright.model.schema import schema_of
from tablewright.model.values.attribute_codec import (
    Encoder,
    encode,
    encoder_for,
    stored_members,
    stored_types,
)

__all__ = ["Place", "StepDefault", "Variant", "cached", "markers_of", "path_around", "place_of", "step_defaults"]

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"[^.\[\]]+(\[\d+\])*(\.[^.\[\]]+(\[\d+\])*)*")


def path_around(path: str) -> str:
    """The path to what a place is in; nothing for a field."""
    return path[: max(path.rfind("."), path.rfind("["), 0)]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads to: the stored path, and the type that is there."""

    path: str
    encode: Encoder
    # The types that are stored there; None is among them where that is not known.
    types: frozenset[str | None]
    # Whether an item can be read without it.
    removable: bool
    # Whether it is a number without a fraction.
    whole: bool
    # Of a set, what its members are.
    member: TypeAdapter[Any] | None
    # Whether a model around it has validators of its own, which would have to see all of it.
    has_model_validators: bool
    # Where it is in one of several models: their discriminator, and its values for those that have the field.
    variants: tuple[Variant, ...]
    _adapter: TypeAdapter[Any]
    # The entity and the path, for those who give it something else.
    _name: tuple[str, str]

    def validate(self, value: Any) -> Any:
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            entity, path = self._name
            raise ValidationError.from_exception_data(
                entity,
                [
                    InitErrorDetails(
                        type=PydanticCustomError(cast("Any", each["type"]), cast("Any", each["msg"])),
                        loc=(path, *each["loc"]),
                        input=each["input"],
                    )
                    for each in error.errors()
                ],
            ) from None


F = TypeVar("F", bound=Callable[..., Any])


def cached(function: F) -> F:
    """``lru_cache`` with the signature of the function: its own asks for Hashable, which mypy denies ``type[Any]``."""
    return cast("F", lru_cache(maxsize=4096)(function))


@cached
def place_of(entity: type[BaseModel], path: str) -> Place:
    """The place that a path of fields leads to."""
    way = _followed(entity, path)
    annotation = way.annotation
    field_ = schema_of(entity).fields.get(path)
    plain = _plain(annotation)
    is_set = get_origin(plain) in (set, frozenset) and get_args(plain)
    return Place(
        way.stored,
        encoder_for(annotation) if field_ is None else field_.encode,
        stored_types(annotation) if field_ is None else field_.types,
        way.removable,
        isinstance(plain, type) and issubclass(plain, int),
        TypeAdapter(get_args(plain)[0]) if is_set else None,
        way.has_model_validators,
        tuple(way.variants),
        TypeAdapter(annotation),
        (entity.__name__, path),
    )


@cached
def markers_of(entity: type[BaseModel], path: str) -> tuple[Any, ...]:
    """What bounds the value that a path of fields leads to: the markers of its type, also beside a None."""
    annotation = _followed(entity, path).annotation
    markers: list[Any] = []
    while True:
        origin, arguments = get_origin(annotation), get_args(annotation)
        options = [option for option in arguments if option is not type(None)]
        if origin is Annotated:
            for marker in arguments[1:]:
                if isinstance(marker, FieldInfo):
                    markers += marker.metadata
                elif isinstance(marker, GroupedMetadata):
                    markers += marker
                else:
                    markers.append(marker)
            annotation = arguments[0]
        elif origin in (Union, UnionType) and len(options) == 1:
            annotation = options[0]
        else:
            return tuple(markers)


@dataclass(frozen=True, slots=True)
class Variant:
    """The discriminator of a union of models, and its values for the models that have a field."""

    # What may be one of several, as the caller names it, and the field that not all of them have.
    name: str
    field: str
    path: str
    values: tuple[AttributeValue, ...]


@dataclass(slots=True)
class _Way:
    """A path, as far as it has been followed."""

    stored: str = ""
    annotation: Any = None
    # Whether an item can be read without what is there.
    removable: bool = True
    has_model_validators: bool = False
    variants: list[Variant] = field(default_factory=list)


def _followed(entity: type[BaseModel], path: str) -> _Way:
    """Where a path is stored, and what is there."""
    if not _PATH.fullmatch(path):
        raise ModelError(f"{path!r} is not a path; write it like address.city or lines[0].quantity")
    way = _Way()
    taken = ""
    for name, position in _STEP.findall(path):
        if not taken:
            _begin(way, entity, name)
        elif position:
            if not stored_types(way.annotation) & {"L", None}:
                raise ModelError(f"{path!r}: {taken} is not a list, so it cannot be indexed")
            way.stored += f"[{position}]"
            way.annotation = _element(way.annotation)
            way.removable = True
        else:
            _enter(way, taken, name, path)
        taken += f"[{position}]" if position else f".{name}" if taken else name
    return way


@dataclass(frozen=True, slots=True)
class StepDefault:
    """What a step of a path is if an item lacks it; None: there is nothing."""

    value: Any


def step_defaults(entity: type[BaseModel], path: str) -> Iterator[tuple[str, StepDefault | None]]:
    """The steps of a path, from the field on, each with its default; without one, an item cannot lack it."""
    taken = ""
    for name, position in _STEP.findall(path):
        around, taken = taken, taken + (f"[{position}]" if position else f".{name}" if taken else name)
        if position:
            yield taken, StepDefault(None)
            continue
        if not around:
            infos = [entity.model_fields[name]]
        else:
            options = [option for option in _options(_followed(entity, around).annotation) if isinstance(option, type)]
            models = [option for option in options if issubclass(option, BaseModel)]
            infos = [model.model_fields[name] for model in models if name in model.model_fields]
        values = [_static_default(info) for info in infos]
        if not infos:
            # A member of a map.
            yield taken, StepDefault(None)
        elif all(info.is_required() for info in infos) and not _may_be_none(infos[0]):
            yield taken, None
        else:
            yield taken, StepDefault(values[0] if all(value == values[0] for value in values) else None)


def _static_default(info: FieldInfo) -> Any:
    """The default of a field, if it is the same each time."""
    if info.default_factory in (list, dict):
        return cast("Any", info.default_factory)()
    if info.is_required() or info.default_factory is not None:
        return None
    return info.default


def _may_be_none(info: FieldInfo) -> bool:
    return "NULL" in stored_types(info.annotation, info.metadata)


def _begin(way: _Way, entity: type[BaseModel], name: str) -> None:
    spec = schema_of(entity).fields.get(name)
    if spec is None:
        raise ModelError(f"{entity.__name__} has no field {name!r}")
    info = entity.model_fields[name]
    way.stored, way.annotation = spec.attribute, _annotated(info.annotation, info.metadata)
    # A missing set is empty, and a missing field that may be None is None.
    way.removable = not info.is_required() or bool(spec.types & {"SET", "NULL"})
    way.has_model_validators = bool(entity.__pydantic_decorators__.model_validators)


def _enter(way: _Way, taken: str, name: str, path: str) -> None:
    """Follow a path into a member of a model or a map."""
    options = [option for option in _options(way.annotation) if isinstance(option, type)]
    models = [option for option in options if issubclass(option, BaseModel)]
    if not models:
        if not stored_types(way.annotation) & {"M", None}:
            raise ModelError(f"{path!r}: {taken} is neither a model nor a map, so it has no {name!r}")
        arguments = get_args(_plain(way.annotation))
        is_map = get_origin(_plain(way.annotation)) in (dict, Mapping) and len(arguments) == 2
        way.stored += f".{name}"
        way.annotation, way.removable = arguments[1] if is_map else Any, True
        return
    having = [model for model in models if name in model.model_fields]
    if not having:
        known = " or ".join(model.__name__ for model in models)
        raise ModelError(f"{path!r}: {known} has no field {name!r}")
    stored = {next(member[1] for member in stored_members(model) if member[0] == name) for model in having}
    infos = [model.model_fields[name] for model in having]
    discriminator = _discriminator(models)
    if len(stored) > 1 or name == discriminator or (len(having) < len(models) and discriminator is None):
        known = " or ".join(model.__name__ for model in models)
        raise ModelError(
            f"{path!r}: {taken} may be {known}, and {name} depends on which of them it is; set {taken} as a whole"
        )
    if len(having) < len(models) and discriminator is not None:
        choices = [choice for model in having for choice in get_args(model.model_fields[discriminator].annotation)]
        values = tuple(value for value in map(encode, choices) if value is not None)
        way.variants.append(Variant(taken, name, f"{way.stored}.{discriminator}", values))
    way.stored += f".{stored.pop()}"
    way.annotation = reduce(or_, [_annotated(info.annotation, info.metadata) for info in infos])
    way.removable = not any(info.is_required() for info in infos)
    way.has_model_validators |= any(model.__pydantic_decorators__.model_validators for model in having)


def _discriminator(models: list[type[BaseModel]]) -> str | None:
    """The field that discriminates a union of models: each has values of its own for it."""
    for name in models[0].model_fields if len(models) > 1 else ():
        infos = [model.model_fields.get(name) for model in models]
        if all(info is not None and get_origin(info.annotation) is Literal for info in infos):
            names = {next(each[1] for each in stored_members(model) if each[0] == name) for model in models}
            if names == {name}:
                return name
    return None


def _annotated(annotation: Any, metadata: Iterable[Any]) -> Any:
    for marker in metadata:
        annotation = Annotated[annotation, marker]
    return annotation


def _options(annotation: Any) -> list[Any]:
    """The types that an annotation leaves open, without markers and without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _options(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [option for argument in get_args(annotation) for option in _options(argument)]
    return [] if annotation is type(None) else [annotation]


def _plain(annotation: Any) -> Any:
    """The type without markers and without None; Any for a choice of several."""
    options = _options(annotation)
    return options[0] if len(options) == 1 else Any


def _element(annotation: Any) -> Any:
    plain = _plain(annotation)
    return get_args(plain)[0] if get_origin(plain) in (list, tuple) and get_args(plain) else Any
