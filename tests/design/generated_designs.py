"""Designs of all kinds, for properties: sparse indexes of one and several states, projections, moves, guards, counters,
transactions, large values and time to live."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import count
from typing import Annotated, Any

from hypothesis import strategies as st

from tablewright.model import (
    Entity,
    ExpiresAt,
    Expiry,
    Get,
    GlobalIndex,
    Index,
    ItemWrite,
    Keys,
    Large,
    LocalIndex,
    Numbered,
    Table,
    Unique,
    Version,
    Write,
    when,
)
from tests.declared_patterns import taking

_numbers = count()


class State(StrEnum):
    NEW = "new"
    OPEN = "open"
    DONE = "done"


STATES = st.lists(st.sampled_from(list(State)), min_size=1, max_size=3, unique=True)
# The fields that updates set, and values for each: the first is the one that an item begins with.
VALUES: dict[str, list[Any]] = {
    "status": list(State),
    "owner": [None, "ada", "bob"],
    "place": ["here", "there"],
    "note": ["", "read"],
    "email": ["a@example.org", "b@example.org"],
    "expires_at": [None, datetime(2090, 1, 1, tzinfo=UTC), datetime(2091, 1, 1, tzinfo=UTC)],
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a generated entity is like."""

    # In which states an item is in the first index (None: in all), and whether the state is a part of its key.
    states: tuple[State, ...] | None
    state_in_key: bool
    # What the first index projects: None is all.
    include: tuple[str, ...] | None
    # Whether there is an index of items with an owner, and a local one.
    by_owner: bool
    local: bool
    # Whether the place is a part of the primary key, so that it moves.
    moves: bool
    unique: bool
    numbered: bool
    large: bool
    expires: bool
    versioned: bool
    filling: int


SHAPES = st.builds(
    Shape,
    states=st.none() | STATES.map(tuple),
    state_in_key=st.booleans(),
    include=st.sampled_from([None, (), ("note",), ("status",)]),
    by_owner=st.booleans(),
    local=st.booleans(),
    moves=st.booleans(),
    unique=st.booleans(),
    numbered=st.booleans(),
    large=st.booleans(),
    expires=st.booleans(),
    versioned=st.booleans(),
    filling=st.sampled_from([0, 1500, 4500]),
)


def entity_of(shape: Shape, further: Sequence[Index] = (), keys: Mapping[str, str] | None = None) -> type[Entity]:
    """An entity of a shape, in a table of its own; perhaps with further indexes, and their keys."""
    indexes: list[Any] = [GlobalIndex("first", "G1PK", "G1SK", include=shape.include)]
    if shape.by_owner:
        indexes.append(GlobalIndex("byOwner", "G2PK", include=["note"]))
    if shape.local:
        indexes.append(LocalIndex("byNote", "LSK", include=["note"]))
    indexes += further
    table = Table(f"Generated{next(_numbers)}", "PK", "SK", indexes=indexes, ttl="expires_at")
    first = "STATE#{status}" if shape.state_in_key else "ALL"
    templates: dict[str, Any] = {
        "PK": "THING#{place}" if shape.moves else "THING",
        "SK": "{thing_id}",
        "G1PK": first if shape.states is None else when(first, status=list(shape.states)),
        "G1SK": "{thing_id}",
    }
    if shape.by_owner:
        templates["G2PK"] = "OWNER#{owner}"
    if shape.local:
        templates["LSK"] = "{note}#{thing_id}"
    templates |= keys or {}
    fields: dict[str, Any] = {
        "thing_id": (str, ...),
        "status": (State, State.NEW),
        "owner": (str | None, None),
        "place": (str, "here"),
        "note": (str, ""),
        "filling": (str, "x" * shape.filling),
    }
    if shape.unique:
        fields["email"] = (Annotated[str, Unique()], "a@example.org")
    if shape.numbered:
        fields["number"] = (Annotated[int, Numbered()], 0)
    if shape.large:
        fields["body"] = (Annotated[str, Large()], "")
    if shape.expires:
        fields["expires_at"] = (Annotated[ExpiresAt, Expiry(timedelta(days=9999))], None)
    if shape.versioned:
        fields["version"] = (Version, 0)
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": "Thing",
        "__annotations__": {name: annotation for name, (annotation, _) in fields.items()},
        **{name: default for name, (_, default) in fields.items() if default is not ...},
        "keys": Keys(templates),
        "by_id": taking(Get(), *(["place"] if shape.moves else []), "thing_id"),
    }
    return types.new_class("Thing", (Entity,), {"table": table}, lambda body: body.update(namespace))


def writes_of(entity: type[Entity]) -> list[Write]:
    """A write of each kind: creation, deletion, updates of each field and of two, and transactions."""
    fields = [name for name in VALUES if name in entity.model_fields]
    return [
        Write("create", ItemWrite(entity, "create")),
        Write("delete", ItemWrite(entity, "delete")),
        *(Write(f"set {name}", ItemWrite(entity, "update", sets=[getattr(entity, name)])) for name in fields),
        Write(
            "set status, owner",
            ItemWrite(entity, "update", sets=[getattr(entity, name) for name in ("status", "owner")]),
        ),
        Write("create two", ItemWrite(entity, "create", count=2)),
        Write("create checked", ItemWrite(entity, "create"), checks=[entity]),
    ]
