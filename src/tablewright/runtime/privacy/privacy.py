"""``Privacy``: a person's data across the systems, exported and erased, with a report of what was found where.

    1  read all tables          what is about the person, and what belongs to that
    2  read all tables          delete, replace, erase; not yet the items with parts
    3  delete                   the items with parts; 2 and 3 again if others changed an item meanwhile
    4  read all tables          what is left

Each write is a transaction of the store, so streams, counters, blobs and the search index are updated as well. Finished
work is not found again: an interrupted erasure continues when it is started again, and a finished one finds nothing.
While it runs, an item of the internal table records it (``Erasure``); a process that has the tables to itself resumes
recorded erasures at its start.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from tablewright.dynamo import Item
from tablewright.model import Entity, Get, Keys, ModelError, Query, Schema, Table, personal_fields, schemas_of

# Imported so that all entities of the internal tables are known (those of mail too, below).
from tablewright.runtime.background import orphan_collector as orphan_collector
from tablewright.runtime.errors import Invalid, StateConflict
from tablewright.runtime.identity import ended_sessions as ended_sessions
from tablewright.runtime.identity import people as people
from tablewright.runtime.identity import read_notices as read_notices
from tablewright.runtime.identity import stored_notices as stored_notices
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.mail import invitation_mail as invitation_mail
from tablewright.runtime.mail import mail_records as mail_records
from tablewright.runtime.privacy.personal_data import Examination, Verdict, entity_schema, pseudonym_of
from tablewright.store import (
    Cancelled,
    ConditionFailed,
    Conflict,
    Delete,
    NotFound,
    Request,
    Store,
    StoreError,
    Unreadable,
    Update,
)

__all__ = ["Erasure", "Finding", "Privacy", "PrivacyJob", "PrivacyReport"]

_PAGE = 200
# What a write fails with if others have changed or deleted the item since it was read.
_CHANGED = (NotFound, Conflict, ConditionFailed)
# Of an erasure whose items others change meanwhile.
_REPETITIONS = 2
_MAX_IDS = 20
_MIN_LENGTH = 2
_STOP_WITHIN = 20.0
# What no write can reach, and when it is gone.
KEPT_ELSEWHERE = (
    "streams keep the previous items for 24 hours",
    "point-in-time recovery, where enabled, keeps them for up to 35 days, and backups until they are deleted",
    "sent mail, exports and logs are outside of the tables",
)

_log = logging.getLogger(__name__)

OnRead = Callable[[str, int], None]
Action = Literal["find", "erase"]


class Erasure(Entity, table=internal_table):
    """A record: a person's data is being erased, or was; it has the ids only while that runs."""

    pseudonym: str
    ids: list[str]
    by: str
    begun_at: datetime
    ended_at: datetime | None = None
    # What was done, by what it was done to.
    counts: dict[str, int] = Field(default_factory=dict)

    keys = Keys(PK="ERASURES", SK="ERASURE#{pseudonym}")

    @Get(consistent=True)
    def by_pseudonym(self, pseudonym: str) -> None:
        """The erasure of a person."""

    @Query(consistent=True)
    def everything(self) -> None:
        """All erasures."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """How many items of a kind relate to a person, and what happens to them."""

    system: str
    table: str
    entity: str
    why: str
    # delete, replace; keep: it is about the person and stays, without saying who; expires; look: nothing knows it.
    action: str
    items: int
    note: str = ""


@dataclass(slots=True)
class PrivacyReport:
    """What was found about a person, where, and what was done."""

    action: Action
    ids: Sequence[str]
    pseudonym: str
    findings: list[Finding] = field(default_factory=list)
    kept_elsewhere: Sequence[str] = KEPT_ELSEWHERE
    # The items, for an export.
    items: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class PrivacyJob:
    """Work on a person's data, in the background."""

    action: Action
    person: str
    begun_at: datetime
    items_read: int = 0
    step: str = ""
    report: PrivacyReport | None = None
    failed: str | None = None

    @property
    def is_done(self) -> bool:
        return self.report is not None or self.failed is not None


@dataclass(slots=True)
class _Place:
    """A table, and the system that it belongs to."""

    system: str
    table: Table
    schemas: Sequence[Schema]


