"""The search of Support: staff and their customers find tickets; feedback is found by the people it concerns."""

from __future__ import annotations

from tablewright.runtime.search.searchable import Searchable
from tablewright.systems.support.model import Event, Feedback, Ticket
from tablewright.systems.support.roles import ADMINS, CUSTOMERS, ENGINEERS, OPERATORS, SERVICES, STAFF

SEARCH = (
    Searchable(
        Ticket,
        "ticket",
        Ticket.summary,
        title="symptom_text",
        # Without the reason of an escalation, which customers do not see.
        texts=["ticket_id", "customer_id", "assigned_to"],
        readers=[CUSTOMERS.own, *STAFF],
        owners=["customer_id"],
    ),
    # Messages and notes; a note has no customer, so that customers do not find it.
    Searchable(
        Event,
        "message",
        Event.by_id,
        texts=["details.text"],
        readers=[CUSTOMERS.own, *STAFF],
        owners=["customer_id"],
    ),
    Searchable(
        Feedback,
        "comment",
        Feedback.by_id,
        texts=["comment"],
        readers=[CUSTOMERS.own, OPERATORS.own, ENGINEERS.own, SERVICES, ADMINS],
        owners=["given_by", "operator_id"],
    ),
)
