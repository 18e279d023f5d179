"""The errors of a store, in the words of the design.

    StoreError
    ├── NotFound                  the item to change does not exist
    ├── AlreadyExists             the item to create exists
    ├── Conflict                  another writer was faster
    │   ├── VersionConflict       expected, found
    │   └── LeaseLost             another consumer has taken over a shard or a rebuild
    ├── NotUnique                 entity, field, value
    ├── ConditionFailed           a condition of the caller, or a bound of a field, does not hold
    ├── Cancelled                 a transaction was cancelled; reasons, one for each action
    ├── KeyMismatch               an idempotency key was used for another request
    ├── InProgress                an idempotent request, or a rebuild, is still running
    ├── InvalidCursor             a cursor was altered, or belongs to another read
    ├── LimitExceeded             more than the service accepts (100 actions, 400 KB)
    ├── Unreadable                an item of an entity is not valid as one; entity, key, reason
    ├── BlobLost                  the blob of a large value is missing or damaged; entity, key, field, blob
    ├── ReadRequired              a write has to read first, and the store is strict
    ├── TableMismatch             a table differs from the model, and cannot be changed safely; differences
    ├── NotReady                  a table or an index is still being created
    ├── RecordsLost               a stream has trimmed records that its consumer has not read
    ├── RebuildUnfinished         a rebuild of the consumer was started and not finished
    ├── Unavailable               raised by a handler: something that it needs cannot be reached now
    └── ServiceError              any other error of the service; code, message, details
        ├── TableNotFound         a table of the request does not exist; tables
        ├── OutcomeUnknown        a write was sent and its response got lost: it may have been executed
        └── DeadlineExceeded      a call did not end by its deadline

Errors name the entity, the field and the reason; none of them shows an expression or a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tablewright.store.maintenance.table_differences import Difference

# The responses of endpoints to an unsupported operation; a status if they have no error for it.
_MISSING_OPERATION = frozenset({"UnknownOperationException", "NotImplementedError", "404", "501"})


class StoreError(Exception):
    """The base class of all errors of a store."""


class NotFound(StoreError):
    """The item to change, or something else that is needed, does not exist."""

    def __init__(self, entity: str, key: object) -> None:
        super().__init__(f"{entity} {key} does not exist")
        self.entity = entity
        self.key = key


class AlreadyExists(StoreError):
    """The item to create exists, or another entity has its key."""

    def __init__(self, entity: str, key: object) -> None:
        super().__init__(f"{entity} {key} already exists")
        self.entity = entity
        self.key = key


class Conflict(StoreError):
    """Another writer changed the item in the meantime: read it again, and retry."""


class VersionConflict(Conflict):
    """The item has another version than the one that was read; ``found`` is None if it has been deleted."""

    def __init__(self, entity: str, key: object, expected: int, found: int | None) -> None:
        state = "the item no longer exists" if found is None else f"found {found}"
        super().__init__(f"{entity} {key}: expected version {expected}, {state}")
        self.entity = entity
        self.expected = expected
        self.found = found


class LeaseLost(Conflict):
    """Another consumer of the same name has taken over the work; none of it was done twice."""

    def __init__(self) -> None:
        super().__init__("another consumer of the same name has taken over the work")


class NotUnique(StoreError):
    """Another item has the value of a unique field."""

    def __init__(self, entity: str, field: str, value: object, per: Sequence[str] = ()) -> None:
        values = value if per and isinstance(value, list) else [value]
        taken = ", ".join(f"{name} {each}" for name, each in zip((field, *per), values, strict=True))
        super().__init__(f"{entity}: {taken} is already taken")
        self.entity = entity
        self.field = field
        self.value = value


class ConditionFailed(StoreError):
    """A condition of the caller (``expect``, ``Check``), or a bound of a field, does not hold."""


class Cancelled(StoreError):
    """A transaction was cancelled; ``reasons`` has an error, or None, for each of its actions."""

    def __init__(self, reasons: Sequence[StoreError | None]) -> None:
        why = "; ".join(f"action {n}: {reason}" for n, reason in enumerate(reasons, 1) if reason is not None)
        super().__init__(f"the transaction was cancelled: {why}")
        self.reasons = tuple(reasons)


class KeyMismatch(StoreError):
    """An idempotency key was used before, for another request: use a new key for a new request."""


class InProgress(StoreError):
    """A request with this idempotency key, or a rebuild, is still running: try again later."""


class InvalidCursor(StoreError):
    """A cursor was altered, or belongs to another read: begin that read again without one."""


class LimitExceeded(StoreError):
    """More than the service accepts: 100 actions in a transaction, 400 KB in an item."""


class Unreadable(StoreError):
    """An item of an entity is not valid as one: another program wrote it, or the entity has changed."""

    def __init__(self, entity: str, key: object, reason: str) -> None:
        super().__init__(f"{entity} {key} cannot be read: {reason}")
        self.entity = entity
        self.key = key
        self.reason = reason


class BlobLost(StoreError):
    """An item refers to a blob that is missing, or is not what was written."""

    def __init__(self, entity: str, key: object, field: str, blob: str, reason: str) -> None:
        super().__init__(f"{entity} {key}: {field} is stored in the blob {blob}, which {reason}")
        self.entity = entity
        self.key = key
        self.field = field
        self.blob = blob


class ReadRequired(StoreError):
    """A strict store was asked for a write that has to read the item first."""

    def __init__(self, entity: str, key: object, needed: str) -> None:
        super().__init__(f"{entity} {key}: this write has to read {needed} first, and the store is strict")
        self.entity = entity


class TableMismatch(StoreError):
    """Tables differ from the model in a way that cannot be changed safely; nothing was changed."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        super().__init__("; ".join(map(str, differences)))
        self.differences = tuple(differences)


