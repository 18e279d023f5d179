"""Where customers come from: a query, whose rows are read one chunk after the other.

Rows come in the order of customer and subject, as text, so that a run that was stopped goes on behind the last row that
it has dealt with, whatever order the source has. Two rows of one customer and subject are one customer: the first of
them counts. Memory is bounded by the chunk, and by what DuckDB may use to sort (it goes to disk beyond).

    files    DuckDB over CSV and Parquet in the folder of sources; nothing else can be read, and nothing written
    athena   Amazon Athena, by configuration: see ``athena``
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tablewright.runtime.errors import Invalid
from tablewright.systems.engagement.configuration import AthenaConnector, Connector, FilesConnector
from tablewright.systems.engagement.model import Checkpoint, Subject
from tablewright.systems.engagement.prospects import Prospect, plain

_MEMORY = "128MB"
_THREADS = 1
_READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
# What the three columns that name a row are called in the query around the configured one.
_KEYS = ("tablewright_customer", "tablewright_subject_type", "tablewright_subject_id")

Row = tuple[Any, ...]


class Unreadable(Exception):
    """A source that cannot be read; the text says what is wrong with it."""


class Rows(Protocol):
    """What a connector reads: names of columns, and rows in chunks."""

    def read(self, query: str, size: int) -> Iterator[tuple[list[str], list[Row]]]: ...

    def count(self, query: str) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Sources:
    """Opens connectors."""

    folder: Path
    region: str | None = None
    aws_endpoint: str | None = None

    def check(self, connector: Connector) -> None:
        """Invalid, if a connector cannot work."""
        if isinstance(connector, FilesConnector):
            for file in connector.tables.values():
                self.path(file)
            _check_query(connector.query)

    def path(self, file: str) -> Path:
        """A file in the folder of sources; Invalid for one elsewhere."""
        folder = self.folder.resolve()
        path = (folder / file).resolve()
        if not path.is_relative_to(folder):
            raise Invalid(f"{file} is not in the folder of sources")
        if path.suffix not in _READERS:
            raise Invalid(f"{file} is neither .csv nor .parquet")
        return path

    @contextmanager
    def open(self, connector: Connector) -> Iterator[Rows]:
        if isinstance(connector, AthenaConnector):
            from tablewright.systems.engagement.athena import AthenaRows

            yield AthenaRows(connector, self.region, self.aws_endpoint)
        else:
            with _duckdb(connector, self) as rows:
                yield rows

    def prospects(
        self, connector: Connector, program_id: str, after: Checkpoint, size: int
    ) -> Generator[list[Prospect], None, None]:
        """Chunks of prospects behind a checkpoint."""
        query = ordered(connector, after)
        with self.open(connector) as rows:
            last: tuple[str, str, str] | None = None
            for columns, chunk in rows.read(query, size):
                found: list[Prospect] = []
                for row in chunk:
                    key = (str(row[0]), str(row[1] or ""), str(row[2] or ""))
                    if key == last:
                        continue
                    last = key
                    found.append(_prospect(connector, program_id, columns, row, key))
                yield found

    def count(self, connector: Connector) -> int | None:
        """How many rows there are, where that is cheap to say."""
        with self.open(connector) as rows:
            return rows.count(connector.query)


def ordered(connector: Connector, after: Checkpoint) -> str:
    """The query around the configured one: keys first, in their order, behind a checkpoint."""
    customer = f"CAST({_quoted(connector.customer_column)} AS VARCHAR)"
    type_, id_ = (
        "''" if column is None else f"COALESCE(CAST({_quoted(column)} AS VARCHAR), '')"
        for column in (connector.subject_type_column, connector.subject_id_column)
    )
    keys = f"{customer} AS {_KEYS[0]}, {type_} AS {_KEYS[1]}, {id_} AS {_KEYS[2]}"
    where = f"{customer} IS NOT NULL"
    if after.customer_id is not None:
        # Spelt out, because not every dialect compares rows.
        behind = f"{id_} > {_literal(after.subject_id)}"
        behind = f"{type_} > {_literal(after.subject_type)} OR ({type_} = {_literal(after.subject_type)} AND {behind})"
        seen = _literal(after.customer_id)
        where += f" AND ({customer} > {seen} OR ({customer} = {seen} AND ({behind})))"
    return f"SELECT {keys}, source.* FROM (\n{connector.query}\n) AS source WHERE {where} ORDER BY 1, 2, 3"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _prospect(
    connector: Connector, program_id: str, columns: list[str], row: Row, key: tuple[str, str, str]
) -> Prospect:
    named = {connector.customer_column, connector.subject_type_column, connector.subject_id_column}
    attributes = {name: plain(value) for name, value in zip(columns[3:], row[3:], strict=True) if name not in named}
    # Not validated here: one bad row must not end a chunk.
    subject = Subject.model_construct(type=key[1] or "program", id=key[2] or program_id, attributes={})
    return Prospect(key[0], subject, attributes, key)


# -- files --------------------------------------------------------------------------------------------------------


@contextmanager
def _duckdb(connector: FilesConnector, sources: Sources) -> Iterator[Rows]:
    duckdb = _import_duckdb()
    with tempfile.TemporaryDirectory(prefix="tablewright-") as spill:
        config = {
            "memory_limit": _MEMORY,
            "threads": str(_THREADS),
            "temp_directory": spill,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        connection = duckdb.connect(":memory:", config=config)
        try:
            for table, file in connector.tables.items():
                path = sources.path(file)
                if not path.exists():
                    raise Unreadable(f"{file} is not in the folder of sources")
                # All of a file decides what its columns are, so that no row is a surprise.
                options = ", sample_size=-1" if path.suffix == ".csv" else ""
                reader = f"{_READERS[path.suffix]}({_literal(str(path))}{options})"
                with _told(duckdb):
                    connection.execute(f"CREATE VIEW {_quoted(table)} AS SELECT * FROM {reader}")
            # From here on the query is the user's: it reads those files, and can neither write nor reach anything.
            folder = _literal(str(sources.folder.resolve()))
            connection.execute(f"SET allowed_directories = [{folder}, {_literal(spill)}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET lock_configuration = true")
            yield _FileRows(connection, duckdb)
        finally:
            connection.close()


class _FileRows:
    def __init__(self, connection: Any, duckdb: Any) -> None:
        self._connection = connection
        self._duckdb = duckdb

    def read(self, query: str, size: int) -> Iterator[tuple[list[str], list[Row]]]:
        with _told(self._duckdb):
            cursor = self._connection.execute(query)
            columns = [column[0] for column in cursor.description]
            rows = cursor.fetchmany(size)
        while rows:
            yield columns, rows
            with _told(self._duckdb):
                rows = cursor.fetchmany(size)

    def count(self, query: str) -> int | None:
        with _told(self._duckdb):
            found = self._connection.execute(f"SELECT count(*) FROM (\n{query}\n) AS source").fetchone()
        return int(found[0])


@contextmanager
def _told(duckdb: Any) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise Unreadable(str(error).splitlines()[0][:300]) from error


def _check_query(query: str) -> None:
    duckdb = _import_duckdb()
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise Invalid(f"the query cannot be read: {str(error).splitlines()[0][:300]}") from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise Invalid("a connector's query is one SELECT")


def _import_duckdb() -> Any:
    import duckdb

    return duckdb
