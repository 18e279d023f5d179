"""Sources of customers: a query, whose rows are read in chunks.

Rows are sorted by customer and subject, as text, so that a stopped run continues after the last row that it has
processed, whatever order the source has. Of several rows with the same customer and subject, the first is used. Rows
without a customer id come first, and are counted. Memory is bounded by the chunk, and by the limit for sorting in
DuckDB (beyond that it uses the disk).

    files    DuckDB over CSV and Parquet in the folder of sources: see ``file_connector``
    athena   Amazon Athena, by configuration: see ``athena_connector``
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from tablewright.runtime import Invalid
from tablewright.systems.engagement.configuration import AthenaConnector, Connector, FilesConnector
from tablewright.systems.engagement.model import Checkpoint, Subject
from tablewright.systems.engagement.scoring.prospects import (
    MAX_CUSTOMER_ID_LENGTH,
    MAX_SUBJECT_ID_LENGTH,
    MAX_SUBJECT_TYPE_LENGTH,
    Prospect,
    plain,
)
from tablewright.systems.engagement.sources.column_values import literal, quoted
from tablewright.systems.engagement.sources.file_connector import READERS, opened
from tablewright.systems.engagement.sources.query_checks import check_query
from tablewright.systems.engagement.sources.row_chunks import Row, Rows, Unreadable

# The names of the three key columns in the query around the configured one.
_KEYS = ("tablewright_customer", "tablewright_subject_type", "tablewright_subject_id")
_MAX_NAME_LENGTH = 255

# The time limit of a check in seconds, and how many rows of a file are sampled for its columns.
_CHECKED_WITHIN = 20.0
_SAMPLED = 20_480
# Queries whose columns are cached. A file of at most so many bytes is read to see whether it has changed.
_MAX_KNOWN = 100
_SMALL_FILE = 100_000

# A table, the kind of its file, and a value that changes with it.
_File: TypeAlias = tuple[str, str, Hashable]
# Whether the rows are no longer needed.
Halt = Callable[[], bool]


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Sources:
    """Opens connectors."""

    folder: Path
    region: str | None = None
    aws_endpoint: str | None = None
    # How long a query may take to return its next rows.
    seconds: float = 900
    # The columns of queries that were checked, by the query and the state of its files.
    _known: dict[tuple[str, tuple[_File, ...]], tuple[str, ...]] = field(default_factory=dict, compare=False)

    def check(self, connector: Connector) -> frozenset[str] | None:
        """The attributes that a connector's customers have; None if unknown before it is run.

        Invalid if it cannot work: a file or column that does not exist, or a query that cannot be run.
        """
        if not isinstance(connector, FilesConnector):
            return None
        for file in connector.tables.values():
            if not self.path(file).is_file():
                raise Invalid(f"the data connector: {file} is not in the folder of sources", field="tables")
        try:
            check_query(connector.query, connector.tables)
        except ValueError as error:
            raise Invalid(f"the query: {error}", field="query") from None
        try:
            columns = self._columns(connector)
        except Unreadable as error:
            raise Invalid(f"the data connector: {error}", field="query") from None
        found = {column.casefold() for column in columns}
        for option, column in _columns(connector).items():
            if column.casefold() not in found:
                raise Invalid(f"{option}: the query has no column {column}; it has {', '.join(columns)}", field=option)
        named = _named(connector)
        return frozenset(column for column in columns if column.casefold() not in named)

    def _columns(self, connector: FilesConnector) -> tuple[str, ...]:
        """The columns of a query, found by a separate process unless its files are unchanged."""
        paths = {table: self._present(file) for table, file in connector.tables.items()}
        files = tuple((table, path.suffix, _state(path)) for table, path in paths.items())
        known = self._known.get((connector.query, files))
        if known is None:
            with opened(connector, self.folder, paths, within=_CHECKED_WITHIN, halted=_never, sampled=_SAMPLED) as rows:
                known = tuple(rows.columns(connector.query))
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[connector.query, files] = known
        return known

    def path(self, file: str) -> Path:
        """A file in the folder of sources; Invalid for one elsewhere."""
        folder = self.folder.resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder):
            raise Invalid(f"{file} is not in the folder of sources", field="tables")
        if path.suffix not in READERS:
            raise Invalid(f"{file} is neither .csv nor .parquet", field="tables")
        if any(len(part.encode()) > _MAX_NAME_LENGTH for part in path.parts):
            raise Invalid(f"{file[:50]}... is too long for a file name", field="tables")
        return path

    @contextmanager
    def open(self, connector: Connector, halted: Halt = _never) -> Iterator[Source]:
        """An open connector; reading raises Halted as soon as ``halted`` says so."""
        if isinstance(connector, AthenaConnector):
            from tablewright.systems.engagement.sources.athena_connector import AthenaRows

            rows = AthenaRows(connector, self.region, self.aws_endpoint, within=self.seconds, halted=halted)
            yield Source(connector, rows)
        else:
            paths = {table: self._present(file) for table, file in connector.tables.items()}
            with opened(connector, self.folder, paths, within=self.seconds, halted=halted) as file_rows:
                yield Source(connector, file_rows)

    def _present(self, file: str) -> Path:
        try:
            path = self.path(file)
        except Invalid as error:
            raise Unreadable(str(error)) from None
        if not path.is_file():
            raise Unreadable(f"{file} is not in the folder of sources")
        return path


def _state(path: Path) -> Hashable:
    """A value that changes when a file does: its content, if that is small."""
    try:
        found = path.stat()
        if found.st_size <= _SMALL_FILE:
            return sha256(path.read_bytes()).digest()
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}") from None
    return path, found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(slots=True)
class Source:
    """An open connector."""

    connector: Connector
    rows: Rows
    # Rows read without a customer id; complete as soon as a row with an id was read.
    without_id: int = 0

    def count(self) -> int | None:
        """The number of rows, if it is cheap to count."""
        return self.rows.count(self.connector.query)

    def prospects(self, program_id: str, after: Checkpoint, size: int) -> Iterator[list[Prospect]]:
        """Chunks of prospects after a checkpoint; rows without a customer id are only counted."""
        # Values are passed as parameters where possible: not every text can be written as a literal.
        values: list[str] = []
        query = selected(self.connector, after, values if isinstance(self.connector, FilesConnector) else None)
        last: tuple[str, str, str] | None = None
        named = _named(self.connector)
        for columns, chunk in self.rows.read(query, size, values):
            found: list[Prospect] = []
            for row in chunk:
                key = (str(row[0]), str(row[1] or ""), str(row[2] or ""))
                if not key[0]:
                    self.without_id += 1
                    continue
                if key == last:
                    continue
                last = key
                found.append(_prospect(named, program_id, columns, row, key))
            yield found


def selected(connector: Connector, after: Checkpoint, values: list[str] | None = None) -> str:
    """The query around the configured one: keys first, and only rows after a checkpoint.

    Its texts are added to ``values`` as parameters $1, $2, ...; without it, they are literals in the query.
    """

    def text(value: str) -> str:
        if values is None:
            return literal(value)
        values.append(value)
        return f"${len(values)}"

    # One character more than the maximum shows that a value is too long, and fits into a checkpoint.
    customer, type_, id_ = (
        "''" if column is None else f"COALESCE(substr(CAST({quoted(column)} AS VARCHAR), 1, {longest + 1}), '')"
        for column, longest in (
            (connector.customer_column, MAX_CUSTOMER_ID_LENGTH),
            (connector.subject_type_column, MAX_SUBJECT_TYPE_LENGTH),
            (connector.subject_id_column, MAX_SUBJECT_ID_LENGTH),
        )
    )
    keys = f"{customer} AS {_KEYS[0]}, {type_} AS {_KEYS[1]}, {id_} AS {_KEYS[2]}"
    where = ""
    if after.customer_id == "":
        # After all rows without a customer id, whatever their subjects are.
        where = f" WHERE {customer} > {text('')}"
    elif after.customer_id is not None:
        # Written out, as not every SQL dialect compares rows.
        behind = f"{id_} > {text(after.subject_id)}"
        behind = f"{type_} > {text(after.subject_type)} OR ({type_} = {text(after.subject_type)} AND {behind})"
        where = f" WHERE {customer} > {text(after.customer_id)}"
        where += f" OR ({customer} = {text(after.customer_id)} AND ({behind}))"
    return f"SELECT {keys}, source.* FROM (\n{connector.query}\n) AS source{where}"


def _prospect(
    named: Container[str], program_id: str, columns: list[str], row: Row, key: tuple[str, str, str]
) -> Prospect:
    attributes = {
        name: plain(value) for name, value in zip(columns[3:], row[3:], strict=True) if name.casefold() not in named
    }
    # Not validated here: one bad row must not end a chunk.
    subject = Subject.model_construct(type=key[1] or "program", id=key[2] or program_id, attributes={})
    return Prospect(key[0], subject, attributes, key)


def _columns(connector: Connector) -> dict[str, str]:
    """The key columns, by the connector's option."""
    columns = {
        "customerColumn": connector.customer_column,
        "subjectTypeColumn": connector.subject_type_column,
        "subjectIdColumn": connector.subject_id_column,
    }
    return {option: column for option, column in columns.items() if column is not None}


def _named(connector: Connector) -> set[str]:
    """The key columns; column names ignore case."""
    return {column.casefold() for column in _columns(connector).values()}
