"""An account of moto's server, and a stack that is created in it: every resource that moto knows."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import botocore.session

REGION = "us-east-1"
CODE_BUCKET, CODE_KEY = "code", "function.zip"
PARAMETERS = {
    "AlarmMail": "ops@example.org",
    "CodeBucket": CODE_BUCKET,
    "CodeKey": CODE_KEY,
    "MailIdentity": "example.org",
    "MailFrom": "tasks@example.org",
    "SignInDomain": "tablewright-test",
}
# Tags that moto's CloudFormation hands on in a form that its own backend does not take.
_UNTAGGED = ("AWS::KMS::Key",)


def unknown_types(template: Mapping[str, Any]) -> set[str]:
    """The types of a template that moto's CloudFormation does not create."""
    from moto.cloudformation.parsing import get_model_map

    return {each["Type"] for each in template["Resources"].values()} - {*get_model_map()}


def known_part(template: Mapping[str, Any]) -> dict[str, Any]:
    """A template without what moto does not create; what refers to that refers to its name instead."""
    unknown = unknown_types(template)
    gone = {name for name, each in template["Resources"].items() if each["Type"] in unknown}
    left = deepcopy(dict(template))
    left["Resources"] = {
        name: _named(each, gone) for name, each in template["Resources"].items() if each["Type"] not in unknown
    }
    left["Outputs"] = _named(left["Outputs"], gone)
    for each in left["Resources"].values():
        if each["Type"] in _UNTAGGED:
            del each["Properties"]["Tags"]
        if "DependsOn" in each:
            each["DependsOn"] = [name for name in each["DependsOn"] if name not in gone]
    return left


def _named(part: Any, gone: set[str]) -> Any:
    if isinstance(part, list):
        return [_named(each, gone) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("Ref") in gone:
        return part["Ref"]
    if "Fn::GetAtt" in part and part["Fn::GetAtt"][0] in gone:
        return ".".join(part["Fn::GetAtt"])
    if isinstance(part.get("Fn::Sub"), str):
        text = re.sub(
            r"\$\{([A-Za-z0-9]+)(\.[A-Za-z]+)?\}",
            lambda found: found[1] if found[1] in gone else found[0],
            part["Fn::Sub"],
        )
        return {"Fn::Sub": text}
    return {name: _named(each, gone) for name, each in part.items()}


# Prints its port; moto keeps what it has for a whole process.
_PROGRAM = """
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server
app = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, app, request_handler=MotoRequestHandler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def moto_server() -> Iterator[str]:
    """An account of its own: a process with nothing in it."""
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def client(url: str, service: str) -> Any:
    return botocore.session.Session().create_client(
        service, REGION, endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="test"
    )


def create_stack(url: str, name: str, template: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Create a stack; the physical ids of its resources, by their names."""
    storage = client(url, "s3")
    storage.create_bucket(Bucket=CODE_BUCKET)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("empty.py", "")
    storage.put_object(Bucket=CODE_BUCKET, Key=CODE_KEY, Body=content.getvalue())
    formation = client(url, "cloudformation")
    formation.create_stack(
        StackName=name,
        TemplateBody=template,
        Capabilities=["CAPABILITY_IAM"],
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
    )
    (made,) = formation.describe_stacks(StackName=name)["Stacks"]
    assert made["StackStatus"] == "CREATE_COMPLETE", made
    pages = formation.get_paginator("list_stack_resources").paginate(StackName=name)
    found = [each for page in pages for each in page["StackResourceSummaries"]]
    return {each["LogicalResourceId"]: each.get("PhysicalResourceId", "") for each in found}
