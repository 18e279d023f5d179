"""A warning about streams that nobody reads, before their records fill the disk.

Records are kept for a day whether or not anybody reads them. A step of the background work estimates what each stream
holds; when that is a good part of what is left on the disk, and nobody has asked for records for an hour, the log says
so, and again for as long as it is so.
"""

from __future__ import annotations

import logging
import shutil

from tablewright.engine.database import Database
from tablewright.engine.streams.shards import Stream, all_streams

INTERVAL = 600.0

# Nobody reads a stream that nobody has read for so many seconds.
_UNREAD_SECONDS = 3600.0
# What its records may take: so many bytes in any case, and so much of what is free.
_MAX_BYTES = 1024**3
_MAX_SHARE = 0.1
_SAMPLE = 100

_log = logging.getLogger("tablewright.engine")


def warn(db: Database) -> float | None:
    """A step of the background work: warn of streams that grow and are not read."""
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
                "nobody has read the stream %s for %.0f hours, and its %d records take about %d MB (%d MB are free); "
                "they are kept for 24 hours: read the stream, or disable it",
                stream.arn,
                seconds / 3600,
                records,
                size // 1024**2,
                free // 1024**2,
            )
    return INTERVAL


def _estimate(db: Database, stream: Stream) -> tuple[int, int]:
    """About how many records a stream has, and how many bytes: as if all were like the newest, with no gaps."""
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
