"""The training export: tickets with their events and feedback, as files for training models.

    export.json                    describes the folder: its format, and the name of its consumer
    part-000000000001.jsonl        tickets, one per line; or part-….parquet

The first export reads the table (``Consumer.rebuild``), later ones read the stream, and write tickets that have changed
since. A part is on disk, complete and under its name, before the checkpoint is written, so a crash can repeat tickets
but not lose any. **A ticket may be in several parts: the record with the latest ``as_of`` counts**; a deleted ticket
has a record that says ``deleted``.

People are pseudonymous: the ids of customers, operators and engineers are keyed hashes, the same for the same person in
every export of an installation, unless the export is ``identified``. Free text (symptoms, comments, reasons) is
exported as it is. Payloads (``data``) are not exported, only their sizes.
"""

from __future__ import annotations

import errno
import hmac
import json
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import orjson

from tablewright.durable_files import sync_path
from tablewright.runtime import SettingsError
from tablewright.runtime.http.json_values import in_json
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import (
    AnyChange,
    Change,
    Effects,
    RawChange,
    RebuildProgress,
    RebuildUnfinished,
    RecordsLost,
    Store,
    Unavailable,
    Unreadable,
    entity_filter,
)
from tablewright.store import offloaded_sizes as outside
from tablewright.systems.support.maintenance_jobs import BackgroundThread, ReportProgress, Stopped
from tablewright.systems.support.model import Case, Event, Feedback, Ticket, tickets
from tablewright.systems.support.readable_filter import ReadableFilter
from tablewright.systems.unreadable_log import UnreadableLog

if TYPE_CHECKING:
    from tablewright.store import Consumer

# What other packages use.
__all__ = [
    "Export",
    "ExportError",
]

Format = Literal["jsonl", "parquet"]

_log = logging.getLogger(__name__)

BATCH_SIZE = 1000
# The changes that an export consists of.
EXPORTED = entity_filter(Ticket, Event, Feedback)
# Longer than for other consumers, as every batch is a file.
WINDOW = timedelta(minutes=1)
_AGAIN_AFTER = 10.0
_NOTE = "export.json"
# The largest line that is read back: a ticket with all its events.
_LIMIT = "maximum_object_size=1073741824"
# The details of events that identify a person.
_PERSONS = ("changed_by", "assigned_to", "assigned_before")
_COLUMNS = {
    "ticket_id": "VARCHAR",
    "as_of": "TIMESTAMPTZ",
    "deleted": "BOOLEAN",
    "customer_id": "VARCHAR",
    "status": "VARCHAR",
    "priority": "VARCHAR",
    "symptom_text": "VARCHAR",
    "created_at": "TIMESTAMPTZ",
    "updated_at": "TIMESTAMPTZ",
    "completed_at": "TIMESTAMPTZ",
    "escalated_at": "TIMESTAMPTZ",
    "escalation_reason": "VARCHAR",
    "assigned_to": "VARCHAR",
    "data_size": "BIGINT",
    "events": (
        "STRUCT(number BIGINT, timestamp TIMESTAMPTZ, event_type VARCHAR, old_status VARCHAR, new_status VARCHAR, "
        "details VARCHAR)[]"
    ),
    "feedback": (
        "STRUCT(feedback_id VARCHAR, given_by VARCHAR, operator_id VARCHAR, submitted_at TIMESTAMPTZ, rating BIGINT, "
        "was_helpful BOOLEAN, comment VARCHAR)[]"
    ),
}


class ExportError(SettingsError):
    """A folder that cannot be exported to; the message says why."""


@dataclass(frozen=True, slots=True)
class Note:
    """The description of a folder."""

    consumer: str
    format: Format
    identified: bool
    # Whether the whole table has been exported once.
    begun: bool = False


