"""The scan of a table, in parallel segments, and the DuckDB tables created from it.

Rows are written to one file per relation as they arrive, so that memory is limited to the pages in progress. When all
of them are read, the types of their columns are known, and DuckDB reads the files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import uniform
from typing import IO, TYPE_CHECKING, Any

import orjson

from tablewright.dynamo import Item
from tablewright.sql.relation_rows import RelationRows, column_names, quoted
from tablewright.store import Backend, Request, ServiceError, is_transient

if TYPE_CHECKING:
    import duckdb

__all__ = ["LoadProgress", "LoadStopped", "Loader"]

# As JSON, an item may be longer than its 400 KB: each character of some texts takes six.
_LONGEST_ROW = 4_000_000
_PATIENCE_SECONDS = 60.0
_FIRST_CEILING = 0.05
_MAX_CEILING = 5.0


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """The progress of the scan of a table; ``expected`` is the approximate number of its items."""

    table: str
    items: int
    expected: int
    read_units: float


class LoadStopped(Exception):
    """The user has stopped the query."""


class Loader:
    """Reads one table into relations."""

    def __init__(
        self,
        backend: Backend,
        table: str,
        relations: Sequence[RelationRows],
        folder: Path,
        expected: int,
        on_progress: Callable[[LoadProgress], None] | None,
        stop: threading.Event,
    ) -> None:
        self._backend = backend
        self._table = table
        self._relations = relations
        self._folder = folder
        self._expected = expected
        self._on_progress = on_progress
        self._stop = stop
        # Over the relations and their files.
        self._lock = threading.Lock()
        self._files: list[IO[bytes]] = []
        self.items = 0
        self.read_units = 0.0

    def read(self, segments: int) -> None:
        """Scan the table into files."""
        with ExitStack() as files:
            paths = [self._path(number) for number in range(len(self._relations))]
            self._files = [files.enter_context(path.open("wb")) for path in paths]
            with ThreadPoolExecutor(segments, thread_name_prefix="tablewright-sql") as threads:
                work = [threads.submit(self._segment, segment, segments) for segment in range(segments)]
                done, _ = wait(work, return_when=FIRST_EXCEPTION)
                failed = next((each for each in done if each.exception() is not None), None)
                if failed is not None:
                    # The others need not continue.
                    self._stop.set()
            for each in work if failed is None else [failed]:
                each.result()

    def fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create DuckDB tables from the files, and delete the files."""
        for number, rows in enumerate(self._relations):
            columns = list(rows.columns.values())
            names = column_names(columns)
            places = [rows.place(column.name) for column in columns]
            read = ", ".join(f"{place}: '{column.read_as}'" for place, column in zip(places, columns, strict=True))
            made = ", ".join(
                f"{column.expression(place)} AS {quoted(name)}"
                for place, column, name in zip(places, columns, names, strict=True)
            )
            connection.execute(
                f"CREATE OR REPLACE TABLE {rows.relation.sql_name} AS SELECT {made} FROM read_json(?, "
                f"format = 'newline_delimited', columns = {{{read}}}, maximum_object_size = {_LONGEST_ROW})",
                [str(self._path(number))],
            )
            self._path(number).unlink()

    def _path(self, number: int) -> Path:
        return self._folder / f"rows-{number}.json"

    def _segment(self, segment: int, segments: int) -> None:
        body: dict[str, Any] = {"TableName": self._table, "ReturnConsumedCapacity": "TOTAL"}
        if segments > 1:
            body |= {"Segment": segment, "TotalSegments": segments}
        while True:
            if self._stop.is_set():
                raise LoadStopped
            page = self._page(body)
            self._take(page["Items"], float(page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)))
            if "LastEvaluatedKey" not in page:
                return
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _page(self, body: dict[str, Any]) -> dict[str, Any]:
        """A page; the request is retried while the service is only busy."""
        since, ceiling = time.monotonic(), _FIRST_CEILING
        while True:
            try:
                return self._backend.call(Request("Scan", body))
            except ServiceError as error:
                if not is_transient(error) or time.monotonic() - since > _PATIENCE_SECONDS:
                    raise
            if self._stop.wait(uniform(0.0, ceiling)):
                raise LoadStopped
            ceiling = min(_MAX_CEILING, ceiling * 2)

    def _take(self, items: list[Item], read_units: float) -> None:
        with self._lock:
            for rows, file in zip(self._relations, self._files, strict=True):
                lines = []
                for item in items:
                    row = rows.row_of(rows, item)
                    if row is not None:
                        lines.append(orjson.dumps(row))
                if lines:
                    file.write(b"\n".join(lines) + b"\n")
                    rows.rows += len(lines)
            self.items += len(items)
            self.read_units += read_units
            if self._on_progress is not None:
                self._on_progress(LoadProgress(self._table, self.items, self._expected, self.read_units))
