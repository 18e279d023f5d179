"""A web handler on asyncio: an ASGI application with AsyncStore and nothing else.

    pip install uvicorn
    SHOP_DATA=./shop uvicorn --app-dir examples web_handler:app
    curl -X POST localhost:8000/notes -d '{"author": "ada", "text": "hello"}'
    curl localhost:8000/notes/ada

It shows a store that lives as long as the application, writes that share one sync of the disk, and pages with a cursor.
A framework changes nothing: open the store when the application starts, close it when it stops, await it in handlers.
"""

import json
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

from tablewright.model import Entity, Keys, Query, Table
from tablewright.store import AsyncStore, InvalidCursor

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

notes = Table("notes", "PK", "SK")


class Note(Entity, table=notes):
    author: str
    written_at: datetime
    note_id: str
    text: str

    keys = Keys(PK="AUTHOR#{author}", SK="NOTE#{written_at}#{note_id}")

    @Query(newest_first=True)
    def of_author(self, author: str) -> None:
        """The notes of an author, newest first."""


class Application:
    """`POST /notes` writes a note, `GET /notes/{author}` answers a page of them."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._store: AsyncStore | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            status, body = await self._answer(scope, receive)
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._store = AsyncStore.open(self._folder)
        await self._store.ensure_tables(notes)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._store.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: dict[str, Any], receive: Receive) -> tuple[int, Any]:
        assert self._store is not None
        match scope["method"], scope["path"].strip("/").split("/"):
            case "POST", ["notes"]:
                return await self._write(self._store, await _body(receive))
            case "GET", ["notes", author]:
                cursor = parse_qs(scope["query_string"].decode()).get("cursor", [None])[0]
                return await self._page(self._store, author, cursor)
        return 404, {"error": "not found"}

    async def _write(self, store: AsyncStore, body: bytes) -> tuple[int, Any]:
        try:
            given = json.loads(body)
            note = Note(author=given["author"], text=given["text"], written_at=datetime.now(UTC), note_id=str(uuid4()))
        except (ValueError, KeyError, TypeError):
            return 422, {"error": "a note has an author and a text"}
        await store.create(note)
        return 201, note.model_dump(mode="json")

    async def _page(self, store: AsyncStore, author: str, cursor: str | None) -> tuple[int, Any]:
        try:
            page = await store.query(Note.of_author(author), limit=10, cursor=cursor)
        except InvalidCursor:
            return 400, {"error": "the cursor is not one of this list"}
        return 200, {"items": [note.model_dump(mode="json") for note in page.items], "cursor": page.cursor}


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


app = Application(os.environ.get("SHOP_DATA"))
