"""Checks of a declaration, made with the class: an error names the place, the reason, and what to do.

Only contradictions are errors here. What is possible but unwise (a hot partition, numbers that sort as text) is left to
lint. So are two entities whose keys can be equal, as long as a type attribute distinguishes their items; without one
that is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import EnumType
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tablewright.model.declarations import (
    BLOB_REFERENCES,
    AttributeName,
    Expiry,
    GroupRule,
    KeyOnly,
    Large,
    Numbered,
    Stamp,
    Unique,
    VersionMarker,
)
from tablewright.model.errors import ModelError
from tablewright.model.items.field_layout import encode_value
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.keys.key_checks import check_keys, check_range
from tablewright.model.keys.key_forms import FOLDS
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.pattern_filters import KeyFields, has_filter, key_values
from tablewright.model.pattern_parameters import bounded_field, check_parameters
from tablewright.model.patterns import BOUNDS, Get, Query
from tablewright.model.schema import Schema, schemas_of
from tablewright.model.values.attribute_codec import Epoch, encode, resolve_alias, stored_types
from tablewright.model.values.type_support import members_of, unsupported_model_reason, unsupported_reason

_MARKERS = (AttributeName, Expiry, KeyOnly, Large, Numbered, Stamp, Unique, VersionMarker)
_DECLARATIONS = ("keys", "upgrades")


def check_fields(entity: type[BaseModel], base: type[BaseModel]) -> None:
    """Check the fields of an entity, before its schema is made; ``base`` is the class of all entities."""
    if entity.model_config.get("extra") == "allow":
        raise ModelError(
            f"{entity.__name__} allows extra fields, which are not stored; remove extra='allow': attributes of other "
            "writers are kept in any case"
        )
    for name, info in entity.model_fields.items():
        if name in (*_DECLARATIONS, *base.__annotations__) or hasattr(base, name):
            # What the class has already would be meant by ``Ticket.copy``, and not the field.
            what = "a declaration" if name in _DECLARATIONS else "a method or an attribute"
            free = f"{name}_"
            while hasattr(base, free) or free in base.__annotations__:
                free += "_"
            raise ModelError(
                f"{entity.__name__}.{name}: every entity has {what} of that name; "
                f'call the field {free}, and store it under its name with AttributeName("{name}")'
            )
        _check_field(f"{entity.__name__}.{name}", info, bool(entity.model_config.get("strict")))


def _check_field(place: str, info: FieldInfo, strict: bool) -> None:
    if info.alias is not None or info.validation_alias is not None or info.serialization_alias is not None:
        raise ModelError(
            f'{place} has an alias; to store it under another name use Annotated[..., AttributeName("name")]'
        )
    if isinstance(info.default, GroupRule):
        raise ModelError(f"{place} is a field and a function of the class; give the function another name")
    for marker in info.metadata:
        # It would silently have no effect.
        if isinstance(marker, type) and issubclass(marker, _MARKERS):
            name = marker.__name__
            raise ModelError(
                f"{place} has the marker class {name} instead of an instance; write Annotated[..., {name}(...)]"
            )
    _check_type(place, info, strict, set())
    is_empty = info.is_required() or info.default_factory in (set, frozenset) or info.default in (None, set())
    if stored_types(info.annotation, info.metadata) >= {"SET", "NULL"} and not is_empty:
        raise ModelError(
            f"{place}: DynamoDB does not store empty sets, so an empty set would be read as the default; make the "
            "default None or empty"
        )


def _check_type(place: str, info: FieldInfo, strict: bool, seen: set[type]) -> None:
    try:
        reason = unsupported_reason(info.annotation, info.metadata, strict=strict)
        models = list(_models_in(info.annotation))
    except RecursionError:
        raise ModelError(
            f"{place}: its type is infinitely recursive; declare a pydantic model that refers to itself"
        ) from None
    if reason is not None:
        raise ModelError(f"{place}: {reason}")
    for model in models:
        if model in seen:
            continue
        seen.add(model)
        reason = unsupported_model_reason(model)
        if reason is not None:
            raise ModelError(f"{place}: {reason}")
        for name, member in model.model_fields.items():
            inner = f"{place}: {model.__name__}.{name}"
            for marker in member.metadata:
                if isinstance(marker, _MARKERS):
                    raise ModelError(
                        f"{inner} is marked {type(marker).__name__}, a marker for fields of an entity only; remove it"
                    )
            _check_type(inner, member, bool(model.model_config.get("strict")), seen)


def _models_in(annotation: Any) -> Iterable[type[BaseModel]]:
    annotation = resolve_alias(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in (*get_args(annotation), *members_of(annotation).values()):
        yield from _models_in(argument)


def check_schema(schema: Schema, base: type[BaseModel]) -> None:
    """Check the declaration as a whole; ``base`` is the class of all entities."""
    _check_attributes(schema)
    check_keys(schema)
    _check_markers(schema)
    for pattern in schema.patterns.values():
        check_name(pattern.place(schema.entity), pattern.name, base)
        check_pattern(schema, pattern)
    if not schema.is_retired:
        _check_neighbours(schema)


# -- attributes -----------------------------------------------------------------------------------------------------


def _check_attributes(schema: Schema) -> None:
    entity = schema.entity.__name__
    taken: dict[str, str] = {}
    for spec in schema.fields.values():
        if not spec.attribute:
            raise ModelError(f"{entity}.{spec.name} has an empty attribute name; give it another AttributeName")
        other = taken.setdefault(spec.attribute, spec.name)
        if other != spec.name:
            raise ModelError(
                f"{entity}: {other} and {spec.name} are both stored in {spec.attribute!r}; "
                "give one of them an AttributeName"
            )
        if spec.attribute in schema.key_rules:
            raise ModelError(
                f"{entity}.{spec.name} is stored in {spec.attribute!r}, which is also defined in keys; "
                "remove it from keys, or give the field another AttributeName"
            )
        if spec.attribute == BLOB_REFERENCES:
            raise ModelError(
                f"{entity}.{spec.name} is stored in {BLOB_REFERENCES!r}, where the store keeps references to blobs; "
                "give it another AttributeName"
            )
        if spec.attribute == schema.table.type_attribute:
            raise ModelError(
                f"{entity}.{spec.name} is stored in {spec.attribute!r}, the type attribute of the table; "
                "remove the field, and give type_name=... in the class statement if the name matters"
            )
        if schema.upgrades is not None and spec.attribute == schema.upgrades.attribute:
            raise ModelError(
                f"{entity}.{spec.name} is stored in {spec.attribute!r}, which has the schema version; "
                "choose another attribute with Upgrades(..., attribute=...)"
            )


# -- markers --------------------------------------------------------------------------------------------------------


def _check_markers(schema: Schema) -> None:
    entity, table = schema.entity.__name__, schema.table
    if schema.version is not None and schema.version.types != {"N"}:
        raise ModelError(f"{entity}.{schema.version.name} is a version, so it must be an int: `version: Version = 0`")
    for stamp in (schema.created, schema.updated):
        if stamp is not None and stamp.types - {"NULL"} not in ({"S"}, {"N"}):
            raise ModelError(f"{entity}.{stamp.name} is a timestamp, so it must be a datetime")
    if schema.expiry is not None:
        _check_expiry(schema, schema.expiry)
    for spec in schema.unique:
        if spec.types - {"NULL", None} not in (set(), {"S"}, {"N"}, {"B"}):
            raise ModelError(f"{entity}.{spec.name} is unique, so it must be text, a number or bytes")
        for name in spec.marker(Unique).per:
            if name == spec.name:
                raise ModelError(f"{entity}.{spec.name} cannot be unique together with itself")
            location = schema.locate(name, f"{entity}.{spec.name}, Unique")
            large = location.parts[0] in {each.attribute for each in schema.large}
            if location.types - {"NULL", None} - {"S", "N", "B"} or location.parts[0] in schema.unstored.names or large:
                raise ModelError(
                    f"{entity}.{spec.name} is unique together with {name}, which must be stored as text, a number or "
                    "bytes"
                )
        table.internal_key("unique")
    for spec in schema.numbered:
        if spec.types != {"N"}:
            raise ModelError(f"{entity}.{spec.name} is numbered, so it must be an int")
        for name in spec.marker(Numbered).per:
            if name == spec.name:
                raise ModelError(f"{entity}.{spec.name} cannot be numbered per itself")
            schema.locate(name, f"{entity}.{spec.name}, Numbered")
        table.internal_key("count")
    for spec in schema.large:
        if spec in schema.unique or any(spec.attribute in schema.sources(name) for name in table.key_attributes):
            raise ModelError(f"{entity}.{spec.name} is Large, so it cannot be unique or part of a key")
        if spec.types - {"NULL"} not in ({"S"}, {"B"}):
            raise ModelError(f"{entity}.{spec.name} is Large, so it must be text or bytes")


def _check_expiry(schema: Schema, expiry: FieldSpec) -> None:
    entity, table = schema.entity.__name__, schema.table
    markers = [*expiry.markers, *(found for part in get_args(expiry.annotation) for found in get_args(part))]
    if not any(isinstance(marker, Epoch) and marker.unit.total_seconds() == 1 for marker in markers):
        raise ModelError(
            f"{entity}.{expiry.name} is the time to live, which DynamoDB needs in seconds; use ExpiresAt",
            rule="ttl-seconds",
        )
    if table.ttl is None:
        raise ModelError(
            f"{entity}.{expiry.name} is the time to live, but table {table.name!r} has none; give it "
            f"ttl={expiry.attribute!r}"
        )
    if table.ttl != expiry.attribute:
        raise ModelError(
            f"{entity}.{expiry.name} is stored in {expiry.attribute!r}, but the time to live of table {table.name!r} "
            f'is in {table.ttl!r}; give the field AttributeName("{table.ttl}")'
        )


# -- access patterns ------------------------------------------------------------------------------------------------


def _check_value(place: str, spec: FieldSpec, value: Any) -> None:
    """Check a value that a pattern uses; one that the field never has would make the pattern find nothing."""
    try:
        TypeAdapter(spec.annotation).validate_python(value)
    except ValidationError as error:
        raise ModelError(f"{place}: {value!r} is not valid: {error.errors()[0]['msg']}") from None


def check_name(place: str, name: str, base: type[BaseModel]) -> None:
    """Check that a pattern does not replace what every class of its kind has, such as the method ``of``."""
    if hasattr(base, name):
        raise ModelError(f"{place}: every {base.__name__.lower()} has an attribute of that name; rename the pattern")


def check_pattern(schema: Schema, pattern: Get | Query) -> None:
    """Check an access pattern against the key that it reads, and settle what follows from that."""
    table = schema.table
    place = pattern.place(schema.entity)
    partition, sort = table.key[:1], table.key[1:]
    if pattern.index is not None:
        try:
            index = table.index(pattern.index)
        except ModelError as error:
            raise ModelError(f"{place}: {error}") from None
        if not schema.covers(index):
            known = {*schema.key_rules, *schema.by_attribute}
            lacking = ", ".join(name for name in index.attributes if name not in known)
            raise ModelError(
                f"{place}: {schema.entity.__name__} is never in index {index.name!r}, as it has no {lacking}; "
                "add that to keys, or store a field in it",
                rule="no-key",
            )
        if pattern.consistent and index.is_global:
            raise ModelError(
                f"{place}: a global index does not support consistent reads; read by the primary key, or remove "
                "consistent=True"
            )
        partition, sort = index.partition, index.sort
    elif isinstance(pattern, Query) and table.sort is None:
        raise ModelError(f"{place}: table {table.name!r} has no sort key, so each key has one item; use Get")
    if isinstance(pattern, Query):
        _check_query(schema, place, pattern, partition, sort)
    given = _known(schema, place, pattern)
    needed, further = _paths_of(schema, partition, given), _paths_of(schema, sort, given)
    states: list[str] = []
    for rule in (schema.key_rules[name] for name in partition + sort if name in schema.key_rules):
        # Of a key with several templates, a pattern may take what some of them need.
        states += [*rule.state_paths, *(part.name for part in rule.fields if rule.others)]
    if isinstance(pattern, Query) and pattern.signature is not None:
        _check_states(schema, place, pattern.signature.names, partition + sort)
    for name in partition:
        # Which template it is depends on the state.
        needed += schema.undecided(name, given)
    paths = needed, further, states, schema.buckets(partition)
    check_parameters(place, pattern, *(schema.parameters(each) for each in paths))


def _check_query(schema: Schema, place: str, pattern: Query, partition: tuple[str, ...], sort: tuple[str, ...]) -> None:
    _settle_values(schema, place, pattern, partition, sort)
    known = _known(schema, place, pattern)
    in_partition = _paths_of(schema, partition, known)
    in_sort = _paths_of(schema, sort, known)
    taken = () if pattern.signature is None else pattern.signature.names
    keys = in_partition, in_sort, schema.buckets(partition)
    names, sorted_by, buckets = ([schema.field_path(path) for path in paths] for paths in keys)
    pattern.settle(range=bounded_field(place, taken, names, sorted_by, pattern.fixed, buckets))
    if pattern.range is not None:
        if "begins_with" in taken:
            _check_text_range(schema, place, pattern.range, sort)
        # What begins with a text does so whatever follows the field.
        if {*taken} & {*BOUNDS} != {"begins_with"}:
            check_range(schema, place, pattern.range, sort, known)
    if pattern.expected is not None and pattern.expected < 1:
        raise ModelError(f"{place}: expected is the usual number of items of a read, so it must be at least 1")


def _check_states(schema: Schema, place: str, taken: Iterable[str], keys: tuple[str, ...]) -> None:
    """Check that no parameter is a state whose values share a key: a read of one would find the others."""
    rules = [schema.key_rules[name] for name in keys if name in schema.key_rules]
    in_keys = {part.name for rule in rules for part in rule.fields}
    for rule in rules:
        for path, values in ({} if rule.others else rule.when).items():
            name = schema.field_path(path)
            if len(values) > 1 and path not in in_keys and name in taken:
                raise ModelError(
                    f"{place} takes {name}, and items have the same key for several values of it, so that a read of "
                    f"one would find the others; add {name} to the key, or compare it with a value: "
                    f"return attr(self.{name}) == ..."
                )


def _settle_values(
    schema: Schema, place: str, pattern: Query, partition: tuple[str, ...], sort: tuple[str, ...]
) -> None:
    """Settle which fields of the key a pattern's function compares with a value, and whether it has a filter besides.

    Of the sort key, that are fields from the left, up to the first one that need not be given.
    """
    signature = pattern.signature
    if signature is None or not signature.returns_filter:
        return
    rules = [schema.key_rules[name] for name in partition + sort if name in schema.key_rules]
    states = {path for rule in rules for path in rule.state_paths}
    paths = {part.name for rule in rules for part in rule.fields} | states
    paths |= {name for name in partition + sort if name in schema.by_attribute}
    paths -= {*schema.buckets(partition)}
    values = key_values(schema, place, pattern, map(schema.field_path, paths))
    for name, value in values.items():
        if name in schema.fields:
            _check_value(f"{place}, {name}", schema.fields[name], value)
    pattern.settle(fixed=values)
    known = _known(schema, place, pattern)
    read_by = {*_paths_of(schema, partition, known)}
    # Parameters may tell which template it is.
    cases = [case for name in partition if name in schema.key_rules for case in schema.key_rules[name].possible(known)]
    read_by |= {part.name for case in cases for part in case.template.fields}
    for path in _paths_of(schema, sort, known):
        name = schema.field_path(path)
        if values.get(name) is None and name.replace(".", "__") not in signature.required:
            break
        read_by.add(path)
    # No value is a state, and no part of a key.
    values = {
        name: value
        for name, value in values.items()
        if schema.path(name) in states or (value is not None and schema.path(name) in read_by)
    }
    filtered = {
        name
        for name in values
        if name not in schema.computed and not _tells(schema, partition + sort, read_by, schema.path(name), known)
    }
    pattern.settle(fixed=values)
    if values:
        pattern.settle(key_fields=KeyFields(schema, values, filtered))
        if not filtered and not signature.uses_parameters:
            # The function returns nothing but these values.
            signature.returns_filter = has_filter(schema, place, pattern)


def _tells(schema: Schema, keys: tuple[str, ...], read_by: set[str], path: str, known: dict[str, Any]) -> bool:
    """Whether the keys that are read are those of one value of a field."""
    for key in keys:
        rule = schema.key_rules.get(key)
        if rule is None:
            if key == path:
                return True
            continue
        if all(
            (path in read_by and any(part.name == path and part.reversible for part in case.template.fields))
            or len(case.when.get(path, ())) == 1
            or _is_last_state(schema, rule, case, path)
            for case in rule.possible(known)
        ):
            return True
    return False


def _is_last_state(schema: Schema, rule: KeyRule, case: KeyRule, path: str) -> bool:
    """Whether all values of a field but one are states of the cases before this one."""
    spec = schema.by_attribute.get(path)
    kind = None if spec is None else spec.annotation
    values: list[Any] = [True, False] if kind is bool else list(kind) if isinstance(kind, EnumType) else []
    before = rule.cases[: rule.cases.index(case)]
    taken = [value for each in before if each.when.keys() == {path} for value in each.when[path]]
    return sum(encode(value) not in taken for value in values) == 1


def _check_text_range(schema: Schema, place: str, name: str, sort: tuple[str, ...]) -> None:
    """Check that the keys of a range have its field as text, so that it may be bounded by ``begins_with``."""
    location = schema.locate(name, place)
    path = ".".join(location.parts)
    fields = [field for key in sort if key in schema.key_rules for field in schema.key_rules[key].fields]
    forms = {field.form for field in fields if field.name == path}
    if location.types - {"NULL", None} - {"S"} or not forms <= {"text", "rest", *FOLDS}:
        raise ModelError(f"{place}: {name} is not text in the sort key, so it cannot be bounded by begins_with")


def _known(schema: Schema, place: str, pattern: Get | Query) -> dict[str, Any]:
    """What a pattern fixes, by path, as it is stored; where a key has one template, nothing depends on it."""
    if not schema.has_cases or isinstance(pattern, Get):
        return {}
    locations = {name: schema.locate(name, place) for name in pattern.fixed}
    return {
        ".".join(location.parts): encode_value(location, pattern.fixed[name], f"{place}, {name}")
        for name, location in locations.items()
    }


def _paths_of(schema: Schema, attributes: tuple[str, ...], known: dict[str, Any]) -> list[str]:
    """The attribute paths that key attributes are made of, in their order, where some values are known.

    The type attribute is left out: the store knows the type.
    """
    paths: list[str] = []
    for name in attributes:
        rule = schema.key_rules.get(name)
        if rule is None:
            if name != schema.table.type_attribute:
                paths.append(name)
            continue
        cases = rule.possible(known)
        common = frozenset.intersection(*(case.template.required for case in cases)) if len(cases) > 1 else None
        parts = [part.name for case in cases for part in case.template.fields]
        paths.extend(path for path in dict.fromkeys(parts) if common is None or path in common)
    return paths


# -- other entities of the table ------------------------------------------------------------------------------------


def _check_neighbours(schema: Schema) -> None:
    entity = schema.entity.__name__
    for other in schemas_of(schema.table):
        if other.type_name == schema.type_name:
            raise ModelError(
                f"{entity}: table {schema.table.name!r} already has an entity of the type {schema.type_name!r}; "
                "give this one another type_name=... in the class statement"
            )
        if schema.table.type_attribute is None and schema.can_collide_with(other):
            raise ModelError(
                f"{entity} and {other.entity.__name__} can have the same key in table {schema.table.name!r}, and "
                "nothing distinguishes their items; begin their keys with different text, or give the table a "
                "type_attribute",
                rule="same-key",
            )
