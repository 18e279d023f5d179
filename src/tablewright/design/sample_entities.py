"""Sample entities, made from their declaration: valid, and always the same.

    sample(Ticket)        the first ticket: ticket_id "ticket-1", created_at 2026-01-15T09:31:00Z, ...
    sample(Ticket, 1)     the second one

A value follows from a field's type, name and default; ``Field(examples=[...])`` gives better ones. The first samples of
two entities have the same ``ticket_id``, so that they are in one item collection.

A validator may require something that the type does not show. So several candidates are tried for each field, until
pydantic accepts the entity: a value that it refuses is replaced by the next candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain, islice
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin
from uuid import UUID

import annotated_types
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tablewright.model import Entity, Expiry, ModelError, Numbered, schema_of
from tablewright.model.declarations import VersionMarker
from tablewright.model.values.attribute_codec import decode, resolve_alias

__all__ = ["sample", "samples"]

M = TypeVar("M", bound=BaseModel)
E = TypeVar("E", bound=Entity)

_FIRST_TIME = datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
_DEFAULT_LIFETIME = timedelta(days=30)
# How deep models are nested before optional members are left out: one may contain itself.
_MAX_DEPTH = 4
_MAX_CANDIDATES = 40
_MAX_ATTEMPTS = 200


def sample(entity: type[E], n: int = 0) -> E:
    """The n-th sample of an entity: the first one in its initial state, others in states that its keys depend on."""
    return _model(entity, n, 0, {**_maps(entity, n), **(_state(entity, n) if n else {})})


def samples(entity: type[E], count: int) -> list[E]:
    """The first samples of an entity."""
    return [sample(entity, n) for n in range(count)]


def _state(entity: type[Entity], n: int) -> dict[str, Any]:
    """Values of fields that put the entity into a sparse index."""
    schema = schema_of(entity)
    conditions = [case.when for rule in schema.key_rules.values() for case in rule.cases if case.when]
    if not conditions:
        return {}
    chosen = conditions[(n - 1) % len(conditions)]
    states = {path: values[(n - 1) % len(values)] for path, values in chosen.items()}
    return {schema.field_path(path): None if value is None else decode(value) for path, value in states.items()}


def _maps(entity: type[Entity], n: int) -> dict[str, Any]:
    """Values of maps whose members are part of a key, and therefore required."""
    schema = schema_of(entity)
    found: dict[str, Any] = {}
    for path in (part.name for rule in schema.key_rules.values() for part in rule.fields if "." in part.name):
        attribute, *steps, last = path.split(".")
        spec = schema.by_attribute[attribute]
        if get_origin(resolve_alias(spec.annotation)) is dict or resolve_alias(spec.annotation) in (dict, Any):
            members = found.setdefault(spec.name, {})
            for step in steps:
                members = members.setdefault(step, {})
            members[last] = _text(last, n)
    return found


def _model(model: type[M], n: int, depth: int, state: Mapping[str, Any] = MappingProxyType({})) -> M:
    """A model that pydantic takes: for a field that it complains about, the next candidate is tried."""
    tried: dict[str, Iterator[Any]] = {}
    values: dict[str, Any] = {}
    for position, (name, info) in enumerate(model.model_fields.items()):
        key = _key(model, name, info)
        preferred = [state[name]] if name in state else []
        candidates = chain(preferred, _candidates_for(name, info, n, position, depth))
        tried[key] = islice(candidates, _MAX_CANDIDATES)
        values[key] = next(tried[key])
    for _ in range(_MAX_ATTEMPTS):
        try:
            return model.model_validate(values)
        except ValidationError as error:
            wrong = [str(each["loc"][0]) for each in error.errors() if each["loc"]]
            # A rule over several fields names none: all of them are changed.
            for key in dict.fromkeys(wrong or tried):
                following = next(tried[key], tried) if key in tried else tried
                if following is not tried:
                    values[key] = following
                elif wrong:
                    raise ModelError(
                        f"{model.__name__}.{key}: no sample value passes its validation; give one with "
                        f"Field(examples=[...]) ({error.errors()[0]['msg']})"
                    ) from None
            last = error
    raise ModelError(
        f"{model.__name__}: no sample value passes its validation; give one with Field(examples=[...]) on its fields "
        f"({last.errors()[0]['msg']})"
    )


def _key(model: type[BaseModel], name: str, info: FieldInfo) -> str:
    """What a field is called in the values to be validated."""
    if model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name"):
        return name
    alias = info.validation_alias
    return alias if isinstance(alias, str) else name


# -- candidates -----------------------------------------------------------------------------------------------------


def _candidates_for(name: str, info: FieldInfo, n: int, position: int, depth: int) -> Iterator[Any]:
    """Values for a field, the best one first: examples, what its markers say, its default, what its type says."""
    if info.examples:
        yield info.examples[n % len(info.examples)]
    # Where there are several markers of a kind, the outermost counts, which is the last one.
    for marker in reversed(info.metadata):
        if isinstance(marker, VersionMarker):
            yield 1
        elif isinstance(marker, Numbered):
            yield n + 1
        elif isinstance(marker, Expiry):
            yield _FIRST_TIME + timedelta(days=n) + (marker.after or _DEFAULT_LIFETIME)
    default = info.get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        yield from _of(info.annotation, info.metadata, name, n, position, depth)
    elif _is_choice(info.annotation) and n and default is not None:
        # The first sample is as it is by default, the others differ.
        choices = list(_of(info.annotation, info.metadata, name, 0, position, depth))
        yield choices[(choices.index(default) + n) % len(choices)] if default in choices else default
    elif depth < _MAX_DEPTH and _is_empty(default):
        yield from chain(_of(info.annotation, info.metadata, name, n, position, depth), [default])
    yield default


def _is_empty(default: Any) -> bool:
    return default is None or default == "" or (isinstance(default, list | dict | set | frozenset) and not default)


def _is_choice(annotation: Any) -> bool:
    annotation = resolve_alias(annotation)
    if get_origin(annotation) is Annotated:
        return _is_choice(get_args(annotation)[0])
    return get_origin(annotation) is Literal or (isinstance(annotation, type) and issubclass(annotation, Enum))


def _of(annotation: Any, metadata: Sequence[Any], name: str, n: int, position: int, depth: int) -> Iterator[Any]:
    """Values of a type."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _of(arguments[0], (*metadata, *arguments[1:]), name, n, position, depth)
    elif origin is Union or origin is UnionType:
        wanted = [argument for argument in arguments if argument is not NoneType]
        for argument in wanted if depth < _MAX_DEPTH else ():
            yield from _of(argument, metadata, name, n, position, depth)
        if NoneType in arguments:
            yield None
        elif depth >= _MAX_DEPTH:
            yield from _of(wanted[0], metadata, name, n, position, depth)
    elif origin is Literal:
        yield from (arguments[(n + each) % len(arguments)] for each in range(len(arguments)))
    elif annotation is Any or annotation is object or isinstance(annotation, TypeVar):
        yield from (_text(name, n), n + 1, {}, [])
    elif isinstance(origin, type):
        yield from _several(origin, arguments, name, n, position, depth)
    elif isinstance(annotation, type):
        yield from _of_class(annotation, metadata, name, n, position, depth)
    else:
        yield _text(name, n)


