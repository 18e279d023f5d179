"""The relations that a query names, by DuckDB's own syntax tree; a query must be a single SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

__all__ = ["SqlError", "named_relations"]

_ONE_SELECT = "give one SELECT: tables cannot be changed by SQL"


class SqlError(Exception):
    """A query that cannot be run; the message says why, and what to do."""


def named_relations(query: str) -> set[tuple[str, str]]:
    """Schema and name, in lower case; the schema is empty if the query does not name it."""
    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(":memory:", config=config) as parser:
        try:
            found = parser.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchone()
        except duckdb.Error as error:
            raise SqlError(str(error)) from None
    tree = orjson.loads(found[0] if found is not None else b"{}")
    if tree.get("error"):
        is_other = "Only SELECT" in tree["error_message"]
        raise SqlError(_ONE_SELECT if is_other else tree["error_message"])
    if len(tree["statements"]) != 1:
        raise SqlError(_ONE_SELECT)
    return set(_named(tree["statements"]))


def _named(node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            yield node["schema_name"].lower(), node["table_name"].lower()
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from _named(each)
