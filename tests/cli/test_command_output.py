"""Where the output of a command goes: to a terminal of few characters, or to a reader who has seen enough."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import run, tablewright

MODEL = """\
from tablewright.model import *

table = Table("Cafe-orders", "PK", "SK", tags={"Team": "Überall"})


class Order(Entity, table=table):
    \"\"\"Was bestellt wurde: Käse.\"\"\"

    order_id: str
    dish: str = "Crêpe"

    keys = Keys(PK="BESTELLUNG#{order_id}", SK="KÄSE")

    @Get()
    def by_id(self, order_id: str) -> None: ...


design = Design(
    "Café",
    about="Ein Café — mit allem…",
    tables=[table],
    writes=[Write("bestellen", ItemWrite(Order, "create"))],
    roles={"Kellner früh": ["Order.by_id", "bestellen"]},
    volume={Order: Volume(items=1000, size=100)},
    traffic={"bestellen": Traffic(per_second=1)},
)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cafe.py").write_text(MODEL, "utf-8")
    return tmp_path


COMMANDS = [
    ["lint", "cafe"],
    ["docs", "cafe"],
    ["docs", "cafe", "--html"],
    ["plan", "cafe"],
    ["plan", "cafe", "--json"],
    ["infra", "cafe"],
    ["infra", "cafe", "--format", "terraform"],
    ["infra", "cafe", "--format", "cli"],
    ["infra", "cafe", "--format", "boto3"],
    ["iam", "cafe"],
    ["diff", "--snapshot", "cafe"],
    ["diff", "cafe", "cafe"],
    ["workbench", "export", "cafe"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_terminal_that_knows_ascii_alone_is_enough(command: list[str], folder: Path) -> None:
    done = tablewright(*command, cwd=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stderr.isascii()
    assert done.stdout


@pytest.mark.parametrize("command", [["diff", "--snapshot", "cafe"], ["workbench", "export", "cafe"]], ids=" ".join)
def test_what_machines_read_is_the_same_everywhere(command: list[str], folder: Path) -> None:
    narrow = tablewright(*command, cwd=folder, PYTHONIOENCODING="ascii").stdout
    wide = tablewright(*command, cwd=folder, PYTHONIOENCODING="utf-8").stdout
    assert "Café" in json.dumps(json.loads(narrow), ensure_ascii=False)
    dated = ("DateCreated", "DateLastModified")
    without_dates = [
        [line for line in text.splitlines() if not any(d in line for d in dated)] for text in (narrow, wide)
    ]
    assert without_dates[0] == without_dates[1]


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "cafe"],
        ["iam", "cafe"],
        ["lint", "cafe"],
        ["docs", "cafe"],
        ["infra", "cafe"],
        ["diff", "cafe", "cafe"],
    ],
    ids=" ".join,
)
def test_a_reader_who_is_gone_is_no_finding(command: list[str], folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tablewright", *command],
            cwd=folder,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.requirement("SH2")
def test_a_command_of_a_system_that_an_image_does_not_have_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tablewright.systems.engagement.sources", None)
    status, _, told = run(capsys, "engagement", "demo-data", "--out", str(tmp_path / "customers.csv"))
    assert status == 2
    assert told.startswith("tablewright: this command needs tablewright.systems.engagement.sources, which is not in")
