"""Tables by the name or ARN in a request."""

from __future__ import annotations

from tablewright.dynamo import ResourceNotFoundException, TableNotFoundException
from tablewright.engine.database import Database
from tablewright.engine.tables.table_schema import Table


def table_name(db: Database, name_or_arn: str) -> str:
    """The name in a table name or in the ARN of one of the account's tables."""
    if not name_or_arn.startswith("arn:"):
        return name_or_arn
    db.check_arn(name_or_arn)
    return name_or_arn.split(":", 5)[5].removeprefix("table/")


def find_table(db: Database, name_or_arn: str) -> Table:
    """The table of an operation on tables."""
    name = table_name(db, name_or_arn)
    table = db.tables.get(name)
    if table is None:
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
    return table


def find_backup_source(db: Database, name_or_arn: str) -> Table:
    """The table of an operation on backups; these have their own error for an unknown table."""
    name = table_name(db, name_or_arn)
    table = db.tables.get(name)
    if table is None:
        raise TableNotFoundException(f"Table not found: {name}")
    return table


def find_same_source(db: Database, table: Table) -> Table:
    """The present state of a table, unless it was deleted since it was found, even if another one has its name."""
    found = find_backup_source(db, table.name)
    if found.number != table.number:
        raise TableNotFoundException(f"Table not found: {table.name}")
    return found
