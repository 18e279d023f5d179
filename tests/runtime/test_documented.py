"""The page on running the systems names every setting, command, measure and address that there is."""

import re
from pathlib import Path

import pytest

from tablewright.runtime.admin.admin_routes import router
from tablewright.runtime.metrics import Metrics
from tablewright.runtime.settings import Settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "services.md").read_text("utf-8")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(name: str) -> None:
    assert re.search(rf"^\|[^|]*`{name}`", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", [metric.name for metric in Metrics().registry.collect()])
def test_every_measure_is_documented(name: str) -> None:
    assert re.search(rf"`{name}(_total)?`", PAGE)


@pytest.mark.parametrize("path", [route.path for route in router.routes])  # type: ignore[attr-defined]
def test_every_address_of_operations_is_documented(path: str) -> None:
    assert path in PAGE
