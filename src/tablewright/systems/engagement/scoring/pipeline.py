"""From customers to candidates: the pipeline of batch runs and events.

    prospects ──▶ consent ──▶ scores of every model, through the cache ──▶ one score by weight ──▶ filters ──▶ writes

Customers who opted out are not sent to models, and their rejected candidates keep only the rejection.

The writes of one customer belong together: the candidate, an entry for each of its channels, and the removal of entries
that it no longer has. A candidate that exists is refreshed: it keeps its creation, its expiry and its history. One that
a person has rejected is not changed until it expires.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tablewright.model import Lookup
from tablewright.store import Create, Delete, Operation, Put, Store, TolerantReader, Unreadable
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.model import (
    MAX_REJECTIONS,
    Candidate,
    ChannelEntry,
    Metadata,
    ModelScore,
    Rejection,
)
from tablewright.systems.engagement.scoring.filter_chain import MANUAL, Chain, FilterContext, LeftOut
from tablewright.systems.engagement.scoring.outages import Patience
from tablewright.systems.engagement.scoring.prospects import Prospect, Unfit, checked
from tablewright.systems.engagement.scoring.scores import Scorer, combined
from tablewright.systems.unreadable_log import UnreadableLog, describe

_MAX_CONTEXT = 20

_Verdicts = Callable[[Sequence[Prospect], FilterContext], Sequence[LeftOut | None]]


class Plan:
    """A program as it is executed."""

    def __init__(self, program_id: str, marketplace_id: str, configuration: Configuration) -> None:
        self.program_id = program_id
        self.marketplace_id = marketplace_id
        self.configuration = configuration
        self.chain = Chain(configuration.filter_chain)
        self.channels = [channel.channel_id for channel in configuration.by_priority]
        self.lifetime = timedelta(days=configuration.candidate_ttl_days)


@dataclass(slots=True)
class Assessment:
    """The result for a prospect: scores, and perhaps why it is left out; or an error."""

    prospect: Prospect
    scores: dict[str, ModelScore] = field(default_factory=dict)
    left_out: LeftOut | None = None
    # The customer opted out: no data of the customer is used.
    unwanted: bool = False
    error: str | None = None
    cached: int = 0
    scored: int = 0


class Pipeline:
    """Assesses prospects."""

    def __init__(
        self, store: Store, scorer: Scorer, clock: Callable[[], datetime], unreadable_log: UnreadableLog | None = None
    ) -> None:
        self.store = store
        self.unreadable_log = unreadable_log or UnreadableLog("engagement")
        self._reader = TolerantReader(store, self.unreadable_log.add)
        self._scorer = scorer
        self._clock = clock

    def assess(
        self,
        plan: Plan,
        prospects: Sequence[Prospect],
        *,
        fresh: bool = False,
        deadline: float | None = None,
        halted: Callable[[], bool] = lambda: False,
        patience: Patience | None = None,
        keep: bool = True,
    ) -> list[Assessment]:
        """The assessment of each prospect, in order; Halted if ``halted`` says so between two requests.

        ``patience`` is for unavailable models, ``keep`` for storing scores in the cache (``Scorer.score``).
        """
        assessments = [Assessment(prospect) for prospect in prospects]
        for each in assessments:
            try:
                checked(each.prospect)
            except Unfit as error:
                each.error = str(error)
            each.prospect.channels = list(plan.channels)
        context = FilterContext(self.store, plan.program_id, plan.marketplace_id, self._clock())
        self._filter(plan.chain.without_consent, [each for each in assessments if each.error is None], context)
        for each in assessments:
            each.unwanted = each.left_out is not None
        good = [each for each in assessments if each.error is None and not each.unwanted]
        models = plan.configuration.scoring_models
        prospects = [each.prospect for each in good]
        found = self._scorer.score(
            models, prospects, fresh=fresh, deadline=deadline, halted=halted, patience=patience, keep=keep
        )
        for each, scores in zip(good, found, strict=True):
            each.scores, each.error, each.cached = scores.found, scores.error, scores.cached
            each.scored = len(scores.found) - scores.cached
            if each.error is None:
                each.prospect.score = combined(models, scores.found)
        self._filter(plan.chain.apply, [each for each in good if each.error is None], context)
        return assessments

    def _filter(self, verdicts_of: _Verdicts, assessments: Sequence[Assessment], context: FilterContext) -> None:
        """Apply the filters; if they cannot read an item of a customer, that is an error of the customer."""
        try:
            verdicts = verdicts_of([each.prospect for each in assessments], context)
        except Unreadable as error:
            if len(assessments) == 1:
                self.unreadable_log.add(error)
                assessments[0].error = describe(error)
                return
            half = len(assessments) // 2
            self._filter(verdicts_of, assessments[:half], context)
            self._filter(verdicts_of, assessments[half:], context)
            return
        for each, verdict in zip(assessments, verdicts, strict=True):
            each.left_out = verdict

    def existing(self, plan: Plan, prospects: Sequence[Prospect]) -> list[Candidate | Unreadable | None]:
        """The existing candidates; one that cannot be read is an error."""
        return self._reader.each([lookup(plan, each) for each in prospects], consistent=True)

    def writes(
        self,
        plan: Plan,
        assessment: Assessment,
        existing: Candidate | None,
        *,
        run_id: str | None = None,
        context: dict[str, Any] | None = None,
    ) -> tuple[list[Operation], Candidate]:
        """The writes of one customer, which belong together, and the resulting candidate."""
        assert assessment.error is None
        if existing is not None and is_rejected_by_hand(existing):
            return [], existing
        now, prospect = self._clock(), assessment.prospect
        history = [] if existing is None else existing.rejection_history
        is_repeated = existing is not None and run_id is not None and existing.metadata.run_id == run_id
        if assessment.left_out is not None and not is_repeated:
            rejection = Rejection(reason=assessment.left_out.reason, filter=assessment.left_out.filter, at=now)
            history = [*history, rejection][-MAX_REJECTIONS:]
        contexts = [] if existing is None or assessment.unwanted else existing.context
        if assessment.unwanted:
            context = None
        created = now if existing is None else existing.metadata.created
        candidate = Candidate(
            customer_id=prospect.customer_id,
            program_id=plan.program_id,
            marketplace_id=plan.marketplace_id,
            subject=prospect.subject,
            context=contexts if context is None else [*contexts, context][-_MAX_CONTEXT:],
            scores=assessment.scores,
            score=prospect.score,
            channels=prospect.channels if assessment.left_out is None else [],
            attributes={} if assessment.unwanted else prospect.attributes,
            metadata=Metadata(created=created, day=created.date(), updated=now, run_id=run_id),
            rejected=assessment.left_out is not None,
            rejection_history=history,
            ttl=now + plan.lifetime if existing is None else existing.ttl,
            version=0 if existing is None else existing.version,
        )
        operations: list[Operation] = [Create(candidate) if existing is None else Put(candidate)]
        operations += [Put(entry_of(candidate, channel)) for channel in candidate.channels]
        if existing is not None:
            gone = [channel for channel in existing.channels if channel not in candidate.channels]
            operations += [Delete(entry_of(existing, channel)) for channel in gone]
        return operations, candidate


def lookup(plan: Plan, prospect: Prospect) -> Lookup[Candidate]:
    return Candidate.by_subject(
        customer_id=prospect.customer_id,
        program_id=plan.program_id,
        marketplace_id=plan.marketplace_id,
        subject__type=prospect.subject.type,
        subject__id=prospect.subject.id,
    )


def entry_of(candidate: Candidate, channel_id: str) -> ChannelEntry:
    """A candidate in the list of a channel."""
    return ChannelEntry(
        customer_id=candidate.customer_id,
        program_id=candidate.program_id,
        marketplace_id=candidate.marketplace_id,
        subject=candidate.subject,
        channel_id=channel_id,
        score=candidate.score,
        created=candidate.metadata.created,
        ttl=candidate.ttl,
    )


def is_rejected_by_hand(candidate: Candidate) -> bool:
    history = candidate.rejection_history
    return candidate.rejected and bool(history) and history[-1].filter == MANUAL
