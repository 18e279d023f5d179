"""Tables: indexes, streams, time to live, recovery, backups, tags."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tablewright.store import Response
from tablewright.transfer.acceptance.probe_tables import ProbeTables, expect

_STREAM_SECONDS = 20.0
_INDEX_SECONDS = 20.0


def _index(name: str, *attributes: str) -> dict[str, Any]:
    kinds = ["HASH", "RANGE"]
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": each, "KeyType": kind} for each, kind in zip(attributes, kinds, strict=False)],
        "Projection": {"ProjectionType": "ALL"},
    }


async def _in_index(tables: ProbeTables, table: str, condition: str, **more: Any) -> Response:
    return await tables.call(
        "Query",
        TableName=table,
        IndexName="index",
        KeyConditionExpression=condition,
        ExpressionAttributeValues={":v": {"S": "x"}},
        **more,
    )


async def _soon(tables: ProbeTables, table: str, count: int) -> None:
    """A global index catches up with its table after a while."""
    until = time.monotonic() + _INDEX_SECONDS
    while True:
        found = len((await _in_index(tables, table, "a = :v"))["Items"])
        if found == count:
            return
        expect(time.monotonic() < until, f"an index returns {found} items, not {count}")
        await asyncio.sleep(0.2)


async def global_indexes(tables: ProbeTables) -> None:
    table = await tables.create("gsi", attributes=["a", "b"], GlobalSecondaryIndexes=[_index("index", "a", "b")])
    await tables.put(table, "1", a={"S": "x"}, b={"S": "2"})
    await tables.put(table, "2", a={"S": "x"}, b={"S": "1"})
    await tables.put(table, "3", a={"S": "x"})
    await _soon(tables, table, 2)
    found = [item["pk"]["S"] for item in (await _in_index(tables, table, "a = :v"))["Items"]]
    expect(found == ["2", "1"], f"an index returns the order {found}")


async def added_indexes(tables: ProbeTables) -> None:
    table = await tables.create("added")
    await tables.put(table, "1", a={"S": "x"})
    await tables.call(
        "UpdateTable",
        TableName=table,
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk", "a")],
        GlobalSecondaryIndexUpdates=[{"Create": _index("index", "a")}],
    )
    await tables.until_active(table)
    await _soon(tables, table, 1)


async def local_indexes(tables: ProbeTables) -> None:
    table = await tables.create("lsi", attributes=["a"], LocalSecondaryIndexes=[_index("index", "pk", "a")])
    await tables.put(table, "x", "1", a={"S": "2"})
    await tables.put(table, "x", "2", a={"S": "1"})
    found = await _in_index(tables, table, "pk = :v", ConsistentRead=True)
    names = [item["sk"]["S"] for item in found["Items"]]
    expect(names == ["2", "1"], f"a local index returns the order {names}")


async def streams(tables: ProbeTables) -> None:
    specification = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    table = await tables.create("stream", StreamSpecification=specification)
    arn = (await tables.call("DescribeTable", TableName=table))["Table"].get("LatestStreamArn")
    expect(arn is not None, "a table has no stream, although it was created with one")
    for number in range(3):
        await tables.put(table, "a", value={"N": str(number)})
    await tables.call("DeleteItem", TableName=table, Key={"pk": {"S": "a"}, "sk": {"S": "-"}})
    until = time.monotonic() + _STREAM_SECONDS
    while True:
        records = await _records(tables, str(arn))
        if len(records) >= 4:
            break
        expect(time.monotonic() < until, f"a stream has {len(records)} records for 4 changes")
        await asyncio.sleep(0.5)
    names = [record["eventName"] for record in records]
    expect(names == ["INSERT", "MODIFY", "MODIFY", "REMOVE"], f"the events of one item are {', '.join(names)}")
    old = records[2]["dynamodb"].get("OldImage", {}).get("value")
    expect(old == {"N": "1"}, f"the old image of a change has {old}")


async def _records(tables: ProbeTables, arn: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    shards = (await tables.call("DescribeStream", StreamArn=arn))["StreamDescription"]["Shards"]
    for shard in shards:
        where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = (await tables.call("GetShardIterator", **where)).get("ShardIterator")
        for _ in range(3):
            if iterator is None:
                break
            response = await tables.call("GetRecords", ShardIterator=iterator)
            found += response["Records"]
            iterator = response.get("NextShardIterator")
    return found


async def time_to_live(tables: ProbeTables) -> None:
    table = await tables.create("ttl")
    specification = {"AttributeName": "until", "Enabled": True}
    await tables.call("UpdateTimeToLive", TableName=table, TimeToLiveSpecification=specification)
    found = (await tables.call("DescribeTimeToLive", TableName=table))["TimeToLiveDescription"]
    expect(found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"), f"time to live is {found}")


async def recovery(tables: ProbeTables) -> None:
    table = await tables.create("recovery")
    specification = {"PointInTimeRecoveryEnabled": True}
    await tables.call("UpdateContinuousBackups", TableName=table, PointInTimeRecoverySpecification=specification)
    found = (await tables.call("DescribeContinuousBackups", TableName=table))["ContinuousBackupsDescription"]
    status = found.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    expect(status == "ENABLED", f"point-in-time recovery is {status}")


async def backups(tables: ProbeTables) -> None:
    table = await tables.create("backup")
    response = await tables.call("CreateBackup", TableName=table, BackupName="check")
    tables.claim_backup(response["BackupDetails"]["BackupArn"])


async def tags(tables: ProbeTables) -> None:
    table = await tables.create("tags")
    arn = (await tables.call("DescribeTable", TableName=table))["Table"]["TableArn"]
    await tables.call("TagResource", ResourceArn=arn, Tags=[{"Key": "team", "Value": "a"}])
    found = (await tables.call("ListTagsOfResource", ResourceArn=arn)).get("Tags")
    expect(found == [{"Key": "team", "Value": "a"}], f"the tags of a table are {found}")
