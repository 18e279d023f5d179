"""The session with boto3: what the programs in the other languages do, line by line."""

import sys
from collections.abc import Callable
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

SETTINGS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "any",
    "aws_secret_access_key": "any",
    "config": Config(retries={"max_attempts": 1}),
}


def main(url: str) -> None:
    db = boto3.client("dynamodb", endpoint_url=url, **SETTINGS)
    streams = boto3.client("dynamodbstreams", endpoint_url=url, **SETTINGS)

    def refused(call: Callable[..., Any], error: type[Exception], **request: Any) -> dict[str, Any]:
        try:
            call(**request)
        except error as found:
            response: dict[str, Any] = found.response  # type: ignore[attr-defined]
            return response
        raise AssertionError("nothing was refused")

    # Tables
    table = {
        "TableName": "orders",
        "KeySchema": [
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "number", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "number", "AttributeType": "N"},
            {"AttributeName": "status", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_status",
                "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "BillingMode": "PAY_PER_REQUEST",
    }
    created = db.create_table(**table)
    arn = created["TableDescription"]["TableArn"]
    print("CreateTable:", created["TableDescription"]["TableStatus"])
    db.get_waiter("table_exists").wait(TableName="orders", WaiterConfig={"Delay": 1})
    print("TableExists: yes")
    described = db.describe_table(TableName="orders")["Table"]
    keys = ",".join(f"{each['AttributeName']} {each['KeyType']}" for each in described["KeySchema"])
    (index,) = described["GlobalSecondaryIndexes"]
    print("DescribeTable:", f"{described['TableStatus']} {keys} {index['IndexName']} {index['IndexStatus']}")
    error = refused(db.create_table, db.exceptions.ResourceInUseException, **table)
    print("ResourceInUseException:", error["Error"]["Message"])

    # Items
    item = {
        "customer": {"S": "ann"},
        "number": {"N": "1.50"},
        "status": {"S": "open"},
        "text": {"S": "café"},
        "binary": {"B": b"\x00\xff"},
        "flag": {"BOOL": True},
        "nothing": {"NULL": True},
        "words": {"SS": ["b", "a"]},
        "numbers": {"NS": ["2", "1"]},
        "bytes": {"BS": [b"\x01"]},
        "list": {"L": [{"S": "x"}, {"N": "7"}]},
        "map": {"M": {"city": {"S": "Bern"}}},
    }
    put = db.put_item(TableName="orders", Item=item, ReturnConsumedCapacity="TOTAL")
    print("PutItem:", f"{put['ConsumedCapacity']['CapacityUnits']:.1f} units")
    key = {"customer": {"S": "ann"}, "number": {"N": "1.5"}}
    answer = db.get_item(TableName="orders", Key=key, ConsistentRead=True)
    got = answer["Item"]
    print(
        "GetItem:",
        got["number"]["N"],
        got["text"]["S"],
        got["binary"]["B"].hex(),
        str(got["flag"]["BOOL"]).lower(),
        str(got["nothing"]["NULL"]).lower(),
        ",".join(sorted(got["words"]["SS"])),
        ",".join(sorted(got["numbers"]["NS"])),
        got["bytes"]["BS"][0].hex(),
        f"{got['list']['L'][0]['S']},{got['list']['L'][1]['N']}",
        got["map"]["M"]["city"]["S"],
    )
    print("RequestId:", len(answer["ResponseMetadata"]["RequestId"]))
    updated = db.update_item(
        TableName="orders",
        Key=key,
        UpdateExpression="SET #s = :s ADD revision :one",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":s": {"S": "done"}, ":one": {"N": "1"}},
        ReturnValues="UPDATED_NEW",
    )["Attributes"]
    print("UpdateItem:", updated["status"]["S"], updated["revision"]["N"])
    error = refused(
        db.put_item,
        db.exceptions.ConditionalCheckFailedException,
        TableName="orders",
        Item=key,
        ConditionExpression="attribute_not_exists(customer)",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    print("ConditionalCheckFailedException:", f"{error['Error']['Message']}; {error['Item']['status']['S']}")
    deleted = db.delete_item(TableName="orders", Key=key, ReturnValues="ALL_OLD")
    print("DeleteItem:", deleted["Attributes"]["status"]["S"])
    error = refused(db.put_item, ClientError, TableName="orders", Item={"customer": {"S": "ann"}})
    print(f"{error['Error']['Code']}:", error["Error"]["Message"])
    error = refused(db.get_item, db.exceptions.ResourceNotFoundException, TableName="missing", Key=key)
    print("ResourceNotFoundException:", error["Error"]["Message"])

    # Batches and pages
    def order(number: int) -> dict[str, Any]:
        return {"customer": {"S": "ann"}, "number": {"N": str(number)}}

    puts = [{"PutRequest": {"Item": order(n) | {"status": {"S": "open" if n % 4 else "done"}}}} for n in range(1, 21)]
    written = db.batch_write_item(RequestItems={"orders": puts})
    print("BatchWriteItem:", len(written["UnprocessedItems"]), "unprocessed")
    some = db.batch_get_item(RequestItems={"orders": {"Keys": [order(1), order(2), order(3)]}})
    print("BatchGetItem:", ",".join(sorted(each["number"]["N"] for each in some["Responses"]["orders"])))
    pages = list(
        db.get_paginator("query").paginate(
            TableName="orders",
            KeyConditionExpression="customer = :c",
            ExpressionAttributeValues={":c": {"S": "ann"}},
            PaginationConfig={"PageSize": 7},
        )
    )
    print("Query:", sum(page["Count"] for page in pages), "items in", len(pages), "pages")
    indexed = db.query(
        TableName="orders",
        IndexName="by_status",
        KeyConditionExpression="#s = :s",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":s": {"S": "done"}},
    )
    print("Query:", indexed["Count"], "in the index")
    pages = list(db.get_paginator("scan").paginate(TableName="orders", PaginationConfig={"PageSize": 8}))
    print("Scan:", sum(page["Count"] for page in pages), "items in", len(pages), "pages")

    # Transactions
    def transaction(number: int) -> dict[str, Any]:
        return {
            "ClientRequestToken": "once",
            "TransactItems": [
                {"Put": {"TableName": "orders", "Item": order(number)}},
                {
                    "Update": {
                        "TableName": "orders",
                        "Key": order(1),
                        "UpdateExpression": "SET note = :n",
                        "ExpressionAttributeValues": {":n": {"S": "first"}},
                    }
                },
                {"Delete": {"TableName": "orders", "Key": order(20)}},
                {
                    "ConditionCheck": {
                        "TableName": "orders",
                        "Key": order(2),
                        "ConditionExpression": "attribute_exists(customer)",
                    }
                },
            ],
        }

    capacity = db.transact_write_items(**transaction(21), ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    print("TransactWriteItems:", capacity[0]["TableName"])
    error = refused(db.transact_write_items, db.exceptions.IdempotentParameterMismatchException, **transaction(22))
    print("IdempotentParameterMismatchException:", error["Error"]["Message"])
    both = db.transact_get_items(
        TransactItems=[{"Get": {"TableName": "orders", "Key": order(number)}} for number in (21, 20)]
    )["Responses"]
    print("TransactGetItems:", ",".join(each["Item"]["number"]["N"] if "Item" in each else "none" for each in both))
    error = refused(
        db.transact_write_items,
        db.exceptions.TransactionCanceledException,
        TransactItems=[
            {"Delete": {"TableName": "orders", "Key": order(2)}},
            {
                "Put": {
                    "TableName": "orders",
                    "Item": order(3),
                    "ConditionExpression": "attribute_not_exists(customer)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            },
        ],
    )
    codes = ",".join(reason["Code"] for reason in error["CancellationReasons"])
    print("TransactionCanceledException:", codes, error["CancellationReasons"][1]["Item"]["status"]["S"])

    # PartiQL
    one = 'SELECT "number" FROM "orders" WHERE customer = ? AND "number" = ?'
    selected = db.execute_statement(
        Statement='SELECT "number" FROM "orders" WHERE customer = ? AND "number" > ?',
        Parameters=[{"S": "ann"}, {"N": "18"}],
    )["Items"]
    print("ExecuteStatement:", ",".join(each["number"]["N"] for each in selected))
    error = refused(
        db.execute_statement,
        db.exceptions.DuplicateItemException,
        Statement="INSERT INTO \"orders\" VALUE {'customer': 'ann', 'number': 1}",
    )
    print("DuplicateItemException:", error["Error"]["Message"])
    members = db.batch_execute_statement(
        Statements=[
            {"Statement": one, "Parameters": [{"S": "ann"}, {"N": "21"}]},
            {"Statement": one.replace("orders", "missing"), "Parameters": [{"S": "ann"}, {"N": "21"}]},
        ]
    )["Responses"]
    print("BatchExecuteStatement:", f"{members[0]['Item']['number']['N']},{members[1]['Error']['Code']}")
    done = db.execute_transaction(
        TransactStatements=[{"Statement": one, "Parameters": [{"S": "ann"}, {"N": number}]} for number in ("2", "1")]
    )["Responses"]
    print("ExecuteTransaction:", ",".join(each["Item"]["number"]["N"] for each in done))

    # What a table has besides items
    grown = db.update_table(
        TableName="orders",
        AttributeDefinitions=[{"AttributeName": "day", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by_day",
                    "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            }
        ],
    )["TableDescription"]
    print("UpdateTable:", ",".join(sorted(each["IndexName"] for each in grown["GlobalSecondaryIndexes"])))
    db.get_waiter("table_exists").wait(TableName="orders", WaiterConfig={"Delay": 1})
    db.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "blue"}, {"Key": "stage", "Value": "test"}])
    print("TagResource: 2")
    db.untag_resource(ResourceArn=arn, TagKeys=["stage"])
    print("UntagResource: 1")
    tags = db.list_tags_of_resource(ResourceArn=arn)["Tags"]
    print("ListTagsOfResource:", ",".join(f"{tag['Key']}={tag['Value']}" for tag in tags))
    print("DescribeLimits:", db.describe_limits()["AccountMaxReadCapacityUnits"])
    print("DescribeEndpoints:", len(db.describe_endpoints()["Endpoints"]))
    set_to = db.update_time_to_live(
        TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
    )["TimeToLiveSpecification"]
    print("UpdateTimeToLive:", set_to["AttributeName"])
    expiry = db.describe_time_to_live(TableName="orders")["TimeToLiveDescription"]
    print("DescribeTimeToLive:", expiry["TimeToLiveStatus"], expiry["AttributeName"])

    # Backups
    backup = db.create_backup(TableName="orders", BackupName="nightly")["BackupDetails"]
    print("CreateBackup:", backup["BackupName"])
    detail = db.describe_backup(BackupArn=backup["BackupArn"])["BackupDescription"]
    print("DescribeBackup:", detail["BackupDetails"]["BackupStatus"], detail["SourceTableDetails"]["ItemCount"])
    backups = db.list_backups(TableName="orders")["BackupSummaries"]
    print("ListBackups:", ",".join(each["BackupName"] for each in backups))
    restored = db.restore_table_from_backup(TargetTableName="orders-copy", BackupArn=backup["BackupArn"])
    print("RestoreTableFromBackup:", restored["TableDescription"]["TableName"])
    db.get_waiter("table_exists").wait(TableName="orders-copy", WaiterConfig={"Delay": 1})
    print("Scan:", db.scan(TableName="orders-copy", Select="COUNT")["Count"], "restored")
    print(
        "DeleteBackup:",
        db.delete_backup(BackupArn=backup["BackupArn"])["BackupDescription"]["BackupDetails"]["BackupStatus"],
    )
    error = refused(db.describe_backup, db.exceptions.BackupNotFoundException, BackupArn=backup["BackupArn"])
    print("BackupNotFoundException:", error["Error"]["Message"].replace(backup["BackupArn"], "ARN"))
    kept = db.update_continuous_backups(
        TableName="orders", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )["ContinuousBackupsDescription"]
    print("UpdateContinuousBackups:", kept["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"])
    kept = db.describe_continuous_backups(TableName="orders")["ContinuousBackupsDescription"]
    print("DescribeContinuousBackups:", kept["ContinuousBackupsStatus"])
    restored = db.restore_table_to_point_in_time(
        SourceTableName="orders", TargetTableName="orders-now", UseLatestRestorableTime=True
    )
    print("RestoreTableToPointInTime:", restored["TableDescription"]["TableName"])
    db.get_waiter("table_exists").wait(TableName="orders-now", WaiterConfig={"Delay": 1})
    pages = list(db.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2}))
    names = [name for page in pages for name in page["TableNames"]]
    print("ListTables:", ",".join(names), "in", len(pages), "pages")

    # Streams
    (stream,) = streams.list_streams(TableName="orders")["Streams"]
    print("ListStreams:", stream["TableName"])
    view = streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]
    print("DescribeStream:", view["StreamStatus"], view["StreamViewType"], len(view["Shards"]))
    iterator = streams.get_shard_iterator(
        StreamArn=stream["StreamArn"], ShardId=view["Shards"][0]["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    print("GetShardIterator:", "some" if iterator else "none")
    records = streams.get_records(ShardIterator=iterator)["Records"]
    change = records[1]["dynamodb"]
    print(
        "GetRecords:",
        len(records),
        ",".join(record["eventName"] for record in records[:3]),
        change["OldImage"]["status"]["S"],
        change["NewImage"]["status"]["S"],
        change["NewImage"]["binary"]["B"].hex(),
    )
    error = refused(
        streams.describe_stream,
        streams.exceptions.ResourceNotFoundException,
        StreamArn=stream["StreamArn"].replace("orders", "missing"),
    )
    print("ResourceNotFoundException:", error["Error"]["Code"])

    for name in names:
        status = db.delete_table(TableName=name)["TableDescription"]["TableStatus"]
    print("DeleteTable:", status)
    db.get_waiter("table_not_exists").wait(TableName="orders", WaiterConfig={"Delay": 1})
    print("TableNotExists: yes")


if __name__ == "__main__":
    main(sys.argv[1])
