"""Whether the write-ahead log that a process left behind is undamaged, checked before SQLite opens it.

SQLite reads a log up to the first frame that does not match its checksum, and takes that for the end: a changed bit in
the middle silently discards every commit after it. So the log is read here first.

    header │ frame frame commit │ frame commit │ frame fr··      torn: the process was stopped during a write
    header │ frame fr▒▒e commit │ frame commit │ frame commit    damaged: there are commits after the bad frame

A frame's checksum continues that of the previous frame. It is linear, so what a frame adds to it can be computed
separately, and every frame can be compared with the *stored* checksum of the previous one: frames after a bad one are
still recognised. Frames of an earlier generation, which a restarted log has after its end, have other salts.

A bad frame is damage, not a torn end, if it was synced. There are two ways to know. The end mark (``EndMark``) says up
to which frame the log was synced; it is written after each sync, without a sync of its own, so it is exact after a
killed process, and may be older after a power cut. And no commit is written before the previous one is synced
(``group_commit``): a second commit after a bad frame proves that the first was on disk.

A log that can be neither the marked one nor a later one of the same folder is refused as a whole: it was put there, and
its pages are of another database, or of another time.

The format is https://www.sqlite.org/fileformat2.html#walformat.
"""

from __future__ import annotations

import os
import struct
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

__all__ = ["HEADER_BYTES", "EndMark", "LogState", "check_log", "log_frames", "read_end_mark", "wipe_behind"]

_HEADER: Final = struct.Struct(">8I")
HEADER_BYTES: Final = _HEADER.size
# Page, size of the database after a commit or 0, two salts, two checksums.
_FRAME: Final = struct.Struct(">6I")
_SIZE_AND_SALTS: Final = struct.Struct(">4x3I")
_MAGIC: Final = 0x377F0682
_VERSION: Final = 3_007_000
_PAGE: Final = 4096
_FRAME_BYTES: Final = _FRAME.size + _PAGE
_WORDS: Final = 0xFFFF_FFFF
_FRAMES_AT_ONCE: Final = 512
# Far more than there are before the mark is on disk, which takes a minute without a sync: the log starts over after a
# checkpoint, of a millisecond at least.
_MOST_RESTARTS: Final = 1 << 24
_MARK: Final = struct.Struct(">IIQI")
_MARK_CONTENT: Final = struct.Struct(">IIQ")

_Sum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EndMark:
    """The last synced frame of the log, and its generation."""

    salts: tuple[int, int]
    frames: int
    # How many pages the database has after the last commit; the mark in the folder does not contain this.
    pages: int = field(default=0, compare=False)
    # By how many frames it had grown since it was looked at before.
    growth: int = field(default=1, compare=False)

    @property
    def size(self) -> int:
        """The length of the log up to there, in bytes."""
        return _HEADER.size + self.frames * _FRAME_BYTES

    def leads_to(self, salts: tuple[int, int]) -> bool:
        """Whether a log with these salts may be this one, or what became of it.

        Whenever a log starts over, the first salt is one more, and the second one is random. After a power cut the mark
        may be several times older.
        """
        return salts == self.salts or 0 < (salts[0] - self.salts[0]) & _WORDS <= _MOST_RESTARTS

    def may_follow(self, earlier: EndMark) -> bool:
        """Whether it may be a later mark of the same log."""
        return earlier.leads_to(self.salts) and (self.salts != earlier.salts or self.frames >= earlier.frames)

    def packed(self) -> bytes:
        content = _MARK_CONTENT.pack(*self.salts, self.frames)
        return content + crc32(content).to_bytes(4)


def read_end_mark(file: Path) -> EndMark | None:
    """None if there is no mark, or none that can be trusted."""
    try:
        packed = file.read_bytes()
        *salts, frames, checksum = _MARK.unpack(packed)
    except (OSError, struct.error):
        return None
    return EndMark((salts[0], salts[1]), frames) if checksum == crc32(packed[:-4]) else None


@dataclass(slots=True)
class LogState:
    """The state of a log. Its first ``end`` frames, of ``commits`` commits, are what SQLite will read."""

    end: int = 0
    commits: int = 0
    # Frames of the same generation after the end: of a torn commit, or because of damage.
    is_torn: bool = False
    # The damage, and how many commits may be lost because of it; None if unknown.
    damage: str | None = None
    in_doubt: int | None = 0

    @property
    def size(self) -> int:
        """The length of the log up to its end, in bytes; without a commit, its header is not needed either."""
        return _HEADER.size + self.end * _FRAME_BYTES if self.end else 0


@dataclass(slots=True)
class _Frame:
    commits: bool
    # Whether it is of this generation, and matches the checksum stored in the previous frame.
    is_current: bool
    is_valid: bool


