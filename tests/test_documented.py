"""What a user can name is documented: commands and options, settings, public names, make targets, files of the project.

A command and its options are on a page of docs/ together. A setting is in the table of settings. A public name is in
the API reference, which is made from the source, with a docstring, or is listed in the text of its module; what cannot
have a docstring (an alias, a constant) may be on a page instead. What pages, workflows and templates name is there.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tablewright.cli import build_parser
from tablewright.runtime.settings import PREFIX, Settings
from tools.public_names import SOURCE, PublicModule, public_modules, read_module

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
    assert re.search(rf"^\|[^|]*`{name}`", table, re.MULTILINE), (
        f"add `{name}` to the table of docs/services.md#settings"
    )


def test_every_environment_variable_is_documented() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    found = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(rf"{PREFIX}[A-Z]+(?:_[A-Z]+)*", path.read_text("utf-8"))
    }
    pages = "\n".join(PAGES.values())
    assert [name for name in sorted(found - known) if f"`{name}" not in pages] == []


# -- public names ---------------------------------------------------------------------------------------------------

NAMES = [(module, name) for module in public_modules() for name in module.names]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{module.name}.{name}" for module, name in NAMES])
def test_a_public_name_is_documented(module: PublicModule, name: str) -> None:
    value = getattr(importlib.import_module(module.name), name)
    origin = read_module(module.origins[name])
    # The reference shows the text of the module, too, which may be a list of what is in it.
    is_listed = re.search(rf"(^|[\s,`]){name}\b", origin.text) is not None
    if takes_docstring(value):
        assert own_docstring(value) or is_listed, f"{module.name}.{name} has no docstring for the API reference"
    else:
        on_a_page = any(re.search(rf"`[^`\n]*\b{name}\b", page) for page in PAGES.values())
        assert on_a_page or is_listed or described(origin, name), (
            f"{module.name}.{name} is on no page, and has no text below its definition in {origin.name}"
        )


def takes_docstring(value: Any) -> bool:
    return (
        inspect.isclass(value)
        or inspect.isroutine(value)
        or inspect.ismodule(value)
        or hasattr(value, "_get_wrapped_function")
    )


def own_docstring(value: Any) -> str | None:
    """The docstring of a class or function, not one that it inherits, nor what a dataclass makes up."""
    if hasattr(value, "_get_wrapped_function"):
        value = value._get_wrapped_function()
    text: str | None = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return None if text is None or text.startswith(f"{value.__name__}(") else text


def described(origin: PublicModule, name: str) -> bool:
    """Whether a text stands below the assignment of a name, as the reference shows it."""
    body = ast.parse(origin.path.read_text("utf-8")).body
    return any(
        isinstance(node, ast.Assign | ast.AnnAssign)
        and re.match(rf"{name}\b", ast.unparse(node))
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        for node, below in pairwise(body)
    )


def test_pages_and_examples_import_what_is_public() -> None:
    """What a guide tells people to import is a promise, so it is in the API reference."""
    public = {(module.name, name) for module in public_modules() for name in module.names}
    public |= {(parent, name) for module in public_modules() for parent, _, name in [module.name.rpartition(".")]}
    sources = {path: "\n".join(python_blocks(text)) for path, text in PAGES.items()}
    sources |= {path: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    strange = [
        f"{path.name}: from {node.module} import {alias.name}"
        for path, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").split(".")[0] == "tablewright"
        and ".systems" not in (node.module or "")
        for alias in node.names
        if (node.module, alias.name) not in public and alias.name != "*"
    ]
    assert strange == []


def python_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


# -- what pages, workflows and templates name -----------------------------------------------------------------------


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    return set(phony.split())


def test_every_target_of_make_is_documented() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [target for target in sorted(targets()) if f"`make {target}`" not in page] == []


def test_every_folder_of_the_sources_is_described() -> None:
    folders = sorted(path.parent.name for path in (ROOT / "src" / "tablewright").glob("*/__init__.py"))
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [each for each in folders if f"| `src/tablewright/{each}` |" not in contributing] == []
    tree = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert [each for each in folders if f"\n  {each}/ " not in tree] == []


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
