"""Counters, compared with the items that they count.

    present counters ──▶ all items that they count, added up ──▶ the differences, read again

A counter that has changed meanwhile is read again. Each write of a counted item changes its counter, and the number of
changes is in the counter's item; so one that is the same before and after has counted what was read in between. A
repair sets it on condition that this is still so. A counter that a consumer maintains lags behind its stream, and is
left to a rebuild.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import orjson

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, all_equal, missing
from tablewright.model import ModelError, Schema
from tablewright.model.derived.counters import COUNTER_CHANGES, Counter
from tablewright.model.values.attribute_codec import number_text
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import backoff, retrying
from tablewright.store.item_description import describe_item
from tablewright.store.maintenance.findings import Fault, Finding, Remedy
from tablewright.store.maintenance.repair_pass import MAX_REPAIR_ATTEMPTS, Changed, RepairPass, has_changed
from tablewright.store.read.batch_get import batch_get
from tablewright.store.write.planning.operation import WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition

__all__ = ["counters_of_pass"]

# The fields of a group, and what its counters should be, by attribute.
_Total = tuple[Item, dict[str, Decimal]]
_ZERO = Decimal(0)


def counters_of_pass(repair_pass: RepairPass) -> Flow[None]:
    """Check the counters of all entities that are verified."""
    for schema in repair_pass.schemas:
        if schema.counts:
            yield from _check(repair_pass, schema)


def _check(repair_pass: RepairPass, schema: Schema) -> Flow[None]:
    context = repair_pass.context
    undecided: set[bytes] | None = None
    for attempt in range(1, MAX_REPAIR_ATTEMPTS + 1):
        stored: dict[bytes, Item] = {}
        for reading in _pages(repair_pass, schema):
            page = yield from reading
            stored.update((_identity(schema, item), item) for item in page)
        totals: dict[bytes, _Total] = {}
        for source in dict.fromkeys(counter.source for counter in schema.counts):
            counters = [counter for counter in schema.counts if counter.source is source]
            for reading in _pages(repair_pass, source):
                _add_up(totals, counters, (yield from reading))
        wrong = [
            identity
            for identity in {**stored, **totals}
            if (undecided is None or identity in undecided)
            and _differing(schema, stored.get(identity), totals.get(identity))
        ]
        keys = [_key(schema, stored.get(identity), totals.get(identity)) for identity in wrong]
        now = yield from batch_get(context, [(repair_pass.name, key) for key in keys], "verify", consistent=True)
        undecided = set()
        for identity, key, item in zip(wrong, keys, now, strict=True):
            before, total = stored.get(identity), totals.get(identity)
            if item == before and (yield from _decided(repair_pass, schema, key, before, total)):
                continue
            undecided.add(identity)
            if attempt == MAX_REPAIR_ATTEMPTS:
                repair_pass.report(_findings(schema, key, before, total), Remedy.BUSY)
        if not undecided:
            return
        yield backoff(context, attempt)


def _decided(
    repair_pass: RepairPass, schema: Schema, key: Item, stored: Item | None, total: _Total | None
) -> Flow[bool]:
    """Report a counter that is wrong, and repair it; False if it has just been changed."""
    findings = _findings(schema, key, stored, total)
    by_stream = {counter.spec.name for counter in schema.counts if counter.kept_by == "stream"}
    left = [finding for finding in findings if finding.subject in by_stream]
    others = [finding for finding in findings if finding.subject not in by_stream]
    if repair_pass.repairs and others:
        names = {finding.subject for finding in others}
        counters = [counter for counter in schema.counts if counter.spec.name in names]
        try:
            yield from repair_pass.commit(schema, _plan(repair_pass, schema, key, counters, stored, total))
        except Changed:
            return False
    repair_pass.report(left, Remedy.LEFT if repair_pass.repairs else Remedy.FOUND)
    repair_pass.report(others, Remedy.REPAIRED if repair_pass.repairs else Remedy.FOUND)
    return True


def _plan(
    repair_pass: RepairPass,
    schema: Schema,
    key: Item,
    counters: Sequence[Counter],
    stored: Item | None,
    total: _Total | None,
) -> WritePlan:
    group, amounts = total or ({}, {})
    actions = UpdateActions(sets={**group, **(schema.derive(group) if group else {})})
    if schema.table.type_attribute is not None:
        actions.sets[schema.table.type_attribute] = {"S": schema.type_name}
    for counter in counters:
        name = counter.spec.attribute
        actions.sets[name] = {"N": number_text(amounts.get(name, _ZERO))}
    actions.adds[COUNTER_CHANGES] = {"N": "1"}
    for attribute in key:
        actions.sets.pop(attribute, None)
    if stored is None:
        same = [missing(schema.table.partition)]
    else:
        watched = [COUNTER_CHANGES, *(counter.spec.attribute for counter in schema.counts)]
        same = all_equal({name: stored.get(name) for name in watched})
    preconditions = [Precondition(condition, has_changed) for condition in same]
    return WritePlan([action("Update", repair_pass.at(key), preconditions, actions)])


def _add_up(totals: dict[bytes, _Total], counters: Sequence[Counter], items: Sequence[Item]) -> None:
    """Add what items contribute to the totals of their groups."""
    for item in items:
        for counter in counters:
            try:
                contribution = counter.contribution(counter.source.upgrade(item))
            except ModelError:
                # It is unreadable, which is reported as that.
                continue
            if contribution is None:
                continue
            group, amount = contribution
            identity = _identity(counter.schema, counter.schema.key_of(group))
            _, amounts = totals.setdefault(identity, (group, {}))
            name = counter.spec.attribute
            amounts[name] = amounts.get(name, _ZERO) + amount


def _pages(repair_pass: RepairPass, schema: Schema) -> Iterator[Flow[list[Item]]]:
    """The stored items of an entity, page by page; one that has expired counts until it is deleted."""
    body: dict[str, Any] = {"TableName": repair_pass.context.name_of(schema.table), "ConsistentRead": True}
    end: Item | None = None

    def page() -> Flow[list[Item]]:
        nonlocal end
        start = {} if end is None else {"ExclusiveStartKey": end}
        response = yield from retrying(repair_pass.context, Request("Scan", {**body, **start}, "verify"))
        end = response.get("LastEvaluatedKey")
        return [item for item in response["Items"] if schema.matches(item)]

    yield page()
    while end is not None:
        yield page()


def _identity(schema: Schema, item: Item) -> bytes:
    return orjson.dumps([item[name] for name in schema.table.key])


def _key(schema: Schema, stored: Item | None, total: _Total | None) -> Item:
    if stored is not None:
        return {name: stored[name] for name in schema.table.key}
    assert total is not None
    return schema.key_of(total[0])


def _differing(schema: Schema, stored: Item | None, total: _Total | None) -> list[tuple[str, Decimal, Decimal]]:
    """The counters that are wrong: their names, what they should be, and what they are."""
    found = []
    for counter in schema.counts:
        name = counter.spec.attribute
        expected = _ZERO if total is None else total[1].get(name, _ZERO)
        actual = Decimal((stored or {}).get(name, {}).get("N", 0))
        if expected != actual:
            found.append((counter.spec.name, expected, actual))
    return found


def _findings(schema: Schema, key: Item, stored: Item | None, total: _Total | None) -> list[Finding]:
    entity, which = schema.entity.__name__, describe_item(schema, stored or {**key, **(total[0] if total else {})})
    return [
        Finding(Fault.COUNTER, entity, which, name, number_text(expected), number_text(actual))
        for name, expected, actual in _differing(schema, stored, total)
    ]
