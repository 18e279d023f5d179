"""DuckDB for queries typed by users: it reads one database, and nothing else.

No files, no network, no extensions, no Python variables, no settings: they are disabled, and the configuration is
locked. Memory, threads, disk space and time are limited. The only file that it may touch is one to be written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablewright.sql.query_relations import SqlError

if TYPE_CHECKING:
    import duckdb

__all__ = ["SqlLimits", "connected", "interrupted_after"]


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """The limits of a query."""

    memory: str = "1GB"
    threads: int = 2
    # For data that does not fit into memory.
    disk: str = "20GB"
    seconds: float = 60.0


@contextmanager
def connected(
    database: Path, limits: SqlLimits, *, writing: Path | None = None, loading: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database; ``loading`` is for filling it, ``writing`` names a file that a statement writes."""
    import duckdb

    config: dict[str, Any] = {
        "memory_limit": limits.memory,
        "threads": limits.threads,
        "max_temp_directory_size": limits.disk,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
        "preserve_insertion_order": False,
        "access_mode": "READ_WRITE" if loading else "READ_ONLY",
    }
    try:
        connection = duckdb.connect(str(database), config=config)
    except duckdb.Error as error:
        # One of the limits is invalid.
        raise SqlError(str(error)) from None
    try:
        if not loading:
            connection.execute("SET search_path = 'entities,tables'")
            if writing is not None:
                connection.execute("SET allowed_paths = [?]", [str(writing)])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


@contextmanager
def interrupted_after(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt the block after so many seconds."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
