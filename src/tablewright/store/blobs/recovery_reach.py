"""How far back a table can be restored, and so which blobs a restore may need. ``recovery_reach`` asks the service.

    created ──────────── an item refers to the blob ──────────── orphaned
             ▲                        ▲                              ▲
             a backup of this time, or a point in time from the earliest one on, may be restored: the blob is needed

A backup counts for as long as it exists, whatever its age. Point-in-time recovery reaches as far as its period does, 35
days by default. If a service knows neither, nothing can be restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.store.context import Context
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.streams.change_records import timestamp


@dataclass(frozen=True, slots=True)
class RecoveryReach:
    """The earliest point in time that a table can be restored to, if there is one, and the times of its backups."""

    earliest: float | None = None
    backups: Sequence[float] = ()

    def __bool__(self) -> bool:
        """Whether anything can be restored."""
        return self.earliest is not None or bool(self.backups)

    def may_need(self, created: float, orphaned: float, slack: float) -> bool:
        """Whether a restore may need a blob that was referred to from one time to another.

        ``slack`` is how many seconds the clocks of writers and of the service may differ.
        """
        if self.earliest is not None and orphaned + slack >= self.earliest:
            return True
        return any(created - slack <= at <= orphaned + slack for at in self.backups)


def recovery_reach(context: Context, name: str) -> Flow[RecoveryReach]:
    """How far a table can be restored now; ask it after what it is to decide about was read."""
    pattern = f"{name}.orphans"
    try:
        response = yield from retrying(context, Request("DescribeContinuousBackups", {"TableName": name}, pattern))
        recovery = response["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        earliest = None
        if recovery.get("PointInTimeRecoveryStatus") == "ENABLED":
            # A service that does not report it can be expected to reach back to the beginning.
            earliest = timestamp(recovery.get("EarliestRestorableDateTime", 0)).timestamp()
        backups: list[float] = []
        body: dict[str, Any] = {"TableName": name, "BackupType": "ALL"}
        while True:
            page = yield from retrying(context, Request("ListBackups", body, pattern))
            backups += [timestamp(each["BackupCreationDateTime"]).timestamp() for each in page["BackupSummaries"]]
            if "LastEvaluatedBackupArn" not in page:
                return RecoveryReach(earliest, backups)
            body = {**body, "ExclusiveStartBackupArn": page["LastEvaluatedBackupArn"]}
    except ServiceError as error:
        # A service without backups.
        if not error.is_missing_operation:
            raise
        return RecoveryReach()
