"""Operations that take long are done in slices, so that others need not wait for all of them.

The handler of such an operation is a generator. It yields whenever it has worked for ``SLICE_SECONDS``, at a point
where others may read and write; what it returns is the response:

    until = slice_end()
    for part in parts:
        ...
        if thread_time() > until:
            yield
            until = slice_end()

Long work that does not need the storage is done outside of its turn, between two slices (``beside``): a server does it
in a thread. The same goes for everything about one large item, since no slice can end in the middle of it, and for
checking the members of a transaction or batch, once that has taken as long as a slice (``first_results``): a request of
a few kilobytes can have expressions that take tens of milliseconds to compile.

Each slice is a turn of the storage. A handler keeps no cursor open over a ``yield``, since others may change what it
reads, and it yields before its first write or where what it has written so far may stay. Others may also change or
delete the tables and indexes that it has found: after a ``yield`` it finds them again (``Database.table_again``,
``Source.check_there``, ``find_same_source``) before it uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from itertools import chain
from time import perf_counter, thread_time
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
    "cheap_slice_end",
    "deleted_together",
    "each_result",
    "finished",
    "first_results",
    "freed",
    "in_one_go",
    "settled",
    "slice_end",
]

SLICE_SECONDS = 0.005
# The first slice of a read is shorter, by this: most end within it, and many may arrive at once.
_FIRST_PART = 0.2
SLICE_BYTES = 64 * 1024
"""The items that are checked or written in a slice without checking the clock, which would cost more than most."""

LARGE_ITEM = 128 * 1024
"""From this many bytes of JSON on, parsing, filtering or changing an item takes milliseconds."""

IS_LARGE = "\0is large"
"""The member of a checked request that had a large body: it is evaluated outside of the storage's turn.

No caller can send a member with this name.
"""

# The bytes that are deleted together: SQLite follows each large item from page to page.
_DELETED_BYTES = 64 * 1024 * 1024

_T = TypeVar("_T")
_Member = TypeVar("_Member")
Sliced: TypeAlias = Generator[Any, None, _T]
"""Work in slices: it yields at the end of each, possibly with work to do before the next, and returns its result."""
Steps = Sliced[dict[str, Any]]
"""A running handler; it returns the response."""
Response = dict[str, Any] | Steps
"""The result of a handler: the response, or the steps that lead to it."""
Outcome = tuple[bytes, Commit | None]
"""A response as JSON, and the commit that must be durable before it may be sent."""


def slice_end(*, is_first: bool = False) -> float:
    """When a slice that begins now ends, in processor time of this thread: waiting for the processor is not
    working.
    """
    return thread_time() + (SLICE_SECONDS * _FIRST_PART if is_first else SLICE_SECONDS)


def cheap_slice_end() -> float:
    """The same by ``perf_counter``, which costs a tenth, for requests with few steps; waiting counts here."""
    return perf_counter() + SLICE_SECONDS


def deleted_together(rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The first of some rows, as many as can be deleted in a slice, and at least one; each ends with its bytes."""
    size = 0
    for number, (*_, length) in enumerate(rows, 1):
        size += length
        if size >= _DELETED_BYTES:
            return rows[:number]
    return rows


def beside(work: Callable[[], _T]) -> Sliced[_T]:
    """The result of work that does not need the storage, in a thread if the caller of the slices has one for it."""
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
        # Not kept here: the error's traceback leads back to this frame, and only garbage collection would free both.
        raise errors.pop()
    # Nor is this: whoever resumes the work still refers to ``do``.
    return results.pop()


def first_results(
    members: Iterable[_Member], work: Callable[[_Member], _T], takes_long: Callable[[_Member], bool] | None = None
) -> tuple[list[_T], Callable[[], list[_T]] | None]:
    """The results of work for each of some members in their order; and, if that takes longer than a slice or for one
    that ``takes_long``, the work for the others, which must not need the storage.
    """
    until = perf_counter() + SLICE_SECONDS
    results: list[_T] = []
    remaining = iter(members)
    for member in remaining:
        if (results and perf_counter() > until) or (takes_long is not None and takes_long(member)):
            return results, partial(list, map(work, chain((member,), remaining)))
        results.append(work(member))
    return results, None


def each_result(
    members: Iterable[_Member], work: Callable[[_Member], _T], takes_long: Callable[[_Member], bool] | None = None
) -> Sliced[list[_T]]:
    """The same with the others done beside the slices."""
    results, rest = first_results(members, work, takes_long)
    return results if rest is None else results + (yield from beside(rest))


def freed(values: list[Any]) -> Sliced[None]:
    """Empty a list of large values that nothing else has: to free them all takes long as well."""
    until = cheap_slice_end()
    while values:
        values.pop()
        if perf_counter() > until:
            yield
            until = cheap_slice_end()


def settled(work: Callable[[], _T]) -> Callable[[], Callable[[], _T]]:
    """The same work, whose result or error is only returned when it is needed, once."""

    def work_out() -> Callable[[], _T]:
        try:
            result = work()
        except DynamoError as error:
            refused = [error.with_traceback(None)]

            def refuse() -> _T:
                raise refused.pop()

            return refuse
        return lambda: result

    return work_out


def finished(response: Response) -> Steps:
    """The response of another handler, from within a handler that yields."""
    return (yield from response) if isinstance(response, Generator) else response


def in_one_go(work: Sliced[_T]) -> _T:
    """The result of work that is known to be short, or must not be interrupted."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: _T = done.value
            return result


def refusal(operation: str, error: DynamoError, turn: Turn, request: dict[str, Any]) -> DynamoError:
    """An error in the words of its operation, with the commit that must be durable before it may be sent."""
    shown = worded(operation, error, request)
    shown.commit = turn.commit
    return shown


class Unfinished:
    """An operation that has had some slices, and needs more."""

    __slots__ = ("_commit", "_operation", "_request", "_steps", "_storage", "_written", "beside")

    def __init__(self, storage: Storage, operation: str, request: dict[str, Any], steps: Steps) -> None:
        self._storage = storage
        self._operation = operation
        self._request = request
        self._steps = steps
        # Everything seen so far becomes durable with it.
        self._commit: Commit | None = None
        # And everything written, with this one, even if nobody can see it yet: rows of a copy may be rolled back, too.
        self._written: Commit | None = None
        self.beside: Callable[[], None] | None = None
        """Work that can be done in any thread before it is resumed, or is done then."""

    def advance(self) -> dict[str, Any] | None:
        """Do a slice, inside a turn; returns the response if it was the last."""
        writes = self._storage.writes
        try:
            self.beside = next(self._steps)
        except StopIteration as done:
            response: dict[str, Any] = done.value
            return response
        if self._storage.writes > writes:
            self._written = self._storage.open_commit
        return None

    def resume(self) -> Outcome | Unfinished:
        """Do another slice, in its own turn. Returns the outcome, or itself if there is more to do."""
        turn = Turn(self._storage)
        try:
            with self._storage.lock, turn:
                for commit in (self._commit, self._written):
                    if commit is not None and commit.error is not None:
                        self.close()
                        raise InternalServerError(commit.error.message)
                response = self.advance()
        except DynamoError as error:
            raise refusal(self._operation, error, turn, self._request) from error.__cause__
        return self.paused(turn) if response is None else (orjson.dumps(response), turn.commit)

    def paused(self, turn: Turn) -> Unfinished:
        """Note what the slice of a turn depends on."""
        self._commit = turn.commit
        return self

    def close(self) -> None:
        """Drop the rest: the response is no longer needed."""
        self._steps.close()
