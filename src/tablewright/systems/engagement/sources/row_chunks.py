"""Rows that connectors read, in the order of their first three columns, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]

# Customer, and type and id of the subject; as text, in the order of its bytes.
IN_ORDER = "ORDER BY 1, 2, 3"


class Unreadable(Exception):
    """A source that cannot be read; the text says what is wrong with it."""


class Halted(Exception):
    """The rows are no longer needed."""


class Rows(Protocol):
    """The rows of a query, and their number; ``read`` yields the names of columns with each chunk.

    ``values`` are those of $1, $2, ... in the query.
    """

    def read(self, query: str, size: int, values: Sequence[str] = ()) -> Iterator[tuple[list[str], list[Row]]]: ...

    def count(self, query: str) -> int | None: ...
