"""What makes a design's tables: requests, AWS CLI commands and boto3 programs, each tried on an engine."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.model import ServiceModel
from botocore.validate import validate_parameters

from tablewright.design.design_loading import DesignError
from tablewright.design.infra import aws_cli_commands, aws_cli_script, boto3_script
from tablewright.design.infra.table_requests import Deployment, ProvisionedCapacity, requests
from tablewright.design.table_names import bare_name, environment_of, table_name
from tablewright.engine import DynamoError, Engine
from tablewright.model import Design, Entity, ModelError, Table
from tablewright.store import Store
from tablewright.wire import boto
from tests.design.subjects import DESIGNS

CAPACITY = ProvisionedCapacity(5, 6, 50, 60)
DEPLOYMENTS = {
    "on demand": Deployment(),
    "provisioned": Deployment(capacity=CAPACITY),
    "dev": Deployment(environment="dev", region="eu-west-1"),
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        yield engine


def differences(engine: Engine, design: Design, deployment: Deployment) -> list[str]:
    names = {table.name: table_name(table, deployment.environment) for table in design.tables}
    found = Store.on(engine, table_names=names).ensure_tables(*design.tables, dry_run=True)
    # A tag that names the environment follows it.
    left_out = {("tag", "Environment")}
    if not is_supported("UpdateContinuousBackups"):
        left_out.add(("point-in-time recovery", ""))
    return [str(each) for each in found if (each.aspect, each.name) not in left_out]


@cache
def is_supported(operation: str) -> bool:
    """Whether the engine has an operation at all."""
    with Engine.open() as engine:
        try:
            engine.call(operation, {})
        except DynamoError as error:
            return error.code != "UnknownOperationException"
    return True


@cache
def service(name: str) -> ServiceModel:
    found: ServiceModel = botocore.session.Session().get_service_model(name)
    return found


# -- requests -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("deployment", DEPLOYMENTS)
@pytest.mark.parametrize("name", DESIGNS)
def test_requests_make_the_tables_of_the_model(name: str, deployment: str, engine: Engine) -> None:
    design = DESIGNS[name]
    for request in requests(design, DEPLOYMENTS[deployment]):
        if request.service == "dynamodb" and is_supported(request.operation):
            engine.call(request.operation, request.body)
    assert differences(engine, design, DEPLOYMENTS[deployment]) == []


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
@pytest.mark.parametrize("name", DESIGNS)
def test_requests_are_of_the_shape_that_the_services_document(name: str, deployment: str) -> None:
    for request in requests(DESIGNS[name], DEPLOYMENTS[deployment]):
        shape = service(request.service).operation_model(request.operation).input_shape
        validate_parameters(request.body, shape)


def test_provisioned_tables_and_indexes_are_scaled() -> None:
    found = requests(DESIGNS["seed: calls"], Deployment(capacity=CAPACITY))
    created = found[0].body
    assert created["BillingMode"] == "PROVISIONED"
    assert created["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    assert {index["IndexName"] for index in created["GlobalSecondaryIndexes"]} == {
        each.body["ResourceId"].rpartition("/")[2]
        for each in found
        if each.operation == "RegisterScalableTarget" and "/index/" in each.body["ResourceId"]
    }
    targets = {(each.body["ResourceId"], each.body["ScalableDimension"]): each.body for each in found[1:]}
    reads = targets["table/Calls/index/byCallId", "dynamodb:index:ReadCapacityUnits"]
    assert reads["PolicyType"] == "TargetTrackingScaling"
    registered = [each.body for each in found if each.operation == "RegisterScalableTarget"]
    assert {(body["MinCapacity"], body["MaxCapacity"]) for body in registered} == {(5, 50), (6, 60)}
    assert len(registered) == 2 * (1 + 3)


def test_a_key_of_one_s_own_encrypts_what_the_design_wants_encrypted() -> None:
    class Secret(Entity, table=Table("Secrets", "id", encryption=True)):
        id: str

    class Plain(Entity, table=Table("Plains", "id")):
        id: str

    design = Design("Both", tables=[Secret.schema_.table, Plain.schema_.table])
    secret, plain = (
        request.body for request in requests(design, Deployment(kms_key="arn:aws:kms:us-east-1:123456789012:key/k"))
    )
    assert secret["SSESpecification"] == {
        "Enabled": True,
        "SSEType": "KMS",
        "KMSMasterKeyId": "arn:aws:kms:us-east-1:123456789012:key/k",
    }
    assert "SSESpecification" not in plain


# -- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "environment", "bare", "in_dev"),
    [
        ("poc-itsm-tickets", "poc", "itsm-tickets", "dev-itsm-tickets"),
        ("prod-tickets-unified", "prod", "tickets-unified", "dev-tickets-unified"),
        ("Candidates", "", "Candidates", "dev-Candidates"),
        ("production-lines", "", "production-lines", "dev-production-lines"),
        ("dev-Calls", "dev", "Calls", "dev-Calls"),
    ],
)
def test_an_environment_begins_a_name(name: str, environment: str, bare: str, in_dev: str) -> None:
    assert environment_of(name) == environment
    assert bare_name(name) == bare
    assert table_name(Table(name, "id"), None) == name
    assert table_name(Table(name, "id"), "dev") == in_dev


@pytest.mark.parametrize("environment", ["", "a b", "-dev", "dev/", "${x}", "é"])
def test_an_environment_is_a_word(environment: str) -> None:
    with pytest.raises(DesignError, match="is not an environment"):
        Deployment(environment=environment)


@pytest.mark.parametrize("capacity", [(0, 1, 1, 1), (2, 1, 1, 1), (1, 5, 1, 4)])
def test_capacity_that_makes_no_sense_is_refused(capacity: tuple[int, int, int, int]) -> None:
    with pytest.raises(DesignError, match="capacity must be at least 1"):
        ProvisionedCapacity(*capacity)


@pytest.mark.parametrize("target", [19, 91])
def test_a_target_is_a_percentage_that_the_service_takes(target: int) -> None:
    with pytest.raises(DesignError, match="from 20 to 90 percent"):
        ProvisionedCapacity(1, 1, 1, 1, target)


# -- AWS CLI --------------------------------------------------------------------------------------------------------


def parsed(command: list[str]) -> tuple[str, str, dict[str, Any]]:
    """A command as the AWS CLI understands it: options by the names of the service's own model."""
    assert command[0] == "aws"
    model = service(command[1])
    (operation,) = (name for name in model.operation_names if xform_name(name, "-") == command[2])
    members = {
        xform_name(name, "-"): (name, shape)
        for name, shape in model.operation_model(operation).input_shape.members.items()
    }
    body: dict[str, Any] = {}
    values: dict[str, list[str]] = {}
    for argument in command[3:]:
        if argument.startswith("--"):
            option = argument.removeprefix("--")
            values[option] = []
        else:
            values[option].append(argument)
    assert values.pop("region")
    for option, texts in values.items():
        name, shape = members[option]
        body[name] = value_of(shape, texts)
    return command[1], operation, body


