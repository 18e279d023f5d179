"""``Stack``: a template that grows, resource by resource.

    stack = Stack("Tasks")
    stack.add("DataKey", "AWS::KMS::Key", {...}, "The key that everything at rest is encrypted with.")

A resource that allows something on everything says why: ``reasons`` are by the statement's Sid, and the rules of
``stack_rules`` ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tablewright.design import DesignError

__all__ = ["NO_VALUE", "Stack", "allow", "att", "logical", "policy", "ref", "sub", "tag_value"]

NO_VALUE = {"Ref": "AWS::NoValue"}
_VERSION = "2012-10-17"
_FORMAT = "2010-09-09"
_MAX_TAG = 256
# Types whose tags are a mapping instead of a list of keys and values.
_TAGS_AS_MAPPING = frozenset(
    {"AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Stage", "AWS::Cognito::UserPool", "AWS::SSM::Parameter"}
)
_TAGS_NAMED = {"AWS::Cognito::UserPool": "UserPoolTags"}
# Types without tags, or whose tags say nothing that those of their owner do not.
_UNTAGGED = frozenset(
    {
        "AWS::ApiGatewayV2::Integration",
        "AWS::ApiGatewayV2::Route",
        "AWS::ApplicationAutoScaling::ScalableTarget",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        "AWS::Budgets::Budget",
        "AWS::CloudWatch::Dashboard",
        "AWS::Cognito::UserPoolClient",
        "AWS::Cognito::UserPoolDomain",
        "AWS::Cognito::UserPoolGroup",
        "AWS::IAM::ManagedPolicy",
        "AWS::KMS::Alias",
        "AWS::Lambda::EventInvokeConfig",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Permission",
        "AWS::Logs::MetricFilter",
        "AWS::S3::BucketPolicy",
        "AWS::SES::ConfigurationSet",
        "AWS::SES::ConfigurationSetEventDestination",
        "AWS::SES::EmailIdentity",
        "AWS::SNS::Subscription",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::QueuePolicy",
        "AWS::Scheduler::Schedule",
    }
)


@dataclass(slots=True)
class Stack:
    """The parts of a template, and the comments on them."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    conditions: dict[str, Any] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    # What each resource is for, in words, by its name.
    owners: dict[str, str] = field(default_factory=dict)

    def parameter(self, name: str, about: str, default: str | int | None = None, **more: Any) -> dict[str, str]:
        """Add a parameter; a reference to it."""
        self.parameters[name] = {
            "Type": "Number" if isinstance(default, int) else "String",
            "Description": about,
            **({} if default is None else {"Default": default}),
            **more,
        }
        return ref(name)

    def add(
        self,
        name: str,
        kind: str,
        properties: Mapping[str, Any],
        comment: str = "",
        *,
        retain: bool = False,
        reasons: Mapping[str, str] | None = None,
        owner: str | None = None,
        **more: Any,
    ) -> str:
        """Add a resource; its name. ``retain``: it stays when the stack is deleted.

        ``owner`` is what the name was made from, in words, if that is a name of the user's. DesignError if the stack
        has the name already.
        """
        owner = owner or f"{kind} of the stack itself"
        if name in self.resources:
            raise DesignError(
                f"{self.owners[name]} and {owner} would both be {name} in the stack, as logical names have only "
                "letters and digits; rename one of them"
            )
        self.owners[name] = owner
        self.resources[name] = {
            "Type": kind,
            **more,
            **({"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"} if retain else {}),
            **({"Metadata": {"Reasons": dict(reasons)}} if reasons else {}),
            "Properties": {**properties, **self._tags(kind, properties)},
        }
        if comment:
            self.comments[name] = comment
        return name

    def output(self, name: str, about: str, value: Any, **more: Any) -> None:
        self.outputs[name] = {"Description": about, "Value": value, **more}

    def template(self, about: str) -> dict[str, Any]:
        parts = {
            "AWSTemplateFormatVersion": _FORMAT,
            "Description": about,
            "Parameters": self.parameters,
            "Conditions": self.conditions,
            "Resources": self.resources,
            "Outputs": self.outputs,
        }
        return {name: part for name, part in parts.items() if part}

    def tags(self) -> dict[str, Any]:
        return {
            "Application": tag_value(self.name),
            "Environment": ref("Environment"),
            "ManagedBy": "tablewright",
            "Stack": ref("AWS::StackName"),
        }

    def _tags(self, kind: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        member = _TAGS_NAMED.get(kind, "Tags")
        if kind in _UNTAGGED:
            return {}
        own = self.tags()
        if kind in _TAGS_AS_MAPPING:
            return {member: own}
        given = {tag["Key"]: tag["Value"] for tag in properties.get(member, ())}
        return {member: [{"Key": key, "Value": value} for key, value in {**own, **given}.items()]}


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def att(name: str, attribute: str = "Arn") -> dict[str, list[str]]:
    return {"Fn::GetAtt": [name, attribute]}


def sub(text: str) -> dict[str, str]:
    return {"Fn::Sub": text}


def logical(text: str) -> str:
    """A name of the user's as a logical name: letters and digits; DesignError if it has neither.

    Different names may become the same one, which ``Stack.add`` refuses.
    """
    found = "".join(word[0].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", text))
    if not found:
        raise DesignError(f"{text!r} has no letter from A to Z and no digit for a name in the stack; rename it")
    return found


def tag_value(text: str) -> str:
    """A text with only what AWS allows in the value of a tag."""
    return " ".join(re.sub(r"[^\w .:/=+@-]", " ", text).split())[:_MAX_TAG]


def allow(sid: str, actions: Iterable[str], resources: Any, **condition: Any) -> dict[str, Any]:
    """A statement of a policy."""
    listed = resources if isinstance(resources, list) else [resources]
    statement = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": listed}
    return {**statement, "Condition": condition} if condition else statement


def policy(*statements: Mapping[str, Any]) -> dict[str, Any]:
    return {"Version": _VERSION, "Statement": list(statements)}
