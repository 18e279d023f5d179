"""The fixtures, in a project that uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from tablewright.engine import Engine
from tablewright.model import Table
from tablewright.store import Store
from tests.wire.raw_http import Client, request

MUSIC: dict[str, Any] = {
    "TableName": "music",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_starts_with_no_tables(dynamodb_client: Any, turn: int) -> None:
    assert dynamodb_client.list_tables()["TableNames"] == []
    dynamodb_client.create_table(**MUSIC)


def test_the_fixtures_of_a_test_share_its_engine(
    tablewright_engine: Engine, dynamodb: Any, dynamodb_client: Any, tablewright_server: str
) -> None:
    dynamodb.create_table(**MUSIC)
    dynamodb.Table("music").put_item(Item={"pk": "a"})
    assert dynamodb_client.scan(TableName="music")["Count"] == 1
    assert tablewright_engine.call("ListTables", {}) == {"TableNames": ["music"]}
    with Client(tablewright_server) as client:
        assert client.ask(request()).body == b'{"TableNames":["music"]}'


def make_and_count() -> int:
    """Code that makes a client of its own."""
    count: int = boto3.client("dynamodb", region_name="us-east-1").scan(TableName="music")["Count"]
    return count


def test_code_that_makes_its_own_clients_uses_the_engine(patched_boto3: Engine, dynamodb_client: Any) -> None:
    dynamodb_client.create_table(**MUSIC)
    dynamodb_client.put_item(TableName="music", Item={"pk": {"S": "a"}})
    assert make_and_count() == 1
    assert boto3.resource("dynamodb", region_name="us-east-1").Table("music").item_count == 1
    assert patched_boto3.call("ListTables", {}) == {"TableNames": ["music"]}


def test_a_store_shares_the_engine(tablewright_store: Store, dynamodb_client: Any) -> None:
    music = Table("music", "pk")
    tablewright_store.ensure_tables(music)
    assert dynamodb_client.list_tables()["TableNames"] == ["music"]


def test_the_plugin_costs_nothing_until_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_light():\n"
        "    assert 'tablewright.pytest_plugin' in sys.modules\n"
        "    assert not {'tablewright.engine', 'tablewright.wire', 'botocore', 'boto3'} & set(sys.modules)\n"
        "def test_used(dynamodb):\n"
        "    assert list(dynamodb.tables.all()) == []\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert "2 passed" in result.stdout, result.stdout + result.stderr


def test_without_boto3_the_resource_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['boto3'] = None\n")
    (tmp_path / "test_it.py").write_text(
        "def test_resource(dynamodb): ...\ndef test_client(dynamodb_client):\n    dynamodb_client.list_tables()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert "1 passed, 1 error" in result.stdout, result.stdout + result.stderr
    assert "the fixture dynamodb needs boto3: pip install 'tablewright[boto3]'" in result.stdout
    assert "pytest_plugin.py" not in result.stdout