class Export:
    """An export to a folder, which continues where it stopped."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        secret: bytes,
        now: Callable[[], datetime],
        *,
        format: Format = "jsonl",
        identified: bool = False,
        unreadable_log: UnreadableLog | None = None,
    ) -> None:
        """ExportError if the folder has an export of another kind."""
        self._store = store
        self._unreadable_log = unreadable_log or UnreadableLog("support")
        # Tickets that an export of the whole table has left out, as they, or their events or feedback, are unreadable.
        self.unreadable: set[str] = set()
        # Changes that a later export could not read; they are dead letters.
        self.dead_letters = 0
        self._is_whole = False
        self._filter = ReadableFilter(EXPORTED, self._unreadable_log)
        self._now = now
        self._folder = folder
        self._secret = secret
        self._note = self._opened(format, identified)
        self._parts = max(
            (int(part.stem[5:]) for part in folder.glob("part-*") if part.stem[5:].isdecimal()), default=0
        )
        self.written = 0

    def _opened(self, format: Format, identified: bool) -> Note:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / _NOTE
            if not path.exists():
                return Note(f"support.export.{uuid4().hex[:12]}", format, identified)
            found = Note(**json.loads(path.read_text("utf-8")))
        except OSError as error:
            raise ExportError(f"{self._folder} cannot be used: {error.strerror}") from None
        except (ValueError, TypeError):
            raise ExportError(f"{self._folder / _NOTE} was not written by an export; choose another folder") from None
        if (found.format, found.identified) != (format, identified):
            kind = f"{found.format}, {'identified' if found.identified else 'not identified'}"
            raise ExportError(f"{self._folder} has an export of another kind ({kind}); choose another folder")
        return found

    @property
    def consumer_name(self) -> str:
        return self._note.consumer

    @property
    def is_begun(self) -> bool:
        """Whether the whole table has been exported once, so that only changes need to be exported."""
        return self._note.begun

    def consumer(self) -> Consumer:
        from tablewright.store import Consumer

        return Consumer(
            self._store,
            tickets,
            self.handle,
            name=self.consumer_name,
            checkpoints=internal_table,
            batch_size=BATCH_SIZE,
            window=timedelta(0),
            change_filter=self._wanted,
        )

    def _wanted(self, change: RawChange) -> bool:
        """Whether a change leads to an export of its ticket; for the whole table, not if it is unreadable."""
        if not self._is_whole or not EXPORTED(change) or self._filter(change):
            return EXPORTED(change)
        ticket_id = (change.after or change.before or {}).get("ticket_id", {}).get("S")
        if ticket_id is not None:
            self.unreadable.add(ticket_id)
        return False

    def run(self, report: ReportProgress, *, full: bool = False, alone: bool = False, settle: float = 0) -> int:
        """Export changes, or everything; returns the number of records. ``alone``: leases are of dead processes."""
        before = self.written
        consumer = self.consumer()
        if alone:
            consumer.take_over()
        if not full and self.is_begun:
            try:
                done = consumer.run_once()
                consumer.release()
                self.dead_letters += done.dead_letters
                if done.busy:
                    raise ExportError(
                        f"another process is exporting to {self._folder}; wait until it is done, or stop it"
                    )
                return self.written - before
            except (RecordsLost, RebuildUnfinished):
                # Nothing is missing from the table.
                consumer = self.consumer()
        self.export_all(consumer, report, settle=settle)
        return self.written - before

    @property
    def left_out(self) -> str:
        """What could not be exported, and what to do, in a sentence; empty if nothing was left out."""
        number = len(self.unreadable) or self.dead_letters
        were, them = ("was", "it") if number == 1 else ("were", "them")
        if self.unreadable:
            problem = f"{number} cannot be read and {were} left out, such as {min(self.unreadable)}"
        elif self.dead_letters:
            change, letter = ("change", "a dead letter") if number == 1 else ("changes", "dead letters")
            problem = f"{number} {change} cannot be read and became {letter}"
        else:
            return ""
        return f"{problem}; repair {them} in the table, and export with --full"

    def export_all(self, consumer: Consumer, report: ReportProgress, *, settle: float = 0) -> None:
        """Export the whole table, and the changes made meanwhile."""

        def on_progress(progress: RebuildProgress) -> None:
            report(progress.items, progress.estimated or None)

        self._save(replace(self._note, begun=False))
        self._is_whole, self._filter = True, ReadableFilter(EXPORTED, self._unreadable_log)
        self.unreadable.clear()
        try:
            consumer.rebuild([], on_progress=on_progress, settle=settle)
        finally:
            self._is_whole = False
        self._save(replace(self._note, begun=True))

    def handle(self, changes: Sequence[AnyChange], effects: Effects) -> None:
        """The consumer's handler: writes a part with the current state of every changed ticket."""
        changed = [
            item.ticket_id
            for change in changes
            if isinstance(change, Change)
            and isinstance(item := change.after or change.before, Ticket | Event | Feedback)
        ]
        if not changed:
            return
        records = [record for each in dict.fromkeys(changed) if (record := self._readable(each)) is not None]
        if not records:
            return
        try:
            self._write(records)
        except OSError as error:
            # Not because of the records: they are exported once the folder can be written.
            raise Unavailable(f"{self._folder} cannot be written: {error.strerror}") from error
        self.written += len(records)

    # -- records ------------------------------------------------------------------------------------------------

    def _readable(self, ticket_id: str) -> dict[str, Any] | None:
        """The record of a ticket; None, in an export of the whole table, if a part of it is unreadable."""
        try:
            return self._record(ticket_id)
        except Unreadable as error:
            if not self._is_whole:
                # The change becomes a dead letter.
                raise
            self._unreadable_log.add(error)
            self.unreadable.add(ticket_id)
            return None

    def _record(self, ticket_id: str) -> dict[str, Any]:
        as_of = self._now()
        case = self._store.collect(Case.of_ticket(ticket_id), consistent=True)
        if case is None:
            return {"ticket_id": ticket_id, "as_of": as_of, "deleted": True}
        ticket, size = case.ticket, outside(case.ticket).get("data")
        return {
            "ticket_id": ticket_id,
            "as_of": as_of,
            "deleted": False,
            "customer_id": self._who(ticket.customer_id),
            "status": ticket.status,
            "priority": ticket.priority,
            "symptom_text": ticket.symptom_text,
            "created_at": ticket.created_at,
            "updated_at": ticket.updated_at,
            "completed_at": ticket.completed_at,
            "escalated_at": ticket.escalated_at,
            "escalation_reason": ticket.escalation_reason,
            "assigned_to": self._who(ticket.assigned_to),
            "data_size": len(ticket.data.encode()) if size is None else size,
            "events": [self._event(event) for event in case.events],
            "feedback": [
                {
                    "feedback_id": each.feedback_id,
                    "given_by": self._who(each.given_by),
                    "operator_id": self._who(each.operator_id),
                    "submitted_at": each.submitted_at,
                    "rating": each.rating,
                    "was_helpful": each.was_helpful,
                    "comment": each.comment,
                }
                for each in case.feedback
            ],
        }

    def _event(self, event: Event) -> dict[str, Any]:
        details = in_json(event.details)
        for name in _PERSONS:
            if isinstance(details.get(name), str):
                details[name] = self._who(details[name])
        return {
            "number": event.number,
            "timestamp": event.timestamp,
            "event_type": event.event_type,
            "old_status": event.old_status,
            "new_status": event.new_status,
            # As text, because they differ between types of events.
            "details": json.dumps(details, ensure_ascii=False, separators=(",", ":")),
        }

    def _who(self, person: str | None) -> str | None:
        if person is None or self._note.identified:
            return person
        return hmac.new(self._secret, b"training-export\0" + person.encode(), sha256).hexdigest()[:32]

    # -- files --------------------------------------------------------------------------------------------------

    def _write(self, records: Sequence[dict[str, Any]]) -> None:
        """Write a part, which gets its name only when it is complete and on disk."""
        lines = b"".join(orjson.dumps(record) + b"\n" for record in records)
        draft = self._folder / f".{uuid4().hex}.draft"
        try:
            if self._note.format == "jsonl":
                draft.write_bytes(lines)
            else:
                _write_parquet(lines, draft)
            sync_path(draft)
            while True:
                self._parts += 1
                try:
                    os.link(draft, self._folder / f"part-{self._parts:012d}.{self._note.format}")
                    break
                except FileExistsError:
                    # Another process also exports to this folder.
                    continue
        finally:
            draft.unlink(missing_ok=True)
        sync_path(self._folder)

    def _save(self, note: Note) -> None:
        self._note = note
        draft = self._folder / f".{uuid4().hex}.draft"
        try:
            draft.write_text(json.dumps(asdict(note), indent=2) + "\n", "utf-8")
            sync_path(draft)
            os.replace(draft, self._folder / _NOTE)
            sync_path(self._folder)
        except OSError as error:
            raise ExportError(f"{self._folder} cannot be written: {error.strerror}") from None


