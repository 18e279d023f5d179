"""Trials of a program, which write and send nothing: the result of a run, and what one customer would be sent.

    customers ──▶ consent ──▶ models ──▶ filters ──▶ candidates ──▶ by channel
       read     left out by ...  scored   left out by ...

A dry run uses the code of a batch run, over as many customers as requested and as the time allows. Models are called
for scores that are not in the cache; their results are not stored, as the program may never be saved.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import nlargest
from threading import BoundedSemaphore
from typing import Any, Literal

from tablewright.runtime import Invalid, ResourceNotFound, StateConflict, TooManyRequests
from tablewright.systems.engagement.configuration import Channel, Connector
from tablewright.systems.engagement.delivery.channels import AddressRefused
from tablewright.systems.engagement.delivery.deliveries import Deliveries
from tablewright.systems.engagement.model import Candidate, Checkpoint, ModelScore
from tablewright.systems.engagement.runs.customer_batches import distinct
from tablewright.systems.engagement.scoring.filter_chain import PREFERENCE
from tablewright.systems.engagement.scoring.pipeline import Assessment, Pipeline, Plan
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.sources.column_values import literal, quoted
from tablewright.systems.engagement.sources.connectors import Sources
from tablewright.systems.engagement.sources.row_chunks import Halted, Unreadable

__all__ = ["Funnel", "LeftOutBy", "Preview", "PreviewChannel", "PreviewStep", "Trials"]

# Concurrent trials in a process: each has a database process of its own.
_AT_ONCE = 2
_TRY_AGAIN_AFTER = 5.0
_CHUNK = 250
_BEST = 10
_MAX_REASONS = 20


@dataclass(slots=True)
class LeftOutBy:
    """How many a filter left out, and why."""

    filter: str
    left_out: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Funnel:
    """The result of a run over the customers that were read."""

    total: int | None = None
    read: int = 0
    without_id: int = 0
    scored: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    # In order of evaluation: consent before the models, the others after them.
    filters: list[LeftOutBy] = field(default_factory=list)
    candidates: int = 0
    channels: dict[str, int] = field(default_factory=dict)
    best: list[Candidate] = field(default_factory=list)
    # Whether there were more customers than were read.
    more: bool = False


@dataclass(frozen=True, slots=True)
class PreviewStep:
    """The result of a filter for a customer."""

    filter: str
    outcome: Literal["passed", "left out", "not evaluated"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PreviewChannel:
    """What a customer would be sent through a channel; nothing if others deliver it, or for the given ``reason``."""

    channel_id: str
    message: dict[str, str]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The result for one customer."""

    candidate: Candidate
    scores: dict[str, ModelScore]
    error: str | None
    steps: Sequence[PreviewStep]
    channels: Sequence[PreviewChannel]


