"""boto3 on an embedded engine: no server, no account, no network. The data is in a folder and survives the process.

    python examples/boto3_in_process.py ./orders

It shows Engine.open, boto.resource for code that is given a table, and boto.patch for code that makes its own clients.
Needs boto3: pip install 'tablewright[boto3]'.
"""

import sys
from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.conditions import Key

from tablewright import Engine
from tablewright.wire import boto


def create_orders(dynamodb: Any) -> Any:
    return dynamodb.create_table(
        TableName="Orders",
        AttributeDefinitions=[
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "placed", "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "placed", "KeyType": "RANGE"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def total_of(customer: str) -> Decimal:
    """Code of an application that has never heard of Tablewright."""
    orders = boto3.resource("dynamodb", region_name="us-east-1").Table("Orders")
    found = orders.query(KeyConditionExpression=Key("customer").eq(customer))["Items"]
    return sum((order["total"] for order in found), Decimal(0))


def main(folder: str) -> None:
    with Engine.open(folder) as engine:
        dynamodb = boto.resource(engine)
        if "Orders" not in [table.name for table in dynamodb.tables.all()]:
            create_orders(dynamodb)
        orders = dynamodb.Table("Orders")
        orders.put_item(Item={"customer": "ada", "placed": "2026-03-01", "total": Decimal("19.90")})
        orders.put_item(Item={"customer": "ada", "placed": "2026-03-02", "total": Decimal("5")})

        with boto.patch(engine):
            print("ada has ordered for", total_of("ada"))

    # Another process would find the same: what was acknowledged is on disk.
    with Engine.open(folder) as engine:
        assert boto.client(engine).describe_table(TableName="Orders")["Table"]["ItemCount"] == 2


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "./orders")
