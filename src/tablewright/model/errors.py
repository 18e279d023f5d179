"""What a wrong declaration gets.

ValueError
└── ModelError            a declaration, or the use of one, that contradicts itself
    └── TemplateError     a key template that cannot keep its promises, or a value that does not fit into one
"""

from __future__ import annotations


class ModelError(ValueError):
    """A declaration that contradicts itself; the message names the place and says what to do."""


class TemplateError(ModelError):
    """A template that cannot keep its promises, or a value that does not fit into one."""
