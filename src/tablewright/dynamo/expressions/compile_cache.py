"""Compiled expressions, cached by their text, without caching everything that a client sends.

A program takes some fifty times the memory of its text. Applications send few texts, and short ones, again and
again; so many short ones are cached, a few long ones, and none that came with kilobytes of names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])

_SHORT, _SHORT_KEPT = 256, 2048
_LONG, _LONG_KEPT = 16 * 1024, 64


def cached_program(compile_text: _T) -> _T:
    """Cache a function of texts, and of pairs of names; the oldest entry is dropped first."""
    short: dict[Any, Any] = {}
    long: dict[Any, Any] = {}

    @wraps(compile_text)
    def cached(*arguments: Any) -> Any:
        program = short.get(arguments)
        if program is None:
            program = long.get(arguments)
        if program is None:
            program = compile_text(*arguments)
            size = _size(arguments)
            known, most = (short, _SHORT_KEPT) if size <= _SHORT else (long, _LONG_KEPT)
            if size <= _LONG:
                if len(known) >= most:
                    # A copy, since another engine's thread may change it at the same time, and drop the same one.
                    known.pop(next(iter(known.copy())), None)
                known[arguments] = program
        return program

    return cached  # type: ignore[return-value]


def _size(arguments: tuple[Any, ...]) -> int:
    size = 0
    for argument in arguments:
        if type(argument) is str:
            size += len(argument)
        else:
            size += sum(len(placeholder) + len(name) for placeholder, name in argument)
    return size
