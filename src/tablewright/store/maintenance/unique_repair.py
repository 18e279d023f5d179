"""The guards of unique values, compared with the items that have them.

An item has a guard for each of its unique values, and a guard has an item that owns it. The two are read at different
moments, so an apparent error is checked again in one transaction, and repaired on condition that neither has changed. A
value that two items have is reported, and left: a person has to decide which one keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import all_equal, equals, missing
from tablewright.model import Schema
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import backoff, retrying
from tablewright.store.item_description import describe_item
from tablewright.store.maintenance.findings import Fault, Finding, Remedy, guard_at, guard_finding, key_text
from tablewright.store.maintenance.repair_pass import MAX_REPAIR_ATTEMPTS, Changed, RepairPass, has_changed
from tablewright.store.read.batch_get import batch_get
from tablewright.store.write.planning.operation import Action, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition
from tablewright.store.write.unique_values import OWNER, expected_guards, guarded_values

__all__ = ["guards_of", "strays"]


def guards_of(repair_pass: RepairPass, items: Sequence[tuple[Schema, Item]]) -> Flow[None]:
    """Check that unique values are guarded, and by the right item."""
    wanted = [(schema, item, guard) for schema, item in items for guard in expected_guards(schema, item)]
    addresses = [(repair_pass.name, repair_pass.key(guard)) for _, _, guard in wanted]
    found = yield from batch_get(repair_pass.context, addresses, "verify", consistent=True)
    for (schema, item, guard), stored in zip(wanted, found, strict=True):
        if stored != guard:
            yield from _guard(repair_pass, schema, repair_pass.key(item), repair_pass.key(guard))


def _guard(repair_pass: RepairPass, schema: Schema, key: Item, guard_key: Item) -> Flow[None]:
    """Read an item and the guard of one of its values at one moment, and repair the guard."""
    finding: Finding | None = None
    for attempt in range(1, MAX_REPAIR_ATTEMPTS + 1):
        item, stored = yield from _snapshot(repair_pass, key, guard_key)
        wanted = None if item is None else guard_at(schema, item, guard_key)
        if item is None or wanted is None or stored == wanted or schema.is_expired(item, repair_pass.context.clock()):
            return
        finding = guard_finding(schema, item, wanted, stored)
        owner = None if stored is None else stored[OWNER]["M"]
        checks = [_unchanged_check(repair_pass, schema, key, item)]
        if owner is not None and owner != key:
            (other,) = yield from _snapshot(repair_pass, owner)
            holder = schema if other is None else _schema_of_owner(repair_pass, other) or schema
            if other is not None and guard_at(holder, other, guard_key) is not None:
                repair_pass.report([replace(finding, fault=Fault.DUPLICATE)], Remedy.LEFT)
                return
            checks.append(_unchanged_check(repair_pass, holder, owner, other))
        if not repair_pass.repairs:
            repair_pass.report([finding], Remedy.FOUND)
            return
        same_owner = Precondition(equals(OWNER, None if owner is None else {"M": owner}), has_changed)
        put = action("Put", {"TableName": repair_pass.name, "Item": wanted}, [same_owner])
        try:
            yield from repair_pass.commit(schema, WritePlan([put, *checks]))
        except Changed:
            yield backoff(repair_pass.context, attempt)
        else:
            repair_pass.report([finding], Remedy.REPAIRED)
            return
    if finding is not None:
        repair_pass.report([finding], Remedy.BUSY)


def strays(repair_pass: RepairPass, guards: Sequence[Item]) -> Flow[None]:
    """Check that guards have an owner that has the value."""
    addresses = [(repair_pass.name, guard[OWNER]["M"]) for guard in guards]
    owners = yield from batch_get(repair_pass.context, addresses, "verify", consistent=True)
    for guard, owner in zip(guards, owners, strict=True):
        schema = _schema_of_owner(repair_pass, guard[OWNER]["M"] if owner is None else owner)
        if schema is not None and (owner is None or guard_at(schema, owner, repair_pass.key(guard)) is None):
            yield from _stray(repair_pass, schema, guard)


def _schema_of_owner(repair_pass: RepairPass, owner: Item) -> Schema | None:
    return next((schema for schema in repair_pass.schemas if schema.unique and schema.matches(owner)), None)


def _stray(repair_pass: RepairPass, schema: Schema, guard: Item) -> Flow[None]:
    key = repair_pass.key(guard)
    owner_key: Item = guard[OWNER]["M"]
    finding = Finding(
        Fault.STRAY_GUARD, schema.entity.__name__, describe_item(schema, owner_key), "", None, key_text(key)
    )
    for attempt in range(1, MAX_REPAIR_ATTEMPTS + 1):
        owner, stored = yield from _snapshot(repair_pass, owner_key, key)
        has_it = owner is not None and guard_at(schema, owner, key) is not None
        if stored is None or stored.get(OWNER) != guard[OWNER] or has_it:
            return
        if not repair_pass.repairs:
            repair_pass.report([finding], Remedy.FOUND)
            return
        delete = action("Delete", repair_pass.at(key), [Precondition(equals(OWNER, guard[OWNER]), has_changed)])
        try:
            check = _unchanged_check(repair_pass, schema, owner_key, owner)
            yield from repair_pass.commit(schema, WritePlan([delete, check]))
        except Changed:
            yield backoff(repair_pass.context, attempt)
        else:
            repair_pass.report([finding], Remedy.REPAIRED)
            return
    repair_pass.report([finding], Remedy.BUSY)


def _snapshot(repair_pass: RepairPass, *keys: Item) -> Flow[list[Item | None]]:
    """Several items at one moment."""
    body = {"TransactItems": [{"Get": repair_pass.at(key)} for key in keys]}
    response = yield from retrying(repair_pass.context, Request("TransactGetItems", body, "verify"))
    return [answer.get("Item") or None for answer in response["Responses"]]


def _unchanged_check(repair_pass: RepairPass, schema: Schema, key: Item, item: Item | None) -> Action:
    """That an item has the unique values that it was seen with, or is still missing."""
    if item is None:
        same = [Precondition(missing(repair_pass.table.partition), has_changed)]
    else:
        same = repair_pass.unchanged(*all_equal(guarded_values(schema, item)))
    return action("ConditionCheck", repair_pass.at(key), same)
