"""What DynamoDB's endpoint answers: the order of its checks, headers, bodies."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tablewright.dynamo import ConditionalCheckFailedException, TransactionCanceledException, ValidationException
from tablewright.wire.http.messages import accepted_coding
from tablewright.wire.operation_targets import OPERATION_BY_TARGET, WITHOUT_OUTPUT
from tests.wire.fakes import FakeEngine
from tests.wire.raw_http import Client, Response, request

CORAL = "com.amazon.coral.service#"


def error_of(response: Response) -> dict[str, Any]:
    assert response.status == 400
    response.check_sum()
    document: dict[str, Any] = json.loads(response.body)
    return document


def test_an_answer_has_the_headers_of_the_service(http: Client) -> None:
    response = http.ask(request(b'{"Limit":1}'))
    assert response.status == 200
    assert list(response.headers) == [
        "server",
        "date",
        "content-type",
        "content-length",
        "connection",
        "x-amzn-requestid",
        "x-amz-crc32",
    ]
    assert response.headers["server"] == "Server"
    assert parsedate_to_datetime(response.headers["date"]).tzinfo is not None
    assert response.headers["content-type"] == "application/x-amz-json-1.0"
    assert re.fullmatch("[A-Z0-9]{52}", response.headers["x-amzn-requestid"])
    response.check_sum()
    assert response.body == b'{"Limit":1}'


def test_request_ids_differ(http: Client) -> None:
    ids = {http.ask(request()).headers["x-amzn-requestid"] for _ in range(600)}
    assert len(ids) == 600


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"application/json", "application/json"),
        (b"application/json; charset=utf-8", "application/json"),
        (b"application/x-amz-json-1.0; charset=utf-8", "application/x-amz-json-1.0"),
        (b"Application/X-Amz-Json-1.0", "application/x-amz-json-1.0"),
    ],
)
def test_the_content_type_is_the_one_that_was_sent(http: Client, sent: bytes, answered: str) -> None:
    assert http.ask(request(content_type=sent)).headers["content-type"] == answered


def test_the_health_check_names_the_host_it_was_asked_for(http: Client) -> None:
    response = http.ask(request(b"", None, method=b"GET", authorization=None, host=b"db.localhost:8000"))
    assert response.status == 200
    assert response.body == b"healthy: db.localhost:8000"
    response.check_sum()


def test_the_health_check_says_what_is_wrong(http: Client, engine: FakeEngine) -> None:
    engine.troubles = ["the disk is full", "background work is failing"]
    response = http.ask(request(b"", None, method=b"GET", authorization=None))
    assert response.status == 503
    assert response.body == b"unhealthy: the disk is full; background work is failing"
    engine.troubles = []
    assert http.ask(request(b"", None, method=b"GET", authorization=None)).status == 200


@pytest.mark.parametrize("method", [b"PUT", b"DELETE", b"PATCH", b"OPTIONS"])
def test_another_method_is_not_found(http: Client, method: bytes) -> None:
    response = http.ask(request(method=method))
    assert (response.status, response.body) == (404, b"<UnknownOperationException/>\n")
    assert response.headers["x-amz-crc32"] == "3552371480"


def test_head_has_no_body(http: Client) -> None:
    assert http.ask(request(b"", method=b"HEAD"), head_only=True).status == 404
    assert http.ask(request()).status == 200


@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_another_path_is_not_found(http: Client, method: bytes) -> None:
    assert http.ask(request(method=method, path=b"/tables")).status == 404


@pytest.mark.parametrize("content_type", [b"text/plain", b"application/x-amz-json-1.1", None])
def test_a_body_of_another_content_type_is_not_found(http: Client, content_type: bytes | None) -> None:
    response = http.ask(request(b"{}", content_type=content_type))
    assert (response.status, response.body) == (404, b"<UnknownOperationException/>\n")


def test_a_proxy_s_form_of_the_url_is_understood(http: Client) -> None:
    assert http.ask(request(path=b"http://localhost:8000/")).status == 200
    assert http.ask(request(path=b"http://localhost:8000")).status == 200
    assert http.ask(request(path=b"http://localhost:8000/other")).status == 404


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"hello",
        b'{"a":}',
        b'{"a":NaN}',
        b'{"a":"\xff\xfe"}',
        b'{"a":"\xed\xa0\x80"}',
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
    ids=["open", "word", "hole", "nan", "broken utf-8", "surrogate", "deep and open", "deep"],
)
def test_a_body_that_is_no_json_is_a_serialization_error(http: Client, body: bytes) -> None:
    # ... even without a target or a signature: the body is looked at first.
    response = http.ask(request(body, None, authorization=None))
    assert error_of(response) == {"__type": CORAL + "SerializationException"}


@pytest.mark.parametrize(
    "target",
    [
        None,
        b"",
        b"ListTables",
        b"DynamoDB_20120810",
        b"DynamoDB_20120810.",
        b"DynamoDB_20120810.ListTable",
        b"DynamoDB_20120810.listTables",
        b"DynamoDB_20120810.ListStreams",
        b"DynamoDBStreams_20120810.ListTables",
        b"DynamoDB_20130101.ListTables",
    ],
)
def test_a_target_that_is_no_operation_is_unknown(http: Client, target: bytes | None) -> None:
    response = http.ask(request(target=target, authorization=None))
    assert error_of(response) == {"__type": CORAL + "UnknownOperationException"}


def test_a_missing_signature_comes_before_an_empty_body(http: Client) -> None:
    assert error_of(http.ask(request(b"", authorization=None))) == {
        "__type": CORAL + "MissingAuthenticationTokenException",
        "message": "Request is missing Authentication Token",
    }
    assert error_of(http.ask(request(b""))) == {"__type": CORAL + "SerializationException"}


def test_an_empty_body_needs_no_content_type(http: Client) -> None:
    response = http.ask(request(b"", content_type=None))
    assert error_of(response) == {"__type": CORAL + "SerializationException"}
    assert response.headers["content-type"] == "application/json"


def test_streams_are_on_the_same_endpoint(http: Client, engine: FakeEngine) -> None:
    assert http.ask(request(target=b"DynamoDBStreams_20120810.ListStreams")).status == 200
    assert engine.calls == [("ListStreams", {})]


def test_an_error_of_the_engine_is_sent_as_it_is(http: Client, engine: FakeEngine) -> None:
    engine.answers["PutItem"] = ConditionalCheckFailedException(Item={"pk": {"S": "é"}})
    assert error_of(http.ask(request(target=b"DynamoDB_20120810.PutItem"))) == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": {"pk": {"S": "é"}},
    }
    engine.answers["Query"] = ValidationException("no")
    assert error_of(http.ask(request(target=b"DynamoDB_20120810.Query"))) == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": "no",
    }
    engine.answers["TransactWriteItems"] = TransactionCanceledException("why", CancellationReasons=[])
    assert error_of(http.ask(request(target=b"DynamoDB_20120810.TransactWriteItems"))) == {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "why",
        "CancellationReasons": [],
    }


def test_a_failure_inside_is_a_500_that_tells_nothing(http: Client, engine: FakeEngine) -> None:
    engine.answers["Scan"] = RuntimeError("secret")
    response = http.ask(request(target=b"DynamoDB_20120810.Scan"))
    assert response.status == 500
    assert json.loads(response.body) == {
        "__type": "com.amazonaws.dynamodb.v20120810#InternalServerError",
        "message": "Internal server error",
    }
    assert http.ask(request()).status == 200


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_large_answer_is_compressed_on_demand(http: Client, engine: FakeEngine, coding: str) -> None:
    engine.answers["Scan"] = body = b'{"Items":[' + b'{"pk":{"S":"value"}},' * 200 + b"{}]}"
    scan = b"DynamoDB_20120810.Scan"
    response = http.ask(request(target=scan, accept_encoding=b"br, " + coding.encode()))
    assert response.headers["content-encoding"] == coding
    response.check_sum()  # of the bytes sent
    assert (gzip.decompress if coding == "gzip" else zlib.decompress)(response.body) == body
    assert "content-encoding" not in http.ask(request(target=scan, accept_encoding=b"identity")).headers
    assert "content-encoding" not in http.ask(request(target=scan)).headers
    engine.answers["Scan"] = b"{}"
    assert "content-encoding" not in http.ask(request(target=scan, accept_encoding=b"gzip")).headers


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        (b"gzip", b"gzip"),
        (b"GZIP", b"gzip"),
        (b"x-gzip", b"gzip"),
        (b"deflate, gzip", b"gzip"),
        (b"gzip;q=0.5, deflate", b"deflate"),
        (b"gzip; q=0.5 ,deflate;q=0.6", b"deflate"),
        (b"gzip;q=0, deflate;q=0", None),
        (b"*", b"gzip"),
        (b"gzip;q=0, *", b"deflate"),
        (b"br, *;q=0.1", b"gzip"),
        (b"identity", None),
        (b"identity, gzip;q=0.5", None),
        (b"identity;q=0.5, gzip", b"gzip"),
        (b"identity, gzip", b"gzip"),
        (b"identity, *;q=0.5", None),
        (b"", None),
        (b"gzip;q=x", None),
        (b"gzip;q=nan", None),
        (b"gzip;q=-1", None),
        (b"gzip;q=0.001", b"gzip"),
        (b"gzip;level=9;q=0", None),
        (b"br", None),
        (b"*;q=0", None),
        (b"identity;q=0", None),
    ],
)
def test_the_client_chooses_the_coding(accept: bytes, coding: bytes | None) -> None:
    assert accepted_coding(accept) == (coding, False)


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        (b"identity;q=0, gzip", b"gzip"),
        (b"identity;q=0, *", b"gzip"),
        (b"deflate, *;q=0", b"deflate"),
        (b"gzip;q=0.1, identity;q=0.0", b"gzip"),
    ],
)
def test_a_client_may_insist_on_a_coding(http: Client, accept: bytes, coding: bytes) -> None:
    assert accepted_coding(accept) == (coding, True)
    response = http.ask(request(b'{"Limit":1}', accept_encoding=accept))
    assert response.headers["content-encoding"] == coding.decode()
    response.check_sum()
    assert zlib.decompress(response.body, wbits=47) == b'{"Limit":1}'


def test_the_header_may_come_in_several_lines(http: Client, engine: FakeEngine) -> None:
    engine.answers["Scan"] = b"x" * 2000
    data = request(target=b"DynamoDB_20120810.Scan", accept_encoding=b"gzip;q=0.5")
    data = data.replace(b"\r\n\r\n", b"\r\nAccept-Encoding: br\r\naccept-encoding: deflate;q=0.7\r\n\r\n")
    assert http.ask(data).headers["content-encoding"] == "deflate"


@pytest.mark.parametrize("operation", ["TagResource", "UntagResource"])
def test_tagging_is_answered_without_a_body(http: Client, engine: FakeEngine, operation: str) -> None:
    engine.answers[operation] = b"{}"
    response = http.ask(request(target=b"DynamoDB_20120810." + operation.encode()))
    assert (response.status, response.body) == (200, b"")
    assert response.headers["content-length"] == response.headers["x-amz-crc32"] == "0"


RAW_DEFLATE = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", gzip.compress(b'{"Limit":7}', mtime=0)),
        (b"gzip", gzip.compress(b'{"Limi', mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(b't":7}', mtime=0)),
        (b"deflate", zlib.compress(b'{"Limit":7}')),
        (b"deflate", RAW_DEFLATE.compress(b'{"Limit":7}') + RAW_DEFLATE.flush()),
        (b"identity", b'{"Limit":7}'),
    ],
    ids=["gzip", "gzip in members", "zlib", "raw deflate", "identity"],
)
def test_a_compressed_body_is_decompressed(http: Client, engine: FakeEngine, coding: bytes, body: bytes) -> None:
    assert http.ask(request(body, content_encoding=coding)).status == 200
    assert engine.calls == [("ListTables", {"Limit": 7})]


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", b"{}"),
        (b"gzip", gzip.compress(b"{}", mtime=0)[:-6]),
        (b"gzip", gzip.compress(b"{}", mtime=0) + b"more"),
        (b"gzip", gzip.compress(b"{", mtime=0) + gzip.compress(b"}", mtime=0)[:-1]),
        (b"gzip", gzip.compress(b"{}", mtime=0) + gzip.compress(b"", mtime=0) * 10_000),
        (b"deflate", b"\xff" * 9),
        (b"deflate", zlib.compress(b"{}") + b"more"),
        (b"br", b"{}"),
    ],
)
def test_a_body_that_cannot_be_decompressed_is_a_serialization_error(http: Client, coding: bytes, body: bytes) -> None:
    assert error_of(http.ask(request(body, content_encoding=coding))) == {"__type": CORAL + "SerializationException"}


@pytest.mark.parametrize("members", [1, 5])
def test_a_decompression_bomb_is_too_large(http: Client, engine: FakeEngine, members: int) -> None:
    bomb = gzip.compress(b" " * ((20 << 20) // members)) * members
    assert len(bomb) < 100_000
    assert http.ask(request(bomb, content_encoding=b"gzip")).status == 413
    assert engine.calls == []
    assert http.ask(request()).status == 200


def test_the_operations_without_output_are_those_of_the_service_model() -> None:
    import botocore.session

    model = botocore.session.Session().get_service_model("dynamodb")
    silent = {name for name in model.operation_names if model.operation_model(name).output_shape is None}
    assert silent == WITHOUT_OUTPUT


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_every_operation_of_the_service_model_is_a_target(service: str) -> None:
    import botocore.session

    model = botocore.session.Session().get_service_model(service)
    prefix = model.metadata["targetPrefix"]
    assert {f"{prefix}.{name}".encode() for name in model.operation_names} <= set(OPERATION_BY_TARGET)
