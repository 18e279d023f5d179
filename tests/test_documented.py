"""What a user can name is documented: commands and options, settings, make targets, files of the project.

A command and its options are on a page of docs/ together. A setting is in the table of settings. What pages, workflows
and templates name is there.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tablewright.cli import build_parser
from tablewright.runtime.settings import PREFIX, Settings
from tools.public_names import SOURCE

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "examples/README.md")
PAGES = {path: path.read_text("utf-8") for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


# -- commands -------------------------------------------------------------------------------------------------------


def commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that does something, as it is typed."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield name, parser
    for group in groups:
        for word, inner in group.choices.items():
            yield from commands(inner, f"{name} {word}")


COMMANDS = dict(commands(build_parser(), "tablewright"))


def pages_of(command: str) -> list[str]:
    return [text for text in PAGES.values() if re.search(rf"\b{command}(?![\w-])", text)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_documented_with_its_options(command: str) -> None:
    pages = pages_of(command)
    assert pages, f"no page shows `{command}`"
    options = [action.option_strings[-1] for action in COMMANDS[command]._actions if action.option_strings]
    missing = [
        option
        for option in options
        if option != "--help" and not any(re.search(rf"{option}(?![\w-])", page) for page in pages)
    ]
    assert missing == [], f"no page about `{command}` has these options"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_explains_its_arguments(command: str) -> None:
    assert [action.dest for action in COMMANDS[command]._actions if not action.help] == []


# -- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_in_the_table_of_settings(name: str) -> None:
    page = PAGES[ROOT / "docs" / "services.md"]
    table = page[page.index("\n## Settings\n") :]
    assert re.search(rf"^\|[^|]*`{name}`", table, re.MULTILINE)


def test_every_environment_variable_is_documented() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    found = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(rf"{PREFIX}[A-Z]+(?:_[A-Z]+)*", path.read_text("utf-8"))
    }
    pages = "\n".join(PAGES.values())
    assert [name for name in sorted(found - known) if f"`{name}" not in pages] == []


# -- what pages, workflows and templates name -----------------------------------------------------------------------


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    return set(phony.split())


def test_every_target_of_make_is_documented() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [target for target in sorted(targets()) if f"`make {target}`" not in page] == []


@pytest.mark.parametrize("name", [*ROOT_PAGES, ".github/pull_request_template.md"])
def test_what_a_page_names_is_there(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (ROOT / name).parent.joinpath(link).exists()] == []
    paths = re.findall(r"`((?:src|tests|docs|tools|examples|benchmarks)/[\w./-]+)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_what_there_is(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    # YAML takes the key `on` for the truth.
    assert workflow[True]
    assert workflow["permissions"] == {"contents": "read"}, "a job that needs more asks for it"
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"]
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])
            elif step["run"].startswith("make "):
                assert shlex.split(step["run"])[1] in targets()


def test_ci_runs_every_python_that_is_promised() -> None:
    classifiers = re.findall(
        r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text("utf-8")
    )
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    assert ci["jobs"]["test"]["strategy"]["matrix"]["python"] == classifiers


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"],
    ids=lambda path: path.name,
)
def test_settings_of_the_repository_are_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)
