"""The stack of a system has all that it needs, and nothing that the linter or our own rules object to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from itertools import product

import pytest

from tablewright.deploy import BuiltStack, check_stack, design_stack, needs_of, system_stack
from tablewright.deploy.stack_settings import setting_variables
from tablewright.deploy.stack_template import logical
from tablewright.design import DesignError
from tablewright.design.infra import Deployment
from tablewright.model import Design, Table
from tablewright.runtime import Settings
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.logs import FIELDS, JsonFormatter
from tablewright.systems import NAMES, load
from tests.deploy.stacks import actions, complaints, needs, of_type, read_yaml, stack, statements, variables
from tests.design.subjects import DESIGNS
from tests.systems.harness import wait_for

pytestmark = pytest.mark.requirement("SH1")
FORMS = [pytest.param(False, id="functions"), pytest.param(True, id="container")]


# The linter takes seconds for each.
QUICK = {("calls", False, False), ("servicedesk", True, True)}
EACH = [
    pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow)
    for one in product(NAMES, (False, True), (True, False))
]


@pytest.mark.parametrize(("name", "container", "internal_tables"), EACH)
def test_cfn_lint_has_nothing_to_say(name: str, container: bool, internal_tables: bool) -> None:
    assert complaints(stack(name, container, internal_tables).yaml) == []


@pytest.mark.parametrize("internal_tables", [True, False], ids=["all_tables", "no_internal_tables"])
@pytest.mark.parametrize("container", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_our_own_rules_have_nothing_to_say(name: str, container: bool, internal_tables: bool) -> None:
    assert check_stack(stack(name, container, internal_tables).template) == []


def of_design(name: str) -> BuiltStack | None:
    """The stack of a design; None where its consumers' checkpoints are in a table of another one."""
    try:
        return design_stack(DESIGNS[name], Deployment(environment="dev"))
    except DesignError as error:
        if "--checkpoints" not in str(error):
            raise
        return None


@pytest.mark.parametrize("name", DESIGNS)
def test_the_stack_of_a_design_alone_has_its_tables_and_policies(name: str) -> None:
    built = of_design(name)
    if built is not None:
        assert check_stack(built.template) == []
        assert read_yaml(built.yaml) == built.template
        assert len(of_type(built.template, "AWS::DynamoDB::Table")) == len(DESIGNS[name].all_tables)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_cfn_lint_has_nothing_to_say_about_the_stack_of_a_design(name: str) -> None:
    built = of_design(name)
    assert built is None or complaints(built.yaml) == []


