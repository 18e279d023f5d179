"""Sample items as they lie in a table and in its indexes: rows by partition and sort key.

    | userId | sk                    | item | attributes                                  |
    |--------|-----------------------|------|---------------------------------------------|
    | user-1 | 1768469640000#call-1  | Call | callId call-1, providerId provider-1, ...   |

This is how a single-table design is read: what has one partition key is one query, in the order of the sort key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tablewright.design.report import Block, Grid, Heading, Text
from tablewright.design.sample_entities import samples
from tablewright.dynamo import AttributeValue, Item
from tablewright.model import Design, ModelError, Table, schemas_of
from tablewright.model.values.attribute_codec import decode

__all__ = ["key_tables"]

_SAMPLES = 2
_MAX_ATTRIBUTES = 6
_MAX_VALUE_LENGTH = 40


def key_tables(design: Design) -> Iterator[Block]:
    """A picture of each table and each index."""
    yield Heading("Sample items by key")
    yield Text("Rows with the same partition key lie side by side, in the order of their sort key.")
    for table in design.tables:
        items = _items(table)
        yield Heading(f"`{table.name}`", 3)
        yield _grid(table, [table.partition], [] if table.sort is None else [table.sort], items)
        for index in table.indexes:
            yield Heading(f"`{table.name}/{index.name}`", 3)
            yield _grid(table, index.partition, index.sort, items)


def _items(table: Table) -> list[tuple[str, Item]]:
    """Some items of each entity, with its name."""
    found: list[tuple[str, Item]] = []
    for schema in schemas_of(table):
        try:
            found += [(schema.entity.__name__, each.item()) for each in samples(schema.entity, _SAMPLES)]
        except ModelError:
            # Its validators accept no second one.
            found += [(schema.entity.__name__, each.item()) for each in samples(schema.entity, 1)]
    return found


def _grid(table: Table, partition: Sequence[str], sort: Sequence[str], items: Sequence[tuple[str, Item]]) -> Grid:
    names = [*partition, *sort]
    present = [(entity, item) for entity, item in items if all(name in item for name in names)]
    present.sort(key=lambda each: [_sortable(each[1][name]) for name in names])
    rows, above = [], None
    for entity, item in present:
        own = [_text(item[name]) for name in partition]
        shown = ["" for _ in own] if own == above else [f"`{value}`" for value in own]
        rows.append([*shown, *(f"`{_text(item[name])}`" for name in sort), entity, _attributes(table, item)])
        above = own
    return Grid([*names, "item", "attributes"], rows)


def _attributes(table: Table, item: Item) -> str:
    """The attributes of an item that are no keys of anything; the first of them."""
    keys = {*table.key, *(name for index in table.indexes for name in (*index.partition, *index.sort))}
    others = [name for name in item if name not in keys and name != table.type_attribute]
    shown = [f"{name} `{_text(item[name])}`" for name in others[:_MAX_ATTRIBUTES]]
    return ", ".join(shown) + (", ..." if len(others) > _MAX_ATTRIBUTES else "")


def _sortable(value: AttributeValue) -> tuple[float, str]:
    return (float(value["N"]), "") if "N" in value else (0.0, _text(value, None))


def _text(value: AttributeValue, length: int | None = _MAX_VALUE_LENGTH) -> str:
    text = str(_plain(value)).replace("`", "'")
    return text if length is None or len(text) <= length else text[: length - 3] + "..."


def _plain(value: AttributeValue) -> Any:
    """A value to be shown; members of a set in order, so that a document is always the same."""
    if "M" in value:
        return {name: _plain(member) for name, member in value["M"].items()}
    if "L" in value:
        return [_plain(member) for member in value["L"]]
    found = decode(value)
    return sorted(found, key=str) if isinstance(found, set | frozenset) else found