class Privacy:
    """A person's data in the tables of some systems."""

    def __init__(
        self,
        store: Store,
        tables: Mapping[str, Sequence[Table]],
        identities: Callable[[str], Sequence[str]],
        secret: Callable[[], bytes],
        clock: Callable[[], float],
        *,
        alone: bool,
    ) -> None:
        """``tables`` are those of each system, and of the runtime.

        ``identities`` returns the ids by which systems know a person.
        ``alone``: no other process works on the tables, so unfinished work at the start is to be resumed.
        """
        self._alone = alone
        self._store = store
        self._identities = identities
        self._secret = secret
        self._clock = clock
        self._places = [_Place(system, table, schemas_of(table)) for system, own in tables.items() for table in own]
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.job: PrivacyJob | None = None

    # -- the whole of it ----------------------------------------------------------------------------------------

    def export(self, ids: Sequence[str], on_read: OnRead = lambda step, number: None) -> PrivacyReport:
        """Everything that is about a person, was written by them or mentions them; nothing is changed."""
        examination = self._examination(ids)
        report = PrivacyReport("find", sorted(examination.ids), examination.pseudonym)
        self._own(examination, on_read)
        counts: Counter[tuple[str, ...]] = Counter()
        for place, schema, entity, item in self._read(on_read, "reading items about them"):
            verdict = None if schema is None or entity is None else examination.verdict(schema, entity)
            self._count(counts, examination, place, schema, verdict, item)
            if verdict is not None and entity is not None:
                report.items.append(
                    {
                        "system": place.system,
                        "table": place.table.name,
                        "entity": type(entity).__name__,
                        "why": verdict.why,
                        "item": entity.model_dump(mode="json", exclude_none=True),
                    }
                )
        report.findings = _findings(counts)
        return report

    def erase(self, ids: Sequence[str], *, by: str, on_read: OnRead = lambda step, number: None) -> PrivacyReport:
        """Delete or replace all of a person's data where possible; the report says what was done, and what is left."""
        examination = self._examination(ids)
        now = datetime.fromtimestamp(self._clock(), UTC)
        record = Erasure(pseudonym=examination.pseudonym, ids=sorted(examination.ids), by=by, begun_at=now)
        self._store.put(record)
        counts: Counter[tuple[str, ...]] = Counter()
        self._own(examination, on_read)
        done = self._erase_once(examination, on_read, counts)
        # What others changed meanwhile is found again, as it is now.
        for _ in range(_REPETITIONS):
            if done:
                break
            done = self._erase_once(examination, on_read, Counter())
        for place, schema, entity, _ in self._read(on_read, "checking what is left"):
            verdict = None if schema is None or entity is None else examination.verdict(schema, entity)
            if verdict is not None and not isinstance(entity, Erasure):
                # Written meanwhile, or changed again and again by others.
                name = type(entity).__name__
                counts[(place.system, place.table.name, name, verdict.why, "remaining", "run it again")] += 1
        report = PrivacyReport("erase", sorted(examination.ids), examination.pseudonym, _findings(counts))
        figures = {f"{each.system}/{each.entity} {each.action}": each.items for each in report.findings}
        ended = datetime.fromtimestamp(self._clock(), UTC)
        self._store.put(record.model_copy(update={"ids": [], "ended_at": ended, "counts": figures}))
        return report

    def _erase_once(self, examination: Examination, on_read: OnRead, counts: Counter[tuple[str, ...]]) -> bool:
        """Read everything, count and erase; whether nothing was changed by others meanwhile."""
        roots: list[Entity] = []
        done = True
        for place, schema, entity, item in self._read(on_read, "erasing"):
            verdict = None if schema is None or entity is None else examination.verdict(schema, entity)
            if isinstance(entity, Erasure):
                continue
            self._count(counts, examination, place, schema, verdict, item)
            if verdict is None or entity is None:
                continue
            if verdict.why == "subject" and verdict.action == "delete" and _has_parts(place):
                # What belongs to it goes first: it says what that is, also after this process was killed.
                roots.append(entity)
            else:
                done &= self._apply(entity, verdict)
        for entity in roots:
            done &= self._apply(entity, Verdict("subject", "delete"))
        return done

    # -- in the background --------------------------------------------------------------------------------------

    def begin(self, action: Action, person: str, *, by: str) -> PrivacyJob:
        """Find or erase a person's data in a thread; StateConflict if another run is in progress."""
        self._examination([person])
        with self._lock:
            if self.job is not None and not self.job.is_done:
                raise StateConflict("another person's data is being found or erased; wait until that is done")
            self.job = job = PrivacyJob(action, person, datetime.fromtimestamp(self._clock(), UTC))
            self._thread = threading.Thread(target=self._work, args=(job, [person], by), name="privacy", daemon=True)
            self._thread.start()
            return job

    def start(self) -> None:
        """Resume an erasure that a process has not finished, if that process is known to be dead."""
        if not self._alone:
            return
        threading.Thread(target=self._resume, name="privacy start", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_STOP_WITHIN)

    def _resume(self) -> None:
        try:
            unfinished = [each for each in self._store.iterate(Erasure.everything()) if each.ids]
        except StoreError as error:
            _log.warning("unfinished erasures could not be listed", exc_info=error)
            return
        for each in unfinished:
            if self._stop.is_set():
                return
            with self._lock:
                if self.job is not None and not self.job.is_done:
                    return
                self.job = job = PrivacyJob("erase", each.pseudonym, each.begun_at)
                self._thread = threading.Thread(target=self._work, args=(job, each.ids, each.by), daemon=True)
                self._thread.start()
            self._thread.join()

    def _work(self, job: PrivacyJob, ids: Sequence[str], by: str) -> None:
        def on_read(step: str, number: int) -> None:
            job.step, job.items_read = step, number

        try:
            if job.action == "erase":
                job.report = self.erase(ids, by=by, on_read=on_read)
            else:
                job.report = self.export(ids, on_read)
        except _Stopped:
            job.failed = "the process is stopping; the work resumes at the next start"
        except Exception as error:
            _log.error("work on personal data failed", exc_info=error)
            job.failed = type(error).__name__

    # -- items --------------------------------------------------------------------------------------------------

    def _examination(self, given: Sequence[str]) -> Examination:
        ids = list(dict.fromkeys(each for person in given for each in [person, *self._identities(person)]))
        if not ids or len(ids) > _MAX_IDS or any(len(each.strip()) < _MIN_LENGTH for each in ids):
            raise Invalid("name a person by an id, a mail address or a phone number, of at least two characters")
        return Examination(frozenset(ids), pseudonym_of(self._secret(), min(ids)))

    def _own(self, examination: Examination, on_read: OnRead) -> None:
        """What names the items about the person."""
        for _, schema, entity, _ in self._read(on_read, "looking for items about them"):
            if schema is not None and entity is not None:
                verdict = examination.verdict(schema, entity)
                if verdict is not None and verdict.why == "subject" and verdict.action == "delete":
                    examination.own(schema, entity)

    def _apply(self, entity: Entity, verdict: Verdict) -> bool:
        """Delete or change an item; whether it was still as it was read."""
        try:
            if verdict.action == "delete":
                self._store.transact(Delete(entity))
            else:
                self._store.transact(Update(entity, *verdict.changes, expect=verdict.expect))
        except _CHANGED:
            return False
        except Cancelled as cancelled:
            if not all(reason is None or isinstance(reason, _CHANGED) for reason in cancelled.reasons):
                raise
            return False
        return True

    def _read(self, on_read: OnRead, step: str) -> Iterator[tuple[_Place, Schema | None, Entity | None, Item]]:
        """Every item of every table, as its entity if it can be read as one."""
        number = 0
        for place in self._places:
            start: Item | None = None
            while True:
                if self._stop.is_set():
                    raise _Stopped
                body: dict[str, Any] = {"TableName": self._store.context.name_of(place.table), "Limit": _PAGE}
                if start is not None:
                    body["ExclusiveStartKey"] = start
                page = self._store.run_flow(_scan(body))
                for item in page["Items"]:
                    schema = entity_schema(place.table, place.schemas, item)
                    yield place, schema, None if schema is None else _decoded(schema, item), item
                number += len(page["Items"])
                on_read(step, number)
                start = page.get("LastEvaluatedKey")
                if start is None:
                    break

    def _count(
        self,
        counts: Counter[tuple[str, ...]],
        examination: Examination,
        place: _Place,
        schema: Schema | None,
        verdict: Verdict | None,
        item: Item,
    ) -> None:
        name = "" if schema is None else schema.entity.__name__
        if verdict is not None:
            action = "keep" if verdict.keep else verdict.action
            counts[(place.system, place.table.name, name, verdict.why, action, verdict.keep)] += 1
        elif not place.table.is_internal(item) and name != Erasure.__name__ and examination.is_mentioned(item):
            expires = place.table.ttl is not None and place.table.ttl in item
            left = (
                ("expires", "automatically") if expires else ("review", "mentioned in a text, or in an unreadable item")
            )
            counts[(place.system, place.table.name, name, "mention", *left)] += 1


class _Stopped(Exception):
    """The process is stopping."""


def _scan(body: dict[str, Any]) -> Any:
    return (yield Request("Scan", body, "privacy"))


def _decoded(schema: Schema, item: Item) -> Entity | None:
    try:
        entity: Entity = schema.entity.of(item)
        return entity
    except (Unreadable, ModelError, ValidationError, ValueError):
        return None


def _has_parts(place: _Place) -> bool:
    return any(marker.kind == "part" for schema in place.schemas for marker in personal_fields(schema).values())


def _findings(counts: Mapping[tuple[str, ...], int]) -> list[Finding]:
    found = [
        Finding(system, table, entity, why, action, number, note)
        for (system, table, entity, why, action, note), number in counts.items()
    ]
    return sorted(found)
