"""What a system needs is read from its sources."""

from __future__ import annotations

from pathlib import Path

import pytest

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
