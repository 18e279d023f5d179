"""An engine on disk with one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tests.engine.storage.disk import create, put


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Without its background work, which would commit what a test wants to be left open."""
    with Engine.open(tmp_path / "data") as opened:
        opened._background.stop()
        create(opened)
        put(opened, "before")
        yield opened
