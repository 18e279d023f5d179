"""The search of Service Desk: people at the desk find tickets with their comments.

The voice agent cannot search: it only reads the tickets of the caller on the phone.
"""

from __future__ import annotations

from tablewright.runtime.search.searchable import Searchable
from tablewright.systems.servicedesk.model import Ticket
from tablewright.systems.servicedesk.roles import ADMINS, AGENTS

SEARCH = (
    Searchable(
        Ticket,
        "ticket",
        Ticket.found,
        title="issue_description",
        texts=["comments.comment_text", "number", "caller_id", "assignee"],
        readers=[AGENTS, ADMINS],
    ),
)
