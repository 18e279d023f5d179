"""What the console shows of requests: each is one that the API takes, with the key of the table."""

from __future__ import annotations

import json

import pytest

from tablewright.engine import Engine
from tablewright.studio.observe.console_view import samples_of
from tablewright.studio.studio_database import is_read

pytestmark = pytest.mark.requirement("ST8")


def test_every_sample_of_a_request_is_answered() -> None:
    with Engine.open() as engine:
        description = engine.call(
            "CreateTable",
            {
                "TableName": "odd",
                "AttributeDefinitions": [
                    {"AttributeName": "full name", "AttributeType": "S"},
                    {"AttributeName": "n", "AttributeType": "N"},
                ],
                "KeySchema": [
                    {"AttributeName": "full name", "KeyType": "HASH"},
                    {"AttributeName": "n", "KeyType": "RANGE"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )["TableDescription"]
        samples = samples_of("odd", description)
        assert engine.call("ExecuteStatement", {"Statement": samples.pop("PartiQL")})["Items"] == []
        for operation, text in samples.items():
            # "..." is no number, so that somebody has to type one.
            body = json.loads(text.replace('"N": "..."', '"N": "1"'))
            if is_read(operation, body) or operation in ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"):
                engine.call(operation, body)
