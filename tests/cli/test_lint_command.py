"""``tablewright lint``: what it prints, and what it answers with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tablewright.cli import main

CLEAN = """
from tablewright.model import Entity, Get, Table

class Person(Entity, table=Table("people", "id")):
    id: str

    @Get()
    def by_id(self, id: str) -> None: ...
"""
WARNED = CLEAN + "    friends: list[str] = []\n"
ADVISED = """
from tablewright.model import Entity, FieldCondition, Query, Table, attr

class Order(Entity, table=Table("orders", "user", "id")):
    user: str
    id: str
    city: str

    @Query()
    def in_rome(self, user: str) -> FieldCondition:
        return attr(self.city) == "Rome"
"""
ACCEPTED = (
    WARNED
    + """
from tablewright.model import AcceptedFinding, Design

design = Design(
    "People",
    tables=[Person.schema_.table],
    accepted=[AcceptedFinding("unbounded-list", "Person.friends", "nobody has many")],
)
"""
)
REFUSED = """
from tablewright.model import Entity, Query, Table

class Row(Entity, table=Table("rows", "at", "id")):
    at: str
    id: str

    @Query()
    def begun(self, *, since: str) -> None: ...
"""

TWICE = """
from tablewright.model import Design

design = Design("People", tables=[Person.schema_.table, Table("people", "id")])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, text: str, *options: str) -> int:
    (folder / "shop.py").write_text(text)
    return main(["lint", "./shop.py", *options])


@pytest.mark.requirement("X4")
@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        (CLEAN, [], 0),
        (WARNED, [], 1),
        (ADVISED, [], 0),
        (ADVISED, ["--strict"], 1),
        (ACCEPTED, ["--strict"], 0),
        (REFUSED, [], 1),
        (CLEAN + TWICE, [], 1),
        ("import sys\nsys.exit(0)\n", [], 2),
    ],
    ids=["clean", "warning", "advice", "advice counts", "accepted", "refused", "a name twice", "no design"],
)
def test_the_exit_code_tells_whether_something_is_to_be_put_right(
    folder: Path, text: str, options: list[str], status: int
) -> None:
    assert run(folder, text, *options) == status
    assert run(folder, text, "--json", *options) == status


def test_a_finding_has_its_place_its_reason_and_its_repair(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, WARNED)
    shown = capsys.readouterr().out
    assert shown.startswith("warning  Person.friends  unbounded-list  shop.py:4\n")
    assert "\n  friends is stored inside the item, and its length is not limited." in shown
    assert "Limit it" in shown
    assert shown.endswith("Shop: 1 warning\n")


def test_a_clean_design_is_called_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, CLEAN)
    assert capsys.readouterr().out == "Shop: no findings\n"


def test_what_is_accepted_is_shown_in_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, ACCEPTED)
    assert capsys.readouterr().out.splitlines() == [
        "accepted  Person.friends  unbounded-list: nobody has many",
        "People: no findings (1 accepted)",
    ]


def test_a_machine_gets_the_same_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, WARNED, "--json")
    answer = json.loads(capsys.readouterr().out)
    (finding,) = answer.pop("findings")
    assert answer == {"ok": False, "designs": ["Shop"]}
    assert sorted(finding) == ["accepted", "design", "message", "place", "repair", "rule", "severity", "where"]
    assert (finding["rule"], finding["where"], finding["accepted"]) == ("unbounded-list", "shop.py:4", None)


def test_a_refused_declaration_is_shown_with_its_rule_and_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, REFUSED)
    assert capsys.readouterr().out.startswith("error  Row.begun  partition-range  shop.py:4\n")


def test_several_designs_are_one_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.py").write_text(CLEAN)
    (folder / "second.py").write_text(WARNED)
    assert main(["lint", "./first.py", "./second.py"]) == 1
    shown = capsys.readouterr().out
    assert "First: no findings\n" in shown
    assert "Second: 1 warning\n" in shown


def test_a_missing_file_is_reported_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "./missing.py"]) == 2
    assert capsys.readouterr().err == "tablewright: there is no file missing.py\n"


@pytest.mark.parametrize(
    ("missing", "command", "told"),
    [
        ("fastapi", ("lint", "needy.py"), "needy.py needs the module 'fastapi', of an extra: "),
        ("rich", ("lint", "plain.py"), "printing tables needs rich: "),
        ("uvicorn", ("up",), "this command needs uvicorn: "),
        ("jwt", ("token", "--user", "ada"), "this command needs jwt: "),
        ("prometheus_client", ("studio", "data"), "this command needs prometheus_client: "),
        ("duckdb", ("engagement", "demo-data", "--out", "x.parquet"), "this command needs duckdb: "),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(
    folder: Path, missing: str, command: tuple[str, ...], told: str
) -> None:
    (folder / "needy.py").write_text("import fastapi\n")
    (folder / "plain.py").write_text("from tablewright.model import Table\ntable = Table('t', 'PK')\n")
    program = (
        "import sys; sys.modules[sys.argv[1]] = None\nfrom tablewright.cli import main\nsys.exit(main(sys.argv[2:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, missing, *command], cwd=folder, capture_output=True, text=True, timeout=60
    )
    # That of the command, or the smallest that has it.
    extra = "studio" if command[0] == "studio" else {"rich": "design", "duckdb": "sql"}.get(missing, "systems")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"tablewright: {told}pip install 'tablewright[{extra}]'")


def test_help_does_not_load_the_rules(folder: Path) -> None:
    program = (
        "import sys\nfrom tablewright.cli import main\n"
        "try:\n    main(['lint', '--help'])\nexcept SystemExit:\n    pass\n"
        "assert not [name for name in sys.modules if name.startswith('tablewright.design')]\n"
        "assert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, stdout=subprocess.DEVNULL)
