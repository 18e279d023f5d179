"""Which items are copied, and how they are changed.

    where        a condition that an item must meet
    pseudonyms   personal data is replaced, and the keys made from it
    transform    a user function: what it returns is copied; an item is left out if it returns None

With a design, the function gets entities, and what it returns is encoded again, including the keys. An item that
belongs to no entity is passed on unchanged: a table also has items that the store manages.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tablewright.dynamo import Item
from tablewright.model import Design, ModelError, Schema, Table, schema_of, schemas_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.items.item_decoding import keep_unknown_attributes, unknown_attributes
from tablewright.transfer.changes.pseudonyms import Pseudonyms
from tablewright.transfer.changes.where_expression import where as condition
from tablewright.transfer.errors import TransferError

__all__ = ["ItemChanges"]


class ItemChanges:
    """The changes that a copy makes to items between source and target; none by default."""

    def __init__(
        self,
        *,
        where: str | None = None,
        transform: str | None = None,
        designs: Sequence[Design] = (),
        pseudonyms: Pseudonyms | None = None,
        drop_unknown: bool = False,
    ) -> None:
        """``drop_unknown``: leave out items that belong to no entity, and so cannot be pseudonymized."""
        self._where = None if where is None else condition(where)
        self._transform = None if transform is None else _function(transform)
        self._tables = {table.name: table for design in designs for table in design.all_tables}
        # What distinguishes one copy from another.
        self.identity: Mapping[str, Any] = {
            "where": where,
            "transform": transform,
            "pseudonyms": None if pseudonyms is None else pseudonyms.fingerprint,
            "drop_unknown": drop_unknown,
        }
        self._pseudonyms, self._drop_unknown = pseudonyms, drop_unknown
        if pseudonyms is not None and not self._tables:
            raise TransferError("--pseudonymize needs the model, which declares personal fields; give it with --design")

    def modelled(self, table: str) -> Table | None:
        """The table of the design with this name."""
        return self._tables.get(table)

    def apply(self, table: str, items: Iterable[Item]) -> list[Item]:
        """The items to write, for items that were read from a table."""
        if self._where is not None:
            items = filter(self._where, items)
        modelled = self._tables.get(table)
        if self._pseudonyms is not None:
            replaced = (self._pseudonymized(item, table, modelled, self._pseudonyms) for item in items)
            items = [item for item in replaced if item is not None]
        if self._transform is None:
            return list(items)
        changed = (self._transformed(item, modelled) for item in items)
        return [item for item in changed if item is not None]

    @property
    def drops_internal(self) -> bool:
        """Whether items that the store manages are left out, as they contain values of other items."""
        return self._pseudonyms is not None

    def _pseudonymized(self, item: Item, name: str, table: Table | None, pseudonyms: Pseudonyms) -> Item | None:
        if table is not None and table.is_internal(item):
            return None
        schema = None if table is None else entity_schema(table, item)
        if table is None or schema is None:
            if self._drop_unknown:
                return None
            key = item if table is None else {each: item.get(each) for each in table.key}
            raise TransferError(
                f"an item of {name} belongs to no entity of the design, so its personal fields are unknown: "
                f"{', '.join(f'{each} {value}' for each, value in list(key.items())[:2])}; add it to the model, or "
                "leave such items out with --drop-unknown"
            )
        if BLOB_REFERENCES in item:
            raise TransferError(
                f"an item of {schema.entity.__name__} has a value in a blob store, which a copy does not read; leave "
                f"it out with --where 'attribute_not_exists(\"{BLOB_REFERENCES}\")'"
            )
        entity = decoded(schema, item)
        unknown = unknown_attributes(entity)
        if unknown and not self._drop_unknown:
            raise TransferError(
                f"an item of {schema.entity.__name__} has the attributes {', '.join(sorted(unknown))}, which are not "
                "in the model; add them to it, or leave such items out with --drop-unknown"
            )
        keep_unknown_attributes(entity, {})
        try:
            return schema.encode(entity, pseudonyms.fields_of(schema, entity))
        except ModelError as error:
            raise TransferError(f"a pseudonym cannot be stored: {error}") from None

    def _transformed(self, item: Item, table: Table | None) -> Item | None:
        assert self._transform is not None
        schema = None if table is None else entity_schema(table, item)
        given = item if schema is None else decoded(schema, item)
        try:
            result = self._transform(given)
        except Exception as error:
            raise TransferError(f"--transform failed with {type(error).__name__}: {error}") from error
        if isinstance(result, BaseModel):
            try:
                return schema_of(type(result)).encode(result)
            except ModelError as error:
                raise TransferError(f"--transform returned a value that cannot be stored: {error}") from None
        if result is None or isinstance(result, dict):
            return result
        raise TransferError(f"--transform returned {type(result).__name__}; return an item, an entity, or None")


def entity_schema(table: Table, item: Item) -> Schema | None:
    """The entity of an item; None for items that the store manages, and for unknown ones."""
    if table.is_internal(item):
        return None
    return next((schema for schema in schemas_of(table) if schema.matches(item)), None)


def decoded(schema: Schema, item: Item) -> BaseModel:
    try:
        entity: BaseModel = schema.decode(item)
    except (ModelError, ValidationError) as error:
        key = {name: item.get(name) for name in schema.table.key}
        reason = str(error).splitlines()[0]
        raise TransferError(f"the item {key} is not a valid {schema.entity.__name__}: {reason}") from None
    return entity


def _function(path: str) -> Callable[[Any], Any]:
    module, _, name = path.partition(":")
    if not module or not name:
        raise TransferError(f"--transform {path}: name a function as module:function")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise TransferError(f"--transform {path}: {error}; give a module that can be imported from here") from None
    if not callable(found):
        raise TransferError(f"--transform {path}: there is no function {name} in {module}")
    function: Callable[[Any], Any] = found
    return function
