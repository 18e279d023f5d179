"""The stack of a design, or of a system: all that it needs of an AWS account.

    design     tables, a policy for each role, alarms, dashboard, budget
    system     as well: functions and their API, or containers (``container``); streams, schedules, bus, mail, people

Everything follows from the design and the system. There is one way to a template; what is in it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tablewright.deploy.resources import (
    alarm_resources,
    api_resources,
    container_resources,
    dashboard_resources,
    data_resources,
    event_resources,
    function_resources,
    identity_resources,
    mail_resources,
    queue_resources,
)
from tablewright.deploy.stack_settings import setting_variables
from tablewright.deploy.stack_template import Stack, att, logical, ref, sub
from tablewright.deploy.system_needs import SystemNeeds
from tablewright.deploy.yaml_text import to_yaml
from tablewright.design import DesignError, iam
from tablewright.design.cost import CostPlan, plan_costs
from tablewright.design.infra import Deployment, TableTemplate
from tablewright.model import Design

__all__ = ["BuiltStack", "design_stack", "system_stack"]

# Limits of CloudFormation for one template.
_MAX_RESOURCES = 500
_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class BuiltStack:
    """A template, and the same as YAML with comments."""

    name: str
    template: dict[str, Any]
    yaml: str


def design_stack(design: Design, deployment: Deployment) -> BuiltStack:
    """The stack of a design that no system of Tablewright runs: its tables, and policies for programs of your own."""
    stack, tables, plan = _begin(design, deployment)
    for role, grants in {**iam.all_grants(design), **iam.all_grants(design, roles=[iam.MAINTENANCE])}.items():
        if grants:
            document = iam.document(grants, tables.arn)
            reasons = {
                each["Sid"]: "IAM cannot limit it to a table"
                for each in document["Statement"]
                if "*" in each["Resource"]
            }
            name = stack.add(
                f"{logical(role)}Policy",
                "AWS::IAM::ManagedPolicy",
                {
                    "Description": tables.policy_description(f"What {role} may do to the tables of {design.name}"),
                    "PolicyDocument": document,
                },
                reasons=reasons,
                owner=f"the policy of the role {role}",
            )
            stack.output(name, f"Policy of {role}", ref(name))
    return _end(stack, tables, plan, functions=[], has_api=False)


def system_stack(
    needs: SystemNeeds, deployment: Deployment, *, container: bool = False, settings: Mapping[str, str] | None = None
) -> BuiltStack:
    """The stack of a system; ``settings`` are further settings of its programs, as text (``--setting``)."""
    further = setting_variables(settings or {}, container=container, sends_mail=needs.sends_mail)
    stack, tables, plan = _begin(needs.design, deployment)
    data_resources.add_secret(stack)
    if needs.uses_blobs:
        data_resources.add_bucket(stack)
    if needs.publishes_events:
        event_resources.add_bus(stack)
    if needs.sends_mail:
        mail_resources.add_mail(stack)
    if container:
        public = stack.parameter(
            "PublicUrl",
            "Address of the applications, such as https://desk.example.org",
            AllowedPattern="^https://[^/]+$",
        )
        identity_resources.add_identity(
            stack, needs.system.roles, sub("${PublicUrl}/app/sign-in/callback"), sub("${PublicUrl}/app")
        )
        variables = {**function_resources.environment(stack, needs, public), **further}
        container_resources.add_container(stack, tables, needs, variables)
        if needs.bounces is not None:
            function_resources.add_code_parameters(stack)
    else:
        public = api_resources.public_url()
        callback = identity_resources.sign_in_callback(stack, public)
        identity_resources.add_identity(stack, needs.system.roles, callback, callback)
        variables = {**function_resources.environment(stack, needs, public), **further}
        function_resources.add_code_parameters(stack)
    functions = _functions(stack, tables, needs, variables, container)
    if not container:
        names = [function_resources.function_name(each) for each in (needs.api, needs.admin)]
        api_resources.add_api(stack, *names)
        about = "The API responds with 5xx errors: see the log of ApiFunction"
        alarm_resources.add_alarm(stack, "ApiErrors", about, "AWS/ApiGateway", "5xx", {"ApiId": ref("HttpApi")})
    else:
        alarm_resources.add_container_alarms(stack)
    streams = {function_resources.function_name(each.function) for each in needs.consumers}
    for function in functions:
        alarm_resources.add_function_alarms(stack, function, reads_stream=function in streams)
    if needs.consumers:
        groups = [function_resources.log_group_name(each.function) for each in needs.consumers]
        alarm_resources.add_dead_letter_alarm(stack, [container_resources.LOGS] if container else groups)
        if container:
            alarm_resources.add_lag_alarm(stack, container_resources.LOGS)
    if container:
        alarm_resources.add_background_alarm(stack, container_resources.LOGS)
    return _end(stack, tables, plan, functions=functions, has_api=not container)


def _functions(
    stack: Stack, tables: TableTemplate, needs: SystemNeeds, variables: dict[str, Any], container: bool
) -> list[str]:
    functions = []
    if not container:
        for each in (needs.api, needs.admin):
            functions.append(function_resources.add_function(stack, tables, needs, each, variables))
        for consumer in needs.consumers:
            functions.append(event_resources.add_consumer(stack, tables, needs, consumer, variables))
        for schedule in needs.schedules:
            functions.append(event_resources.add_schedule(stack, tables, needs, schedule, variables))
    if needs.bounces is not None:
        function = function_resources.add_function(stack, tables, needs, needs.bounces, variables)
        mail_resources.add_bounces(stack, function)
        functions.append(function)
    return functions


def _begin(design: Design, deployment: Deployment) -> tuple[Stack, TableTemplate, CostPlan | None]:
    stack = Stack(design.name)
    tables = TableTemplate(design, deployment, None, is_named=True)
    data_resources.add_key(stack)
    data_resources.add_tables(stack, tables)
    stack.parameters["Environment"] = {
        **stack.parameters["Environment"],
        "AllowedPattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        "Description": "Prefix of the table names, and the environment of the settings",
    }
    stack.parameter(
        "LogDays", "Days that logs are kept for", 30, AllowedValues=[1, 3, 7, 14, 30, 60, 90, 180, 365, 731]
    )
    alarm_resources.add_alarms_topic(stack)
    return stack, tables, plan_costs(design) if design.traffic else None


def _end(
    stack: Stack, tables: TableTemplate, plan: CostPlan | None, *, functions: list[str], has_api: bool
) -> BuiltStack:
    alarm_resources.add_table_alarms(stack, tables, plan)
    for name in [each for each in stack.resources if each.endswith(queue_resources.FAILURES)]:
        about = f"Something could not be handled, and waits in {name}"
        metric = "ApproximateNumberOfMessagesVisible"
        where = {"QueueName": att(name, "QueueName")}
        alarm_resources.add_alarm(stack, name, about, "AWS/SQS", metric, where, statistic="Maximum")
    alarm_resources.add_budget(stack, plan)
    dashboard_resources.add_dashboard(stack, tables, plan, functions, has_api=has_api)
    if not any(each["Type"] == "AWS::Logs::LogGroup" for each in stack.resources.values()):
        del stack.parameters["LogDays"]
    stack.parameters.update(tables.stream_parameters())
    template = stack.template(f"{stack.name}, by Tablewright")
    heading = (
        f"{stack.name}: all that it needs of an AWS account.\n"
        "Written by `tablewright deploy`; docs/deploy.md says how to use it."
    )
    text = to_yaml(template, stack.comments, heading)
    if len(stack.resources) > _MAX_RESOURCES or len(text.encode()) > _MAX_BYTES:
        raise DesignError(
            f"the stack of {stack.name} would have {len(stack.resources):,} resources in {len(text):,} characters, and "
            f"CloudFormation allows {_MAX_RESOURCES} in {_MAX_BYTES:,} bytes; split the design"
        )
    return BuiltStack(stack.name, template, text)
