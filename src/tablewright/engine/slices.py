"""Operations that take long are done in slices, so that nobody else waits for all of them.

The handler of such an operation is a generator. It yields whenever it has worked for ``SLICE_SECONDS``, at a point
where others may read and write; what it returns is the response:

    until = slice_end()
    for part in parts:
        ...
        if thread_time() > until:
            yield
            until = slice_end()

What takes long and needs nothing of the storage is done beside it, between two slices (``beside``): a server does it in
a thread. So is everything about one large item, since no slice can end in the middle of it.

Each slice is a turn of the storage by itself. A handler keeps no cursor open over a ``yield``, since others may change
what it reads, and it yields before its first write or where what it has written so far may stay. Others may also change
or delete the tables and indexes that it has found: after a ``yield`` it finds them again (``Database.table_again``,
``Source.check_there``, ``find_same_source``) before it uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from time import thread_time
from typing import Any, TypeAlias, TypeVar

import orjson

from tablewright.dynamo import DynamoError, InternalServerError
from tablewright.engine.requests import worded
from tablewright.engine.storage.durable_commit import Commit
from tablewright.engine.storage.group_commit import Storage, Turn

__all__ = [
    "IS_LARGE",
    "LARGE_ITEM",
    "SLICE_BYTES",
    "Outcome",
    "Response",
    "Sliced",
    "Steps",
    "Unfinished",
    "beside",
    "deleted_together",
    "finished",
    "in_one_go",
    "settled",
    "slice_end",
]

SLICE_SECONDS = 0.005
# The first slice of a read is shorter, by this: most are over by then, and many may arrive at once.
_FIRST_PART = 0.2
SLICE_BYTES = 64 * 1024
"""The items that are checked or written in a slice, where looking at the clock would cost more than most of them."""

LARGE_ITEM = 128 * 1024
"""From so many bytes of JSON on, an item takes milliseconds to be parsed, filtered or changed."""

IS_LARGE = "\0is large"
"""The member of a checked request that came in a large body: what it says is looked at beside the storage.

No caller can send a member of this name.
"""

# What is deleted together, in bytes: SQLite follows each large item from page to page.
_DELETED_BYTES = 64 * 1024 * 1024

_T = TypeVar("_T")
Sliced: TypeAlias = Generator[Any, None, _T]
"""Work in slices: it yields where one ends, perhaps with what is to be done before the next, and returns its result."""
Steps = Sliced[dict[str, Any]]
"""A handler at work; what it returns is the response."""
Response = dict[str, Any] | Steps
"""What a handler gives: the response, or the steps that lead to it."""
Outcome = tuple[bytes, Commit | None]
"""A response as JSON, and the commit that must be durable before anyone may see it."""


def slice_end(*, is_first: bool = False) -> float:
    """When a slice that begins now is over, in processor time of this thread: who has to wait for the processor is not
    working.
    """
    return thread_time() + (SLICE_SECONDS * _FIRST_PART if is_first else SLICE_SECONDS)


def deleted_together(rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The first of some rows, as many as can be deleted in a slice, and one at least; each ends with its bytes."""
    size = 0
    for number, (*_, length) in enumerate(rows, 1):
        size += length
        if size >= _DELETED_BYTES:
            return rows[:number]
    return rows


def beside(work: Callable[[], _T]) -> Sliced[_T]:
    """The result of work that needs nothing of the storage, in a thread if whoever does the slices has one for it."""
    results: list[_T] = []
    errors: list[Exception] = []

    def do() -> None:
        try:
            results.append(work())
        except Exception as error:
            errors.append(error)

    yield do
    if not results and not errors:
        do()
    if errors:
        raise errors[0]
    return results[0]


def settled(work: Callable[[], _T]) -> Callable[[], Callable[[], _T]]:
    """The same work, whose result or error is only given when it is asked for."""

    def work_out() -> Callable[[], _T]:
        try:
            result = work()
        except DynamoError as error:
            refused = error

            def refuse() -> _T:
                raise refused

            return refuse
        return lambda: result

    return work_out


def finished(response: Response) -> Steps:
    """The response of another handler, from within a handler that yields."""
    return (yield from response) if isinstance(response, Generator) else response


def in_one_go(work: Sliced[_T]) -> _T:
    """The result of work that is known to be short, or that must not be interrupted."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: _T = done.value
            return result


def refusal(operation: str, error: DynamoError, turn: Turn, request: dict[str, Any]) -> DynamoError:
    """An error in the words of its operation, with the commit that must be durable before anyone may see it."""
    shown = worded(operation, error, request)
    shown.commit = turn.commit
    return shown


class Unfinished:
    """An operation that has had some slices, and needs more."""

    __slots__ = ("_commit", "_operation", "_request", "_steps", "_storage", "beside")

    def __init__(self, storage: Storage, operation: str, request: dict[str, Any], steps: Steps) -> None:
        self._storage = storage
        self._operation = operation
        self._request = request
        self._steps = steps
        # What was seen or written so far becomes durable with it.
        self._commit: Commit | None = None
        self.beside: Callable[[], None] | None = None
        """What may be done in any thread before it is resumed, or else is done then."""

    def advance(self) -> dict[str, Any] | None:
        """Do a slice, inside a turn; gives the response if it was the last."""
        try:
            self.beside = next(self._steps)
        except StopIteration as done:
            response: dict[str, Any] = done.value
            return response
        return None

    def resume(self) -> Outcome | Unfinished:
        """Do another slice, in a turn of its own. Gives the outcome, or itself if there is more to do."""
        turn = Turn(self._storage)
        try:
            with self._storage.lock, turn:
                if self._commit is not None and self._commit.error is not None:
                    self.close()
                    raise InternalServerError(self._commit.error.message)
                response = self.advance()
        except DynamoError as error:
            raise refusal(self._operation, error, turn, self._request) from error.__cause__
        return self.paused(turn) if response is None else (orjson.dumps(response), turn.commit)

    def paused(self, turn: Turn) -> Unfinished:
        """Note what the slice of a turn depends on."""
        self._commit = turn.commit
        return self

    def close(self) -> None:
        """Leave the rest undone: nobody waits for the response any more."""
        self._steps.close()
