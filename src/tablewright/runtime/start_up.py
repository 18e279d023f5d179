"""The start of a process, which imports modules and creates objects that last as long as the process.

    with starting():
        from tablewright.runtime.http.application import application
        app = application(...)

Almost none of it is garbage. Collecting after every few hundred new objects takes a tenth of the start, and each later
collection would traverse all of it again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["starting"]


@contextmanager
def starting() -> Iterator[None]:
    """Disable garbage collection inside, and exclude all objects that exist at the end from later collections."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
    gc.freeze()
