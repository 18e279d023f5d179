"""Python values as DynamoDB attribute values, and back.

A value is encoded by what it is (``str`` is S, ``int``, ``float`` and ``Decimal`` are N, a model is M, ...), with one
exception: a time is text (ISO 8601, UTC, microseconds, ``Z``) unless its declared type is a count since 1970
(``EpochSeconds``, ``EpochMillis``, also inside of lists, maps and models). Decoding gives plain Python values, of which
pydantic makes values of the declared type. Values are read back equal, within these limits:

* Numbers have up to 38 digits; more are rejected, never rounded. A ``float`` is stored as the shortest decimal that
  equals it, and is the same float again; where the type is ``Any`` it is read as ``int`` or ``Decimal``.
* Times without a zone are rejected: a key that sorts by local time sorts wrongly twice a year.
* DynamoDB has no empty sets: a missing set is read as empty, or as None where the type allows that. Inside of lists and
  maps, where nothing can be missing, an empty list is stored instead.
* For a union of types that are stored alike (``UUID | str``), pydantic chooses the type.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache, lru_cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from tablewright.dynamo import AttributeValue, ValidationException, canonical_number
from tablewright.dynamo.limits import MAX_DIGITS, MAX_EXPONENT, MIN_EXPONENT

# What other packages use.
__all__ = [
    "Encoder",
    "Epoch",
    "decode",
    "encode",
    "encoder_for",
    "number_text",
    "resolve_alias",
    "stored_members",
    "stored_types",
    "time_text",
]

Encoder = Callable[[Any], AttributeValue | None]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = 10**MAX_DIGITS


# -- times ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Epoch:
    """Marks a time that is stored as a whole number of ``unit`` since 1970."""

    unit: timedelta

    def encode(self, time: datetime) -> AttributeValue:
        return {"N": str(_since_epoch(time) // self.unit)}

    def decode(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return value
        return self.read(value)

    def read(self, count: str | float | Decimal) -> datetime:
        """The time that is ``count`` units after 1970; text is a count as it is stored."""
        try:
            return _EPOCH + int(count) * self.unit
        except (OverflowError, TypeError, ValueError):
            raise ValueError(f"{count} is out of the range of Python's times") from None

    def truncate(self, time: datetime) -> datetime:
        """The time as it will be read back, in whole units."""
        since = _since_epoch(time)
        rest = since % self.unit
        return time if not rest and time.tzinfo is UTC else _EPOCH + (since - rest)


_SECONDS = Epoch(timedelta(seconds=1))
_MILLISECONDS = Epoch(timedelta(milliseconds=1))

EpochSeconds = Annotated[datetime, _SECONDS, BeforeValidator(_SECONDS.decode), AfterValidator(_SECONDS.truncate)]
"""A time stored as whole seconds since 1970, as time to live needs it."""

EpochMillis = Annotated[
    datetime, _MILLISECONDS, BeforeValidator(_MILLISECONDS.decode), AfterValidator(_MILLISECONDS.truncate)
]
"""A time stored as whole milliseconds since 1970."""


def to_utc(time: datetime) -> datetime:
    """The time in UTC; raises ValueError if it has no time zone."""
    if time.tzinfo is None:
        raise ValueError(f"{time.isoformat()} has no time zone; give it one, such as datetime.UTC")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        # Within a day of the first or the last time of Python.
        raise ValueError(f"{time.isoformat()} is out of the range of Python's times in UTC") from None


def _since_epoch(time: datetime) -> timedelta:
    return (time if time.tzinfo is UTC else to_utc(time)) - _EPOCH


def time_text(time: datetime) -> str:
    """Fixed width, so that text order is time order."""
    text = time.isoformat()
    if not text.endswith("+00:00"):
        text = to_utc(time).isoformat()
    # isoformat omits microseconds where there are none; timespec= would take half as long again.
    return text[:26] + "Z" if text[19] == "." else text[:19] + ".000000Z"


# -- numbers --------------------------------------------------------------------------------------------------------


def number(text: str) -> int | Decimal:
    """A stored number: an ``int`` where it is written as one."""
    if text.isdecimal():
        return int(text)
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def number_text(value: float | Decimal) -> str:
    """A number as DynamoDB writes it: without exponent, and without insignificant zeros."""
    try:
        return canonical_number(repr(value) if isinstance(value, float) else str(value))
    except ValidationException:
        raise ValueError(
            f"{value} is not a number that DynamoDB can store: at most {MAX_DIGITS} digits, "
            f"from 1E{MIN_EXPONENT} to 9.99E+{MAX_EXPONENT}"
        ) from None


def _encode_int(value: int) -> AttributeValue:
    return {"N": str(value) if -_INTEGERS < value < _INTEGERS else number_text(value)}


# -- encoding -------------------------------------------------------------------------------------------------------


def encode(value: Any) -> AttributeValue | None:
    """The attribute value of a Python value; None for what is not stored (None itself, and empty sets)."""
    kind: Any = type(value)
    encoder = _ENCODERS.get(kind)
    return _encoder_of(kind)(value) if encoder is None else encoder(value)


def has_encoder(kind: type) -> bool:
    """Whether values of a class can be stored."""
    return _encoder_of(kind) is not _refuse


@lru_cache(maxsize=4096)
def _encoder_of(kind: type) -> Encoder:
    """How values of a class are encoded: as those of the first known class that it belongs to."""
    return next((encoder for known, encoder in _ENCODERS.items() if issubclass(kind, known)), _refuse)


def _refuse(value: Any) -> AttributeValue | None:
    raise TypeError(f"{value!r} has the type {type(value).__name__}, which DynamoDB cannot store")


def encoder_for(annotation: Any, markers: Iterable[Any] = ()) -> Encoder:
    """The encoder for a declared type: by value, except for epoch times."""
    return _dispatching(_counted(Annotated[annotation, *markers] if (markers := tuple(markers)) else annotation))


def _dispatching(special: Mapping[type, Encoder]) -> Encoder:
    if not special:
        return encode
    return lambda value: special.get(type(value), encode)(value)


def _counted(annotation: Any) -> dict[type, Encoder]:
    """The types of values under an annotation that are not encoded by the value alone."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        for marker in arguments[1:]:
            if isinstance(marker, Epoch):
                return {datetime: marker.encode}
        return _counted(arguments[0])
    if origin is Union or origin is UnionType:
        return {kind: encoder for argument in arguments for kind, encoder in _counted(argument).items()}
    if not isinstance(origin, type):
        return {}
    if issubclass(origin, Mapping):
        member = _counted(arguments[1])
        return {dict: lambda value: _encode_map(value, _dispatching(member))} if member else {}
    if issubclass(origin, tuple) and arguments and arguments[-1] is not ...:
        places = [_counted(argument) for argument in arguments]
        return {tuple: _by_place(tuple(map(_dispatching, places)))} if any(places) else {}
    if issubclass(origin, Sequence | AbstractSet):
        members = {kind: encoder for argument in arguments for kind, encoder in _counted(argument).items()}
        if not members:
            return {}
        one = _dispatching(members)
        as_list: Encoder = lambda value: _encode_list(value, one)  # noqa: E731
        as_set: Encoder = lambda value: _encode_set(value, one)  # noqa: E731
        return {list: as_list, tuple: as_list, set: as_set, frozenset: as_set}
    return {}


