"""What a wrong declaration gets.

ValueError
└── ModelError            a declaration, or the use of one, that contradicts itself
    └── TemplateError     a key template that cannot keep its promises, or a value that does not fit into one
"""

from __future__ import annotations


class ModelError(ValueError):
    """A declaration that contradicts itself; the message names the place and says what to do."""

    def __init__(self, message: str, *, rule: str | None = None) -> None:
        super().__init__(message)
        # The rule of lint that explains it, where there is one.
        self.rule = rule


class TemplateError(ModelError):
    """A template that cannot keep its promises, or a value that does not fit into one."""
