"""``tablewright infra`` and ``tablewright iam``, as they are typed."""

import json
from pathlib import Path

import pytest

from tablewright.design.iam import is_allowed
from tests.cli.commands import run

DESK = "tablewright.systems.servicedesk"

TWO = """
from tablewright.model import Design, Entity, Get, Query, Reaction, Table

notes = Table("Notes", "owner", "id", stream="NEW_IMAGE")


class Note(Entity, table=notes):
    owner: str
    id: str

    @Get()
    def by_id(self, owner: str, id: str) -> None: ...

    @Query()
    def of_owner(self, owner: str) -> None: ...


owner = ["Note.by_id", "Note.of_owner"]
one = Design("One", tables=[notes], roles={"owner": owner}, reactions=[Reaction("tell", Note)])
two = Design("Two", tables=[notes])
"""


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "two_designs.py").write_text(TWO)
    monkeypatch.chdir(tmp_path)
    return "./two_designs.py"


# -- infra ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X3")
def test_a_template_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "infra", DESK)
    assert (status, err) == (0, "")
    assert json.loads(out)["Resources"]["ItsmTicketsTable"]["Type"] == "AWS::DynamoDB::Table"


@pytest.mark.requirement("X3")
def test_every_format_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    _, script, _ = run(capsys, "infra", DESK, "--format", "cli", "--environment", "dev")
    assert "--table-name dev-itsm-tickets" in script
    _, program, _ = run(capsys, "infra", DESK, "--format", "boto3")
    assert "dynamodb.create_table(" in program
    _, terraform, _ = run(capsys, "infra", DESK, "--format", "terraform", "--region", "eu-west-1")
    assert json.loads(terraform)["variable"]["region"]["default"] == "eu-west-1"


def test_commands_and_requests_are_for_machines_too(capsys: pytest.CaptureFixture[str]) -> None:
    _, commands, _ = run(capsys, "infra", DESK, "--format", "cli", "--json")
    assert json.loads(commands)[0][:3] == ["aws", "dynamodb", "create-table"]
    _, requests, _ = run(capsys, "infra", DESK, "--format", "boto3", "--json")
    assert json.loads(requests)[0]["operation"] == "CreateTable"
    assert json.loads(requests)[0]["request"]["TableName"] == "poc-itsm-tickets"


def test_provisioned_capacity_scales_up_to_tenfold_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "infra", DESK, "--provisioned", "5", "6")
    parameters = json.loads(out)["Parameters"]
    assert (parameters["ReadCapacity"]["Default"], parameters["MaxWriteCapacity"]["Default"]) == (5, 60)
    _, out, _ = run(
        capsys, "infra", DESK, "--provisioned", "5", "6", "--max-capacity", "7", "8", "--target-utilization", "50"
    )
    parameters = json.loads(out)["Parameters"]
    assert (parameters["MaxReadCapacity"]["Default"], parameters["TargetUtilization"]["Default"]) == (7, 50)


def test_policies_come_with_the_template(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "infra", DESK, "--policies")
    assert json.loads(out)["Resources"]["ApiPolicy"]["Type"] == "AWS::IAM::ManagedPolicy"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["infra", "no.such.module"], "there is no module 'no'"),
        (["infra", DESK, "--format", "yaml"], "invalid choice: 'yaml'"),
        (["infra", DESK, "--environment", "a b"], "'a b' is not an environment, which is a word such as dev or prod"),
        (["infra", DESK, "--provisioned", "0", "1"], "read capacity must be at least 1"),
        (["infra", DESK, "--max-capacity", "5", "5"], "--max-capacity needs --provisioned READ WRITE"),
        (["infra", DESK, "--policies", "--format", "cli"], "--policies needs --format cloudformation"),
        (["infra", DESK, "--design", "Desk"], "has no design 'Desk'; it has Service Desk"),
        (["iam", DESK, "--role", "nobody"], "Service Desk has no role 'nobody'; it has api"),
        (["iam", DESK, "--json"], "add --account with its 12 digits"),
        (["iam", DESK, "--json", "--account", "12"], "add --account with its 12 digits"),
        (["iam", DESK, "--tenant", "caller_id"], "--tenant needs --role, of api"),
        (["iam", DESK, "--role", "api", "--tenant", "caller_id"], "cannot be limited to a tenant"),
        (["iam", DESK, "--role", "api", "--tenant", "caller_id=sub"], "a policy variable looks like"),
        (
            ["iam", DESK, "--json", "--account", "1" * 12, "--stream-label", "x"],
            "expected TABLE=LABEL, where TABLE is one of",
        ),
    ],
)
def test_usage_errors_are_reported_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_of_several_designs_one_is_chosen(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "infra", two)
    assert status == 2
    assert "has several designs; choose one with --design: One, Two" in err
    assert run(capsys, "infra", two, "--design", "Two")[0] == 0


# -- iam ------------------------------------------------------------------------------------------------------------


def test_people_see_who_may_do_what_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "iam", DESK)
    assert status == 0
    for text in ("Permissions in Service Desk", "api", "UpdateItem", "add comment", "change status"):
        assert text in out


@pytest.mark.requirement("SD9", "X3")
def test_policies_are_written_by_role(capsys: pytest.CaptureFixture[str]) -> None:
    consumer = ("--stream-label", "poc-itsm-tickets=2026-01-15T09:30:00.000", "--checkpoints", "tablewright-internal")
    common = ("iam", DESK, "--json", "--account", "123456789012", "--environment", "dev")
    status, out, err = run(capsys, *common, *consumer)
    assert (status, err) == (0, "")
    policies = json.loads(out)
    assert list(policies) == ["api", "desk", "runtime", "search"]
    policy = policies["api"]
    table = "arn:aws:dynamodb:us-east-1:123456789012:table/dev-itsm-tickets"
    assert [(statement["Action"], statement["Resource"]) for statement in policy["Statement"]] == [
        (["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"], [table]),
        (["dynamodb:Query"], [f"{table}/index/CallerIdIndex"]),
    ]


