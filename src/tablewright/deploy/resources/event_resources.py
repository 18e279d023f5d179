"""What is not a request: changes in streams, times, and the bus that events go to."""

from __future__ import annotations

from typing import Any

from tablewright.deploy.resources.data_resources import KEY
from tablewright.deploy.resources.function_resources import add_function
from tablewright.deploy.resources.queue_resources import add_failures
from tablewright.deploy.stack_template import Stack, allow, att, logical, policy, ref
from tablewright.deploy.system_needs import ConsumerNeeds, ScheduleNeeds, SystemNeeds
from tablewright.design.iam import Resource
from tablewright.design.infra import TableTemplate

__all__ = ["add_bus", "add_consumer", "add_schedule"]

# Lambda waits up to so long for a batch to fill, in seconds.
_MAX_WINDOW = 300
# A stream keeps records for a day. Lambda gives up before that, and notes where they are while they are still there.
_MAX_AGE = 20 * 3600
# A call that could not be made is tried again, unless the next one does the same work soon.
_SCHEDULE_RETRIES = 2
_SOON_MINUTES = 5
# As long as Lambda keeps a call.
_MAX_CALL_AGE = 6 * 3600
_SCHEDULE_AGE = 300


def add_consumer(
    stack: Stack,
    tables: TableTemplate,
    system: SystemNeeds,
    consumer: ConsumerNeeds,
    variables: dict[str, Any],
) -> str:
    """A function that Lambda calls with the records of a stream; its name.

    A record that the handler fails on becomes a dead letter of the consumer, after its retries, as in any process. What
    the function cannot even do that with (it is stopped, the database does not respond) Lambda tries again as long as
    the stream has it, in halves, and then the queue has where it was.
    """
    name, spec = logical(consumer.function.name), consumer.spec
    comment = f"Positions of the records that could not be delivered to {spec.name}."
    failures = add_failures(stack, name, comment, f"the {consumer.function.name}")
    function = add_function(stack, tables, system, consumer.function, variables)
    role = stack.resources[f"{name}Role"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    role.append(allow("KeepFailures", ["sqs:SendMessage"], att(failures)))
    window = int(spec.window.total_seconds())
    stack.add(
        f"{name}Source",
        "AWS::Lambda::EventSourceMapping",
        {
            "EventSourceArn": tables.arn(Resource(spec.table, stream=True)),
            "FunctionName": ref(function),
            "StartingPosition": "TRIM_HORIZON",
            "BatchSize": spec.batch_size,
            "MaximumBatchingWindowInSeconds": min(window, _MAX_WINDOW),
            "BisectBatchOnFunctionError": spec.bisect,
            "MaximumRecordAgeInSeconds": _MAX_AGE,
            "MaximumRetryAttempts": -1,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "DestinationConfig": {"OnFailure": {"Destination": att(failures)}},
        },
        f"The stream of {spec.table.name}, for {spec.name}.",
        DependsOn=[f"{name}Role"],
    )
    return function


def add_schedule(
    stack: Stack, tables: TableTemplate, system: SystemNeeds, schedule: ScheduleNeeds, variables: dict[str, Any]
) -> str:
    """A function that is called every few minutes; its name.

    A call may take longer than that, and the next one comes meanwhile: as in several processes, they share the work by
    claims in the tables. One that Lambda could not make is not kept until after the next.
    """
    name = logical(schedule.function.name)
    comment = f"Calls of {schedule.function.work} that could not be made."
    failures = add_failures(stack, name, comment, f"the {schedule.function.name}")
    function = add_function(stack, tables, system, schedule.function, variables, failures=failures)
    role = stack.add(
        f"{name}CallerRole",
        "AWS::IAM::Role",
        {
            "AssumeRolePolicyDocument": policy(
                {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRole",
                    "Principal": {"Service": "scheduler.amazonaws.com"},
                    "Condition": {"StringEquals": {"aws:SourceAccount": ref("AWS::AccountId")}},
                }
            ),
            "Policies": [
                {
                    "PolicyName": "own",
                    "PolicyDocument": policy(
                        allow("Call", ["lambda:InvokeFunction"], att(function)),
                        allow("KeepFailures", ["sqs:SendMessage"], att(failures)),
                    ),
                }
            ],
        },
    )
    minutes = schedule.minutes
    stack.add(
        f"{name}Calls",
        "AWS::Lambda::EventInvokeConfig",
        {
            "FunctionName": ref(function),
            "Qualifier": "$LATEST",
            "MaximumEventAgeInSeconds": min(minutes * 60, _MAX_CALL_AGE),
            "MaximumRetryAttempts": 0 if minutes <= _SOON_MINUTES else _SCHEDULE_RETRIES,
        },
    )
    stack.add(
        f"{name}Timer",
        "AWS::Scheduler::Schedule",
        {
            "ScheduleExpression": f"rate({minutes} {'minute' if minutes == 1 else 'minutes'})",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "ENABLED",
            "Target": {
                "Arn": att(function),
                "RoleArn": att(role),
                "RetryPolicy": {
                    "MaximumRetryAttempts": _SCHEDULE_RETRIES,
                    "MaximumEventAgeInSeconds": _SCHEDULE_AGE,
                },
                "DeadLetterConfig": {"Arn": att(failures)},
            },
        },
        f"When {schedule.function.work} is due.",
    )
    return function


def add_bus(stack: Stack) -> None:
    stack.add(
        "EventBus",
        "AWS::Events::EventBus",
        {"Name": ref("AWS::StackName"), "KmsKeyIdentifier": att(KEY)},
        "The bus that events go to, for rules of your own.",
    )
    stack.output("EventBusName", "Bus of the system's events", ref("EventBus"))