@pytest.mark.parametrize("container", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_yaml_says_what_the_template_says(name: str, container: bool) -> None:
    built = stack(name, container)
    assert read_yaml(built.yaml) == built.template


def test_functions_and_containers_get_the_target_of_a_relocation() -> None:
    target, none = {"Ref": "RelocateTo"}, {"Ref": "AWS::NoValue"}
    for function in of_type(stack("tasks").template, "AWS::Lambda::Function").values():
        told = function["Environment"]["Variables"]["TABLEWRIGHT_RELOCATE_TO"]
        assert told == {"Fn::If": ["IsRelocated", target, none]}
    template = stack("tasks", True).template
    (task,) = of_type(template, "AWS::ECS::TaskDefinition").values()
    # Without a value it must not be set: an empty place is refused.
    told = {"Fn::If": ["IsRelocated", {"Name": "TABLEWRIGHT_RELOCATE_TO", "Value": target}, none]}
    assert told in task["ContainerDefinitions"][0]["Environment"]
    about = template["Parameters"]["RelocateTo"]
    for place in ("aws", "aws:eu-south-1", "http://10.0.0.1:8000"):
        assert Settings.model_validate({"endpoint": "http://127.0.0.1:8000", "relocate_to": place}).relocate_to == place
        assert re.match(about["AllowedPattern"], place)
    assert about["Default"] == ""
    assert re.match(about["AllowedPattern"], "")
    assert not re.match(about["AllowedPattern"], "./data")


def test_a_stream_s_records_come_as_the_consumer_wants_them_and_nothing_is_dropped() -> None:
    template = stack("support").template
    (source,) = of_type(template, "AWS::Lambda::EventSourceMapping").values()
    (consumer,) = needs("support").consumers
    assert source["BatchSize"] == consumer.spec.batch_size
    assert source["MaximumBatchingWindowInSeconds"] == consumer.spec.window / timedelta(seconds=1)
    assert source["BisectBatchOnFunctionError"] is True
    # A record has to reach the queue before the stream, which keeps it for a day, has lost it.
    assert 12 * 3600 < source["MaximumRecordAgeInSeconds"] <= 22 * 3600
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["DestinationConfig"]["OnFailure"]["Destination"] == {
        "Fn::GetAtt": ["SupportMetricsConsumerFailures", "Arn"]
    }


@pytest.mark.parametrize("container", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_an_alarm_reports_dead_letters_and_consumers_that_are_late(name: str, container: bool) -> None:
    template = stack(name, container).template
    alarms = of_type(template, "AWS::CloudWatch::Alarm").values()
    filters = [*of_type(template, "AWS::Logs::MetricFilter").values()]
    functions = {each.function.name for each in needs(name).consumers}
    groups = ["ContainerLogs"] if container else [f"{logical(function)}Logs" for function in functions]
    wanted = {"DeadLetters": "dead_letters", **({"ConsumerLag": "behind_seconds"} if container else {})}
    for metric, logged in wanted.items() if functions else ():
        assert logged in FIELDS
        watched = {}
        for each in filters:
            (transformed,) = each["MetricTransformations"]
            if transformed["MetricName"] == metric:
                assert each["FilterPattern"] == f"{{ $.{logged} > 0 }}"
                assert transformed["MetricValue"] == f"$.{logged}"
                watched[each["LogGroupName"]["Ref"]] = transformed["MetricNamespace"]
        assert sorted(watched) == sorted(groups)
        (alarm,) = [each for each in alarms if each["MetricName"] == metric]
        assert {str(each) for each in watched.values()} == {str(alarm["Namespace"])}
    if not container:
        late = [each["Dimensions"][0]["Value"]["Ref"] for each in alarms if each["MetricName"] == "IteratorAge"]
        assert sorted(late) == sorted(f"{logical(function)}Function" for function in functions)


def test_a_container_keeps_connections_for_longer_than_the_load_balancer() -> None:
    template = stack("servicedesk", True).template
    balancer = of_type(template, "AWS::ElasticLoadBalancingV2::LoadBalancer")["Balancer"]
    attributes = {each["Key"]: each["Value"] for each in balancer["LoadBalancerAttributes"]}
    kept = Settings.model_validate({"keep_alive": variables(template)["TABLEWRIGHT_KEEP_ALIVE"]}).keep_alive
    assert kept > int(attributes["idle_timeout.timeout_seconds"])


def test_a_failing_consumer_is_no_reason_to_replace_all_containers() -> None:
    target = of_type(stack("servicedesk", True).template, "AWS::ElasticLoadBalancingV2::TargetGroup")["BalancerTarget"]
    assert target["HealthCheckPath"] == "/healthz"


def test_each_function_may_do_what_it_does_and_no_more() -> None:
    template = stack("tasks").template
    roles = {each["Role"]["Fn::GetAtt"][0] for each in of_type(template, "AWS::Lambda::Function").values()}
    assert len(roles) == len(of_type(template, "AWS::Lambda::Function"))
    publisher = actions(template, "TasksEventsConsumerRole")
    assert "ses:SendRawEmail" not in publisher
    assert {each for each in publisher if each.startswith("dynamodb:")} == {
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "dynamodb:PutItem",
    }
    assert "dynamodb:GetRecords" not in actions(template, "ApiRole")
    assert "dynamodb:Scan" not in actions(template, "ApiRole")
    assert "events:PutEvents" in actions(template, "RuntimeEventBridgeConsumerRole")
    assert "events:PutEvents" not in actions(template, "TasksMailConsumerRole")
    assert "ses:SendRawEmail" in actions(template, "TasksMailConsumerRole")
    # Only what IAM cannot limit is about everything.
    wide = {
        action
        for role in roles
        for each in statements(template, role)
        if "*" in each["Resource"]
        for action in each["Action"]
    }
    assert wide == {"dynamodb:ListStreams", "dynamodb:ListBackups"}
    assert "s3:DeleteObject" in actions(template, "TasksOrphansScheduleRole")
    assert "ses:SendRawEmail" not in actions(template, "TasksOrphansScheduleRole")
    assert {"s3:GetObject", "s3:PutObject"} <= actions(template, "ApiRole")
    assert not {each for each in actions(template, "TasksMailConsumerRole") if each.startswith("s3:")}


def test_what_a_tenant_may_do_is_no_part_of_the_api_s_role() -> None:
    template = stack("calls").template
    conditions = [each.get("Condition") for each in statements(template, "ApiRole")]
    assert conditions == [None] * len(conditions)


def test_each_role_of_the_system_is_a_group_of_the_pool() -> None:
    for name in NAMES:
        (system,) = load(name)
        groups = {each["GroupName"] for each in of_type(stack(name).template, "AWS::Cognito::UserPoolGroup").values()}
        assert groups == {*(role.name for role in system.roles), "runtime:Admins"}


def test_people_get_tokens_by_the_sign_in_page_or_from_who_may_ask_for_them() -> None:
    functions = of_type(stack("tasks").template, "AWS::Cognito::UserPoolClient")["UserPoolClient"]
    container = of_type(stack("tasks", True).template, "AWS::Cognito::UserPoolClient")["UserPoolClient"]
    for each in (functions, container):
        assert each["AllowedOAuthFlows"] == ["code"]
        # With a password only with credentials of AWS: USER_PASSWORD_AUTH would be open to everybody who guesses.
        assert {flow for flow in each["ExplicitAuthFlows"] if "PASSWORD" in flow} == {"ALLOW_ADMIN_USER_PASSWORD_AUTH"}
    assert container["CallbackURLs"] == [{"Fn::Sub": "${PublicUrl}/app/sign-in/callback"}]
    (callback,) = functions["CallbackURLs"]
    assert callback["Fn::If"][:2] == ["HasSignInCallback", {"Ref": "SignInCallback"}]
    pattern = stack("tasks").template["Parameters"]["SignInCallback"]["AllowedPattern"]
    for address in ("", "https://board.example.org/back", "http://localhost:3000/back"):
        assert re.match(pattern, address)
    assert not re.match(pattern, "http://board.example.org")


def test_only_who_sends_mail_publishes_events_or_has_large_values_gets_what_that_takes() -> None:
    kinds = {name: {each["Type"] for each in stack(name).template["Resources"].values()} for name in NAMES}
    assert [name for name in NAMES if "AWS::SES::EmailIdentity" in kinds[name]] == ["engagement", "calls", "tasks"]
    assert [name for name in NAMES if "AWS::Events::EventBus" in kinds[name]] == ["calls", "tasks"]
    assert [name for name in NAMES if "AWS::S3::Bucket" in kinds[name]] == ["support", "tasks"]
    assert [name for name in NAMES if "AWS::Scheduler::Schedule" in kinds[name]] == [
        "support",
        "engagement",
        "calls",
        "tasks",
    ]


@pytest.mark.parametrize("container", FORMS)
def test_several_stacks_can_send_from_one_mail_identity(container: bool) -> None:
    template = stack("tasks", container).template
    identity = template["Resources"]["MailSender"]
    assert identity["DeletionPolicy"] == "Retain"
    assert template["Conditions"][identity["Condition"]] == {"Fn::Equals": [{"Ref": "CreateMailIdentity"}, "yes"]}
    assert template["Parameters"]["CreateMailIdentity"]["Default"] == "yes"
    # Each names its own configuration set: one of the identity would be that of another stack.
    assert "ConfigurationSetAttributes" not in identity["Properties"]
    assert variables(template)["TABLEWRIGHT_SES_CONFIGURATION_SET"] == {"Ref": "MailConfiguration"}


@pytest.mark.parametrize("container", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_what_the_stack_sets_cannot_be_given_as_a_setting(name: str, container: bool) -> None:
    for variable, value in variables(stack(name, container).template).items():
        setting = variable.removeprefix("TABLEWRIGHT_").lower()
        if setting in Settings.model_fields:
            with pytest.raises(DesignError, match=f"the setting {setting} follows from the stack"):
                setting_variables({setting: str(value)}, container=container, sends_mail=False)


@pytest.mark.parametrize(
    ("name", "setting", "refused"),
    [
        # By functions, and by containers.
        ("tasks", {"smtp_url": "{{resolve:secretsmanager:mail}}"}, (True, True)),
        ("tasks", {"smtp_verify": "false"}, (True, True)),
        ("servicedesk", {"smtp_url": "{{resolve:secretsmanager:mail}}"}, (False, False)),
        ("support", {"mail_folder": "/data/mail"}, (True, True)),
        ("support", {"training_export": "/data/export"}, (True, True)),
        ("engagement", {"sources": "/data/sources"}, (True, True)),
        ("tasks", {"ensure_tables": "true"}, (True, True)),
        ("tasks", {"client_secret": "{{resolve:secretsmanager:client}}"}, (True, True)),
        ("support", {"batch_window": "60"}, (True, False)),
        ("tasks", {"session_hours": "1"}, (True, False)),
    ],
)
def test_a_setting_without_an_effect_is_refused_with_the_reason(
    name: str, setting: dict[str, str], refused: tuple[bool, bool]
) -> None:
    for container, is_refused in zip((False, True), refused, strict=True):
        with pytest.raises(DesignError, match="would have no effect: ") if is_refused else nullcontext():
            system_stack(needs(name), Deployment(), container=container, settings=setting)


@pytest.mark.parametrize("name", NAMES)
def test_an_alarm_reports_containers_that_are_down_and_work_beside_requests_that_fails(name: str) -> None:
    template = stack(name, True).template
    alarms = of_type(template, "AWS::CloudWatch::Alarm")
    assert alarms["BalancerErrorsAlarm"]["MetricName"] == "HTTPCode_ELB_5XX_Count"
    down = alarms["NoContainersAlarm"]
    assert {each["Name"] for each in down["Dimensions"]} == {"LoadBalancer", "TargetGroup"}
    assert [
        down[each] for each in ("MetricName", "Statistic", "ComparisonOperator", "Threshold", "TreatMissingData")
    ] == ["HealthyHostCount", "Minimum", "LessThanThreshold", 1, "breaching"]
    counted = of_type(template, "AWS::Logs::MetricFilter")["ContainerLogsBackgroundErrors"]
    (metric,) = counted["MetricTransformations"]
    alarm = alarms["BackgroundErrorsAlarm"]
    assert (alarm["Namespace"], alarm["MetricName"]) == (metric["MetricNamespace"], metric["MetricName"])


def test_the_log_line_of_failed_work_is_the_one_that_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(PeriodicThread):
        def turn(self, is_stopped: Callable[[], bool]) -> None:
            raise RuntimeError

    work = Failing("failing", role="api", every=60, first=0)
    work.start()
    wait_for(lambda: caplog.records)
    work.stop()
    counted = of_type(stack("tasks", True).template, "AWS::Logs::MetricFilter")["ContainerLogsBackgroundErrors"]
    (begin,) = re.findall(r'\$\.message = "(.*)\*"', counted["FilterPattern"])
    assert json.loads(JsonFormatter().format(caplog.records[0]))["message"].startswith(begin)


def test_what_is_left_of_deleted_blobs_expires() -> None:
    (bucket,) = of_type(stack("tasks").template, "AWS::S3::Bucket").values()
    rules = {each["Id"]: each for each in bucket["LifecycleConfiguration"]["Rules"]}
    assert rules["delete-markers"] == {"Id": "delete-markers", "Status": "Enabled", "ExpiredObjectDeleteMarker": True}


def test_schedules_have_the_period_of_the_work_in_whole_minutes() -> None:
    timers = {
        name: each["ScheduleExpression"]
        for system in NAMES
        for name, each in of_type(stack(system).template, "AWS::Scheduler::Schedule").items()
    }
    assert timers == {
        "SupportOrphansScheduleTimer": "rate(360 minutes)",
        "TasksOrphansScheduleTimer": "rate(360 minutes)",
        "EngagementScheduleScheduleTimer": "rate(1 minute)",
        "CallsRemindersScheduleTimer": "rate(1 minute)",
        "CallsMailRetriesScheduleTimer": "rate(1 minute)",
        "TasksMailRetriesScheduleTimer": "rate(1 minute)",
    }


def test_a_call_of_a_schedule_that_cannot_be_made_is_given_up_when_the_next_one_is_due() -> None:
    given_up = {
        name: (each["FunctionName"]["Ref"], each["MaximumRetryAttempts"], each["MaximumEventAgeInSeconds"])
        for system in ("support", "tasks")
        for name, each in of_type(stack(system).template, "AWS::Lambda::EventInvokeConfig").items()
    }
    assert given_up == {
        "SupportOrphansScheduleCalls": ("SupportOrphansScheduleFunction", 2, 6 * 3600),
        "TasksOrphansScheduleCalls": ("TasksOrphansScheduleFunction", 2, 6 * 3600),
        "TasksMailRetriesScheduleCalls": ("TasksMailRetriesScheduleFunction", 0, 60),
    }


@pytest.mark.parametrize("name", NAMES)
def test_no_function_reserves_concurrency_which_a_new_account_does_not_have(name: str) -> None:
    functions = of_type(stack(name).template, "AWS::Lambda::Function")
    assert [each for each, about in functions.items() if "ReservedConcurrentExecutions" in about] == []


def test_consumption_is_compared_with_the_plan() -> None:
    alarms = of_type(stack("tasks").template, "AWS::CloudWatch::Alarm")
    # 260 units a second at the peak, for a minute, and a fifth more.
    assert alarms["TaskManagementTableWritePlanAlarm"]["Threshold"] == 260 * 60 * 1.2
    body = of_type(stack("tasks").template, "AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"]["Fn::Sub"]
    assert "planned peak" in body


@pytest.mark.parametrize("container", FORMS)
def test_the_budget_counts_its_own_stack_and_no_other_environment(container: bool) -> None:
    template = stack("tasks", container).template
    budget = of_type(template, "AWS::Budgets::Budget")["Budget"]["Budget"]
    own = {"Ref": "AWS::StackName"}
    assert budget["CostFilters"] == {"TagKeyValue": [{"Fn::Join": ["$", ["user:Stack", own]]}]}
    for table in of_type(template, "AWS::DynamoDB::Table").values():
        assert {"Key": "Stack", "Value": own} in table["Tags"]


@pytest.mark.parametrize("container", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_names_begin_with_the_environment_and_no_condition_is_always_the_same(name: str, container: bool) -> None:
    template = stack(name, container).template
    for table in of_type(template, "AWS::DynamoDB::Table").values():
        assert table["TableName"]["Fn::Sub"].startswith("${Environment}-")
    assert not re.match(template["Parameters"]["Environment"]["AllowedPattern"], "")
    assert not [
        each for each in template["Conditions"].values() if {"Ref": "Environment"} in each.get("Fn::Equals", ())
    ]


def test_every_table_is_encrypted_restorable_and_outlives_its_stack() -> None:
    template = stack("engagement").template
    for name, each in of_type(template, "AWS::DynamoDB::Table").items():
        assert each["SSESpecification"]["KMSMasterKeyId"] == {"Fn::GetAtt": ["DataKey", "Arn"]}
        assert each["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert template["Resources"][name]["DeletionPolicy"] == "Retain"


def test_internal_tables_of_another_stack_are_referred_to() -> None:
    template = stack("calls", internal_tables=False).template
    assert [*of_type(template, "AWS::DynamoDB::Table")] == ["CallsTable"]
    # The ARN of a stream has the time at which it was made, so nothing else is left than to ask for it.
    stream = {"Ref": "TablewrightEventsStreamArn"}
    source = of_type(template, "AWS::Lambda::EventSourceMapping")["RuntimeEventBridgeConsumerSource"]
    assert source["EventSourceArn"] == stream
    (reading,) = [each for each in statements(template, "RuntimeEventBridgeConsumerRole") if "Stream" in each["Sid"]]
    assert stream in reading["Resource"]
    assert "Default" not in template["Parameters"][stream["Ref"]]


def test_a_system_whose_design_lacks_the_internal_table_is_refused() -> None:
    (calls,) = load("calls")
    alone = Design("Alone", tables=[Table("Alone", "pk")])
    system = type(calls)("alone", "Alone", "", alone, calls.router, service=lambda runtime: None)
    with pytest.raises(DesignError, match="tablewright-internal"):
        needs_of(system, "alone:system")
