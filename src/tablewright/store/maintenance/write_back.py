"""Storing items of an older schema version in the current one: by a repair, and by reads of an entity that writes back.

    read ──▶ older items ──▶ each upgraded, and written once if nothing has changed ──▶ entities

What is written is what the upgrade has changed, under the condition that all that it was made of is still stored so. An
item that is gone does not come back, and what others have written stays, also attributes that are unknown here. The
version stays what it was, and so do the stamps: nothing has happened to the entity, and who has read it can write it.

It neither delays a read nor makes it fail. Items that were changed meanwhile, or are refused, are left to the next
read. The first response that says that writing does not work now (throttling, no permission, no connection) ends it for
this read.
"""

from __future__ import annotations

from collections.abc import Sequence

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, all_equal, exists
from tablewright.model import Schema
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store.blobs.blob_references import missing_references, references, without_blob_values
from tablewright.store.blobs.offload import Offload
from tablewright.store.context import Context
from tablewright.store.errors import Cancelled, ServiceError, StoreError
from tablewright.store.flow.driver import Flow, relay
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Planned, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition, Refusal
from tablewright.store.write.unique_values import GuardChange, guard_changes

# Errors of one item, which say nothing about the others.
_OF_THE_ITEM = "ValidationException"


def plan_upgrade(
    context: Context,
    schema: Schema,
    stored: Item,
    wanted: Item,
    changed: Refusal,
    guards: Sequence[GuardChange] = (),
) -> WritePlan:
    """The plan that makes a stored item what it should be, under the same key, if all of it is still the same."""
    table = schema.table
    key = {name: stored[name] for name in table.key}
    placement = Offload(context).place(schema, wanted, references(stored)) if schema.large else None
    after = wanted if placement is None else placement.item
    differing = [name for name in {**stored, **after} if stored.get(name) != after.get(name)]
    actions = UpdateActions(
        sets={name: after[name] for name in differing if name in after},
        removes=[name for name in differing if name not in after],
    )
    names = dict.fromkeys([*stored, *schema.stored_names(schema.by_attribute), *differing, BLOB_REFERENCES])
    assumed = {name: stored.get(name) for name in names if not schema.is_derived(name) and name not in key}
    preconditions = [Precondition(each, changed) for each in (exists(table.partition), *all_equal(assumed))]
    update = action("Update", {"TableName": context.name_of(table), "Key": key}, preconditions, actions)
    return WritePlan([update], guards, placement=placement)


# -- writing back ---------------------------------------------------------------------------------------------------


class _Changed(StoreError):
    """The item has changed since it was read."""


class _Waiting(StoreError):
    """The service is busy."""


def written_back(context: Context, schemas: Sequence[Schema], items: Sequence[Item]) -> Flow[list[Item]]:
    """Items that were read of some entities; older ones as they are stored now, if they are."""
    result = list(items)
    known: dict[int, Item] = {}
    for number, item in enumerate(items):
        schema = next((schema for schema in schemas if len(schemas) == 1 or schema.matches(item)), None)
        if schema is None or not schema.needs_write_back(item) or missing_references(item):
            # The upgrades may look at large values, so that without them there is nothing to go by.
            continue
        if id(item) not in known:
            try:
                known[id(item)] = yield from relay(_write_back(context, schema, item), on_sleep=_Waiting)
            except _Waiting:
                break
            except ServiceError as error:
                if error.code != _OF_THE_ITEM:
                    break
                known[id(item)] = item
        result[number] = known[id(item)]
    return result


def _write_back(context: Context, schema: Schema, item: Item) -> Flow[Item]:
    """Write an item in the current schema version: what is stored then; the same one if it could not be."""
    from tablewright.store.maintenance.findings import compared

    _, wanted = compared(schema, item)
    if wanted is None or any(wanted[name] != item[name] for name in schema.table.key):
        return item
    stored = without_blob_values(item)
    key = {name: item[name] for name in schema.table.key}
    name = "write_back"
    try:
        guards = guard_changes(schema, stored, key, wanted, key)
        plan = plan_upgrade(context, schema, stored, wanted, lambda _: _Changed(), guards)
        yield from execute_all(context, [Planned(schema, name, plan)], f"{schema.entity.__name__}.{name}")
    except Cancelled as cancelled:
        failed = next((reason for reason in cancelled.reasons if isinstance(reason, ServiceError)), None)
        if failed is not None:
            raise failed from None
        return item
    except (ServiceError, _Waiting):
        raise
    except StoreError:
        # It would not fit, say. Its next write, and ``verify``, report that.
        return item
    return wanted if plan.placement is None else plan.placement.whole(wanted)
