"""What ``connect`` needs to know, and says when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.store import AsyncStore, Store, StoreError


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.mark.parametrize("face", [Store, AsyncStore])
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:1"])
def test_without_a_region_it_says_how_to_give_one(face: type[Store | AsyncStore], endpoint: str | None) -> None:
    with pytest.raises(
        StoreError, match=r"no region is configured: pass one, such as region='eu-west-1', or set AWS_DEF"
    ):
        face.connect(endpoint=endpoint)


def test_the_region_of_the_environment_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with Store.connect(endpoint="http://127.0.0.1:1"):
        pass
