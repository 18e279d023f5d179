"""Types of fields as plain JSON, for snapshots: which values a field accepts, and how they are stored.

    Types().of(list[date] | None)     [{"kind": "list", "items": [{"kind": "date"}]}, {"kind": "None"}]

A type is a list of the members of its union. Each has a ``kind``, and whatever else decides which stored values it
reads, and as what:

    str, int, float, Decimal, bool, bytes, UUID, date, datetime     perhaps with ``limits``, and a ``class`` of its own
    seconds, milliseconds       a time as an epoch number
    choice                      the ``values`` of literals and enums that are ``stored`` with one type tag
    list, set, tuple            of ``items``; those of a tuple by position
    map                         of ``keys`` and ``values``
    model                       by its ``name``: its members are described once, however often it occurs, also in itself
    None, any, other            ``other`` is a class of which only the ``name`` is known

Validators are functions, and are not described.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import annotated_types
from pydantic import AwareDatetime, BaseModel, JsonValue
from pydantic.fields import FieldInfo

from tablewright.model.values.attribute_codec import Epoch, encode, resolve_alias, stored_members, time_text

__all__ = ["Alternative", "Type", "Types", "absence", "tag_of"]

Alternative = dict[str, Any]
Type = list[Alternative]

# What these make is always the same.
_PLAIN_FACTORIES = (list, dict, set, frozenset, tuple, str, int)

# In this order: a bool is an int, and a datetime is a date.
_SCALARS: Mapping[type, str] = {
    str: "str",
    bool: "bool",
    int: "int",
    Decimal: "Decimal",
    float: "float",
    datetime: "datetime",
    date: "date",
    UUID: "UUID",
    bytes: "bytes",
}
_TAGS: Mapping[str, str] = {
    "str": "S",
    "UUID": "S",
    "datetime": "S",
    "date": "S",
    "int": "N",
    "float": "N",
    "Decimal": "N",
    "seconds": "N",
    "milliseconds": "N",
    "bool": "BOOL",
    "bytes": "B",
    "list": "L",
    "tuple": "L",
    "set": "SET",
    "map": "M",
    "model": "M",
    "None": "NULL",
}
# What is said of values beside their type, by the attribute of the mark that says it.
_LIMITS: Mapping[str, str] = {
    "at least": "ge",
    "above": "gt",
    "at most": "le",
    "below": "lt",
    "multiple of": "multiple_of",
    "minimum length": "min_length",
    "maximum length": "max_length",
    "maximum digits": "max_digits",
    "maximum decimals": "decimal_places",
    "pattern": "pattern",
    "UUID version": "uuid_version",
    "strict": "strict",
    "without surrounding spaces": "strip_whitespace",
    "in lower case": "to_lower",
    "in upper case": "to_upper",
}

# The same, said of all texts of a model by its configuration.
_TEXTS: Mapping[str, str] = {
    "minimum length": "str_min_length",
    "maximum length": "str_max_length",
    "without surrounding spaces": "str_strip_whitespace",
    "in lower case": "str_to_lower",
    "in upper case": "str_to_upper",
}


def tag_of(alternative: Alternative) -> str:
    """The type tag that values are stored with; ``?`` if it depends on the value."""
    return _TAGS.get(alternative["kind"]) or str(alternative.get("stored", "?"))


class Types:
    """Describes types, and the models in them."""

    def __init__(self) -> None:
        # By name: the members, by the names that they are stored under, and whether others are refused.
        self.models: dict[str, dict[str, Any]] = {}
        self._names: dict[Any, str] = {}

    def of(self, annotation: Any, marks: Sequence[Any] = (), owner: type[BaseModel] | None = None) -> Type:
        """The type that an annotation is; the configuration of its ``owner`` says more of it."""
        found: Type = []
        for alternative in self._alternatives(annotation, tuple(marks), owner):
            known = next((each for each in found if _is_more_of(alternative, each)), None)
            if known is not None:
                known["values"] = sorted({*known["values"], *alternative["values"]})
            elif alternative not in found:
                found.append(alternative)
        return found

    def _alternatives(
        self, annotation: Any, marks: tuple[Any, ...], owner: type[BaseModel] | None
    ) -> Iterator[Alternative]:
        if annotation is JsonValue:
            # A type of pydantic's own: it does not take all that its definition names.
            yield {"kind": "other", "name": "JsonValue"}
            return
        annotation = resolve_alias(_filled(annotation))
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            yield from self._alternatives(arguments[0], (*arguments[1:], *marks), owner)
        elif origin is Union or origin is UnionType:
            for argument in arguments:
                yield from self._alternatives(argument, marks, owner)
        elif isinstance(annotation, TypeVar):
            for bound in annotation.__constraints__ or (annotation.__bound__ or Any,):
                yield from self._alternatives(bound, marks, owner)
        elif annotation is None or annotation is NoneType:
            yield {"kind": "None"}
        elif origin is Literal:
            yield from _choices(arguments)
        elif isinstance(annotation, type) and issubclass(annotation, Enum):
            yield from _choices(annotation)
        else:
            found = self._class(origin or annotation, arguments, marks, owner)
            limits = {**_configured(found["kind"], owner), **dict(_limits(marks))}
            yield {**found, "limits": limits} if limits else found

    def _class(
        self, kind: Any, arguments: tuple[Any, ...], marks: tuple[Any, ...], owner: type[BaseModel] | None
    ) -> Alternative:
        def of(annotation: Any) -> Type:
            return self.of(annotation, (), owner)

        if kind is Any or kind is object:
            return {"kind": "any"}
        if kind is AwareDatetime:
            # As every time of an entity is.
            kind = datetime
        if not isinstance(kind, type):
            return {"kind": "other", "name": str(getattr(kind, "__name__", kind))}
        if issubclass(kind, BaseModel):
            return {"kind": "model", "name": self._model(kind)}
        for scalar, name in _SCALARS.items():
            if issubclass(kind, scalar):
                return _scalar(kind, scalar, name, marks)
        if hasattr(kind, "__required_keys__"):
            return {"kind": "model", "name": self._typed_dict(kind, owner)}
        if issubclass(kind, Mapping):
            keys, values = arguments if len(arguments) == 2 else (Any, Any)
            return {"kind": "map", "keys": of(keys), "values": of(values)}
        if issubclass(kind, AbstractSet):
            return {"kind": "set", "items": of(arguments[0] if arguments else Any)}
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            hints = get_type_hints(kind, include_extras=True)
            return {"kind": "tuple", "items": [of(hints.get(name, Any)) for name in kind._fields]}
        if issubclass(kind, tuple) and arguments and arguments[-1] is not ...:
            return {"kind": "tuple", "items": [of(argument) for argument in arguments]}
        if issubclass(kind, Sequence):
            return {"kind": "list", "items": of(arguments[0] if arguments else Any)}
        return {"kind": "other", "name": kind.__name__}

    # -- models -------------------------------------------------------------------------------------------------

    def _model(self, model: type[BaseModel]) -> str:
        if model in self._names:
            return self._names[model]
        name, described = self._new(model)
        for field, stored, _, _ in stored_members(model):
            described["members"][stored] = self._member(model.model_fields[field], model)
        if model.model_config.get("extra") == "forbid":
            described["closed"] = True
        return name

    def _new(self, model: Any) -> tuple[str, dict[str, Any]]:
        """A name for a model, which no other has, and a place for what is said of it."""
        name = model.__name__
        while name in self.models:
            name += "'"
        self._names[model] = name
        self.models[name] = {"members": {}}
        return name, self.models[name]

    def _member(self, info: FieldInfo, owner: type[BaseModel]) -> dict[str, Any]:
        """What is stored of a member of a model."""
        kind = self.of(info.annotation, info.metadata, owner)
        optional = any(each["kind"] == "None" for each in kind)
        found: dict[str, Any] = {"type": kind, "absent": "refused" if info.is_required() else absence(info)}
        if optional and found["absent"] != "None":
            found["nulls"] = True
        return found

    def _typed_dict(self, kind: Any, owner: type[BaseModel] | None) -> str:
        if kind in self._names:
            return self._names[kind]
        name, described = self._new(kind)
        for key, annotation in get_type_hints(kind, include_extras=True).items():
            plain = get_args(annotation)[0] if str(get_origin(annotation)).endswith("Required") else annotation
            member: dict[str, Any] = {"type": self.of(plain, (), owner)}
            member["absent"] = "refused" if key in kind.__required_keys__ else "left out"
            if any(each["kind"] == "None" for each in member["type"]):
                member["nulls"] = True
            described["members"][key] = member
        return name


def _is_more_of(one: Alternative, other: Alternative) -> bool:
    return bool(one["kind"] == other["kind"] == "choice" and one["stored"] == other["stored"])


def _filled(annotation: Any) -> Any:
    """A type alias that has parameters, with those that it is given."""
    alias, arguments = get_origin(annotation), get_args(annotation)
    value = getattr(alias, "__value__", None)
    if value is None or not arguments:
        return annotation
    given = dict(zip(alias.__type_params__, arguments, strict=False))
    return value[tuple(given.get(each, Any) for each in getattr(value, "__parameters__", ()))]


def _choices(values: Iterable[Any]) -> Iterator[Alternative]:
    """Values as they are stored, by their tags."""
    by_tag: dict[str, list[str]] = {}
    for value in values:
        encoded = encode(value) or {"NULL": True}
        by_tag.setdefault(next(iter(encoded)), []).append(json.dumps(encoded))
    for tag, stored in by_tag.items():
        yield {"kind": "None"} if tag == "NULL" else {"kind": "choice", "stored": tag, "values": sorted(set(stored))}


def _scalar(kind: type, scalar: type, name: str, marks: tuple[Any, ...]) -> Alternative:
    units = {mark.unit for mark in marks if isinstance(mark, Epoch)}
    if name == "datetime" and units:
        name = "milliseconds" if timedelta(milliseconds=1) in units else "seconds"
    return {"kind": name} if kind is scalar else {"kind": name, "class": kind.__name__}


def absence(info: FieldInfo) -> Any:
    """The default of a field: None, an empty set, a value, or one that a factory makes each time."""
    default = info.default
    if info.default_factory is not None:
        if info.default_factory not in _PLAIN_FACTORIES:
            return "made"
        default = info.default_factory()
    if default is None:
        return "None"
    try:
        stored = encode(default)
    except (TypeError, ValueError):
        return "made"
    return "empty" if stored is None else {"default": json.dumps(stored)}


# -- limits ---------------------------------------------------------------------------------------------------------


def _configured(kind: str, owner: type[BaseModel] | None) -> dict[str, Any]:
    """What the configuration of a model says of all its texts, and of all its fields."""
    config = {} if owner is None else owner.model_config
    names = {"strict": "strict"}
    if kind == "str":
        names |= _TEXTS
    return {name: config[key] for name, key in names.items() if config.get(key)}  # type: ignore[literal-required]


def _limits(marks: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for mark in marks:
        if isinstance(mark, annotated_types.GroupedMetadata):
            yield from _limits(mark)
        elif isinstance(mark, FieldInfo):
            # What Field(...) says inside of a container.
            yield from _limits(mark.metadata)
        if isinstance(mark, annotated_types.Predicate):
            yield "only if", getattr(mark.func, "__qualname__", repr(type(mark.func)))
        if isinstance(mark, type):
            continue
        for name, attribute in _LIMITS.items():
            value = getattr(mark, attribute, None)
            if value is not None and value is not False:
                yield name, _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, datetime):
        return time_text(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    return str(value)
