"""An item as text to be used elsewhere: DynamoDB JSON, a Python entity, boto3, the AWS CLI, PartiQL."""

from __future__ import annotations

import shlex
from decimal import Decimal
from typing import Any

import orjson

from tablewright.dynamo import AttributeValue, Item
from tablewright.model import ModelError, Schema

__all__ = ["copies_of"]


def copies_of(table: str, item: Item, schema: Schema | None, endpoint: str | None = None) -> dict[str, str]:
    """The text of an item by the name of its form; as a Python entity only where it is one."""
    found = {"DynamoDB JSON": orjson.dumps(item, option=orjson.OPT_INDENT_2).decode()}
    if schema is not None:
        text = _entity(schema, item)
        if text is not None:
            found["Python"] = text
    found["boto3"] = _boto3(table, item)
    found["AWS CLI"] = _cli(table, item, endpoint)
    found["PartiQL"] = f'INSERT INTO "{table}" VALUE {_partiql({"M": item})}'
    return found


def _entity(schema: Schema, item: Item) -> str | None:
    try:
        entity = schema.entity.of(item)
    except (ModelError, ValueError):
        return None
    lines = [f"    {name}={getattr(entity, name)!r}," for name in entity.model_fields_set if name in schema.fields]
    order = {name: number for number, name in enumerate(schema.fields)}
    lines.sort(key=lambda line: order.get(line.strip().partition("=")[0], 0))
    return "\n".join([f"{schema.entity.__name__}(", *lines, ")"])


def _boto3(table: str, item: Item) -> str:
    lines = ["from decimal import Decimal", "", "import boto3", ""]
    lines += [f'table = boto3.resource("dynamodb").Table({table!r})', "table.put_item(", "    Item={"]
    lines += [f"        {name!r}: {_python(value)}," for name, value in item.items()]
    return "\n".join([*lines, "    }", ")"])


def _python(value: AttributeValue) -> str:
    """A value as boto3's resource takes it."""
    kind, content = next(iter(value.items()))
    if kind == "N":
        return f"Decimal({str(Decimal(content))!r})"
    if kind == "B":
        import base64

        return repr(base64.b64decode(content))
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
    parts.append(f"--item {shlex.quote(orjson.dumps(item).decode())}")
    return " \\\n  ".join(parts)


def _partiql(value: AttributeValue) -> str:
    kind, content = next(iter(value.items()))
    if kind == "M":
        return "{" + ", ".join(f"{_text(name)}: {_partiql(each)}" for name, each in content.items()) + "}"
    if kind == "L":
        return "[" + ", ".join(map(_partiql, content)) + "]"
    if kind in ("SS", "NS", "BS"):
        return "<<" + ", ".join(_partiql({kind[0]: each}) for each in content) + ">>"
    return _scalar(kind, content)


def _scalar(kind: str, content: Any) -> str:
    if kind == "N":
        return str(content)
    if kind == "BOOL":
        return str(content).lower()
    if kind == "NULL":
        return "NULL"
    # Binary has no literal in PartiQL; the service takes it as a parameter only.
    return "?" if kind == "B" else _text(content)


def _text(content: str) -> str:
    return "'" + content.replace("'", "''") + "'"
