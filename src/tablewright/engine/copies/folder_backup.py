"""Back up a data folder to a folder of copies, while it is in use, and restore a copy elsewhere.

    blobs ──▶ chunks                              most of them, before the instant
    database, log ──▶ snapshot ──▶ verify ──▶ chunks
      │                              └─ the blobs that items refer to are compared with them
      └─ at the instant: blobs added since; no blob is deleted meanwhile
    everything is on disk ──▶ the copy is added

A blob is written before the item that refers to it, and deleted after the last one that did. So the blobs that exist
right after the instant of the snapshot include all that its items refer to, provided none is deleted in between: while
its folder is locked, a blob store leaves deletions to the next collection of orphans. Blobs never change: those of the
previous copy are not read again, but its chunks of them are, since the new copy consists of them as well.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tablewright.durable_files import sync_path
from tablewright.engine.closed_folder import verify_closed
from tablewright.engine.copies.chunk_store import CHUNK_BYTES, StoredFile
from tablewright.engine.copies.copied_blobs import BlobValue, CopiedBlobs, ValueDigest
from tablewright.engine.copies.copy_folder import WORK, CopyFolder, FolderCopy
from tablewright.engine.copies.snapshot import opened, take_snapshot
from tablewright.engine.storage import checkpoint_gate
from tablewright.engine.storage.data_folder import DamagedError, Files, StorageError, folder_id, require_database
from tablewright.engine.storage.folder_lock import BLOBS

__all__ = ["Progress", "back_up", "restore"]

# The database with the files that SQLite puts beside it, and the lock file.
_OWN = re.compile(r"tablewright\.(db(-\w+)?|end|lock|reserve)")
_UNFINISHED = ".part"
_BLOBS = f"{BLOBS}/"

# Called with the current step, how much of it is done, and the total.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """No progress."""


# -- backing up ---------------------------------------------------------------------------------------------


def back_up(
    data: Path,
    to: Path,
    *,
    keep: int | None = None,
    progress: Progress = silent,
    database: AbstractContextManager[int] | None = None,
    clock: Callable[[], float] = time.time,
) -> FolderCopy:
    """Add a copy of a data folder to a folder of copies; with ``keep``, delete those older than so many intact ones.

    ``database`` returns a descriptor of the database, in a process that has it open.
    """
    source = Files.of(data)
    require_database(source)
    _check_apart(data, to)
    copies = CopyFolder(to)
    with _disk_errors(f"cannot copy {data} to {to}"), copies.writing(), _scratch(to) as work:
        newest = copies.newest()
        files = _Files(data, copies, {} if newest is None else newest.files)
        files.collect(progress)
        taken_at = 0.0

        @contextmanager
        def instant() -> Iterator[None]:
            nonlocal taken_at
            with _blobs_kept(data / BLOBS):
                # The order of copies is kept, even if the clock was set back.
                taken_at = max(clock(), 0.0 if newest is None else newest.taken_at + 0.001)
                yield
                files.collect(progress)

        def reading(done: int, total: int) -> None:
            progress("reading the database", done, total)

        with database or opened(source.database) as descriptor:
            take_snapshot(source, work, descriptor, reading, instant)
        own_id = folder_id(Files.of(work))
        copies.check_own(newest, data, own_id)
        blobs = CopiedBlobs(files.values, lambda: _blob_names(copies.file_names()))
        report = verify_closed(work, progress, blobs.look_at)
        copy = FolderCopy(taken_at, _store(copies, Files.of(work).database, progress), files.found)
        copy.problems, copy.written, copy.folder_id = report.problems + blobs.problems, copies.chunks.written, own_id
        copies.add(copy)
        if keep is not None:
            copies.keep_newest(keep)
    return copy


@contextmanager
def _disk_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{what}: {error}") from error


def _check_apart(data: Path, to: Path) -> None:
    own, other = data.resolve(), to.resolve()
    if own == other or own in other.parents or other in own.parents:
        raise StorageError(
            f"one of {to} and the data folder {data} is inside the other; choose another folder for copies"
        )


@contextmanager
def _scratch(to: Path) -> Iterator[Path]:
    """The folder in which a snapshot is verified: beside the chunks, where there is room for it."""
    scratch = to / WORK
    # Only one backup writes here, so existing files are those of a killed one.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _blobs_kept(blobs: Path) -> Iterator[None]:
    if not blobs.is_dir():
        yield
        return
    with checkpoint_gate.closed(blobs):
        yield


class _Files:
    """The files of a data folder beside its database, in chunks."""

    def __init__(self, data: Path, copies: CopyFolder, known: dict[str, StoredFile]) -> None:
        self._data = data
        self._chunks = copies.chunks
        self._known = known
        self._before: dict[str, StoredFile] = {}
        self.found: dict[str, StoredFile] = {}
        # Of the blobs among them, by their names in the blob store.
        self.values: dict[str, ValueDigest] = {}

    def collect(self, progress: Progress) -> None:
        """Store all files that exist now, and forget all others."""
        self._before, self.found = self.found, {}
        for number, (name, path) in enumerate(_walk(self._data)):
            try:
                self.found[name] = self._blob(name, path) if name.startswith(_BLOBS) else self._put(path, None)
            except FileNotFoundError:
                continue
            progress("copying blobs", number + 1, 0)
        self.values = {name: self.values[name] for name in _blob_names(self.found)}

    def _blob(self, name: str, path: Path) -> StoredFile:
        size = path.stat().st_size
        before, known = self._before.get(name), self._known.get(name)
        if before is not None and before.size == size:
            return before
        value = BlobValue()
        if known is None or known.size != size or not self._is_intact(known, value):
            value = BlobValue()
            known = self._put(path, value)
        self.values[name.removeprefix(_BLOBS)] = value.digest
        return known

    def _is_intact(self, known: StoredFile, value: BlobValue) -> bool:
        """Whether all chunks of a blob can be read; damaged ones are written anew."""
        try:
            for name in known.chunks:
                value.add(self._chunks.get(name))
        except DamagedError:
            return False
        return True

    def _put(self, path: Path, value: BlobValue | None) -> StoredFile:
        chunks = []
        with open(path, "rb") as file:
            while data := file.read(CHUNK_BYTES):
                chunks.append(self._chunks.put(data))
                if value is not None:
                    value.add(data)
            return StoredFile(file.tell(), chunks)


def _blob_names(files: Iterable[str]) -> set[str]:
    return {name.removeprefix(_BLOBS) for name in files if name.startswith(_BLOBS)}


def _walk(data: Path) -> Iterator[tuple[str, Path]]:
    """All files but those of the database, by their path in the folder."""
    folders = [data]
    while folders:
        folder = folders.pop()
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            path = Path(entry.path)
            # A link at the top level is a part of the folder that was moved to another disk.
            if entry.is_dir(follow_symlinks=folder == data):
                folders.append(path)
            elif (
                entry.is_file()
                and not (folder == data and _OWN.fullmatch(entry.name))
                and not entry.name.endswith(_UNFINISHED)
            ):
                yield path.relative_to(data).as_posix(), path


def _store(copies: CopyFolder, path: Path, progress: Progress) -> StoredFile:
    chunks, size = [], path.stat().st_size
    with open(path, "rb") as file:
        for chunk in copies.chunks.put_file(file):
            chunks.append(chunk)
            progress("writing the copy", file.tell(), size)
    return StoredFile(size, chunks)


# -- restoring ----------------------------------------------------------------------------------------------


def restore(copies: CopyFolder, copy: FolderCopy, data: Path, progress: Progress = silent) -> None:
    """Create a data folder from a copy. It appears complete; a folder that is not empty is refused."""
    with _disk_errors(f"cannot restore to {data}"):
        if data.exists() and (not data.is_dir() or os.listdir(data)):
            raise StorageError(f"{data} is not empty; restore to a new folder with --data")
        data.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{data.name}.restoring-", dir=data.parent))
        try:
            _assemble(copies, copy, work, progress)
            os.replace(work, data)
            sync_path(data.parent)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise


def _assemble(copies: CopyFolder, copy: FolderCopy, work: Path, progress: Progress) -> None:
    done = 0
    folders = {work}
    for name, stored in {**copy.files, Files.of(work).database.name: copy.database}.items():
        path = work.joinpath(*name.split("/"))
        for place in reversed([parent for parent in path.parents if not parent.exists()]):
            place.mkdir(mode=0o700)
        for written in copies.chunks.write_to(stored, path):
            done += written
            progress("restoring", done, copy.size)
        if path.stat().st_size != stored.size:
            raise DamagedError(f"{name} of the copy {copy.name} has the wrong size")
        folders.update(parent for parent in path.parents if work in parent.parents)
    for folder in folders:
        sync_path(folder)
    problems = verify_closed(work, progress).problems
    if new := [problem for problem in problems if problem not in copy.problems]:
        raise DamagedError(f"the copy {copy.name} is damaged: {new[0]}")
