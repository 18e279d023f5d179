"""Versions of a small design, as files that ``tablewright deploy`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_SOURCE = """
from tablewright.model import Design, Entity, Get, GlobalIndex, Query, Table

orders = Table("Orders", "{partition}", "order", indexes=[{indexes}])


class Order(Entity, table=orders):
    {partition}: str
    order: str
    shop: str = ""
    day: str = ""
    state: str = ""

    @Get()
    def by_id(self, {partition}: str, order: str) -> None: ...
{queries}

design = Design("Shop", tables=[orders], roles={{"api": ["Order.by_id"]}})
"""
_QUERY = """
    @Query(index="{name}")
    def {function}(self, {partition}: str) -> None: ...
"""


def version(
    folder: Path, name: str, indexes: Sequence[tuple[str, str, str]], partition: str = "customer", read: str = ""
) -> str:
    """The file of a version; indexes are a name, a partition key and a sort key. ``read`` is one that a query reads."""
    listed = ", ".join(f"GlobalIndex({index!r}, {first!r}, {second!r})" for index, first, second in indexes)
    queries = "".join(
        _QUERY.format(name=index, function=index.lower(), partition=first)
        for index, first, _ in indexes
        if index == read
    )
    path = folder / f"{name}.py"
    path.write_text(_SOURCE.format(partition=partition, indexes=listed, queries=queries))
    return str(path)
