"""What a type checker infers of a model: an access pattern knows its entity, a field its type."""

from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).resolve().parent.parent.parent

PROGRAM = """
from tests.model.seed_designs import Call, Case, Rating, Session, TaskWithAssignments, Ticket
from tablewright.model import Collection, Entity, CollectionQuery, Lookup, Selection, schema_of

call: Call = Call.of({})
case: Case | None = Case.of([])

reveal_type(Call.by_id(call_id="c-9"))              # Lookup[Call]
reveal_type(Call.upcoming(user_id="u-1"))           # Selection[Call]
reveal_type(Rating.by_operator(operator_id="o"))  # Selection[Rating]
reveal_type(TaskWithAssignments.of_task(task_id="1"))  # CollectionSelection[TaskWithAssignments]
reveal_type(Call.of({}))                            # Call
reveal_type(Case.of([]))                            # Case | None
reveal_type(call.user_id)                           # str
reveal_type(call.scheduled_for)                     # datetime
reveal_type(call.version)                           # int
reveal_type(call.status)                            # CallStatus
reveal_type(TaskWithAssignments.model_construct().assignments)  # list[Assignment]
reveal_type(Session.model_construct().expires_at)   # datetime | None
reveal_type(schema_of(Call))                        # Schema[Call]
reveal_type(Call.by_id)                             # def (call_id: str) -> Lookup[Call]


class Child(Call):
    pass


reveal_type(Child.by_id(call_id="c-9"))             # Lookup[Child]
"""

WRONG = """
from tests.model.seed_designs import Call, Ticket
from tablewright.model import Get, Lookup, Query, Table

ticket: Lookup[Ticket] = Call.by_id(call_id="c-9")  # error: assignment
Call(user_id=1, call_id="c")                        # error: call-arg, arg-type
Call.by_id(callid="c-9")                            # error: call-arg
Call.by_id(call_id=9)                               # error: arg-type
Query("index", rnage="x")                           # error: call-arg
Table("rows", "PK", indexes=["GSI1"])                  # error: list-item
"""


def checked(program: str, folder: Path) -> list[str]:
    """mypy's answers, each as line number and text."""
    path = folder / "program.py"
    path.write_text(program)
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", "--no-color-output"]
    output, errors, _ = api.run([*settings, "--cache-dir", str(ROOT / ".mypy_cache" / "typing"), str(path)])
    assert not errors, errors
    return [line.partition("program.py:")[2] for line in output.splitlines()]


def comments(program: str) -> dict[int, str]:
    lines = enumerate(program.splitlines(), 1)
    return {number: line.rpartition("  # ")[2] for number, line in lines if "  # " in line}


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_types_are_inferred(tmp_path: Path) -> None:
    answers = checked(PROGRAM, tmp_path)
    revealed = {}
    for answer in answers:
        number, _, text = answer.partition(": ")
        assert text.startswith("note: Revealed type is "), answer
        shown = text.removeprefix("note: Revealed type is ").strip('"')
        names = shown.replace("?", "").replace("builtins.", "").replace("datetime.datetime", "datetime")
        for module in ("attributes", "collection", "entity", "patterns", "rules", "schema"):
            names = names.replace(f"tablewright.model.{module}.", "")
        revealed[int(number)] = names.replace("tests.model.seed_designs.", "").replace("program.", "")
    assert revealed == comments(PROGRAM)


def test_mistakes_are_found(tmp_path: Path) -> None:
    found: dict[int, set[str]] = {}
    for answer in checked(WRONG, tmp_path):
        number, _, text = answer.partition(": ")
        if text.startswith("error: "):
            found.setdefault(int(number), set()).add(text.rpartition("[")[2].rstrip("]"))
    expected = {number: set(text.removeprefix("error: ").split(", ")) for number, text in comments(WRONG).items()}
    assert found == expected
