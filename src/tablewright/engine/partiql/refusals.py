"""How a statement is refused.

DynamoDB reports what it cannot parse behind one sentence, and everything that it can parse and will not run
in words of its own; those often end with the place in the statement.
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
    """What is wrong with a write whatever its table holds; a transaction is refused for it, and not cancelled."""

    @property
    def code(self) -> str:
        return "ValidationException"


def refused(message: str, at: Token | None = None) -> ValidationException:
    """PartiQL that DynamoDB does not run."""
    return ValidationException(message if at is None else f"{message} at {at.place}")
