"""Each region has tables of its own, by the region that requests are signed for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tablewright.engine import Engine, StorageError
from tablewright.wire import regional_engines
from tablewright.wire.http.messages import Request
from tablewright.wire.regional_engines import RegionalEngines, region_folders
from tablewright.wire.server import serve_in_thread
from tablewright.wire.sigv4 import Credentials, Verifier
from tests.threads import run_threads
from tests.wire.raw_http import Client, request

TABLE: dict[str, Any] = {
    "TableName": "music",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with RegionalEngines(tmp_path) as engines, serve_in_thread(engines) as url:
        yield url


def client(url: str, region: str, key: str = "any", secret: str = "any") -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


def test_a_table_is_in_the_region_where_it_was_made(url: str, tmp_path: Path) -> None:
    virginia, ireland = client(url, "us-east-1"), client(url, "eu-west-1")
    made = virginia.create_table(**TABLE)["TableDescription"]
    assert made["TableArn"] == "arn:aws:dynamodb:us-east-1:123456789012:table/music"
    assert ireland.list_tables()["TableNames"] == []
    made = ireland.create_table(**TABLE)["TableDescription"]
    assert made["TableArn"] == "arn:aws:dynamodb:eu-west-1:123456789012:table/music"
    virginia.put_item(TableName="music", Item={"pk": {"S": "a"}})
    ireland.put_item(TableName="music", Item={"pk": {"S": "b"}, "text": {"S": "x" * 300_000}})
    assert [item["pk"]["S"] for item in virginia.scan(TableName="music")["Items"]] == ["a"]
    assert [item["pk"]["S"] for item in ireland.scan(TableName="music")["Items"]] == ["b"]
    with pytest.raises(ClientError, match="Invalid AWS region in"):
        virginia.get_item(TableName=made["TableArn"], Key={"pk": {"S": "b"}})
    assert region_folders(tmp_path) == [tmp_path / "eu-west-1", tmp_path / "us-east-1"]


def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        with RegionalEngines(tmp_path) as engines, serve_in_thread(engines) as url:
            tables = client(url, "eu-west-1").list_tables()["TableNames"]
            if not tables:
                client(url, "eu-west-1").create_table(**TABLE)
    assert tables == ["music"]


def test_regions_that_have_a_folder_are_opened_at_the_start(tmp_path: Path) -> None:
    with RegionalEngines(tmp_path) as engines, serve_in_thread(engines) as url:
        client(url, "eu-west-1").create_table(**TABLE)
        (tmp_path / "notes").mkdir()
    with RegionalEngines(tmp_path), pytest.raises(StorageError, match="in use"):
        RegionalEngines(tmp_path)


def test_a_new_folder_belongs_to_its_server_from_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with RegionalEngines(folder):
        assert folder.is_dir()
        with pytest.raises(StorageError, match="in use"):
            RegionalEngines(folder)
        with pytest.raises(StorageError, match="in use"):
            Engine.open(folder)
    with RegionalEngines(folder):
        pass
    Engine.open(folder).close()


def test_a_presigned_request_has_its_region_in_the_query(url: str) -> None:
    client(url, "eu-west-1").create_table(**TABLE)
    query = (
        b"/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=any%2F20260101%2Feu-west-1%2Fdynamodb%2Faws4_request"
        b"&X-Amz-Date=20260101T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0"
    )
    with Client(url) as connection:
        assert connection.ask(request(path=query, authorization=None)).body == b'{"TableNames":["music"]}'


@pytest.mark.parametrize("region", ["..", "a", "EU-WEST-1", "us-east-1%2f..", "eu-west-1-"])
def test_what_is_no_region_is_refused(url: str, tmp_path: Path, region: str) -> None:
    authorization = (
        f"AWS4-HMAC-SHA256 Credential=a/20260101/{region}/dynamodb/aws4_request, SignedHeaders=b, Signature=c"
    )
    with Client(url) as connection:
        response = connection.ask(request(authorization=authorization.encode()))
    assert response.status == 400
    assert json.loads(response.body)["message"] == (f"Credential should be scoped to a valid region, not '{region}'. ")
    assert [each.name for each in tmp_path.iterdir()] == ["tablewright.lock"]


def test_a_credential_without_a_scope_is_of_the_default_region(url: str) -> None:
    client(url, "us-east-1").create_table(**TABLE)
    with Client(url) as connection:
        any_credential = b"AWS4-HMAC-SHA256 Credential=any, SignedHeaders=host, Signature=any"
        assert connection.ask(request(authorization=any_credential)).body == b'{"TableNames":["music"]}'


def test_regions_have_a_bound(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regional_engines, "_MAX_REGIONS", 2)
    for region in ("us-east-1", "eu-west-1"):
        client(url, region).list_tables()
    with pytest.raises(ClientError, match=r"LimitExceededException.*tables in 2 regions"):
        client(url, "eu-central-1").list_tables()


def test_the_region_is_what_was_signed() -> None:
    verifier = Verifier([Credentials("key", "secret")])
    with RegionalEngines(None) as engines, serve_in_thread(engines, authenticate=verifier) as url:
        client(url, "eu-west-1", "key", "secret").create_table(**TABLE)
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            client(url, "eu-west-1", "key", "wrong").list_tables()
        assert client(url, "us-east-1", "key", "secret").list_tables()["TableNames"] == []


def test_a_region_is_opened_once_however_many_ask_at_once(tmp_path: Path) -> None:
    with RegionalEngines(tmp_path) as engines:
        signed = request_of("eu-west-1")
        found: list[Any] = []
        run_threads(*[lambda: found.append(engines.engine_of(signed))] * 8)
        assert len(set(map(id, found))) == 1


def test_problems_are_reported_by_region() -> None:
    with RegionalEngines(None) as engines:
        heard: list[str] = []
        records: list[dict[str, Any]] = []
        engines.when_failed(heard.append)
        engines.meter(records.append)
        engine = engines.engine_of(request_of("eu-west-1"))
        assert engines.problems() == []
        engine._storage.health.failed(OSError(5, "Input/output error"))
        assert engines.problems() == ["eu-west-1: the disk failed to sync: [Errno 5] Input/output error"]
        assert len(heard) == 1
        engine.call("CreateTable", TABLE)
        engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}})
        assert [record["operation"] for record in records] == ["PutItem"]
        assert engines.storage_figures().log_bytes == 0


def request_of(region: str) -> Request:
    made = Request()
    credential = f"Credential=any/20260101/{region}/dynamodb/aws4_request"
    made.headers = {
        b"authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0".encode(),
        b"x-amz-date": b"20260101T000000Z",
    }
    return made
