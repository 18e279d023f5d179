"""Entity tags: they identify the state that a caller saw, so that a change based on an older one is refused.

    GET    ──▶ ETag: entity_tag(entity)
    change ──▶ If-Match ──▶ Seen ──▶ require(entity)     PreconditionFailed unless the entity is as it was seen
                                 ──▶ unchanged(entity)   the same as a condition of the write
                                 ──▶ outrun(message)     the error when that condition did not hold

A tag is a digest of an entity's fields. Large values are left out, as they are not always loaded; an entity that has
them has a version as well. If a thing is shown with its parts, its tag is the tag of the thing, a dot, and a digest of
the parts: it changes when any part changes, and is also valid for changes of the thing.

Services get a ``Seen`` and know nothing of headers; ``http.conditional_requests`` makes them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from hashlib import sha256
from typing import Any

import orjson

from tablewright.model import Attr, Entity, FieldCondition, schema_of
from tablewright.runtime.errors import PreconditionFailed, ServiceProblem, StateConflict

__all__ = ["UNSEEN", "Seen", "entity_tag"]

# As many digits as DynamoDB has, and more.
_EXACT = Context(prec=100, traps=[])
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z


def entity_tag(entity: Entity, parts: Iterable[Entity] | None = None) -> str:
    """The tag of an entity, or of an entity shown with its parts."""
    own = _digest(_values(entity))
    return own if parts is None else f"{own}.{_digest([_values(part) for part in parts])}"


def _digest(values: Any) -> str:
    try:
        text = orjson.dumps(values, default=_plain, option=_OPTIONS)
    except TypeError:
        # It has numbers of more than 64 bits, or lone surrogates.
        text = json.dumps(values, default=_plain, sort_keys=True).encode()
    return sha256(text).hexdigest()[:32]


def _values(entity: Entity) -> dict[str, Any]:
    return entity.model_dump(exclude=set(_large(type(entity))) or None)


@cache
def _large(entity: type[Entity]) -> frozenset[str]:
    return frozenset(spec.name for spec in schema_of(entity).large)


def _plain(value: Any) -> Any:
    """What JSON does not have; members of a set have no order, and a number has one value however it is written."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return value.hex()
    return str(_EXACT.normalize(value)) if isinstance(value, Decimal) else str(value)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller saw before a change: one of some tags; None if the request does not say."""

    tags: frozenset[str] | None = None

    def require(self, entity: Entity) -> None:
        """PreconditionFailed unless the entity is one that was seen; ``*`` matches any."""
        if self.tags is None or "*" in self.tags:
            return
        if entity_tag(entity) not in {tag.partition(".")[0] for tag in self.tags}:
            raise PreconditionFailed(_CHANGED)

    async def expected(self, read: Callable[[], Awaitable[Entity]]) -> list[FieldCondition]:
        """What a write has to ``expect``; the entity is read only if the caller sent a tag."""
        if self.tags is None:
            return []
        entity = await read()
        self.require(entity)
        return self.unchanged(entity)

    def unchanged(self, entity: Entity) -> list[FieldCondition]:
        """What a write has to ``expect`` so that it changes only this state of the entity; nothing without a tag."""
        if self.tags is None:
            return []
        schema = schema_of(type(entity))
        if schema.version is not None:
            version: Attr[int] = Attr(type(entity), schema.version.name)
            return [version == getattr(entity, schema.version.name)]
        return [_is_unchanged(entity, name) for name in schema.fields if name not in _large(type(entity))]

    def outrun(self, message: str) -> ServiceProblem:
        """The error for a change that lost against a concurrent one."""
        return StateConflict(message) if self.tags is None else PreconditionFailed(_CHANGED)


def _is_unchanged(entity: Entity, name: str) -> FieldCondition:
    field: Attr[Any] = Attr(type(entity), name)
    # What the item does not have was filled in when it was read.
    return field == getattr(entity, name) if name in entity.model_fields_set else field.absent()


_CHANGED = "it has changed since it was read with this ETag; read it again"

UNSEEN = Seen()
"""For callers who send no tag."""
