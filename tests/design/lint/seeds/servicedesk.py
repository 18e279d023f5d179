"""A voice service desk as its document has it: comments appended blindly and without end, at old prices."""

from __future__ import annotations

from pydantic import BaseModel, Field

from tablewright.model import CostClaim, Design, Entity, Get, GlobalIndex, ItemWrite, Query, Table, Write

tickets = Table(
    "poc-itsm-tickets",
    "ticket_id",
    indexes=[GlobalIndex("CallerIdIndex", "caller_id", "created_at")],
    tags={"Environment": "PoC", "Project": "AI-L1-Support"},
)


class Comment(BaseModel):
    comment_text: str
    added_at: str


class Ticket(Entity, table=tickets):
    ticket_id: str
    caller_id: str
    issue_description: str
    status: str = "open"
    created_at: str
    updated_at: str
    comments: list[Comment] = Field(default_factory=list)

    @Get()
    def by_id(self, ticket_id: str) -> None: ...

    @Query("CallerIdIndex", newest_first=True, expected=10)
    def of_caller(self, caller_id: str) -> None: ...


design = Design(
    "Service Desk, as written",
    tables=[tickets],
    writes=[
        Write("create_ticket", ItemWrite(Ticket, "put")),
        # list_append(if_not_exists(comments, :empty_list), :comment), with no ConditionExpression
        Write(
            "add_comment",
            ItemWrite(Ticket, "update", sets=[Ticket.updated_at], appends=[Ticket.comments], conditional=False),
        ),
    ],
    claims=[CostClaim("On-Demand Pricing", write_price=1.25, read_price=0.25)],
)
