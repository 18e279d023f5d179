"""A session: the available relations, the cost of reading them, and queries and exports over what was read.

A whole table is read when a query first names it or one of its entities, and kept until ``forget``: reading it again
would cost another scan. Queries run on a connection that can only read (``locked_connection``).
"""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tablewright.design.cost import load_prices, on_demand
from tablewright.dynamo import read_units
from tablewright.model import Design, Entity, Table, schemas_of
from tablewright.sql.locked_connection import SqlLimits, connected, interrupted_after
from tablewright.sql.query_relations import SqlError, named_relations
from tablewright.sql.relation_loading import Loader, LoadProgress, LoadStopped
from tablewright.sql.relation_rows import (
    Relation,
    RelationRows,
    entity_names,
    entity_relation,
    quoted,
    table_relation,
)
from tablewright.sql.workbook import write_workbook
from tablewright.store import Backend, EmbeddedBackend, Request, ServiceError

__all__ = ["ScanEstimate", "SqlResult", "SqlSession", "TableScan"]

_SEGMENTS = 4
_MOST_SEGMENTS = 100
_MOST_ROWS = 10_000
_FETCHED_AT_ONCE = 1000
_STOPPED = "the query was stopped"
_T = TypeVar("_T")
_HUGE = re.compile(r"\bU?HUGEINT\b")
_FORMATS = {".csv": "csv, HEADER", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class TableScan:
    """The cost of reading one table, by the service's own figures."""

    table: str
    items: int
    size: int
    # Of an eventually consistent scan.
    read_units: float


@dataclass(frozen=True, slots=True)
class ScanEstimate:
    """The tables to read before a query can run; empty if they were read before."""

    tables: tuple[TableScan, ...]

    @property
    def read_units(self) -> float:
        return sum(table.read_units for table in self.tables)

    @property
    def items(self) -> int:
        return sum(table.items for table in self.tables)

    @property
    def dollars(self) -> Decimal:
        """At the price of on-demand reads, on Amazon DynamoDB."""
        return on_demand(load_prices(), Decimal(str(self.read_units)), Decimal(0))


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The rows of a query, or the first of them."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    # Whether there are more rows than were asked for.
    is_cut: bool
    seconds: float


@dataclass(slots=True)
class _Read:
    """A table that was read."""

    at: datetime
    relations: list[RelationRows]


@dataclass(slots=True)
class SqlSession:
    """SQL over the tables behind a backend; with designs, over their entities too. Close it, or use it in ``with``.

    It is synchronous; with asyncio, run its calls in a thread. One call runs at a time, and ``stop`` ends it.
    """

    backend: Backend
    designs: Sequence[Design] = ()
    # Tables of a design that have another name in the backend: {"Calls": "staging-Calls"}.
    table_names: Mapping[str, str] = field(default_factory=dict)
    segments: int = _SEGMENTS
    limits: SqlLimits = field(default_factory=SqlLimits)
    # Items of entities that have expired by then are left out.
    clock: Callable[[], float] = time.time
    _names: dict[type[Entity], str] = field(init=False)
    _folder: tempfile.TemporaryDirectory[str] = field(init=False)
    _read: dict[str, _Read] = field(init=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _stop: threading.Event = field(init=False, default_factory=threading.Event)
    _interrupt: Callable[[], None] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= _MOST_SEGMENTS:
            raise SqlError(f"the number of segments must be 1 to {_MOST_SEGMENTS}, not {self.segments}")
        self._names = entity_names(self.designs)
        self._folder = tempfile.TemporaryDirectory(prefix="tablewright-sql-")
        with connected(self._database, self.limits, loading=True) as connection:
            connection.execute("CREATE SCHEMA entities; CREATE SCHEMA tables")

    @property
    def _database(self) -> Path:
        return Path(self._folder.name) / "read.duckdb"

    # -- what there is ----------------------------------------------------------------------------------------------

    def relations(self) -> list[Relation]:
        """All tables, and all entities of designs whose table exists."""
        found: list[Relation] = []
        for table in self._tables():
            # One that cannot be described cannot be read, such as one without recovery at an earlier time.
            with suppress(SqlError):
                found += [rows.relation for rows in self._relations_of(table)]
        return sorted(found, key=lambda relation: (not relation.is_entity, relation.name.lower()))

    def read_at(self, table: str) -> datetime | None:
        """When a table was read; None if it was not."""
        found = self._read.get(table)
        return None if found is None else found.at

    def unreadable(self) -> dict[str, int]:
        """The number of items that cannot be read as an entity, for entities that have some."""
        rows = [rows for read in self._read.values() for rows in read.relations]
        return {each.relation.name: each.unreadable for each in rows if each.unreadable}

    def estimate(self, query: str) -> ScanEstimate:
        """The tables that a query needs to read."""
        scans = []
        for table in self._missing(query):
            described = self._described(table)
            size = int(described.get("TableSizeBytes", 0))
            scans.append(TableScan(table, int(described.get("ItemCount", 0)), size, read_units(size, False)))
        return ScanEstimate(tuple(scans))

    def forget(self, *tables: str) -> None:
        """Read tables again when they are next needed; all, if none is named."""
        with self._lock:
            found = [self._read.pop(table) for table in tables or tuple(self._read) if table in self._read]
            if not found:
                return
            with connected(self._database, self.limits, loading=True) as connection:
                for rows in (rows for read in found for rows in read.relations):
                    # One that was deleted meanwhile is not read again.
                    connection.execute(f"DROP TABLE IF EXISTS {rows.relation.sql_name}")

    # -- queries ----------------------------------------------------------------------------------------------------

    def query(
        self, query: str, *, limit: int = _MOST_ROWS, on_progress: Callable[[LoadProgress], None] | None = None
    ) -> SqlResult:
        """Run a query, after reading the tables that it needs; returns at most so many rows."""
        with self._lock:
            self._load(self._missing(query), on_progress)
            began = time.monotonic()
            with connected(self._database, self.limits) as connection:
                rows, columns = self._run(connection, query, limit)
            shown = rows[:limit]
            names, kinds = tuple(name for name, *_ in columns), tuple(str(kind) for _, kind, *_ in columns)
            return SqlResult(names, kinds, shown, len(rows) > limit, time.monotonic() - began)

    def export(self, query: str, path: str | Path, *, on_progress: Callable[[LoadProgress], None] | None = None) -> int:
        """Write all rows of a query to a file, by its name: .csv, .parquet or .xlsx; returns their number."""
        target = Path(path).absolute()
        if target.suffix not in (*_FORMATS, ".xlsx"):
            raise SqlError(f"cannot export to {target.name}: use a file name with .csv, .parquet or .xlsx")
        if not target.parent.is_dir():
            raise SqlError(f"there is no folder {target.parent}")
        with self._lock:
            self._load(self._missing(query), on_progress)
            if target.suffix == ".xlsx":
                with connected(self._database, self.limits) as connection:
                    return self._within(connection, lambda: write_workbook(connection.execute(query), target))
            selected = query.rstrip().rstrip(";")
            with connected(self._database, self.limits, writing=target) as connection:
                if target.suffix == ".parquet":
                    selected = self._within(connection, partial(_exact_in_parquet, connection, selected))
                statement = f"COPY ({selected}\n) TO '{_escaped(target)}' (FORMAT {_FORMATS[target.suffix]})"
                found = self._within(connection, lambda: connection.execute(statement).fetchone())
                return int(found[0]) if found else 0

    def stop(self) -> None:
        """End the call that is running, from another thread; it raises SqlError."""
        self._stop.set()
        interrupt = self._interrupt
        if interrupt is not None:
            interrupt()

    def close(self) -> None:
        """Delete the tables that were read."""
        self.stop()
        with self._lock:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- steps ------------------------------------------------------------------------------------------------------

    def _run(self, connection: Any, query: str, limit: int) -> tuple[list[tuple[Any, ...]], list[Any]]:
        def rows() -> tuple[list[tuple[Any, ...]], list[Any]]:
            cursor = connection.execute(query)
            columns = list(cursor.description or ())
            found: list[tuple[Any, ...]] = []
            while len(found) <= limit and (some := cursor.fetchmany(min(_FETCHED_AT_ONCE, limit + 1 - len(found)))):
                found += some
            return found, columns

        return self._within(connection, rows)

    def _within(self, connection: Any, work: Callable[[], _T], *, seconds: float | None = 0.0) -> _T:
        """The result of work on a connection, within the time limit of a query; None: without a limit."""
        import duckdb

        self._interrupt = connection.interrupt
        try:
            if self._stop.is_set():
                raise SqlError(_STOPPED)
            if seconds is None:
                return work()
            with interrupted_after(connection, self.limits.seconds):
                return work()
        except duckdb.InterruptException:
            late = f"the query was stopped, since it took longer than {self.limits.seconds:g} s"
            raise SqlError(_STOPPED if self._stop.is_set() else late) from None
        except (duckdb.Error, ValueError, OSError) as error:
            raise SqlError(str(error)) from None
        except MemoryError:
            raise SqlError("the query needs more memory than it may use") from None
        finally:
            self._interrupt = None

    def _missing(self, query: str) -> list[str]:
        """The tables that a query needs and that have not been read."""
        needed = set()
        by_name = self._tables_by_name()
        for schema, name in named_relations(query):
            kinds = (schema,) if schema else ("entities", "tables")
            found = {table for kind in kinds for table in by_name.get((kind, name), ())}
            if not found and "entities" in kinds:
                self._check_distinct(name)
            needed |= found
        return sorted(needed - self._read.keys())

    def _check_distinct(self, name: str) -> None:
        same = sorted(each for entity, each in self._names.items() if entity.__name__.lower() == name != each.lower())
        if same:
            raise SqlError(f"several designs have an entity with this name: write {' or '.join(same)}")

    def _tables_by_name(self) -> dict[tuple[str, str], set[str]]:
        """The tables that have to be read for a relation; SQL does not distinguish upper from lower case."""
        found: dict[tuple[str, str], set[str]] = {}
        for table in self._tables():
            found.setdefault(("tables", table.lower()), set()).add(table)
            for schema in self._schemas_in(table):
                found.setdefault(("entities", self._names[schema.entity].lower()), set()).add(table)
        return found

    def _load(self, tables: Sequence[str], on_progress: Callable[[LoadProgress], None] | None) -> None:
        self._stop.clear()
        for table in tables:
            relations = self._relations_of(table)
            expected = int(self._described(table).get("ItemCount", 0))
            loader = Loader(self.backend, table, relations, Path(self._folder.name), expected, on_progress, self._stop)
            # In this process, threads would only take turns.
            segments = 1 if isinstance(self.backend, EmbeddedBackend) else self.segments
            try:
                loader.read(segments)
            except LoadStopped:
                raise SqlError(_STOPPED) from None
            except ServiceError as error:
                raise SqlError(f"{table} cannot be read: {error.message or error.code}") from None
            with connected(self._database, self.limits, loading=True) as connection:
                self._within(connection, partial(loader.fill, connection), seconds=None)
            self._read[table] = _Read(datetime.now(UTC), relations)

    # -- tables -----------------------------------------------------------------------------------------------------

    def _tables(self) -> list[str]:
        names: list[str] = []
        body: dict[str, Any] = {}
        while True:
            response = self._call("ListTables", body)
            names += response["TableNames"]
            if "LastEvaluatedTableName" not in response:
                return names
            body = {"ExclusiveStartTableName": response["LastEvaluatedTableName"]}

    def _described(self, table: str) -> dict[str, Any]:
        described: dict[str, Any] = self._call("DescribeTable", {"TableName": table})["Table"]
        return described

    def _call(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.backend.call(Request(operation, body))
        except ServiceError as error:
            raise SqlError(f"{operation} was refused: {error.message or error.code}") from None

    def _schemas_in(self, table: str) -> list[Any]:
        return [schema for each in self._declared(table) for schema in schemas_of(each)]

    def _declared(self, table: str) -> list[Table]:
        return [
            each
            for design in self.designs
            for each in design.tables
            if self.table_names.get(each.name, each.name) == table
        ]

    def _relations_of(self, table: str) -> list[RelationRows]:
        found = self._read.get(table)
        if found is not None:
            return found.relations
        entities = [
            entity_relation(schema, self._names[schema.entity], table, self.clock) for schema in self._schemas_in(table)
        ]
        return [table_relation(table, self._described(table)), *entities]


def _exact_in_parquet(connection: Any, query: str) -> str:
    """A query with its 128-bit integers as decimals: Parquet does not have these, and they would be rounded."""
    columns = [(name, str(kind)) for name, kind, *_ in connection.execute(f"FROM ({query}\n) LIMIT 0").description]
    if not any("HUGEINT" in kind for _, kind in columns):
        return query
    selected = ", ".join(
        (f"CAST(c{place} AS {_HUGE.sub('DECIMAL(38, 0)', kind)})" if "HUGEINT" in kind else f"c{place}")
        + f" AS {quoted(name)}"
        for place, (name, kind) in enumerate(columns)
    )
    places = ", ".join(f"c{place}" for place in range(len(columns)))
    return f"SELECT {selected} FROM ({query}\n) AS found({places})"


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")
