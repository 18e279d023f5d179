"""Alarms, each of which needs a person to act, and the budget of a month."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablewright.deploy.resources.data_resources import KEY
from tablewright.deploy.stack_template import Stack, allow, att, logical, policy, ref, sub
from tablewright.design.cost import CostPlan
from tablewright.design.infra import TableTemplate
from tablewright.model import Table

__all__ = [
    "ALARMS",
    "add_alarm",
    "add_alarms_topic",
    "add_background_alarm",
    "add_budget",
    "add_container_alarms",
    "add_dead_letter_alarm",
    "add_function_alarms",
    "add_lag_alarm",
    "add_table_alarms",
]

ALARMS = "Alarms"
_BALANCER = "AWS/ApplicationELB"
_MINUTE = 60
# A consumer that is so far behind needs attention, in seconds.
_LATE = 5 * 60
# How far above the plan consumption may be for ten minutes.
_ABOVE_PLAN = 1.2
_BUDGET_FACTOR = 1.5
_LEAST_BUDGET = 10


def add_alarms_topic(stack: Stack) -> None:
    stack.parameter("AlarmMail", "Address that alarms are sent to; it has to be confirmed", MinLength=6)
    stack.add(ALARMS, "AWS::SNS::Topic", {"KmsMasterKeyId": ref(KEY)}, "Where all alarms go.")
    stack.add(
        f"{ALARMS}Policy",
        "AWS::SNS::TopicPolicy",
        {
            "Topics": [ref(ALARMS)],
            "PolicyDocument": policy(
                allow(
                    "Publish",
                    ["sns:Publish"],
                    ref(ALARMS),
                    StringEquals={"aws:SourceAccount": ref("AWS::AccountId")},
                )
                | {"Principal": {"Service": "cloudwatch.amazonaws.com"}}
            ),
        },
    )
    stack.add(
        "AlarmSubscription",
        "AWS::SNS::Subscription",
        {"TopicArn": ref(ALARMS), "Protocol": "email", "Endpoint": ref("AlarmMail")},
    )


def add_alarm(
    stack: Stack,
    name: str,
    about: str,
    namespace: str | Mapping[str, str],
    metric: str,
    dimensions: Mapping[str, Any],
    *,
    above: float = 0,
    statistic: str = "Sum",
    minutes: int = 5,
    times: int = 1,
    below: float | None = None,
    owner: str | None = None,
) -> None:
    """An alarm on a metric that is above a figure for so many periods; or ``below`` one, or missing."""
    stack.add(
        f"{name}Alarm",
        "AWS::CloudWatch::Alarm",
        {
            "AlarmDescription": about,
            "Namespace": namespace,
            "MetricName": metric,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()],
            "Statistic": statistic,
            "Period": minutes * _MINUTE,
            "EvaluationPeriods": times,
            "ComparisonOperator": "GreaterThanThreshold" if below is None else "LessThanThreshold",
            "Threshold": above if below is None else below,
            "TreatMissingData": "notBreaching" if below is None else "breaching",
            "AlarmActions": [ref(ALARMS)],
            "OKActions": [ref(ALARMS)],
        },
        owner=owner,
    )


def add_function_alarms(stack: Stack, function: str, *, reads_stream: bool) -> None:
    where = {"FunctionName": ref(function)}
    add_alarm(stack, f"{function}Errors", f"{function} fails: see its log", "AWS/Lambda", "Errors", where)
    about = f"{function} is throttled: the account's functions use all of its concurrency; request more"
    add_alarm(stack, f"{function}Throttles", about, "AWS/Lambda", "Throttles", where)
    if reads_stream:
        about = f"{function} is more than five minutes behind its stream"
        add_alarm(
            stack, f"{function}Late", about, "AWS/Lambda", "IteratorAge", where, above=_LATE * 1000, statistic="Maximum"
        )


def add_container_alarms(stack: Stack) -> None:
    """Errors of containers, and containers that do not respond: one of them, or all."""
    balancer = {"LoadBalancer": att("Balancer", "LoadBalancerFullName")}
    target = {**balancer, "TargetGroup": att("BalancerTarget", "TargetGroupFullName")}
    about = "Containers respond with 5xx errors: see their log"
    add_alarm(stack, "ContainerErrors", about, _BALANCER, "HTTPCode_Target_5XX_Count", balancer)
    about = "The load balancer itself responds with 5xx errors: containers cannot be reached, or break off responses"
    add_alarm(stack, "BalancerErrors", about, _BALANCER, "HTTPCode_ELB_5XX_Count", balancer)
    about = "Containers do not respond: see their log"
    add_alarm(stack, "ContainerHealth", about, _BALANCER, "UnHealthyHostCount", target, statistic="Maximum")
    about = "No container responds: see their log, and the events of ContainerService"
    add_alarm(
        stack,
        "NoContainers",
        about,
        _BALANCER,
        "HealthyHostCount",
        target,
        below=1,
        statistic="Minimum",
        minutes=1,
        times=3,
    )


def add_dead_letter_alarm(stack: Stack, groups: Sequence[str]) -> None:
    """An alarm on the dead letters of consumers, whose functions or containers log them to these groups."""
    _add_logged(stack, groups, "DeadLetters", "dead_letters")
    about = (
        "Changes became dead letters: the log has the consumer and the error; see /runtime/consumers, and replay them"
    )
    add_alarm(stack, "DeadLetters", about, _logged_namespace(), "DeadLetters", {})


def add_lag_alarm(stack: Stack, group: str) -> None:
    """An alarm on consumers in containers, which log how late they are."""
    _add_logged(stack, [group], "ConsumerLag", "behind_seconds")
    about = "A consumer is more than five minutes behind its stream: the log says which"
    add_alarm(stack, "ConsumerLag", about, _logged_namespace(), "ConsumerLag", {}, above=_LATE, statistic="Maximum")


def add_background_alarm(stack: Stack, group: str) -> None:
    """An alarm on work beside requests in containers, such as schedules; in functions, their errors are counted."""
    _add_filter(stack, group, "BackgroundErrors", '{ $.message = "background work failed*" }', "1")
    about = "Work beside requests fails, and is tried again: the log says which, and why"
    add_alarm(stack, "BackgroundErrors", about, _logged_namespace(), "BackgroundErrors", {})


def _logged_namespace() -> dict[str, str]:
    return sub("Tablewright/${AWS::StackName}")


def _add_logged(stack: Stack, groups: Sequence[str], metric: str, logged: str) -> None:
    """A metric of a field that is logged, in lines of JSON."""
    for group in groups:
        _add_filter(stack, group, metric, f"{{ $.{logged} > 0 }}", f"$.{logged}")


def _add_filter(stack: Stack, group: str, metric: str, pattern: str, value: str) -> None:
    stack.add(
        f"{group}{metric}",
        "AWS::Logs::MetricFilter",
        {
            "LogGroupName": ref(group),
            "FilterPattern": pattern,
            "MetricTransformations": [
                {"MetricNamespace": _logged_namespace(), "MetricName": metric, "MetricValue": value}
            ],
        },
    )


def add_table_alarms(stack: Stack, tables: TableTemplate, plan: CostPlan | None) -> None:
    """Throttled requests of each table and index, and consumption above what was planned."""
    for table in tables.tables:
        name = tables.logical_id(table)
        for part, dimensions in _parts(name, table):
            for kind in ("Read", "Write"):
                about = f"{kind.lower()}s of {table.name} are throttled: see which keys are hot"
                metric = f"{kind}ThrottleEvents"
                add_alarm(
                    stack,
                    f"{part}{kind}Throttles",
                    about,
                    "AWS/DynamoDB",
                    metric,
                    dimensions,
                    owner=f"the alarm {part} of {table.name}",
                )
    for load in [] if plan is None else plan.loads:
        if load.table.name not in tables.names:
            continue
        name = tables.logical_id(load.table)
        index = None if load.index is None else load.index.name
        part = name if index is None else f"{name}{_index_names(load.table)[index]}"
        place = {"TableName": ref(name)} | ({} if index is None else {"GlobalSecondaryIndexName": index})
        for kind, peak in (("Read", load.peak_read), ("Write", load.peak_write)):
            if peak > 0:
                about = f"{load.table.name} consumes more {kind.lower()} units than planned: see `tablewright plan`"
                add_alarm(
                    stack,
                    f"{part}{kind}Plan",
                    about,
                    "AWS/DynamoDB",
                    f"Consumed{kind}CapacityUnits",
                    place,
                    above=math.ceil(float(peak) * _MINUTE * _ABOVE_PLAN),
                    minutes=1,
                    times=10,
                )


def _parts(name: str, table: Table) -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, {"TableName": ref(name)}
    names = _index_names(table)
    for index in table.indexes:
        if index.is_global:
            yield f"{name}{names[index.name]}", {"TableName": ref(name), "GlobalSecondaryIndexName": index.name}


def _index_names(table: Table) -> dict[str, str]:
    """A logical name for each index, by the index's name: an index cannot be renamed where a table has it already."""
    found: dict[str, str] = {}
    for index in table.indexes:
        name = logical(f"{index.name} {'' if re.search('[A-Za-z0-9]', index.name) else 'Index'}")
        while name in found.values():
            name += "X"
        found[index.name] = name
    return found


