"""A fork copies an open database, and a copy must not be used: not even closed.

The child would write into the files of its parent, which does not see it, and closing the copy takes away the
log that the parent still writes to. So storages on disk stay with the process that opened them: in the child they
refuse every call, and their connections are never let go of. A database in memory is a copy like any other.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from tablewright.engine.storage.group_commit import Storage

_open: WeakSet[Storage] = WeakSet()
_held: list[Storage] = []


def watch(storage: Storage) -> None:
    """See to it that this storage survives forks."""
    _open.add(storage)


def never_release(thing: Any) -> None:
    """Keep an object alive until the process is gone, even while the interpreter shuts down."""
    import ctypes  # only a child needs it

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _before() -> None:
    # Nobody is halfway through anything when the copy is made.
    for storage in list(_open):
        storage.lock.acquire()
        _held.append(storage)


def _after() -> None:
    while _held:
        _held.pop().lock.release()


def _after_in_child() -> None:
    for storage in _held:
        if storage.folder is not None:
            storage.leave_to_parent()
    _after()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
