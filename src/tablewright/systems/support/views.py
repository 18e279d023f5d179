"""What support takes and gives over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tablewright.runtime.json import JsonObject
from tablewright.store import sizes_outside
from tablewright.systems.support.model import Case, Event, Feedback, Priority, Status, Ticket
from tablewright.systems.support.service import Dashboard
from tablewright.systems.support.upkeep import JobState

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewTicket(Strict):
    customer_id: Id | None = Field(
        default=None, description="whose ticket it is; a customer's own, when it is left out", examples=["cust_456"]
    )
    symptom_text: str = Field(min_length=1, max_length=10_000, examples=["The pump stops after ten minutes"])
    priority: Priority = Priority.MEDIUM
    data: str = Field(default="", max_length=5_000_000, description="logs and traces")


class TicketIds(Strict):
    ticket_ids: list[Id] = Field(min_length=1, max_length=1_000)


class StatusChange(Strict):
    status: Status
    expected: Status = Field(description="the status that the change is based on; refused if it is another by now")


class Escalation(Strict):
    reason: str = Field(min_length=1, max_length=2_000, examples=["Pressure above the safe range"])
    engineer: Id = Field(examples=["eng_7"])
    expected: Status | None = Field(default=None, description="the status that this is based on")


class Data(Strict):
    data: str = Field(max_length=5_000_000, description="logs and traces")


class NewEvent(Strict):
    event_type: str = Field(min_length=1, max_length=100, pattern=r"^[a-z0-9_.-]+$", examples=["customer_called"])
    details: JsonObject = Field(default_factory=dict)


class NewFeedback(Strict):
    operator_id: Id = Field(examples=["op_9"])
    rating: int = Field(ge=1, le=5)
    was_helpful: bool | None = None
    comment: str | None = Field(default=None, max_length=5_000)


class NewSession(Strict):
    user_id: Id
    hours: float = Field(default=24, ge=0.01, le=24 * 30)


class Cached(Strict):
    data: JsonObject
    minutes: float = Field(default=15, ge=0.1, le=24 * 60)


class TicketView(BaseModel):
    ticket_id: str
    customer_id: str
    status: Status
    priority: Priority
    symptom_text: str
    created_at: datetime | None
    updated_at: datetime | None
    completed_at: datetime | None
    escalated_at: datetime | None
    escalation_reason: str | None
    assigned_to: str | None
    data_size: int = Field(description="bytes of logs and traces; /tickets/{ticket_id}/data has them")

    @classmethod
    def of(cls, ticket: Ticket) -> TicketView:
        values = {name: getattr(ticket, name) for name in cls.model_fields if name != "data_size"}
        outside = sizes_outside(ticket).get("data")
        return cls(**values, data_size=len(ticket.data.encode()) if outside is None else outside)


class TicketPage(BaseModel):
    tickets: list[TicketView]
    cursor: str | None = None


class EscalationView(BaseModel):
    ticket_id: str
    customer_id: str
    priority: Priority
    escalated_at: datetime
    escalation_reason: str
    assigned_to: str

    @classmethod
    def of(cls, ticket: Ticket) -> EscalationView:
        return cls(**{name: getattr(ticket, name) for name in cls.model_fields})


class EscalationPage(BaseModel):
    escalations: list[EscalationView]
    cursor: str | None = None


class EventView(BaseModel):
    number: int = Field(description="1, 2, 3, ... for each ticket")
    day: date
    timestamp: datetime
    event_type: str
    old_status: Status | None
    new_status: Status | None
    details: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> EventView:
        return cls(**event.model_dump(include=set(cls.model_fields)))


class EventPage(BaseModel):
    events: list[EventView]
    cursor: str | None = None


class FeedbackView(BaseModel):
    feedback_id: str
    ticket_id: str
    operator_id: str
    submitted_at: datetime
    rating: int
    was_helpful: bool | None
    comment: str | None

    @classmethod
    def of(cls, feedback: Feedback) -> FeedbackView:
        return cls(**feedback.model_dump(include=set(cls.model_fields)))


class FeedbackPage(BaseModel):
    feedback: list[FeedbackView]
    cursor: str | None = None


class OperatorFeedback(BaseModel):
    ticket_id: str
    rating: int
    was_helpful: bool | None = None


class OperatorFeedbackPage(BaseModel):
    feedback: list[OperatorFeedback]
    cursor: str | None = None


class CaseView(BaseModel):
    ticket: TicketView
    events: list[EventView]
    feedback: list[FeedbackView]

    @classmethod
    def of(cls, case: Case) -> CaseView:
        return cls(
            ticket=TicketView.of(case.ticket),
            events=[EventView.of(event) for event in case.events],
            feedback=[FeedbackView.of(feedback) for feedback in case.feedback],
        )


class SessionView(BaseModel):
    session_id: str
    user_id: str
    created_at: datetime | None
    expires_at: datetime


class Metrics(BaseModel):
    tickets_by_status: dict[Status, int]
    average_resolution_seconds: float | None
    resolved: int
    average_rating: float | None
    ratings: int

    @classmethod
    def of(cls, dashboard: Dashboard) -> Metrics:
        return cls(
            tickets_by_status=dashboard.tickets_by_status,
            average_resolution_seconds=dashboard.average_resolution_seconds,
            resolved=dashboard.resolved,
            average_rating=dashboard.average_rating,
            ratings=dashboard.ratings,
        )


class JobView(BaseModel):
    running: bool
    done: int = Field(description="how much has been gone through")
    total: int | None = Field(description="of how much, as far as that is known")
    outcome: str | None = Field(description="what it came to, once it is over")
    failed: str | None = Field(description="the kind of error that it ended with")

    @classmethod
    def of(cls, state: JobState) -> JobView:
        return cls(**asdict(state))
