"""Jobs on all of the data: rebuild the metrics, move tickets to their shards, collect orphans.

Each is a function of a store that reports its progress, and returns its result as a sentence. The table is in use
meanwhile. Commands call them, and so does a server (``Job``), as no other process can open its data folder.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tablewright.runtime import StateConflict
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import Store
from tablewright.systems.support.metric_counters import COUNTED, WRITTEN, count
from tablewright.systems.support.model import Ticket, tickets
from tablewright.systems.support.readable_filter import ReadableFilter
from tablewright.systems.unreadable_log import UnreadableLog

# Not needed by requests; jobs import what they need when they run.
if TYPE_CHECKING:
    from tablewright.store import BlobUsage, Finding, RebuildProgress

# What other packages use.
__all__ = [
    "ReportProgress",
    "Unfinished",
]

CONSUMER = "support.metrics"

# Called with progress: how much is done, of how much, if that is known.
ReportProgress = Callable[[int, int | None], None]

# The most passes over all tickets, as concurrent changes may prevent a move.
_PASSES = 5
_STOP_WITHIN = 20.0

_log = logging.getLogger(__name__)


class Unfinished(Exception):
    """Something that only a person can fix; the message says what."""


def rebuild_metrics(
    store: Store,
    report: ReportProgress,
    *,
    settle: float = 0,
    alone: bool = False,
    unreadable_log: UnreadableLog | None = None,
) -> str:
    """Count everything again from the table; ``settle`` is how many seconds the stream may be behind it.

    ``alone``: no other process can be at work, so that all leases are those of dead ones. Unreadable items are not
    counted, and are reported.
    """
    from tablewright.store import Consumer

    readable = ReadableFilter(COUNTED, unreadable_log or UnreadableLog("support"))

    def on_progress(progress: RebuildProgress) -> None:
        report(progress.items, _total(progress.items, progress.estimated))

    consumer = Consumer(store, tickets, count, name=CONSUMER, checkpoints=internal_table, change_filter=readable)
    if alone:
        consumer.take_over()
    done = consumer.rebuild(WRITTEN, on_progress=on_progress, settle=settle)
    left_out = f"; {readable.summary}" if readable.left_out else ""
    return f"the metrics were rebuilt from {done.items} items{left_out}"


def _total(done: int, estimated: int) -> int | None:
    """The total, if known: an estimate is dropped once there are more items."""
    return estimated if estimated >= done else None


def is_rebuild_unfinished(store: Store, now: datetime) -> bool:
    """Whether a rebuild was started by a process that is gone; until it is finished, nothing is counted."""
    from tablewright.store import CheckpointTable

    found = store.iterate(CheckpointTable.of(internal_table).checkpoint.of_consumer(consumer=CONSUMER), consistent=True)
    begun = [checkpoint for checkpoint in found if checkpoint.is_rebuild_marker]
    return any(checkpoint.leased_until is None or checkpoint.leased_until < now for checkpoint in begun)


def migrate_shards(store: Store, report_progress: ReportProgress) -> str:
    """Move every ticket to the shard that the model assigns it to; Unfinished if one cannot be moved."""
    from tablewright.store import Remedy

    moved = 0
    left: list[Finding] = []
    for _ in range(_PASSES):
        report = store.repair(
            Ticket,
            dry_run=False,
            on_progress=lambda progress: report_progress(progress.done, _total(progress.done, progress.total)),
        )
        moved += report.progress.repaired
        left = [finding for finding in report.findings if finding.remedy is not Remedy.REPAIRED]
        if not left:
            return f"moved {moved} keys; every ticket is in its shard"
        if all(finding.remedy is Remedy.LEFT for finding in left):
            break
    raise Unfinished(f"moved {moved} keys; {len(left)} could not be moved and need attention, such as {left[0]}")


def verify(store: Store, report_progress: ReportProgress) -> str:
    """Compare what is stored with the model, and read every payload; Unfinished if something is wrong."""
    found = store.verify(
        tickets, on_progress=lambda progress: report_progress(progress.done, _total(progress.done, progress.total))
    )
    if found.is_clean:
        return f"{found.progress.done} items and their payloads are correct"
    wrong, done = found.progress.found, found.progress.done
    needing = "1 finding needs" if wrong == 1 else f"{wrong} findings need"
    raise Unfinished(f"{needing} attention among {done} items, such as {found.findings[0]}")


def collect_orphans(store: Store, report: ReportProgress, *, dry_run: bool = False) -> str:
    """Remove payloads that no ticket refers to and no restore may need; with ``dry_run`` only count them."""
    from tablewright.store import BlobUsage

    found = store.collect_orphans(
        tickets, dry_run=dry_run, on_progress=lambda progress: report(progress.total.blobs, None)
    )
    done = "would be removed" if dry_run else "removed"
    removed = BlobUsage(found.orphans.blobs - found.kept.blobs, found.orphans.bytes - found.kept.bytes)
    kept = f"; {_usage_text(found.kept)} are kept, as a restore may need them" if found.kept.blobs else ""
    unreadable = f"; the owners of {found.unreadable} of them are unknown" if found.unreadable else ""
    return f"orphans {done}: {_usage_text(removed)}{kept}; payloads in total: {_usage_text(found.total)}{unreadable}"


def _usage_text(usage: BlobUsage) -> str:
    return f"{usage.blobs} ({usage.bytes} bytes)"


@dataclass(frozen=True, slots=True)
class JobState:
    """The progress or the result of a job."""

    running: bool = False
    done: int = 0
    total: int | None = None
    outcome: str | None = None
    failed: str | None = None


class Job:
    """Work that a process does in a thread, one at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._state = JobState()

    def begin(self, work: Callable[[ReportProgress], str]) -> None:
        """Start it; StateConflict if it is running."""
        with self._lock:
            # Not by its thread, which may live for a moment after its work is done.
            if self._state.running:
                raise StateConflict(f"{self._name} is already running")
            self._state = JobState(running=True)
            self._thread = threading.Thread(target=self._run, args=(work,), name=f"support.{self._name}", daemon=True)
            self._thread.start()

    @property
    def state(self) -> JobState:
        return self._state

    def _run(self, work: Callable[[ReportProgress], str]) -> None:
        try:
            outcome = work(self._report)
        except Exception as error:
            _log.error("a job failed", exc_info=error, extra={"job": self._name})
            # The text of other errors is for the log only.
            failed = str(error) if isinstance(error, Unfinished) else type(error).__name__
            self._state = JobState(done=self._state.done, failed=failed)
        else:
            self._state = JobState(done=self._state.done, total=self._state.total, outcome=outcome)

    def _report(self, done: int, total: int | None) -> None:
        self._state = JobState(running=True, done=done, total=total)


class Stopped(Exception):
    """The process is stopping; the next one starts unfinished work again."""


class BackgroundThread(ABC):
    """Work in a thread of its own; when the process stops, it ends at its next report of progress."""

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_WITHIN)

    @abstractmethod
    def _work(self) -> None: ...

    def _report(self, done: int, total: int | None) -> None:
        if self._stop.is_set():
            raise Stopped