def _several(kind: type, arguments: Sequence[Any], name: str, n: int, position: int, depth: int) -> Iterator[Any]:
    """Containers with one member, or empty ones for recursive types."""
    singular = name.removesuffix("s") or name
    if issubclass(kind, Mapping):
        members = _of(arguments[1], (), singular, n, position, depth + 1) if depth < _MAX_DEPTH else iter(())
        # A key may have to be of a certain form as well, so some are tried with the first member.
        keys = list(islice(_of(arguments[0], (), "key", n, position, depth + 1), 4))
        for number, member in enumerate(members):
            yield from ({key: member} for key in (keys[:1] if number else keys))
        yield {}
    elif issubclass(kind, tuple) and not (len(arguments) == 2 and arguments[1] is ...):
        yield tuple(next(_of(argument, (), singular, n, position, depth + 1)) for argument in arguments)
    elif issubclass(kind, Sequence | AbstractSet):
        members = _of(arguments[0], (), singular, n, position, depth + 1) if depth < _MAX_DEPTH else iter(())
        container: Any = list if issubclass(kind, Sequence) else set
        yield from (container([member]) for member in members)
        yield container()
    else:
        yield _text(name, n)


def _of_class(kind: type, metadata: Sequence[Any], name: str, n: int, position: int, depth: int) -> Iterator[Any]:
    moment = _FIRST_TIME + timedelta(days=n, minutes=position)
    if issubclass(kind, Enum):
        members = list(kind)
        yield from (members[(n + each) % len(members)] for each in range(len(members)))
    elif issubclass(kind, BaseModel):
        yield _model(kind, n, depth + 1)
    elif issubclass(kind, bool):
        yield from (n % 2 == 0, n % 2 == 1)
    elif issubclass(kind, int | float | Decimal):
        yield from _numbers(kind, metadata, n)
    elif issubclass(kind, str):
        yield from _texts(metadata, name, n)
    elif issubclass(kind, datetime):
        yield from (moment, moment + timedelta(days=365 * 50), moment - timedelta(days=365 * 20))
    elif issubclass(kind, date):
        yield moment.date()
    elif issubclass(kind, time):
        yield moment.time()
    elif issubclass(kind, UUID):
        yield _uuid(n)
    elif issubclass(kind, bytes):
        yield _text(name, n).encode()
    elif kind in (dict, list, set, tuple, frozenset):
        yield kind()
    else:
        yield from (_text(name, n), n + 1, None)


