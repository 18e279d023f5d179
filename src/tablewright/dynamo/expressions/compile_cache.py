"""Compiled expressions, kept by their text without keeping all that a stranger sends.

A program takes some fifty times the room of its text. Applications send few texts, and short ones, again and
again; so many short ones are kept, a few long ones, and none that came with kilobytes of names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])

_SHORT, _SHORT_KEPT = 256, 2048
_LONG, _LONG_KEPT = 16 * 1024, 64


def cached_program(compile_text: _T) -> _T:
    """A function of texts, and of pairs of names, that remembers what it gave; the oldest is forgotten first."""
    short: dict[Any, Any] = {}
    long: dict[Any, Any] = {}

    @wraps(compile_text)
    def remembering(*arguments: Any) -> Any:
        program = short.get(arguments)
        if program is None:
            program = long.get(arguments)
        if program is None:
            program = compile_text(*arguments)
            size = _size(arguments)
            known, most = (short, _SHORT_KEPT) if size <= _SHORT else (long, _LONG_KEPT)
            if size <= _LONG:
                if len(known) >= most:
                    # A copy, since another engine's thread may be at it; it may forget the same one.
                    known.pop(next(iter(known.copy())), None)
                known[arguments] = program
        return program

    return remembering  # type: ignore[return-value]


def _size(arguments: tuple[Any, ...]) -> int:
    size = 0
    for argument in arguments:
        if type(argument) is str:
            size += len(argument)
        else:
            size += sum(len(placeholder) + len(name) for placeholder, name in argument)
    return size
