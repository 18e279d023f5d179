"""Findings: the errors in stored items, from an item and its model alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.model import ModelError, Schema
from tablewright.model.values.attribute_codec import decode
from tablewright.store.errors import Unreadable
from tablewright.store.item_description import describe_item
from tablewright.store.read.entity_decoding import entity_of
from tablewright.store.write.unique_values import OWNER, expected_guards


class Fault(StrEnum):
    """A kind of error in an item."""

    KEY = "key attribute"
    TYPE = "type attribute"
    PLACE = "primary key"
    SCHEMA_VERSION = "older schema version"
    RETIRED = "item of a retired entity"
    GUARD = "guard of a unique value"
    STRAY_GUARD = "guard without an owner"
    DUPLICATE = "unique value that another item has"
    SEQUENCE = "sequence behind its items"
    COUNTER = "counter"
    BLOB = "blob of a large value"
    UNREADABLE = "item that is not valid as its entity"


class Remedy(StrEnum):
    """The outcome of a finding."""

    FOUND = "found"
    REPAIRED = "repaired"
    # Needs a decision by a person.
    LEFT = "left"
    # Other writers kept changing the item.
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference from the model; ``subject`` is the attribute or field."""

    fault: Fault
    entity: str
    item: str
    subject: str
    expected: str | None
    found: str | None
    remedy: Remedy = Remedy.FOUND

    def __str__(self) -> str:
        expected, found = self.expected or "none", self.found or "none"
        subject = f"{self.fault} {self.subject}".rstrip()
        return f"{self.entity} {self.item}: {subject}: {expected} expected, {found} found ({self.remedy})"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a pass; ``cursor`` continues from here, also in another process. None: it is at its end."""

    done: int
    found: int
    repaired: int
    # The service's own estimate of the number of items.
    total: int
    cursor: str | None


@dataclass(slots=True)
class Report:
    """The results of a pass; up to a thousand findings, and their total number."""

    findings: list[Finding]
    progress: Progress

    @property
    def is_clean(self) -> bool:
        return self.progress.found == 0


# -- comparing ------------------------------------------------------------------------------------------------------


def compared(schema: Schema, item: Item) -> tuple[list[Finding], Item | None]:
    """The error in an item, and the correct item; None if that cannot be derived."""
    name, which = schema.entity.__name__, describe_item(schema, item)
    try:
        entity = entity_of(schema, item)
        upgraded = schema.upgrade(item)
        rewritten = _as_written(schema, entity, upgraded)
        upgraded = {**upgraded, **rewritten}
        present = schema.with_key_values(upgraded)
        unknown = sorted(schema.key_fields_made_anew - present.keys())
        if unknown:
            reason = (
                f"{schema.by_attribute[unknown[0]].name} is part of a key and has no value, and its default "
                "differs at each read; declare an upgrade that sets it"
            )
            return [Finding(Fault.UNREADABLE, name, which, "", None, reason)], None
        wanted = {**schema.with_keys(upgraded), **schema.key_of(present)}
    except Unreadable as error:
        return [Finding(Fault.UNREADABLE, name, which, "", None, error.reason)], None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A value that fits no key, or one that a step of the upgrades cannot deal with.
        reason = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        return [Finding(Fault.UNREADABLE, name, which, "", None, reason)], None
    if schema.table.type_attribute is not None:
        wanted[schema.table.type_attribute] = {"S": schema.type_name}

    def differences() -> Iterator[Finding]:
        old, new = schema.schema_version_of(item), schema.schema_version_of(wanted)
        if old != new:
            yield Finding(Fault.SCHEMA_VERSION, name, which, "", str(new), str(old))
        stored_in_keys = {*schema.key_defaults, *rewritten} & {*schema.table.key_attributes}
        attributes = [*schema.key_rules, *sorted(stored_in_keys)]
        if schema.table.type_attribute is not None:
            attributes.append(schema.table.type_attribute)
        for attribute in attributes:
            if item.get(attribute) != wanted.get(attribute):
                fault = Fault.KEY
                if attribute in schema.table.key:
                    fault = Fault.PLACE
                elif attribute == schema.table.type_attribute:
                    fault = Fault.TYPE
                yield Finding(fault, name, which, attribute, _value(wanted.get(attribute)), _value(item.get(attribute)))

    return list(differences()), wanted


def _as_written(schema: Schema, entity: Any, item: Item) -> Item:
    """The attributes that keys follow from, where a write of the entity would store another value than there is.

    A date that is a datetime now, or a text that is stored in lower case, has another key once it is written.
    """
    found: Item = {}
    for attribute in schema.key_sources & item.keys():
        spec = schema.by_attribute[attribute]
        if spec.name in entity.__dict__ and (value := spec.encode(entity.__dict__[spec.name])) is not None:
            stored = item[attribute]
            if value != stored and not ("N" in value and "N" in stored and decode(value) == decode(stored)):
                found[attribute] = value
    return found


def guard_at(schema: Schema, item: Item, guard_key: Item) -> Item | None:
    """The guard with this key that belongs to an item, if it has the value that it stands for."""
    for guard in expected_guards(schema, item):
        if all(guard[name] == value for name, value in guard_key.items()):
            return guard
    return None


def guard_finding(schema: Schema, item: Item, wanted: Item, stored: Item | None) -> Finding:
    spec = next(
        spec
        for spec in schema.unique
        if (value := schema.guard_value(spec, item)) is not None
        and all(wanted[name] == part for name, part in schema.guard_key(spec, value).items())
    )
    holder = None if stored is None else describe_item(schema, stored[OWNER]["M"])
    which = describe_item(schema, item)
    return Finding(Fault.GUARD, schema.entity.__name__, which, spec.name, which, holder)


def _value(value: AttributeValue | None) -> str | None:
    return None if value is None else str(decode(value))


def key_text(key: Item) -> str:
    return ", ".join(f"{name} {decode(value)}" for name, value in key.items())
