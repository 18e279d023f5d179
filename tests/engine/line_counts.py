"""How much work something is, in lines of Python: the same on every machine, whatever else it does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def counted_lines() -> Iterator[Callable[[], int]]:
    """Count the lines that are run inside of the block; gives a function that says how many there were."""
    number = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal number
        number += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: number
    finally:
        sys.settrace(before)
