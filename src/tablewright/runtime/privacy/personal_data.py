"""What is stored about a person, by the markers of the models (``Personal``), and what happens to it.

    subject      the item is about the person         deleted; or kept for a reason, with the person replaced
    part         the item belongs to such an item     deleted with it
    author       the person wrote it                  the person is replaced, and what was written is erased
    reference    the item names the person            the person is replaced
    mention      a text that may name the person      the person is replaced in it

``Examination`` looks at one item. A person is replaced with the same pseudonym everywhere, so that related items stay
related: a keyed hash, which does not reveal who it was.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import BaseModel

from tablewright.dynamo import Item
from tablewright.model import (
    Attr,
    Entity,
    FieldChange,
    FieldCondition,
    Personal,
    Schema,
    Table,
    personal_fields,
    personal_members,
)

__all__ = ["ERASED", "Examination", "Verdict", "mentions", "pseudonym_of"]

ERASED = "[erased]"
Why = Literal["subject", "part", "author", "reference", "mention"]


def pseudonym_of(secret: bytes, person: str) -> str:
    """The pseudonym of a person who was erased."""
    return f"erased-{hmac.digest(secret, b'erased person' + bytes(1) + person.encode(), 'sha256').hex()[:16]}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an item relates to a person, and what happens to it when the person is erased."""

    why: Why
    action: Literal["delete", "replace"]
    # Why it is kept, where it is about the person.
    keep: str = ""
    changes: Sequence[FieldChange] = ()
    # What it was found with: others may change it meanwhile.
    expect: Sequence[FieldCondition] = ()


@dataclass(slots=True)
class Examination:
    """A person with all ids, and which of the items seen so far are theirs."""

    ids: frozenset[str]
    pseudonym: str
    # By table and field: what names the items that are to be deleted.
    owned: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _mention: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        names = "|".join(re.escape(each) for each in sorted(self.ids, key=len, reverse=True))
        self._mention = re.compile(rf"(?<![\w.@-])(?:{names})(?![\w@-])")

    def own(self, schema: Schema, entity: Entity) -> None:
        """Remember the ids of an item about the person, for the items that are parts of it."""
        for name in schema.fields:
            value = getattr(entity, name, None)
            if isinstance(value, str) and name not in personal_fields(schema):
                self.owned.setdefault((schema.table.name, name), set()).add(value)

    def verdict(self, schema: Schema, entity: Entity) -> Verdict | None:
        """How an item relates to the person; None if it does not."""
        markers = personal_fields(schema)
        for name, marker in markers.items():
            value = getattr(entity, name, None)
            if not isinstance(value, str):
                continue
            if marker.kind == "subject" and value in self.ids and not marker.keep:
                return Verdict("subject", "delete")
            if marker.kind == "part" and value in self.owned.get((schema.table.name, name), ()):
                return Verdict("part", "delete")
        why: Why | None = None
        keep = ""
        for name, marker in markers.items():
            value = getattr(entity, name, None)
            is_named = isinstance(value, str) and value in self.ids
            if marker.kind in ("subject", "author", "reference") and is_named and why in (None, "reference"):
                why, keep = marker.kind, marker.keep
        changed = self._replaced(entity, markers, erase=why in ("subject", "author"))
        for name in schema.fields:
            if name not in markers:
                value = getattr(entity, name, None)
                inside = self._inside(value)
                if inside is not value:
                    changed[name] = inside
                    why = why or "reference"
        if not changed:
            return None
        changes = [Attr(type(entity), name).set(value) for name, value in changed.items()]
        return Verdict(why or "mention", "replace", keep, changes, _unchanged(schema, entity, changed))

    def _replaced(self, model: BaseModel, markers: Mapping[str, Personal], *, erase: bool) -> dict[str, Any]:
        """The personal fields of a model that are others when the person is erased."""
        changed: dict[str, Any] = {}
        for name, marker in markers.items():
            value = getattr(model, name, None)
            if marker.kind == "value":
                replaced = _erased(value) if erase else value
            elif marker.kind == "mention":
                replaced = self._without_mentions(value)
            elif marker.kind == "part":
                replaced = value
            else:
                replaced = self._without_person(value)
            if replaced != value:
                changed[name] = replaced
        return changed

    def _inside(self, value: Any) -> Any:
        """A value with the person replaced in the models inside of it; the same object if there is nothing."""
        if isinstance(value, BaseModel):
            markers = personal_members(type(value))
            by_person = any(
                marker.kind in ("author", "subject") and str(getattr(value, name)) in self.ids
                for name, marker in markers.items()
            )
            changed = self._replaced(value, markers, erase=by_person)
            for name in type(value).model_fields:
                inner = getattr(value, name)
                inside = inner if name in markers else self._inside(inner)
                if inside is not inner:
                    changed[name] = inside
            return value.model_copy(update=changed) if changed else value
        if isinstance(value, list | tuple):
            members = [self._inside(each) for each in value]
            same = all(one is other for one, other in zip(members, value, strict=True))
            return value if same else type(value)(members)
        return value

    def _without_person(self, value: Any) -> Any:
        """An id, or a list of them, with the person replaced."""
        if isinstance(value, list):
            return [self._without_person(each) for each in value]
        return self.pseudonym if isinstance(value, str) and value in self.ids else value

    def _without_mentions(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._mention.sub(self.pseudonym, value)
        if isinstance(value, Mapping):
            return {name: self._without_mentions(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._without_mentions(each) for each in value]
        return value

    def is_mentioned(self, item: Item) -> bool:
        """Whether a stored item has one of the ids anywhere, in a key or a text."""
        return any(self._mention.search(text.replace("#", " ")) for text in mentions(item))


def _unchanged(schema: Schema, entity: Entity, names: Iterable[str]) -> list[FieldCondition]:
    """That fields are as they were read, where no version says so."""
    if schema.version is not None:
        return []
    large = {spec.name for spec in schema.large}
    found = {name: getattr(entity, name) for name in names if name not in large}
    # Comparisons of ``Attr`` have the type of Python's.
    return [
        cast(FieldCondition, Attr(type(entity), name) == value)
        for name, value in found.items()
        if isinstance(value, str)
    ]


def _erased(value: Any) -> Any:
    """A value without what it was."""
    if isinstance(value, str):
        return ERASED if value else value
    if isinstance(value, bytes):
        return b""
    if isinstance(value, list | tuple | set | frozenset | dict):
        return type(value)()
    return value


def mentions(value: Any) -> Iterator[str]:
    """All texts in an item, as it is stored."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from mentions(each)
    elif isinstance(value, list):
        for each in value:
            yield from mentions(each)


def entity_schema(table: Table, schemas: Sequence[Schema], item: Item) -> Schema | None:
    """The entity of an item; None for the store's internal items, and for unknown ones."""
    if table.is_internal(item):
        return None
    return next((schema for schema in schemas if schema.matches(item)), None)