def value_of(shape: Any, texts: list[str]) -> Any:
    if shape.type_name == "boolean":
        assert texts == []
        return True
    if shape.type_name == "list":
        if texts[0].startswith("["):
            return json.loads(texts[0])
        return [short(shape.member, text) for text in texts]
    (text,) = texts
    if shape.type_name == "structure":
        return json.loads(text) if text.startswith("{") else short(shape, text)
    return int(text) if shape.type_name in ("integer", "long") else text


def short(shape: Any, text: str) -> dict[str, Any]:
    """The CLI's short form of a structure."""
    found: dict[str, Any] = {}
    for pair in text.split(","):
        name, _, content = pair.partition("=")
        kind = shape.members[name].type_name
        found[name] = content == "true" if kind == "boolean" else content
    return found


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("deployment", DEPLOYMENTS)
@pytest.mark.parametrize("name", DESIGNS)
def test_commands_are_the_requests(name: str, deployment: str) -> None:
    design, where = DESIGNS[name], DEPLOYMENTS[deployment]
    commands = [command for command in aws_cli_commands(design, where) if "wait" not in command]
    expected = [(each.service, each.operation, each.body) for each in requests(design, where)]
    assert [parsed(command) for command in commands] == expected


def run_by_a_shell(script: str, folder: Path) -> list[list[str]]:
    """The commands that a shell makes of a script, told by an ``aws`` that only says what it was given."""
    said = folder / "said"
    program = folder / "aws"
    program.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >> {said}\nprintf '\\0' >> {said}\n")
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", script], check=True, env={"PATH": path}, timeout=30, cwd=folder)
    return [["aws", *command.split("\0")] for command in said.read_text().removesuffix("\0\0").split("\0\0")]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_shell_reads_the_script_as_the_commands(name: str, tmp_path: Path) -> None:
    found = run_by_a_shell(aws_cli_script(DESIGNS[name], Deployment()), tmp_path)
    assert found == aws_cli_commands(DESIGNS[name], Deployment())


