"""``tablewright search rebuild``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.cli import main
from tablewright.engine import Engine
from tablewright.runtime import Runtime, Settings
from tablewright.systems import load
from tablewright.systems.tasks.model import Priority, Task
from tablewright.systems.tasks.tasks_system import system
from tablewright.wire import serve_in_thread
from tests.systems.harness import opened_runtime

pytestmark = pytest.mark.requirement("AP3")


def test_the_index_is_made_again_from_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runtime = opened_runtime([system], data=tmp_path)
    task = Task(task_id="t", title="a", description="b", priority=Priority.LOW, created_by="ada", updated_by="ada")
    runtime.sync_store.create(task)
    runtime.close()
    assert main(["search", "rebuild", "tasks", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "tasks: 1 document\n"
    assert (tmp_path / "search.sqlite").stat().st_mode & 0o077 == 0


def test_a_system_without_a_search_is_refused_with_those_that_have_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tablewright.db").touch()
    assert main(["search", "rebuild", "calls", "--data", str(tmp_path)]) == 2
    assert "calls has nothing to search; choose from servicedesk, support, engagement, tasks" in capsys.readouterr().err
    assert main(["search", "rebuild", "--data", str(tmp_path / "none")]) == 2


@pytest.mark.requirement("SH8")
def test_an_index_that_a_process_has_is_left_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems = load("tasks")
    with Engine.open() as engine, serve_in_thread(engine) as endpoint:
        settings = Settings.model_validate({"data": tmp_path, "endpoint": endpoint})
        runtime = Runtime.open(settings, systems)
        try:
            assert not runtime.search.is_beside_another
            assert main(["search", "rebuild", "tasks", "--data", str(tmp_path), "--endpoint", endpoint]) == 2
        finally:
            runtime.close()
    assert "is in use; rebuild it in that process" in capsys.readouterr().err
