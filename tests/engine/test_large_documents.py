"""A document that is parsed in pieces is what orjson makes of the whole, or is refused as well."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.engine.large_documents import LargeDocument
from tablewright.wire.long_requests import LARGE_BODY
from tablewright.wire.server import serve_in_thread
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, request

# Texts that look like structure, and escapes.
texts = st.text(alphabet='a",:[]{}\\ é', max_size=6).map(lambda text: orjson.dumps(text).decode())
blanks = st.sampled_from(["", "", "", " ", "\n "])


def joined(open_: str, members: list[tuple[str, str]], close: str) -> str:
    return open_ + ",".join(blank + member + blank for member, blank in members) + close


# Written out, since an object may have a key twice.
documents = st.recursive(
    st.one_of(texts, st.sampled_from(["1", "-1.5e3", "null", "true", '"\\u00e9"', "[]", "{}"])),
    lambda values: st.one_of(
        st.lists(st.tuples(values, blanks), max_size=6).map(lambda members: joined("[", members, "]")),
        st.lists(st.tuples(st.tuples(texts, values).map(":".join), blanks), max_size=6).map(
            lambda members: joined("{", members, "}")
        ),
    ),
    max_leaves=40,
).map(str.encode)


def outcome(parse: Any, body: bytes) -> list[Any] | None:
    """What is parsed, in its order and without nesting, which may be deep; None for what is refused."""
    try:
        left = [parse(body)]
    except orjson.JSONDecodeError:
        return None
    parts: list[Any] = []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            parts.append(list(value))
            left.extend(value.values())
        elif isinstance(value, list):
            parts.append(len(value))
            left.extend(value)
        else:
            parts.append((type(value), value))
    return parts


def assert_same(body: bytes, piece_bytes: int) -> None:
    document = LargeDocument()
    assert outcome(lambda body: document.parse(body, piece_bytes), body) == outcome(orjson.loads, body)
    document.free()


@given(documents, st.integers(1, 20))
def test_a_document_in_pieces_is_the_same(body: bytes, piece_bytes: int) -> None:
    assert_same(body, piece_bytes)


@given(
    documents,
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2), st.sampled_from(list(b',"[]{}\\: 0\xff'))), max_size=3),
)
def test_what_is_not_json_is_refused_in_pieces_as_well(
    body: bytes, piece_bytes: int, edits: list[tuple[int, int, int]]
) -> None:
    for at, removed, added in edits:
        body = body[:at] + bytes([added]) + body[at + removed :]
    assert_same(body, piece_bytes)


@pytest.mark.parametrize(
    "body",
    [
        b"[1,]",
        b"[,1]",
        b"[[,1]]",
        b'{"a":1,}',
        b'{,"a":1}',
        b"[1,,2]",
        b"[1,2],3",
        b"[1,2}",
        b'{"a":[1,2},3]',
        b'["a" "b",1]',
        b"1,2",
        b"[1,2",
        b'["a\\"',
        b"",
        b'{"a":[1,2],"b":0,"a":[3,4,5,6],"a":[7,8]}',
        b"[" * 1030 + b"1,2" + b"]" * 1030,
        b"[" * 1000 + b"1,2" + b"]" * 1000,
        b'"a"' * 5000,
        b"[" + b'{"a":' * 900 + b"1" + b"}" * 900 + b",2]",
        b'["' + b'\\"' * 100_000 + b'",1]',
        b'["' + b"\\\\" * 100_000 + b'",1]',
    ],
)
def test_edges_of_pieces(body: bytes) -> None:
    for piece_bytes in range(1, 12):
        assert_same(body, piece_bytes)


def test_no_more_than_a_piece_is_left_of_what_a_freed_document_had() -> None:
    document = LargeDocument()
    value = document.parse(orjson.dumps({"a": [{"b": list(range(50))} for _ in range(50)], "c": {"d": [1, 2]}}), 100)
    inner = value["a"]
    assert len(inner) == 50
    document.free()
    assert value == {"a": inner}
    assert len(inner) == 1


def test_a_large_body_reaches_the_engine_whole() -> None:
    members = [{"S": f'{number} ["\\'} for number in range(LARGE_BODY // 10)]
    body = orjson.dumps({"L": members, "last": 1})
    with serve_in_thread(FakeEngine()) as url, Client(url) as client:
        assert orjson.loads(client.ask(request(body, b"DynamoDB_20120810.GetItem")).body) == orjson.loads(body)
        assert client.ask(request(body[:-1], b"DynamoDB_20120810.GetItem")).status == 400


def test_a_table_that_was_defined_by_a_large_body_keeps_its_definition() -> None:
    """The engine holds what it was given; only requests of items are taken apart."""
    blank = b" " * LARGE_BODY
    body = (
        b'{"TableName":"rows","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[%b'
        b'{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],"KeySchema":[%b'
        b'{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}' % (blank, blank)
    )
    with Engine.open() as engine, serve_in_thread(engine) as url, Client(url) as client:
        assert client.ask(request(body, b"DynamoDB_20120810.CreateTable")).status == 200
        for key in (b"a", b"b"):
            put = b'{"TableName":"rows",%b"Item":{"pk":{"S":"%b"},"sk":{"S":"s"}}}' % (blank, key)
            assert client.ask(request(put, b"DynamoDB_20120810.PutItem")).status == 200
        table = engine.call("DescribeTable", {"TableName": "rows"})["Table"]
        assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
        assert len(table["AttributeDefinitions"]) == 2
        assert table["ItemCount"] == 2
