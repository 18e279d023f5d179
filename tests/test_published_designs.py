"""The designs of examples/designs: every access pattern of each is tried, and the design tools take them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from tablewright.design.cost import plan_costs
from tablewright.design.diff import snapshot
from tablewright.design.document import document
from tablewright.design.lint import lint
from tablewright.design.report import to_markdown
from tablewright.model import CollectionSelection, Design, Lookup, Selection
from tablewright.store import Store

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "designs"
DESIGNS = sorted(FOLDER.glob("*.py"))


class Recording:
    """A store that notes which access patterns it is given."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.patterns: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def recorded(*given: Any, **named: Any) -> Any:
            self._note(given)
            return method(*given, **named)

        return recorded

    def _note(self, given: Any) -> None:
        for each in given:
            if isinstance(each, list | tuple):
                self._note(each)
            elif isinstance(each, Lookup | Selection | CollectionSelection):
                owner = each.collection if isinstance(each, CollectionSelection) else each.entity
                self.patterns.add(each.name if "." in each.name else f"{owner.__name__}.{each.name}")


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"designs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_the_six_that_were_asked_for_and_more() -> None:
    assert len(DESIGNS) >= 10


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_every_access_pattern_of_a_published_design(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = path.read_text("utf-8")
    assert re.match(r'"""\w[^\n]+[.]\n\n    python examples/designs/' + path.name, text), (
        "a sentence, then how to run it"
    )
    assert "shows" in text[: text.index('"""', 3)], "say in the first lines what it shows"
    page = (FOLDER.parent / "README.md").read_text("utf-8")
    assert f"[{path.stem}.py](designs/{path.name})" in page, f"add {path.name} to the table of examples/README.md"
    module = loaded(path)
    module.main()
    assert capsys.readouterr().out.count("\n") == 1
    design: Design = module.design
    with Store.open() as store:
        module.fill(store)
        recording = Recording(store)
        module.try_patterns(recording)
        assert sorted(design.patterns.keys() - recording.patterns) == []
        for table in design.tables:
            report = store.verify(table)
            assert report.is_clean, report.findings
    assert [finding for finding in lint(design) if finding.severity == "error" and not finding.accepted] == []
    assert plan_costs(design).cheapest.name
    assert design.name in to_markdown(document(design))
    assert snapshot(design)["name"] == design.name
