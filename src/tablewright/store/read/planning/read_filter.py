"""Filters of one read: a condition on fields, added to the plan of a pattern or a scan.

The service evaluates it after it has read an item, so it saves what is sent and not what is charged. What an index does
not have, the service cannot filter by: that is evaluated here, on the item from the table.
"""

from __future__ import annotations

from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Placeholders, attribute_of, holds, render
from tablewright.model import FieldCondition, ModelError
from tablewright.store.read.planning.read_plan import ReadPlan

__all__ = ["filter_attributes", "filtered"]


def filter_attributes(where: Any) -> list[str]:
    """The attributes that a filter is on; of what is no filter, none."""
    return [attribute_of(stored) for _, stored in where.paths] if isinstance(where, FieldCondition) else []


def filtered(plan: ReadPlan, where: FieldCondition | None) -> ReadPlan:
    """The plan with a filter; the same plan without one."""
    if where is None or not plan.bodies:
        return plan
    target = plan.target
    schema, name = target.schema, target.schema.entity.__name__
    about = where.entity if hasattr(where, "node") else type(None)
    if about is not schema.entity and not issubclass(schema.entity, about):
        raise ModelError(f"{target.pattern} takes a condition on {name}, such as attr({name}.x) == 1, not {where!r}")
    node = where.node
    attributes = filter_attributes(where)
    body = plan.bodies[0]
    index = schema.table.index(body["IndexName"]) if "IndexName" in body else None
    if target.operation == "Query":
        read_by = schema.table.key if index is None else (*index.partition, *index.sort)
        for attribute in attributes:
            if attribute in read_by:
                field = schema.by_attribute[attribute].name
                raise ModelError(
                    f"{target.pattern}: {field} is part of the key that is read, so it cannot be in where; "
                    "give it to the pattern"
                )
    available = None if index is None or index.include is None else {*target.key, *index.include}
    if available is not None and not available.issuperset(attributes):

        def accepts(item: Item) -> bool:
            return holds(node, item)

        return ReadPlan(target, plan.bodies, [*plan.checks, accepts], plan.partitions, plan.is_chain, plan.is_parallel)
    # Partitions differ in their values only.
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    placeholders = Placeholders(dict(names), dict(values), {name: placeholder for placeholder, name in names.items()})
    text, before = render(node, placeholders), body.get("FilterExpression")
    added: dict[str, Any] = {"FilterExpression": text if before is None else f"({before}) AND ({text})"}
    if placeholders.names:
        added["ExpressionAttributeNames"] = placeholders.names
    bodies = [{**each, **added} for each in plan.bodies]
    if placeholders.values:
        for each in bodies:
            each["ExpressionAttributeValues"] = placeholders.values | each.get("ExpressionAttributeValues", {})
    return ReadPlan(target, bodies, plan.checks, plan.partitions, plan.is_chain, plan.is_parallel)