def test_the_label_of_a_stream_is_required(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    common = (
        "iam",
        two,
        "--design",
        "One",
        "--json",
        "--account",
        "123456789012",
        "--checkpoints",
        "tablewright-internal",
    )
    status, out, err = run(capsys, *common)
    assert (status, out) == (2, "")
    assert "add --stream-label Notes=LABEL" in err
    _, out, err = run(capsys, *common, "--stream-label", "Notes=2026-01-15T09:30:00.000")
    assert "/stream/2026-01-15T09:30:00.000" in out
    assert err == ""


def test_a_tenant_s_policy_has_its_condition(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("iam", two, "--design", "One", "--role", "owner", "--tenant", "owner=${aws:userid}")
    _, out, _ = run(capsys, *common)
    assert "Only items with the partition key ${aws:userid}" in out
    _, out, _ = run(capsys, *common, "--json", "--account", "123456789012")
    (statement,) = json.loads(out)["owner"]["Statement"]
    assert statement["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:userid}"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def test_a_role_that_may_do_nothing_has_no_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "idle.py"
    path.write_text(
        "from tablewright.model import *\n"
        "class Row(Entity, table=Table('rows', 'id')):\n    id: str\n"
        "    @Get()\n    def by_id(self, id: str) -> None: ...\n"
        "design = Design('Idle', tables=[Row.schema_.table], roles={'the api': ['Row.by_id'], 'nobody': []})\n"
    )
    status, out, _ = run(capsys, "iam", str(path))
    assert (status, "No permissions." in out) == (0, True)
    status, out, err = run(capsys, "iam", str(path), "--json", "--account", "123456789012")
    assert (status, out) == (2, "")
    assert (
        "role nobody has no permissions, and IAM refuses a policy without statements; choose other roles: --role "
        "'the api'" in err
    )
    status, out, _ = run(capsys, "iam", str(path), "--json", "--account", "123456789012", "--role", "the api")
    assert (status, list(json.loads(out))) == (0, ["the api"])
    status, out, err = run(capsys, "infra", str(path), "--policies")
    assert (status, "TheApiPolicy" in json.loads(out)["Resources"]) == (0, True)
    assert err == "tablewright: warning: role nobody has no permissions, so no policy is written for it\n"


def test_a_design_without_roles_is_refused(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "iam", two, "--design", "Two")
    assert status == 2
    assert "Two has no roles; declare them: Design" in err


def test_the_table_of_notes_can_be_named(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "iam", two, "--design", "One", "--checkpoints", "tablewright-internal")
    assert "tablewright-internal" in out
    _, out, _ = run(capsys, "infra", two, "--design", "One", "--policies", "--checkpoints", "tablewright-internal")
    assert "tablewright-internal" in out


@pytest.mark.parametrize("command", [("iam",), ("infra", "--policies")])
def test_a_consumer_without_a_table_for_checkpoints_is_refused_with_a_remedy(
    two: str, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, *command, two, "--design", "One")
    assert (status, out) == (2, "")
    assert "need another table for their checkpoints" in err
    assert "--checkpoints tablewright-internal" in err
    status, out, err = run(capsys, *command, two, "--design", "One", "--checkpoints", "nt")
    assert (status, out) == (2, "")
    assert err.startswith("tablewright: --checkpoints nt: ")
    assert "3 to 255 characters" in err


def test_other_roles_need_no_place_for_notes(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "iam", two, "--design", "One", "--role", "owner")
    assert (status, "owner" in out) == (0, True)


@pytest.mark.parametrize(("option", "value"), [("--region", "Frankfurt"), ("--environment", "a b")])
def test_a_policy_is_of_a_real_place(capsys: pytest.CaptureFixture[str], option: str, value: str) -> None:
    status, out, err = run(capsys, "iam", DESK, "--json", "--account", "123456789012", option, value)
    assert (status, out) == (2, "")
    assert repr(value) in err


@pytest.mark.requirement("SH6")
def test_a_relocation_adds_the_switch_to_every_policy_and_a_policy_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    common = ("iam", "tablewright.systems.support", "--json", "--account", "123456789012", "--environment", "dev")
    _, out, _ = run(capsys, *common, "--relocation")
    policies = json.loads(out)
    place = "arn:aws:dynamodb:us-east-1:123456789012:table"
    switch = f"{place}/tablewright-relocation"
    assert [*policies][-1] == "relocation"
    for role, policy in policies.items():
        assert is_allowed(policy, "dynamodb:GetItem", switch)
        # One who can hold the switch holds everybody.
        assert is_allowed(policy, "dynamodb:UpdateItem", switch) == (role != "customer")
        assert is_allowed(policy, "dynamodb:CreateTable", switch) == (role == "relocation")
    stream = f"{place}/dev-tickets-unified/stream/2026-01-15T09:30:00.000"
    readers = {role for role, policy in policies.items() if is_allowed(policy, "dynamodb:GetRecords", stream)}
    assert len(readers) > 2
    # A consumer finishes the stream of the place that was left.
    assert {role for role in readers if not is_allowed(policies[role], "dynamodb:ListStreams", "*")} == {"relocation"}
    _, out, _ = run(capsys, *common, "--role", "relocation")
    assert json.loads(out) == {"relocation": policies["relocation"]}
    _, out, _ = run(capsys, *common, "--role", "api")
    assert "tablewright-relocation" not in out
