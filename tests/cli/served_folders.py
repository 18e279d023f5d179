"""A data folder that is served, for tests of commands: its client, a table, and what refused commands print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.cli.commands import ROOT, called

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def client(url: str, secret: str = SECRET, token: str | None = None) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}),
    )


def create_table(url: str) -> None:
    client(url).create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def error_line(*arguments: str, cwd: Path | None = None, status: int = 2) -> str:
    """The one line that a refused command prints."""
    result = called(*arguments, cwd=ROOT if cwd is None else cwd)
    assert result.returncode == status
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr
