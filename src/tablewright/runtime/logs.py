"""Logs as lines of JSON, without personal data.

A record has its time, level, logger, message and the fields that are listed here. Nothing else gets in: no bodies, no
headers, no query strings, and not the text of an exception, which may quote what a user sent. Of an exception, its
type and where it was raised are kept.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

import orjson

# What other packages use.
__all__ = [
    "set_up",
]

# What a record may carry beside its message: ``log.info("...", extra={"status": 200})``
FIELDS = (
    "request_id",
    "system",
    "method",
    "route",
    "status",
    "milliseconds",
    "code",
    "consumer",
    "event_id",
    "dead_letters",
    "count",
    "job",
    "outcome",
)
_INNERMOST_FRAMES = 6


class JsonFormatter(logging.Formatter):
    """One line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in FIELDS:
            if name in record.__dict__:
                line[name] = record.__dict__[name]
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            frames = traceback.extract_tb(error.__traceback__)[-_INNERMOST_FRAMES:]
            line["error"] = type(error).__name__
            line["raised_at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return orjson.dumps(line, default=str).decode()


def set_up(level: str, stream: TextIO | None = None) -> None:
    """Log as JSON from now on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # The access log is our own; libraries below warn of what matters.
    for name in ("uvicorn.access", "uvicorn.error", "httpx", "httpcore", "botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
