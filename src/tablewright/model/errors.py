"""The errors of declarations and of their use.

ValueError
└── ModelError            a declaration that contradicts itself, or a wrong use of one
    └── TemplateError     an invalid key template, or a value that does not fit into one
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ModelError(ValueError):
    """A declaration that contradicts itself, or a wrong use of one; the message names the place and says what to do."""

    def __init__(self, message: str, *, rule: str | None = None) -> None:
        super().__init__(message)
        # The lint rule that explains the error, if there is one.
        self.rule = rule


class TemplateError(ModelError):
    """An invalid key template, or a value that does not fit into one."""


def no_field(owner: str, name: str, known: Iterable[str]) -> str:
    """What is wrong with a name that is not one of the fields of something; the nearest one is probably meant."""
    names = list(known)
    (nearest,) = get_close_matches(name, names, 1) or (None,)
    hint = "it has" if nearest is None else f"did you mean {nearest!r}? It has"
    return f"{owner} has no field {name!r}; {hint} {', '.join(names)}"
