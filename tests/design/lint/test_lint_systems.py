"""The systems that come with the package, as they are built: lint has nothing to say about them."""

from __future__ import annotations

import pytest

from tablewright.design.design_loading import load
from tablewright.design.lint import lint
from tests.design.subjects import SYSTEMS


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_has_no_findings(system: str) -> None:
    for design in load(system):
        assert [finding for finding in lint(design) if finding.accepted is None] == []


def test_the_systems_are_there() -> None:
    assert "tablewright.systems.servicedesk" in SYSTEMS
