"""Three calls of Service Desk as one would write them by hand: FastAPI, asyncpg and PostgreSQL.

Run by ``services_postgres``: `python -m benchmarks.postgres_desk SOCKET_FOLDER`. It creates a ticket, gets one by its
id, and lists those of a caller, newest first, a page at a time. It has what a good program has: a pool of connections
with prepared statements, an index for each read, validated requests and typed responses. A ticket has the fields of
Service Desk, and can be read as there: by id, caller, number, in the queue, in that of an agent, and by its words.
It knows no callers and no roles, keeps no idempotency keys, has no stream of changes, and masks nothing.
"""

import sys
from base64 import b32encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import orjson
from fastapi import FastAPI, HTTPException, Query
from pydantic import BaseModel, ConfigDict, Field

from benchmarks import packages
from benchmarks.postgres import USER

# As many as clients: fewer were slower.
POOL = 16

SCHEMA = """
CREATE TABLE tickets (
    ticket_id uuid PRIMARY KEY,
    number text NOT NULL UNIQUE,
    caller_id text NOT NULL,
    issue_description text NOT NULL,
    status text NOT NULL DEFAULT 'open',
    priority text NOT NULL DEFAULT 'P3',
    assignee text,
    created_by text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    first_answered_at timestamptz,
    comments jsonb NOT NULL DEFAULT '[]',
    words tsvector GENERATED ALWAYS AS (
        to_tsvector('simple', issue_description || ' ' || number || ' ' || caller_id || ' ' || coalesce(assignee, ''))
        || jsonb_to_tsvector('simple', comments, '["string"]')
    ) STORED
);
CREATE INDEX tickets_of_caller ON tickets (caller_id, created_at DESC);
CREATE INDEX queue ON tickets (priority, created_at) WHERE status IN ('open', 'in_progress');
CREATE INDEX queue_of_agent ON tickets (assignee, priority, created_at)
    WHERE status IN ('open', 'in_progress') AND assignee IS NOT NULL;
CREATE INDEX tickets_by_word ON tickets USING gin (words);
"""
COLUMNS = (
    "ticket_id, number, caller_id, issue_description, status, priority, assignee, created_by, created_at, updated_at, "
    "first_answered_at, comments"
)
CREATE = f"""
    INSERT INTO tickets (ticket_id, number, caller_id, issue_description, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $5) RETURNING {COLUMNS}
"""
GET = f"SELECT {COLUMNS} FROM tickets WHERE ticket_id = $1"
OF_CALLER = f"""
    SELECT {COLUMNS} FROM tickets WHERE caller_id = $1 AND created_at < $2 ORDER BY created_at DESC LIMIT $3
"""
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class NewTicket(BaseModel):
    model_config = ConfigDict(extra="forbid")

    caller_id: Annotated[str, Field(min_length=1, max_length=200)]
    issue_description: Annotated[str, Field(min_length=1, max_length=50_000)]


class Comment(BaseModel):
    comment_text: str
    added_at: datetime


class Ticket(BaseModel):
    ticket_id: UUID
    number: str
    caller_id: str
    issue_description: str
    status: Literal["open", "in_progress", "resolved", "closed"]
    priority: Literal["P1", "P2", "P3", "P4"]
    assignee: str | None
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    first_answered_at: datetime | None
    comments: list[Comment]


class TicketPage(BaseModel):
    tickets: list[Ticket]
    before: datetime | None = None


def application(socket_folder: str) -> FastAPI:
    packages.activate()
    import asyncpg

    pool: Any = None

    async def prepare(connection: Any) -> None:
        await connection.set_type_codec(
            "jsonb", encoder=lambda value: orjson.dumps(value).decode(), decoder=orjson.loads, schema="pg_catalog"
        )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        nonlocal pool
        pool = await asyncpg.create_pool(
            host=socket_folder, user=USER, database="postgres", min_size=POOL, max_size=POOL, init=prepare
        )
        await pool.execute(SCHEMA)
        yield
        await pool.close()

    app = FastAPI(lifespan=lifespan)

    @app.post("/tickets", status_code=201)
    async def create_ticket(body: NewTicket) -> Ticket:
        ticket_id = uuid4()
        number = f"TK-{b32encode(ticket_id.bytes[:5]).decode()}"
        row = await pool.fetchrow(CREATE, ticket_id, number, body.caller_id, body.issue_description, datetime.now(UTC))
        return Ticket(**row)

    @app.get("/tickets/{ticket_id}")
    async def get_ticket(ticket_id: UUID) -> Ticket:
        row = await pool.fetchrow(GET, ticket_id)
        if row is None:
            raise HTTPException(404, f"there is no ticket {ticket_id}")
        return Ticket(**row)

    @app.get("/tickets")
    async def list_tickets(
        caller: Annotated[str, Query(min_length=1, max_length=200)],
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        before: datetime | None = None,
    ) -> TicketPage:
        rows = await pool.fetch(OF_CALLER, caller, before or _END_OF_TIME, limit)
        found = [Ticket(**row) for row in rows]
        return TicketPage(tickets=found, before=found[-1].created_at if len(found) == limit else None)

    return app


if __name__ == "__main__":
    from benchmarks.services import serve

    serve(application(sys.argv[1]))
