"""BatchGetItem for any number of keys: in chunks, without duplicates, and with unprocessed keys retried."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.limits import MAX_BATCH_GET_KEYS
from tablewright.store.context import Context
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import MAX_REQUEST_ATTEMPTS, backoff, retrying
from tablewright.store.read.planning.key_range import comparable
from tablewright.store.read.planning.projected_attributes import projection_members

# The name of a table, and a primary key.
Address = tuple[str, Item]


def batch_get(
    context: Context,
    addresses: Sequence[Address],
    pattern: str,
    *,
    consistent: bool = False,
    projected: Mapping[str, Sequence[str]] | None = None,
) -> Flow[list[Item | None]]:
    """The items at these addresses, in their order; None where there is none.

    ``projected`` are the attributes that are read of the items of a table, with its key; by default all of them.
    """
    # A key that was stored inside an item may have its attributes in another order.
    names = {table: tuple(key) for table, key in addresses}
    tokens = [_token(table, names[table], key) for table, key in addresses]
    # The service refuses a request that names an item twice.
    pending = list(dict(zip(tokens, addresses, strict=True)).values())
    found: dict[Hashable, Item] = {}
    common = {table: projection_members((projected or {}).get(table, ())) for table in names}
    if consistent:
        common = {table: {**members, "ConsistentRead": True} for table, members in common.items()}
    for first in range(0, len(pending), MAX_BATCH_GET_KEYS):
        yield from _read(context, names, pending[first : first + MAX_BATCH_GET_KEYS], pattern, common, found)
    return [found.get(token) for token in tokens]


def _read(
    context: Context,
    names: Mapping[str, Sequence[str]],
    chunk: Sequence[Address],
    pattern: str,
    common: Mapping[str, Mapping[str, Any]],
    found: dict[Hashable, Item],
) -> Flow[None]:
    """Read a chunk completely: unprocessed keys are requested again, as long as there is progress.

    ``common`` are the members of the request of a table beside its keys.
    """
    unprocessed: dict[str, Any] = {}
    for table, key in chunk:
        unprocessed.setdefault(table, {"Keys": [], **common[table]})["Keys"].append(key)
    failures = 0
    while unprocessed:
        response = yield from retrying(context, Request("BatchGetItem", {"RequestItems": unprocessed}, pattern))
        progress = False
        for table, items in response.get("Responses", {}).items():
            for item in items:
                progress = True
                found[_token(table, names[table], item)] = item
        unprocessed = response.get("UnprocessedKeys") or {}
        if unprocessed:
            failures = 0 if progress else failures + 1
            if failures >= MAX_REQUEST_ATTEMPTS:
                count = sum(len(request["Keys"]) for request in unprocessed.values())
                raise ServiceError(
                    "ProvisionedThroughputExceededException", f"{count} keys of {pattern} were left unprocessed"
                )
            yield backoff(context, failures + 1)


def _token(table: str, names: Sequence[str], key: Item) -> Hashable:
    """A hashable address; equal for keys that are the same to DynamoDB, which compares numbers by value."""
    return table, *[comparable(key[name]) for name in names]
