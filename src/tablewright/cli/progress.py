"""The progress of long commands: a bar on a terminal, otherwise a line for each step."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self


class StepProgress:
    """Steps, one after the other; ``update`` reports the progress of the current one."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None
        self._what = ""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            except ImportError:  # of the extra ``design``: a plain installation prints lines instead
                return self
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[counted]}"),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def begin(self, what: str) -> None:
        if self._progress is None:
            print(f"tablewright: {what}", file=sys.stderr)
            return
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=None, counted="")

    def update(self, what: str, done: int, total: int | None) -> None:
        if self._progress is not None and self._task is not None:
            counted = f"{done:,}" if total is None else f"{done:,}/{total:,}"
            self._progress.update(self._task, description=what, completed=done, total=total, counted=counted)

    def report(self, what: str, done: int, total: int) -> None:
        """``begin`` if this is another step than before, and ``update``; a total of 0 is unknown."""
        if what != self._what:
            self._what = what
            self.begin(what)
        self.update(what, done, total or None)

    def end(self) -> None:
        """Clear the display before other output."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._task = None
