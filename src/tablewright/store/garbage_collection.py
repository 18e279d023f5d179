"""Work that makes many objects at once, none of which is garbage.

Python looks for garbage each time that some hundreds of objects were made. While a page of a thousand items is parsed
or made into entities, that takes as long as the work itself, and finds nothing.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ITERATIONS = 4


def without_collection(work: Callable[[], T]) -> T:
    """The result of some work during which no garbage is looked for; then it is as the program has it."""
    if not gc.isenabled():
        return work()
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()


class _Pause:
    """No garbage is looked for until ``end``, or until nothing refers to this any more."""

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
    """Look for no garbage while a flow makes something of a page that has just come (``resume_collection``).

    Some iterations of the loop later it is over in any case, since there may be no flow that waits for the page.
    """
    if gc.isenabled():
        pause = _Pause()
        _pauses.append(pause)
        _end_later(loop, pause, _ITERATIONS)


def resume_collection() -> None:
    """The page is done with."""
    while _pauses:
        _pauses.pop().end()


def _end_later(loop: asyncio.AbstractEventLoop, pause: _Pause, iterations: int) -> None:
    if iterations:
        loop.call_soon(_end_later, loop, pause, iterations - 1)
    else:
        resume_collection()
