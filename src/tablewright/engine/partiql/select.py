"""SELECT: a keyed read of some ranges, or a read of a whole table or index, a page at a time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import INVALID_VALUES, Item, ResourceNotFoundException, ValidationException
from tablewright.dynamo.expressions import ConditionProgram, condition_from_node, hash_order
from tablewright.dynamo.limits import MAX_PAGE_BYTES
from tablewright.engine.database import Database
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.item_operations import check_key_paths
from tablewright.engine.items.page_reader import PageRead, Source, meter_page, read_page
from tablewright.engine.partiql import where_keys
from tablewright.engine.partiql.next_token import Position, check_position
from tablewright.engine.partiql.statements import Select, Values
from tablewright.engine.slices import Sliced
from tablewright.engine.tables.table_schema import Index

# A read that IN or OR splits into ranges returns this many of them in a page.
_RANGES_PER_PAGE = 10


@dataclass(slots=True)
class Result:
    """One page, and where the next one begins."""

    items: list[Any] = field(default_factory=list)
    next: Position | None = None
    last: Item | None = None


def run(
    db: Database,
    statement: Select,
    values: Values,
    meter: Meter | None,
    *,
    consistent: bool = False,
    limit: int | None = None,
    start: Position | None = None,
) -> Sliced[Result]:
    check_source(db, statement)
    source = _source(db, statement, consistent)
    parts = where_keys.ranges(source, statement.where, values)
    forward = True
    if statement.order:
        forward = _check_order(source, statement, values)
        descending = dict(statement.order).get(source.key.partition[0], False)
        if descending and parts is not None:
            parts.reverse()
    if source.index is not None and parts is not None:
        _check_filters_projected(source.index, parts)
    for program in (statement.columns, statement.where):
        if program is not None:
            check_key_paths(source.table, program)
    read = PageRead(source, forward=forward, values=values, projection=statement.columns)
    read.whole_items = _needs_whole_items(source, statement)
    read.condition = _condition(statement, source, parts, read.whole_items)
    stretches = [(b"", None)] if parts is None else [(part.low, part.high) for part in parts]
    position = start or Position()
    check_position(position, source, len(stretches))
    result = Result()
    scanned = size = 0
    for number in range(position.range, len(stretches)):
        if number >= position.range + _RANGES_PER_PAGE or size >= MAX_PAGE_BYTES:
            result.next = Position(number)
            break
        read.low, read.high = stretches[number]
        read.limit = None if limit is None else limit - scanned
        if number == position.range and position.after is not None:
            behind = source.position(position.after)
            if forward:
                read.low = max(read.low, behind + b"\x00")
            else:
                read.high = behind if read.high is None else min(read.high, behind)
        page = yield from read_page(db, read)
        if meter is not None:
            meter_page(meter, read, page, consistent)
        result.items.extend(page.items)
        scanned += page.scanned
        size += page.size
        if page.last is not None:
            result.next, result.last = Position(number, page.last), page.last
            break
    return result


def check_source(db: Database, statement: Select) -> None:
    """Refuse errors in the source, and then in the SELECT list, of any SELECT."""
    index = None
    if statement.index is not None:
        with suppress(ResourceNotFoundException):
            index = db.table(statement.table).indexes.get(statement.index)
    if index is not None and (len(index.key.partition) > 1 or len(index.key.sort) > 1):
        raise ValidationException(
            "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
            "multi-attribute RANGE keys."
        )
    if statement.flaw is not None:
        raise ValidationException(statement.flaw)


def _source(db: Database, statement: Select, consistent: bool) -> Source:
    table = db.table(statement.table)
    if statement.index is None:
        return Source(table, None)
    index = table.indexes.get(statement.index)
    if index is None:
        raise ValidationException("The table does not have the specified index")
    if index.is_global and consistent:
        raise ValidationException("Strongly consistent read is not supported on Global Secondary Indexes")
    if not index.queryable:
        raise ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")
    if index.is_global and index.projected is not None and statement.columns is not None:
        missing = [name for name in statement.columns.roots if name not in index.projected]
        if missing:
            raise ValidationException(
                f"{INVALID_VALUES}Global secondary index {index.name} does not project [{', '.join(missing)}]"
            )
    return Source(table, index)


def _needs_whole_items(source: Source, statement: Select) -> bool:
    """A local index is completed from the table when the SELECT list asks for more than it has."""
    index, columns = source.index, statement.columns
    if index is None or index.projected is None or columns is None:
        return False
    return not columns.top_level_attributes <= index.projected


def _condition(
    statement: Select, source: Source, parts: list[where_keys.Range] | None, whole_items: bool
) -> ConditionProgram | None:
    """The remaining filter on each item after the ranges are read; on an index, it sees what the index stores."""
    if statement.where is None or (parts is not None and not any(part.filters for part in parts)):
        return None
    if not whole_items:
        return statement.where
    index = source.index
    assert index is not None
    entry, condition = index.entry, condition_from_node(statement.where.node)
    evaluate = condition.evaluate
    condition.evaluate = lambda item, values: evaluate(entry(item), values)
    return condition


def _check_order(source: Source, statement: Select, values: Values) -> bool:
    """ORDER BY is for keyed reads, by key attributes; returns the direction of the sort key."""
    key = source.key
    where = statement.where
    if where is None:
        raise ValidationException("Must have WHERE clause in the statement when using ORDER BY clause.")
    directions: dict[str, bool] = {}
    for name, descending in statement.order:
        if name not in key.types:
            raise ValidationException(f"Attribute {name} in ORDER BY clause must be part of the primary key")
        directions.setdefault(name, descending)
    conditions = where_keys.partition_conditions(where, key, values)
    if conditions == 0:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
        )
    if conditions > 1 and key.partition[0] not in directions:
        raise ValidationException(
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
        )
    # Ordered by the partition key alone, the items of a partition come in descending order.
    return not directions.get(key.sort[0], True) if key.sort else True


def _check_filters_projected(index: Index, parts: list[where_keys.Range]) -> None:
    """A keyed read must not filter on attributes that the index does not store, unless a branch of it does not."""
    if index.projected is None:
        return
    missing = [where_keys.filter_attributes(part.filters) - index.projected for part in parts]
    if missing and all(missing):
        names = ", ".join(hash_order(sorted(missing[-1]), len(missing[-1])))
        raise ValidationException(
            f"{INVALID_VALUES}Secondary index {index.name} does not project one or more filter attributes: [{names}]"
        )
