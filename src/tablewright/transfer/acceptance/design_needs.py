"""The capabilities of an endpoint that each pattern, write and table of a design needs."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.model import CollectionQuery, Design, Get, Query, Table, Write

__all__ = ["needs_of"]


def needs_of(design: Design) -> dict[str, list[str]]:
    """The capabilities that each part of a design needs, by the name of the part."""
    found: dict[str, list[str]] = {}
    for table in design.all_tables:
        found[f"table {table.name}"] = list(_table_needs(table))
    for name, (_, pattern) in design.patterns.items():
        found[name] = list(_pattern_needs(design, pattern))
    for name, write in design.writes.items():
        found[f"write {name}"] = list(_write_needs(write))
    for reaction in design.reactions:
        if reaction.source == "stream":
            found[f"reaction {reaction.name}"] = ["streams", "transactions"]
    return found


def _table_needs(table: Table) -> Iterator[str]:
    if any(index.is_global for index in table.indexes):
        yield "global indexes"
    if any(not index.is_global for index in table.indexes):
        yield "local indexes"
    if table.stream is not None:
        yield "streams"
    if table.ttl is not None:
        yield "time to live"
    if table.point_in_time_recovery:
        yield "point-in-time recovery"
    if table.tags:
        yield "tags"


def _pattern_needs(design: Design, pattern: Get | Query | CollectionQuery) -> Iterator[str]:
    if isinstance(pattern, Get):
        yield "every type of value"
        return
    yield "queries"
    index = getattr(pattern, "index", None)
    indexes = [each for table in design.all_tables for each in table.indexes if each.name == index]
    for each in indexes[:1]:
        yield "global indexes" if each.is_global else "local indexes"


def _write_needs(write: Write) -> Iterator[str]:
    if write.is_batch:
        yield "batches"
        return
    schemas = [each.entity.schema_ for each in write.item_writes]
    yield "conditions"
    if any(each.action == "update" for each in write.item_writes):
        yield "update expressions"
    if len(write.item_writes) > 1 or write.checks or any(schema.unique for schema in schemas):
        yield from ("transactions", "transactions once by token", "isolation of transactions")
