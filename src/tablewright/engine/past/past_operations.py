"""The operations of an engine at a moment: those that read do so from the past, the others are refused.

They are the engine's own handlers on a ``PastDatabase``, so reads are implemented once: parameters, expressions, pages,
consumed capacity and errors are the same as for the present.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

from tablewright.dynamo import DynamoError, ValidationException
from tablewright.engine.database import Database
from tablewright.engine.past.past_database import NeedsChanges, PastDatabase, read_only
from tablewright.engine.slices import Response, Steps
from tablewright.engine.tables.table_lookup import find_table

__all__ = ["past_operations"]

_Handler = Callable[[Database, dict[str, Any]], Response]

_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
_STATEMENTS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})


def past_operations(time: float, now: Mapping[str, _Handler]) -> dict[str, _Handler]:
    """Handlers of all operations, as of a time; ``now`` are those of the present."""
    operations = {name: _refused(name) for name in now}
    for name in _READS:
        operations[name] = _as_of(time, now[name])
    for name in _STATEMENTS:
        operations[name] = _as_of(time, _only_selecting(now[name]))
    # The tables are those of now.
    operations["ListTables"] = now["ListTables"]
    operations["DescribeTable"] = _described(time, now["DescribeTable"])
    return operations


def _refused(name: str) -> _Handler:
    def handle(db: Database, request: dict[str, Any]) -> Response:
        raise ValidationException(
            f"{name} is not supported at an earlier time: engine.at() reads items, and describes tables"
        )

    return handle


def _as_of(time: float, handler: _Handler) -> _Handler:
    def handle(db: Database, request: dict[str, Any]) -> Steps:
        past = PastDatabase(db, time)
        while True:
            try:
                response = handler(past, request)
                if not isinstance(response, Generator):
                    return response
                with closing(response) as steps:
                    while True:
                        try:
                            work = next(steps)
                        except StopIteration as done:
                            answer: dict[str, Any] = done.value
                            return answer
                        yield work
                        past.begin_slice()
            except NeedsChanges as needed:
                missing = needed
            yield from past.look_at(missing)

    return handle


def _described(time: float, handler: _Handler) -> _Handler:
    """The present description of a table, if it can be read as it was then."""

    def handle(db: Database, request: dict[str, Any]) -> Response:
        past = PastDatabase(db, time)
        past.check_time(find_table(past, request["TableName"]))
        return handler(db, request)

    return handle


def _only_selecting(handler: _Handler) -> _Handler:
    def handle(db: Database, request: dict[str, Any]) -> Response:
        for text in _statements(request):
            if _writes(text):
                raise read_only()
        return handler(db, request)

    return handle


def _statements(request: Mapping[str, Any]) -> Iterator[str]:
    if "Statement" in request:
        yield request["Statement"]
    for member in ("Statements", "TransactStatements"):
        for statement in request.get(member, ()):
            yield statement["Statement"]


def _writes(text: str) -> bool:
    """Whether a statement is not a read; one that cannot be parsed is refused with its usual error."""
    # A program without statements need not load these.
    from tablewright.engine.partiql.statements import Select
    from tablewright.engine.partiql.translate import statement

    try:
        return not isinstance(statement(text), Select)
    except DynamoError:
        return False