def check_log(file: Path, mark: EndMark | None) -> LogState:
    """Read a log; nothing is changed."""
    try:
        with open(file, "rb") as opened:
            return _check(opened, mark)
    except FileNotFoundError:
        return _without_log(mark)


def _without_log(mark: EndMark | None) -> LogState:
    if mark is None or not mark.frames:
        return LogState()
    return LogState(damage=f"it should have {mark.frames} frames, but is missing or empty", in_doubt=None)


def _check(file: BinaryIO, mark: EndMark | None) -> LogState:
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return _without_log(mark)
    magic, version, page, _, *salts, first, second = _HEADER.unpack(head)
    big_endian = bool(magic & 1)
    begin = _sum(_little_endian(head[:24], big_endian))
    whole = (magic & ~1, version, page, (first, second)) == (_MAGIC, _VERSION, _PAGE, begin)
    if not whole and mark is None:
        # The salts may have changed; all frames have them.
        salts = list(_FRAME.unpack(file.read(_FRAME.size).ljust(_FRAME.size, b"\0"))[2:4])
        file.seek(_HEADER.size)
    generation = (salts[0], salts[1]) if whole or mark is None else mark.salts
    if mark is not None and not mark.leads_to(generation):
        # Its pages are of another database, or of another time: none may get into this one.
        return LogState(damage="it is not the log of this data folder, by the mark of its end", in_doubt=None)
    state, frames = LogState(), _frames(file, generation, {begin, (first, second)}, big_endian and whole)
    commits_behind = in_doubt = 0
    bad: _Frame | None = None
    number = last = 0
    for number, frame in enumerate(frames, start=1):
        if bad is None and whole and frame.is_valid:
            last = number
            if frame.commits:
                state.end, state.commits = number, state.commits + 1
            continue
        if bad is None:
            bad = frame
        if frame.is_valid and frame.commits:
            commits_behind += 1
        in_doubt += frame.is_current and frame.commits
        state.is_torn |= frame.is_current
    state.is_torn |= last > state.end
    state.in_doubt = in_doubt
    if not whole:
        if commits_behind or (mark is not None and mark.frames):
            state.damage = "its header is damaged"
        return state
    ends_commit = bad is not None and bad.is_current and bad.commits
    if mark is not None and mark.salts == generation and state.end < mark.frames:
        state.damage = f"frame {last + 1} is damaged or missing, and the log was synced up to frame {mark.frames}"
        if number < mark.frames:
            state.in_doubt = None
    elif commits_behind > (0 if ends_commit else 1):
        state.damage = f"frame {last + 1} is damaged, and there are commits after it"
    return state


