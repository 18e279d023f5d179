"""Values as Python source text, with the imports that it needs.

imports = Imports()
python_text(task, imports)     "Task(task_id='t-1', status=Status.OPEN, created_at=datetime.fromisoformat('...'))"
imports.lines()                ["from datetime import datetime", "from shop.model import Status, Task"]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

__all__ = ["Imports", "model_arguments", "python_text"]


@dataclass(slots=True)
class Imports:
    """The imports of a text: names by module."""

    names: dict[str, set[str]] = field(default_factory=dict)

    def add(self, kind: type) -> str:
        """The name of a class, which is added to the imports."""
        if kind.__module__ != "builtins":
            # Of a class inside of another one, the outer one is imported.
            self.names.setdefault(kind.__module__, set()).add(kind.__qualname__.partition(".")[0])
        return kind.__qualname__

    def lines(self) -> list[str]:
        return [f"from {module} import {', '.join(sorted(self.names[module]))}" for module in sorted(self.names)]


def python_text(value: Any, imports: Imports) -> str:
    """The source text of a value; for unknown types, its repr."""
    match value:
        case Enum():
            kind = imports.add(type(value))
            return f"{kind}.{value.name}" if value.name in type(value).__members__ else f"{kind}({value.value!r})"
        case BaseModel():
            arguments = model_arguments(value, imports)
            return f"{imports.add(type(value))}({', '.join(arguments)})"
        case bool() | None | int() | str() | bytes():
            # What is a class of its own is as good as what it is of.
            return repr(_plain(value))
        case float():
            return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
        case Decimal():
            return f"{imports.add(Decimal)}({str(value)!r})"
        case datetime():
            return f"{imports.add(datetime)}.fromisoformat({value.isoformat()!r})"
        case date():
            return f"{imports.add(date)}.fromisoformat({value.isoformat()!r})"
        case time():
            return f"{imports.add(time)}.fromisoformat({value.isoformat()!r})"
        case timedelta():
            imports.add(timedelta)
            return f"timedelta(days={value.days}, seconds={value.seconds}, microseconds={value.microseconds})"
        case UUID():
            return f"{imports.add(UUID)}({str(value)!r})"
        case Mapping():
            pairs = (f"{python_text(name, imports)}: {python_text(each, imports)}" for name, each in value.items())
            return "{" + ", ".join(pairs) + "}"
        case list():
            return "[" + ", ".join(python_text(each, imports) for each in value) + "]"
        case tuple():
            return "(" + "".join(f"{python_text(each, imports)}, " for each in value).rstrip() + ")"
        case set() | frozenset():
            members = ", ".join(sorted(python_text(each, imports) for each in value))
            shown = f"{{{members}}}" if value else ""
            return shown if shown and isinstance(value, set) else f"{type(value).__name__}({shown})"
    return repr(value)


def model_arguments(value: BaseModel, imports: Imports) -> list[str]:
    """The arguments of a model: the fields that were set, in the order of their declaration."""
    config = type(value).model_config
    by_name = bool(config.get("populate_by_name") or config.get("validate_by_name"))
    found, others = [], []
    for name, info in type(value).model_fields.items():
        if name not in value.model_fields_set:
            continue
        content = python_text(getattr(value, name), imports)
        called = name if by_name else info.alias or name
        if called.isidentifier():
            found.append(f"{called}={content}")
        else:
            others.append(f"{called!r}: {content}")
    return [*found, *([f"**{{{', '.join(others)}}}"] if others else [])]


def _plain(value: bool | int | str | bytes | None) -> object:
    if isinstance(value, str) and type(value) is not str:
        return str.__str__(value)
    return int(value) if isinstance(value, int) and type(value) not in (bool, int) else value
