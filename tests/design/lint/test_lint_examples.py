"""The examples, published designs among them: lint finds no mistake in them that is not accepted with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.design import load
from tablewright.design.lint import lint

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FILES = sorted(path for path in EXAMPLES.rglob("*.py"))


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_has_no_mistakes(path: Path) -> None:
    if "tablewright.model" not in path.read_text("utf-8"):
        pytest.skip("it declares no design")
    for design in load(str(path)):
        found = [each for each in lint(design) if each.severity != "advice" and each.accepted is None]
        assert [(each.rule, each.place) for each in found] == []


def test_there_are_examples_with_designs() -> None:
    assert EXAMPLES / "designs" / "online_shop.py" in FILES
