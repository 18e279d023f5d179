"""Writes docs/requirements.md: every requirement, with the tests that prove it.

The requirements are data (requirements.toml). The tests are found in the syntax tree of the test files, by
their `@pytest.mark.requirement("ID", ...)`, on a function, a class, a `pytest.param` or a whole module, so
that the page needs no test run. `make requirements` writes the page; a test fails while it is out of date.
"""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tools" / "requirements.toml"
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "requirements.md"

INTRODUCTION = """\
# Requirements and their tests

Written by `make requirements` from `tools/requirements.toml` and the marks of the tests; not by hand.
A test names what it proves with `@pytest.mark.requirement("ID")`. A requirement without a test is not done.
"""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    requirements: dict[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """One mark: the requirement it names, the test file (below `tests`), and the test, class or module."""

    requirement: str
    file: str
    line: int
    owner: str


def read_sections(path: Path = REQUIREMENTS) -> list[Section]:
    document = tomllib.loads(path.read_text("utf-8"))
    return [Section(entry["title"], entry["requirements"]) for entry in document["section"]]


def find_marks(tests: Path = TESTS) -> list[Mark]:
    marks = []
    for path in sorted(tests.rglob("test_*.py")):
        file = path.relative_to(tests).as_posix()
        tree = ast.parse(path.read_text("utf-8"), filename=str(path))
        for owner, call in _calls(tree, "(the whole file)"):
            for argument in call.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise ValueError(f"{file}:{call.lineno}: a requirement is named by a literal string")
                marks.append(Mark(argument.value, file, call.lineno, owner))
    return marks


def _calls(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.Call]]:
    """Every `pytest.mark.requirement(...)` below `node`, with the function or class that it belongs to."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            prefix = f"{owner}." if isinstance(node, ast.ClassDef) else ""
            yield from _calls(child, prefix + child.name)
            continue
        if isinstance(child, ast.Call) and ast.unparse(child.func) == "pytest.mark.requirement":
            yield owner, child
        yield from _calls(child, owner)


def unknown(sections: list[Section], marks: list[Mark]) -> list[str]:
    known = {identifier for section in sections for identifier in section.requirements}
    return [f"{m.file}:{m.line}: no requirement {m.requirement!r}" for m in marks if m.requirement not in known]


def render(sections: list[Section], marks: list[Mark]) -> str:
    tests: dict[str, list[str]] = {}
    for mark in sorted(marks):
        link = f"[{mark.owner}](../tests/{mark.file})"
        links = tests.setdefault(mark.requirement, [])
        if link not in links:
            links.append(link)
    total = sum(len(section.requirements) for section in sections)
    proven = sum(identifier in tests for section in sections for identifier in section.requirements)
    lines = [INTRODUCTION, f"{proven} of {total} requirements have tests."]
    for section in sections:
        lines += ["", f"## {section.title}", "", "| id | requirement | tests |", "|---|---|---|"]
        for identifier, text in section.requirements.items():
            lines.append(f"| {identifier} | {text} | {', '.join(tests.get(identifier, ['none yet']))} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    sections, marks = read_sections(), find_marks()
    if problems := unknown(sections, marks):
        raise SystemExit("\n".join(problems))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(render(sections, marks), "utf-8")


if __name__ == "__main__":
    main()
