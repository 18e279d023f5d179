"""Compiled expressions, cached by their text, within limits on what clients can fill the cache with.

A program takes some fifty times the memory of its text, in thousands of objects for each kilobyte. Garbage collection
looks at all of them: up to half a millisecond for each kilobyte, in which nothing else is done. Applications send few
and short texts again and again; so many short ones are cached, a few long ones, and none that came with kilobytes of
names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Protocol, TypeVar

from tablewright.dynamo.expressions.parser import check_size

_T = TypeVar("_T", bound=Callable[..., Any])
_P_co = TypeVar("_P_co", covariant=True)

_NAME = re.compile(r"#[A-Za-z0-9_]+", re.ASCII)
_FEW_NAMES = 32
_SHORT, _SHORT_KEPT = 256, 2048
# At most so many characters of one long text, and of all of them.
_LONG, _LONG_TOGETHER = 16 * 1024, 32 * 1024


class Compiler(Protocol[_P_co]):
    """Compiles the text of an expression, with its names."""

    def __call__(self, text: str, names: Mapping[str, str] | None = None, /) -> _P_co: ...


def compiler(kind: str) -> Callable[[Callable[[str, Mapping[str, str]], _P_co]], Compiler[_P_co]]:
    """Makes a compiler of a function: overlong text is refused, and each text with its names is compiled once."""

    def decorate(compile_text: Callable[[str, Mapping[str, str]], _P_co]) -> Compiler[_P_co]:
        @cached_program
        def compiled(text: str, pairs: tuple[tuple[str, str], ...]) -> _P_co:
            return compile_text(text, dict(pairs))

        @wraps(compile_text)
        def compile_expression(text: str, names: Mapping[str, str] | None = None, /) -> _P_co:
            check_size(kind, text)
            if names and len(names) > _FEW_NAMES:
                # The other names have no meaning for this text, however many they are.
                names = {name: names[name] for name in _NAME.findall(text) if name in names}
            return compiled(text, tuple(names.items()) if names else ())

        return compile_expression

    return decorate


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
            # Copies, since another thread may change them at the same time, and drop the same one.
            if size <= _SHORT:
                if len(short) >= _SHORT_KEPT:
                    short.pop(next(iter(short.copy())), None)
                short[arguments] = program
            elif size <= _LONG:
                excess = sum(map(_size, long.copy())) + size - _LONG_TOGETHER
                for oldest in long.copy():
                    if excess <= 0:
                        break
                    excess -= _size(oldest)
                    long.pop(oldest, None)
                long[arguments] = program
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
