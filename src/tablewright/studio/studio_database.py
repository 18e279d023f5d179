"""The database of a studio: an engine or an endpoint behind DynamoDB's API, and the designs of its tables.

    database.call("Query", TableName=...)        a read; raises Refused if it is refused
    database.write("UpdateItem", {...}, who)     a write: refused unless the studio may write, and logged
    database.answer(request)                     used by both, and by the stores of patterns and writes
    database.as_backend()                        the same as a backend, such as for SQL
    database.at(time)                            the tables as they were at that time, of an engine in this process
    database.replay(letter, who)                 retry a dead letter, by a consumer of this process; logged too

This is the only place that decides what a read-only studio refuses, whatever a browser sends: only requests that
``is_read`` knows to be reads are sent.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.model import Design, Schema, Table, schemas_of
from tablewright.runtime import StateConflict
from tablewright.runtime.background.consumer_threads import ConsumerThreads
from tablewright.store import (
    AsyncStore,
    Backend,
    DeadLetter,
    EmbeddedBackend,
    Request,
    Response,
    ServiceError,
    is_transient,
)
from tablewright.ui.api_calls import Refused

__all__ = ["READS", "LoggedWrite", "StudioDatabase", "is_read"]

READS = frozenset(
    {
        *("ListTables", "DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups", "ListBackups"),
        *("DescribeBackup", "DescribeLimits", "DescribeEndpoints", "ListTagsOfResource", "DescribeExport"),
        *("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"),
        *("ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"),
    }
)
"""The operations that never change anything; statements of PartiQL are examined by ``is_read``."""

_T = TypeVar("_T")
_LOG = logging.getLogger("tablewright.studio.writes")
_KEPT_WRITES = 500
# An ARN has up to 1024 characters.
_LONGEST_NAME = 1024
_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE)
# A request without a response within this time has failed, as a user waits for it.
_WITHIN_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class LoggedWrite:
    """A write of the studio: who, when and what; without values, which may be personal data."""

    at: datetime
    who: str
    operation: str
    table: str
    # Names of attributes, or how many items.
    about: str
    # The error's code, if it was refused.
    refused: str | None = None


@dataclass(slots=True)
class StudioDatabase:
    """An engine or an endpoint, with the designs of its tables."""

    # As the user wrote it: a folder, an address.
    name: str
    backend: Backend = field(repr=False)
    designs: Sequence[Design] = ()
    may_write: bool = False
    # The consumers that run in this process, where it has any.
    consumers: ConsumerThreads | None = field(default=None, repr=False)
    # The name that a table of a design has there.
    name_of: Callable[[Table], str] = field(default=lambda table: table.name, repr=False)
    writes: deque[LoggedWrite] = field(default_factory=lambda: deque(maxlen=_KEPT_WRITES), repr=False)

    @property
    def engine(self) -> Engine | None:
        """The engine in this process; None for an endpoint."""
        return self.backend.engine if isinstance(self.backend, EmbeddedBackend) else None

    @property
    def table_names(self) -> dict[str, str]:
        """The names of the designs' tables in this database."""
        return {table.name: self.name_of(table) for design in self.designs for table in design.tables}

    @property
    def store(self) -> AsyncStore:
        """A store on the same backend, for the patterns of the designs."""
        return AsyncStore(self.backend, table_names=self.table_names)

    def at(self, time: float) -> StudioDatabase:
        """The same database as of a time, read-only."""
        if self.engine is None:
            raise Refused(400, "no-past", f"{self.name} is an endpoint, which cannot show its history", {})
        return replace(self, backend=EmbeddedBackend(self.engine.at(time), owned=False), may_write=False)

    def as_backend(self) -> Backend:
        """A backend for code that sends its own requests; they are checked like all others."""
        return _DatabaseBackend(self)

    async def call(self, operation: str, /, **body: Any) -> dict[str, Any]:
        """The response to a request that changes nothing."""
        if not is_read(operation, body):
            raise ValueError(f"{operation} is not a read: send it with write")
        try:
            return await self.answer(Request(operation, body))
        except ServiceError as error:
            raise refusal(error, self.name) from None

    async def write(self, operation: str, body: Mapping[str, Any], who: str, about: str) -> dict[str, Any]:
        """The response to a write; it is logged, and refused by a read-only studio."""
        try:
            return await self.write_of_store(Request(operation, dict(body)), who, about)
        except ServiceError as error:
            raise refusal(error, self.name) from None

    async def write_of_store(self, request: Request, who: str, about: str) -> dict[str, Any]:
        """The same for a request of a store, which handles the service's own errors."""
        tables = _tables_of(request.body)
        return await self._logged(self.answer(request), LoggedWrite(_now(), who, request.operation, tables, about))

    def runs(self, consumer: str) -> bool:
        """Whether a consumer runs in this process, so that its dead letters can be replayed."""
        return self.consumers is not None and consumer in self.consumers.names

    async def replay(self, letter: DeadLetter, who: str) -> None:
        """Have a consumer of this process retry a dead letter; its writes are not confirmed one by one."""
        write = LoggedWrite(_now(), who, "replay", letter.stream, f"{letter.consumer}, {letter.sequence}")

        async def replayed() -> None:
            self.check_may_write()
            if self.consumers is None or not self.runs(letter.consumer):
                raise Refused(400, "not-here", f"{letter.consumer} does not run in this process", {})
            try:
                await asyncio.to_thread(self.consumers.replay, letter)
            except StateConflict as error:
                raise Refused(409, error.kind, str(error), {}) from None

        await self._logged(replayed(), write)

    async def _logged(self, work: Awaitable[_T], write: LoggedWrite) -> _T:
        try:
            result = await work
        except (ServiceError, Refused) as error:
            kind = error.kind if isinstance(error, Refused) else error.code
            self._note(replace(write, refused=kind))
            raise
        self._note(write)
        return result

    def check_may_write(self) -> None:
        """Raise Refused if the studio may not write."""
        if not self.may_write:
            raise Refused(403, "read-only", "the studio is read-only; start it with --write", {})

    async def answer(self, request: Request) -> dict[str, Any]:
        """The response to any request; a read-only studio sends only reads."""
        self._check(request)
        try:
            async with asyncio.timeout(_WITHIN_SECONDS):
                return await self.backend.call_async(request)
        except TimeoutError:
            raise Refused(503, "timeout", f"{self.name} has not responded for {_WITHIN_SECONDS:.0f} s", {}) from None

    def answer_blocking(self, request: Request) -> dict[str, Any]:
        """The same, blocking, for use in a thread; without a time limit of its own."""
        self._check(request)
        return self.backend.call(request)

    def _check(self, request: Request) -> None:
        if not is_read(request.operation, request.body):
            self.check_may_write()

    def _note(self, write: LoggedWrite) -> None:
        self.writes.append(write)
        outcome = "done" if write.refused is None else f"refused: {write.refused}"
        _LOG.info("%s by %s on %s (%s): %s", write.operation, write.who, write.table, write.about, outcome)

    # -- designs --------------------------------------------------------------------------------------------------

    def design_of(self, table: str) -> tuple[Design, Table] | None:
        """The design and the declaration of a table, if a design has it."""
        for design in self.designs:
            for each in design.tables:
                if self.name_of(each) == table:
                    return design, each
        return None

    def schemas(self, table: str) -> list[Schema]:
        """The entities of a table."""
        found = self.design_of(table)
        return [] if found is None else list(schemas_of(found[1]))

    def schema_of_item(self, table: str, item: Item) -> Schema | None:
        """The entity that an item is of, by its type attribute and its key."""
        for schema in self.schemas(table):
            if schema.matches(item):
                return schema
        return None


