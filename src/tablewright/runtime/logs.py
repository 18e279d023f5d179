"""Logs as lines of JSON, without personal data; on a terminal, as short readable lines.

A record has its time, level, logger, message and the fields that are listed here. Nothing else is logged: no bodies, no
headers, no query strings, and not the text of an exception, which may quote what a user sent. Of an exception, only its
type and where it was raised are logged.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import traceback
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import ClassVar, TextIO

import orjson

# What other packages use.
__all__ = [
    "keep_visible",
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
    "behind_seconds",
    "table",
    "count",
    "job",
    "work",
    "blob",
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


class TerminalHandler(logging.StreamHandler[TextIO]):
    """Writes lines to a terminal above a last line that stays in place, once there is one."""

    _ERASE = "\r\x1b[2K"

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        super().__init__(stream)
        self.setFormatter(TerminalFormatter(colour=colour))
        self._last = ""
        self._is_shown = False

    def emit(self, record: logging.LogRecord) -> None:
        self._erase()
        super().emit(record)
        self._show()

    def keep(self, text: str, *, at_once: bool) -> None:
        """Show a text as the last line from now on; an empty text removes it."""
        with self.lock or nullcontext():
            self._erase()
            self._last = text
            if at_once:
                self._show()

    def _show(self) -> None:
        if self._last:
            # One that is wrapped could not be erased.
            self.stream.write(self._last[: shutil.get_terminal_size().columns - 1])
            self.flush()
            self._is_shown = True

    def _erase(self) -> None:
        if self._is_shown:
            self.stream.write(self._ERASE)
            self.flush()
            self._is_shown = False


def keep_visible(text: str, *, at_once: bool = False) -> None:
    """On a terminal, keep a text as the last line, below what is logged from now on; an empty text ends that.

    ``at_once`` is for a text that is not on the terminal yet. Without a terminal this does nothing.
    """
    for handler in logging.getLogger().handlers:
        if isinstance(handler, TerminalHandler):
            handler.keep(text, at_once=at_once)


def set_up(level: str, stream: TextIO | None = None) -> None:
    """Configure logging: as JSON, or as readable lines if the stream is a terminal."""
    stream = stream or sys.stderr
    handler: logging.StreamHandler[TextIO]
    if stream.isatty():
        handler = TerminalHandler(stream, colour="NO_COLOR" not in os.environ)
    else:
        handler = logging.StreamHandler(stream)
        handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # The access log is our own; libraries below warn of what matters.
    for name in ("uvicorn.access", "uvicorn.error", "httpx", "httpcore", "botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
