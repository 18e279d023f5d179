"""A warning about streams without readers, before their records fill the disk.

Records are kept for a day whether or not they are read. A step of the background work estimates the size of each
stream; if that is a large part of the free space on the disk, and no records were requested for an hour, a warning is
logged, and repeated while that is so.
"""

from __future__ import annotations

import logging
import shutil

from tablewright.engine.database import Database
from tablewright.engine.streams.shards import Stream, all_streams

INTERVAL = 600.0

# A stream has no readers if it was not read for so many seconds.
_UNREAD_SECONDS = 3600.0
# What its records may take: this many bytes in any case, and this part of the free space.
_MAX_BYTES = 1024**3
_MAX_SHARE = 0.1
_SAMPLE = 100

_log = logging.getLogger("tablewright.engine")


def warn(db: Database) -> float | None:
    """A step of the background work: warn about growing streams that are not read."""
    if db.storage.folder is None:
        return None
    streams = [stream for stream in all_streams(db) if stream.disabled is None]
    if not streams:
        return None
    free = shutil.disk_usage(db.storage.folder).free
    for stream in streams:
        seconds = db.clock() - db.stream_reads.setdefault(stream.number, db.clock())
        if seconds < _UNREAD_SECONDS:
            continue
        records, size = _estimate(db, stream)
        if size > min(_MAX_BYTES, free * _MAX_SHARE):
            _log.warning(
                "the stream %s has not been read for %.0f hours, and its %d records take about %d MB (%d MB are free); "
                "they are kept for 24 hours: read the stream, or disable it",
                stream.arn,
                seconds / 3600,
                records,
                size // 1024**2,
                free // 1024**2,
            )
    return INTERVAL


def _estimate(db: Database, stream: Stream) -> tuple[int, int]:
    """The approximate number of a stream's records and of their bytes: as if all were like the newest, with no gaps."""
    execute = db.storage.execute
    first, last = execute("SELECT min(sequence), max(sequence) FROM log WHERE stream = ?", (stream.number,)).fetchone()
    if first is None:
        return 0, 0
    (size,) = execute(
        "SELECT avg(length(item_key) + coalesce(length(old), 0) + coalesce(length(new), 0)) FROM "
        "(SELECT item_key, old, new FROM log WHERE stream = ? ORDER BY sequence DESC LIMIT ?)",
        (stream.number, _SAMPLE),
    ).fetchone()
    records = last - first + 1
    return records, int(records * size)
