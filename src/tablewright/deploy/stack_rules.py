"""Rules that every stack keeps, checked on the template itself, as a linter does.

    wildcard     an action or a resource that is * has a reason (Metadata, Reasons, by the statement's Sid)
    encryption   what keeps data is encrypted with a key
    retention    logs are deleted some day; what has data outlives the stack; tables can be restored
    time-outs    every call ends: functions, integrations
    failures     what cannot be handled is kept: dead letters of streams, schedules and notices
    exposure     buckets are not public, and load balancers speak TLS
    roles        each function has a role of its own
    references   whatever is named is there: parameters, resources, conditions

Each gives sentences that say what is wrong, and where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["check_stack"]

Resource = Mapping[str, Any]
Rule = Callable[[Mapping[str, Resource]], Iterator[str]]
# Where each type names the key that its data is encrypted with.
_KEYS = {
    "AWS::DynamoDB::Table": ("SSESpecification", "KMSMasterKeyId"),
    "AWS::S3::Bucket": ("BucketEncryption", "ServerSideEncryptionConfiguration"),
    "AWS::SQS::Queue": ("KmsMasterKeyId",),
    "AWS::SNS::Topic": ("KmsMasterKeyId",),
    "AWS::SecretsManager::Secret": ("KmsKeyId",),
    "AWS::Logs::LogGroup": ("KmsKeyId",),
    "AWS::Events::EventBus": ("KmsKeyIdentifier",),
}
_FAILURES = {
    "AWS::Lambda::EventSourceMapping": ("DestinationConfig", "OnFailure", "Destination"),
    "AWS::Scheduler::Schedule": ("Target", "DeadLetterConfig", "Arn"),
}
_OUTLIVING = frozenset(
    {
        "AWS::DynamoDB::Table",
        "AWS::S3::Bucket",
        "AWS::SecretsManager::Secret",
        "AWS::KMS::Key",
        "AWS::Cognito::UserPool",
        "AWS::SES::EmailIdentity",
    }
)
_PUBLIC = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
_MAX_FUNCTION_SECONDS = 900
# ${Name} and ${Name.Attribute} in a text; ${!Literal} is none.
_IN_TEXT = re.compile(r"\$\{([A-Za-z0-9:]+)(?:\.[A-Za-z0-9.]+)?\}")


def check_stack(template: Mapping[str, Any]) -> list[str]:
    """What is wrong with a template."""
    resources: Mapping[str, Resource] = template["Resources"]
    return [*(finding for rule in _RULES for finding in rule(resources)), *_references(template)]


def _of(resources: Mapping[str, Resource], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, resource in resources.items():
        if resource["Type"] == kind:
            yield name, resource.get("Properties", {})


def _at(properties: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        properties = properties.get(step) if isinstance(properties, Mapping) else None
    return properties


def _statements(content: Any) -> Iterator[Mapping[str, Any]]:
    """Every statement of every policy within a resource."""
    if isinstance(content, Mapping):
        if "Effect" in content and "Action" in content:
            yield content
        for each in content.values():
            yield from _statements(each)
    elif isinstance(content, list | tuple):
        for each in content:
            yield from _statements(each)


def _wildcards(resources: Mapping[str, Resource]) -> Iterator[str]:
    for name, resource in resources.items():
        reasons = resource.get("Metadata", {}).get("Reasons", {})
        for statement in _statements(resource.get("Properties", {})):
            if statement["Effect"] != "Allow" or statement.get("Sid") in reasons:
                continue
            actions = [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
            wide = [action for action in actions if "*" in action]
            listed = statement.get("Resource", [])
            if "*" in (listed if isinstance(listed, list) else [listed]):
                wide.append("on everything")
            if wide:
                place = f"{name} allows {', '.join(wide)} in {statement.get('Sid')}"
                yield f"wildcard: {place}; give a reason, or narrow it"


def _encryption(resources: Mapping[str, Resource]) -> Iterator[str]:
    for kind, path in _KEYS.items():
        for name, properties in _of(resources, kind):
            if not _at(properties, path):
                yield f"encryption: {name} has no key; set {'.'.join(path)}"


def _retention(resources: Mapping[str, Resource]) -> Iterator[str]:
    for name, properties in _of(resources, "AWS::Logs::LogGroup"):
        if not properties.get("RetentionInDays"):
            yield f"retention: {name} keeps logs forever; set RetentionInDays"
    for name, resource in resources.items():
        if resource["Type"] in _OUTLIVING:
            for member in ("DeletionPolicy", "UpdateReplacePolicy"):
                if resource.get(member) != "Retain":
                    yield f"retention: {name} would be deleted with the stack; set {member}: Retain"
    for name, properties in _of(resources, "AWS::DynamoDB::Table"):
        if _at(properties, ("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")) is not True:
            yield f"retention: {name} cannot be restored; enable point-in-time recovery"


def _time_outs(resources: Mapping[str, Resource]) -> Iterator[str]:
    for name, properties in _of(resources, "AWS::Lambda::Function"):
        if not 0 < properties.get("Timeout", 0) <= _MAX_FUNCTION_SECONDS:
            yield f"time-outs: {name} has none; set Timeout"
        if not _at(properties, ("LoggingConfig", "LogGroup")):
            yield f"retention: {name} makes a log group of its own, which keeps logs forever; set LoggingConfig"
    for name, properties in _of(resources, "AWS::ApiGatewayV2::Integration"):
        if not properties.get("TimeoutInMillis"):
            yield f"time-outs: {name} has none; set TimeoutInMillis"
    for name, properties in _of(resources, "AWS::Lambda::EventSourceMapping"):
        is_endless = properties.get("MaximumRecordAgeInSeconds", -1) == -1
        if is_endless and properties.get("MaximumRetryAttempts", -1) == -1:
            yield f"time-outs: {name} retries forever; set MaximumRecordAgeInSeconds"
    limited = {
        str(properties.get("FunctionName"))
        for _, properties in _of(resources, "AWS::Lambda::EventInvokeConfig")
        if properties.get("MaximumEventAgeInSeconds")
    }
    for name, properties in _of(resources, "AWS::Scheduler::Schedule"):
        (function,) = (_at(properties, ("Target", "Arn", "Fn::GetAtt")) or [""])[:1]
        if str({"Ref": function}) not in limited:
            yield f"time-outs: calls of {name} wait and are retried for hours; limit their age by an EventInvokeConfig"


def _failures(resources: Mapping[str, Resource]) -> Iterator[str]:
    for kind, path in _FAILURES.items():
        for name, properties in _of(resources, kind):
            if not _at(properties, path):
                yield f"failures: {name} drops what fails; set {'.'.join(path)}"
    for name, properties in _of(resources, "AWS::SNS::Subscription"):
        if properties.get("Protocol") == "lambda" and not properties.get("RedrivePolicy"):
            yield f"failures: {name} drops what fails; set RedrivePolicy"
    for name, _ in _of(resources, "AWS::SQS::Queue"):
        if not any(_mentions(properties, name) for _, properties in _of(resources, "AWS::CloudWatch::Alarm")):
            yield f"failures: nothing reports what is in {name}; add an alarm"


def _mentions(properties: Mapping[str, Any], name: str) -> bool:
    return any(each.get("Value") == {"Fn::GetAtt": [name, "QueueName"]} for each in properties.get("Dimensions", ()))


def _exposure(resources: Mapping[str, Resource]) -> Iterator[str]:
    for name, properties in _of(resources, "AWS::S3::Bucket"):
        blocked = properties.get("PublicAccessBlockConfiguration", {})
        if not all(blocked.get(member) is True for member in _PUBLIC):
            yield f"exposure: {name} can be made public; block all public access"
    for name, properties in _of(resources, "AWS::ElasticLoadBalancingV2::Listener"):
        if properties.get("Protocol") != "HTTPS":
            yield f"exposure: {name} takes requests that are not encrypted; use HTTPS"


def _roles(resources: Mapping[str, Resource]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, properties in _of(resources, "AWS::Lambda::Function"):
        role = str(properties.get("Role"))
        if role in seen:
            yield f"roles: {name} has the role of {seen[role]}; give it one of its own"
        seen[role] = name


def _references(template: Mapping[str, Any]) -> Iterator[str]:
    values = {*template["Resources"], *template.get("Parameters", ())}
    conditions = {*template.get("Conditions", ())}
    for section in ("Conditions", "Resources", "Outputs"):
        for place, content in template.get(section, {}).items():
            named = [*_named(content)]
            unknown = {name for name, _ in named if not name.startswith("AWS::")} - values
            unknown |= {condition for _, condition in named} - conditions
            for name in sorted(unknown - {""}):
                yield f"references: {place} names {name}, which is not in the template"


def _named(content: Any) -> Iterator[tuple[str, str]]:
    """What a part of a template refers to: a parameter or a resource and "", or "" and a condition."""
    if isinstance(content, list | tuple):
        for each in content:
            yield from _named(each)
    if not isinstance(content, Mapping):
        return
    for name, value in content.items():
        if name == "Ref":
            yield value, ""
        elif name == "Fn::GetAtt":
            yield (value.partition(".")[0] if isinstance(value, str) else value[0]), ""
        elif name == "Fn::Sub":
            text, given = (value, {}) if isinstance(value, str) else value
            yield from ((found, "") for found in _IN_TEXT.findall(text) if found not in given)
        elif name == "DependsOn":
            yield from ((each, "") for each in ([value] if isinstance(value, str) else value))
        elif name == "Condition" and isinstance(value, str):
            yield "", value
        elif name == "Fn::If":
            yield "", value[0]
        yield from _named(value)


_RULES: tuple[Rule, ...] = (_wildcards, _encryption, _retention, _time_outs, _failures, _exposure, _roles)
