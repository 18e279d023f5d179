"""Whether the tables of systems exist, by reads that their policies allow.

    are_ready(runtime, systems)      at start: every table and index that a system reads exists
    check_tables(runtime, systems)   for readiness: every table answers

Describing a table takes a permission that serving does not need. So a read that the design declares is made instead,
for a key that no item has: GetItem where the design has a Get on the table, otherwise Query on the table or an index.
Most processes only write to the table of events, but maintenance may scan it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any

from tablewright.model import Design, Get, Schema, Table
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.system import Runtime, System
from tablewright.store import Request, ServiceError

__all__ = ["are_ready", "check_tables", "is_any_there", "tables_of"]

# The role whose reads are made, where a design has it: that of the requests.
_ROLE = "api"
_NOBODY = {"S": {"S": "tablewright-readiness"}, "N": {"N": "-1"}, "B": {"B": "AA=="}}
_PATTERN = "readiness"

# A table or an index that is read: its table, the index, and whether items are got by their key.
Place = tuple[Table, str | None, bool]
_INTERNAL: Place = (internal_table, None, True)


def tables_of(systems: Sequence[System]) -> list[Table]:
    """All tables that systems need, including internal ones."""
    tables = [events_table, internal_table, *(table for system in systems for table in system.design.all_tables)]
    return list({table.name: table for table in tables}.values())


async def are_ready(runtime: Runtime, systems: Sequence[System]) -> bool:
    """Whether every table and index that systems read, and every internal table, exists; other errors are raised."""
    checks = [_is_there(runtime, place) for system in systems for place in _places(system.design)]
    checks.append(_exists(_read(runtime, _INTERNAL)))
    if any(events_table in system.design.internal_tables for system in systems):
        checks.append(_has_events(runtime))
    return all(await asyncio.gather(*checks))


async def is_any_there(runtime: Runtime, systems: Sequence[System]) -> bool:
    """Whether any table of the systems exists already."""
    places = [place for system in systems for place in _places(system.design) if place[1] is None]
    return any(await asyncio.gather(*(_is_there(runtime, place) for place in places)))


async def check_tables(runtime: Runtime, systems: Sequence[System]) -> None:
    """Read from every table once; StoreError if one does not respond. The internal one is read by every call."""
    first: dict[str, Place] = {internal_table.name: _INTERNAL}
    for system in systems:
        for place in _places(system.design):
            first.setdefault(place[0].name, place)
    await asyncio.gather(*(_read(runtime, place) for place in first.values()))


async def _is_there(runtime: Runtime, place: Place) -> bool:
    try:
        await _read(runtime, place)
    except ServiceError as error:
        if error.code == "ResourceNotFoundException" or error.is_missing_index:
            return False
        raise
    return True


async def _has_events(runtime: Runtime) -> bool:
    """Whether the table of events exists, which maintenance may scan."""
    body = {"TableName": runtime.store.context.name_of(events_table), "Limit": 1}
    return await _exists(runtime.maintenance_store.backend.call_async(Request("Scan", body, _PATTERN)))


async def _exists(reading: Awaitable[object]) -> bool:
    """Whether an internal table exists; where that may not be read, another process is responsible for it."""
    try:
        await reading
    except ServiceError as error:
        if error.code not in ("ResourceNotFoundException", "AccessDeniedException"):
            raise
        return error.code == "AccessDeniedException"
    return True


async def _read(runtime: Runtime, place: Place) -> None:
    table, index, by_key = place
    body: dict[str, Any] = {"TableName": runtime.store.context.name_of(table)}
    if by_key:
        body["Key"] = {name: _nobody(table, name) for name in table.key}
    else:
        parts = (table.partition,) if index is None else table.index(index).partition
        body["KeyConditionExpression"] = " AND ".join(f"#k{number} = :k{number}" for number in range(len(parts)))
        body["ExpressionAttributeNames"] = {f"#k{number}": name for number, name in enumerate(parts)}
        body["ExpressionAttributeValues"] = {f":k{number}": _nobody(table, name) for number, name in enumerate(parts)}
        body["Limit"] = 1
        if index is not None:
            body["IndexName"] = index
    request = Request("GetItem" if by_key else "Query", body, _PATTERN)
    await runtime.store.backend.call_async(request)


def _nobody(table: Table, attribute: str) -> dict[str, str]:
    return _NOBODY[table.types.get(attribute, "S")]


def _places(design: Design) -> Iterator[Place]:
    """What a design reads, tables before their indexes: each once."""
    names = design.roles.get(_ROLE, design.patterns)
    reads = [design.patterns[name] for name in names if name in design.patterns]
    found: dict[tuple[str, str | None], Place] = {}
    for owner, pattern in reads:
        table = owner.table if isinstance(owner, Schema) else owner.members_[0].schema.table
        place = table, pattern.index, isinstance(pattern, Get) and pattern.index is None
        known = found.get((table.name, pattern.index))
        if known is None or place[2]:
            found[table.name, pattern.index] = place
    yield from sorted(found.values(), key=lambda place: place[1] is not None)
