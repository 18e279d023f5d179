"""``FullTextIndex``: documents of all systems in one SQLite file with FTS5, found by prefixes of their words.

    documents   system, item key, kind, ids, generation          one row for each item
    owners      person, document                                 whose it is
    removed     system, item key                                 deleted while a rebuild goes on
    words       FTS5 over title and text                         no accents, no case; prefixes of two and three letters

The file is derived data: it can be deleted, and is rebuilt. It is written before the checkpoint of its consumer, so a
killed process misses nothing. It is not synced, as the engine needs the disk more: a file that was not closed may stem
from a power failure, and is rebuilt. A lock file next to it shows that a process is using it.

FTS5 leaves the words of a deleted document in older segments until they are merged; ``purge`` merges them, and a freed
page is overwritten with zeros.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from tablewright.runtime.search.searchable import Document

T = TypeVar("T")

VERSION = 1
"""The version of the tables below; a file of another version is rebuilt."""
# bm25 weights: a word in the title counts for so many in the text.
_TITLE_WEIGHT = 5.0
# Of the six columns that are written at most: SQLite may take as few as 999 values in a statement.
_ROWS = 100
_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, system TEXT NOT NULL, item TEXT NOT NULL, kind TEXT NOT NULL, "
    "ids TEXT NOT NULL, generation INTEGER NOT NULL, UNIQUE (system, item))",
    "CREATE TABLE owners (person TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (person, document)) "
    "WITHOUT ROWID",
    "CREATE INDEX owners_of_document ON owners (document)",
    "CREATE TABLE removed (system TEXT, item TEXT, PRIMARY KEY (system, item)) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE words USING fts5(title, text, tokenize=\"unicode61 remove_diacritics 2\", prefix='2 3')",
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found."""

    kind: str
    ids: dict[str, str]


class IndexInUse(Exception):
    """Another process is using the file."""


