"""The process of a relocation: it continues from the current phase until it is finished.

    take over ─▶ copying ─▶ following ⇄ reversing ─▶ finished
                               │   a pass, a beat, a comparison; cut or back when it is asked for and possible
                               │   a pass, a heartbeat, a comparison; cut or back when requested and possible
        hold ─ wait for a lease ─ read the rest ─ compare what changed last ─ stream of the other place on ─ move ─ open

It may be killed at any point. Decisions are in the switches: if the process of a hold is gone, waiting programs break
it, and if a switch has moved, the rest is done by the next process, or by any command.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import uuid4

from tablewright.store import PlaceSwitch
from tablewright.transfer.errors import TransferError
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.table_definition import TableDefinition
from tablewright.transfer.places.table_place import TablePlace, endpoint_backend
from tablewright.transfer.relocation.bulk_copying import BulkCopy
from tablewright.transfer.relocation.control_table import ControlTable
from tablewright.transfer.relocation.live_comparing import LiveComparison
from tablewright.transfer.relocation.relocation_state import REQUESTS, RelocationState
from tablewright.transfer.relocation.stream_following import StreamFollower
from tablewright.transfer.relocation.stream_trial import TRIAL_TABLE, try_streams
from tablewright.transfer.relocation.table_streams import WHOLE_IMAGES, TableStreams

__all__ = ["Relocation", "RelocationEvent", "RelocationOptions", "open_relocation"]

_BOTH_IMAGES = "NEW_AND_OLD_IMAGES"
# DynamoDB Streams throttles consumers that read a shard more often than five times per second.
_IDLE_SECONDS = 0.2
_BEAT_SECONDS = 0.5
# A stream without records for so long, while nothing is written, has no more.
_QUIET_SECONDS = 0.2
_MAX_LAG = 1.0
# Longer than programs wait: they have broken a hold by then, and their changes would extend the stream.
_MAX_HOLD_SECONDS = 6.0
_TOO_LATE = "it took too long, so that waiting programs continued; try again"
# A process without a heartbeat for so long is gone.
_SILENT_SECONDS = 10.0
_MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class RelocationOptions:
    """The options of a relocation; ``tables`` are those of the source, all if it is empty."""

    tables: Sequence[str] = ()
    segments: int = 4


@dataclass(frozen=True, slots=True)
class RelocationEvent:
    """A progress report: ``copy`` with items, ``follow`` with records and lag, ``step`` with a text."""

    kind: Literal["copy", "follow", "step"]
    text: str = ""
    items: int = 0
    expected: int = 0


OnEvent = Callable[[RelocationEvent], None]


class _Place:
    """One of the two places."""

    def __init__(self, place: str, read_rate: float | None, write_rate: float | None) -> None:
        calls = PatientCalls(endpoint_backend(place), read_rate=read_rate, write_rate=write_rate)
        self.tables = TablePlace(place, calls)
        # Requests during a hold are not limited to a rate.
        self._unpaced = PatientCalls(calls.backend)
        self.control = ControlTable(self.tables, calls)
        self.streams = TableStreams(self.tables, self._unpaced)

    async def try_streams(self) -> None:
        await try_streams(self.tables, self._unpaced)

    def close(self) -> None:
        self.tables.close()


@asynccontextmanager
async def open_relocation(
    source: str, target: str, *, read_rate: float | None = None, write_rate: float | None = None
) -> AsyncIterator[Relocation]:
    """The relocation from one endpoint to another, whether it has begun or not. Rates are in units per second."""
    if source == target:
        raise TransferError("source and target are the same place")
    first = _Place(source, read_rate, write_rate)
    try:
        second = _Place(target, read_rate, write_rate)
        try:
            yield Relocation(first, second)
        finally:
            second.close()
    finally:
        first.close()


class Relocation:
    """A relocation between two places; created by ``open_relocation``."""

    def __init__(self, source: _Place, target: _Place) -> None:
        self._source, self._target = source, target
        self._on_event: OnEvent = lambda _: None
        self._state: RelocationState | None = None
        self._known_since = 0.0

    # -- what commands do besides ---------------------------------------------------------------------------------

    async def status(self) -> RelocationState | None:
        """Its progress; None if there is none."""
        item = await self._target.control.main()
        return None if item is None or "plan" not in item else RelocationState.of(item)

    async def ask(self, request: str) -> dict[str, Any]:
        """Request ``cut``, ``back`` or ``finish`` from the relocation's process, and wait; returns its response.

        The response has ``done``, and ``reason`` if it is not done.
        """
        state = await self.status()
        if state is None:
            raise TransferError("there is no such relocation; begin it with tablewright relocate start")
        if not await self._target.control.ask(request, REQUESTS[request]):
            raise TransferError(
                f"the tables are served by {state.open_place}, in the phase {state.phase}: {request} is impossible now"
            )
        beat, heard_at = state.beat, _now()
        while True:
            await asyncio.sleep(0.1)
            state = await self.status()
            if state is None:
                return {"done": request == "finish"}
            if state.answer is not None and state.answer["request"] == request:
                return state.answer
            if state.beat != beat:
                beat, heard_at = state.beat, _now()
            elif _now() - heard_at > _SILENT_SECONDS:
                await self._target.control.withdraw(request)
                raise TransferError("no process runs this relocation; continue it with tablewright relocate start")

    # -- the process ------------------------------------------------------------------------------------------------

    async def run(self, options: RelocationOptions, on_event: OnEvent = lambda _: None) -> str:
        """Begin or continue until it is finished; returns the place where the tables are."""
        self._on_event = on_event
        if await self.status() is None:
            for place in (self._source, self._target):
                await place.try_streams()
        for place in (self._source, self._target):
            await place.control.ensure()
        if await self.status() is None:
            await self._begin(options)
        owner = await self._target.control.next_owner()
        for place in (self._target, self._source):
            await place.control.take_over(owner)
        state = self._state = await self.status()
        if state is None:
            raise TransferError("the relocation was finished by another process")
        if (state.source, state.target) != (self._source.tables.place, self._target.tables.place):
            raise TransferError(
                f"{state.target} already has a relocation from {state.source}; name the same places, or finish it"
            )
        await self._set_switches()
        # Programs without a switch have read it after this.
        self._known_since = _now() + PlaceSwitch.FIRST_SECONDS
        if state.phase == "copying" and not await self._copy(options.segments):
            return await self._finish()
        while await self._follow():
            pass
        return await self._finish()

    async def _begin(self, options: RelocationOptions) -> None:
        source, target = self._source.tables, self._target.tables
        known = [name for name in await source.table_names() if name not in (PlaceSwitch.TABLE, TRIAL_TABLE)]
        names = list(dict.fromkeys(options.tables)) or known
        definitions: dict[str, TableDefinition] = {}
        for name in names:
            definition = await source.definition(name) if name in known else None
            if definition is None:
                raise TransferError(f"{source.place} has no table {name}; it has {', '.join(known) or 'none'}")
            if definition.stream not in (None, *WHOLE_IMAGES):
                raise TransferError(
                    f"the stream of {name} has {definition.stream}, not the items after a change; turn it off, or "
                    f"on again with {_BOTH_IMAGES}"
                )
            there = await target.existing(name)
            if there is not None and there.typed_key != definition.typed_key:
                raise TransferError(f"{name} of {target.place} has another key; delete it, and it is created again")
            if await target.occupied(name, definition, into_existing=False):
                raise TransferError(f"{name} of {target.place} already has items; delete the table, or its items")
            definitions[name] = definition
        if not names:
            raise TransferError(f"{source.place} has no tables")
        first, second = await self._source.control.switch(), await self._target.control.switch()
        if first.state == "moved":
            raise TransferError(f"the tables of {source.place} have been relocated; they are served elsewhere")
        if second.state == "open" and second.exists:
            raise TransferError(
                f"{target.place} still has the switch of an earlier relocation; when all programs have their new "
                f"settings, delete the table {PlaceSwitch.TABLE} there"
            )
        state = RelocationState("copying", source.place, target.place, definitions)
        await self._target.control.create_main(state.item())

    async def _set_switches(self) -> None:
        """Create the switches, if this relocation has none yet."""
        state = self._begun
        if state.phase != "copying":
            return
        tables = frozenset(state.tables)
        first, second = await self._source.control.switch(), await self._target.control.switch()
        if second.state != "standby":
            await self._target.control.set_switch(PlaceSwitch("standby", second.epoch), second)
        if not first.exists or (first.state == "open" and first.tables != tables):
            # Higher than in either place.
            epoch = max(first.epoch, second.epoch, 1)
            await self._source.control.set_switch(PlaceSwitch("open", epoch, tables), first)

    @property
    def _begun(self) -> RelocationState:
        assert self._state is not None
        return self._state

    # -- copying ----------------------------------------------------------------------------------------------------

    async def _copy(self, segments: int) -> bool:
        """Copy everything, from a point in time in the streams; returns False if it was cancelled."""
        state, source, target = self._begun, self._source, self._target
        if not state.streams:
            arns = {
                name: await source.streams.turn_on(name, definition.stream or _BOTH_IMAGES)
                for name, definition in state.definitions.items()
            }
            for name, definition in state.definitions.items():
                if await target.tables.existing(name) is None:
                    await target.tables.create(name, definition)
                # A process before this one may have been stopped while it was being created.
                await target.tables.until_active(name)
                # So that it begins with the first change that is made there.
                await target.streams.turn_off(name)
            self._step("reading the streams to their end")
            await StreamFollower(source.streams, target.control, arns, state.definitions, _now).skim()
            state.streams = arns
            await self._save()
        expected = sum([await source.tables.expected_items(name) for name in state.tables])

        def on_items(table: str, items: int) -> None:
            state.progress = {"items": items}
            self._on_event(RelocationEvent("copy", table, items, max(items, expected)))

        copy = BulkCopy(source.tables, target.control, segments, on_items)
        work = asyncio.ensure_future(_unwrapped(copy.run(state.tables)))
        try:
            while not work.done():
                await asyncio.wait([work], timeout=_BEAT_SECONDS)
                await self._save()
                if state.asked == "finish":
                    return False
            await work
        finally:
            work.cancel()
        state.phase = "following"
        await self._save()
        self._step(f"copied {copy.items} items; following {source.tables.place}")
        return True

    # -- following, in either direction -------------------------------------------------------------------------------

    async def _follow(self) -> bool:
        """Follow the open place until the tables move; False when it is finished."""
        state = self._begun
        here, there = self._source, self._target
        if state.phase == "reversing":
            here, there = there, here
        if (await here.control.switch()).state == "moved":
            # A previous process was stopped after the decision.
            await self._arrive(here, there, None)
            return True
        await self._settle(there)
        follower = StreamFollower(here.streams, there.control, state.streams, state.definitions, _now)
        comparison = LiveComparison(here.tables, there.control, follower)
        comparing: asyncio.Future[None] | None = None
        beat_at = 0.0
        try:
            while True:
                quiet = await follower.run_pass()
                wanted = "back" if state.phase == "reversing" else "cut"
                # The way back is compared when requested: writes of others to the old place are found.
                is_due = wanted == "cut" or state.asked == wanted
                if comparing is None and not state.verified and is_due and follower.lag < _MAX_LAG:
                    tables = [(name, definition.key) for name, definition in state.definitions.items()]
                    comparing = asyncio.ensure_future(_unwrapped(comparison.run(tables)))
                if comparing is not None and comparing.done() and not state.verified:
                    await comparing
                    state.verified = True
                    self._step(
                        f"compared {comparison.compared} items of both places, {len(comparison.repaired)} written again"
                    )
                if _now() - beat_at > _BEAT_SECONDS:
                    beat_at = _now()
                    state.progress = {
                        "lag": round(follower.lag, 3),
                        "records": follower.records,
                        "compared": comparison.compared,
                        "repaired": comparison.repaired[:_MAX_LISTED],
                    }
                    await self._save()
                    self._on_event(RelocationEvent("follow", f"lag {follower.lag:.1f} s", follower.records))
                if state.asked == "finish":
                    return False
                ready = state.verified and follower.lag < _MAX_LAG and _now() > self._known_since
                if state.asked == wanted and ready and await self._move(here, there, follower, comparison):
                    return True
                if quiet:
                    await asyncio.sleep(_IDLE_SECONDS)
        finally:
            if comparing is not None:
                comparing.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await comparing

    async def _settle(self, there: _Place) -> None:
        """Disable the streams of the following place, and enable all features of the tables in the open one."""
        state = self._begun
        for name in state.tables:
            await there.streams.turn_off(name)
        if state.phase == "reversing":
            for name, definition in state.definitions.items():
                for each in await self._target.tables.finish(name, replace(definition, stream=None)):
                    self._step(f"{name}: not enabled, because the target refuses it: {each}")

    async def _move(self, here: _Place, there: _Place, follower: StreamFollower, comparison: LiveComparison) -> bool:
        """The cut: hold, read the rest, compare, move; whether the tables have moved."""
        state = self._begun
        switch = await here.control.switch()
        hold = uuid4().hex
        began = _now()
        if not await here.control.step(switch.holding(hold)):
            return False
        held = replace(switch, state="held", hold=hold)
        known_at = _now() + PlaceSwitch.HOLD_SECONDS
        self._step(f"requests to {here.tables.place} are on hold")
        while True:
            passed_at = _now()
            quiet = await follower.run_pass()
            if quiet and passed_at > known_at and passed_at - follower.last_record_at > _QUIET_SECONDS:
                break
            if passed_at - began > _MAX_HOLD_SECONDS:
                await here.control.step(held.releasing())
                return await self._not_moved(
                    f"the stream of {here.tables.place} did not end within {_MAX_HOLD_SECONDS:g} s: a program without "
                    f"the switch writes to it, or waiting programs continued; try again"
                )
            await asyncio.sleep(0 if not quiet else 0.01)
        different = [
            name.decode()
            for table, keys in follower.recent.items()
            for name in await comparison.differing(table, state.definitions[table].key, list(keys.values()))
        ]
        if different and not await here.control.step(held.releasing()):
            # Waiting programs have broken the hold, so their writes differ.
            return await self._not_moved(_TOO_LATE)
        if different:
            state.verified = False
            await self._answer(done=False, reason=f"{len(different)} items differ", differing=different[:_MAX_LISTED])
            raise TransferError(
                f"the latest changes differ in the two places, so nothing was moved: {', '.join(different[:5])}; "
                "run the same command again, which compares everything"
            )
        for name, definition in state.definitions.items():
            await there.streams.turn_on(name, definition.stream or _BOTH_IMAGES)
        if not await here.control.step(held.moving()) and not await self._has_moved(here, held):
            for name in state.tables:
                await there.streams.turn_off(name)
            return await self._not_moved(_TOO_LATE)
        await self._arrive(here, there, began)
        return True

    async def _not_moved(self, reason: str) -> bool:
        await self._answer(done=False, reason=reason)
        return False

    @staticmethod
    async def _has_moved(place: _Place, held: PlaceSwitch) -> bool:
        """Whether a step was made whose response was lost."""
        now = await place.control.switch()
        return (now.state, now.epoch, now.hold) == ("moved", held.epoch + 1, held.hold)

    async def _arrive(self, here: _Place, there: _Place, began: float | None) -> None:
        """Carry out the decision, idempotently: the other place is open."""
        state = self._begun
        moved = await here.control.switch()
        await there.control.step(PlaceSwitch.opening(moved.epoch, moved.tables))
        seconds = None if began is None else round(_now() - began, 3)
        state.streams = {
            name: await there.streams.turn_on(name, definition.stream or _BOTH_IMAGES)
            for name, definition in state.definitions.items()
        }
        state.phase = "reversing" if there is self._target else "following"
        state.verified = False
        # Reported before the response: a process that is killed in between reports it again, and not never.
        self._step(
            f"the tables are served by {there.tables.place}"
            + ("" if seconds is None else f", after {seconds:.2f} s; {here.tables.place} follows")
        )
        await self._answer(done=True, held=seconds)

    async def _answer(self, **answer: Any) -> None:
        state = self._begun
        asked = state.asked
        content = {"answer": {"S": json.dumps({"request": asked, **answer})}} if asked is not None else {}
        await self._save(content, removed=["asked"])

    # -- the end ----------------------------------------------------------------------------------------------------

    async def _finish(self) -> str:
        """Close the way back: the tables stay where they are open, with the switches that say so."""
        state = self._begun
        place = self._target if state.phase == "reversing" else self._source
        other = self._source if place is self._target else self._target
        for name, definition in state.definitions.items():
            if definition.stream is None:
                await place.streams.turn_off(name)
        await other.control.clear()
        await place.control.clear()
        self._step(f"finished: the tables are at {place.tables.place}")
        return place.tables.place

    # -- telling ----------------------------------------------------------------------------------------------------

    async def _save(self, more: dict[str, Any] | None = None, removed: Sequence[str] = ()) -> None:
        """Record the progress, and read what is requested."""
        state = self._begun
        state.beat += 1
        item = await self._target.control.update_main({**state.changes(), **(more or {})}, removed)
        state.asked = item.get("asked", {}).get("S")

    def _step(self, text: str) -> None:
        self._on_event(RelocationEvent("step", text))


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _unwrapped(work: Any) -> None:
    """The work; of several errors, the first one is raised."""
    try:
        await work
    except BaseExceptionGroup as failed:
        error: BaseException = failed
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
