"""The errors of refused statements.

DynamoDB reports parse errors with one common sentence, and statements that it can parse but does not run each with its
own message, which often ends with the place in the statement.
"""

from __future__ import annotations

from tablewright.dynamo import ValidationException
from tablewright.engine.partiql.syntax.statement_lexer import Token


class NotWellFormed(ValidationException):
    """Text that is not PartiQL. The lexer gives no reason, the parser does."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(f"Statement wasn't well formed, can't be processed: {reason}")

    @property
    def code(self) -> str:
        return "ValidationException"


class StatementRefused(ValidationException):
    """An error in a write that does not depend on its table's data; a transaction is refused for it, not cancelled."""

    @property
    def code(self) -> str:
        return "ValidationException"


def refused(message: str, at: Token | None = None) -> ValidationException:
    """PartiQL that DynamoDB does not run."""
    return ValidationException(message if at is None else f"{message} at {at.place}")