class Trials:
    """Tries programs out."""

    def __init__(self, pipeline: Pipeline, sources: Sources, deliveries: Deliveries) -> None:
        self._pipeline = pipeline
        self._sources = sources
        self._deliveries = deliveries
        self._room = BoundedSemaphore(_AT_ONCE)

    def funnel(self, plan: Plan, *, limit: int, within: float) -> Funnel:
        """The result of a run over the first customers, in so many seconds at most."""
        configuration = plan.configuration
        names = dict.fromkeys([PREFERENCE, *configuration.filter_chain.filters])
        found = Funnel(filters=[LeftOutBy(name) for name in names], channels=dict.fromkeys(plan.channels, 0))
        with self._turn(plan):
            end = time.monotonic() + within
            try:
                for number, connector in enumerate(configuration.data_connectors):
                    self._read(plan, number, connector, found, limit, end)
            except Halted:
                found.more = True
            except Unreadable as error:
                raise StateConflict(f"the customers cannot be read: {error}") from None
        return found

    def preview(self, plan: Plan, customer_id: str | None, *, within: float) -> Preview:
        """The result for a customer of the program, or for the first one."""
        with self._turn(plan):
            end = time.monotonic() + within
            try:
                prospect = self._customer(plan, customer_id, end)
            except Halted:
                raise StateConflict("reading the customers took too long; try again") from None
            except Unreadable as error:
                raise StateConflict(f"the customers cannot be read: {error}") from None
            (assessment,) = self._pipeline.assess(plan, [prospect], deadline=end, keep=False)
        problem, assessment.error = assessment.error, None
        _, candidate = self._pipeline.writes(plan, assessment, None)
        channels = [] if problem else [self._channel(plan, each, candidate) for each in plan.configuration.by_priority]
        return Preview(candidate, assessment.scores, problem, _steps(plan, assessment, problem), channels)

    @contextmanager
    def _turn(self, plan: Plan) -> Iterator[None]:
        if not plan.configuration.data_connectors:
            raise Invalid("the program has no data connector to read customers from", field="dataConnectors")
        if not self._room.acquire(blocking=False):
            raise TooManyRequests(f"{_AT_ONCE} programs are being tried out already; try again", _TRY_AGAIN_AFTER)
        try:
            yield
        finally:
            self._room.release()

    def _read(self, plan: Plan, number: int, connector: Connector, found: Funnel, limit: int, end: float) -> None:
        with self._sources.open(connector, _after(end)) as source:
            counted = source.count()
            found.total = None if counted is None or (number and found.total is None) else (found.total or 0) + counted
            for chunk in source.prospects(plan.program_id, Checkpoint(connector=number), _CHUNK):
                found.without_id, source.without_id = found.without_id + source.without_id, 0
                left = limit - found.read
                prospects = distinct(chunk)[:left]
                found.more = found.more or len(prospects) < len(chunk)
                assessed = self._pipeline.assess(plan, prospects, deadline=end, halted=_after(end), keep=False)
                for each in assessed:
                    self._count(plan, each, found)
                if found.read >= limit:
                    found.more = found.more or found.total is None or found.read + found.without_id < found.total
                    return

    def _count(self, plan: Plan, each: Assessment, found: Funnel) -> None:
        found.read += 1
        if each.error is not None:
            found.failed += 1
            if each.error in found.errors or len(found.errors) < _MAX_REASONS:
                found.errors[each.error] += 1
            return
        found.scored += not each.unwanted
        if each.left_out is not None:
            by = next(step for step in found.filters if step.filter == each.left_out.filter)
            by.left_out += 1
            if each.left_out.reason in by.reasons or len(by.reasons) < _MAX_REASONS:
                by.reasons[each.left_out.reason] += 1
            return
        found.candidates += 1
        for channel in each.prospect.channels:
            found.channels[channel] += 1
        _, candidate = self._pipeline.writes(plan, each, None)
        found.best = nlargest(_BEST, [*found.best, candidate], key=lambda one: one.score)

    def _customer(self, plan: Plan, customer_id: str | None, end: float) -> Prospect:
        for number, connector in enumerate(plan.configuration.data_connectors):
            asked = connector if customer_id is None else _only(connector, customer_id)
            with self._sources.open(asked, _after(end)) as source:
                for chunk in source.prospects(plan.program_id, Checkpoint(connector=number), 1):
                    if chunk:
                        return chunk[0]
        wanted = "no customer" if customer_id is None else f"no customer {customer_id}"
        raise ResourceNotFound(f"the data connectors have {wanted}")

    def _channel(self, plan: Plan, channel: Channel, candidate: Candidate) -> PreviewChannel:
        if candidate.rejected:
            return PreviewChannel(channel.channel_id, {}, "the customer is left out")
        if channel.channel_id not in candidate.channels:
            return PreviewChannel(channel.channel_id, {}, "the customer does not want this channel")
        try:
            message = self._deliveries.rendered(channel, plan.configuration.program_name, candidate)
        except AddressRefused as refused:
            return PreviewChannel(channel.channel_id, {}, str(refused))
        return PreviewChannel(channel.channel_id, message)


def _after(end: float) -> Callable[[], bool]:
    return lambda: time.monotonic() > end


def _only(connector: Connector, customer_id: str) -> Connector:
    """A connector restricted to one of its customers."""
    column = quoted(connector.customer_column)
    query = f"SELECT * FROM (\n{connector.query}\n) AS chosen WHERE CAST({column} AS VARCHAR) = {literal(customer_id)}"
    changes: dict[str, Any] = {"query": query}
    return connector.model_copy(update=changes)


def _steps(plan: Plan, assessment: Assessment, error: str | None) -> list[PreviewStep]:
    """The result of each filter, in order of evaluation."""
    steps: list[PreviewStep] = []
    left_out = assessment.left_out
    is_over = False
    for name in dict.fromkeys([PREFERENCE, *plan.configuration.filter_chain.filters]):
        if is_over or (error is not None and name != PREFERENCE):
            steps.append(PreviewStep(name, "not evaluated"))
        elif left_out is not None and left_out.filter == name:
            is_over = True
            steps.append(PreviewStep(name, "left out", left_out.reason))
        else:
            steps.append(PreviewStep(name, "passed"))
    return steps