class FirstExport(BackgroundThread):
    """Exports the whole table in the background, if that has not been done yet; the consumer continues from there."""

    def __init__(self, export: Export, *, settle: float = 0) -> None:
        super().__init__("support.export")
        self._export = export
        self._settle = settle

    def start(self) -> None:
        if not self._export.is_begun:
            super().start()

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._export.export_all(self._export.consumer(), self._report, settle=self._settle)
            except Stopped:
                return
            except Exception as error:
                _log.error("the first training export failed", exc_info=error)
                self._stop.wait(_AGAIN_AFTER)
            else:
                if self._export.unreadable:
                    left_out = len(self._export.unreadable)
                    _log.warning("the first training export leaves tickets out", extra={"count": left_out})
                return


def _write_parquet(lines: bytes, path: Path) -> None:
    import duckdb

    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS.items())
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as source, duckdb.connect(config={"threads": 1}) as database:
        source.write(lines)
        source.flush()
        table = f"read_json({_quoted(source.name)}, format='newline_delimited', columns={{{columns}}}, {_LIMIT})"
        try:
            database.execute(f"COPY (SELECT * FROM {table}) TO {_quoted(str(path))} (FORMAT parquet)")
        except duckdb.IOException as error:
            raise OSError(errno.EIO, str(error).partition("\n")[0]) from error


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
