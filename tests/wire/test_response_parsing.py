"""Compiled parsing gives what botocore's own parser gives, for every operation of the service."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import botocore.session
import orjson
import pytest
from botocore.parsers import create_parser
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.wire.response_parsing import parser_for


@cache
def model_of(service: str) -> Any:
    return botocore.session.Session().get_service_model(service)


def documents(shape: Any, depth: int = 4) -> st.SearchStrategy[Any]:
    """JSON as a service could send it for a shape, with nulls and with members the model does not have."""
    kind = shape.type_name
    if kind == "structure":
        members = {
            name: st.none() | documents(member, depth - 1)
            for name, member in shape.members.items()
            if depth > 0 or member.type_name not in ("structure", "list", "map")
        }
        return st.fixed_dictionaries({}, optional=members | {"NotInTheModel": st.integers(0, 9)})
    if kind == "list":
        return st.lists(documents(shape.member, depth - 1), max_size=2)
    if kind == "map":
        return st.dictionaries(st.text(max_size=3), documents(shape.value, depth - 1), max_size=2)
    return {
        "blob": st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode()),
        "timestamp": st.floats(0, 4e9).map(lambda at: round(at, 3)),
        "boolean": st.booleans(),
        "string": st.text(max_size=3),
    }.get(kind, st.integers(0, 9))


OPERATIONS = [
    (service, name) for service in ("dynamodb", "dynamodbstreams") for name in model_of(service).operation_names
]


@pytest.mark.parametrize(("service", "operation"), OPERATIONS)
def test_parsing_equals_botocore_s(service: str, operation: str) -> None:
    shape = model_of(service).operation_model(operation).output_shape
    if shape is None:
        assert parser_for(shape)({}) == {}
        return
    parse = parser_for(shape)

    @settings(max_examples=25)
    @given(documents(shape))
    def equal(document: Any) -> None:
        body = orjson.dumps(document)
        expected = create_parser("json").parse({"status_code": 200, "headers": {}, "body": body}, shape)
        del expected["ResponseMetadata"]
        assert parse(orjson.loads(body)) == expected

    equal()
