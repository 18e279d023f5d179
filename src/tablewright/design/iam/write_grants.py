"""The permissions for a write: for the item itself, and for the internal items of the store."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Grant, Resource, Tenant
from tablewright.design.iam.leading_keys import leading_keys
from tablewright.model import ItemWrite, Schema, Write, schema_of

__all__ = ["of_check", "of_touch"]


def of_touch(write: Write, item_write: ItemWrite, tenant: Tenant | None, indirect: bool) -> Iterator[Grant]:
    schema = schema_of(item_write.entity)
    place = Resource(schema.table)
    needed = list(_actions(schema, item_write, write.is_batch))
    if indirect and item_write.action in ("update", "delete"):
        needed.append(("GetItem", f"the {item_write.entity.__name__} found by an index"))
    leading: tuple[str, ...] = ()
    if tenant is not None:
        if schema.needs_upkeep or schema.numbered:
            raise DesignError(
                f"{write.name} cannot be limited to a tenant: {item_write.entity.__name__} has unique, numbered or "
                "counted fields, whose guards and counters are shared by all tenants; use another role"
            )
        leading = leading_keys(write.name, schema, None, {}, tenant)
    for action, reason in needed:
        yield Grant(action, place, f"{write.name}: {reason}" if reason else write.name, leading)
    for counter in _kept_counters(schema, item_write):
        reason = f"{write.name}: counters of {counter.entity.__name__}"
        yield Grant("UpdateItem", Resource(counter.table), reason, leading)


def _kept_counters(schema: Schema, item_write: ItemWrite) -> list[Schema]:
    """The entities whose counters a write changes in its transaction."""
    changed = {schema.path(path).partition(".")[0] for path in item_write.changed}
    kept = [counter for counter in schema.counters if counter.kept_by == "transaction"]
    touched = [each.schema for each in kept if item_write.action != "update" or changed & each.sources]
    return list(dict.fromkeys(touched))


def of_check(write: str, schema: Schema, tenant: Tenant | None, indirect: bool) -> Iterator[Grant]:
    leading = () if tenant is None else leading_keys(write, schema, None, {}, tenant)
    reason = f"{write}: the state of {schema.entity.__name__}"
    yield Grant("ConditionCheckItem", Resource(schema.table), reason, leading)
    if indirect:
        yield Grant("GetItem", Resource(schema.table), reason, leading)


def _actions(schema: Schema, item_write: ItemWrite, in_batch: bool) -> Iterator[tuple[str, str]]:
    """The actions that a store needs for an item write, each with the reason if it is not the write itself."""
    name = item_write.entity.__name__
    if _is_record(schema):
        # ``execute_once`` looks for the response of a duplicate, and stores the response with the effect.
        for action in ("PutItem", "GetItem"):
            yield action, f"requests that are executed once, by {name}"
    elif in_batch:
        yield "BatchWriteItem", ""
        if schema.large:
            yield "BatchGetItem", f"blobs of {name}"
    elif item_write.action in ("create", "put"):
        yield "PutItem", ""
        if item_write.action == "put" and schema.unique:
            yield "DeleteItem", f"guards of unique fields of {name}"
        if schema.numbered:
            yield "GetItem", f"counters of {name}"
            yield "UpdateItem", f"counters of {name}"
    elif item_write.action == "delete":
        yield "DeleteItem", ""
        if schema.needs_upkeep:
            yield "GetItem", f"unique values of the {name}" if schema.unique else f"what the {name} counts for"
    else:
        yield "UpdateItem", ""
        yield from _actions_of_update(schema, item_write)


def _is_record(schema: Schema) -> bool:
    """Whether items of an entity are records of a store's ``execute_once``, whatever a design says of them."""
    names = {f"{base.__module__}.{base.__name__}" for base in schema.entity.__mro__}
    return "tablewright.store.write.idempotent_write.IdempotencyRecord" in names


def _actions_of_update(schema: Schema, item_write: ItemWrite) -> Iterator[tuple[str, str]]:
    name = item_write.entity.__name__
    changed = {schema.locate(path, name).parts[0] for path in item_write.changed}
    if schema.retained is not None:
        changed.add(schema.retained.attribute)
    key = schema.table.key
    identity = {source for attribute in key for source in schema.sources(attribute)}
    guards = set(schema.guarded_attributes)
    if guards and schema.expiry is not None:
        guards.add(schema.expiry.attribute)
    # Fields that can be parsed from the primary key are known without a read.
    known = {
        part.name
        for attribute in key
        for part in (schema.key_rules[attribute].fields if attribute in schema.key_rules else ())
        if part.reversible
    } | {attribute for attribute in key if attribute not in schema.key_rules}
    sources: set[str] = set()
    for attribute in schema.key_rules:
        if attribute not in key and schema.sources(attribute) & changed:
            sources |= schema.sources(attribute)
    # A field that is replaced need not be known; one that is appended to, or changed inside, has to be.
    whole = {schema.locate(path, name).parts[0] for path in item_write.sets if "." not in path}
    needed = sources - whole
    if guards & changed:
        needed |= guards
    for counter in schema.counters:
        if counter.kept_by == "transaction" and counter.sources & changed:
            needed |= counter.sources
    if schema.large:
        needed |= {spec.attribute for spec in schema.large}
        yield "BatchGetItem", f"items of {name} whose blobs were replaced meanwhile"
    if changed & identity:
        yield "GetItem", f"the {name} that is moved"
        yield "PutItem", f"the {name} at its new key"
        yield "DeleteItem", f"the {name} at its old key"
    elif needed - known:
        yield "GetItem", "fields of its keys" if not schema.large else "the size of the item"
    if guards & changed:
        yield "PutItem", f"guards of unique fields of {name}"
        yield "DeleteItem", f"guards of unique fields of {name}"
    if schema.upgrades is not None:
        yield "PutItem", f"items of older schema versions of {name}"