def add_budget(stack: Stack, plan: CostPlan | None) -> None:
    planned = 0.0 if plan is None else float(plan.bill("on-demand").total)
    monthly = max(_LEAST_BUDGET, math.ceil(planned * _BUDGET_FACTOR))
    stack.parameter("MonthlyBudget", "Budget in dollars a month; by default 150 % of the plan", monthly)
    stack.add(
        "Budget",
        "AWS::Budgets::Budget",
        {
            "Budget": {
                "BudgetType": "COST",
                "TimeUnit": "MONTHLY",
                "BudgetLimit": {"Amount": ref("MonthlyBudget"), "Unit": "USD"},
                # Effective once Stack is activated as a cost allocation tag. Several tags would be alternatives.
                "CostFilters": {"TagKeyValue": [{"Fn::Join": ["$", ["user:Stack", ref("AWS::StackName")]]}]},
            },
            "NotificationsWithSubscribers": [
                {
                    "Notification": {
                        "ComparisonOperator": "GREATER_THAN",
                        "NotificationType": kind,
                        "Threshold": threshold,
                        "ThresholdType": "PERCENTAGE",
                    },
                    "Subscribers": [{"SubscriptionType": "EMAIL", "Address": ref("AlarmMail")}],
                }
                for kind, threshold in (("ACTUAL", 80), ("FORECASTED", 100))
            ],
        },
        "What a month may cost before an alarm is sent.",
    )
