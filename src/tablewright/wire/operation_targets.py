"""The operations that ``X-Amz-Target`` may name, by the exact bytes of the header.

Operations of DynamoDB that the engine lacks are listed as well: the service resolves the target before it checks
credentials, and the engine then reports that it does not support the operation.
"""

from __future__ import annotations

from typing import Final

_DYNAMODB: Final = """
    BatchExecuteStatement BatchGetItem BatchWriteItem CancelBulkOperation CreateBackup CreateGlobalTable
    CreateTable DeleteBackup DeleteItem DeleteResourcePolicy DeleteTable DescribeBackup
    DescribeBulkOperation DescribeContinuousBackups DescribeContributorInsights DescribeEndpoints
    DescribeExport DescribeGlobalTable DescribeGlobalTableSettings DescribeImport
    DescribeKinesisStreamingDestination DescribeLimits DescribeTable DescribeTableReplicaAutoScaling
    DescribeTimeToLive DisableKinesisStreamingDestination EnableKinesisStreamingDestination
    ExecuteStatement ExecuteTransaction ExportTableToPointInTime GetItem GetResourcePolicy ImportTable
    ListBackups ListBulkOperations ListContributorInsights ListExports ListGlobalTables ListImports
    ListTables ListTagsOfResource PutItem PutResourcePolicy Query RestoreTableFromBackup
    RestoreTableToPointInTime Scan SearchVectors StartBulkPutItems TagResource TransactGetItems
    TransactWriteItems UntagResource UpdateContinuousBackups UpdateContributorInsights UpdateGlobalTable
    UpdateGlobalTableSettings UpdateItem UpdateKinesisStreamingDestination UpdateTable
    UpdateTableReplicaAutoScaling UpdateTimeToLive
"""

_STREAMS: Final = "DescribeStream GetRecords GetShardIterator ListStreams"

WITHOUT_OUTPUT: Final = frozenset({"TagResource", "UntagResource"})
"""The operations whose response has no body, not even an empty document."""

OPERATION_BY_TARGET: Final[dict[bytes, str]] = {
    f"{prefix}.{name}".encode(): name
    for prefix, names in (("DynamoDB_20120810", _DYNAMODB), ("DynamoDBStreams_20120810", _STREAMS))
    for name in names.split()
}

_LONG: Final = """
    BatchExecuteStatement BatchGetItem BatchWriteItem CreateBackup DescribeTable ExecuteStatement
    ExecuteTransaction ListBackups Query RestoreTableFromBackup RestoreTableToPointInTime Scan TransactGetItems
    TransactWriteItems
"""
_LONG_OF_STREAMS: Final = "GetRecords GetShardIterator ListStreams"

MAY_TAKE_LONG: Final = frozenset(
    [f"DynamoDB_20120810.{name}".encode() for name in _LONG.split()]
    + [f"DynamoDBStreams_20120810.{name}".encode() for name in _LONG_OF_STREAMS.split()]
)
"""The targets of operations that may take more than a millisecond to check or to execute."""

_ITEMS: Final = """
    BatchExecuteStatement BatchGetItem BatchWriteItem DeleteItem ExecuteStatement ExecuteTransaction GetItem PutItem
    Query Scan TransactGetItems TransactWriteItems UpdateItem
"""

OF_ITEMS: Final = frozenset(_ITEMS.split())
"""The operations after which the engine keeps no part of the request, unlike a table's definition."""
