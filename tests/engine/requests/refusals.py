"""Requests as they are checked, and the words in which they are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import SerializationException, ValidationException
from tablewright.engine.requests import check_request
from tablewright.engine.requests.backup_inputs import BACKUP_INPUTS
from tablewright.engine.requests.item_inputs import ITEM_INPUTS
from tablewright.engine.requests.table_inputs import STREAM_INPUTS, TABLE_INPUTS

INPUTS = {**ITEM_INPUTS, **TABLE_INPUTS, **BACKUP_INPUTS, **STREAM_INPUTS}
KEY = {"pk": {"S": "a"}}
NAME_PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"


def serialization_error(operation: str, request: Any) -> str | None:
    with pytest.raises(SerializationException) as caught:
        check_request(operation, request)
    return caught.value.message


def validation_error(operation: str, request: Any) -> str:
    with pytest.raises(ValidationException) as caught:
        check_request(operation, request)
    assert caught.value.message is not None
    return caught.value.message


def violation(value: str, path: str, message: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: {message}"


def one_error(value: str, path: str, message: str) -> str:
    return f"1 validation error detected: {violation(value, path, message)}"


def put(item: Any, **members: Any) -> dict[str, Any]:
    return {"TableName": "table", "Item": item, **members}
