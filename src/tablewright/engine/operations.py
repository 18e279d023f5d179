"""Every operation the engine answers, by DynamoDB's name for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tablewright.engine import (
    backups,
    batches,
    expiry,
    items,
    partiql,
    reads,
    recovery,
    restores,
    stream_records,
    streams,
    table_settings,
    table_updates,
    tables,
    transactions,
)
from tablewright.engine.database import Database

# A handler gets a request that has passed ``check_request`` and runs with the storage's turn held.
Handler = Callable[[Database, dict[str, Any]], dict[str, Any]]

OPERATIONS: dict[str, Handler] = {
    "PutItem": items.put_item,
    "GetItem": items.get_item,
    "UpdateItem": items.update_item,
    "DeleteItem": items.delete_item,
    "BatchGetItem": batches.batch_get_item,
    "BatchWriteItem": batches.batch_write_item,
    "Query": reads.query,
    "Scan": reads.scan,
    "TransactWriteItems": transactions.transact_write_items,
    "TransactGetItems": transactions.transact_get_items,
    "ExecuteStatement": partiql.execute_statement,
    "BatchExecuteStatement": partiql.batch_execute_statement,
    "ExecuteTransaction": partiql.execute_transaction,
    "CreateTable": tables.create_table,
    "DescribeTable": tables.describe_table,
    "ListTables": tables.list_tables,
    "DeleteTable": tables.delete_table,
    "UpdateTable": table_updates.update_table,
    "TagResource": table_settings.tag_resource,
    "UntagResource": table_settings.untag_resource,
    "ListTagsOfResource": table_settings.list_tags_of_resource,
    "DescribeLimits": table_settings.describe_limits,
    "DescribeEndpoints": table_settings.describe_endpoints,
    "UpdateTimeToLive": expiry.update_time_to_live,
    "DescribeTimeToLive": expiry.describe_time_to_live,
    "CreateBackup": backups.create_backup,
    "DescribeBackup": backups.describe_backup,
    "ListBackups": backups.list_backups,
    "DeleteBackup": backups.delete_backup,
    "UpdateContinuousBackups": recovery.update_continuous_backups,
    "DescribeContinuousBackups": recovery.describe_continuous_backups,
    "RestoreTableFromBackup": restores.restore_table_from_backup,
    "RestoreTableToPointInTime": restores.restore_table_to_point_in_time,
    "ListStreams": streams.list_streams,
    "DescribeStream": streams.describe_stream,
    "GetShardIterator": stream_records.get_shard_iterator,
    "GetRecords": stream_records.get_records,
}
