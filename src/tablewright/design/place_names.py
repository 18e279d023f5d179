"""How a table, or an index of it, is called in reports: ``Calls``, ``Calls/byProvider``."""

from __future__ import annotations

from tablewright.model import Index, Table

__all__ = ["place_of", "place_text"]


def place_text(table: str, index: str | None) -> str:
    """The name of a table, or of one of its indexes, by their names."""
    return table if index is None else f"{table}/{index}"


def place_of(table: Table, index: Index | None) -> str:
    """The name of a table, or of one of its indexes."""
    return place_text(table.name, None if index is None else index.name)
