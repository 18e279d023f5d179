"""The systems that come with the package, as they are built: lint has nothing to say about them."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec

import pytest

from tablewright import systems
from tablewright.design.design_loading import load
from tablewright.design.lint import lint

SYSTEMS = [
    module.name
    for module in pkgutil.iter_modules(systems.__path__, "tablewright.systems.")
    if module.ispkg and find_spec(f"{module.name}.model") is not None
]


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_has_no_findings(system: str) -> None:
    for design in load(system):
        assert [finding for finding in lint(design) if finding.accepted is None] == []


def test_the_systems_are_there() -> None:
    assert "tablewright.systems.servicedesk" in SYSTEMS
