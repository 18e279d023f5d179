from __future__ import annotations

import pytest

from tests.systems.harness import Served
from tests.systems.tasks.team import Team


@pytest.fixture
def team(served: Served) -> Team:
    return Team(served)
