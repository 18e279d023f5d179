"""A function: its role, its log group and itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.deploy.resources.data_resources import BUCKET, KEY, SECRET
from tablewright.deploy.stack_template import NO_VALUE, Stack, allow, att, logical, policy, ref, sub
from tablewright.deploy.system_needs import FunctionNeeds, SystemNeeds
from tablewright.design import iam
from tablewright.design.iam import Grant
from tablewright.design.infra import TableTemplate

__all__ = [
    "add_code_parameters",
    "add_function",
    "add_log_group",
    "environment",
    "function_name",
    "log_group_name",
    "statements",
]

# Those of Lambda that Tablewright runs on.
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_PYTHON = "3.13"
_MEMORY = 1024
_TRUST = {"Principal": {"Service": "lambda.amazonaws.com"}}


def function_name(needs: FunctionNeeds) -> str:
    return f"{logical(needs.name)}Function"


def log_group_name(needs: FunctionNeeds) -> str:
    return f"{logical(needs.name)}Logs"


def add_code_parameters(stack: Stack) -> None:
    stack.parameter("CodeBucket", "Bucket with the package that `tablewright package` built")
    stack.parameter("CodeKey", "Key of the package in that bucket; another one for each version")
    architectures = ["arm64", "x86_64"]
    stack.parameter("Architecture", "Processor that the package was built for", "arm64", AllowedValues=architectures)
    stack.parameter("Python", "Python that the package was built for", _PYTHON, AllowedValues=[*_PYTHONS])


def environment(stack: Stack, needs: SystemNeeds, public_url: Any) -> dict[str, Any]:
    """The settings of a process, as variables; of functions and of containers alike."""
    target = stack.parameter(
        "RelocateTo",
        "Where the tables are being relocated to, such as aws:eu-south-1; empty if they are not",
        "",
        AllowedPattern=r"^(https?://\S+|aws(:[a-z0-9-]+)?)?$",
    )
    stack.conditions["IsRelocated"] = {"Fn::Not": [{"Fn::Equals": [target, ""]}]}
    return {
        "TABLEWRIGHT_MODE": "production",
        "TABLEWRIGHT_REGION": ref("AWS::Region"),
        "TABLEWRIGHT_ENVIRONMENT": ref("Environment"),
        "TABLEWRIGHT_ISSUER": sub("https://cognito-idp.${AWS::Region}.amazonaws.com/${UserPool}"),
        "TABLEWRIGHT_AUDIENCE": ref("UserPoolClient"),
        "TABLEWRIGHT_PUBLIC_URL": public_url,
        "TABLEWRIGHT_RELOCATE_TO": {"Fn::If": ["IsRelocated", target, NO_VALUE]},
        **({"TABLEWRIGHT_BLOB_BUCKET": ref(BUCKET)} if needs.uses_blobs else {}),
        **({"TABLEWRIGHT_EVENT_BUS": ref("EventBus")} if needs.publishes_events else {}),
        **(_mail_settings() if needs.sends_mail else {}),
    }


def _mail_settings() -> dict[str, Any]:
    return {
        "TABLEWRIGHT_SES": "true",
        "TABLEWRIGHT_SES_CONFIGURATION_SET": ref("MailConfiguration"),
        "TABLEWRIGHT_MAIL_FROM": ref("MailFrom"),
    }


def statements(
    tables: TableTemplate, grants: Sequence[Grant], *, mail: bool, blobs: Sequence[str], bus: bool
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The statements of a role, and the reasons of those that are about everything."""
    found: list[dict[str, Any]] = []
    if grants:
        found += iam.document(grants, tables.arn)["Statement"]
    found.append(allow("ReadSecret", ["secretsmanager:GetSecretValue"], ref(SECRET)))
    of_bucket = [action for action in blobs if action == "s3:ListBucket"]
    if of_objects := [action for action in blobs if action not in of_bucket]:
        found.append(allow("UseBlobs", of_objects, sub(f"${{{BUCKET}.Arn}}/*")))
    if of_bucket:
        found.append(allow("ListBlobs", of_bucket, att(BUCKET)))
    if mail:
        place = "arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}"
        found.append(
            allow(
                "SendMail",
                ["ses:SendRawEmail"],
                [sub(f"{place}:identity/${{MailIdentity}}"), sub(f"{place}:configuration-set/${{MailConfiguration}}")],
            )
        )
    if bus:
        found.append(allow("PutEvents", ["events:PutEvents"], att("EventBus")))
    reasons = {
        each["Sid"]: f"IAM cannot limit {' and '.join(name.partition(':')[2] for name in each['Action'])} to a table"
        for each in found
        if "*" in each["Resource"]
    }
    return found, reasons


def add_log_group(stack: Stack, name: str, path: str, owner: str | None = None) -> dict[str, str]:
    stack.add(
        name,
        "AWS::Logs::LogGroup",
        {"LogGroupName": sub(path), "RetentionInDays": ref("LogDays"), "KmsKeyId": att(KEY)},
        owner=owner,
    )
    return ref(name)


def add_function(
    stack: Stack,
    tables: TableTemplate,
    system: SystemNeeds,
    needs: FunctionNeeds,
    variables: dict[str, Any],
    *,
    failures: str | None = None,
) -> str:
    """Add a function, its role and its log group; its name. ``failures`` is the queue of what it could not handle."""
    name = function_name(needs)
    role = f"{logical(needs.name)}Role"
    own, reasons = statements(tables, needs.grants, mail=needs.sends_mail, blobs=needs.blobs, bus=needs.puts_events)
    group = log_group_name(needs)
    add_log_group(stack, group, f"/aws/lambda/${{AWS::StackName}}-{logical(needs.name)}", f"the function {needs.name}")
    own.append(allow("WriteLogs", ["logs:CreateLogStream", "logs:PutLogEvents"], att(group)))
    if failures is not None:
        own.append(allow("KeepFailures", ["sqs:SendMessage"], att(failures)))
    stack.add(
        role,
        "AWS::IAM::Role",
        {
            "AssumeRolePolicyDocument": policy({"Effect": "Allow", "Action": "sts:AssumeRole", **_TRUST}),
            "Policies": [{"PolicyName": "own", "PolicyDocument": policy(*own)}],
        },
        f"What {name} may do, and nothing else.",
        reasons=reasons,
    )
    variables = {
        "TABLEWRIGHT_SYSTEM": system.place,
        "TABLEWRIGHT_SECRET_ID": ref(SECRET),
        **variables,
        **({"TABLEWRIGHT_WORK": needs.work} if needs.work else {}),
    }
    stack.add(
        name,
        "AWS::Lambda::Function",
        {
            "FunctionName": sub(f"${{AWS::StackName}}-{logical(needs.name)}"),
            "Description": needs.about,
            "Runtime": sub("python${Python}"),
            "Handler": needs.handler,
            "Architectures": [ref("Architecture")],
            "Code": {"S3Bucket": ref("CodeBucket"), "S3Key": ref("CodeKey")},
            "Role": att(role),
            "MemorySize": _MEMORY,
            "Timeout": needs.seconds,
            "Environment": {"Variables": variables},
            "LoggingConfig": {"LogFormat": "Text", "LogGroup": ref(group)},
            **({} if failures is None else {"DeadLetterConfig": {"TargetArn": att(failures)}}),
        },
        needs.about,
    )
    return name
