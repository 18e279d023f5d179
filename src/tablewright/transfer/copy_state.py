"""The state file: how far a copy is, so that the same command continues it after an interruption.

For each segment it has the position of the next page, and the target's mark after the last page written. It is replaced
atomically and synced, and only after everything that it records is durable in the target. What was written but not
recorded is written again: putting an item twice changes nothing, and a file is truncated to its mark.

A copy that is refused before the target has anything of it leaves no state.

A state belongs to one copy: other places, other tables or other changes of items need another state.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablewright.durable_files import sync_path
from tablewright.transfer.errors import TransferError
from tablewright.transfer.item_digests import KeyDigests

_FORMAT = 1
_SAVE_SECONDS = 0.5


@dataclass(slots=True)
class SegmentState:
    """The progress of one segment of a table."""

    # Where the next page begins; None at the beginning.
    position: Any = None
    # The target's mark after the last page.
    mark: Any = None
    ended: bool = False
    read: int = 0


@dataclass(slots=True)
class TableState:
    """The progress of one table."""

    segments: list[SegmentState]
    # Whether the copy creates the table, and so enables its features at the end.
    created: bool
    digests: KeyDigests = field(default_factory=KeyDigests)
    # Everything is written, compared, and enabled.
    done: bool = False
    # Items that were written, and refer to values in a blob store.
    with_blobs: int = 0
    # Whether the target may have anything of it: it was created, or items were written.
    begun: bool = False

    @property
    def read(self) -> int:
        return sum(segment.read for segment in self.segments)

    def as_json(self) -> dict[str, Any]:
        return {
            "created": self.created,
            "done": self.done,
            "with_blobs": self.with_blobs,
            "digests": self.digests.as_json(),
            "segments": [[each.position, each.mark, each.ended, each.read] for each in self.segments],
        }


class CopyState:
    """The state file of one copy, locked against other processes."""

    def __init__(self, path: Path, identity: Mapping[str, Any], secure: Callable[[], Awaitable[None]]) -> None:
        """``identity`` is what identifies the copy; ``secure`` makes durable what the target has accepted."""
        self.path = path
        self.tables: dict[str, TableState] = {}
        self._identity = dict(identity)
        self._secure = secure
        self._saved_at = time.monotonic()
        self._saving = asyncio.Lock()
        self._lock_path = path.with_name(f"{path.name}.lock")
        self._lock = self._locked()
        try:
            self._read()
        except BaseException:
            self._unlock()
            raise

    def _locked(self) -> int:
        try:
            descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise TransferError(f"cannot write {self.path}: {error.strerror}; use another file with --state") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise TransferError(
                f"this copy is running already: another process uses {self.path}; wait for it, or stop it"
            ) from None
        return descriptor

    def _unlock(self) -> None:
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return
        except (ValueError, OSError) as error:
            raise TransferError(f"{self.path} is not the state of a copy: {error}; use another with --state") from None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise TransferError(f"{self.path} is not the state of a copy of this version; use another with --state")
        other = [name for name, value in self._identity.items() if content["identity"].get(name) != value]
        if other:
            was = ", ".join(f"{name} {json.dumps(content['identity'].get(name))}" for name in other)
            raise TransferError(
                f"{self.path} is the state of another copy, with {was}; run that command again to finish it, "
                "delete the file to start over, or use another file with --state"
            )
        for name, table in content["tables"].items():
            segments = [SegmentState(*each) for each in table["segments"]]
            digests = KeyDigests.from_json(table["digests"])
            self.tables[name] = TableState(
                segments, table["created"], digests, table["done"], table["with_blobs"], begun=True
            )

    async def noted(self) -> None:
        """Something was written: save the state, unless it was saved a moment ago."""
        if time.monotonic() - self._saved_at > _SAVE_SECONDS:
            await self.save()

    async def save(self) -> None:
        """Return when the state is on disk."""
        async with self._saving:
            content = json.dumps(
                {
                    "format": _FORMAT,
                    "identity": self._identity,
                    "tables": {name: table.as_json() for name, table in self.tables.items() if table.begun},
                }
            ).encode()
            await self._secure()
            replacing = asyncio.ensure_future(asyncio.to_thread(_replace, self.path, content))
            try:
                await asyncio.shield(replacing)
            except asyncio.CancelledError:
                # The thread goes on, and would be in the way of the next save.
                await asyncio.wait([replacing])
                raise
            self._saved_at = time.monotonic()

    def close(self, *, finished: bool) -> None:
        """Release the file; it is deleted if the copy is finished, or was refused before it changed the target."""
        if finished or not any(table.begun for table in self.tables.values()):
            self.path.unlink(missing_ok=True)
        self._unlock()


def _replace(path: Path, content: bytes) -> None:
    """Write a whole file durably."""
    new = path.with_name(f"{path.name}.new")
    with open(new, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    sync_path(path.parent)