class _DatabaseBackend:
    """A database as a backend."""

    def __init__(self, database: StudioDatabase) -> None:
        self._database = database

    def call(self, request: Request) -> Response:
        return self._database.answer_blocking(request)

    async def call_async(self, request: Request) -> Response:
        return await self._database.answer(request)

    def close(self) -> None:
        """The backend is the studio's."""


def _now() -> datetime:
    return datetime.now(UTC)


def is_read(operation: str, body: Mapping[str, Any]) -> bool:
    """Whether a request certainly changes nothing: a read, or PartiQL with only SELECT."""
    if operation == "ExecuteStatement":
        return _is_select(body)
    if operation in ("BatchExecuteStatement", "ExecuteTransaction"):
        statements = body.get("Statements" if operation == "BatchExecuteStatement" else "TransactStatements")
        return isinstance(statements, list) and all(map(_is_select, statements))
    return operation in READS


def _is_select(statement: Any) -> bool:
    content = statement.get("Statement") if isinstance(statement, Mapping) else None
    # A request has one statement, and what comes before its verb is not worth guessing about.
    return isinstance(content, str) and _SELECT.match(content) is not None


def _tables_of(body: Mapping[str, Any]) -> str:
    """The tables that a request is about, for the log; the request may be anything that a user typed."""
    found = [body.get("TableName") or body.get("TargetTableName")]
    if isinstance(writes := body.get("TransactItems"), list):
        parts = (part for each in writes if isinstance(each, Mapping) for part in each.values())
        found += [part.get("TableName") for part in parts if isinstance(part, Mapping)]
    if isinstance(tables := body.get("RequestItems"), Mapping):
        found += tables
    return ", ".join(dict.fromkeys(str(name)[:_LONGEST_NAME] for name in found if name))


def refusal(error: ServiceError, name: str) -> Refused:
    """An error of the service as a message for people; its code is the kind, its status 503 if it may be temporary."""
    detail = error.message or error.code
    status = 400
    if error.code in ("AccessDeniedException", "AccessDenied"):
        detail = f"these credentials do not allow that: {detail}"
    elif is_transient(error):
        detail, status = f"the database at {name} does not respond as expected: {detail}", 503
    return Refused(status, error.code, detail, {})
