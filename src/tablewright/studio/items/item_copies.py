"""An item as text for use elsewhere: DynamoDB JSON, a Python entity, boto3, the AWS CLI, PartiQL.

Each can be pasted as it is, and creates the same item. PartiQL has no literal for binary values, so an item with binary
values becomes an ExecuteStatement request with parameters.
"""

from __future__ import annotations

import shlex
from base64 import b64decode
from decimal import Context, Decimal
from typing import Any

import orjson

from tablewright.dynamo import AttributeValue, Item
from tablewright.model import ModelError, Schema
from tablewright.studio.items.python_text import Imports, model_arguments

__all__ = ["copies_of"]

# An argument of a command has 128 KB at most; what is longer is read from standard input.
_LONGEST_ARGUMENT = 100_000
_MOST_DIGITS = 38
# What is longer is no statement of PartiQL for the service.
_LONGEST_STATEMENT = 8_192


def copies_of(table: str, item: Item, schema: Schema | None, endpoint: str | None = None) -> dict[str, str]:
    """The texts of an item by the name of the form; as a Python entity only if it is one."""
    found = {"DynamoDB JSON": orjson.dumps(item, option=orjson.OPT_INDENT_2).decode()}
    if schema is not None:
        text = _entity(schema, item)
        if text is not None:
            found["Python"] = text
    found["boto3"] = _boto3(table, item, endpoint)
    found["AWS CLI"] = _cli(table, item, endpoint)
    statement = _insert(table, item)
    if len(statement) <= _LONGEST_STATEMENT:
        found["PartiQL"] = statement
    return found


def _entity(schema: Schema, item: Item) -> str | None:
    try:
        entity = schema.entity.of(item)
    except (ModelError, ValueError):
        return None
    imports = Imports()
    name = imports.add(schema.entity)
    lines = [f"    {each}," for each in model_arguments(entity, imports)]
    return "\n".join([*imports.lines(), "", f"{name}(", *lines, ")"])


def _boto3(table: str, item: Item, endpoint: str | None) -> str:
    lines = ["from decimal import Decimal", "", "import boto3", ""]
    where = "" if endpoint is None else f", endpoint_url={endpoint!r}"
    lines += [f'table = boto3.resource("dynamodb"{where}).Table({table!r})', "table.put_item(", "    Item={"]
    lines += [f"        {name!r}: {_python(value)}," for name, value in item.items()]
    return "\n".join([*lines, "    }", ")"])


def _python(value: AttributeValue) -> str:
    """A value as boto3's resource takes it."""
    kind, content = next(iter(value.items()))
    if kind == "N":
        number = Decimal(content)
        if len(number.as_tuple().digits) > _MOST_DIGITS:
            # 1E+125, whose zeros boto3 would count as digits that it cannot keep.
            number = number.normalize(Context(prec=len(content)))
        return f"Decimal({str(number)!r})"
    if kind == "B":
        return repr(b64decode(content))
    if kind == "NULL":
        return "None"
    if kind == "M":
        return "{" + ", ".join(f"{name!r}: {_python(each)}" for name, each in content.items()) + "}"
    if kind == "L":
        return "[" + ", ".join(map(_python, content)) + "]"
    if kind in ("SS", "NS", "BS"):
        return "{" + ", ".join(_python({kind[0]: each}) for each in content) + "}"
    return repr(content)


def _cli(table: str, item: Item, endpoint: str | None) -> str:
    parts = ["aws dynamodb put-item", f"--table-name {shlex.quote(table)}"]
    if endpoint is not None:
        parts.append(f"--endpoint-url {shlex.quote(endpoint)}")
    content = orjson.dumps(item).decode()
    if len(content.encode()) <= _LONGEST_ARGUMENT:
        parts.append(f"--item {shlex.quote(content)}")
        return " \\\n  ".join(parts)
    parts.append("--item file:///dev/stdin <<'ITEM'")
    return " \\\n  ".join(parts) + f"\n{content}\nITEM"


def _insert(table: str, item: Item) -> str:
    parameters = [value for value in item.values() if _has_binary(value)]
    values = {name: "?" if _has_binary(value) else _partiql(value) for name, value in item.items()}
    content = ", ".join(f"{_text(name)}: {value}" for name, value in values.items())
    statement = f'INSERT INTO "{table}" VALUE {{{content}}}'
    if not parameters:
        return statement
    return orjson.dumps({"Statement": statement, "Parameters": parameters}, option=orjson.OPT_INDENT_2).decode()


def _has_binary(value: AttributeValue) -> bool:
    kind, content = next(iter(value.items()))
    members = content.values() if kind == "M" else content if kind == "L" else ()
    return kind in ("B", "BS") or any(map(_has_binary, members))


def _partiql(value: AttributeValue) -> str:
    kind, content = next(iter(value.items()))
    if kind == "M":
        return "{" + ", ".join(f"{_text(name)}: {_partiql(each)}" for name, each in content.items()) + "}"
    if kind == "L":
        return "[" + ", ".join(map(_partiql, content)) + "]"
    if kind in ("SS", "NS"):
        return "<<" + ", ".join(_partiql({kind[0]: each}) for each in content) + ">>"
    return _scalar(kind, content)


def _scalar(kind: str, content: Any) -> str:
    if kind == "N":
        return str(content)
    if kind == "BOOL":
        return str(content).lower()
    return "NULL" if kind == "NULL" else _text(content)


def _text(content: str) -> str:
    return "'" + content.replace("'", "''") + "'"
