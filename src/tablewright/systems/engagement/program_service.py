"""Programs: their configuration, who changed it, and who approved it.

    put ──▶ draft ──▶ request_approval ──▶ approve, by someone else ──▶ enabled

Enabling a program takes two people. The approver has neither changed it since its last approval, nor requested the
approval; and names the version that was reviewed. An edit revokes the approval, and disables the program until it is
approved again: every running program was seen by two people. Disabling needs no approval, and neither does enabling a
program that is still approved.

Every step writes a version, on condition of the version before it: of two concurrent changes, one is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tablewright.runtime import UNSEEN, Forbidden, PreconditionFailed, ResourceNotFound, Seen, StateConflict
from tablewright.runtime.audit import Audit
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    AsyncTolerantReader,
    Cancelled,
    Conflict,
    Delete,
    Operation,
    Put,
    TolerantPage,
    Unreadable,
    VersionConflict,
)
from tablewright.systems.engagement.audit_names import program_thing
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.model import (
    MAX_EDITORS,
    Approval,
    ApprovalState,
    Program,
    ProgramVersion,
    Schedule,
    ScheduleKind,
    Step,
    not_approved,
)
from tablewright.systems.engagement.runs.cron_schedule import is_schedule, next_due
from tablewright.systems.unreadable_log import UnreadableLog

_ATTEMPTS = 6
_PAGE = 100
# Programs of a marketplace that are checked for an event; if there are more, the event must name one.
MAX_PROGRAMS = 1_000
_CONFIGURED = tuple(Configuration.model_fields)

# Raises Invalid for anything that cannot work here: connectors, models, filters, channels.
Check = Callable[[Configuration], None]


@dataclass(frozen=True, slots=True)
class _Change:
    """The new state of a program, and the step that leads to it."""

    configuration: Configuration
    approval: Approval
    step: Step


class Programs:
    """Programs, as they are put, approved, enabled and disabled."""

    def __init__(
        self, store: AsyncStore, clock: Callable[[], float], check: Check, unreadable_log: UnreadableLog | None = None
    ) -> None:
        self._store = store
        self._reader = AsyncTolerantReader(store, (unreadable_log or UnreadableLog("engagement")).add)
        self._clock = clock
        self._check = check
        self._audit = Audit("engagement", clock)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    # -- reading ------------------------------------------------------------------------------------------------

    async def program(self, program_id: str, marketplace_id: str, *, consistent: bool = False) -> Program:
        found = await self._store.get(Program.by_id(program_id, marketplace_id), consistent=consistent)
        if found is None:
            raise ResourceNotFound(f"there is no program {program_id} in marketplace {marketplace_id}")
        return found

    async def programs(
        self, marketplace_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> TolerantPage[Program]:
        """The programs of a marketplace, by one query."""
        return await self._reader.page(Program.of_marketplace(marketplace_id), limit=limit, cursor=cursor)

    async def in_state(
        self, state: ApprovalState, *, limit: int = 50, cursor: str | None = None
    ) -> TolerantPage[Program]:
        """The programs of all marketplaces in a state of approval, by one query."""
        return await self._reader.page(Program.in_state(state), limit=limit, cursor=cursor)

    async def reacting(self, marketplace_id: str) -> TolerantPage[Program]:
        """Every program of a marketplace that reacts to events; StateConflict if there are too many."""
        found: list[Program] = []
        unreadable: list[Unreadable] = []
        seen, cursor = 0, None
        while True:
            page = await self.programs(marketplace_id, limit=_PAGE, cursor=cursor)
            found += [program for program in page.items if program.is_active and program.reactive_enabled]
            unreadable += page.unreadable
            seen, cursor = seen + len(page.items) + len(page.unreadable), page.cursor
            if seen > MAX_PROGRAMS:
                raise StateConflict(
                    f"marketplace {marketplace_id} has more than {MAX_PROGRAMS} programs: name one of them in programId"
                )
            if cursor is None:
                return TolerantPage(found, unreadable, None)

    async def versions(
        self, program_id: str, marketplace_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> TolerantPage[ProgramVersion]:
        """The versions of a program, latest first."""
        selection = ProgramVersion.of_program(program_id, marketplace_id)
        return await self._reader.page(selection, limit=limit, cursor=cursor)

    async def version(self, program_id: str, marketplace_id: str, number: int) -> ProgramVersion:
        found = await self._store.get(ProgramVersion.by_number(program_id, marketplace_id, number))
        if found is None:
            raise ResourceNotFound(f"there is no version {number} of program {program_id}")
        return found

    # -- changing -----------------------------------------------------------------------------------------------

    async def put_program(
        self,
        program_id: str,
        marketplace_id: str,
        configuration: Configuration,
        *,
        expected: int | None = None,
        by: str,
        seen: Seen = UNSEEN,
    ) -> Program:
        """Create or replace a program; refused unless ``expected``, if given, is its version.

        It is enabled at once only if the approved configuration has not changed otherwise.
        """
        # In a thread, as a database parses the query.
        await asyncio.to_thread(self._check, configuration)
        if seen.tags is None:
            return await self._put(program_id, marketplace_id, configuration, expected=expected, by=by)
        try:
            program = await self.program(program_id, marketplace_id, consistent=True)
        except ResourceNotFound as missing:
            raise PreconditionFailed(str(missing)) from None
        seen.require(program)
        if expected not in (None, program.version):
            raise _other_version(program_id, program.version, expected)
        try:
            return await self._put(program_id, marketplace_id, configuration, expected=program.version, by=by)
        except StateConflict as conflict:
            raise seen.outrun(str(conflict)) from None

    async def _put(
        self, program_id: str, marketplace_id: str, configuration: Configuration, *, expected: int | None, by: str
    ) -> Program:
        # Only the version of the stored program is needed: one that cannot be read is replaced in the same way.
        version = await self._reader.version(Program.by_id(program_id, marketplace_id))
        if expected not in (None, version):
            raise _other_version(program_id, version, expected)
        found = await self._reader.one(Program.by_id(program_id, marketplace_id), consistent=True)
        before = found if isinstance(found, Program) else None
        return await self._write(program_id, marketplace_id, before, version, _edited(before, configuration, by), by)

    async def set_enabled(
        self, program_id: str, marketplace_id: str, enabled: bool, *, by: str, seen: Seen = UNSEEN
    ) -> Program:
        """Enable an approved program, if it can work here; or disable it, in whatever state it is."""
        for _ in range(_ATTEMPTS):
            program = await self.program(program_id, marketplace_id, consistent=True)
            seen.require(program)
            if enabled and not program.is_approved:
                raise not_approved(program)
            # A program that is disabled while it waits is not enabled when it is approved.
            approval = program.approval.model_copy(update={"enables": enabled})
            if program.enabled is enabled and program.approval == approval:
                return program
            if enabled:
                await asyncio.to_thread(self._check, program.configured(enabled=True))
            change = _Change(_stored(program, enabled), approval, "enabled" if enabled else "disabled")
            try:
                return await self._write(program_id, marketplace_id, program, program.version, change, by)
            except StateConflict:
                # A concurrent change came first; it is enabled, or disabled, nevertheless.
                continue
        raise StateConflict(f"other requests keep changing program {program_id}; try again")

    # -- approval -----------------------------------------------------------------------------------------------

    async def request_approval(self, program_id: str, marketplace_id: str, *, by: str, seen: Seen = UNSEEN) -> Program:
        """Request approval of a program as it is, by someone else."""
        program = await self.program(program_id, marketplace_id, consistent=True)
        seen.require(program)
        if program.approval.state is ApprovalState.REQUESTED:
            return program
        if program.is_approved:
            raise StateConflict(f"program {program_id} is already approved")
        await asyncio.to_thread(self._check, program.configuration)
        approval = program.approval.model_copy(
            update={
                "state": ApprovalState.REQUESTED,
                "requested_by": by,
                "requested_at": self.now(),
                "decided_by": None,
                "decided_at": None,
                "reason": None,
            }
        )
        return await self._decide(program, _Change(_stored(program, False), approval, "requested"), by, seen)

    async def approve(
        self, program_id: str, marketplace_id: str, *, version: int, by: str, seen: Seen = UNSEEN
    ) -> Program:
        """Approve a version of a program, which enables it unless it was put with ``enabled`` off."""
        program = await self._requested(program_id, marketplace_id, version, seen)
        if by in program.approval.editors or by == program.approval.requested_by:
            raise Forbidden(
                f"program {program_id} must be approved by someone who has neither changed it nor requested approval"
            )
        await asyncio.to_thread(self._check, program.configuration)
        approval = program.approval.model_copy(
            update={"state": ApprovalState.APPROVED, "decided_by": by, "decided_at": self.now()}
        )
        change = _Change(_stored(program, approval.enables), approval, "approved")
        return await self._decide(program, change, by, seen)

    async def decline(
        self, program_id: str, marketplace_id: str, *, version: int, reason: str, by: str, seen: Seen = UNSEEN
    ) -> Program:
        """Send a program back to its editors."""
        program = await self._requested(program_id, marketplace_id, version, seen)
        approval = program.approval.model_copy(
            update={"state": ApprovalState.DECLINED, "decided_by": by, "decided_at": self.now(), "reason": reason}
        )
        return await self._decide(program, _Change(_stored(program, False), approval, "declined"), by, seen)

    async def _requested(self, program_id: str, marketplace_id: str, version: int, seen: Seen) -> Program:
        """A program that is waiting for approval, if it has the version that was reviewed."""
        program = await self.program(program_id, marketplace_id, consistent=True)
        seen.require(program)
        if program.version != version:
            raise _other_version(program_id, program.version, version)
        if program.approval.state is not ApprovalState.REQUESTED:
            raise StateConflict(f"program {program_id} is not waiting for approval: it is {program.approval.state}")
        return program

    async def _decide(self, program: Program, change: _Change, by: str, seen: Seen) -> Program:
        try:
            return await self._write(program.program_id, program.marketplace_id, program, program.version, change, by)
        except StateConflict as conflict:
            raise seen.outrun(str(conflict)) from None

    # -- writing ------------------------------------------------------------------------------------------------

    async def _write(
        self, program_id: str, marketplace_id: str, before: Program | None, version: int, change: _Change, by: str
    ) -> Program:
        """Write a program, its next version and its schedules together, unless its version has changed meanwhile."""
        values = {name: getattr(change.configuration, name) for name in _CONFIGURED}
        program = Program(
            program_id=program_id, marketplace_id=marketplace_id, version=version, approval=change.approval, **values
        )
        record = ProgramVersion(
            program_id=program_id,
            marketplace_id=marketplace_id,
            number=version + 1,
            configuration=change.configuration,
            step=change.step,
            changed_by=by,
            at=self.now(),
        )
        known: dict[str, Any] = {}
        if before is not None:
            known = {name: getattr(before, name) for name in _CONFIGURED} | {"approval": before.approval.state}
        thing = program_thing(program_id, marketplace_id)
        entry = self._audit.changed(thing, known, **values, approval=change.approval.state)
        # The program's version decides which request writes which record. One may exist already: an item that another
        # program has put without a version is replaced by the first version.
        operations: list[Operation] = [Put(program), Put(record), entry]
        operations += await self._scheduled(program)
        try:
            await self._store.transact(*operations)
        except Cancelled as cancelled:
            if any(isinstance(reason, AlreadyExists | VersionConflict | Conflict) for reason in cancelled.reasons):
                raise StateConflict(f"program {program_id} has just been changed; read it again") from None
            raise
        return await self.program(program_id, marketplace_id, consistent=True)

    async def _scheduled(self, program: Program) -> Sequence[Operation]:
        """The writes that set the schedules of a program; one that does not change keeps its next time."""
        operations: list[Operation] = []
        wanted = {ScheduleKind.BATCH: program.batch_schedule, ScheduleKind.DELIVERY: program.delivery_schedule}
        for kind, cron in wanted.items():
            lookup = Schedule.of_program(program.program_id, program.marketplace_id, kind)
            found = await self._reader.one(lookup, consistent=True)
            if cron is None or not is_schedule(cron, program.time_zone):
                if found is not None:
                    operations.append(Delete(lookup))
            elif not isinstance(found, Schedule) or (found.cron, found.time_zone) != (cron, program.time_zone):
                schedule = Schedule(
                    program_id=program.program_id,
                    marketplace_id=program.marketplace_id,
                    kind=kind,
                    cron=cron,
                    time_zone=program.time_zone,
                    due=next_due(cron, program.time_zone, self.now()),
                )
                operations.append(Put(schedule))
        return operations


def _stored(program: Program, enabled: bool) -> Configuration:
    """The stored configuration of a program, which might no longer be valid in a put."""
    values = {name: getattr(program, name) for name in _CONFIGURED} | {"enabled": enabled}
    return Configuration.model_construct(**values)


def _edited(before: Program | None, configuration: Configuration, by: str) -> _Change:
    """The approval of a program after an edit; an edit that changes nothing keeps it."""
    known = Approval() if before is None else before.approval
    if before is not None and all(
        getattr(before, name) == getattr(configuration, name) for name in _CONFIGURED if name != "enabled"
    ):
        approval = known.model_copy(update={"enables": configuration.enabled})
    else:
        former = [] if known.state is ApprovalState.APPROVED else known.editors
        editors = list(dict.fromkeys([*former, by]))
        if len(editors) > MAX_EDITORS:
            raise StateConflict(f"{MAX_EDITORS} people have changed this program; get it approved first")
        approval = Approval(editors=editors, enables=configuration.enabled)
    enabled = configuration.enabled and approval.state is ApprovalState.APPROVED
    return _Change(configuration.model_copy(update={"enabled": enabled}), approval, "edited")


def _other_version(program_id: str, version: int, expected: int | None) -> StateConflict:
    return StateConflict(f"program {program_id} is at version {version}, not {expected}; read it again")
