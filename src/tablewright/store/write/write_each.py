"""Many writes at once, each on its own and under its own conditions, with a result for each.

DynamoDB's batches have no conditions. So each operation is a request of its own, or a transaction where it has to be
one, and many are on their way at the same time: on a data folder they share the sync of the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tablewright.store.argument_checks import WRITE_OPERATIONS, wrong_argument
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, together
from tablewright.store.write.planning.executor import execute
from tablewright.store.write.planning.operation import Operation

__all__ = ["CONCURRENCY", "WriteResult", "write_each"]

# How many operations are on their way at the same time.
CONCURRENCY = 16


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of one operation: its result, as the store's method returns it, or its error."""

    operation: Operation
    result: Any = None
    error: Exception | None = None

    @property
    def is_written(self) -> bool:
        """Whether the write succeeded."""
        return self.error is None


def write_each(context: Context, operations: Iterable[Operation], *, concurrency: int) -> Flow[list[WriteResult]]:
    """Carry out operations, each on its own; returns their outcomes, in the same order."""
    if isinstance(operations, Operation):
        raise wrong_argument("write_each", "a list of operations", operations)
    found = list(operations)
    for operation in found:
        if not isinstance(operation, Operation):
            raise wrong_argument("write_each", WRITE_OPERATIONS, operation)
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")
    results = yield from together([execute(context, operation) for operation in found], concurrency)
    return [WriteResult(operation, each.result, each.error) for operation, each in zip(found, results, strict=True)]
