"""Which types can be stored: those whose every value comes back equal from an item.

A value goes into an item by what it is (see ``attributes``), and is made of plain values again by pydantic, as the
type says. Both are possible for more types than one would think, and so is a type whose values go in and do not come
back: text that is decoded each time it is read, a choice that a plain value does not match, a key of a map that text
cannot tell from another. Such a type is refused when it is declared, with what to use instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    FutureDate,
    FutureDatetime,
    NaiveDatetime,
    RootModel,
    Strict,
    TypeAdapter,
)
from pydantic.fields import FieldInfo
from typing_extensions import ReadOnly, is_typeddict

from tablewright.model.values.attribute_codec import (
    Epoch,
    accepted_names,
    decode,
    encode,
    has_encoder,
    named,
    stored_members,
    stored_types,
)

# Text can tell their values apart, and pydantic reads them from it.
_KEYS = (str, int, float, Decimal, date, UUID, Enum)
# What an item gives of these is a value of the type itself.
_STRICTLY = (str, int, float, bytes, list, dict)
_USES = "use one of the types that do, or a pydantic model of them"


def why_not(annotation: Any, markers: Sequence[Any] = (), *, strict: bool = False) -> str | None:
    """Why values of a type cannot be stored and read again, and what to do; None if they can.

    Models are looked into by ``why_not_model``. ``strict`` says that the model around it takes no other types.
    """
    return next(_reasons(annotation, tuple(markers), strict), None)


def why_not_model(model: type[BaseModel]) -> str | None:
    """Why a nested model as a whole cannot be stored and read again, apart from the types of its fields."""
    if issubclass(model, RootModel):
        return f"{model.__name__} is a RootModel, and an item has what is in it: declare the type of its root itself"
    core: Any = model.__pydantic_core_schema__
    found = [core, *core.get("definitions", ())]
    if any("extras_schema" in part.get("schema", {}) for part in found if part.get("cls") is model):
        return f"{model.__name__} gives its extra members a type; keep them in a field that is a dict"
    stored = {name: stored_name for name, stored_name, *_ in stored_members(model)}
    for name in stored:
        place = f"{model.__name__}.{name}"
        if any(len(path.path) > 1 for path in _alias_paths(model.model_fields[name])):
            return f"{place} is read by a path into something else; give it a plain alias"
        accepted = accepted_names(model, name)
        if stored[name] not in accepted:
            return f"{place} is stored as {stored[name]!r} and read as {' or '.join(accepted)}; give it one alias=..."
        for other, other_name in stored.items():
            if other != name and other_name in accepted:
                return f"{place} would be read from {other_name!r}, which {other} is stored as; give it another alias"
    return None


def _alias_paths(info: FieldInfo) -> list[AliasPath]:
    alias = info.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [choice for choice in choices if isinstance(choice, AliasPath)]


def _reasons(annotation: Any, markers: tuple[Any, ...], strict: bool) -> Iterator[str]:
    annotation = named(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = [part for each in arguments[1:] for part in (each.metadata if isinstance(each, FieldInfo) else [each])]
        yield from _reasons(arguments[0], (*inner, *markers), strict)
        return
    yield from _reasons_of_markers(markers)
    if origin is Union or origin is UnionType:
        for argument in arguments:
            yield from _reasons(argument, tuple(marker for marker in markers if isinstance(marker, Strict)), strict)
        return
    if origin is Literal:
        yield from _reasons_of_choices(annotation, arguments)
        return
    try:
        stored_types(annotation, markers)
    except TypeError as error:
        yield f"{error}; {_USES}"
        return
    kind = origin or annotation
    if not isinstance(kind, type) or kind in (Any, object, type(None)):
        return
    if _is_strict(markers, strict) and (issubclass(kind, Enum) or not issubclass(kind, _STRICTLY)):
        yield f"{kind.__name__} is stored as something else, which strict does not read; drop strict"
    if issubclass(kind, Enum):
        yield from _reasons_of_choices(kind, tuple(kind))
    elif not issubclass(kind, BaseModel):
        yield from _reasons_of_members(kind, arguments, strict)


def _is_strict(markers: tuple[Any, ...], strict: bool) -> bool:
    if any(isinstance(marker, Epoch) for marker in markers):
        # What is counted is made a time before it is looked at.
        return False
    return next((marker.strict for marker in reversed(markers) if isinstance(marker, Strict)), strict)


def _reasons_of_markers(markers: tuple[Any, ...]) -> Iterator[str]:
    for marker in markers:
        # By name: to a type checker, most of these are no classes.
        name = marker.__name__ if isinstance(marker, type) else type(marker).__name__
        if name in ("EncodedBytes", "EncodedStr"):
            yield "it is decoded whenever it is read, also from an item; declare bytes or str, and decode it before"
        elif name == "Json":
            yield "Json is read from text, and an item has what was in it; declare that type itself"
        elif name in ("InstanceOf", "SkipValidation"):
            yield f"{name} does not make anything of what is stored; drop it, or declare the type as it is stored"


def _reasons_of_choices(kind: Any, choices: tuple[Any, ...]) -> Iterator[str]:
    plain = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    if plain == list(choices) and {*map(type, plain)} <= {str, int, bool, type(None)}:
        return
    if isinstance(kind, type) and {*map(type, plain)} in ({str}, {int}):
        return
    for choice in choices:
        if choice is not None and not _comes_back(kind, choice):
            yield f"{choice!r} does not come back as it was stored; choose among texts, or among whole numbers"
            return


def _comes_back(kind: Any, choice: Any) -> bool:
    try:
        stored = encode(choice)
        read = None if stored is None else _adapter(kind).validate_python(decode(stored))
    except (TypeError, ValueError):
        return False
    return type(read) is type(choice) and bool(read == choice)


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _reasons_of_members(kind: type, arguments: tuple[Any, ...], strict: bool) -> Iterator[str]:
    if kind in (FutureDate, FutureDatetime):
        yield f"{kind.__name__} is over one day, and then it cannot be read; declare a date or a datetime"
    elif kind is NaiveDatetime:
        yield "times have a time zone here; declare a datetime"
    elif is_typeddict(kind):
        yield from _reasons_of_typed_dict(kind, strict)
    elif members := members_of(kind):
        for annotation in members.values():
            yield from _reasons(annotation, (), strict)
    elif issubclass(kind, Sequence) and inspect.isabstract(kind):
        yield f"{kind.__name__} may be a list or a tuple, and an item does not tell them apart; say which it is"
    elif not has_encoder(kind) and issubclass(kind, Sequence | AbstractSet | Mapping) and not inspect.isabstract(kind):
        yield f"{kind.__name__} has no place in an item; use a list, a tuple, a set or a dict"
    else:
        if arguments and issubclass(kind, Mapping):
            yield from _reasons_of_key(arguments[0], strict)
        if arguments and issubclass(kind, AbstractSet):
            yield from _reasons_of_set(arguments[0])
        for argument in arguments:
            if argument is not ...:
                yield from _reasons(argument, (), strict)


def _reasons_of_typed_dict(kind: type, strict: bool) -> Iterator[str]:
    config = getattr(kind, "__pydantic_config__", {})
    if config.get("alias_generator") is not None:
        yield f"{kind.__name__} has aliases; declare it as a pydantic model"
    for name, annotation in members_of(kind).items():
        markers = getattr(annotation, "__metadata__", ())
        if any(isinstance(each, FieldInfo) and (each.alias or each.validation_alias) for each in markers):
            yield f"{kind.__name__}: {name} has an alias; declare it as a pydantic model"
        yield from _reasons(annotation, (), bool(config.get("strict", strict)))


def members_of(kind: Any) -> dict[str, Any]:
    """The types of the members of a TypedDict or a NamedTuple; nothing for any other type."""
    if not is_typeddict(kind) and not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return {}
    members = get_type_hints(kind, include_extras=True)
    for name, annotation in members.items():
        while get_origin(annotation) in (Required, NotRequired, ReadOnly):
            annotation = get_args(annotation)[0]
        members[name] = annotation
    return members


def _reasons_of_key(annotation: Any, strict: bool) -> Iterator[str]:
    """The keys of a map are text."""
    annotation, markers = named(annotation), ()
    while get_origin(annotation) is Annotated:
        markers = (*get_args(annotation)[1:], *markers)
        annotation = named(get_args(annotation)[0])
    if _is_strict(markers, strict) and annotation is not str:
        yield "the keys of a map are text, which strict does not read as anything else; drop strict"
    if get_origin(annotation) is Literal:
        if not all(type(each) is str for each in get_args(annotation)):
            yield "the keys of a map are text, and these would not come back; use texts"
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        if not all(type(each.value) in (str, int) for each in annotation):
            yield "the keys of a map are text, and these would not come back; use an enum of texts"
    elif not (isinstance(annotation, type) and issubclass(annotation, _KEYS)) and stored_types(annotation) != {"S"}:
        yield "the keys of a map are text, and these would not come back; use dict[str, ...], or a list of models"


def _reasons_of_set(annotation: Any) -> Iterator[str]:
    try:
        members = stored_types(annotation)
    except TypeError:
        # Told of the member itself.
        return
    if len(members) != 1 or not members <= {"S", "N", "B", None}:
        yield "a set holds only texts, only numbers or only bytes; use a list"
