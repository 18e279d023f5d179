"""The layout of the tests: folders are those of the sources, and helpers are modules of helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "tablewright"
# Tests of whole processes.
OTHER_FOLDERS = {"crash"}


def test_a_folder_of_tests_is_a_folder_of_the_sources() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert sorted(name for name in folders - OTHER_FOLDERS if not (SOURCE / name).is_dir()) == []


def test_no_test_module_is_imported_by_another() -> None:
    """A helper that two modules need is in a module of its own."""
    found = [
        f"{path.relative_to(TESTS)}:{line}: {module}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, module in imports(path)
        if module.startswith("tests.") and ".test_" in module
    ]
    assert found == []


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((node.lineno, package + alias.name) for alias in node.names)
