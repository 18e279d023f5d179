"""Request and response bodies of engagement. Names are those of the design: ``customerId``, ``candidateTTLDays``."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

import orjson
from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from tablewright.runtime.http import path_ids
from tablewright.runtime.http.json_values import UNIQUE, ApiModel, Said, Shown, each_once
from tablewright.runtime.parameter_texts import matching
from tablewright.systems.engagement.configuration import Configuration, Json, Name, Number, Settings, TimeZone
from tablewright.systems.engagement.consent.customer_preferences import Change, patched, replaced
from tablewright.systems.engagement.delivery.deliveries import Cause, Summary
from tablewright.systems.engagement.model import (
    MAX_PROGRAMS_OFF,
    Approval,
    ChannelEntry,
    Checkpoint,
    Counts,
    DeliveryState,
    Program,
    QuietHours,
    RunState,
    Sample,
    Score,
    Step,
    Subject,
)
from tablewright.systems.engagement.program_checks import Review
from tablewright.systems.engagement.program_trials import Funnel, Preview
from tablewright.systems.engagement.reactive import Reaction
from tablewright.systems.engagement.service import ShownCandidate
from tablewright.systems.response_views import LEFT_OUT, EntityView
from tablewright.systems.unreadable_log import UnreadableItem

# The ids of customers and subjects come from other systems.
Id = Annotated[path_ids.Id, Field(examples=["12345"])]
SubjectType = Annotated[path_ids.Step, Field(min_length=1, max_length=50, examples=["product"])]
SubjectId = Annotated[path_ids.Step, Field(min_length=1, max_length=150, examples=["ABC"])]
Names = Annotated[list[Name], AfterValidator(each_once)]
MAX_CONTEXT_BYTES = 2_000
# As many digits as the key of a version has.
MAX_VERSION = 10**8 - 1


_HOUR = matching(r"^([01][0-9]|2[0-3]):[0-5][0-9]$", "use hours and minutes from 00:00 to 23:59, such as 22:00")


class View(ApiModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Strict(View):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


# -- request bodies -----------------------------------------------------------------------------------------------


_PROGRAM: JsonDict = {
    "programName": "Retail Customer Engagement",
    "dataConnectors": [
        {"type": "files", "query": "SELECT * FROM customers WHERE age >= 18", "tables": {"customers": "customers.csv"}}
    ],
    "scoringModels": [{"modelId": "propensity-v1", "weight": 0.7}],
    "filterChain": {"filters": ["frequency", "preference"]},
    "channels": [{"channelId": "email", "priority": 1}],
    "batchSchedule": "0 2 * * *",
    "timeZone": "Europe/Rome",
}


class ProgramBody(Configuration):
    model_config = ConfigDict(json_schema_extra={"examples": [_PROGRAM]})

    version: int | None = Field(
        default=None,
        ge=0,
        le=MAX_VERSION,
        description="the version that this is based on, 0 for a new program; refused if the version differs",
    )

    @property
    def configuration(self) -> Configuration:
        return Configuration(**{name: getattr(self, name) for name in Configuration.model_fields})


class TrialBody(Strict):
    configuration: Configuration | None = Field(
        default=None, description="the program to try out; if omitted, the program as it is stored"
    )


class DryRunBody(TrialBody):
    limit: int = Field(default=1_000, ge=1, le=20_000, description="maximum number of customers to read")


class PreviewBody(TrialBody):
    customer_id: Id | None = Field(default=None, description="if omitted, the first customer")


class ApprovalBody(Strict):
    version: int = Field(ge=1, le=MAX_VERSION, description="the version that was reviewed", examples=[2])


class DeclineBody(ApprovalBody):
    reason: Said = Field(max_length=500, examples=["the text promises a discount"])


class RejectionBody(Strict):
    reason: Said = Field(max_length=500, examples=["asked us not to"])


class SubjectBody(Strict):
    type: SubjectType
    id: SubjectId
    attributes: Settings = Field(default_factory=dict)


class EventBody(Strict):
    marketplace_id: Name = Field(examples=["US"])
    program_id: Name | None = Field(default=None, description="if omitted, every program that reacts to events")
    customer_id: Id
    subject: SubjectBody | None = None
    attributes: Json = Field(default_factory=dict, description="current attributes of the customer")
    context: Json = Field(default_factory=dict, examples=[{"event": "cart-abandoned"}])

    @model_validator(mode="after")
    def _small(self) -> EventBody:
        # The latest twenty are stored with the candidate.
        given = [self.context] if self.subject is None else [self.context, self.subject.attributes]
        if any(len(orjson.dumps(each, default=str)) > MAX_CONTEXT_BYTES for each in given):
            raise ValueError(f"context and the subject's attributes can have at most {MAX_CONTEXT_BYTES} bytes each")
        return self


class QuietHoursBody(Strict):
    start: str = Field(pattern=_HOUR, examples=["22:00"])
    end: str = Field(pattern=_HOUR, examples=["07:00"])
    time_zone: TimeZone = "UTC"


def _hours(body: QuietHoursBody | None) -> QuietHours | None:
    return None if body is None else QuietHours(**body.model_dump())


class PreferencesBody(Strict):
    opted_out: bool = False
    channels_off: Names = Field(default_factory=list, max_length=50, json_schema_extra=UNIQUE)
    programs_off: Names = Field(default_factory=list, max_length=MAX_PROGRAMS_OFF, json_schema_extra=UNIQUE)
    quiet_hours: QuietHoursBody | None = None

    @property
    def change(self) -> Change:
        names = ("opted_out", "channels_off", "programs_off")
        values = {name: getattr(self, name) for name in names} | {"quiet_hours": _hours(self.quiet_hours)}
        return replaced(values, self.model_fields_set)


class PreferencesPatch(Strict):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "examples": [{"optedOut": True}]})

    opted_out: bool = Field(default=False, description="omitted fields are not changed")
    channels_off: Names = Field(default_factory=list, max_length=50, json_schema_extra=UNIQUE)
    programs_off: Names = Field(default_factory=list, max_length=MAX_PROGRAMS_OFF, json_schema_extra=UNIQUE)
    quiet_hours: QuietHoursBody | None = Field(default=None, description="null for none")

    @model_validator(mode="after")
    def _something(self) -> PreferencesPatch:
        if not self.model_fields_set:
            raise ValueError("set at least one of optedOut, channelsOff, programsOff and quietHours")
        return self

    @property
    def change(self) -> Change:
        values = {name: getattr(self, name) for name in self.model_fields_set}
        if "quiet_hours" in values:
            values["quiet_hours"] = _hours(self.quiet_hours)
        return patched(values)


class DeliveryBody(Strict):
    limit: int = Field(default=100, ge=1, le=1_000, description="maximum number of attempts")


class RetryBody(DeliveryBody):
    channel_id: Name | None = Field(default=None, description="only deliveries that were refused through this channel")
    customer_id: Id | None = Field(default=None, description="only deliveries that were refused for this customer")


# -- response bodies ----------------------------------------------------------------------------------------------


class ProgramView(Configuration):
    program_id: str
    marketplace_id: str
    version: int
    approval: Approval

    @classmethod
    def of(cls, program: Program) -> ProgramView:
        # Not checked again: the stored program is shown, whether or not it could be put today.
        return cls.model_construct(**{name: getattr(program, name) for name in cls.model_fields})


class ProgramPage(View):
    programs: list[ProgramView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class ModelScoreView(View):
    value: Number
    confidence: Number | None
    timestamp: datetime


class ProgramProblem(View):
    field: str = Field(description="its path in the body; empty for the program as a whole", examples=["channels.0"])
    message: str


class ProgramReview(View):
    problems: list[ProgramProblem]
    attributes: list[str] | None = Field(description="attributes that texts and rules may use; null if unknown")

    @classmethod
    def of(cls, review: Review) -> ProgramReview:
        found = [ProgramProblem(field=each.field, message=each.message) for each in review.problems]
        return cls(problems=found, attributes=None if review.attributes is None else list(review.attributes))


class LeftOutView(View):
    filter: str
    left_out: int
    reasons: dict[str, int]


class BestView(View):
    customer_id: str
    subject: Subject
    score: Number
    scores: dict[str, ModelScoreView]
    channels: list[str]


class FunnelView(View):
    total: int | None = Field(description="total number of customers, if known")
    read: int
    without_id: int = Field(description="rows without a customer id")
    scored: int = Field(description="customers that the models have scored")
    failed: int
    errors: dict[str, int]
    filters: list[LeftOutView] = Field(
        description="customers left out, by filter: `preference` is evaluated before the models, the others after them"
    )
    candidates: int
    channels: dict[str, int] = Field(description="number of candidates by channel")
    best: list[BestView] = Field(description="candidates with the best scores")
    more: bool = Field(description="whether there are more customers than were read")

    @classmethod
    def of(cls, funnel: Funnel) -> FunnelView:
        own = {"filters", "best", "errors"}
        values = {name: getattr(funnel, name) for name in cls.model_fields if name not in own}
        steps = [LeftOutView(filter=e.filter, left_out=e.left_out, reasons=dict(e.reasons)) for e in funnel.filters]
        best = [BestView(**each.model_dump(include=set(BestView.model_fields))) for each in funnel.best]
        return cls(**values, filters=steps, best=best, errors=dict(funnel.errors))


class PreviewStepView(View):
    filter: str
    outcome: Literal["passed", "left out", "not evaluated"]
    reason: str | None


class PreviewChannelView(View):
    channel_id: str
    message: dict[str, str] = Field(description="what would be sent: `to`, `subject`, `text`; empty if others deliver")
    reason: str | None = Field(description="why nothing would be sent")


class PreviewView(View):
    customer_id: str
    subject: Subject
    attributes: Shown
    scores: dict[str, ModelScoreView]
    score: Number
    is_candidate: bool
    error: str | None = Field(description="why the customer could not be processed")
    steps: list[PreviewStepView]
    channels: list[PreviewChannelView]

    @classmethod
    def of(cls, preview: Preview) -> PreviewView:
        candidate = preview.candidate
        return cls(
            **candidate.model_dump(include={"customer_id", "subject", "attributes", "score"}),
            scores={name: ModelScoreView(**each.model_dump()) for name, each in preview.scores.items()},
            is_candidate=preview.error is None and not candidate.rejected,
            error=preview.error,
            steps=[PreviewStepView(filter=e.filter, outcome=e.outcome, reason=e.reason) for e in preview.steps],
            channels=[
                PreviewChannelView(channel_id=each.channel_id, message=each.message, reason=each.reason)
                for each in preview.channels
            ],
        )


class VersionView(View, EntityView):
    number: int
    step: Step = Field(description="what was done; an edit revokes the approval")
    changed_by: str
    at: datetime
    configuration: Configuration


class VersionPage(View):
    versions: list[VersionView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class RejectionView(View):
    reason: str
    filter: str
    at: datetime


class CandidateView(View):
    customer_id: str
    program_id: str
    marketplace_id: str
    subject: Subject
    score: Number
    scores: dict[str, ModelScoreView]
    channels: list[str] = Field(description="channels that the customer has not opted out of")
    context: list[Shown]
    attributes: Shown
    rejected: bool
    rejection_history: list[RejectionView]
    created: datetime
    updated: datetime
    expires: datetime | None
    run_id: str | None

    @classmethod
    def of(cls, shown: ShownCandidate) -> CandidateView:
        own = {"created", "updated", "expires", "run_id", "channels"}
        candidate = shown.candidate
        values = candidate.model_dump(include=set(cls.model_fields) - own)
        metadata = candidate.metadata
        return cls(
            **values,
            channels=shown.channels,
            created=metadata.created,
            updated=metadata.updated,
            expires=candidate.ttl,
            run_id=metadata.run_id,
        )


class CandidatePage(View):
    candidates: list[CandidateView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class EntryView(View):
    customer_id: str
    program_id: str
    marketplace_id: str
    channel_id: str
    subject: Subject
    score: Number
    created: datetime
    expires: datetime | None

    @classmethod
    def of(cls, entry: ChannelEntry) -> EntryView:
        return cls(**entry.model_dump(include=set(cls.model_fields)), expires=entry.ttl)


class EntryPage(View):
    candidates: list[EntryView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class ScoreView(View):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, protected_namespaces=())

    customer_id: str
    subject_id: str
    subject_type: str
    model_id: str
    value: Number
    confidence: Number | None
    timestamp: datetime
    expires: datetime | None

    @classmethod
    def of(cls, score: Score) -> ScoreView:
        named = {name: getattr(score, name) for name in ("customer_id", "subject_id", "subject_type", "model_id")}
        return cls(**named, **score.score.model_dump(), expires=score.ttl)


class ScoreList(View):
    scores: list[ScoreView]
    unreadable: list[UnreadableItem] = LEFT_OUT


class PreferencesView(View, EntityView):
    customer_id: str
    opted_out: bool
    channels_off: list[str]
    programs_off: list[str]
    quiet_hours: QuietHours | None


class PreferenceChangeView(View, EntityView):
    number: int
    at: datetime
    changed_by: str
    source: str = Field(description="`api`, or `one-click` or `page` of an unsubscribe link")
    changes: Shown = Field(
        description="what was changed, with the values before and after",
        examples=[{"optedOut": {"before": False, "after": True}}],
    )


class PreferenceHistory(View):
    changes: list[PreferenceChangeView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class RunView(View, EntityView):
    program_id: str
    marketplace_id: str
    run_id: str
    state: RunState
    trigger: str
    requested: str | None = Field(description="a request that is not handled yet: stop or cancel")
    waiting_for: str | None = Field(description="the model that it is waiting for, and why")
    attempt: int = Field(description="1, and one more each time it is resumed")
    program_version: int
    started: datetime
    updated: datetime
    finished: datetime | None
    total: int | None = Field(description="total number of customers, if known")
    counts: Counts
    checkpoint: Checkpoint
    errors: dict[str, int] = Field(description="number of occurrences by error")
    samples: list[Sample]
    failure: str | None = Field(description="why it failed or was paused")


class RunPage(View):
    runs: list[RunView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class ReactionView(View):
    program_id: str
    outcome: Literal["candidate", "rejected", "failed"]
    reason: str | None
    score: Number | None

    @classmethod
    def of(cls, reaction: Reaction) -> ReactionView:
        score = None if reaction.score is None else Decimal(reaction.score)
        return cls(program_id=reaction.program_id, outcome=reaction.outcome, reason=reaction.reason, score=score)


class ReactionList(View):
    reactions: list[ReactionView]


class DeliveryView(View, EntityView):
    delivery_id: str
    customer_id: str
    program_id: str
    marketplace_id: str
    channel_id: str
    subject: Subject
    state: DeliveryState
    reason: str | None
    retries: int = Field(description="how often it was refused and retried")
    at: datetime
    day: date


class DeliveryPage(View):
    deliveries: list[DeliveryView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class HeldUpView(View):
    cause: Cause = Field(
        description=(
            "`limit`: the channel's daily limit; `unavailable`: its receiver is down; `endpoint`: its receiver "
            "refuses everything; `policy`: the settings do not allow it"
        )
    )
    reason: str = Field(examples=["the webhook responded with 410"])


class SummaryView(View):
    attempted: int = Field(description="number of attempts, which `limit` bounds")
    sent: int
    refused: int = Field(description="not accepted because of their address or contents; `retry` sends them again")
    failed: int = Field(description="not sent because of an internal error, which is in the log; they are retried")
    waiting: int = Field(
        description="quiet hours, frequency limit, a temporarily unavailable mailbox, or being sent by another pass"
    )
    unwanted: int
    incomplete: dict[str, int] = Field(
        description="not sent, as their text uses an attribute that they do not have: number by attribute"
    )
    unreadable: int = Field(description="not sent, as items cannot be read; Admins see these at /unreadable")
    held_up: dict[str, HeldUpView] = Field(description="channels that were paused, and why; their candidates are kept")
    more: bool = Field(description="whether it ended before all candidates were processed")

    @classmethod
    def of(cls, summary: Summary) -> SummaryView:
        values = {name: getattr(summary, name) for name in cls.model_fields if name != "held_up"}
        held_up = {name: HeldUpView(cause=each.cause, reason=each.reason) for name, each in summary.held_up.items()}
        return cls(**values, held_up=held_up)
