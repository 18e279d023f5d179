"""Requests as events of API Gateway, and responses out of what functions answer."""

from __future__ import annotations

import base64

import pytest

from tablewright.runtime.functions.http_events import http_event, http_response

pytestmark = pytest.mark.requirement("SH3")


def test_an_event_has_what_the_request_had() -> None:
    headers = [("Host", "api.example.org"), ("Accept", "a"), ("accept", "b"), ("Cookie", "x=1; y=2")]
    event = http_event("POST", "/tasks/tasks", "limit=5&cursor=a%2Fb", headers, b"\xff{}")
    assert event["version"] == "2.0"
    assert (event["rawPath"], event["rawQueryString"]) == ("/tasks/tasks", "limit=5&cursor=a%2Fb")
    assert event["headers"] == {"host": "api.example.org", "accept": "a,b"}
    assert event["cookies"] == ["x=1", "y=2"]
    assert base64.b64decode(event["body"]) == b"\xff{}"
    assert event["isBase64Encoded"] is True
    assert event["requestContext"]["http"]["method"] == "POST"


def test_an_event_without_a_body_has_none() -> None:
    event = http_event("GET", "/", "", [], b"")
    assert "body" not in event
    assert event["isBase64Encoded"] is False


def test_a_response_is_read_as_api_gateway_reads_it() -> None:
    encoded = base64.b64encode(b"\x00\x01").decode()
    answer = {
        "statusCode": 201,
        "headers": {"etag": '"1"'},
        "cookies": ["a=1"],
        "body": encoded,
        "isBase64Encoded": True,
    }
    assert http_response(answer) == (201, [("etag", '"1"'), ("set-cookie", "a=1")], b"\x00\x01")
    assert http_response({"statusCode": 204}) == (204, [], b"")
