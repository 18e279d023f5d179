"""Models and filters of one's own come from modules that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime, SettingsError
from tablewright.systems import load
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import serving

MODULE = """
from tablewright.runtime.errors import Invalid
from tablewright.systems.engagement.scoring.filter_chain import filter_
from tablewright.systems.engagement.scoring.scores import Scored, model


@model("length-of-name")
def length(prospects):
    return [Scored(len(each.attributes["country"]) / 10, confidence=0.5) for each in prospects]


@filter_("odd")
def odd(settings):
    def left_out(prospects, context):
        return [None if each.attributes["points"] % 2 else "it is even" for each in prospects]

    return left_out
"""


@pytest.mark.requirement("CE8")
def test_what_a_module_registers_can_be_used_by_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_models.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with serving(load("engagement"), data=tmp_path / "data", extensions="own_models") as served:
        admin = served.client("root", "Admins", path="/engagement")
        rows = [("a", 1, "Italy", 1), ("b", 1, "Chad", 3), ("c", 1, "Germany", 2)]
        models = [{"modelId": "length-of-name", "weight": 2}]
        made = Programme(served, admin, rows, scoringModels=models, filterChain={"filters": ["odd"]})
        made.run()
        assert made.top() == ["a", "b"]
        assert made.candidate("b").json()["score"] == 0.8
        assert made.candidate("c").json()["rejectionHistory"][0]["reason"] == "it is even"


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    given: dict[str, Any] = {"memory": True, "data": tmp_path, "extensions": "no_such_module"}
    with pytest.raises(SettingsError, match="TABLEWRIGHT_EXTENSIONS: no_such_module cannot be imported"):
        Runtime.open(Settings(**given), load("engagement"))