def test_a_table_is_waited_for_before_more_is_asked_of_it() -> None:
    commands = [command[1:3] for command in aws_cli_commands(DESIGNS["seed: support"], Deployment())]
    assert commands == [
        ["dynamodb", "create-table"],
        ["dynamodb", "wait"],
        ["dynamodb", "update-time-to-live"],
        ["dynamodb", "update-continuous-backups"],
    ]


def test_what_a_shell_would_read_otherwise_is_quoted(tmp_path: Path) -> None:
    table = Table("Odd", "State#Date", tags={"Owner": "it's $HOME; rm -rf, a=b"})
    script = aws_cli_script(Design("Odd\nexit 3", tables=[table]), Deployment())
    create, _ = run_by_a_shell(script, tmp_path)
    assert parsed(create)[2]["Tags"] == [{"Key": "Owner", "Value": "it's $HOME; rm -rf, a=b"}]
    assert parsed(create)[2]["KeySchema"] == [{"AttributeName": "State#Date", "KeyType": "HASH"}]


# -- boto3 ----------------------------------------------------------------------------------------------------------


class Supported:
    """A client of the engine, which passes over what the engine does not have."""

    def __init__(self, engine: Engine) -> None:
        self.client = boto.client(engine)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = self.client.meta.method_to_api_mapping.get(name)
        if operation is not None and not is_supported(operation):
            return lambda **_: None
        found: Callable[..., Any] = getattr(self.client, name)
        return found


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("deployment", ["on demand", "dev"])
@pytest.mark.parametrize("name", DESIGNS)
def test_the_program_makes_the_tables_of_the_model(name: str, deployment: str, engine: Engine) -> None:
    design, where = DESIGNS[name], DEPLOYMENTS[deployment]
    namespace: dict[str, Any] = {"__name__": "tables"}
    exec(boto3_script(design, where), namespace)
    namespace["create_tables"](Supported(engine))
    assert differences(engine, design, where) == []


def test_the_program_scales_what_is_provisioned() -> None:
    text = boto3_script(DESIGNS["seed: calls"], Deployment(capacity=CAPACITY))
    compile(text, "tables.py", "exec")
    assert text.count("autoscaling.put_scaling_policy(") == 8
    assert 'boto3.client("application-autoscaling"' in text


def test_the_program_s_description_cannot_end_early() -> None:
    text = boto3_script(Design('a"""\nimport os\n"', tables=[]), Deployment())
    namespace: dict[str, Any] = {"__name__": "tables"}
    exec(text, namespace)
    assert "os" not in namespace
    assert re.match(r"\"\"\"Creates the tables of a''' import os '\.\"\"\"\n", text)


@pytest.mark.requirement("X3")
def test_the_program_shows_help_and_says_in_a_line_what_is_missing(tmp_path: Path) -> None:
    program = tmp_path / "tables.py"
    program.write_text(boto3_script(DESIGNS["seed: calls"], Deployment()))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "HOME": str(tmp_path)}
        environment = {**kept, **nowhere, "AWS_EC2_METADATA_DISABLED": "true"}
        command = [sys.executable, str(program), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    done = run("--help")
    assert (done.returncode, "Creates the tables of calls." in done.stdout) == (0, True)
    done = run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cannot create the tables: Unable to locate credentials\n"


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"region": "Frankfurt"}, "is not an AWS region"),
        ({"region": "us-east-1; rm"}, "is not an AWS region"),
        ({"kms_key": "my key"}, "is not the ARN of a KMS key"),
        ({"environment": "a b"}, "is not an environment"),
    ],
)
def test_where_tables_are_made_is_checked(settings: dict[str, str], refusal: str) -> None:
    with pytest.raises(DesignError, match=refusal):
        Deployment(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("region", ["us-east-1", "us-gov-west-1", "ap-southeast-4", "cn-north-1", "eusc-de-east-1"])
def test_regions_are_those_of_amazon(region: str) -> None:
    assert Deployment(region=region).region == region


def test_a_name_is_not_made_too_long_by_its_environment() -> None:
    table = Table("t" * 250, "id")
    with pytest.raises(DesignError, match="at most 255 characters"):
        requests(Design("Long", tables=[table]), Deployment(environment="development"))


@pytest.mark.parametrize(
    ("tags", "refusal"),
    [
        ({"aws:team": "x"}, "begins with aws:, which is reserved for AWS; rename it"),
        ({"": "x"}, "a name of 1 to 128 characters"),
        ({"Team": "x" * 257}, "a value of at most 256"),
        ({str(number): "x" for number in range(51)}, "has 51 tags, and AWS allows 50"),
    ],
)
def test_tags_that_aws_refuses_are_refused_before(tags: dict[str, str], refusal: str) -> None:
    with pytest.raises(ModelError, match=refusal):
        Table("rows", "id", tags=tags)
