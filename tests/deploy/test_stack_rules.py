"""Our own rules over templates: each finds what it is about."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tablewright.deploy import check_stack
from tests.deploy.stacks import stack

pytestmark = pytest.mark.requirement("SH1")

Resources = dict[str, Any]


def _without(name: str, member: str) -> Callable[[Resources], object]:
    return lambda resources: resources[name]["Properties"].pop(member)


def _widen(resources: Resources) -> None:
    resources["ApiRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]["Action"] = ["dynamodb:*"]


def _everything(resources: Resources) -> None:
    resources["ApiRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]["Resource"] = "*"


def _unreasoned(resources: Resources) -> None:
    del resources["DataKey"]["Metadata"]["Reasons"]["Administration"]


def _share(resources: Resources) -> None:
    resources["AdminFunction"]["Properties"]["Role"] = resources["ApiFunction"]["Properties"]["Role"]


def _endless(resources: Resources) -> None:
    resources["TasksMailConsumerSource"]["Properties"]["MaximumRecordAgeInSeconds"] = -1


def _misname(resources: Resources) -> None:
    resources["ApiFunction"]["Properties"]["Environment"]["Variables"]["TABLEWRIGHT_REGION"] = {"Fn::Sub": "${Regoin}"}


def _public(resources: Resources) -> None:
    resources["BlobBucket"]["Properties"]["PublicAccessBlockConfiguration"]["BlockPublicPolicy"] = False


@pytest.mark.parametrize(
    ("break_it", "finding"),
    [
        (_widen, "wildcard: ApiRole allows dynamodb:*"),
        (_everything, "wildcard: ApiRole allows on everything"),
        (_unreasoned, "wildcard: DataKey allows kms:*"),
        (_without("TaskManagementTable", "SSESpecification"), "encryption: TaskManagementTable"),
        (_without("MailNotices", "KmsMasterKeyId"), "encryption: MailNotices"),
        (_without("ApiLogs", "RetentionInDays"), "retention: ApiLogs keeps logs forever"),
        (_without("TaskManagementTable", "PointInTimeRecoverySpecification"), "retention: TaskManagementTable cannot"),
        (lambda resources: resources["BlobBucket"].pop("DeletionPolicy"), "retention: BlobBucket would be deleted"),
        (_without("ApiFunction", "Timeout"), "time-outs: ApiFunction"),
        (_without("ApiFunction", "LoggingConfig"), "retention: ApiFunction makes a log group"),
        (_without("ApiIntegration", "TimeoutInMillis"), "time-outs: ApiIntegration"),
        (
            _without("TasksMailRetriesScheduleCalls", "MaximumEventAgeInSeconds"),
            "time-outs: calls of TasksMailRetriesScheduleTimer wait",
        ),
        (_endless, "time-outs: TasksMailConsumerSource retries forever"),
        (_without("TasksMailConsumerSource", "DestinationConfig"), "failures: TasksMailConsumerSource drops"),
        (_without("MailNoticesSubscription", "RedrivePolicy"), "failures: MailNoticesSubscription drops"),
        (lambda resources: resources.pop("MailNoticesFailuresAlarm"), "failures: nothing reports"),
        (_public, "exposure: BlobBucket can be made public"),
        (_misname, "references: ApiFunction names Regoin, which is not in the template"),
        (lambda resources: resources["ApiFunction"].update(Condition="IsAny"), "references: ApiFunction names IsAny"),
        (lambda resources: resources["ApiStage"].update(DependsOn=["Nobody"]), "references: ApiStage names Nobody"),
        (_share, "roles: AdminFunction has the role of ApiFunction"),
    ],
)
def test_a_rule_finds_what_it_is_about(break_it: Callable[[Resources], object], finding: str) -> None:
    template = deepcopy(stack("tasks").template)
    break_it(template["Resources"])
    found = check_stack(template)
    assert len(found) == 1
    assert found[0].startswith(finding)


def test_a_listener_without_tls_is_found() -> None:
    template = deepcopy(stack("tasks", True).template)
    template["Resources"]["BalancerListener"]["Properties"]["Protocol"] = "HTTP"
    assert check_stack(template) == [
        "exposure: BalancerListener takes requests that are not encrypted; use HTTPS",
    ]