def _frames(file: BinaryIO, generation: tuple[int, int], begins: set[_Sum], big_endian: bool) -> list[_Frame]:
    frames: list[_Frame] = []
    before = begins
    while chunk := file.read(_FRAME_BYTES * _FRAMES_AT_ONCE):
        chunk = chunk[: len(chunk) // _FRAME_BYTES * _FRAME_BYTES]
        if not chunk:
            break
        parts = _parts(_little_endian(chunk, big_endian))
        for number, part in enumerate(parts):
            _, size, *salts, first, second = _FRAME.unpack_from(chunk, number * _FRAME_BYTES)
            is_current = (salts[0], salts[1]) == generation
            is_valid = is_current and any(_continued(start, part) == (first, second) for start in before)
            frames.append(_Frame(size != 0, is_current, is_valid))
            before = {(first, second)}
    return frames


# -- checksums -----------------------------------------------------------------------------------------------
#
# A checksum is two words. Each pair of words (x, y) of the content changes it to (s + t + x, t + s' + y), where s' is
# the first of these. All frames of a chunk are computed at once, as lanes of 64 bits of one large integer: 0.25 s for a
# log of 64 MB, where a loop over the words of each frame takes more than a second.


def _little_endian(content: bytes, big_endian: bool) -> bytes:
    if not big_endian:
        return content
    words = array("I", content)
    words.byteswap()
    return words.tobytes()


def _sum(content: bytes) -> _Sum:
    s = t = 0
    for x, y in struct.iter_unpack("<II", content):
        s = (s + t + x) & _WORDS
        t = (t + s + y) & _WORDS
    return s, t


def _parts(chunk: bytes) -> list[_Sum]:
    """What each frame of a chunk adds to the checksum: the sum of its first two words and its page."""
    count = len(chunk) // _FRAME_BYTES
    stride = _FRAME_BYTES // 8
    view = memoryview(chunk).cast("Q")
    words = int.from_bytes(_WORDS.to_bytes(8, "little") * count, "little")
    s = t = 0
    for pair in (0, *range(_FRAME.size // 8, stride)):
        column = int.from_bytes(view[pair::stride].tobytes(), "little")
        s = (s + t + (column & words)) & words
        t = (t + s + (column >> 32 & words)) & words
    firsts, seconds = (array("Q", lanes.to_bytes(8 * count, "little")) for lanes in (s, t))
    return list(zip(firsts, seconds, strict=True))


def _steps(count: int) -> tuple[int, int, int]:
    """The matrix of so many pairs of zeros, which is symmetric, as its three different numbers."""
    a, b, d = 1, 0, 1
    for _ in range(count):
        a, b, d = (a + b) & _WORDS, (b + d) & _WORDS, (b + 2 * d) & _WORDS
    return a, b, d


def _continued(before: _Sum, part: _Sum) -> _Sum:
    s, t = before
    return (_A * s + _B * t + part[0]) & _WORDS, (_B * s + _D * t + part[1]) & _WORDS


def log_frames(descriptor: int, known: EndMark | None) -> EndMark | None:
    """Where the log of a running engine ends, searched from its previous end; None if it has no commit."""
    return (None if known is None else _further_end(descriptor, known)) or _end(descriptor, known)


def _further_end(descriptor: int, known: EndMark) -> EndMark | None:
    """The end, if there are more frames than before in the same generation; None: look again.

    This runs after each sync, and successive commits are of about the same size: the search begins where the log would
    end if it had grown as much as the last time.
    """
    low, number, step = known.frames, max(known.growth, 1), 1
    sizes: dict[int, int | None] = {0: None}

    def is_frame(number: int) -> bool:
        """Whether there is a frame of this generation so far after the known end."""
        found = os.pread(descriptor, _FRAME.size, _HEADER.size + (low + number - 1) * _FRAME_BYTES)
        if len(found) < _FRAME.size:
            return False
        size, *salts = _SIZE_AND_SALTS.unpack_from(found)
        sizes[number] = size
        return (salts[0], salts[1]) == known.salts

    if is_frame(number):
        while is_frame(number + step):
            number += step
            step *= 2
        end = number + step
    else:
        end, number = number, number - step
        while number > 0 and not is_frame(number):
            step *= 2
            end, number = number, number - step
        number = max(number, 0)
    while end - number > 1:
        middle = (number + end) // 2
        if is_frame(middle):
            number = middle
        else:
            end = middle
    # After the last commit there may be frames of an open one that did not fit into memory.
    while number and not sizes[number]:
        number -= 1
        if number and number not in sizes:
            is_frame(number)
    return EndMark(known.salts, low + number, sizes[number] or 0, number) if number else None


def _end(descriptor: int, known: EndMark | None) -> EndMark | None:
    head = os.pread(descriptor, _HEADER.size, 0)
    if len(head) < _HEADER.size:
        return None
    salts: tuple[int, int] = struct.unpack_from(">2I", head, 16)

    def frame(number: int) -> tuple[bool, int]:
        """Whether a frame is of this generation, and, if it ends a commit, how many pages the database has then."""
        found = os.pread(descriptor, _FRAME.size, _HEADER.size + (number - 1) * _FRAME_BYTES)
        if len(found) < _FRAME.size:
            return False, 0
        _, size, *own, _, _ = _FRAME.unpack(found)
        return (own[0], own[1]) == salts, size

    low = known.frames if known is not None and known.salts == salts else 0
    # A log that grows ends where its file does.
    last = (os.fstat(descriptor).st_size - _HEADER.size) // _FRAME_BYTES
    if last <= low or not frame(last)[0]:
        step = 1
        while frame(low + step)[0]:
            step *= 2
        high, last = low + step, low
        while high - last > 1:
            middle = (last + high) // 2
            if frame(middle)[0]:
                last = middle
            else:
                high = middle
    # After the last commit there may be frames of an open one that did not fit into memory.
    while last > low and not frame(last)[1]:
        last -= 1
    growth = 1 if known is None else last - low
    return EndMark(salts, last, frame(last)[1], growth) if last else None


def wipe_behind(descriptor: int, end: EndMark | None) -> None:
    """Invalidate frames of this generation after the end, which a failed commit has written."""
    salts: tuple[int, int] = struct.unpack(">2I", os.pread(descriptor, 8, 16).ljust(8, b"\0"))
    place = end.size if end is not None and end.salts == salts else _HEADER.size
    while (head := os.pread(descriptor, _FRAME.size, place)) and head[8:16] == struct.pack(">2I", *salts):
        os.pwrite(descriptor, bytes(len(head)), place)
        place += _FRAME_BYTES


_A, _B, _D = _steps(_FRAME_BYTES // 8 - 2)
