"""Transactional reads: several items of any entities, as they were at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.limits import MAX_TRANSACTION_ACTIONS
from tablewright.model import Lookup, ModelError, schema_of
from tablewright.store.argument_checks import A_GET, wrong_argument
from tablewright.store.blobs.blob_loading import load_visible
from tablewright.store.context import Context
from tablewright.store.errors import LimitExceeded
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.read.entity_decoding import read_as
from tablewright.store.read.planning.projected_attributes import projected_attributes, projection_members
from tablewright.store.visibility import is_visible

__all__ = ["transact_get"]


def transact_get(context: Context, lookups: Sequence[Lookup[Any]]) -> Flow[tuple[Any, ...]]:
    """The entities of up to 100 lookups by primary key, in their order; None for those that do not exist."""
    gets: list[dict[str, Any]] = []
    # Where each item is among them: the service takes one that is wanted twice once only.
    places: dict[tuple[Any, ...], int] = {}
    wanted: list[int] = []
    names: dict[str, None] = {}
    for lookup in lookups:
        if not isinstance(lookup, Lookup):
            raise wrong_argument("transact_get", A_GET, lookup)
        pattern = f"{lookup.entity.__name__}.{lookup.name}"
        if lookup.index is not None:
            raise ModelError(f"{pattern} reads an index: transact_get reads by primary key only")
        schema = schema_of(lookup.entity)
        key = schema.key_for(lookup.values, pattern)
        members = projection_members(projected_attributes(schema, lookup.projection))
        table = context.name_of(schema.table)
        place = places.setdefault((table, *(value for each in key.values() for value in each.values())), len(gets))
        if place == len(gets):
            gets.append({"Get": {"TableName": table, "Key": key, **members}})
        elif gets[place]["Get"] != {"TableName": table, "Key": key, **members}:
            # Read as different parts.
            gets[place] = {"Get": {"TableName": table, "Key": key}}
        wanted.append(place)
        names[pattern] = None
    if not gets:
        return ()
    if len(gets) > MAX_TRANSACTION_ACTIONS:
        raise LimitExceeded(
            f"a transaction reads {MAX_TRANSACTION_ACTIONS} items at most, not {len(gets)}; use get_many"
        )
    body = {"TransactItems": gets}
    response = yield from retrying(context, Request("TransactGetItems", body, ", ".join(names)))
    now, found = context.clock(), []
    for lookup, place in zip(lookups, wanted, strict=True):
        schema = schema_of(lookup.entity)
        item: Item | None = response["Responses"][place].get("Item")
        if item is not None and not is_visible(schema, item, now, key_is_known=True):
            item = None
        if item is not None and schema.large and lookup.load_large:
            (item,) = yield from load_visible(context, [schema], [item], ())
        found.append(None if item is None else read_as(lookup, item))
    return tuple(found)
