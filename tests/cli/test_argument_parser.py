"""The help of the commands."""

from __future__ import annotations

import shlex

import pytest

from tablewright.cli import build_parser, main
from tablewright.cli.command_help import EXAMPLES, GROUPS
from tests.cli.commands import leaf_commands


def printed_help(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("command", "does"),
    [
        (["serve"], "Serve DynamoDB's protocol over HTTP."),
        (["scrub"], "Read a data folder in full, also while it is in use, and report damage."),
        (["support", "export"], "Export tickets with their events and feedback, as training data."),
        (["workbench", "import"], "Print a NoSQL Workbench data model as a Python model to start from."),
    ],
)
def test_the_help_of_a_command_says_what_it_does(
    capsys: pytest.CaptureFixture[str], command: list[str], does: str
) -> None:
    assert does in printed_help(capsys, *command)


def test_every_command_is_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted({command.split()[0] for command in leaf_commands()})
    shown = printed_help(capsys)
    for title, names in GROUPS.items():
        assert f"{title}: {names[0]} " in shown


@pytest.mark.parametrize("command", leaf_commands())
def test_every_command_has_examples_that_can_be_typed(capsys: pytest.CaptureFixture[str], command: str) -> None:
    shown = printed_help(capsys, *command.split())
    for example in EXAMPLES[command]:
        assert f"tablewright {example}" in shown
        assert build_parser().parse_args(shlex.split(example)).parser.prog == f"tablewright {command}"
