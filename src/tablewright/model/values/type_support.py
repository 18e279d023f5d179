"""Which types can be stored: those whose values are read back equal to what was written.

A value is encoded by what it is (see ``attribute_codec``), and pydantic makes a value of the declared type from what is
decoded. There are types whose values can be written and are not read back equal: text that is decoded each time it is
validated, an enum of values that are stored alike, keys of a map that are equal as text. Such a type is rejected when
it is declared, and the message says what to use instead.
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
    resolve_alias,
    stored_members,
    stored_types,
)

# As text, different values are different, and pydantic parses them.
_KEYS = (str, int, float, Decimal, date, UUID, Enum)
# Decoding gives values of these types themselves.
_STRICTLY = (str, int, float, bytes, list, dict)
_USES = "use a type that can, or a pydantic model of such types"


def unsupported_reason(annotation: Any, markers: Sequence[Any] = (), *, strict: bool = False) -> str | None:
    """Why values of a type cannot be stored and read back, and what to use instead; None if they can.

    Nested models are checked by ``unsupported_model_reason``. ``strict`` is that of the model with the field.
    """
    return next(_reasons(annotation, tuple(markers), strict), None)


def unsupported_model_reason(model: type[BaseModel]) -> str | None:
    """Why a nested model cannot be stored and read back, apart from the types of its fields; None if it can."""
    if issubclass(model, RootModel):
        return f"{model.__name__} is a RootModel, of which only the root is stored; declare the type of the root itself"
    core: Any = model.__pydantic_core_schema__
    found = [core, *core.get("definitions", ())]
    if any("extras_schema" in part.get("schema", {}) for part in found if part.get("cls") is model):
        return f"{model.__name__} declares a type for extra fields; declare a field that is a dict instead"
    stored = {name: stored_name for name, stored_name, *_ in stored_members(model)}
    for name in stored:
        place = f"{model.__name__}.{name}"
        if any(len(path.path) > 1 for path in _alias_paths(model.model_fields[name])):
            return f"{place} has an AliasPath, which is not stored; give it a plain alias"
        accepted = accepted_names(model, name)
        if stored[name] not in accepted:
            return (
                f"{place} is stored as {stored[name]!r} and read as {' or '.join(accepted)}; give it a single alias=..."
            )
        for other, other_name in stored.items():
            if other != name and other_name in accepted:
                return f"{place} would be read from {other_name!r}, which {other} is stored as; give it another alias"
    return None


def _alias_paths(info: FieldInfo) -> list[AliasPath]:
    alias = info.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [choice for choice in choices if isinstance(choice, AliasPath)]


def _reasons(annotation: Any, markers: tuple[Any, ...], strict: bool) -> Iterator[str]:
    annotation = resolve_alias(annotation)
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
        yield f"{kind.__name__} is stored as another type, which strict mode rejects; remove strict"
    if issubclass(kind, Enum):
        yield from _reasons_of_choices(kind, tuple(kind))
    elif not issubclass(kind, BaseModel):
        yield from _reasons_of_members(kind, arguments, strict)


def _is_strict(markers: tuple[Any, ...], strict: bool) -> bool:
    if any(isinstance(marker, Epoch) for marker in markers):
        # A count is made a time before it is validated.
        return False
    return next((marker.strict for marker in reversed(markers) if isinstance(marker, Strict)), strict)


def _reasons_of_markers(markers: tuple[Any, ...]) -> Iterator[str]:
    for marker in markers:
        # By name: to a type checker, most of these are not classes.
        name = marker.__name__ if isinstance(marker, type) else type(marker).__name__
        if name in ("EncodedBytes", "EncodedStr"):
            yield (
                "its values are decoded at every validation, also when they are read; declare bytes or str, and "
                "decode before"
            )
        elif name == "Json":
            yield "Json parses text, but the parsed value is stored; declare the type of that value"
        elif name in ("InstanceOf", "SkipValidation"):
            yield f"{name} cannot convert what is stored; remove it, or declare the type as it is stored"


def _reasons_of_choices(kind: Any, choices: tuple[Any, ...]) -> Iterator[str]:
    plain = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    if plain == list(choices) and {*map(type, plain)} <= {str, int, bool, type(None)}:
        return
    if isinstance(kind, type) and {*map(type, plain)} in ({str}, {int}):
        return
    for choice in choices:
        if choice is not None and not _comes_back(kind, choice):
            yield f"{choice!r} would not be read back as the same value; use only strings or only integers"
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
        yield (
            f"{kind.__name__} becomes invalid as time passes, and could no longer be read; declare a date or a datetime"
        )
    elif kind is NaiveDatetime:
        yield "times need a time zone; declare a datetime"
    elif is_typeddict(kind):
        yield from _reasons_of_typed_dict(kind, strict)
    elif members := members_of(kind):
        for annotation in members.values():
            yield from _reasons(annotation, (), strict)
    elif issubclass(kind, Sequence) and inspect.isabstract(kind):
        yield f"{kind.__name__} may be a list or a tuple, which are stored the same way; declare one of them"
    elif not has_encoder(kind) and issubclass(kind, Sequence | AbstractSet | Mapping) and not inspect.isabstract(kind):
        yield f"{kind.__name__} cannot be stored in an item; use a list, a tuple, a set or a dict"
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
    annotation, markers = resolve_alias(annotation), ()
    while get_origin(annotation) is Annotated:
        markers = (*get_args(annotation)[1:], *markers)
        annotation = resolve_alias(get_args(annotation)[0])
    if _is_strict(markers, strict) and annotation is not str:
        yield "the keys of a map are stored as text, which strict mode rejects for other types; remove strict"
    if get_origin(annotation) is Literal:
        if not all(type(each) is str for each in get_args(annotation)):
            yield "the keys of a map are stored as text, and these would not be read back; use strings"
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        if not all(type(each.value) in (str, int) for each in annotation):
            yield "the keys of a map are stored as text, and these would not be read back; use an enum of strings"
    elif not (isinstance(annotation, type) and issubclass(annotation, _KEYS)) and stored_types(annotation) != {"S"}:
        yield (
            "the keys of a map are stored as text, and these would not be read back; use dict[str, ...] or a "
            "list of models"
        )


def _reasons_of_set(annotation: Any) -> Iterator[str]:
    try:
        members = stored_types(annotation)
    except TypeError:
        # The member itself is reported.
        return
    if len(members) != 1 or not members <= {"S", "N", "B", None}:
        yield "the members of a set must be all text, all numbers or all bytes; use a list"
