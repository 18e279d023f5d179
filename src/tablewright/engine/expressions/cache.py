"""Compiled expressions, kept by their text without keeping all that a stranger sends.

A program takes some fifty times the room of its text. Applications send few texts, and short ones, again and
again; so many short ones are kept, a few long ones, and none that came with kilobytes of names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])

_SHORT, _SHORT_KEPT = 256, 2048
_LONG, _LONG_KEPT = 16 * 1024, 64


def kept(compile_text: _T) -> _T:
    """A function of texts, and of pairs of names, that remembers what it gave lately."""
    short = lru_cache(maxsize=_SHORT_KEPT)(compile_text)
    long = lru_cache(maxsize=_LONG_KEPT)(compile_text)

    @wraps(compile_text)
    def remembering(*arguments: Any) -> Any:
        size = 0
        for argument in arguments:
            if type(argument) is str:
                size += len(argument)
            else:
                for placeholder, name in argument:
                    size += len(placeholder) + len(name)
        if size <= _SHORT:
            return short(*arguments)
        return long(*arguments) if size <= _LONG else compile_text(*arguments)

    return remembering  # type: ignore[return-value]
