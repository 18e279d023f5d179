"""The requests and responses of Support over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Annotated, NotRequired, Self

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from tablewright.runtime.http.json_values import ApiModel, JsonObject, Said, Shown, Text
from tablewright.runtime.http.path_ids import Id
from tablewright.runtime.parameter_texts import matching
from tablewright.store import Unreadable, offloaded_sizes
from tablewright.systems.response_views import LEFT_OUT, EntityView
from tablewright.systems.support.model import (
    INTERNAL_EVENTS,
    SYSTEM_EVENTS,
    Case,
    EscalatedTicket,
    Event,
    Feedback,
    FeedbackOfOperator,
    Priority,
    Status,
    Ticket,
)
from tablewright.systems.unreadable_log import UnreadableItem, unreadable_items


class Strict(ApiModel):
    model_config = ConfigDict(extra="forbid")


class NewTicket(Strict):
    customer_id: Id | None = Field(
        default=None, description="the ticket's customer; customers may omit it", examples=["cust_456"]
    )
    symptom_text: Said = Field(max_length=10_000, examples=["The pump stops after ten minutes"])
    priority: Priority = Priority.MEDIUM
    data: Text = Field(default="", description="logs and traces, up to the largest request (the setting max_body)")


class TicketIds(Strict):
    ticket_ids: list[Id] = Field(min_length=1, max_length=1_000)


class StatusChange(Strict):
    status: Status
    expected: Status | None = Field(
        default=None, description="the status that the change is based on; 409 if the current one differs"
    )


class Escalation(Strict):
    reason: Said = Field(max_length=2_000, examples=["Pressure above the safe range"])
    engineer: Id = Field(examples=["eng_7"])
    expected: Status | None = Field(
        default=None, description="the status that this is based on; 409 if the current one differs"
    )
    expected_engineer: Id | None = Field(
        default=None,
        description="the current assignee of a ticket that is reassigned; 409 if it is another person",
        examples=["eng_3"],
    )


class Assignment(Strict):
    assignee: Id | None = Field(description="the new assignee; null for none", examples=["eng_7"])


class PriorityChange(Strict):
    priority: Priority


class NewMessage(Strict):
    text: Said = Field(max_length=20_000, examples=["Please send us the log of the controller."])


class Data(Strict):
    data: Text = Field(description="logs and traces, up to the largest request (the setting max_body)")


def _of_a_client(event_type: str) -> str:
    if event_type in SYSTEM_EVENTS:
        raise ValueError(f"{event_type} is written by the system itself; choose another event_type")
    return event_type


class NewEvent(Strict):
    event_type: Annotated[str, AfterValidator(_of_a_client)] = Field(
        min_length=1,
        max_length=100,
        pattern=matching(r"^[a-z0-9_.-]+$", "use lowercase letters, digits and _ . -"),
        description=f"any word except {', '.join(sorted(SYSTEM_EVENTS))}, which the system itself writes",
        examples=["customer_called"],
    )
    details: JsonObject = Field(default_factory=dict)


class NewFeedback(Strict):
    operator_id: Id | None = Field(
        default=None,
        examples=["op_9"],
        description="from customers: the person whose help it is about, who worked on the ticket; "
        "from operators: their own id, or omitted",
    )
    rating: int = Field(ge=1, le=5)
    was_helpful: bool | None = None
    comment: Annotated[Said, Field(max_length=5_000)] | None = None


class NewSession(Strict):
    user_id: Id
    hours: float = Field(default=24, ge=0.01, le=24 * 30)


class Cached(Strict):
    data: JsonObject
    minutes: float = Field(default=15, ge=0.1, le=24 * 60)


class TicketView(TypedDict):
    ticket_id: str
    customer_id: str
    status: Status
    priority: Priority
    symptom_text: str
    created_at: datetime | None
    updated_at: datetime | None
    completed_at: datetime | None
    escalated_at: datetime | None
    escalation_reason: Annotated[str | None, Field(description="for staff; null for customers")]
    assigned_to: str | None
    data_size: Annotated[int, Field(description="bytes of logs and traces; /tickets/{ticket_id}/data has them")]


def ticket_view(ticket: Ticket, *, for_customer: bool = False) -> TicketView:
    outside = offloaded_sizes(ticket).get("data")
    return {
        "ticket_id": ticket.ticket_id,
        "customer_id": ticket.customer_id,
        "status": ticket.status,
        "priority": ticket.priority,
        "symptom_text": ticket.symptom_text,
        "created_at": ticket.created_at,
        "updated_at": ticket.updated_at,
        "completed_at": ticket.completed_at,
        "escalated_at": ticket.escalated_at,
        "escalation_reason": None if for_customer else ticket.escalation_reason,
        "assigned_to": ticket.assigned_to,
        "data_size": len(ticket.data.encode()) if outside is None else outside,
    }


class TicketPage(TypedDict):
    tickets: list[TicketView]
    cursor: NotRequired[str | None]
    unreadable: list[UnreadableItem]


def ticket_page(
    tickets: Iterable[Ticket],
    unreadable: Iterable[Unreadable],
    cursor: str | None = None,
    *,
    for_customer: bool = False,
) -> TicketPage:
    return {
        "tickets": [ticket_view(ticket, for_customer=for_customer) for ticket in tickets],
        "cursor": cursor,
        "unreadable": unreadable_items(unreadable),
    }


class EscalationView(ApiModel):
    ticket_id: str
    customer_id: str
    priority: Priority
    escalated_at: datetime | None
    escalation_reason: str | None
    assigned_to: str | None

    @classmethod
    def of(cls, ticket: EscalatedTicket) -> EscalationView:
        return cls(**dict(ticket))


class EscalationPage(ApiModel):
    escalations: list[EscalationView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class EventView(EntityView):
    number: int = Field(description="1, 2, 3, ... for each ticket")
    day: date
    timestamp: datetime
    event_type: str
    old_status: Status | None
    new_status: Status | None
    details: Shown
    author: str | None = Field(description="the `sub` of its author", examples=["op_9"])

    @classmethod
    def shown(cls, event: Event, *, for_customer: bool) -> EventView | None:
        """An event as a caller may see it: customers see neither notes nor reasons of escalations."""
        if not for_customer:
            return cls.of(event)
        if event.event_type in INTERNAL_EVENTS:
            return None
        details = event.details
        if event.event_type in SYSTEM_EVENTS:
            details = {name: value for name, value in details.items() if name != "reason"}
        return cls.of(event.model_copy(update={"details": details}))


class MessageView(ApiModel):
    ticket_id: str
    event_type: str = Field(examples=["staff_message"])
    timestamp: datetime
    author: str | None = Field(description="the `sub` of its author", examples=["op_9"])
    text: str

    @classmethod
    def of(cls, event: Event) -> MessageView:
        return cls(
            ticket_id=event.ticket_id,
            event_type=event.event_type,
            timestamp=event.timestamp,
            author=event.author,
            text=str(event.details.get("text", "")),
        )


class EventPage(ApiModel):
    events: list[EventView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class FeedbackView(EntityView):
    feedback_id: str
    ticket_id: str
    given_by: str
    about: str | None = Field(description="the person whose help a customer rated; null for feedback by an operator")
    operator_id: str = Field(description="the operator that it is about, or who gave it")
    submitted_at: datetime
    submitted_by: str | None = Field(
        description="the `sub` of the sender, which may be a program that asked the customer"
    )
    rating: int
    was_helpful: bool | None
    comment: str | None


class FeedbackPage(ApiModel):
    feedback: list[FeedbackView]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class OperatorFeedback(ApiModel):
    ticket_id: str
    given_by: str
    about: str | None = Field(description="the operator, if a customer gave it; null if the operator did")
    rating: int
    was_helpful: bool | None

    @classmethod
    def of(cls, feedback: FeedbackOfOperator, operator_id: str) -> OperatorFeedback:
        return cls(**dict(feedback), about=None if feedback.given_by == operator_id else operator_id)


class OperatorFeedbackPage(ApiModel):
    feedback: list[OperatorFeedback]
    cursor: str | None = None
    unreadable: list[UnreadableItem] = LEFT_OUT


class CaseView(ApiModel):
    ticket: TicketView
    events: list[EventView]
    feedback: list[FeedbackView]
    unreadable: list[UnreadableItem] = LEFT_OUT

    @classmethod
    def of(
        cls, case: Case, feedback: Iterable[Feedback], unreadable: Iterable[Unreadable], *, for_customer: bool
    ) -> CaseView:
        """With the given part of its feedback."""
        events = (EventView.shown(event, for_customer=for_customer) for event in case.events)
        return cls(
            ticket=ticket_view(case.ticket, for_customer=for_customer),
            events=[event for event in events if event is not None],
            feedback=[FeedbackView.of(each) for each in feedback],
            unreadable=unreadable_items(unreadable),
        )


class SessionView(ApiModel):
    session_id: str
    user_id: str
    created_at: datetime | None
    expires_at: datetime


class PriorityView(EntityView):
    open: int = Field(description="tickets that are not READY")
    resolved: int
    average_resolution_seconds: float | None


class TrendView(EntityView):
    start: datetime = Field(description="start of the hour or the day; days are in UTC")
    opened: int
    resolved: int
    average_resolution_seconds: float | None = Field(description="of tickets resolved in it")
    ratings: int
    average_rating: float | None


class Trends(ApiModel):
    hours: list[TrendView] = Field(description="oldest first, the current hour last")
    days: list[TrendView] = Field(description="oldest first, today last")


class OperatorView(EntityView):
    operator_id: str
    resolved: int = Field(description="tickets that this operator made READY, and that still are")
    average_resolution_seconds: float | None
    ratings: int = Field(description="by customers, on this operator's help")
    average_rating: float | None


class Operators(ApiModel):
    operators: list[OperatorView] = Field(description="most resolved tickets first")


class Metrics(EntityView):
    tickets_by_status: dict[Status, int]
    average_resolution_seconds: float | None
    resolved: int
    average_rating: float | None = Field(description="by customers, on the help that they got")
    ratings: int
    average_operator_rating: float | None = Field(description="by operators, on the help that tickets got")
    operator_ratings: int
    by_priority: dict[Priority, PriorityView]

    @classmethod
    def of(cls, entity: object) -> Self:
        values = {name: getattr(entity, name) for name in cls.model_fields if name != "by_priority"}
        priorities = getattr(entity, "by_priority")  # noqa: B009
        return cls(**values, by_priority={name: PriorityView.of(each) for name, each in priorities.items()})


class JobView(EntityView):
    running: bool
    done: int = Field(description="how much has been done")
    total: int | None = Field(description="of how much, if known")
    outcome: str | None = Field(description="the result, once it has ended")
    failed: str | None = Field(description="the error that it ended with")