class NotReady(StoreError):
    """A table or an index is still being created: try again later."""


class RecordsLost(StoreError):
    """Records of a stream were trimmed before they were read: rebuild, or continue with ``skip_lost``."""


class RebuildUnfinished(StoreError):
    """A rebuild was started and not finished, so its result is incomplete: start it again."""


class Unavailable(StoreError):
    """Raised by a handler when something that it needs cannot be reached: the consumer waits, and tries again."""


class ServiceError(StoreError):
    """Any other error of the service: its ``code`` and ``message``, and further members as ``details``."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        # Such as Item and CancellationReasons.
        self.details = details or {}

    @property
    def is_missing_operation(self) -> bool:
        """Whether the endpoint does not have the operation at all, or only half of it."""
        return self.code in _MISSING_OPERATION

    @property
    def is_missing_index(self) -> bool:
        """Whether the table is there, without the index of the request."""
        return "does not have the specified index" in self.message


class TableNotFound(ServiceError):
    """A table does not exist; of several ``tables`` in one request, DynamoDB does not say which."""

    def __init__(self, tables: Sequence[str]) -> None:
        super().__init__(
            "ResourceNotFoundException",
            f"the table {' or '.join(tables)} does not exist; store.ensure_tables(...) creates it",
        )
        self.tables = tuple(tables)


class OutcomeUnknown(ServiceError):
    """A write was sent, its response got lost, and it cannot be sent again: read the item before you write again."""

    def __init__(self, operation: str, lost: ServiceError) -> None:
        super().__init__(
            lost.code,
            f"the response to {operation} was lost ({lost.message}), so it may or may not have been executed; read the "
            "item before you write again",
        )
        self.operation = operation


class DeadlineExceeded(ServiceError):
    """A call did not end within its ``seconds``; its last request may have been executed."""

    def __init__(self, seconds: float, last: ServiceError | None) -> None:
        why = "" if last is None else f"; the last attempt ended with {last}"
        super().__init__("DeadlineExceeded", f"the call did not end within {seconds:g} seconds{why}")
        self.seconds = seconds
