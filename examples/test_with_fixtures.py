"""Tests with the fixtures of Tablewright's pytest plugin: a database of its own for each test, in memory.

    pip install 'tablewright[boto3]' pytest
    pytest examples/test_with_fixtures.py

The plugin comes with the package; there is nothing to import and nothing to configure. It shows `dynamodb` (boto3's
resource), `dynamodb_client`, `patched_boto3` for code that makes its own clients, `tablewright_store` for a Store, and
`tablewright_server` for programs that need a URL.
"""

from typing import Any

import boto3
import pytest

from tablewright import Engine
from tablewright.model import Entity, Get, Table
from tablewright.store import AlreadyExists, Store

users = Table("users", "user_id")


class User(Entity, table=users):
    user_id: str
    name: str

    @Get()
    def by_id(self, user_id: str) -> None:
        """A user."""


def create_users(client: Any) -> None:
    client.create_table(
        TableName="users",
        AttributeDefinitions=[{"AttributeName": "user_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "user_id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def test_code_that_is_given_a_table(dynamodb: Any, dynamodb_client: Any) -> None:
    create_users(dynamodb_client)
    table = dynamodb.Table("users")
    table.put_item(Item={"user_id": "u-1", "name": "Ada"})
    assert table.get_item(Key={"user_id": "u-1"})["Item"]["name"] == "Ada"


def test_a_fresh_database(dynamodb_client: Any) -> None:
    assert dynamodb_client.list_tables()["TableNames"] == []


def count_users() -> Any:
    return boto3.client("dynamodb", region_name="us-east-1").scan(TableName="users")["Count"]


def test_code_that_makes_its_own_clients(patched_boto3: Engine, dynamodb_client: Any) -> None:
    create_users(dynamodb_client)
    assert count_users() == 0


@pytest.fixture
def store(tablewright_store: Store) -> Store:
    tablewright_store.ensure_tables(users)
    return tablewright_store


def test_code_that_is_given_a_store(store: Store) -> None:
    store.create(User(user_id="u-1", name="Ada"))
    with pytest.raises(AlreadyExists):
        store.create(User(user_id="u-1", name="Bob"))


def test_a_program_that_needs_an_endpoint(tablewright_server: str, store: Store) -> None:
    store.create(User(user_id="u-1", name="Ada"))
    client = boto3.client(
        "dynamodb",
        endpoint_url=tablewright_server,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    assert client.scan(TableName="users")["Count"] == 1
