"""Logs as lines of JSON, without personal data; on a terminal as short lines for the person in front of it.

A record has its time, level, logger, message and the fields that are listed here. Nothing else gets in: no bodies, no
headers, no query strings, and not the text of an exception, which may quote what a user sent. Of an exception, its
type and where it was raised are kept.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import ClassVar, TextIO

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


class TerminalFormatter(logging.Formatter):
    """One short line for each record: the same fields, the level by its colour."""

    _COLOURS: ClassVar = {"DEBUG": "2", "INFO": "36", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        if self._colour:
            level = f"\x1b[{self._COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        fields = [f"{name}={record.__dict__[name]}" for name in FIELDS if name in record.__dict__]
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            frames = traceback.extract_tb(error.__traceback__)[-1:]
            fields += [type(error).__name__, *(f"{frame.filename}:{frame.lineno}" for frame in frames)]
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        # What others sent may be in a message; a terminal would obey its control characters.
        text = " ".join([record.getMessage(), *fields])
        return f"{at} {level} {''.join(each if each.isprintable() else '?' for each in text)}"


def set_up(level: str, stream: TextIO | None = None) -> None:
    """Log from now on: as JSON, or for a person where the stream is a terminal."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    colour = "NO_COLOR" not in os.environ
    handler.setFormatter(TerminalFormatter(colour=colour) if stream.isatty() else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # The access log is our own; libraries below warn of what matters.
    for name in ("uvicorn.access", "uvicorn.error", "httpx", "httpcore", "botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
