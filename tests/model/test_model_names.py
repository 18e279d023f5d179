"""The names that the model promises, each of them documented."""

import re
from pathlib import Path

import pytest

from tablewright import model

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "model.md").read_text("utf-8")


def test_names_are_listed_once_and_in_order() -> None:
    assert model.__all__ == sorted(set(model.__all__))


@pytest.mark.parametrize("name", model.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert hasattr(model, name)
    assert re.search(rf"\b{name}\b", PAGE)