class FullTextIndex:
    """The index in a file, or in memory; shared by all threads of a process, one at a time."""

    def __init__(self, path: Path | None) -> None:
        """Raises IndexInUse if another process is using the file."""
        self.path = path
        self._file_lock = None if path is None else _locked(path.with_name(f"{path.name}.lock"))
        self._lock = threading.RLock()
        self._has_residue = False
        try:
            self._connection = self._opened()
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        """Close the file, so that it can be used again as it is."""
        with self._lock:
            self.purge()
            self._synced("closed")
            self._connection.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._file_lock is not None:
            os.close(self._file_lock)
            self._file_lock = None

    @property
    def id(self) -> str:
        """A name that the file has until it is rebuilt."""
        return self._meta("id") or ""

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, system: str, documents: Mapping[str, Document | None]) -> None:
        """Store what the stream says of some items: a document in place of the previous one, or none."""
        with self._writing():
            self._replace(system, documents, self.generation(system))
            removed = [(system, item) for item, document in documents.items() if document is None]
            if removed and self._meta(f"rebuild {system}") is not None:
                self._insert("OR IGNORE INTO removed (system, item)", removed)

    def write_scanned(self, system: str, documents: Mapping[str, Document], generation: int) -> None:
        """Store documents of a rebuild, but for those of items that the stream has delivered meanwhile."""
        with self._writing():
            delivered = {
                *self._select("item FROM removed", system, documents),
                *self._select("item FROM documents", system, documents, f"AND generation >= {generation}"),
            }
            new = {item: document for item, document in documents.items() if item not in delivered}
            self._replace(system, new, generation)

    def remove_older(self, system: str, generation: int) -> int:
        """Delete documents that neither a rebuild nor the stream has seen since; returns how many."""
        with self._writing():
            found = self._connection.execute(
                "SELECT id FROM documents WHERE system = ? AND generation < ?", (system, generation)
            )
            numbers = [number for (number,) in found.fetchall()]
            self._remove(numbers)
        return len(numbers)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _replace(self, system: str, documents: Mapping[str, Document | None], generation: int) -> None:
        self._remove(self._select("id FROM documents", system, documents))
        new = [(item, document) for item, document in documents.items() if document is not None]
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM documents").fetchone()
        numbered = list(enumerate(new, last + 1))
        self._insert(
            "INTO documents (id, system, item, kind, ids, generation)",
            [
                (number, system, item, document.kind, json.dumps(dict(document.ids)), generation)
                for number, (item, document) in numbered
            ],
        )
        self._insert(
            "INTO words (rowid, title, text)",
            [(number, document.title, document.text) for number, (_, document) in numbered],
        )
        self._insert(
            "INTO owners (person, document)",
            [(person, number) for number, (_, document) in numbered for person in document.owners],
        )

    def _remove(self, numbers: Sequence[int]) -> None:
        for some in _parts(numbers):
            for place in ("words WHERE rowid", "owners WHERE document", "documents WHERE id"):
                self._connection.execute(f"DELETE FROM {place} IN ({_marks(some)})", some)
            self._has_residue = True

    # Each statement is about many rows: SQLite works through it beside the interpreter, which would otherwise be handed
    # over to and from the requests of the process with every row.

    def _select(self, column: str, system: str, items: Iterable[str], more: str = "") -> list[Any]:
        """A column of the rows of some items."""
        found: list[Any] = []
        for some in _parts(list(items)):
            statement = f"SELECT {column} WHERE system = ? AND item IN ({_marks(some)}) {more}"
            found += [value for (value,) in self._connection.execute(statement, (system, *some)).fetchall()]
        return found

    def _insert(self, into: str, rows: Sequence[tuple[object, ...]]) -> None:
        for some in _parts(rows):
            marks = f"({_marks(some[0])})"
            statement = f"INSERT {into} VALUES {', '.join([marks] * len(some))}"
            self._connection.execute(statement, [value for row in some for value in row])

    def purge(self) -> bool:
        """Merge the segments, so that no word of a deleted document stays in the file; returns whether any did."""
        with self._lock:
            if not self._has_residue:
                return False
            self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._has_residue = False
            return True

    # -- how complete it is -------------------------------------------------------------------------------------

    def generation(self, system: str) -> int:
        """How often the documents of a system were built from the table; 0: never."""
        return int(self._meta(f"generation {system}") or 0)

    def declaration(self, system: str) -> str | None:
        """The declaration that all documents of a system were built with; None until a rebuild has finished."""
        return self._meta(f"declaration {system}")

    def begin(self, system: str) -> int:
        """Begin a new generation of a system's documents; returns its number."""
        generation = self.generation(system) + 1
        with self._writing():
            self._set_meta(f"generation {system}", str(generation))
            self._set_meta(f"rebuild {system}", "begun")
            self._connection.execute("DELETE FROM removed WHERE system = ?", (system,))
        return generation

    def complete(self, system: str, declaration: str) -> None:
        """All documents were built."""
        with self._writing():
            self._set_meta(f"declaration {system}", declaration)
            self._connection.execute("DELETE FROM meta WHERE name = ?", (f"rebuild {system}",))
            self._connection.execute("DELETE FROM removed WHERE system = ?", (system,))

    def incomplete(self, system: str) -> None:
        """Changes were missed: the documents have to be rebuilt."""
        with self._writing():
            self._connection.execute("DELETE FROM meta WHERE name = ?", (f"declaration {system}",))

    def count(self, system: str) -> int:
        with self._lock:
            (number,) = self._connection.execute(
                "SELECT count(*) FROM documents WHERE system = ?", (system,)
            ).fetchone()
            return int(number)

    # -- reading ------------------------------------------------------------------------------------------------

    def find(
        self, system: str, terms: Sequence[str], *, kinds: Sequence[str], own: Sequence[str], person: str, limit: int
    ) -> list[Hit]:
        """Documents with words that start with the terms: all of some kinds, and a person's of others; best first."""
        if not terms or not (kinds or own):
            return []
        match = " ".join(f'"{term}"*' for term in terms)
        statement = (
            "SELECT d.kind, d.ids FROM words JOIN documents d ON d.id = words.rowid WHERE words MATCH ? "
            f"AND d.system = ? AND (d.kind IN ({_marks(kinds)}) OR (d.kind IN ({_marks(own)}) AND EXISTS "
            "(SELECT 1 FROM owners o WHERE o.document = d.id AND o.person = ?))) "
            f"ORDER BY bm25(words, {_TITLE_WEIGHT}, 1.0), d.id DESC LIMIT ?"
        )
        with self._lock:
            found = self._connection.execute(statement, (match, system, *kinds, *own, person, limit)).fetchall()
        return [Hit(kind, json.loads(ids)) for kind, ids in found]

    # -- the file -----------------------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        """The file as it is, if it is of this version and whole; otherwise an empty one."""
        if self.path is not None and self.path.exists():
            try:
                connection = self._connect()
                found = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
                closed = connection.execute("SELECT value FROM meta WHERE name = 'state'").fetchone()
                if found == (str(VERSION),) and closed == ("closed",):
                    self._synced("open", connection)
                    return connection
                connection.close()
            except sqlite3.DatabaseError:
                pass
            for each in (self.path, self.path.with_name(self.path.name + "-journal")):
                each.unlink(missing_ok=True)
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:
            connection.execute(statement)
        for name, value in (("version", str(VERSION)), ("id", uuid4().hex[:12])):
            connection.execute("INSERT INTO meta (name, value) VALUES (?, ?)", (name, value))
        connection.execute("COMMIT")
        self._synced("open", connection)
        return connection

    def _synced(self, state: str, connection: sqlite3.Connection | None = None) -> None:
        """Have a state of the file on disk, with everything before it."""
        connection = connection or self._connection
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('state', ?)", (state,))
        connection.execute("PRAGMA synchronous = OFF")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self.path is None else self.path,
            timeout=10.0,
            isolation_level=None,
            check_same_thread=False,
        )
        # No write-ahead log: pages with what was deleted would stay in it.
        for pragma in ("journal_mode = DELETE", "synchronous = OFF", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if self.path is not None:
            self.path.chmod(0o600)
        return connection

    def _meta(self, name: str) -> str | None:
        with self._lock:
            found = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def _set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))


def _locked(path: Path) -> int:
    """A lock that ends with its process, however that ends."""
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise IndexInUse(str(path)) from None
    except BaseException:
        os.close(opened)
        raise
    return opened


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _parts(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Rows for one statement each: SQLite limits the parameters of one."""
    return (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
