"""What the query of a files connector may be: one SELECT over the tables that the connector lists.

DuckDB itself reads the text, so nothing depends on how something is spelt. Tables are the listed ones and those that
the query names itself (``WITH``), where those names are known; rows may be made up by ``range``, ``generate_series``,
``unnest`` and ``VALUES``. Files, catalogues and settings are no tables here, whatever the text calls them, and no
function names them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

_ROWS = frozenset({"range", "generate_series", "unnest"})
# DuckDB's own: its catalogues, and functions that read them.
_OWN = ("duckdb_", "pragma_", "pg_", "sqlite_")
# Functions that tell of this machine and its settings, or do something beside giving a value.
_TELLING = frozenset(
    {
        "col_description",
        "current_catalog",
        "current_database",
        "current_query",
        "current_schema",
        "current_schemas",
        "current_setting",
        "currval",
        "format_type",
        "get_block_size",
        "getenv",
        "getvariable",
        "in_search_path",
        "nextval",
        "obj_description",
        "parse_duckdb_log_message",
        "shobj_description",
        "stats",
        "version",
        "write_log",
    }
)
# A name that no file has.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_ONE_SELECT = "it is one SELECT (or WITH ... SELECT), and nothing else"


def check_query(query: str, tables: Collection[str]) -> None:
    """ValueError, which says what is wrong, unless the query is one SELECT over these tables."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        tree = _parsed(connection, query)
        # As it is run; what ends a statement would end that one in the middle.
        _parsed(connection, f"SELECT * FROM (\n{query}\n) AS source")
    for name in tables:
        _check_name(name)
    for node, known in _nodes(tree, frozenset(name.casefold() for name in tables)):
        match node.get("type"):
            case "BASE_TABLE":
                _check_table(node, known, tables)
            case "TABLE_FUNCTION":
                function = str(node.get("function", {}).get("function_name", "")).casefold()
                if function not in _ROWS:
                    raise ValueError(f"it may only read the tables that are listed, not {function}(...)")
            case "FUNCTION":
                function = str(node.get("function_name", "")).casefold()
                if function in _TELLING or function.startswith(_OWN):
                    raise ValueError(f"{function}(...) shows more than the tables that are listed")
            case "SHOW_REF":
                raise ValueError(_ONE_SELECT)
            case "VALUE_PARAMETER":
                raise ValueError("parameters (? and $) are not supported")


def _parsed(connection: Any, query: str) -> Any:
    (text,) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    try:
        tree = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if tree["error"]:
        if tree.get("error_type") == "not implemented":
            raise ValueError(_ONE_SELECT)
        raise ValueError(f"it cannot be parsed: {str(tree['error_message']).splitlines()[0][:300]}")
    if len(tree["statements"]) != 1:
        raise ValueError(_ONE_SELECT)
    return tree


def _nodes(tree: Any, tables: frozenset[str]) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """The parts of a query, each with the tables that are known there.

    What a WITH names is known to what follows in it and to what it belongs to; to itself, in the part that recurs.
    """
    waiting = [(tree, tables)]
    while waiting:
        each, known = waiting.pop()
        if isinstance(each, list):
            waiting.extend((member, known) for member in each)
        elif isinstance(each, dict):
            rest = dict(each)
            for entry in _entries(rest):
                _check_name(str(entry["key"]))
                waiting.append((entry["value"], known))
                known |= {str(entry["key"]).casefold()}
            rest.pop("cte_map", None)
            if each.get("type") == "RECURSIVE_CTE_NODE":
                waiting.append((rest.pop("right"), known | {str(each["cte_name"]).casefold()}))
            yield each, known
            waiting.extend((member, known) for member in rest.values())


def _check_name(name: str) -> None:
    if not _NAME(name):
        raise ValueError(f"{name} is not a valid name: use letters, digits and _")
    if name.casefold().startswith(_OWN):
        raise ValueError(f"{name} is not a valid name: the names of DuckDB's own tables start like this")


def _entries(node: dict[str, Any]) -> list[Any]:
    """The parts that a SELECT names by WITH."""
    found = node.get("cte_map")
    entries = found.get("map") if isinstance(found, dict) else None
    return entries if isinstance(entries, list) else []


def _check_table(node: dict[str, Any], known: Collection[str], tables: Collection[str]) -> None:
    name = str(node.get("table_name", ""))
    if name.casefold() not in known or node.get("schema_name") or node.get("catalog_name"):
        path = [node.get("catalog_name"), node.get("schema_name"), name]
        name = ".".join(str(part) for part in path if part)
        raise ValueError(f"{name} is not one of its tables, which are {', '.join(sorted(tables))}")
