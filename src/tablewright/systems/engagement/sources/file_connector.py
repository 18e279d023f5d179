"""Customers from CSV and Parquet files, by DuckDB in a process of its own (``query_process``).

A query can only read the files that its connector lists: no other files, no network, no settings; and it cannot write.
It has one thread, and limited memory and disk space to sort. A query may run for ever: while DuckDB is at work, a
thread checks that the rows are still needed and the time limit is not exceeded, and kills the process otherwise. So a
query cannot exhaust the memory or the time of this process.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any, Self

from tablewright.systems.engagement.configuration import FilesConnector
from tablewright.systems.engagement.sources import query_process
from tablewright.systems.engagement.sources.column_values import literal, quoted
from tablewright.systems.engagement.sources.query_checks import check_query
from tablewright.systems.engagement.sources.row_chunks import Halted, Row, Unreadable

READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
_MEMORY = "128MB"
# Other memory of DuckDB (to plan a query, for example), Python, and the address space of their libraries.
_ADDRESS_SPACE = 1_000_000_000
_THREADS = 1
# Bytes on disk to sort with; half of the free space if that is less.
_MAX_SPILL_BYTES = 10_000_000_000
_MAX_RESPONSE_BYTES = 500_000_000
_LOOK_EVERY = 0.1
_START_WITHIN = 60.0
# The environment of this process has secrets, which a query must not see.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV")


@contextmanager
def opened(
    connector: FilesConnector,
    folder: Path,
    paths: dict[str, Path],
    *,
    within: float,
    halted: Callable[[], bool],
    sampled: int = -1,
) -> Iterator[FileRows]:
    """The rows of a connector: ``paths`` has the file of each of its tables, all in a folder.

    ``within`` is the time limit of each step in seconds; ``halted``, which never raises, says whether the rows are no
    longer needed. ``sampled`` is how many rows of a file determine its columns; by default all, so that every row fits.
    """
    try:
        check_query(connector.query, connector.tables)
    except ValueError as error:
        raise Unreadable(f"the query: {error}") from None
    with tempfile.TemporaryDirectory(prefix="tablewright-") as spill:
        config: dict[str, Any] = {
            "memory_limit": _MEMORY,
            "threads": str(_THREADS),
            "temp_directory": spill,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
        }
        # Messages must not show paths of this machine.
        hidden = [f"{each}/" for each in dict.fromkeys((str(folder.resolve()), str(folder), spill))]
        with _Process(within, halted, hidden) as process:
            process.ask("path", sys.path, within=_START_WITHIN)
            on_disk = min(_MAX_SPILL_BYTES, shutil.disk_usage(spill).free // 2)
            process.ask("open", config, _set_up(paths, on_disk, sampled))
            yield FileRows(process)


def _set_up(paths: dict[str, Path], on_disk: int, sampled: int) -> list[str]:
    """The statements before the query."""
    # Not in the configuration: DuckDB ignores it there.
    found = [f"SET max_temp_directory_size = '{on_disk}B'"]
    for table, path in paths.items():
        options = f", sample_size={sampled}" if path.suffix == ".csv" else ""
        reader = f"{READERS[path.suffix]}({literal(str(path))}{options})"
        found.append(f"CREATE VIEW {quoted(table)} AS SELECT * FROM {reader}")
    files = ", ".join(literal(str(path)) for path in paths.values())
    return [
        *found,
        "SET TimeZone = 'UTC'",
        "SET enable_progress_bar = false",
        # From here on the query is the user's.
        f"SET allowed_paths = [{files}]",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ]


class FileRows:
    """The rows of queries over the files of one connector."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    def read(self, query: str, size: int, values: Sequence[str] = ()) -> Iterator[tuple[list[str], list[Row]]]:
        columns, rows = self._process.ask("read", query, list(values), size)
        while rows:
            yield columns, rows
            rows = self._process.ask("more")

    def columns(self, query: str) -> list[str]:
        """The names of a query's columns, without reading rows."""
        return [str(name) for name in self._process.ask("columns", query)]

    def count(self, query: str) -> int | None:
        return int(self._process.ask("count", query))


class _Process:
    """The process of a query, and a thread that kills it if it takes too long or is no longer needed."""

    def __init__(self, within: float, halted: Callable[[], bool], hidden: list[str]) -> None:
        self._within = within
        self._halted = halted
        self._hidden = hidden
        # The deadline of a response, while one is awaited.
        self._until: float | None = None
        self._broken_off: Exception | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look, name="engagement.query", daemon=True)

    def __enter__(self) -> Self:
        limits = (os.getpid(), _ADDRESS_SPACE, ceil(self._within))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", query_process.__file__, *map(str, limits)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                # Signals of the terminal to this process must not reach that one.
                start_new_session=True,
            )
        except OSError as error:
            raise Unreadable(f"no process can be started for its query: {error.strerror}") from None
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            # Unsent requests are discarded.
            with suppress(BrokenPipeError):
                pipe and pipe.close()
        self._process.wait()

    def ask(self, *request: Any, within: float | None = None) -> Any:
        """The response of the process, within the time of a step; Halted or Unreadable if there is none."""
        if self._broken_off is not None:
            raise self._broken_off
        self._until = time.monotonic() + (self._within if within is None else within)
        try:
            self._send(request)
            answered, *answer = self._received()
        except (EOFError, BrokenPipeError):
            reason = "the process of its query ended: the query needs more memory or more time than it may use"
            raise self._why(Unreadable(reason)) from None
        except pickle.UnpicklingError:
            raise Unreadable("its rows cannot be read") from None
        finally:
            self._until = None
        if answered:
            return answer[0]
        kind, text = answer
        raise Unreadable(self._message(text) if kind == "duckdb" else f"its rows cannot be read: {kind}")

    def _why(self, otherwise: Exception) -> Exception:
        """The reason why the process was killed; ``otherwise`` if it was not."""
        return otherwise if self._broken_off is None else self._broken_off

    def _send(self, request: tuple[Any, ...]) -> None:
        assert self._process.stdin is not None
        text = pickle.dumps(request)
        self._process.stdin.write(query_process.LENGTH.pack(len(text)) + text)
        self._process.stdin.flush()

    def _received(self) -> Any:
        length = query_process.LENGTH.unpack(self._bytes(query_process.LENGTH.size))[0]
        if length > _MAX_RESPONSE_BYTES:
            raise Unreadable(f"its next rows have more than {_MAX_RESPONSE_BYTES} bytes")
        return _Values(BytesIO(self._bytes(length))).load()

    def _bytes(self, number: int) -> bytes:
        assert self._process.stdout is not None
        found = self._process.stdout.read(number)
        if len(found) < number:
            raise EOFError
        return found

    def _look(self) -> None:
        while not self._closed.wait(_LOOK_EVERY):
            until = self._until
            if until is None or self._broken_off is not None:
                continue
            if time.monotonic() > until:
                reason = f"its query took longer than {self._within:g} seconds (source_seconds)"
                self._broken_off = Unreadable(reason)
            elif self._halted():
                self._broken_off = Halted()
            if self._broken_off is not None:
                self._process.kill()

    def _message(self, text: str) -> str:
        reason = (text.splitlines() or [""])[0]
        for place in self._hidden:
            reason = reason.replace(place, "")
        return reason[:300]


class _Values(pickle.Unpickler):
    """Unpickles only the types of rows, and no code: the other process has read untrusted data."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("decimal", "Decimal"):
            return Decimal
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
