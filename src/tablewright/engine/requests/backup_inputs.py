"""The inputs of the operations on backups, on demand and continuous.

Order of members and of enumerations: the service's order is not documented; it is that of the service's model.
"""

from __future__ import annotations

from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH, MIN_TABLE_NAME_LENGTH
from tablewright.engine.requests.common_shapes import BOOLEAN, TABLE_NAME, operation_input
from tablewright.engine.requests.input_shapes import Number, Shape, String, Struct, Timestamp
from tablewright.engine.requests.table_inputs import (
    BILLING_MODE,
    GLOBAL_INDEXES,
    LOCAL_INDEXES,
    ON_DEMAND_THROUGHPUT,
    PROVISIONED_THROUGHPUT,
    SSE_SPECIFICATION,
    VECTOR_INDEXES,
    table_input,
)
from tablewright.engine.requests.table_name_shape import NAME_PATTERN

_NAME = String(min=MIN_TABLE_NAME_LENGTH, max=MAX_TABLE_NAME_LENGTH, pattern=NAME_PATTERN)
_BACKUP_ARN = String(min=37, max=1024)

_OVERRIDES: dict[str, Shape] = {
    "BillingModeOverride": BILLING_MODE,
    "GlobalSecondaryIndexOverride": GLOBAL_INDEXES,
    "LocalSecondaryIndexOverride": LOCAL_INDEXES,
    "ProvisionedThroughputOverride": PROVISIONED_THROUGHPUT,
    "OnDemandThroughputOverride": ON_DEMAND_THROUGHPUT,
    "SSESpecificationOverride": SSE_SPECIFICATION,
    "VectorIndexOverride": VECTOR_INDEXES,
}

BACKUP_INPUTS = {
    "CreateBackup": table_input("CreateBackup", {"TableName": TABLE_NAME, "BackupName": _NAME}, ("BackupName",)),
    "DescribeBackup": operation_input("DescribeBackup", {"BackupArn": _BACKUP_ARN}, ("BackupArn",)),
    "ListBackups": operation_input(
        "ListBackups",
        {
            "TableName": TABLE_NAME,
            "Limit": Number("Integer", min=1, max=100),
            "TimeRangeLowerBound": Timestamp(),
            "TimeRangeUpperBound": Timestamp(),
            "ExclusiveStartBackupArn": _BACKUP_ARN,
            "BackupType": String(enum=("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
        },
    ),
    "DeleteBackup": operation_input("DeleteBackup", {"BackupArn": _BACKUP_ARN}, ("BackupArn",)),
    "RestoreTableFromBackup": operation_input(
        "RestoreTableFromBackup",
        {"TargetTableName": _NAME, "BackupArn": _BACKUP_ARN, **_OVERRIDES},
        ("TargetTableName", "BackupArn"),
    ),
    "UpdateContinuousBackups": table_input(
        "UpdateContinuousBackups",
        {
            "TableName": TABLE_NAME,
            "PointInTimeRecoverySpecification": Struct(
                "PointInTimeRecoverySpecification",
                {
                    "PointInTimeRecoveryEnabled": BOOLEAN,
                    "RecoveryPeriodInDays": Number("Integer", min=1, max=35),
                },
                ("PointInTimeRecoveryEnabled",),
            ),
        },
        ("PointInTimeRecoverySpecification",),
    ),
    "DescribeContinuousBackups": table_input("DescribeContinuousBackups", {"TableName": TABLE_NAME}),
    "RestoreTableToPointInTime": operation_input(
        "RestoreTableToPointInTime",
        {
            "SourceTableArn": TABLE_NAME,
            "SourceTableName": _NAME,
            "TargetTableName": _NAME,
            "UseLatestRestorableTime": BOOLEAN,
            "RestoreDateTime": Timestamp(),
            **_OVERRIDES,
        },
        ("TargetTableName",),
    ),
}