def _by_place(encoders: tuple[Encoder, ...]) -> Encoder:
    """The encoder of a tuple with a type for each member."""
    return lambda value: {"L": [_member(member, one) for member, one in zip(value, encoders, strict=True)]}


def resolve_alias(annotation: Any) -> Any:
    """The type behind a NewType or a type alias."""
    while (target := getattr(annotation, "__supertype__", getattr(annotation, "__value__", None))) is not None:
        annotation = target
    return annotation


def _member(value: Any, one: Encoder) -> AttributeValue:
    """A member of a list or map, where every value has to be stored."""
    encoded = one(value)
    if encoded is not None:
        return encoded
    return {"NULL": True} if value is None else {"L": []}


@cache
def stored_members(model: type[BaseModel]) -> tuple[tuple[str, str, Encoder, Any], ...]:
    """The fields of a model: name, name in the stored map, encoder, and the value when it is missing."""
    return tuple(
        (
            name,
            info.serialization_alias or info.alias or name,
            encoder_for(info.annotation, info.metadata),
            _absent(info),
        )
        for name, info in model.model_fields.items()
    )


def _absent(info: FieldInfo) -> Any:
    """The value of a field that is not stored; ... if it has none, or not always the same."""
    if info.default_factory is not None:
        return set() if info.default_factory in (set, frozenset) else ...
    return ... if info.is_required() else info.default


