"""The function that answers requests, as API Gateway's HTTP API sends them (payload format 2.0).

Mangum turns an event into a request and a response into what API Gateway expects; the application is the one that
``tablewright up`` serves. Its lifespan is not used: the tables exist already, and consumers are functions of their own.
"""

from __future__ import annotations

import asyncio
import base64
from functools import cache
from typing import Any

from tablewright.runtime.start_up import starting

with starting():
    from mangum import Mangum

    from tablewright.runtime.functions.function_application import function_application
    from tablewright.runtime.functions.function_process import process

# What is text, so that it need not be encoded on the way.
_TEXT = ["text/", "application/json", "application/problem+json", "application/javascript", "application/jsonl"]


@cache
def _adapter() -> Mangum:
    # One event loop for all calls: connections of the store belong to it.
    asyncio.set_event_loop(asyncio.new_event_loop())
    app = function_application(process())

    async def served(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    return Mangum(served, lifespan="off", text_mime_types=_TEXT)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer a request."""
    body = event.get("body") or ""
    headers = event.setdefault("headers", {})
    if "content-length" not in headers:
        # The gate bounds a body by its length; one that came in chunks has none here.
        size = len(base64.b64decode(body)) if event.get("isBase64Encoded") else len(body.encode())
        headers["content-length"] = str(size)
    return _adapter()(event, context)


# While the process starts, which costs nothing: the first request finds everything open.
with starting():
    _adapter()
