"""What can go wrong with a store, in the words of the design.

    StoreError
    ├── NotFound                  the item to change is not there
    ├── AlreadyExists             the item to create is there
    ├── Conflict                  somebody else was faster
    │   ├── VersionConflict       expected, found
    │   └── LeaseLost             a shard, or a rebuild, that another consumer has taken over
    ├── NotUnique                 entity, field, value
    ├── ConditionFailed           a condition of the caller's own, or a bound of a field, did not hold
    ├── Cancelled                 a transaction; reasons, one for each of its actions
    ├── KeyMismatch               an idempotency key that was used for another request
    ├── InProgress                an idempotent request that is still running
    ├── InvalidCursor             a cursor that was altered, or belongs to another read
    ├── LimitExceeded             more than the service takes (100 actions, 400 KB)
    ├── Unreadable                an item that is of an entity and cannot be read as one; entity, key, reason
    ├── BlobLost                  a large value that is outside of its item, and not there either; entity, field, blob
    ├── ReadRequired              a write that would have to read first, in a store that is strict
    ├── TableMismatch             a table is not what the model says, and cannot safely be made so; differences
    ├── NotReady                  a table or an index that is still being made
    ├── RecordsLost               a stream that went on without its consumer for longer than it keeps records
    ├── RebuildUnfinished         a consumer whose rebuild was begun and not finished
    ├── Unavailable               something that a handler needs cannot be reached now
    └── ServiceError              anything else the service answers with: code, message

Errors name the entity, the field and the reason; none of them shows an expression or a key string.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.store.maintenance.table_differences import Difference


class StoreError(Exception):
    """The base of all errors of a store."""


class NotFound(StoreError):
    def __init__(self, entity: str, key: object) -> None:
        super().__init__(f"{entity} {key} is not there")
        self.entity = entity
        self.key = key


class AlreadyExists(StoreError):
    def __init__(self, entity: str, key: object) -> None:
        super().__init__(f"{entity} {key} exists already")
        self.entity = entity
        self.key = key


class Conflict(StoreError):
    """Somebody else changed the item in the meantime; read it again and decide anew."""


class VersionConflict(Conflict):
    def __init__(self, entity: str, key: object, expected: int, found: int | None) -> None:
        state = "the item is gone" if found is None else f"{found} found"
        super().__init__(f"{entity} {key}: version {expected} expected, {state}")
        self.entity = entity
        self.expected = expected
        self.found = found


class LeaseLost(Conflict):
    """Another consumer of the same name has taken the work over; nothing of it was done twice."""

    def __init__(self) -> None:
        super().__init__("another consumer of the same name has taken the work over")


class NotUnique(StoreError):
    def __init__(self, entity: str, field: str, value: object) -> None:
        super().__init__(f"{entity}: {field} {value} is taken")
        self.entity = entity
        self.field = field
        self.value = value


class ConditionFailed(StoreError):
    """A condition that the caller gave did not hold."""


class Cancelled(StoreError):
    """A transaction that was not applied; ``reasons`` has an error, or None, for each of its actions."""

    def __init__(self, reasons: Sequence[StoreError | None]) -> None:
        told = "; ".join(f"action {n}: {reason}" for n, reason in enumerate(reasons, 1) if reason is not None)
        super().__init__(f"the transaction was not applied: {told}")
        self.reasons = tuple(reasons)


class KeyMismatch(StoreError):
    """An idempotency key was used before, for another request."""


class InProgress(StoreError):
    """A request with this idempotency key is being executed; ask again later."""


class InvalidCursor(StoreError):
    """A cursor that was altered, or that belongs to another read."""


class LimitExceeded(StoreError):
    """More than the service takes in one request."""


class Unreadable(StoreError):
    """An item that is of an entity and cannot be read as one: another program wrote it, or the entity has changed."""

    def __init__(self, entity: str, key: object, reason: str) -> None:
        super().__init__(f"{entity} {key} cannot be read: {reason}")
        self.entity = entity
        self.key = key
        self.reason = reason


class BlobLost(StoreError):
    """An item refers to a blob that is not in the object store, or not what was written."""

    def __init__(self, entity: str, key: object, field: str, blob: str, reason: str) -> None:
        super().__init__(f"{entity} {key}: {field} is kept in the blob {blob}, which {reason}")
        self.entity = entity
        self.field = field
        self.blob = blob


class ReadRequired(StoreError):
    """A strict store was asked for a write that is possible only if the item is read first."""

    def __init__(self, entity: str, key: object, needed: str) -> None:
        super().__init__(f"{entity} {key}: this write has to read {needed} first, and the store is strict")
        self.entity = entity


class TableMismatch(StoreError):
    """Tables differ from the model in a way that cannot be mended safely; nothing was changed."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        super().__init__("; ".join(map(str, differences)))
        self.differences = tuple(differences)


class NotReady(StoreError):
    """A table or an index is still being made; ask again later."""


class RecordsLost(StoreError):
    """Records of a stream were trimmed before they were read: what follows from them has to be rebuilt."""


class RebuildUnfinished(StoreError):
    """A rebuild was begun and not finished, so what it builds is incomplete; begin it again."""


class Unavailable(StoreError):
    """Raised by a handler when something that it needs cannot be reached: the consumer waits, and goes on later."""


class ServiceError(StoreError):
    """An answer of the service that has no other name here."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        # Members beside code and message: Item, CancellationReasons
        self.details = details or {}