@cache
def accepted_names(model: type[BaseModel], name: str) -> tuple[str, ...]:
    """The names in a map from which a field of a model is read."""
    alias, config = model.model_fields[name].validation_alias, model.model_config
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    names = [choice.path[0] if isinstance(choice, AliasPath) else choice for choice in choices if choice is not None]
    if config.get("validate_by_alias") is False:
        names = []
    if alias is None or config.get("populate_by_name") or config.get("validate_by_name"):
        names.append(name)
    return tuple(dict.fromkeys(str(each) for each in names))


def _encode_model(model: BaseModel) -> AttributeValue:
    members: dict[str, AttributeValue] = {}
    values = model.__dict__
    for name, stored_name, one, absent in stored_members(type(model)):
        value = values[name]
        encoded = one(value)
        if encoded is not None:
            members[stored_name] = encoded
        elif value != absent:
            members[stored_name] = _member(value, one)
    if model.__pydantic_extra__:
        members.update(_encode_extra(type(model), model.__pydantic_extra__))
    return {"M": members}


def _encode_extra(model: type[BaseModel], extra: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The extra fields of a model."""
    for name in model.model_fields:
        for taken in {*accepted_names(model, name), *(each[1] for each in stored_members(model) if each[0] == name)}:
            if taken in extra:
                raise ValueError(f"{taken} is the stored name of {model.__name__}.{name}; set {name} instead")
    return {name: _member(value, encode) for name, value in extra.items()}


def _encode_set(values: Iterable[Any], one: Encoder = encode) -> AttributeValue | None:
    encoded = [one(value) for value in values]
    if not encoded:
        return None
    tags = {None if value is None else next(iter(value)) for value in encoded}
    (tag, *others) = tags
    if others or tag not in ("S", "N", "B"):
        raise TypeError("the members of a set must be all text, all numbers or all bytes")
    return {f"{tag}S": sorted(value[tag] for value in encoded if value is not None)}


def _encode_list(values: Iterable[Any], one: Encoder = encode) -> AttributeValue:
    # Most members are text, as below.
    return {"L": [{"S": value} if type(value) is str else _member(value, one) for value in values]}


def _encode_map(values: Mapping[Any, Any], one: Encoder = encode) -> AttributeValue:
    return {
        "M": {
            name if type(name) is str else _name(name): {"S": value} if type(value) is str else _member(value, one)
            for name, value in values.items()
        }
    }


def _name(key: Any) -> str:
    """The key of a map, which is always text."""
    if isinstance(key, Enum):
        return _name(key.value)
    return time_text(key) if isinstance(key, datetime) else str(key)


_ENCODERS: dict[type, Encoder] = {
    # Enum before the rest: a string enum is a string too, and its value is what counts.
    Enum: lambda value: encode(value._value_),
    BaseModel: _encode_model,
    str: lambda value: {"S": str(value)},
    bool: lambda value: {"BOOL": value},
    int: _encode_int,
    Decimal: lambda value: {"N": number_text(value)},
    float: lambda value: {"N": number_text(value)},
    datetime: lambda value: {"S": time_text(value)},
    date: lambda value: {"S": value.isoformat()},
    UUID: lambda value: {"S": str(value)},
    bytes: lambda value: {"B": b64encode(value).decode()},
    type(None): lambda value: None,
    list: _encode_list,
    dict: _encode_map,
    set: _encode_set,
    frozenset: _encode_set,
    tuple: _encode_list,
}


# -- decoding -------------------------------------------------------------------------------------------------------


def decode(value: AttributeValue) -> Any:
    """An attribute value as a plain Python value."""
    ((tag, content),) = value.items()
    return _DECODERS[tag](content)


def _decode_map(content: Mapping[str, AttributeValue]) -> dict[str, Any]:
    # Most members are text.
    return {name: value["S"] if "S" in value else decode(value) for name, value in content.items()}


def decode_list(content: Sequence[AttributeValue]) -> list[Any]:
    return [value["S"] if "S" in value else decode(value) for value in content]


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "S": lambda content: content,
    "N": number,
    "BOOL": lambda content: content,
    "NULL": lambda content: None,
    "B": b64decode,
    "M": _decode_map,
    "L": decode_list,
    "SS": set,
    "NS": lambda content: {number(text) for text in content},
    "BS": lambda content: {b64decode(text) for text in content},
}


# -- declared types -------------------------------------------------------------------------------------------------

# By the tag under which they are stored; what is not here is a list, a set or a map.
_SCALARS: dict[type, str] = {
    str: "S",
    bool: "BOOL",
    int: "N",
    Decimal: "N",
    float: "N",
    datetime: "S",
    date: "S",
    UUID: "S",
    bytes: "B",
}
# pydantic's types for texts, dates and times that are not subclasses of those. By name, as most are never imported.
_OTHER_NAMES = frozenset(
    [
        "pydantic.networks.EmailStr",
        *(f"pydantic.types.{name}" for name in ("PastDate", "FutureDate", "AwareDatetime", "NaiveDatetime")),
        *(f"pydantic.types.{name}" for name in ("PastDatetime", "FutureDatetime")),
    ]
)


def stored_types(annotation: Any, markers: Iterable[Any] = ()) -> frozenset[str | None]:
    """The types that values of an annotation are stored as; None stands for one that is not known beforehand.

    Raises TypeError for a type that cannot be stored.
    """
    if any(isinstance(marker, Epoch) for marker in markers):
        return frozenset("N" if tag == "S" else tag for tag in stored_types(annotation))
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return stored_types(arguments[0], arguments[1:])
    if origin is Union or origin is UnionType:
        return frozenset().union(*map(stored_types, arguments))
    if annotation is None or annotation is type(None):
        return frozenset(["NULL"])
    if origin is not None and not isinstance(origin, type):
        # A Literal: its members are values.
        return frozenset(tag for value in arguments for tag in (encode(value) or {"NULL": True}))
    for argument in arguments:
        if argument is not ...:
            stored_types(argument)
    return _stored_types_of_class(origin or annotation)


def _stored_types_of_class(kind: Any) -> frozenset[str | None]:
    if not isinstance(kind, type):
        return frozenset([None])
    if issubclass(kind, Enum):
        return frozenset(tag for member in kind for tag in (encode(member) or {"NULL": True}))
    if issubclass(kind, BaseModel):
        return frozenset("M")
    for scalar, tag in _SCALARS.items():
        if issubclass(kind, scalar):
            return frozenset([tag])
    if issubclass(kind, Mapping):
        return frozenset("M")
    if issubclass(kind, AbstractSet):
        return frozenset(["SET"])
    if issubclass(kind, Sequence):
        return frozenset("L")
    if f"{kind.__module__}.{kind.__qualname__}" in _OTHER_NAMES:
        return frozenset("S")
    if kind in (object, Any):
        return frozenset([None])
    raise TypeError(f"{kind.__name__} cannot be stored in an item")
