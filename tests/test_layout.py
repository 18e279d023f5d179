"""The layout of the tests: folders are those of the sources, and helpers are modules of helpers."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "tablewright"
# What is no part of the package: tests of whole processes, and data of tests.
OTHER_FOLDERS = {"crash", "design/lint/cases"}


def test_a_folder_of_tests_is_a_folder_of_the_sources() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert sorted(name for name in folders - OTHER_FOLDERS if not (SOURCE / name).is_dir()) == []


def test_no_test_module_is_imported_by_another() -> None:
    """A helper that two modules need is in a module of its own."""
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}: {module}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        for module in imported(node)
        if module.startswith("tests.") and ".test_" in module
    ]
    assert found == []


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
