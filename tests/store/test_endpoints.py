"""The list of known differences between endpoints is kept in step with the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.store.endpoints import KNOWN_DIFFERENCES, NOT_ISOLATED

LISTED = [
    (endpoint, test)
    for known_there in (KNOWN_DIFFERENCES, NOT_ISOLATED)
    for endpoint, known in known_there.items()
    for test in known
]


@pytest.mark.parametrize(("endpoint", "test"), LISTED)
def test_every_difference_is_shown_by_a_test_that_runs_there(endpoint: str, test: str) -> None:
    paths = Path(__file__).parent.rglob("test_*.py")
    found = [re.search(rf"^def {test}\((.*?)\) ->", path.read_text("utf-8"), re.M) for path in paths]
    (definition,) = [match[1] for match in found if match is not None]
    # A fixture that runs on all endpoints.
    assert re.search(r"\b(bench|store|written|backend|any_desk|filled):", definition)
