"""A fork copies an open database, and the copy must not be used, not even closed.

The child would write into the files of its parent, which would not notice, and closing the copy removes the log that
the parent still writes to. So a storage on disk stays with the process that opened it: in the child it refuses every
call, and its connection is never released. A database in memory is copied like any other object.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """A storage that may be open while the process forks."""

    folder: Path | None
    lock: threading.RLock

    def leave_to_parent(self) -> None: ...


_open: WeakSet[Forkable] = WeakSet()
_locked: list[Forkable] = []


def register(storage: Forkable) -> None:
    """From now on, lock this storage while the process forks, and disable its copy in the child."""
    _open.add(storage)


def never_release(thing: Any) -> None:
    """Keep an object alive until the process ends, even while the interpreter shuts down."""
    import ctypes  # only a child needs it

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _before() -> None:
    # No operation is halfway through when the copy is made.
    for storage in list(_open):
        storage.lock.acquire()
        _locked.append(storage)


def _after() -> None:
    while _locked:
        _locked.pop().lock.release()


def _after_in_child() -> None:
    for storage in _locked:
        if storage.folder is not None:
            storage.leave_to_parent()
    _after()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
