"""The requests that create a design's tables as a Python program that uses boto3."""

from __future__ import annotations

from collections.abc import Iterator
from pprint import pformat
from textwrap import indent

from tablewright.design.infra.table_requests import AwsRequest, Deployment, requests
from tablewright.model import Design

__all__ = ["boto3_script"]

_METHODS = {
    "CreateTable": "create_table",
    "UpdateTimeToLive": "update_time_to_live",
    "UpdateContinuousBackups": "update_continuous_backups",
    "RegisterScalableTarget": "register_scalable_target",
    "PutScalingPolicy": "put_scaling_policy",
}


def boto3_script(design: Design, deployment: Deployment) -> str:
    """A module with a function ``create_tables``, which runs on its own as well."""
    wanted = requests(design, deployment)
    scales = any(request.service != "dynamodb" for request in wanted)
    parameters = "dynamodb, autoscaling" if scales else "dynamodb"
    clients = f'boto3.client("dynamodb", region_name={deployment.region!r})'
    if scales:
        clients += f', boto3.client("application-autoscaling", region_name={deployment.region!r})'
    lines = [
        f'"""{_docstring(design.name)}"""',
        "",
        "import argparse",
        "import sys",
        "",
        "import boto3",
        "from botocore.exceptions import BotoCoreError, ClientError",
        "",
        "",
        f"def create_tables({parameters}):",
    ]
    for request in wanted:
        lines += _call(request)
    if not wanted:
        lines.append("    pass")
    lines += [
        "",
        "",
        "def main():",
        "    argparse.ArgumentParser(description=__doc__).parse_args()",
        "    try:",
        f"        create_tables({clients})",
        "    except (BotoCoreError, ClientError) as error:",
        "        # No credentials, no permission, or an existing table: one line.",
        '        sys.exit(f"cannot create the tables: {error}")',
        "",
        "",
        'if __name__ == "__main__":',
        "    main()",
    ]
    return "\n".join(lines) + "\n"


def _call(request: AwsRequest) -> Iterator[str]:
    client = "dynamodb" if request.service == "dynamodb" else "autoscaling"
    yield f"    {client}.{_METHODS[request.operation]}("
    for member, value in request.body.items():
        first, *rest = pformat(value, width=100, sort_dicts=False).splitlines()
        text = "\n".join([f"{member}={first}", *(" " * (len(member) + 1) + line for line in rest)])
        yield indent(text + ",", " " * 8)
    yield "    )"
    if request.operation == "CreateTable":
        yield f'    dynamodb.get_waiter("table_exists").wait(TableName={request.body["TableName"]!r})'


def _docstring(name: str) -> str:
    plain = " ".join(name.split()).replace("\\", "/").replace('"', "'")
    return f"Creates the tables of {plain}."
