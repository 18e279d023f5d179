"""A CloudFormation template as YAML that people read: short forms of functions, a comment above each resource.

    ApiFunction:
      Type: AWS::Lambda::Function
      Properties:
        Role: !GetAtt ApiRole.Arn

Only what templates have is written: mappings, lists, texts, numbers and booleans. Texts are quoted wherever YAML would
take them for something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["to_yaml"]

_PLAIN = re.compile(r"[A-Za-z/$][A-Za-z0-9 _./$(){}+-]*(?::{1,2}[A-Za-z0-9_./$(){}*+-]+)*")
# Words that YAML takes for a boolean or for nothing.
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
_SHORT = ("Ref", "Condition", "Fn::Sub", "Fn::GetAtt", "Fn::If", "Fn::Equals", "Fn::Not", "Fn::Or", "Fn::And")
# What can stand in a list on one line, and how long that may be.
_PLAIN_IN_LINE = re.compile(r"[A-Za-z0-9_.:/*-]+")
_MAX_IN_LINE = 100
_INDENT = "  "


def to_yaml(template: Mapping[str, Any], comments: Mapping[str, str], heading: str = "") -> str:
    """A template as text; ``comments`` are those above parameters and resources, by their names."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    for section, content in template.items():
        if lines:
            lines.append("")
        if not isinstance(content, Mapping):
            lines.append(f"{section}: {_scalar(content)}")
            continue
        lines.append(f"{section}:")
        for position, (name, value) in enumerate(content.items()):
            if position and section in ("Resources", "Parameters"):
                lines.append("")
            lines += [f"{_INDENT}# {line}" for line in comments.get(name, "").splitlines()]
            lines += _member(name, value, 1)
    return "\n".join(lines) + "\n"


def _member(name: str, value: Any, depth: int) -> Iterator[str]:
    first, *rest = _value(value, depth)
    yield f"{_INDENT * depth}{_scalar(name)}:{' ' if first else ''}{first}"
    yield from rest


def _value(value: Any, depth: int) -> Iterator[str]:
    """The rest of the line that a value begins on, and the lines that follow."""
    tag, content = _short(value)
    if isinstance(content, Mapping):
        if not content:
            yield f"{tag} {{}}".strip()
            return
        yield tag
        for name, each in content.items():
            yield from _member(str(name), each, depth + 1)
    elif isinstance(content, list | tuple):
        if len(line := _in_line(content)) <= _MAX_IN_LINE and all(map(_is_plain, content)):
            yield f"{tag} {line}".strip()
            return
        yield tag
        for each in content:
            yield from _element(each, depth + 1)
    elif isinstance(content, str) and "\n" in content:
        yield f"{tag} |-".strip()
        yield from (f"{_INDENT * (depth + 1)}{line}" for line in content.split("\n"))
    else:
        yield f"{tag} {_scalar(content)}".strip()


def _element(value: Any, depth: int) -> Iterator[str]:
    tag, content = _short(value)
    if isinstance(content, Mapping) and content and not tag:
        lines = [line for name, each in content.items() for line in _member(str(name), each, depth + 1)]
        yield f"{_INDENT * depth}- {lines[0].lstrip()}"
        yield from lines[1:]
        return
    first, *rest = _value(value, depth)
    yield f"{_INDENT * depth}- {first}".rstrip()
    yield from rest


def _is_plain(value: Any) -> bool:
    """Whether a value can stand in a list on one line."""
    return isinstance(value, int | float) or (isinstance(value, str) and _PLAIN_IN_LINE.fullmatch(value) is not None)


def _in_line(values: Sequence[Any]) -> str:
    return f"[{', '.join(_scalar(each) if _is_plain(each) else '' for each in values)}]"


def _short(value: Any) -> tuple[str, Any]:
    """The tag of a function's short form, and its argument."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return "", value
    ((name, argument),) = value.items()
    if name not in _SHORT or (name == "Condition" and not isinstance(argument, str)):
        return "", value
    if name == "Fn::GetAtt" and isinstance(argument, Sequence) and not isinstance(argument, str):
        argument = ".".join(argument)
    return f"!{name.removeprefix('Fn::')}", argument


def _scalar(value: str | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if _PLAIN.fullmatch(value) and value == value.strip() and value.lower() not in _WORDS:
        return value
    # JSON's quoting is YAML's, too.
    return json.dumps(value, ensure_ascii=False) if not value.isprintable() or "'" in value else f"'{value}'"
