"""What a system needs is read from its sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.deploy.package.building import needed_by_image
from tablewright.deploy.package.needed_modules import needed_by

pytestmark = pytest.mark.requirement("SH2")


def test_a_system_s_functions_need_its_own_parts_and_not_those_of_others() -> None:
    api = "tablewright.runtime.functions.api_function"
    calls = needed_by(api, "tablewright.systems.calls.calls_system")
    assert {"mangum", "fastapi", "pydantic", "orjson", "botocore"} <= calls.distributions
    assert not {"duckdb", "nicegui", "uvicorn", "rich", "phonenumbers"} & calls.distributions
    assert "tablewright.systems.calls" in calls.packages
    unwanted = {"tablewright.ui", "tablewright.cli", "tablewright.wire", "tablewright.systems.tasks"}
    assert not unwanted & calls.packages
    engagement = needed_by("tablewright.systems.engagement.engagement_system")
    assert {"duckdb", "cronsim", "tzdata"} <= engagement.distributions


def test_an_image_has_the_server_and_its_own_system_and_nothing_of_other_systems() -> None:
    calls = needed_by_image("tablewright.systems.calls.calls_system", "tablewright.systems.calls.app.calls_app")
    assert {"uvicorn", "nicegui", "rich", "orjson"} <= calls.distributions
    assert {"tablewright.systems.calls", "tablewright.ui", "tablewright.cli"} <= calls.packages
    others = {f"tablewright.systems.{name}" for name in ("support", "engagement", "tasks", "servicedesk")}
    assert not (others | {"tablewright.studio", "tablewright.sql", "tablewright.deploy"}) & calls.packages
    assert not {"duckdb", "phonenumbers", "cronsim"} & calls.distributions
    engagement = needed_by_image("tablewright.systems.engagement.engagement_system", None)
    assert {"duckdb", "cronsim"} <= engagement.distributions


def test_imports_are_found_wherever_they_are_but_not_those_for_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "shop_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop_of_a_test.lazy import Lazy\n"
    )
    (package / "lazy.py").write_text("import orjson\nclass Lazy: ...\n")
    (package / "system.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from shop_of_a_test import Lazy\n"
        "if TYPE_CHECKING:\n    import pytest\n"
        "def f():\n    from . import other\n"
    )
    (package / "other.py").write_text("import httpx\nimport zoneinfo\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = needed_by("shop_of_a_test.system")
    assert found.modules == {f"shop_of_a_test{name}" for name in ("", ".lazy", ".system", ".other")}
    assert found.distributions == {"orjson", "httpx", "tzdata"}
    found = needed_by("shop_of_a_test.system", without=["shop_of_a_test.other", "orjson"])
    assert found.modules == {f"shop_of_a_test{name}" for name in ("", ".lazy", ".system")}
    assert found.distributions == frozenset()
