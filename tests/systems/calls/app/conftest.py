from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ui.screen_browser import Screens, shared_screens


@pytest.fixture
def screens() -> Iterator[Screens]:
    """The systems and a browser; windows are closed after the test."""
    found = shared_screens()
    try:
        yield found
    finally:
        found.close()
