"""The errors of DynamoDB.

    DynamoError                                   code, message, status, extra members
    ├── ValidationException                       a well-formed but invalid request
    │   └── RequestValidationException            one about its form, in words that differ by operation
    ├── SerializationException                    a malformed request
    ├── UnknownOperationException                 an operation the service does not have
    ├── ConditionalCheckFailedException           (Item)
    ├── TransactionCanceledException              (CancellationReasons)
    ├── TransactionConflictException
    ├── TransactionInProgressException
    ├── IdempotentParameterMismatchException
    ├── DuplicateItemException                    PartiQL INSERT over an existing item
    ├── ResourceNotFoundException
    ├── ResourceInUseException
    ├── TableNotFoundException                    a table to be backed up or restored
    ├── TableAlreadyExistsException
    ├── TableInUseException
    ├── BackupNotFoundException
    ├── ContinuousBackupsUnavailableException
    ├── PointInTimeRecoveryUnavailableException
    ├── InvalidRestoreTimeException
    ├── LimitExceededException
    ├── ExpiredIteratorException
    ├── TrimmedDataAccessException
    ├── AccessDeniedException
    └── InternalServerError                       status 500: the write was refused and has no effect

Each has the namespace of its ``__type`` on the wire, so that every way to call the engine returns the same body.
"""

from __future__ import annotations

from typing import Any, ClassVar

_DYNAMODB = "com.amazonaws.dynamodb.v20120810"
_CORAL = "com.amazon.coral.service"
_VALIDATE = "com.amazon.coral.validate"


class DynamoError(Exception):
    """An error in DynamoDB's own terms; ``extra`` holds members besides ``__type`` and ``message``."""

    namespace: ClassVar[str] = _DYNAMODB
    status: ClassVar[int] = 400
    message_member: ClassVar[str] = "message"

    def __init__(self, message: str | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra = extra
        # The commit that must be durable before this may be sent: a failed condition also reveals items.
        self.commit: Any = None

    @property
    def code(self) -> str:
        return type(self).__name__

    def body(self) -> dict[str, Any]:
        """The JSON document that the service would send."""
        document: dict[str, Any] = {"__type": f"{self.namespace}#{self.code}"}
        if self.message is not None:
            document[self.message_member] = self.message
        document.update(self.extra)
        return document

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


class ValidationException(DynamoError):
    namespace = _VALIDATE


class RequestValidationException(ValidationException):
    """A ValidationException about the form of a request, in the words of the operation that it is sent to.

    The service moves from one layer of checks to another, operation by operation. PutItem, UpdateItem and DeleteItem
    respond in the newer words with a count (``counted``), GetItem, BatchGetItem and Query in the newer words alone
    (``newer``), all others in the older ones, which are the message. Which errors these are differs by family
    (malformed values and expressions are, wrong keys are not), so the code that raises one decides.
    """

    def __init__(self, message: str | None = None, *, newer: str | None = None) -> None:
        super().__init__(message)
        self._newer = newer or message

    @property
    def code(self) -> str:
        return "ValidationException"

    def counted(self) -> ValidationException:
        return ValidationException(f"1 validation error detected: {self._newer}")

    def newer(self) -> ValidationException:
        return ValidationException(self._newer)


class SerializationException(DynamoError):
    namespace = _CORAL
    message_member = "Message"


class UnknownOperationException(DynamoError):
    namespace = _CORAL


class AccessDeniedException(DynamoError):
    namespace = _CORAL
    message_member = "Message"


class ConditionalCheckFailedException(DynamoError):
    """``Item`` is among the extra members when the caller asked for the item on failure."""

    def __init__(self, message: str = "The conditional request failed", **extra: Any) -> None:
        super().__init__(message, **extra)


class TransactionCanceledException(DynamoError):
    message_member = "Message"


class TransactionConflictException(DynamoError):
    pass


class TransactionInProgressException(DynamoError):
    message_member = "Message"


class IdempotentParameterMismatchException(DynamoError):
    message_member = "Message"


class DuplicateItemException(DynamoError):
    pass


class ResourceNotFoundException(DynamoError):
    pass


class ResourceInUseException(DynamoError):
    pass


class TableNotFoundException(DynamoError):
    pass


class TableAlreadyExistsException(DynamoError):
    pass


class TableInUseException(DynamoError):
    pass


class BackupNotFoundException(DynamoError):
    pass


class ContinuousBackupsUnavailableException(DynamoError):
    pass


class PointInTimeRecoveryUnavailableException(DynamoError):
    pass


class InvalidRestoreTimeException(DynamoError):
    pass


class LimitExceededException(DynamoError):
    pass


class ExpiredIteratorException(DynamoError):
    pass


class TrimmedDataAccessException(DynamoError):
    pass


class InternalServerError(DynamoError):
    """The engine could not make the change durable; it was rolled back."""

    status = 500
