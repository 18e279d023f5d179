"""Sample items of a table and of its indexes, by key: rows by partition and sort key.

    | userId | sk                    | item | attributes                                  |
    |--------|-----------------------|------|---------------------------------------------|
    | user-1 | 1768469640000#call-1  | Call | callId call-1, providerId provider-1, ...   |

This is how a single-table design is read: one query returns the items of one partition key, in sort key order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tablewright.design.document.item_layout import lay_out, other_attributes, sample_items
from tablewright.design.report import Block, Grid, Heading, Text
from tablewright.dynamo import AttributeValue, Item
from tablewright.model import Design, Table
from tablewright.model.values.attribute_codec import decode

__all__ = ["key_tables"]

_MAX_ATTRIBUTES = 6
_MAX_VALUE_LENGTH = 40


def key_tables(design: Design) -> Iterator[Block]:
    """A picture of each table and each index."""
    yield Heading("Sample items by key")
    yield Text("Rows with the same partition key lie side by side, in the order of their sort key.")
    for table in design.tables:
        items = sample_items(table)
        yield Heading(f"`{table.name}`", 3)
        yield _grid(table, [table.partition], [] if table.sort is None else [table.sort], items)
        for index in table.indexes:
            yield Heading(f"`{table.name}/{index.name}`", 3)
            yield _grid(table, index.partition, index.sort, items)


def _grid(table: Table, partition: Sequence[str], sort: Sequence[str], items: Sequence[tuple[str, Item]]) -> Grid:
    rows = []
    for block in lay_out(items, partition, sort):
        shown = [f"`{_text(value)}`" for value in block.key]
        for laid in block.items:
            keys = [f"`{_text(laid.item[name])}`" for name in sort]
            rows.append([*shown, *keys, laid.entity, _attributes(table, laid.item)])
            # Once for each partition.
            shown = ["" for _ in partition]
    return Grid([*partition, *sort, "item", "attributes"], rows)


def _attributes(table: Table, item: Item) -> str:
    """The first attributes of an item that are not keys."""
    keys = [*table.key, *(name for index in table.indexes for name in (*index.partition, *index.sort))]
    others = [name for name in other_attributes(item, keys) if name != table.type_attribute]
    shown = [f"{name} `{_text(item[name])}`" for name in others[:_MAX_ATTRIBUTES]]
    return ", ".join(shown) + (", ..." if len(others) > _MAX_ATTRIBUTES else "")


def _text(value: AttributeValue, length: int = _MAX_VALUE_LENGTH) -> str:
    text = str(_plain(value)).replace("`", "'")
    return text if len(text) <= length else text[: length - 3] + "..."


def _plain(value: AttributeValue) -> Any:
    """A value to be shown; members of a set in order, so that a document is always the same."""
    if "M" in value:
        return {name: _plain(member) for name, member in value["M"].items()}
    if "L" in value:
        return [_plain(member) for member in value["L"]]
    found = decode(value)
    return sorted(found, key=str) if isinstance(found, set | frozenset) else found
