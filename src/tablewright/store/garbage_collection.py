"""Work that makes many objects at once, none of which is garbage.

Python looks for garbage each time that some hundreds of objects were made. While a page of a thousand items is parsed
or made into entities, that takes as long as the work itself, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def without_collection(work: Callable[[], T]) -> T:
    """The result of some work during which no garbage is looked for; then it is as the program has it."""
    if not gc.isenabled():
        return work()
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()
