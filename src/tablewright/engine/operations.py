"""Every operation of the engine, by DynamoDB's name for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tablewright.engine.backups import on_demand, point_in_time, restore
from tablewright.engine.database import Database
from tablewright.engine.items import batch_operations, item_operations, query_scan, transactions
from tablewright.engine.slices import Response
from tablewright.engine.streams import shards, stream_records
from tablewright.engine.tables import account, table_operations, tags, update_table
from tablewright.engine.ttl import time_to_live

# A handler gets a request that has passed ``check_request``, and runs inside a turn of the storage; one that may take
# long returns steps that lead to its response.
Handler = Callable[[Database, dict[str, Any]], Response]


def _partiql(name: str) -> Handler:
    """A handler of statements. Most programs have none, so its modules are imported with the first."""

    def handle(db: Database, request: dict[str, Any]) -> Response:
        from tablewright.engine import partiql

        handler: Handler = getattr(partiql, name)
        return handler(db, request)

    return handle


HANDLERS: dict[str, Handler] = {
    "PutItem": item_operations.put_item,
    "GetItem": item_operations.get_item,
    "UpdateItem": item_operations.update_item,
    "DeleteItem": item_operations.delete_item,
    "BatchGetItem": batch_operations.batch_get_item,
    "BatchWriteItem": batch_operations.batch_write_item,
    "Query": query_scan.query,
    "Scan": query_scan.scan,
    "TransactWriteItems": transactions.transact_write_items,
    "TransactGetItems": transactions.transact_get_items,
    "ExecuteStatement": _partiql("execute_statement"),
    "BatchExecuteStatement": _partiql("batch_execute_statement"),
    "ExecuteTransaction": _partiql("execute_transaction"),
    "CreateTable": table_operations.create_table,
    "DescribeTable": table_operations.describe_table,
    "ListTables": table_operations.list_tables,
    "DeleteTable": table_operations.delete_table,
    "UpdateTable": update_table.update_table,
    "TagResource": tags.tag_resource,
    "UntagResource": tags.untag_resource,
    "ListTagsOfResource": tags.list_tags_of_resource,
    "DescribeLimits": account.describe_limits,
    "DescribeEndpoints": account.describe_endpoints,
    "UpdateTimeToLive": time_to_live.update_time_to_live,
    "DescribeTimeToLive": time_to_live.describe_time_to_live,
    "CreateBackup": on_demand.create_backup,
    "DescribeBackup": on_demand.describe_backup,
    "ListBackups": on_demand.list_backups,
    "DeleteBackup": on_demand.delete_backup,
    "UpdateContinuousBackups": point_in_time.update_continuous_backups,
    "DescribeContinuousBackups": point_in_time.describe_continuous_backups,
    "RestoreTableFromBackup": restore.restore_table_from_backup,
    "RestoreTableToPointInTime": restore.restore_table_to_point_in_time,
    "ListStreams": shards.list_streams,
    "DescribeStream": shards.describe_stream,
    "GetShardIterator": stream_records.get_shard_iterator,
    "GetRecords": stream_records.get_records,
}
