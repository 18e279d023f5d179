"""A small session by clients that people use in Python and on the command line, against the server."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Key
from pynamodb.attributes import MapAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.exceptions import DoesNotExist, PutError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

ORDERS: dict[str, Any] = {
    "TableName": "orders",
    "KeySchema": [
        {"AttributeName": "customer", "KeyType": "HASH"},
        {"AttributeName": "number", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "customer", "AttributeType": "S"},
        {"AttributeName": "number", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def connect(kind: str, url: str) -> Any:
    make = boto3.resource if kind == "resource" else boto3.client
    return make("dynamodb", endpoint_url=url, region_name="us-east-1")


def test_boto3_client(tablewright_server: str) -> None:
    client = connect("client", tablewright_server)
    client.create_table(**ORDERS)
    client.get_waiter("table_exists").wait(TableName="orders")
    for number in range(5):
        client.put_item(TableName="orders", Item={"customer": {"S": "ann"}, "number": {"N": str(number)}})
    page = client.query(
        TableName="orders",
        KeyConditionExpression="customer = :c AND #n >= :n",
        ExpressionAttributeNames={"#n": "number"},
        ExpressionAttributeValues={":c": {"S": "ann"}, ":n": {"N": "3"}},
    )
    assert [item["number"]["N"] for item in page["Items"]] == ["3", "4"]
    key = {"customer": {"S": "ann"}, "number": {"N": "4"}}
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(
            TransactItems=[
                {"Delete": {"TableName": "orders", "Key": key | {"number": {"N": "3"}}}},
                {
                    "ConditionCheck": {
                        "TableName": "orders",
                        "Key": key,
                        "ConditionExpression": "attribute_not_exists(customer)",
                    }
                },
            ]
        )
    statement = client.execute_statement(
        Statement='SELECT "number" FROM orders WHERE customer = ?', Parameters=[{"S": "ann"}]
    )
    assert len(statement["Items"]) == 5
    client.delete_table(TableName="orders")
    client.get_waiter("table_not_exists").wait(TableName="orders")


def test_boto3_resource(tablewright_server: str) -> None:
    table = connect("resource", tablewright_server).create_table(**ORDERS)
    with table.batch_writer() as batch:
        for number in range(40):
            batch.put_item(Item={"customer": "ann", "number": number, "lines": [{"sku": "x", "blob": b"\0"}]})
    newest = table.query(KeyConditionExpression=Key("customer").eq("ann"), ScanIndexForward=False, Limit=1)
    assert newest["Items"][0]["number"] == 39
    assert newest["Items"][0]["lines"][0]["blob"].value == b"\0"
    assert table.scan(Select="COUNT")["Count"] == 40


class _ByStatus(GlobalSecondaryIndex["_Order"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_status"
        projection = AllProjection()

    status = UnicodeAttribute(hash_key=True)


class _Order(Model):
    class Meta:
        table_name = "orders"
        region = "us-east-1"
        billing_mode = "PAY_PER_REQUEST"
        host: str

    customer = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    status = UnicodeAttribute(default="open")
    tags = UnicodeSetAttribute(null=True)
    address = MapAttribute[str, str](null=True)  # type: ignore[no-untyped-call]
    by_status = _ByStatus()


def test_pynamodb(tablewright_server: str) -> None:
    _Order.Meta.host = tablewright_server
    _Order.create_table(wait=True)
    with _Order.batch_write() as batch:
        for number in range(30):
            batch.save(_Order("ann", number, status="open" if number % 3 else "done"))
    order = _Order("bob", 1, tags={"a", "b"}, address={"city": "Bern"})
    order.save(_Order.customer.does_not_exist())
    with pytest.raises(PutError):
        order.save(_Order.customer.does_not_exist())
    order.update(actions=[_Order.status.set("done"), _Order.tags.delete({"a"})])
    loaded = _Order.get("bob", 1)
    assert (loaded.status, loaded.tags, loaded.address["city"]) == ("done", {"b"}, "Bern")
    assert sum(1 for _ in _Order.by_status.query("done")) == 11
    assert [order.number for order in _Order.query("ann", _Order.number < 3)] == [0, 1, 2]
    loaded.delete()
    with pytest.raises(DoesNotExist):
        _Order.get("bob", 1)


@pytest.mark.skipif(shutil.which("aws") is None, reason="the AWS CLI is not installed")
def test_aws_cli(tablewright_server: str) -> None:
    def aws(*arguments: str, service: str = "dynamodb") -> Any:
        command = ["aws", service, *arguments, "--endpoint-url", tablewright_server, "--output", "json"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if result.returncode != 0:
            return result.stderr
        return json.loads(result.stdout) if result.stdout.strip() else None

    created = aws(
        "create-table", "--table-name", "orders", "--billing-mode", "PAY_PER_REQUEST",
        "--key-schema", "AttributeName=customer,KeyType=HASH",
        "--attribute-definitions", "AttributeName=customer,AttributeType=S",
        "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE",
    )  # fmt: skip
    assert created["TableDescription"]["TableName"] == "orders"
    aws("put-item", "--table-name", "orders", "--item", '{"customer":{"S":"ann"},"n":{"N":"1.50"}}')
    got = aws("get-item", "--table-name", "orders", "--key", '{"customer":{"S":"ann"}}')
    assert got["Item"] == {"customer": {"S": "ann"}, "n": {"N": "1.5"}}
    assert aws("scan", "--table-name", "orders")["Count"] == 1
    assert len(aws("list-streams", service="dynamodbstreams")["Streams"]) == 1
    assert "(ResourceNotFoundException)" in aws("describe-table", "--table-name", "missing")
