"""The places that SOURCE and TARGET can name, and their protocols.

    ./data                     a data folder, which no other process may have open
    http://127.0.0.1:8000      an endpoint that speaks DynamoDB's protocol
    aws, aws:eu-west-1         Amazon DynamoDB, in the configured region or in another one
    orders.json                a file: .json, .jsonl or .csv, also with .gz, or .parquet
    export/{table}.csv         a file for each table

A source returns pages of items, segment by segment, each with the position at which the next one begins; a position is
JSON, for the state file. A target accepts items, and reports when they are durable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tablewright.dynamo import Item
from tablewright.model import Table
from tablewright.transfer.errors import TransferError
from tablewright.transfer.places.table_definition import TableDefinition

__all__ = ["Page", "Source", "Target"]

_AWS = re.compile(r"aws(?::(?P<region>[a-z0-9-]+))?")
_URL = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class Page:
    """Some items of a segment, and the position at which the next page begins; None at the end."""

    items: list[Item]
    position: Any


class Source(Protocol):
    """A place that items are read from."""

    # How the user wrote it.
    place: str

    async def table_names(self) -> list[str]:
        """All tables of the place."""

    def known_as(self, table: str, other: str) -> None:
        """The name of a table in the other place, by which a design may know it."""

    async def definition(self, table: str) -> TableDefinition | None:
        """The definition to create a table from; None if the place does not know it, or has no such table."""

    def typing_advice(self, table: str) -> str | None:
        """How to name the types of attributes, if the place does not know them; otherwise None."""

    async def expected_items(self, table: str) -> int:
        """The approximate number of items of a table; 0 if unknown."""

    async def segments(self, table: str, wanted: int) -> int:
        """The number of segments in which a table is read."""

    async def page(self, table: str, segment: int, segments: int, position: Any) -> Page:
        """The page of a segment that begins at a position; the first one begins at None."""

    def close(self) -> None:
        """Release open resources."""


class Target(Protocol):
    """A place that items are written to; it can also be read, for comparison."""

    place: str
    # Whether it accepts more than one table.
    holds_tables: bool

    def known_as(self, table: str, other: str) -> None:
        """The name of a table in the other place, by which a design may know it."""

    def check_name(self, table: str) -> None:
        """TransferError if no table can have this name there."""

    async def existing(self, table: str) -> TableDefinition | None:
        """The definition of an existing table; None if it does not exist."""

    async def occupied(self, table: str, definition: TableDefinition | None, *, into_existing: bool) -> str | None:
        """Why nothing can be written there, with what to do; None if it can.

        ``definition`` is what the table would be created from.
        """

    async def create(self, table: str, definition: TableDefinition | None) -> None:
        """Create a table with what writing to it needs."""

    async def open_segment(self, table: str, segment: int, mark: Any) -> None:
        """Continue a segment after ``mark``; from the beginning if it is None."""

    async def write(self, table: str, segment: int, items: Sequence[Item]) -> Any:
        """Write items; returns the mark after them."""

    def comparable(self, table: str, items: list[Item]) -> list[Item]:
        """Items as they will be read back after they were written."""

    async def secure(self) -> None:
        """Return when everything written survives a crash."""

    async def assemble(self, table: str, segments: int, definition: TableDefinition | None) -> None:
        """Make the table readable, when all segments have ended."""

    async def restore_internal(self, table: str, model: Table) -> None:
        """Create the items that a store manages, from the others."""

    async def finish(self, table: str, definition: TableDefinition | None) -> list[str]:
        """Enable the features that come last; returns those that the place does not support."""

    def tidy(self, table: str, segments: int) -> None:
        """Delete temporary data, as the table is done."""

    def reading(self) -> Source:
        """The place as a source."""

    async def existing_items(self, table: str, keys: Sequence[Item]) -> list[Item]:
        """The existing items of some keys."""

    def close(self) -> None:
        """Release open resources."""


def endpoint_of(place: str) -> tuple[str | None, str | None] | None:
    """The region and the address of an endpoint; None if a place is not one."""
    if found := _AWS.fullmatch(place):
        return found["region"], None
    if place.startswith("aws:"):
        raise TransferError(f"{place} does not name a region; write it as aws:eu-west-1")
    if _URL.fullmatch(place):
        return None, place
    if "://" in place:
        raise TransferError(f"{place} is not an endpoint; use http://host:port, aws:region, a data folder, or a file")
    return None
