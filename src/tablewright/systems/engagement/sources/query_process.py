"""The process in which a query runs: DuckDB with limits of the operating system, which can be killed at any moment.

DuckDB has limits of its own and can be interrupted, but some operations ignore both. So ``file_connector`` starts this
file as a program (not as a module: importing the package takes longer than most queries), which reads requests from
standard input and writes responses to standard output. A message is its length and a pickle:

    ("path", where modules are)             None, once it is ready; the first request
    ("open", configuration, statements)     None
    ("read", query, values, size)           names of columns, first rows
    ("more",)                               next rows
    ("count", query)                        number of rows
    ("columns", query)                      names of columns
    responses                               (True, result) or (False, kind of error, text)

It ends when its input ends, when its parent has died, and after the maximum CPU time of a request.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
_PARENT_EVERY = 1.0


def main() -> None:
    parent, memory, seconds = (int(text) for text in sys.argv[1:4])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    _, sys.path[:] = _received(source)
    queries = _Queries()
    _limit("RLIMIT_AS", memory)
    _limit("RLIMIT_CORE", 0)
    _send(sink, (True, None))
    while (request := _received(source)) is not None:
        _limit("RLIMIT_CPU", int(time.process_time()) + seconds + 1)
        name, *arguments = request
        answer: tuple[Any, ...]
        try:
            answer = True, getattr(queries, name)(*arguments)
        except Exception as error:
            answer = False, "duckdb" if isinstance(error, queries.errors) else type(error).__name__, str(error)
        _send(sink, answer)


class _Queries:
    """The requests."""

    def __init__(self) -> None:
        duckdb = _library()
        self.errors = duckdb.Error
        self._connect = duckdb.connect
        self._reading = _beside("column_values").reading
        self._in_order = _beside("row_chunks").IN_ORDER
        self._connection: Any = None
        self._cursor: Any = None
        self._reads: dict[int, Any] = {}
        self._size = 0

    def open(self, config: dict[str, Any], statements: list[str]) -> None:
        self._connection = self._connect(":memory:", config=config)
        for statement in statements:
            self._connection.execute(statement)

    def read(self, query: str, values: list[str], size: int) -> tuple[list[str], list[Any]]:
        found = self._connection.execute(f"{query} LIMIT 0", values).description
        columns, readings = [name for name, *_ in found], [self._reading(kind) for _, kind, *_ in found]
        self._reads = {index: read for index, (_, read) in enumerate(readings) if read is not None}
        self._size = size
        cast = _with_casts(query, [cast for cast, _ in readings])
        self._cursor = self._connection.execute(f"{cast} {self._in_order}", values)
        return columns, self.more()

    def more(self) -> list[Any]:
        rows: list[Any] = self._cursor.fetchmany(self._size)
        return [self._read(row) for row in rows] if self._reads else rows

    def columns(self, query: str) -> list[str]:
        found = self._connection.execute(f"SELECT * FROM (\n{query}\n) AS source LIMIT 0").description
        return [name for name, *_ in found]

    def count(self, query: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM (\n{query}\n) AS source").fetchone()[0])

    def _read(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        reads = self._reads
        return tuple(reads[index](value) if index in reads else value for index, value in enumerate(row))


def _library() -> Any:
    """DuckDB without the package around it, which takes longer to import than DuckDB itself."""
    try:
        return importlib.import_module("_duckdb")
    except ImportError:
        # Where it is in the package.
        return importlib.import_module("duckdb")


def _with_casts(query: str, casts: list[str | None]) -> str:
    """A query with cast columns; by position, as two may have the same name."""
    if not any(casts):
        return query
    names = [f"c{index}" for index in range(len(casts))]
    cast = ", ".join(name if to is None else f"CAST({name} AS {to})" for name, to in zip(names, casts, strict=True))
    return f"SELECT {cast} FROM (\n{query}\n) AS rows({', '.join(names)})"


def _beside(name: str) -> Any:
    """A module of this folder, without the package around it."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _received(source: BinaryIO) -> Any:
    """The next message; None at the end."""
    length = source.read(LENGTH.size)
    return pickle.loads(source.read(LENGTH.unpack(length)[0])) if length else None


def _send(sink: BinaryIO, answer: tuple[Any, ...]) -> None:
    text = pickle.dumps(answer)
    sink.write(LENGTH.pack(len(text)) + text)
    sink.flush()


def _limit(name: str, value: int) -> None:
    """Set the limits, where the platform supports them."""
    try:
        import resource

        limit = getattr(resource, name)
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))
    except (ImportError, AttributeError, ValueError, OSError):
        pass


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_EVERY)
    os._exit(1)


if __name__ == "__main__":
    main()
