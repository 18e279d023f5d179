"""The errors of declarations and of their use.

ValueError
└── ModelError            a declaration that contradicts itself, or a wrong use of one
    └── TemplateError     an invalid key template, or a value that does not fit into one
"""

from __future__ import annotations


class ModelError(ValueError):
    """A declaration that contradicts itself, or a wrong use of one; the message names the place and says what to do."""

    def __init__(self, message: str, *, rule: str | None = None) -> None:
        super().__init__(message)
        # The lint rule that explains the error, if there is one.
        self.rule = rule


class TemplateError(ModelError):
    """An invalid key template, or a value that does not fit into one."""