def _numbers(kind: type, metadata: Sequence[Any], n: int) -> Iterator[Any]:
    """Numbers within the bounds that are declared, small ones first."""
    low: Any = None
    high: Any = None
    step: Any = None
    for mark in _constraints(metadata):
        if isinstance(mark, annotated_types.Ge | annotated_types.Gt):
            low = getattr(mark, "ge", None) if isinstance(mark, annotated_types.Ge) else mark.gt
        elif isinstance(mark, annotated_types.Le | annotated_types.Lt):
            high = getattr(mark, "le", None) if isinstance(mark, annotated_types.Le) else mark.lt
        elif isinstance(mark, annotated_types.MultipleOf):
            step = mark.multiple_of
    found: list[Any] = [n + 1, 1, 0]
    found += [] if step is None else [step * (n + 1), step]
    found += [] if low is None else [low + n, low, low + 1]
    found += [] if high is None else [high, high - 1]
    if low is not None and high is not None:
        found.append((Decimal(str(low)) + Decimal(str(high))) / 2)
    elif high is not None:
        found.append(Decimal(str(high)) / 2)
    for value in found:
        yield kind(value) if not (kind is int and value != int(value)) else int(value)


def _texts(metadata: Sequence[Any], name: str, n: int) -> Iterator[str]:
    """Texts by name, then in the usual forms, then of the length that is declared."""
    yield _text(name, n)
    number = n + 1
    forms = (
        f"{name[:1].upper()}{number}",
        name.upper(),
        str(number),
        f"person{number}@example.com",
        f"https://example.com/{number}",
        f"2026-01-{15 + n % 14:02d}T09:30:00.000000Z",
        f"2026-01-{15 + n % 14:02d}",
        "09:30",
        "0 2 * * *",
        str(_uuid(n)),
        f"{number:064x}",
        f"+1555010{number:04d}",
        f"{number:013d}",
        "a",
        "A",
        "US",
        "EUR",
        "en",
        "en-GB",
        "Europe/London",
        f"{number}.0.0",
        "{}",
        "",
    )
    yield from forms
    for mark in _constraints(metadata):
        if isinstance(mark, annotated_types.MaxLen):
            yield from (form[: mark.max_length] for form in (_text(name, n), "a" * 64, f"{number:064d}"))
        elif isinstance(mark, annotated_types.MinLen):
            yield from (form.ljust(mark.min_length, "x") for form in (_text(name, n), str(number)))


def _constraints(metadata: Sequence[Any]) -> Iterator[Any]:
    """Constraints, also those that pydantic keeps in groups."""
    for mark in metadata:
        if isinstance(mark, annotated_types.GroupedMetadata):
            yield from mark
        else:
            yield mark


def _text(name: str, n: int) -> str:
    plain = name.strip("_").replace("_", "-")
    if plain in ("email", "e-mail") or plain.endswith("-email"):
        return f"person{n + 1}@example.com"
    if plain in ("url", "endpoint") or plain.endswith(("-url", "-uri")):
        return f"https://example.com/{n + 1}"
    return f"{plain.removesuffix('-id') or plain}-{n + 1}"


def _uuid(n: int) -> UUID:
    """The n-th of some random-looking UUIDs of version 4."""
    return UUID(int=(n + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128), version=4)
