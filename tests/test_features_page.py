"""The page of features: every row that says that we have something names a test that is there and is run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "features.md"
_PROOF = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<test>\w+)`")
_MARKS = {"✓", "◐", "-"}


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] != "feature"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_feature_is_proved_by_a_test_that_is_run(row: list[str]) -> None:
    _, ours, proof, *others = row
    assert len(others) == 5
    assert {ours, *others} <= _MARKS
    if ours == "-":
        assert proof == ""
        return
    found = _PROOF.fullmatch(proof)
    assert found is not None, proof
    tree = ast.parse((ROOT / found["file"]).read_text("utf-8"))
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    (test,) = [node for node in tests if node.name == found["test"]]
    marks = [ast.unparse(each) for each in test.decorator_list]
    assert not any("skip" in mark or "xfail" in mark for mark in marks)


def test_feature_names_are_unique() -> None:
    names = [row[0] for row in rows()]
    assert len(names) == len(set(names)) > 60
