"""What SOURCE and TARGET may be, by how they are written.

    ./data                     a data folder; nobody else may have it open
    http://127.0.0.1:8000      an endpoint that speaks DynamoDB's protocol
    aws, aws:eu-west-1         Amazon DynamoDB, in the configured region or in another one
    orders.json                a file: .json, .jsonl or .csv, also with .gz, or .parquet
    export/{table}.csv         a file for each table

A source gives pages of items, segment by segment, each page with the position at which the next one begins; a position
is JSON, for a state file to hold. A target takes items, and says when they are safe.
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
    """Where items are read from."""

    # How the user wrote it.
    place: str

    async def table_names(self) -> list[str]:
        """All tables of the place."""

    async def definition(self, table: str) -> TableDefinition | None:
        """What a table is created from; None if the place does not know, or has no such table."""

    async def expected_items(self, table: str) -> int:
        """About how many items a table has; 0 if that is not known."""

    async def segments(self, table: str, wanted: int) -> int:
        """In how many segments a table is read."""

    async def page(self, table: str, segment: int, segments: int, position: Any) -> Page:
        """The page of a segment that begins at a position; the first one begins at None."""

    def close(self) -> None:
        """Release what the place has open."""


class Target(Protocol):
    """Where items are written to; it can be read, too, so that it can be compared."""

    place: str
    # Whether it takes more than one table.
    holds_tables: bool

    async def existing(self, table: str) -> TableDefinition | None:
        """What a table is there as; None if it is not."""

    async def occupied(self, table: str, *, into_existing: bool) -> str | None:
        """Why nothing can be written there, in words that say what to do; None if it can."""

    async def create(self, table: str, definition: TableDefinition | None) -> None:
        """Create a table, as far as writing to it needs."""

    async def open_segment(self, table: str, segment: int, mark: Any) -> None:
        """Go on behind what was written to a segment when ``mark`` was given; None if nothing was."""

    async def write(self, table: str, segment: int, items: Sequence[Item]) -> Any:
        """Write items; the mark behind them."""

    def comparable(self, table: str, items: list[Item]) -> list[Item]:
        """What will be read of items that are written."""

    async def secure(self) -> None:
        """Return when all that was written survives a crash."""

    async def assemble(self, table: str, segments: int, definition: TableDefinition | None) -> None:
        """Make it readable as a whole, when all segments have ended."""

    async def restore_internal(self, table: str, model: Table) -> None:
        """Make the items that a store keeps for itself, as they follow from the others."""

    async def finish(self, table: str, definition: TableDefinition | None) -> list[str]:
        """Turn on what comes last; what the place cannot do, in words."""

    def tidy(self, table: str, segments: int) -> None:
        """Delete what nobody needs any more, as the table is done."""

    def reading(self) -> Source:
        """The place as a source."""

    async def existing_items(self, table: str, keys: Sequence[Item]) -> list[Item]:
        """Those items of some keys that are there."""

    def close(self) -> None:
        """Release what the place has open."""


def endpoint_of(place: str) -> tuple[str | None, str | None] | None:
    """The region and the address of an endpoint; None if a place is none."""
    if found := _AWS.fullmatch(place):
        return found["region"], None
    if place.startswith("aws:"):
        raise TransferError(f"{place} names no region; write it as aws:eu-west-1")
    if _URL.fullmatch(place):
        return None, place
    if "://" in place:
        raise TransferError(f"{place} is no endpoint; give http://host:port, aws:region, a data folder, or a file")
    return None
