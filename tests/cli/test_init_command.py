"""``tablewright init``: a project that runs as it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli import commands
from tests.cli.commands import called, error_line, tablewright


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=100
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    done = tablewright("init", "my-shop", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "tablewright docs my_shop" in done.stdout
    return folder / "my-shop"


def test_it_has_one_entity_a_test_and_a_readme(project: Path) -> None:
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert {"README.md", "pyproject.toml", "my_shop/model.py", "my_shop/notes.py", "tests/test_notes.py"} <= files
    assert (project / "my_shop" / "model.py").read_text().count("(Entity,") == 1
    for path in files:
        text = (project / path).read_text() if "__pycache__" not in path else ""
        assert not any(name in text for name in ("PACKAGE", "NAME", "TITLE")), path


def test_its_tests_pass(project: Path) -> None:
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_what_it_writes_can_be_pasted_into_a_shell(project: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", (project / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).splitlines()
    # An interactive zsh takes a comment for arguments.
    assert not [line for line in lines if "#" in line]
    assert lines[0] == "python -m pip install -e '.[dev]'"
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    script = "\n".join(["set -e", *lines[1:]])  # what is there to install is there in the tests
    done = subprocess.run(script, shell=True, cwd=project, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((project / "docs").iterdir()) != []


@pytest.mark.parametrize("command", [["lint", "my_shop"], ["docs", "my_shop"], ["plan", "my_shop"]])
def test_the_design_tools_find_nothing_wrong(project: Path, command: list[str]) -> None:
    done = called(*command, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_formatted_and_typed(project: Path) -> None:
    checked = run("-m", "ruff", "check", "--isolated", "--select", "E,F,I,UP,B", "--line-length", "120", cwd=project)
    assert checked.returncode == 0, checked.stdout
    formatted = run("-m", "ruff", "format", "--isolated", "--check", "--line-length", "120", cwd=project)
    assert formatted.returncode == 0, formatted.stdout


def test_nothing_is_overwritten(project: Path) -> None:
    before = (project / "README.md").read_text()
    assert "already exists and is not overwritten" in error_line("init", "my-shop", cwd=project.parent)
    assert (project / "README.md").read_text() == before


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert called("init", "notes", cwd=tmp_path).returncode == 0
    assert (tmp_path / "notes" / "README.md").exists()


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """What is said of a name for which nothing is made."""
    monkeypatch.chdir(tmp_path)

    def init(name: str) -> str:
        status, output, errors = commands.run(capsys, "init", name)
        assert (status, output, list(tmp_path.iterdir())) == (2, "", [])
        return errors

    return init


@pytest.mark.parametrize("name", ["json", "Json", "sys", "string", "pydantic", "botocore", "importlib"])
def test_a_name_that_would_hide_a_module_is_refused(refused: Callable[[str], str], name: str) -> None:
    assert f"choose another, such as my-{name}" in refused(name)


@pytest.mark.parametrize("name", ["1shop", "a+b", "\u00e9", "caf\u00e9"])
def test_a_name_that_is_no_package_is_refused(refused: Callable[[str], str], name: str) -> None:
    assert "cannot be the name of the project's package; use letters a to z" in refused(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("class", "it is a Python keyword; choose another, such as my-class"),
        ("tests", "it is a package that a project has or imports; choose another, such as my-tests"),
        ("tablewright", "it is a package that a project has or imports"),
    ],
)
def test_a_name_that_is_taken_is_refused_with_the_reason(refused: Callable[[str], str], name: str, why: str) -> None:
    assert f"cannot be the name of the project's package: {why}" in refused(name)
