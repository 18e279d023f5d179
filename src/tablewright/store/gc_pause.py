"""Pauses garbage collection while many objects are created at once, none of which is garbage.

Python starts a garbage collection whenever some hundreds of objects were created. While a page of a thousand items is
parsed or made into entities, that takes as long as the work itself, and finds nothing.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ITERATIONS = 4


def without_collection(work: Callable[[], T]) -> T:
    """The result of some work with garbage collection paused; then the program's setting applies again."""
    if not gc.isenabled():
        return work()
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()


class _Pause:
    """Garbage collection is paused until ``end``, or until nothing refers to this any more."""

    __slots__ = ("_is_over",)

    def __init__(self) -> None:
        self._is_over = False
        gc.disable()

    def end(self) -> None:
        if not self._is_over:
            self._is_over = True
            gc.enable()

    __del__ = end


_pauses: list[_Pause] = []


def pause_collection(loop: asyncio.AbstractEventLoop) -> None:
    """Pause garbage collection while a flow processes a page that has just arrived (``resume_collection``).

    It ends some iterations of the loop later in any case, since no flow may be waiting for the page.
    """
    if gc.isenabled():
        pause = _Pause()
        _pauses.append(pause)
        _end_later(loop, pause, _ITERATIONS)


def resume_collection() -> None:
    """The page is processed."""
    while _pauses:
        _pauses.pop().end()


def _end_later(loop: asyncio.AbstractEventLoop, pause: _Pause, iterations: int) -> None:
    if iterations:
        loop.call_soon(_end_later, loop, pause, iterations - 1)
    else:
        resume_collection()
