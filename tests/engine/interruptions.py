"""A call that is broken off at one of its steps, as by a signal whose handler raises."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupted(BaseException):
    pass


@contextmanager
def interrupting(moment: int, step: Callable[[FrameType, str], bool | None]) -> Iterator[Callable[[], int]]:
    """Raise at so many steps of what is called; gives how many there have been.

    ``step`` says whether an event in a frame is one; None: nothing in that frame is.
    """
    steps = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        is_step = step(frame, event)
        if is_step is None:
            return None
        if is_step:
            steps += 1
            if steps == moment:
                sys.settrace(None)
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: steps
    finally:
        sys.settrace(before)
