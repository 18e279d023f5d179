"""INSERT, UPDATE, DELETE and EXISTS as writes to one item."""

from __future__ import annotations

from typing import Any

import orjson

from tablewright.dynamo import (
    ITEM_TOO_LARGE,
    NESTED_TOO_DEEPLY,
    WRITTEN_TOO_DEEPLY,
    ConditionalCheckFailedException,
    DuplicateItemException,
    Item,
    RequestValidationException,
    ValidationException,
    checked_item,
)
from tablewright.dynamo.expressions import And, condition_from_node
from tablewright.dynamo.limits import MAX_ITEM_SIZE
from tablewright.engine.database import Database, Row
from tablewright.engine.items.item_operations import check_changes, check_key_paths, updated_item
from tablewright.engine.items.write import Write, unchanged
from tablewright.engine.partiql.refusals import StatementRefused
from tablewright.engine.partiql.statements import Delete, Exists, Insert, UpdateStatement, Values
from tablewright.engine.partiql.where_keys import item_key, key_and_conditions
from tablewright.engine.tables.table_schema import EmptyKeyException, Table


class KeyMismatch(ValidationException):
    """The WHERE clause of a write does not identify one item of the table."""

    @property
    def code(self) -> str:
        return "ValidationException"


class _Insertion(Write):
    """An item must not exist yet."""

    __slots__ = ()

    def check(self, old: Row | None) -> None:
        if old is not None:
            raise DuplicateItemException("Duplicate primary key exists in table")


class _Modification(Write):
    """An item must exist, and meet the WHERE clause."""

    __slots__ = ()

    def check(self, old: Row | None) -> None:
        if old is None:
            raise ConditionalCheckFailedException
        Write.check(self, old)


class _Removal(Write):
    """An existing item must meet the WHERE clause."""

    __slots__ = ()

    def check(self, old: Row | None) -> None:
        if old is not None:
            Write.check(self, old)


def insertion(db: Database, statement: Insert, values: Values) -> tuple[Write, Item]:
    """The write, and the key of its item."""
    try:
        item, size = checked_item(statement.item(values))
    except RequestValidationException as error:
        raise ValidationException(WRITTEN_TOO_DEEPLY if error.message == NESTED_TOO_DEEPLY else error.message) from None
    if size > MAX_ITEM_SIZE:
        raise StatementRefused(ITEM_TOO_LARGE)
    table = db.table(statement.table)
    table.check_item(item)
    return _Insertion(table, table.row_key(item), lambda _: (item, size)), table.key_of(item)


def modification(db: Database, statement: UpdateStatement, values: Values, item_on_failure: bool) -> tuple[Write, Item]:
    table = db.table(statement.table)
    key = _key(table, statement, values)
    check_changes(table, statement.update, values)
    new = updated_item(table, key, statement.update, values)
    write = _Modification(table, table.row_key(key), new, statement.where, values, item_on_failure)
    return write, key


def removal(db: Database, statement: Delete, values: Values, item_on_failure: bool) -> tuple[Write, Item]:
    table = db.table(statement.table)
    key = _key(table, statement, values)
    write = _Removal(table, table.row_key(key), lambda _: (None, 0), statement.where, values, item_on_failure)
    return write, key


def existence(db: Database, statement: Exists, values: Values, item_on_failure: bool) -> tuple[Write, Item]:
    """A condition check: the item stays as it is."""
    table = db.table(statement.table)
    if statement.select.index is not None:
        raise StatementRefused("Operations on indices are not supported in transactions")
    key, conditions = key_and_conditions(table, statement.where, values)
    if len(key) < len(table.key.names) or not conditions:
        raise StatementRefused("EXISTS() must contain a single item read with additional condition")
    _check_key(table, key)
    condition = condition_from_node(And(tuple(conditions)))
    return Write(table, table.row_key(key), unchanged, condition, values, item_on_failure), key


def _key(table: Table, statement: UpdateStatement | Delete, values: Values) -> Item:
    try:
        key = item_key(table, statement.where, values)
    except StatementRefused:
        raise
    except ValidationException as error:
        raise KeyMismatch(error.message) from None
    _check_key(table, key)
    assert statement.where is not None
    check_key_paths(table, statement.where)
    return key


def _check_key(table: Table, key: Item) -> None:
    try:
        table.check_key(key)
    except EmptyKeyException:
        raise
    except ValidationException as error:
        raise KeyMismatch(error.message) from None


def returned(statement: UpdateStatement | Delete, old: Row | None, new: Item | None) -> list[Any]:
    """The result of RETURNING: at most one item, and none if nothing of it was changed."""
    match statement.returning:
        case "ALL OLD":
            return [] if old is None else [orjson.Fragment(old.data)]
        case "ALL NEW":
            return [new]
        case "MODIFIED OLD" | "MODIFIED NEW" as mapping:
            assert isinstance(statement, UpdateStatement)
            image = new if mapping == "MODIFIED NEW" else None if old is None else old.item
            touched = {} if image is None else statement.update.updated(image)
            return [touched] if touched else []
    return []
