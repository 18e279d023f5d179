"""What can be found in Service Desk: tickets with their comments, by people at the desk.

Not by the voice agent, which reads the tickets of the caller who is on the phone, and no others.
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
