"""The embedded engine: DynamoDB's semantics over SQLite, in process, with no network."""

from tablewright.dynamo import DynamoError
from tablewright.engine.engine import Engine
from tablewright.engine.storage.data_folder import DamagedError, StorageError
from tablewright.engine.storage.group_commit import Commit
from tablewright.engine.storage.verify_folder import Report

__all__ = ["Commit", "DamagedError", "DynamoError", "Engine", "Report", "StorageError"]
