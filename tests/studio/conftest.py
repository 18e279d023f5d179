"""A studio that may write, on a data folder with the design of Tasks, for each module of stories in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.studio.studio_browser import RunningStudio, fill, studio


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """One for a module; the module may say in ``FILL`` what is in the folder."""
    folder = tmp_path_factory.mktemp("studio") / "data"
    getattr(request.module, "FILL", fill)(folder)
    with studio(str(folder), "--design", "tablewright.systems.tasks", "--write") as found:
        yield found


@pytest.fixture
def desk(running: RunningStudio) -> Iterator[RunningStudio]:
    """The same, whose windows are closed after the test."""
    try:
        yield running
    finally:
        running.screens.close()
