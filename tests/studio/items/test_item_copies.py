"""Copies of an item: each is pasted where it belongs, and makes the same item."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, Field

from tablewright.dynamo import same_value
from tablewright.engine import Engine
from tablewright.model import Entity, Keys, Table, schema_of
from tablewright.studio.items.item_copies import copies_of
from tablewright.studio.items.python_text import Imports, python_text
from tablewright.wire import boto

pytestmark = pytest.mark.requirement("ST2")

AWKWARD: dict[str, Any] = {
    "pk": {"S": 'it\'s "so" \\ $HOME `id` $(id) !\n\t\N{PARTY POPPER}'},
    "n": {"N": "12345678901234567890123456789012345678"},
    "small": {"N": "1E-130"},
    "large": {"N": "9.9E+125"},
    "empty": {"S": ""},
    'it\'s a."name" \N{PARTY POPPER}': {"S": "'; DROP TABLE x; --"},
    "flag": {"BOOL": False},
    "nothing": {"NULL": True},
    "set": {"SS": ["a'b", '"']},
    "numbers": {"NS": ["1", "-2.5"]},
    "list": {"L": [{"L": []}, {"M": {}}, {"S": "?"}, {"M": {"x'y": {"N": "0"}}}]},
}
BINARY: dict[str, Any] = {
    **AWKWARD,
    "b": {"B": "AAEC/w=="},
    "bytes": {"BS": ["AA==", "AQ=="]},
    "inner": {"M": {"deep": {"L": [{"B": ""}]}}},
}
LARGE: dict[str, Any] = {"pk": {"S": "large"}, "n": {"N": "1"}, "text": {"S": "'" * 390_000}}
DEEP: dict[str, Any] = {"pk": {"S": "deep"}, "n": {"N": "1"}, "tree": {"S": "end"}}
for _ in range(31):
    DEEP["tree"] = {"M": {"m": DEEP["tree"]}}
ITEMS = {"awkward": AWKWARD, "binary": BINARY, "large": LARGE, "deep": DEEP}
CREATE = {
    "TableName": "odd",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def paste_json(engine: Engine, content: str) -> None:
    engine.call("PutItem", {"TableName": "odd", "Item": json.loads(content)})


def paste_boto3(engine: Engine, content: str) -> None:
    with boto.patch(engine):
        exec(content, {})


def paste_cli(engine: Engine, content: str) -> None:
    command, _, document = content.partition(" <<'ITEM'\n")
    # A shell goes on behind the end of such a line.
    words = shlex.split(command.replace(" \\\n", " "))
    assert words[:3] == ["aws", "dynamodb", "put-item"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    if options["--item"] == "file:///dev/stdin":
        options["--item"] = document.removesuffix("\nITEM")
    # The most that Linux takes as one argument.
    assert all(len(each.encode()) < 131_072 for each in words)
    assert options["--endpoint-url"] == "http://127.0.0.1:8000"
    engine.call("PutItem", {"TableName": options["--table-name"], "Item": json.loads(options["--item"])})


def paste_partiql(engine: Engine, content: str) -> None:
    body = json.loads(content) if content.startswith("{") else {"Statement": content}
    engine.call("ExecuteStatement", body)


PASTE = {"DynamoDB JSON": paste_json, "boto3": paste_boto3, "AWS CLI": paste_cli, "PartiQL": paste_partiql}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with Engine.open() as found:
        found.call("CreateTable", CREATE)
        yield found


@pytest.mark.parametrize("form", PASTE)
@pytest.mark.parametrize("name", ITEMS)
def test_what_is_pasted_makes_the_same_item(name: str, form: str, engine: Engine) -> None:
    engine.call("PutItem", {"TableName": "odd", "Item": ITEMS[name]})
    # As it is stored: numbers in their shortest form.
    (item,) = engine.call("Scan", {"TableName": "odd"})["Items"]
    engine.call("DeleteItem", {"TableName": "odd", "Key": {"pk": item["pk"], "n": item["n"]}})
    copies = copies_of("odd", item, None, "http://127.0.0.1:8000" if form == "AWS CLI" else None)
    if form == "PartiQL" and name == "large":
        # The service takes statements of 8,192 characters at most.
        assert form not in copies
        return
    PASTE[form](engine, copies[form])
    (found,) = engine.call("Scan", {"TableName": "odd"})["Items"]
    assert found.keys() == item.keys()
    for attribute, value in item.items():
        assert same_value(found[attribute], value), attribute


class Size(IntEnum):
    SMALL = 1


class Colour(Enum):
    RED = "red"


class Line(BaseModel):
    sku: str
    price: Decimal
    colour: Colour | None = None


orders = Table("copied-orders", "pk")


class CopiedOrder(Entity, table=orders):
    order_id: str
    at: datetime
    day: date
    lines: list[Line] = Field(default=[])
    sizes: set[Size] = Field(default=set())
    raw: bytes = b""
    note: str | None = None
    other: dict[str, Any] = Field(default={})

    keys = Keys(pk="ORDER#{order_id}")


def test_an_entity_is_copied_as_the_call_that_makes_it() -> None:
    order = CopiedOrder(
        order_id='it\'s "1"',
        at=datetime(2026, 11, 18, 9, 30, 0, 5000, tzinfo=UTC),
        day=date(2026, 11, 18),
        lines=[Line(sku="a", price=Decimal("1.10"), colour=Colour.RED), Line(sku="b", price=Decimal(2))],
        sizes={Size.SMALL},
        raw=b"\x00\xff",
        other={"x": [1, {"y": None}]},
    )
    text = copies_of("copied-orders", order.item(), schema_of(CopiedOrder))["Python"]
    *imports, _, made = text.partition("\n\n")
    names: dict[str, Any] = {}
    exec("\n".join(imports), names)
    assert eval(made, names) == order
    assert f"from {__name__} import Colour, CopiedOrder, Line, Size" in text


@pytest.mark.parametrize(
    "value",
    [(), (1,), frozenset({"a"}), frozenset(), set(), timedelta(days=-1, microseconds=3), float("inf"), Size(1), None],
    ids=repr,
)
def test_values_are_the_text_that_makes_them(value: Any) -> None:
    imports = Imports()
    text = python_text(value, imports)
    names: dict[str, Any] = {}
    exec("\n".join(imports.lines()), names)
    assert eval(text, names) == value


def test_a_copy_as_json_is_the_item_to_the_letter() -> None:
    assert orjson.loads(copies_of("odd", AWKWARD, None)["DynamoDB JSON"]) == AWKWARD
