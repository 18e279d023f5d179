"""The help of the commands."""

from __future__ import annotations

import pytest

from tablewright.cli import main


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
