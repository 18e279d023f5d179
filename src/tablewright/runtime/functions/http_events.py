"""Requests as events of API Gateway's HTTP API (payload format 2.0), and responses as it reads them.

This is API Gateway's part, for functions that run on this machine and for tests.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["http_event", "http_response"]


def http_event(
    method: str, path: str, query: str, headers: Iterable[tuple[str, str]], body: bytes, *, source: str = "127.0.0.1"
) -> dict[str, Any]:
    """The event of a request."""
    joined: dict[str, str] = {}
    cookies: list[str] = []
    for name, value in headers:
        key = name.lower()
        if key == "cookie":
            cookies += [each.strip() for each in value.split(";")]
        else:
            joined[key] = f"{joined[key]},{value}" if key in joined else value
    now = time.time()
    http = {
        "method": method,
        "path": path,
        "protocol": "HTTP/1.1",
        "sourceIp": source,
        "userAgent": joined.get("user-agent", ""),
    }
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": joined,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": joined.get("host", "localhost"),
            "domainPrefix": "local",
            "http": http,
            "requestId": f"{now:.6f}",
            "routeKey": "$default",
            "stage": "$default",
            "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": bool(body),
    }
    if cookies:
        event["cookies"] = cookies
    if body:
        event["body"] = base64.b64encode(body).decode()
    return event


def http_response(answer: Mapping[str, Any]) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers and body of a function's response."""
    body = answer.get("body") or ""
    content = base64.b64decode(body) if answer.get("isBase64Encoded") else str(body).encode()
    headers = [(name, str(value)) for name, value in (answer.get("headers") or {}).items()]
    headers += [("set-cookie", each) for each in answer.get("cookies") or ()]
    return int(answer.get("statusCode", 200)), headers, content
