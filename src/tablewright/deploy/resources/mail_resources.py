"""Mail through SES: who sends it, and what comes back.

    SES ──▶ MailNotices (SNS) ──▶ BouncesFunction ──▶ the record of the message, and dead letters

Messages name the configuration set of their stack, so that several stacks can send from one identity, and each gets
its own bounces. An address that bounces for good, or complains, is on the account's suppression list as well: SES sends
it nothing more.
"""

from __future__ import annotations

from tablewright.deploy.resources.data_resources import KEY
from tablewright.deploy.resources.queue_resources import add_failures
from tablewright.deploy.stack_template import Stack, allow, att, policy, ref

__all__ = ["add_bounces", "add_mail"]

_TOPIC = "MailNotices"


def add_mail(stack: Stack) -> None:
    stack.parameter("MailIdentity", "Domain or address that SES may send from, such as example.org", MinLength=3)
    stack.parameter("MailFrom", "Sender of mail, at that identity, such as Tasks <tasks@example.org>", MinLength=3)
    creates = stack.parameter(
        "CreateMailIdentity",
        "no, if this account has MailIdentity already in this region, which another stack may have created",
        "yes",
        AllowedValues=["yes", "no"],
    )
    stack.conditions["CreatesMailIdentity"] = {"Fn::Equals": [creates, "yes"]}
    stack.add(
        "MailConfiguration",
        "AWS::SES::ConfigurationSet",
        {
            "DeliveryOptions": {"TlsPolicy": "REQUIRE"},
            "ReputationOptions": {"ReputationMetricsEnabled": True},
            "SuppressionOptions": {"SuppressedReasons": ["BOUNCE", "COMPLAINT"]},
        },
        "How mail is sent: encrypted, and not to addresses that bounced or complained.",
    )
    stack.add(
        "MailSender",
        "AWS::SES::EmailIdentity",
        {"EmailIdentity": ref("MailIdentity")},
        "The sender identity, of other stacks, too. A domain needs the three DNS records that the SES console shows.",
        retain=True,
        Condition="CreatesMailIdentity",
    )


def add_bounces(stack: Stack, function: str) -> None:
    failures = add_failures(stack, "MailNotices", "Notices about mail that could not be handled.")
    stack.add(
        _TOPIC,
        "AWS::SNS::Topic",
        {"KmsMasterKeyId": ref(KEY)},
        "Notices of SES: bounces, complaints, rejections.",
    )
    stack.add(
        f"{_TOPIC}Policy",
        "AWS::SNS::TopicPolicy",
        {
            "Topics": [ref(_TOPIC)],
            "PolicyDocument": policy(
                allow(
                    "Publish",
                    ["sns:Publish"],
                    ref(_TOPIC),
                    StringEquals={"aws:SourceAccount": ref("AWS::AccountId")},
                )
                | {"Principal": {"Service": "ses.amazonaws.com"}}
            ),
        },
    )
    stack.add(
        f"{_TOPIC}FailuresPolicy",
        "AWS::SQS::QueuePolicy",
        {
            "Queues": [ref(failures)],
            "PolicyDocument": policy(
                allow("Keep", ["sqs:SendMessage"], att(failures), ArnEquals={"aws:SourceArn": ref(_TOPIC)})
                | {"Principal": {"Service": "sns.amazonaws.com"}}
            ),
        },
    )
    stack.add(
        "MailNoticesSource",
        "AWS::SES::ConfigurationSetEventDestination",
        {
            "ConfigurationSetName": ref("MailConfiguration"),
            "EventDestination": {
                "Enabled": True,
                "MatchingEventTypes": ["bounce", "complaint", "reject"],
                "SnsDestination": {"TopicARN": ref(_TOPIC)},
            },
        },
        DependsOn=[f"{_TOPIC}Policy"],
    )
    stack.add(
        "MailNoticesSubscription",
        "AWS::SNS::Subscription",
        {
            "TopicArn": ref(_TOPIC),
            "Protocol": "lambda",
            "Endpoint": att(function),
            "RedrivePolicy": {"deadLetterTargetArn": att(failures)},
        },
    )
    stack.add(
        "MailNoticesPermission",
        "AWS::Lambda::Permission",
        {
            "Action": "lambda:InvokeFunction",
            "FunctionName": ref(function),
            "Principal": "sns.amazonaws.com",
            "SourceArn": ref(_TOPIC),
        },
    )
