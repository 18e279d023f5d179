"""The embedded engine: DynamoDB's semantics over SQLite, in process, with no network."""

from tablewright.engine.data_folder import DamagedError, StorageError
from tablewright.engine.engine import Engine
from tablewright.engine.errors import DynamoError
from tablewright.engine.storage import Batch
from tablewright.engine.verify import Report

__all__ = ["Batch", "DamagedError", "DynamoError", "Engine", "Report", "StorageError"]
