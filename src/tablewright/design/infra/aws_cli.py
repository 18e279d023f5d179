"""The requests that create a design's tables as AWS CLI commands, quoted for a shell.

    aws dynamodb create-table \\
      --table-name Calls \\
      --attribute-definitions AttributeName=userId,AttributeType=S AttributeName=sk,AttributeType=S \\
      ...

Flat structures of plain words are written in the CLI's shorthand syntax, everything else as JSON.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from tablewright.design.infra.table_requests import AwsRequest, Deployment, requests
from tablewright.model import Design

__all__ = ["aws_cli_commands", "aws_cli_script"]

# What needs no quoting in shorthand syntax.
_PLAIN = re.compile(r"[\w./:-]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*")
_WIDTH = 100


def aws_cli_commands(design: Design, deployment: Deployment) -> list[list[str]]:
    """The commands that create the tables of a design, each as a list of arguments."""
    found = []
    for request in requests(design, deployment):
        found.append(_arguments(request, deployment.region))
        if request.operation == "CreateTable":
            name = request.body["TableName"]
            found.append(
                ["aws", "dynamodb", "wait", "table-exists", "--table-name", name, "--region", deployment.region]
            )
    return found


def aws_cli_script(design: Design, deployment: Deployment) -> str:
    """The commands as a shell script that stops at the first one that fails."""
    lines = ["#!/bin/sh", f"# Creates the tables of {_one_line(design.name)}.", "set -eu"]
    for command in aws_cli_commands(design, deployment):
        lines += ["", _shown(command)]
    return "\n".join(lines) + "\n"


def _arguments(request: AwsRequest, region: str) -> list[str]:
    command = ["aws", request.service, _kebab(request.operation)]
    for member, value in request.body.items():
        if value is True:
            command.append(f"--{_kebab(member)}")
        else:
            command += [f"--{_kebab(member)}", *_values(value)]
    return [*command, "--region", region]


def _values(value: Any) -> list[str]:
    if isinstance(value, list):
        short = [_short(each) for each in value]
        return [json.dumps(value)] if None in short else [text for text in short if text is not None]
    if isinstance(value, dict):
        return [_short(value) or json.dumps(value)]
    return [str(value)]


def _short(value: Any) -> str | None:
    """A flat structure as ``Name=value,...``; None if it is not flat."""
    if not isinstance(value, dict):
        return None
    parts = []
    for member, content in value.items():
        text = str(content).lower() if isinstance(content, bool) else content
        if not isinstance(text, str) or not _PLAIN.fullmatch(text):
            return None
        parts.append(f"{member}={text}")
    return ",".join(parts)


def _kebab(name: str) -> str:
    return "-".join(word.lower() for word in _WORD.findall(name))


def _shown(command: list[str]) -> str:
    """A command on one line, or with an option on each."""
    line = shlex.join(command)
    if len(line) <= _WIDTH:
        return line
    return " \\\n  ".join(shlex.join(group) for group in _groups(command))


def _groups(command: list[str]) -> Iterator[list[str]]:
    """The command itself, and each option with its values."""
    group: list[str] = []
    for argument in command:
        if argument.startswith("--"):
            yield group
            group = []
        group.append(argument)
    yield group


def _one_line(text: str) -> str:
    return " ".join(text.split())
