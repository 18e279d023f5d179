"""Updates of fields, as update actions on stored attributes.

A caller names fields and paths into them (``address.city``, ``lines[0].quantity``); nested models may store a member
under another name or in another form. Values are validated against the type at the end of the path before they are
encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from tablewright.dynamo import AttributeValue, parse_path
from tablewright.dynamo.expressions import Arithmetic, Function, Literal, Operand
from tablewright.dynamo.expressions.builder import UpdateActions
from tablewright.model import Entity, FieldChange, ModelError, Schema
from tablewright.model.field_conditions import ChangeKind
from tablewright.model.items.field_paths import Place, cached, place_of
from tablewright.model.items.item_decoding import partial_entity_error
from tablewright.model.values.attribute_codec import Encoder, encode

_NONE: Mapping[str, Any] = MappingProxyType({})


class FieldUpdates(NamedTuple):
    """What a caller wants changed, by field or path."""

    fields: Mapping[str, Any] = _NONE
    nested: Mapping[str, Any] = _NONE
    add: Mapping[str, Any] = _NONE
    append: Mapping[str, Any] = _NONE
    discard: Mapping[str, Any] = _NONE
    remove: tuple[str, ...] = ()
    # Operands that are computed where the item is.
    compute: Mapping[str, Any] = _NONE

    @property
    def paths(self) -> list[str]:
        """All that is changed otherwise than by setting a field."""
        return [*self.nested, *self.add, *self.append, *self.discard, *self.remove, *self.compute]


def updates_of(schema: Schema, changes: Iterable[FieldChange]) -> FieldUpdates:
    """Changes that were made with ``attr``, by their kinds."""
    updates: dict[str, dict[str, Any]] = {}
    for change in changes:
        if not isinstance(change, FieldChange):
            raise ModelError(
                f"an update takes changes, such as attr({schema.entity.__name__}.x).set(1), not {change!r}"
            )
        if change.entity is not schema.entity and not issubclass(schema.entity, change.entity):
            name = schema.entity.__name__
            raise ModelError(f"{change.entity.__name__}.{change.path} is changed in an update of {name}")
        kind = _MEMBERS[change.kind]
        if kind == "fields" and change.path not in schema.fields:
            kind = "nested"
        if any(change.path in known for known in updates.values()):
            raise ModelError(f"{schema.entity.__name__}: {change.path} is changed twice in one update; do it once")
        updates.setdefault(kind, {})[change.path] = change.value
    removed = tuple(updates.pop("remove", ()))
    return FieldUpdates(remove=removed, **updates)


_MEMBERS = {
    ChangeKind.SET: "fields",
    ChangeKind.COMPUTE: "compute",
    ChangeKind.ADD: "add",
    ChangeKind.APPEND: "append",
    ChangeKind.DISCARD: "discard",
    ChangeKind.REMOVE: "remove",
}


def to_actions(schema: Schema, updates: FieldUpdates, entity: Entity | None) -> UpdateActions:
    """The update actions for updates of fields; where the entity is known, its validators see all of it."""
    actions = UpdateActions()
    for name, value in _validated(schema, updates.fields, entity).items():
        spec = schema.fields[name]
        _put(actions, spec.attribute, _encoded(schema, name, spec.encode, value))
    if paths := updates.paths:
        _change_paths(schema, updates, actions)
        _check_overlaps(schema, [*updates.fields, *paths])
    return actions


def _change_paths(schema: Schema, updates: FieldUpdates, actions: UpdateActions) -> None:
    for path, value in updates.nested.items():
        place = place_of(schema.entity, path)
        _put(actions, place.path, _encoded(schema, path, place.encode, place.validate(value)))
    for path in updates.remove:
        place = place_of(schema.entity, path)
        if not place.removable:
            name = schema.entity.__name__
            raise ModelError(
                f"{name}: {path} cannot be removed: a {name} without {path} could not be read; set it instead"
            )
        actions.removes.append(place.path)
    for path, operand in updates.compute.items():
        actions.computed[place_of(schema.entity, path).path] = operand
    for path, value in updates.append.items():
        place = place_of(schema.entity, path)
        appended = _operand(path, _encoded(schema, path, place.encode, place.validate(list(value))), "L")
        if (default := schema.defaults.get(place.path)) is None or not default.get("L"):
            actions.appends[place.path] = appended
        else:
            actions.computed[place.path] = Function("list_append", (_or_default(place, default), Literal(appended)))
    for path, value in updates.add.items():
        add_to(schema, actions, path, to_operand(schema, path, value))
    for path, value in updates.discard.items():
        _operand(path, encode(value), "SS", "NS", "BS")
        actions.deletes[place_of(schema.entity, path).path] = to_operand(schema, path, value)


def add_to(schema: Schema, actions: UpdateActions, path: str, operand: AttributeValue) -> None:
    """Add the action that adds to a number or a set, from its default where it is not stored."""
    place = place_of(schema.entity, path)
    default = schema.defaults.get(place.path)
    if default is None or default.get("N", "0") == "0":
        actions.adds[place.path] = operand
    else:
        actions.computed[place.path] = Arithmetic("+", _or_default(place, default), Literal(operand))


def _or_default(place: Place, default: AttributeValue) -> Operand:
    """The value of a field where the item is: what is not stored has its default, and neither nothing nor 0."""
    return Function("if_not_exists", (parse_path(place.path), Literal(default)))


def _check_overlaps(schema: Schema, paths: Iterable[str]) -> None:
    """No two actions are of the same place, or of one inside of the other."""
    known: dict[tuple[str | int, ...], str] = {}
    for path in paths:
        if parse_path(path).parts in known:
            raise ModelError(f"{schema.entity.__name__}: {path} is changed twice in one update; do it once")
        known[parse_path(path).parts] = path
    for steps, path in known.items():
        for length in range(1, len(steps)):
            whole = known.get(steps[:length])
            if whole is not None:
                name = schema.entity.__name__
                raise ModelError(f"{name}: {path} is a part of {whole}, which the same update actions; change one")


def _encoded(schema: Schema, path: str, encoder: Encoder, value: Any) -> AttributeValue | None:
    try:
        return encoder(value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{schema.entity.__name__}.{path}: {error}") from None


def _put(actions: UpdateActions, path: str, value: AttributeValue | None) -> None:
    if value is None:
        actions.removes.append(path)
    else:
        actions.sets[path] = value


def _operand(path: str, value: AttributeValue | None, *types: str) -> AttributeValue:
    if value is None or not value.keys() & set(types):
        raise ModelError(f"{path}: expected a value of type {' or '.join(types)}")
    return value


def to_operand(schema: Schema, path: str, value: Any) -> AttributeValue:
    """What is added to a number or to a set, as it is stored; of a type that is there."""
    operand = _operand(path, _encoded(schema, path, encode, value), "N", "SS", "NS", "BS")
    place = place_of(schema.entity, path)
    ((tag, content),) = operand.items()
    expected = "N" if tag == "N" else "SET"
    if any(spec.name == path for spec in schema.large):
        # Refused later, with what is special about it.
        return operand
    if not place.types & {expected, None}:
        kind = "a number" if tag == "N" else "a set"
        raise ModelError(f"{path}: {kind} can be added only to {kind}, and it is not one")
    if tag == "N":
        if place.whole and Decimal(content) % 1:
            raise ModelError(f"{path}: {value} cannot be added to an integer")
    elif place.member is not None:
        try:
            members = {place.member.validate_python(each) for each in value}
        except ValidationError as error:
            raise ModelError(f"{path}: {value} does not fit: {error.errors()[0]['msg']}") from None
        return _operand(path, encode(members), "SS", "NS", "BS")
    return operand


def _validated(schema: Schema, fields: Mapping[str, Any], entity: Entity | None) -> dict[str, Any]:
    if not fields:
        return {}
    for name in fields:
        if name not in schema.fields:
            raise ModelError(f"{schema.entity.__name__} has no field {name!r}")
    if entity is not None:
        before = entity.__dict__
        for name in schema.fields:
            if name not in before:
                raise partial_entity_error(schema.entity, name)
        before = {name: before[name] for name in schema.fields}
        after = schema.entity.__pydantic_validator__.validate_python({**before, **fields}).__dict__
        # A validator may set one field when another one changes.
        return {
            name: after[name]
            for name, value in before.items()
            if name in fields or (after[name] is not value and after[name] != value)
        }
    if schema.entity.__pydantic_decorators__.model_validators:
        return {name: place_of(schema.entity, name).validate(value) for name, value in fields.items()}
    stand_in = _stand_in(schema.entity)
    for name, value in fields.items():
        schema.entity.__pydantic_validator__.validate_assignment(stand_in, name, value)
    return {name: stand_in.__dict__[name] for name in fields}


def _stand_in(entity: type[Entity]) -> Entity:
    """An entity with nothing but defaults, made by hand: making or copying one takes longer than validating a field."""
    blank, stand_in = _blank(entity), entity.__new__(entity)
    extra = blank.__pydantic_extra__
    object.__setattr__(stand_in, "__dict__", blank.__dict__.copy())
    object.__setattr__(stand_in, "__pydantic_fields_set__", set())
    object.__setattr__(stand_in, "__pydantic_extra__", None if extra is None else {})
    object.__setattr__(stand_in, "__pydantic_private__", None)
    return stand_in


@cached
def _blank(entity: type[Entity]) -> Entity:
    """An entity with nothing but defaults."""
    return entity.model_construct()
