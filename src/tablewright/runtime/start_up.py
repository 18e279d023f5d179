"""The start of a process: modules are imported, and what lasts as long as the process is made.

    with starting():
        from tablewright.runtime.http.application import application
        app = application(...)

Almost nothing of it is garbage. To look for some, each time that some hundreds of objects were made, takes a tenth of
the start, and each later search would go through all of it again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["starting"]


@contextmanager
def starting() -> Iterator[None]:
    """Look for no garbage in the meantime, and never among what is there at the end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
    gc.freeze()
